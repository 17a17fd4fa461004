//! A phase, and the agent in it, grants itself nothing that a person has to: neither by hiding where it comes from, nor about other
//! runs, nor by another plan.

use std::process::Command;

use onward_testkit::{TestProject, wait_until};

use crate::agents::scripted;
use crate::project;

/// Runs its words without anything that tells where they come from, and notes how they ended.
const ALONE: &str = "
    #!/bin/bash
    name=$1; shift
    env -i PATH=\"$PATH\" HOME=\"$HOME\" \"$@\" > $name.out 2>&1 199>&- 63>&- < /dev/null
    echo $? > $name.part && mv $name.part $name.code
";

/// Runs its words and notes how they ended, whatever that is.
const TRY: &str = "
    #!/bin/sh
    \"$@\" >> tried.out 2>&1
    echo $? >> tried
";

fn code(project: &TestProject, name: &str) -> String {
    let file = format!("{name}.code");
    wait_until("the end of what was tried", || project.exists(&file).then_some(()));
    project.read(&file).trim().to_owned()
}

/// A phase hides `/proc`, or asks from another namespace of processes, in each of three ways. It is refused, with words of how a
/// person answers, and the person does.
#[test]
fn a_hidden_proc_is_no_person() {
    let may = |words: &[&str]| Command::new("unshare").args(words).status().is_ok_and(|status| status.success());
    if !may(&["-Urm", "true"]) || !may(&["-Urfp", "--mount-proc", "true"]) {
        println!("left out: this machine gives nobody a namespace of their own");
        return;
    }
    let project = project();
    project.script("alone", ALONE);
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          gate: { approval: { message: Go? } }
          a:
            run: |
              alone hidden unshare -Urm sh -c 'mount -t tmpfs none /proc; exec onward approve latest gate'
              alone own unshare -Urfp --mount-proc setsid -w onward approve latest gate
              alone theirs unshare -Urfp setsid -w onward approve latest gate
              step a
          b: { needs: gate, run: step b }
    ",
    );
    project.command(["run"]).expect(15);
    for tried in ["hidden", "own", "theirs"] {
        let said = project.read(format!("{tried}.out"));
        assert_eq!(code(&project, tried), "2", "{tried}: {said}");
        assert!(said.contains("from inside a phase") && said.contains("a new login"), "{tried}: {said}");
    }
    assert_eq!(project.count("begin", "b"), 0);
    project.command(["approve", "latest", "gate", "--resume"]).expect(0);
    project.ran_once(["a", "b"]);
}

/// A phase kills its attendant, leaves everything behind and asks from below the first process of the machine. It is refused; a person,
/// whose session is older, is not, though nobody knows how the attempt ended.
#[test]
fn without_its_attendant_a_phase_is_no_person() {
    let project = project();
    project.script("alone", ALONE);
    project.script(
        "leave",
        "
        #!/bin/bash
        (setsid env -i PATH=\"$PATH\" lonely $1 < /dev/null > /dev/null 2>&1 199>&- 63>&- &)
    ",
    );
    project.script(
        "lonely",
        "
        #!/bin/sh
        kill -9 $1
        while [ -e /proc/$1 ] && ! grep -q '^State:.*Z' /proc/$1/status 2> /dev/null; do sleep 0.02; done
        alone lonely onward approve latest gate
    ",
    );
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          gate: { approval: { message: Go? } }
          a:
            run: |
              leave $PPID
              step a hold
          b: { needs: gate, run: step b }
    ",
    );
    let first = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    assert_eq!(code(&project, "lonely"), "2", "{}", project.read("lonely.out"));
    assert!(project.read("lonely.out").contains("its attendant is not seen"), "{}", project.read("lonely.out"));
    assert_eq!(project.count("begin", "b"), 0);
    project.command(["approve", "latest", "gate"]).expect(0);
    project.wait_ledger("end", "b", 1);
    project.open("a");
    project.kill_everything();
    drop(first);
}

/// A terminal that is newer than all that is at work, and that nothing older stands above, is a person's: the attempt has its attendant.
#[test]
fn a_new_terminal_is_a_person() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          gate: { approval: { message: Go? } }
          a: { run: step a hold }
          b: { needs: gate, run: step b }
    ",
    );
    let first = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    let terminal = project.spawn(project.prepare_program("setsid", ["-f", "onward", "approve", "latest", "gate"]));
    project.wait_ledger("end", "b", 1);
    terminal.wait_code(0);
    project.open("a");
    first.wait_code(0);
}

