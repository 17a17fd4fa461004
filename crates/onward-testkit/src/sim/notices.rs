//! Simulated notices to people: what the oracle holds of them, and a sender that fails now and then.

use std::collections::BTreeSet;

use onward_core::event::{Event, RunResult};
use onward_core::input::Input;
use onward_core::plan::{NoticeRule, NoticeWay, Occasion, Plan};
use onward_core::run::notices::DueNotice;
use onward_engine::Result;

use super::dice::Dice;
use super::world::Machine;

/// Some plans have people told.
pub(super) fn random_rules(dice: &mut Dice) -> Vec<NoticeRule> {
    if !dice.percent(30) {
        return Vec::new();
    }
    let mut when = vec![Occasion::RunSucceeded, Occasion::RunFailed];
    when.extend(dice.percent(50).then_some(Occasion::PhaseCompleted));
    when.extend(dice.percent(50).then_some(Occasion::RunInterrupted));
    vec![NoticeRule { when, way: NoticeWay::Desktop }]
}

/// The oracle's notes on notices.
#[derive(Debug, Default)]
pub(super) struct NoticeFacts {
    /// On record as sent or as given up.
    settled: BTreeSet<u32>,
    /// Those that really went out.
    sent: BTreeSet<u32>,
    /// Some event of which people are to be told is on record.
    owed: bool,
    touched: bool,
}

impl NoticeFacts {
    pub(super) fn fold(&mut self, event: &Event, plan: &Plan) {
        match event {
            Event::RunEnded { result } => {
                let occasion = match result {
                    RunResult::Completed => Occasion::RunSucceeded,
                    RunResult::Failed => Occasion::RunFailed,
                };
                self.owed |= plan.notices.iter().any(|rule| rule.when.contains(&occasion));
            }
            Event::NoticeSent { notice } => {
                assert!(self.sent.contains(notice), "notice {notice} is on record as sent, and was not");
                assert!(self.settled.insert(*notice), "notice {notice} is sent twice by the record");
            }
            Event::NoticeFailed { notice, retry_at: None, .. } => {
                assert!(self.settled.insert(*notice), "notice {notice} is given up after its end");
            }
            _ => {}
        }
    }

    /// A driver came to its end alive.
    pub(super) fn judge(&self) {
        assert!(!self.owed || self.touched, "nobody tried to tell people how the run ended");
    }
}

impl Machine {
    pub(super) fn notify(&mut self, notice: &DueNotice) -> Result<Input> {
        let number = notice.number;
        self.tick()?;
        self.oracle.notices.touched = true;
        let over = self.oracle.notices.settled.contains(&number);
        assert!(!over, "I2: notice {number} is sent again though its end is on record");
        if self.dice.percent(20) {
            return Ok(Input::Notified { notice: number, sent: Err("nobody is there".to_owned()) });
        }
        self.oracle.notices.sent.insert(number);
        // Sent, and perhaps nobody lives to write that down.
        self.tick()?;
        Ok(Input::Notified { notice: number, sent: Ok(()) })
    }
}
