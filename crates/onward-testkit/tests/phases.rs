//! The table of what can become of a phase is the page in the documents. That nothing else happens, and that all of it does,
//! is seen to by the simulator.

use std::fs;
use std::path::Path;

use onward_core::run::transitions::{MOVES, TakenBy, table};

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

/// A row that no world can reach names a story. There is such a test, and the event of every row exists.
#[test]
fn rows_name_real_stories_and_events() {
    let mut tests = String::new();
    for folder in ["crates/onward/tests/it", "crates/onward-core/tests", "crates/onward-engine/tests/vcs"] {
        for entry in fs::read_dir(repository().join(folder)).expect("a folder of tests") {
            let path = entry.expect("an entry").path();
            if path.is_file() {
                tests.push_str(&fs::read_to_string(path).expect("a test file"));
            }
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
