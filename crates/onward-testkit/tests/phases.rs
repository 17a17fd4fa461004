//! The table of what can become of a phase: it is the page in the documents, nothing happens that is not in it, and all
//! that is in it happens.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use onward_core::run::moves::{MOVES, TakenBy, table};
use onward_testkit::sim;

const SEEDS: u64 = 900;

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The page in the documents is the table of the core. Where they differ, the right one is printed below.
#[test]
fn the_page_is_the_table() {
    let page = fs::read_to_string(repository().join("docs/phases.md")).expect("the page");
    let (start, end) = ("<!-- table: start -->\n", "<!-- table: end -->");
    let from = page.find(start).expect("the table begins") + start.len();
    let to = page.find(end).expect("the table ends");
    assert!(page[from..to] == table(), "docs/phases.md is not the table in run/moves.rs, which is:\n{}", table());
}

/// Some hundred worlds are played. Every change of a phase's status in them has its row, by the event that makes it.
#[test]
fn soak_every_move_has_its_row_and_is_made() {
    let mut made = BTreeSet::new();
    for seed in 0..SEEDS {
        let told = sim::play(seed);
        made.extend(told.coverage.into_keys().filter_map(|name| {
            let (moved, by) = name.strip_prefix("phase: ")?.split_once(" by ")?;
            let (from, to) = moved.split_once(" to ")?;
            Some((from.to_owned(), to.to_owned(), by.to_owned()))
        }));
    }
    let has_a_row = |(from, to, by): &&(String, String, String)| MOVES.iter().any(|row| row.covers(from, to, by));
    let without: Vec<_> = made.iter().filter(|one| !has_a_row(one)).collect();
    assert!(without.is_empty(), "these moves have no row in run/moves.rs (from, to, by): {without:#?}");
    let simulated = MOVES.iter().filter(|row| row.taken_by == TakenBy::Simulator);
    let never: Vec<_> = simulated.filter(|row| !made.iter().any(|(from, to, by)| row.covers(from, to, by))).collect();
    assert!(never.is_empty(), "these rows of run/moves.rs were never seen in {SEEDS} worlds: {never:#?}");
}

/// A row that no world can reach names a story. There is such a test, and the event of every row exists.
#[test]
fn rows_name_real_stories_and_events() {
    let mut tests = String::new();
    for folder in ["crates/onward/tests/it", "crates/onward-core/tests", "crates/onward-engine/tests/vcs"] {
        for entry in fs::read_dir(repository().join(folder)).expect("a folder of tests") {
            tests.push_str(&fs::read_to_string(entry.expect("an entry").path()).expect("a test file"));
        }
    }
    let events = fs::read_to_string(repository().join("schemas/event.json")).expect("the schema");
    for row in MOVES {
        assert!(events.contains(&format!("\"const\": \"{}\"", row.by)), "there is no event {}", row.by);
        if let TakenBy::Story(story) = row.taken_by {
            assert!(tests.contains(&format!("fn {story}(")), "there is no story {story}");
        }
    }
}
