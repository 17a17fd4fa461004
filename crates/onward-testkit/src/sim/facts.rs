//! The oracle's notes on each phase.

use std::collections::BTreeSet;

use onward_core::id::{Attempt, Generation};
use onward_core::run::PhaseStatus;

/// The journal's account of a phase, counted the simple way.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and any may hold beside the others")]
#[derive(Clone, Debug, Default)]
pub(super) struct PhaseFacts {
    pub(super) started: BTreeSet<Attempt>,
    pub(super) open: Option<Attempt>,
    pub(super) finished_as: Option<PhaseStatus>,
    pub(super) finished_generation: Option<Generation>,
    pub(super) generation: u32,
    pub(super) failures: u32,
    pub(super) unknowns: u32,
    /// The last end was counted as a failure when it was recorded.
    pub(super) counted: bool,
    /// Only a person can say what became of it.
    pub(super) in_doubt: bool,
    pub(super) parked: bool,
    /// The last end of a phase with a probe, until the probe has spoken.
    pub(super) unprobed: Option<Unprobed>,
    pub(super) confirmed: bool,
    /// Its last attempt was cut short in the middle of an outward effect, and it is not on record that a person is asked.
    pub(super) must_ask: bool,
    /// A person said, while it was at work, that it is to be done once more.
    pub(super) answered: bool,
    /// That was said of its last attempt, and how it ended is no news to them.
    pub(super) need_not_ask: bool,
    /// Its last attempt finished its work after it was asked to end.
    pub(super) must_be_done: bool,
    /// Somebody else is at work on it.
    pub(super) begun: bool,
    /// The answer of the person, or of the one who did it: the phase may be done.
    pub(super) word: Option<YesNo>,
    /// The generation of the last attempt, which the world outside knows by its key.
    pub(super) key: Option<Generation>,
    /// The key under which the world outside knows what was begun last, and the generation in which it was.
    pub(super) known_as: Option<(u32, String)>,
    /// It was put back since, and nobody has asked for it to be done anew.
    pub(super) rewound_since: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum YesNo {
    Yes,
    No,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unprobed {
    SaysDone,
    /// It had been asked to end.
    SaysDoneLate,
    NobodyKnows,
}
