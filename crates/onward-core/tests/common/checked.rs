//! A step of a run, with what holds after every step.

use jiff::Timestamp;
use onward_core::event::{Event, Recorded};
use onward_core::input::Input;
use onward_core::run::{self, Refusal, Run, cache};

/// What the input comes to. The run is what its journal says afterwards, and the cache holds all of it.
pub(crate) fn step(
    run: &mut Run,
    journal: &mut Vec<Recorded>,
    input: &Input,
    now: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    let stepped = run::step(run, input, "ada", now)?;
    journal.extend(stepped.events.clone());
    let replayed = run::fold(&*journal).expect("a journal");
    assert_eq!(format!("{run:?}"), format!("{replayed:?}"), "I1: live equals replayed");
    let cached = cache::decode(&cache::encode(run)).expect("our own bytes");
    assert_eq!(format!("{run:?}"), format!("{cached:?}"), "the cache holds all of it");
    Ok(stepped.events.into_iter().map(|recorded| recorded.event).collect())
}
