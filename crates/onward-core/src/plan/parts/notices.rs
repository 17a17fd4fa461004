//! Notices to people: which events are told, and in which way.

use serde::{Deserialize, Serialize};

use crate::document::word::words;

words! {
    /// An event of a run that people may want to hear of.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Occasion {
        ApprovalWanted = "approval-wanted",
        Question = "question",
        RateLimited = "rate-limited",
        PhaseCompleted = "phase-completed",
        PhaseFailed = "phase-failed",
        ReplanWanted = "replan-wanted",
        RunStarted = "run-started",
        RunSucceeded = "run-succeeded",
        RunFailed = "run-failed",
        RunInterrupted = "run-interrupted",
        RunPaused = "run-paused",
    }
}

impl Occasion {
    pub const ALL: [Self; 11] = [
        Self::ApprovalWanted,
        Self::Question,
        Self::RateLimited,
        Self::PhaseCompleted,
        Self::PhaseFailed,
        Self::ReplanWanted,
        Self::RunStarted,
        Self::RunSucceeded,
        Self::RunFailed,
        Self::RunInterrupted,
        Self::RunPaused,
    ];

    pub fn as_str(self) -> &'static str {
        let at = Self::ALL.iter().position(|one| *one == self).expect("all of them are there");
        Self::WORDS[at]
    }
}

/// The way in which a notice reaches people. Texts may hold `${{ }}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoticeWay {
    /// A shell command; it has the text in its environment.
    Command(String),
    /// An address to which a JSON document is posted.
    Webhook(String),
    Desktop,
}

/// One entry of `notify`, for one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoticeRule {
    pub when: Vec<Occasion>,
    pub way: NoticeWay,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::word::Word;

    /// Every occasion goes by the word that is written in plans.
    #[test]
    fn occasions_and_their_words_are_in_one_order() {
        assert_eq!(Occasion::ALL.len(), Occasion::WORDS.len());
        assert!(Occasion::ALL.iter().all(|one| Occasion::from_word(one.as_str()) == Some(*one)));
    }
}
