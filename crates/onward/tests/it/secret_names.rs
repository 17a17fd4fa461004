//! Stories about names that are secrets: a name that is cut is another one's name, and what stands under it must not be lost.

use onward_testkit::TestProject;

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
