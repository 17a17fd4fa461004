//! Rate limits: whether an attempt failed because of one, until when it stands, and what to do about it.
//!
//! `messages` knows the words of today's agents and interfaces, `times` and `clock` find out
//! when to come back, `recognise` puts them together, and `respond` says whether to wait.

mod clock;
mod messages;
mod recognise;
mod respond;
mod times;

pub use recognise::{EXIT_LIMITED, FailureEvidence, RecognisedLimit, Speaker, recognise};
pub use respond::{GUESS_FIRST, GUESS_MAX, Response, SHORTEST, WaitPolicy, guess, respond, shortest};
pub use times::RESET_AWAY_MAX;
