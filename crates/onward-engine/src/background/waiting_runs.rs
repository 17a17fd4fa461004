//! Going on by itself: what the timer does each time.

use jiff::Timestamp;
use onward_core::auto_resume::{self, KeepVerdict};
use onward_core::id::RunId;
use onward_core::resume::Verdict;
use serde::Serialize;

use crate::Onward;
use crate::error::Result;
use crate::start::request::{Request, Want};
use crate::sys::process;

/// The finding about one unfinished run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaitingRun {
    pub run: RunId,
    /// Nothing speaks against going on with it now.
    pub goes_on: bool,
    /// When it may go on, where that is known.
    pub not_before: Option<Timestamp>,
    /// Why it does not.
    pub why: Option<String>,
}

impl WaitingRun {
    fn left(run: RunId, why: impl Into<String>) -> Self {
        Self { run, goes_on: false, not_before: None, why: Some(why.into()) }
    }
}

impl Onward {
    /// Looks at every unfinished run of the project. Nothing is started: whoever asked does that, and the lease sees to it that a
    /// run has one driver.
    pub fn waiting_runs(&mut self) -> Result<Vec<WaitingRun>> {
        let (boot, now) = (process::boot_id().unwrap_or_default(), Timestamp::now());
        let mut all = Vec::new();
        for row in self.unfinished()? {
            let id = row.run;
            if self.driver(&id)?.is_some() {
                all.push(WaitingRun::left(id, "somebody drives it"));
                continue;
            }
            let run = match self.load(&id) {
                Ok(run) => run,
                // One that is damaged keeps no other from going on.
                Err(why) => {
                    all.push(WaitingRun::left(id, why.to_string()));
                    continue;
                }
            };
            all.push(match auto_resume::verdict(&run, &boot, now) {
                KeepVerdict::Leave(why) => WaitingRun::left(id, why),
                KeepVerdict::NotBefore(until) => {
                    WaitingRun { not_before: Some(until), ..WaitingRun::left(id, "it waits for a limit") }
                }
                KeepVerdict::GoOn => self.judged_alone(id),
            });
        }
        Ok(all)
    }

    /// As `run` without a terminal judges it: nothing may be left to decide.
    fn judged_alone(&mut self, id: RunId) -> WaitingRun {
        let found = self.find(&Request { want: Want::ResumeRun(Some(id.to_string())), ..Request::default() });
        let judged = match &found {
            Ok(found) => found.unfinished.first().map(|one| one.judge(&Request::default())),
            Err(why) => return WaitingRun::left(id, why.to_string()),
        };
        match judged {
            Some(judged) if judged.verdict == Verdict::GoOn => {
                WaitingRun { run: id, goes_on: true, not_before: None, why: None }
            }
            Some(judged) => {
                let why = judged.open.first().map(|finding| finding.message.clone());
                WaitingRun::left(id, why.unwrap_or_else(|| "a person has to decide".to_owned()))
            }
            None => WaitingRun::left(id, "it is not there any more"),
        }
    }
}
