//! Loops in which somebody works on one phase again and again, and how they are kept from going round in circles.

/// Times that the remaining work may stay as it was before the loop counts as stuck.
pub const UNCHANGED_MAX: usize = 2;

/// The decision after the last round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextRound {
    /// Nothing is left: a check of the phase has the last word.
    Done,
    /// It was said to be done and is not: this remains.
    Overruled { remaining: String },
    /// The remaining work has not changed for too long: another round would not help.
    Stuck { remaining: String },
    /// As many rounds as may be.
    LimitReached { remaining: String },
}

/// True for the ways in which people and agents say that nothing remains.
pub fn nothing_remains(text: &str) -> bool {
    matches!(plain(text).as_str(), "" | "0" | "[]" | "none" | "null")
}

/// Decides on what the newest rounds said that remains, oldest first, after so many rounds in all.
pub fn next(remained: &[String], rounds: usize, rounds_max: usize) -> NextRound {
    let last = remained.last().map(|text| text.trim()).unwrap_or_default();
    if nothing_remains(last) {
        return NextRound::Done;
    }
    let remaining = last.to_owned();
    let unchanged = remained.iter().rev().skip(1).take_while(|text| plain(text) == plain(last)).count();
    if unchanged >= UNCHANGED_MAX {
        NextRound::Stuck { remaining }
    } else if rounds >= rounds_max {
        NextRound::LimitReached { remaining }
    } else {
        NextRound::Overruled { remaining }
    }
}

/// Blanks and letter case do not make other work.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}
