//! The ledger of effects: what the attempts themselves wrote down, outside the project.

use std::fs;
use std::path::Path;

/// One line of the ledger: `WHAT RUN PHASE ATTEMPT KEY PID BORN MICROSECONDS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookLine {
    /// `begin`, `effect`, `end`, `fail`, `posted:WORD`, or `overlap:ATTEMPT` where a process of another attempt was alive.
    pub what: String,
    pub run: String,
    pub phase: String,
    pub attempt: u32,
    pub key: String,
    pub pid: u32,
    pub micros: u64,
}

/// All whole lines of a ledger, in the order in which they were written.
#[track_caller]
pub fn read_book(path: &Path) -> Vec<BookLine> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')).map(parse).collect()
}

#[track_caller]
fn parse(line: &str) -> BookLine {
    let words: Vec<&str> = line.split(' ').collect();
    let &[what, run, phase, attempt, key, pid, _born, micros] = words.as_slice() else {
        panic!("eight words are wanted in the ledger's line {line:?}")
    };
    let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("no number in the ledger's line {line:?}"));
    BookLine {
        what: what.to_owned(),
        run: run.to_owned(),
        phase: phase.to_owned(),
        attempt: u32::try_from(number(attempt)).expect("attempts are few"),
        key: key.to_owned(),
        pid: u32::try_from(number(pid)).expect("process ids fit into 32 bits"),
        micros: number(micros),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_who_did_what() {
        let line = parse("overlap:1 run_a part/one 2 k 40 99 1700000000000000");
        assert_eq!((line.what.as_str(), line.phase.as_str(), line.attempt, line.pid), ("overlap:1", "part/one", 2, 40));
    }
}