/// All that a person has to say about runs is refused inside a phase: to ask again, to give more, to take as it stands, to put away. To
/// start another plan and to go on with its run goes well.
#[test]
fn a_phase_answers_for_no_run() {
    let project = project();
    project.script("try", TRY);
    project.write("other.yaml", "onward: 1\nname: other\nphases:\n  x: { run: \"step x; test -e fixed\" }\n");
    let other = project.command(["run", "other.yaml", "--budget", "1"]).expect(1);
    drop(other);
    let run = project.command(["status", "latest", "--json"]).json()["run"].as_str().expect("a run").to_owned();
    let tried = [
        format!("onward retry {run} x"),
        format!("onward resume {run} --retry x"),
        format!("onward resume {run} --accept-stale"),
        format!("onward resume {run} --budget 1000"),
        format!("onward resume {run} --from x"),
        format!("onward cancel {run}"),
        "onward run other.yaml --fresh".to_owned(),
    ];
    let lines = tried.iter().map(|words| format!("              try {words}\n"));
    let lines: String = lines.collect();
    project.plan(&format!(
        "
        onward: 1
        name: demo
        phases:
          a:
            run: |
              touch fixed
{lines}              try onward run third.yaml
              try onward resume {run} --budget 1
"
    ));
    project.write("third.yaml", "onward: 1\nname: third\nphases:\n  z: { run: step z }\n");
    project.command(["run"]).expect(0);
    let codes: Vec<String> = project.read("tried").lines().map(str::to_owned).collect();
    assert_eq!(codes, ["2", "2", "2", "2", "2", "2", "2", "0", "0"], "{}", project.read("tried.out"));
    let refused = project.read("tried.out").matches("from inside a phase").count();
    assert_eq!((refused, project.count("begin", "x"), project.count("end", "z")), (7, 2, 1));
}

/// A phase reports on itself: its progress is taken, and what it says about the phase of a person, or about another run, is refused.
/// Each fact that comes of it names the phase.
#[test]
fn a_phase_reports_on_itself_alone() {
    let project = project();
    project.script("try", TRY);
    project.write("other.yaml", "onward: 1\nname: other\nphases:\n  review: { external: { instructions: read it } }\n");
    project.command(["run", "other.yaml"]).expect(15);
    let other = project.command(["status", "latest", "--json"]).json()["run"].as_str().expect("a run").to_owned();
    project.plan(&format!(
        "
        onward: 1
        name: demo
        phases:
          ext: {{ external: {{ instructions: test it by hand }} }}
          a:
            run: |
              for words in 'report done ext' 'report start ext' 'report done review --run {other}' \\
                'report replan review --reason x --plan other.yaml --run {other}'; do
                try onward $words
                try env ONWARD_PHASE=ext onward $words
              done
              try onward state merge '{{\"a\": 1}}' --run {other}
              try onward report progress a --note 3/4
              try onward report done a
              onward decision add 'approved by alice'
              step a hold
"
    ));
    let first = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    let codes: Vec<String> = project.read("tried").lines().map(str::to_owned).collect();
    assert_eq!(codes, ["2", "2", "2", "2", "2", "2", "2", "2", "2", "0", "1"]);
    let run = project.command(["status", "--json"]).json();
    assert_eq!((&run["running"][0]["id"], &run["running"][0]["note"]), (&"a".into(), &"3/4".into()));
    project.open("a");
    first.wait_code(15);
    let events = project.command(["log", "--events"]).expect(0).out;
    let decision = events.lines().find(|line| line.contains("approved by alice")).unwrap_or_else(|| panic!("{events}"));
    assert!(decision.contains("(phase a of "), "{decision}");
    project.command(["report", "done", "ext"]).expect(0);
}

const ASKING: &str = "
    onward: 1
    name: demo
    replan: { approval: false }
    phases:
      a: { agent: { use: claude-code, prompt: Do it., deny: [Bash] }, verify: [test -e proof] }
      g: { needs: a, approval: { message: Sure? } }
      z: { needs: g, run: step z }
";

/// An agent says from inside that it is done and that three tasks remain. It is overruled, and goes on in another round; when
/// nothing remains it is done.
#[test]
fn an_agent_that_names_what_remains_is_overruled() {
    let project = scripted(&[
        "init s1; onward report done a --remaining '3 tasks' > said 2>&1; ends s1 Done. 0\n",
        "init s1; touch proof; onward report done a >> said 2>&1; ends s1 Done. 0\n",
    ]);
    project.plan(
        &ASKING
            .replace("      z: { needs: g, run: step z }\n", "")
            .replace("      g: { needs: a, approval: { message: Sure? } }\n", ""),
    );
    project.command(["run"]).expect(0);
    let said = project.read("said");
    assert!(said.contains("this remains: 3 tasks") && said.contains("ended its turn"), "{said}");
    let shown = project.command(["status", "--json"]).json();
    assert_eq!(shown["completed"][0]["attempts"], 2, "{shown}");
}

