//! The ledger: what the phases themselves say they did, outside the project and whatever the program prints.

/// One line of the ledger: `begin NAME ATTEMPT PID`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// `begin`, `end`, `fail`, or `overlap` where an earlier step of that name was still alive.
    pub what: String,
    pub phase: String,
    /// The value of `ONWARD_ATTEMPT`, `-` outside a phase.
    pub attempt: String,
    pub pid: u32,
}

/// The words that may stand first in a line.
const KINDS: [&str; 4] = ["begin", "end", "fail", "overlap"];

/// Reads a ledger. A last line without its newline is still being written and is left out.
pub fn parse_ledger(text: &str) -> Vec<LedgerEntry> {
    text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')).map(parse_line).collect()
}

/// Panics if no line of a ledger can ever start with this word: a misspelt one would be waited for in vain.
#[track_caller]
pub(crate) fn assert_kind(what: &str) {
    assert!(KINDS.contains(&what), "the ledger has {KINDS:?}, not {what:?}");
}

fn parse_line(line: &str) -> LedgerEntry {
    let mut words = line.split(' ');
    let mut next = || words.next().unwrap_or_else(|| panic!("a word is missing in the ledger's line {line:?}"));
    let (what, phase, attempt, pid) = (next(), next(), next(), next());
    assert_kind(what);
    LedgerEntry {
        what: what.to_owned(),
        phase: phase.to_owned(),
        attempt: attempt.to_owned(),
        pid: pid.parse().unwrap_or_else(|_| panic!("no process id in the ledger's line {line:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_being_written_is_left_out() {
        let entries = parse_ledger("begin a 1 40\nend a 1 40\nbegin b 1 4");
        assert_eq!(entries.len(), 2);
        assert_eq!(
            entries[1],
            LedgerEntry { what: "end".to_owned(), phase: "a".to_owned(), attempt: "1".to_owned(), pid: 40 }
        );
    }

    #[test]
    #[should_panic(expected = "a word is missing")]
    fn a_short_line_is_a_mistake() {
        parse_ledger("begin a\n");
    }
}
