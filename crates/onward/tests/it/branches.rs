//! A run's own changes to its branch and its issue are no change from outside; those of others are.

use std::fs;

use onward_testkit::TestProject;

use crate::project;

/// `DO` is done by the first phase; the second one fails until the file `ready` is there.
fn failed_in_b(head: &str, first: &str) -> TestProject {
    let project = project();
    project.plan(&format!(
        "
onward: 1
name: demo
{head}
phases:
  a: {{ run: step a '{first}' }}
  b: {{ needs: a, run: step b 'test -e ../ready' }}
  c: {{ needs: b, run: step c }}
"
    ));
    project.git_init();
    project
}

fn be_ready(project: &TestProject) {
    fs::write(project.root().join("ready"), "").expect("a file");
}

/// A phase made the branch of the work, and the branch was deleted while the run was down. The run does not go on upon another
/// branch; while the branch is there, status and checkpoints name it.
#[test]
fn a_branch_that_a_phase_made_and_somebody_deleted() {
    for head in ["", "freshness: { git: { if-branch-gone: stop } }"] {
        let project = failed_in_b(head, "git checkout -q -b work");
        project.command(["run"]).expect(1);
        assert_eq!(project.command(["status", "--json"]).json()["branch"], "work");
        let checkpoint = project.command(["show", "@", "--json"]).json();
        assert_eq!(checkpoint["context"]["branch"], "work", "{checkpoint}");
        be_ready(&project);
        project.git(["checkout", "-q", "main"]);
        project.git(["branch", "-q", "-D", "work"]);
        project.command(["run", "--resume"]).expect(13).err_names(["the branch work"]);
        assert_eq!(project.count("begin", "c"), 0);
        project.git(["checkout", "-q", "-b", "work"]);
        project.command(["run", "--resume"]).expect(0);
    }
}

/// A phase renames the branch, or leaves no branch checked out. Neither is a change from outside, and the old name is not missed.
#[test]
fn a_branch_that_the_run_itself_left() {
    for first in ["git branch -m other", "git checkout -q --detach && git branch -q -D main"] {
        let project = failed_in_b("", first);
        project.command(["run"]).expect(1);
        be_ready(&project);
        let ran = project.command(["run", "--resume"]).expect(0);
        assert!(!ran.err.contains("branch"), "{first}: {}", ran.err);
    }
}

/// A phase sets a label of the issue. The next start says nothing of it; a label that somebody else set is named.
#[test]
fn labels_that_the_run_itself_set() {
    let first = "sed -i s/todo/doing/ ../issue.json";
    let project = failed_in_b("issue: { number: 7, states: { doing: c } }", first);
    let issue = project.root().join("issue.json");
    fs::write(&issue, r#"{"title":"t","body":"b","labels":[{"name":"todo"}]}"#).expect("a file");
    project.script("gh", &format!("#!/bin/sh\ncat '{}'\n", issue.display()));
    project.command(["run"]).expect(1);
    let asked = project.command(["run", "--resume", "--dry-run"]).expect(0);
    assert!(!asked.err.contains("label"), "{}", asked.err);
    fs::write(&issue, r#"{"title":"t","body":"b","labels":[{"name":"doing"},{"name":"urgent"}]}"#).expect("a file");
    be_ready(&project);
    let ran = project.command(["run", "--resume"]).expect(0).err_names(["label urgent"]);
    assert!(!ran.err.contains("doing") && !ran.err.contains("todo"), "{}", ran.err);
}

const LABELLED: &str = "
onward: 1
name: demo
issue: { number: 7, provider: PROVIDER, sync: labels, states: { building: a, testing: b } }
phases:
  a: { run: step a }
  b: { needs: a, run: step b }
";

/// Nobody can be asked about the issue: the program is not there. The run says so and is complete; nothing else comes of it.
#[test]
fn a_provider_that_is_not_there() {
    let project = project();
    project.plan(&LABELLED.replace("PROVIDER", "no-such-program"));
    project.command(["run"]).expect(0).err_names(["the issue cannot be read", "no-such-program"]);
    let status = project.command(["status", "--json"]).json();
    assert!(status["warnings"].to_string().contains("no-such-program"), "{status}");
}

/// The issue is a file of the project. Its labels follow the phases, and all else in it stays.
#[test]
fn an_issue_in_a_file() {
    let project = project();
    project.plan(&LABELLED.replace("PROVIDER", "'issues/{number}.json'"));
    project.write("issues/7.json", r#"{"title":"T","body":"B","labels":["bug"],"assignees":["ana"],"more":1}"#);
    project.command(["run"]).expect(0);
    let issue: serde_json::Value = serde_json::from_str(&project.read("issues/7.json")).expect("JSON");
    assert_eq!((&issue["labels"], &issue["more"]), (&serde_json::json!(["bug", "testing"]), &1.into()));
    let shown = project.command(["show", "@", "--json"]).json();
    assert_eq!(shown["issue"]["assignees"], serde_json::json!(["ana"]), "{shown}");
}

/// The program that sets the label takes the driver with it, each time it sets one. Every label is set once, in the end.
#[test]
fn drivers_that_die_with_each_label() {
    let project = project();
    project.plan(&LABELLED.replace("PROVIDER", "./tracker"));
    let tracker = "#!/bin/sh
case $2 in
  view) printf '{\"title\":\"T\",\"labels\":['; sep=; for l in labels/*; do [ -e \"$l\" ] && printf '%s\"%s\"' \"$sep\" \"${l#labels/}\" && sep=,; done; echo ']}';;
  edit) shift 3
    while [ $# -gt 1 ]; do
      case $1 in --add-label) echo \"$2\" >> set.log; : > labels/\"$2\";; --remove-label) rm labels/\"$2\";; esac
      shift 2
    done
    kill -9 $PPID;;
esac
";
    project.write("tracker", tracker);
    project.write("labels/bug", "");
    fs::set_permissions(project.path("tracker"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("it is ours");
    let mut codes = Vec::new();
    for _ in 0..4 {
        codes.push(project.command(["run"]).code);
        if codes.last() == Some(&0) {
            break;
        }
    }
    assert_eq!(codes, [137, 137, 0]);
    assert_eq!(project.read("set.log"), "building\ntesting\n");
    project.ran_once(["a", "b"]);
    assert!(project.exists("labels/bug") && project.exists("labels/testing") && !project.exists("labels/building"));
}
