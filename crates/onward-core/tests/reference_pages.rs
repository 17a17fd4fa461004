//! The pages about the keys of plans and configurations are made from the tables that the checker reads.
#![expect(clippy::disallowed_methods, reason = "the tests compare files of the repository; core itself touches none")]

use onward_core::plan::{Backoff, Body, MAX_PARALLEL_DEFAULT, MAX_WAIT_DEFAULT, ReplanRules, Retry, parse};
use onward_core::{config, plan};

const MARK: &str = "<!-- Everything below is made from the tables of keys: UPDATE_SCHEMAS=1 writes it anew. -->\n";

/// A key is added and its page is forgotten: then the page would keep it from the people who look there.
#[test]
fn pages_are_those_of_the_tables() {
    page("plan.md", &plan::reference_page());
    page("config.md", &config::reference_page());
}

fn page(name: &str, made: &str) {
    let path = format!("{}/../../docs/{name}", env!("CARGO_MANIFEST_DIR"));
    let kept = std::fs::read_to_string(&path).expect("the page is there");
    let (introduction, rest) = kept.split_once(MARK).expect("the mark is there");
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(&path, format!("{introduction}{MARK}{made}")).expect("the page can be written");
        return;
    }
    assert_eq!(rest, made, "docs/{name} is out of date: run the tests with UPDATE_SCHEMAS=1");
}

/// A value is left out of a plan. It is the one that the page names, and the one that the rest of onward takes where there
/// is no plan to read.
#[test]
fn defaults_of_the_tables_are_those_of_the_model() {
    let text = "onward: 1\nlimits: { api: {} }\nphases: { a: { run: x, retry: { backoff: {} } } }";
    let plan = parse(text).plan.expect("it is a plan");
    assert_eq!(plan.max_parallel, MAX_PARALLEL_DEFAULT);
    assert_eq!(plan.limits["api"].max_wait, MAX_WAIT_DEFAULT);
    assert_eq!(plan.phases[0].retry, Retry { backoff: Backoff::default(), ..Retry::default() });
    assert!(matches!(&plan.phases[0].body, Body::Run { shell, .. } if *shell == ["sh", "-e"]));

    let rules = ReplanRules::merged(None, None);
    let page = plan::reference_page();
    let replan = page.split("## `replan`").nth(1).expect("a section");
    for (key, value) in [
        ("max", rules.max),
        ("max-per-phase", rules.max_per_phase),
        ("complexity-max", rules.complexity_max),
        ("tasks-max", rules.tasks_max),
    ] {
        let row = replan.lines().find(|line| line.starts_with(&format!("| `{key}` |"))).expect("a row");
        assert!(row.contains(&format!(" | `{value}` | ")), "{row}");
    }
}