/// The agent of a plan that waits for nobody's approval writes a plan without the gate, with fewer checks and more rights. It waits
/// for a person all the same, who sees in every view what it takes away and what stood there before.
#[test]
fn another_plan_takes_no_gate_away() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        replan: { approval: false, run: cat next.yaml }
        phases:
          a: { run: 'step a; exit 79', verify: [test -e proof] }
          g: { needs: a, approval: { message: Sure? } }
          z: { needs: g, run: step z }
    ",
    );
    project.write(
        "next.yaml",
        "onward: 1\nname: demo\nphases:\n  a: { run: step a2 }\n  n: { needs: a, run: step hidden }\n  z: { needs: a, run: step z }\n",
    );
    let told = ["removes the approval g", "removed: g", "run: step a; exit 79 → step a2", "added: n: run: step hidden"];
    project.command(["run"]).expect(15).err_names(told);
    assert_eq!(project.count("begin", "z"), 0);
    let run = project.command(["status", "--json"]).json()["run"].as_str().expect("a run").to_owned();
    let shown = [
        project.command(["status"]).expect(0).out,
        project.command(["status", "--json"]).expect(0).out,
        project.command(["show", &run]).expect(0).out,
        project.command(["why", "@", "a"]).expect(0).out,
    ];
    for page in shown {
        for words in told {
            assert!(page.contains(words), "{words}: {page}");
        }
    }
    project.command(["approve", "@", "a", "--resume"]).expect(0);
    project.ran_once(["a2", "hidden", "z"]);
}

const GATED: &str = "onward: 1
name: demo
phases:
  a: { run: step a; cp evil.yaml onward.yaml }
  g: { needs: a, approval: { message: Sure? } }
  z: { needs: g, run: step z }
";

/// A phase rewrites the plan's file. The answer to the gate is on record, and is none to the new plan: it is shown, and asked about.
/// A resume takes it, and shows it too.
#[test]
fn an_answer_to_a_gate_is_none_to_another_plan() {
    let project = project();
    project.write("onward.yaml", GATED);
    project.write("evil.yaml", GATED.replace("run: step z", "run: step evil"));
    project.command(["run"]).expect(15);
    let edit = "z: run: step z → step evil";
    project.command(["approve", "@", "g", "--resume"]).expect(14).err_names([edit]);
    assert_eq!((project.count("begin", "z"), project.count("begin", "evil")), (0, 0));
    project.command(["resume"]).expect(0).err_names([edit]);
    project.ran_once(["a", "evil"]);
}

/// A phase takes the gate out of the plan's file. That somebody wants to go on says nothing about that: it is asked about.
#[test]
fn a_gate_that_an_edit_takes_away_is_asked_about() {
    let project = project();
    project.write("onward.yaml", GATED);
    project.write("evil.yaml", "onward: 1\nname: demo\nphases:\n  a: { run: step a; cp evil.yaml onward.yaml }\n  z: { needs: a, run: step z }\n");
    project.command(["run"]).expect(15);
    project.command(["resume"]).expect(14).err_names(["removes the approval g"]);
    assert_eq!(project.count("begin", "z"), 0);
    project.command(["resume", "--plan-from", "run"]).expect(15);
    project.command(["resume", "--accept-stale"]).expect(0);
    project.ran_once(["a", "z"]);
}

/// The plan's file is edited, and requires something else now. Nothing of that is executed by a question or by a look; what the run's
/// own plan requires is. Once the file counts, so does what it requires.
#[test]
fn the_commands_of_an_edit_wait_for_an_answer() {
    let project = project();
    let plan = |requires: &str| {
        format!(
            "onward: 1\nname: demo\nrequires: [{requires}]\nphases:\n  a: {{ run: step a }}\n  b: {{ needs: a, run: test -e done }}\n"
        )
    };
    project.write("onward.yaml", plan("step own"));
    project.command(["run"]).expect(1);
    let own = project.count("begin", "own");
    project.write("onward.yaml", plan("step own, step edited; test -e there"));
    project.command(["run", "--no-input"]).expect(14);
    project.command(["run", "--dry-run"]).expect(0);
    project.command(["resume", "--dry-run"]).expect(0);
    assert_eq!(project.count("begin", "edited"), 0);
    assert!(project.count("begin", "own") > own);
    project.command(["resume"]).expect(13);
    assert!(project.count("begin", "edited") > 0);
    project.write("there", "");
    project.write("done", "");
    project.command(["resume"]).expect(0);
    project.ran_once(["a"]);
}
