//! Which database a store is kept in only the store knows, and in there only its own folder.

use super::{Breach, TextFile};

/// Names of the database and of what is built on it, as code has them. Sentences may say which one it is.
const NAMES: [&str; 2] = ["rusqlite", "Sqlite"];

/// Where they belong, and why. A path that ends with a slash means all below it.
const HOME: [(&str, &str); 6] = [
    ("crates/onward-store/src/sqlite/", "the backend itself"),
    ("crates/onward-store/src/open.rs", "the one place that opens it"),
    ("crates/onward-store/tests/", "tests of the backend, which damage its files"),
    ("crates/onward-testkit/src/tidy/", "the rules that name it"),
    ("crates/onward-testkit/tests/tidy.rs", "the tests of these rules"),
    ("bench/", "the same work done on the bare database, to compare with"),
];

/// Calls that every backend has to provide. Four made a backend of two hundred lines elsewhere, sixty-one one of six thousand.
const CALLS_MAX: usize = 16;

/// The contract of a store demands at most sixteen calls; conveniences and inspections have traits of their own.
pub fn check_store_contract(file: &TextFile) -> Option<Breach> {
    let inside =
        file.text.lines().skip_while(|line| !line.starts_with("pub trait Store")).take_while(|line| *line != "}");
    let calls = inside.filter(|line| line.starts_with("    fn ") && !line.ends_with(['{', '}'])).count();
    let message = || format!("a store demands {calls} calls, {CALLS_MAX} at most: the rest goes into an extension");
    (calls == 0 || calls > CALLS_MAX).then(|| Breach::in_file(&file.path, message()))
}

/// No other source names the backend: what it needs goes through the traits of the store.
pub fn check_backend(file: &TextFile) -> Vec<Breach> {
    if HOME.iter().any(|(place, _)| file.path == *place || place.ends_with('/') && file.path.starts_with(place)) {
        return Vec::new();
    }
    let lines = file.text.lines().enumerate();
    let found = lines.filter_map(|(index, line)| {
        let name = NAMES.iter().find(|name| line.contains(**name))?;
        let message = format!("`{name}` is known to the store alone: go through its traits `Store` and `Inspection`");
        Some(Breach::at(&file.path, index + 1, message))
    });
    found.collect()
}
