//! A notice to people was sent, or was not.

use jiff::Timestamp;

use crate::event::Event;
use crate::run::notices::next_try;
use crate::run::state::Run;

/// An answer about a notice that is no longer due is no fact.
pub(super) fn notified(run: &Run, notice: u32, sent: &Result<(), String>, now: Timestamp) -> Option<Event> {
    let due = run.notice_is_due(notice)?;
    Some(match sent {
        Ok(()) => Event::NoticeSent { notice },
        Err(reason) => Event::NoticeFailed { notice, reason: reason.clone(), retry_at: next_try(due.tries, now) },
    })
}
