//! Stories about names that are secrets: a name that is cut is another one's name, and what stands under it must not be lost.

use onward_testkit::{TestProject, kept};

use crate::project;

/// Somebody whose passwords are words that also name things.
fn with_everyday_passwords() -> TestProject {
    let mut project = project();
    project.set_env("DB_PASSWORD", "postgres");
    project.set_env("API_TOKEN", "productionx");
    project
}

/// A script saves under a type or a project that is a secret. It is told so by the name of the variable, and nothing is kept: two
/// secrets would share one run, and no load would find it.
#[test]
fn nothing_is_saved_under_a_secret() {
    let project = with_everyday_passwords();
    project.write("state.json", r#"{"x": 1}"#);
    project.write("named.json", r#"{"project_name": "to-productionx"}"#);
    for (words, variable) in [
        (&["save", "dep", "postgres", "--state", "state.json"][..], "DB_PASSWORD"),
        (&["save", "postgres-dep", "p", "--state", "state.json"], "DB_PASSWORD"),
        (&["save", "dep", "--state", "named.json"], "API_TOKEN"),
    ] {
        let refused = project.command(words).expect(2);
        assert!(refused.err.contains(variable), "{refused}");
        assert!(!refused.err.contains("postgres") && !refused.err.contains("productionx"), "{refused}");
    }
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let refused = project.command(["save", "dep", &token, "--state", "state.json"]).expect(2);
    assert!(refused.err.contains("shape of a token") && !refused.err.contains(&token), "{refused}");
    project.command(["save", "dep", "p", "--state", "state.json"]).expect(0);
    let runs = project.command(["list", "--all", "--json"]).expect(0).json();
    assert_eq!(runs["runs"].as_array().expect("a list").len(), 1, "{runs}");
}

/// Keys that are different secrets are merged into one state, in one document or one after the other. The second is refused, and
/// what stands under the first is still there.
#[test]
fn a_secret_key_does_not_take_anothers_place() {
    let project = with_everyday_passwords();
    project.write("state.json", r#"{"deep": {"a": 1}}"#);
    project.command(["save", "dep", "p", "--state", "state.json"]).expect(0);
    let merge = |text: &str| {
        project.write("patch.json", text);
        project.command(["state", "merge", "patch.json"])
    };
    let state = || project.command(["state", "get"]).expect(0).json();
    merge(r#"{"postgres": "five", "deep": {"postgres": 1}}"#).expect(0);
    let before = state();
    for colliding in [
        r#"{"productionx": "six"}"#,
        r#"{"deep": {"productionx": 2}}"#,
        r#"{"productionx": null}"#,
        r#"{"new": {"postgres": 1, "productionx": 2}}"#,
        r#"{"new": [{"postgres": 1, "[redacted]": 2}]}"#,
    ] {
        let refused = merge(colliding).expect(2);
        assert!(refused.err.contains("the value of the variable") && !refused.err.contains("productionx"), "{refused}");
        assert_eq!(state(), before, "{colliding}");
    }
    merge(r#"{"new": {"productionx": 2}}"#).expect(0);
    assert_eq!(state()["new"]["[redacted]"], 2);
    project.write("both.json", r#"{"postgres": 1, "productionx": 2}"#);
    project.command(["save", "dep", "p", "--state", "both.json"]).expect(2);
    assert_eq!(state()["new"]["[redacted]"], 2);
}

/// The shell that merges knows nothing of the secrets, and the driver does. It refuses what the shell could not.
#[test]
fn a_driver_refuses_secret_keys_that_the_sender_did_not_know() {
    let mut project = with_everyday_passwords();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a hold }\n");
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    project.remove_env("DB_PASSWORD");
    project.remove_env("API_TOKEN");
    project.write("patch.json", r#"{"postgres": "five"}"#);
    project.command(["state", "merge", "patch.json"]).expect(0);
    project.write("patch.json", r#"{"productionx": "six"}"#);
    project.command(["state", "merge", "patch.json"]).expect(2);
    assert_eq!(project.command(["state", "get"]).expect(0).json()["[redacted]"], "five");
    project.open("a");
    driver.wait_code(0);
}

/// Two outputs have names that are secrets. Neither a report nor a phase leaves only one of them.
#[test]
fn outputs_whose_names_are_secrets_do_not_take_each_others_place() {
    let project = with_everyday_passwords();
    project.plan("onward: 1\nname: demo\nphases:\n  b: { external: { instructions: do it } }\n");
    project.command(["run"]).expect(15);
    let done = ["report", "done", "b", "--output", "postgres=1"];
    let refused = project.command(done.iter().chain(&["--output", "productionx=2"])).expect(2);
    assert!(!refused.err.contains("postgres") && !refused.err.contains("productionx"), "{refused}");
    project.command(done).expect(0);

    project.plan_at(
        "two.yaml",
        "onward: 1\nname: two\nphases:\n  a: { run: 'printf \"postgres=1\\nproductionx=2\\n\" > \"$ONWARD_OUTPUT\"' }\n",
    );
    project.command(["run", "two.yaml"]).expect(1);
}

/// The very first save is refused. There are no books afterwards, and with books of others there is no run more.
#[test]
fn a_first_save_that_is_refused_leaves_nothing() {
    let project = with_everyday_passwords();
    project.write("both.json", r#"{"postgres": 1, "productionx": 2}"#);
    project.write("deep.json", r#"{"list": [{"postgres": 1, "[redacted]": 2}]}"#);
    for state in ["both.json", "deep.json"] {
        project.command(["save", "dep", "p", "--state", state]).expect(2);
        assert!(!project.exists(".onward"), "{state}");
    }
    project.write("good.json", r#"{"x": 1}"#);
    project.command(["save", "dep", "other", "--state", "good.json"]).expect(0);
    project.command(["save", "dep", "p", "--state", "both.json"]).expect(2);
    let runs = project.command(["list", "--all", "--json"]).expect(0).json();
    assert_eq!(runs["runs"].as_array().expect("a list").len(), 1, "{runs}");
    assert_eq!(project.command(["state", "get"]).expect(0).json()["x"], 1);
}

/// The branch has a secret in its name: the one on which a run begins, and one that a phase makes. Nothing that is kept has it, and the
/// branch is known again by a shell with the secret. A shell without it cannot say whether it is there, and asks.
#[test]
fn a_branch_with_a_secret_in_its_name_is_cut_and_known_again() {
    let mut project = with_everyday_passwords();
    project.plan(
        "onward: 1\nname: demo\nphases:\n  a: { run: step a 'git checkout -q -b fix-productionx' }\n  \
         b: { needs: a, external: { instructions: do it } }\n",
    );
    project.git_init();
    project.git(["checkout", "-q", "-b", "feat/postgres-18"]);
    project.command(["run"]).expect(15);
    let kept = |project: &TestProject| {
        let mut all = kept::everything(&project.dir());
        let names = project.git(["for-each-ref", "--format=%(refname)", "refs/onward"]);
        // A snapshot is an exact copy of the files, and the plan names the branch; its message and the journal do not.
        for name in names.lines() {
            let told = if name.contains("journal") { &["-p", "--text"][..] } else { &["--format=%B"] };
            let words = [&["log"][..], told, &[name]].concat();
            all.push((name.to_owned(), project.git(words).into_bytes()));
        }
        let holds = |bytes: &[u8]| {
            ["postgres", "productionx"]
                .iter()
                .any(|secret| bytes.windows(secret.len()).any(|at| at == secret.as_bytes()))
        };
        let told: Vec<String> = all.into_iter().filter(|(_, bytes)| holds(bytes)).map(|(name, _)| name).collect();
        assert!(told.is_empty(), "{told:?}");
    };
    kept(&project);
    assert_eq!(project.command(["status", "--json"]).json()["branch"], "fix-[redacted]");
    project.command(["resume"]).expect(15);
    project.git(["checkout", "-q", "main"]);
    project.remove_env("API_TOKEN");
    project.command(["resume"]).expect(14).err_names(["fix-[redacted]", "--accept-stale"]);
    project.set_env("API_TOKEN", "productionx");
    project.command(["resume"]).expect(15);
    kept(&project);
}
