//! Loops in which an agent works on one phase again and again, and how they are kept from going round in circles.

/// Times that the remaining work may stay as it was before the loop counts as stuck.
pub const UNCHANGED_MAX: usize = 2;

/// The result of one round of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// The agent says that it is finished.
    pub finished: bool,
    /// The remaining work, in its own words.
    pub remaining: String,
    /// It had no room left to think in, and has to be followed by a fresh session.
    pub exhausted: bool,
}

/// The decision after the last round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextRound {
    Done,
    /// In the same session.
    GoOn,
    /// In a new session, which is handed what remains.
    HandOff,
    /// It said that it was finished; but this remains, so it is not.
    Overruled {
        remaining: String,
    },
    /// The remaining work has not changed for too long: another round would not help.
    Stuck {
        remaining: String,
    },
    /// As many rounds as may be.
    LimitReached {
        rounds: usize,
    },
}

/// True for the ways in which people and agents say that nothing remains.
pub fn nothing_remains(text: &str) -> bool {
    matches!(plain(text).as_str(), "" | "0" | "[]" | "none")
}

/// Decides on what the rounds so far left behind, oldest first.
pub fn next(rounds: &[Round], rounds_max: usize) -> NextRound {
    let Some(last) = rounds.last() else { return NextRound::GoOn };
    if nothing_remains(&last.remaining) {
        // Nothing is left, whatever was said: a check of the phase has the last word.
        return NextRound::Done;
    }
    let remaining = last.remaining.trim().to_owned();
    let unchanged =
        rounds.iter().rev().skip(1).take_while(|round| plain(&round.remaining) == plain(&remaining)).count();
    if unchanged >= UNCHANGED_MAX {
        return NextRound::Stuck { remaining };
    }
    if rounds.len() >= rounds_max {
        return NextRound::LimitReached { rounds: rounds.len() };
    }
    match (last.finished, last.exhausted) {
        (true, _) => NextRound::Overruled { remaining },
        (false, true) => NextRound::HandOff,
        (false, false) => NextRound::GoOn,
    }
}

/// Blanks and letter case do not make other work.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}
