//! Drivers at work: the process that drives a run, if one does.

use std::time::{Duration, Instant};

use onward_core::id::RunId;
use onward_core::view::DriverView;
use onward_store::{Holder, LeaseKind};

use crate::Onward;
use crate::error::Result;
use crate::sys::process::{self, Pid};

/// How long a driver that was killed is waited for: on a busy machine it keeps its lock until it has come to its end.
const ENDING_WAIT_MAX: Duration = Duration::from_secs(3);
/// The same where no process of that number is there: it may live where we do not see it.
const GONE_WAIT_MAX: Duration = Duration::from_millis(200);
const ENDING_LOOK_EVERY: Duration = Duration::from_millis(2);

impl Onward {
    /// The driver of a run now. One that was killed a moment ago does not count: its end is waited for.
    pub fn driver(&mut self, run: &RunId) -> Result<Option<DriverView>> {
        let began = Instant::now();
        loop {
            let Some((LeaseKind::Driving, holder)) = self.store()?.holder(run)? else { return Ok(None) };
            if began.elapsed() >= wait_max(&holder) {
                return Ok(Some(DriverView { host: holder.host, pid: holder.pid, since: holder.since }));
            }
            std::thread::sleep(ENDING_LOOK_EVERY);
        }
    }
}

/// How long the end of a driver is waited for; not at all while it is at work.
fn wait_max(holder: &Holder) -> Duration {
    let pid = i32::try_from(holder.pid).map(Pid::from_raw);
    let (Ok(pid), true) = (pid, holder.host == process::hostname()) else { return Duration::ZERO };
    match process::start_time(pid) {
        Ok(_) if process::is_ending(pid) => ENDING_WAIT_MAX,
        Ok(_) => Duration::ZERO,
        Err(_) => GONE_WAIT_MAX,
    }
}
