//! One turn of a client that writes a plan: started, waited for and read as the attempt of a phase is.

use std::ffi::OsString;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, poll};
use onward_core::agent::{Adapter, AgentResult, AgentWork, SessionStart, Spent, codex_retries};
use onward_core::event::StopRequest;

use crate::attendant::{
    self, AfterSuccess, AttemptFolder, Attending, ClientOrders, ExitRecord, Follower, ProcessEnd, Spec, tree_value,
};
use crate::drive::agent_end::AgentReading;
use crate::executor::{agent, shell};
use crate::project::Project;
use crate::redact;
use crate::sys::own_files::THIS_PROGRAM;
use crate::sys::process::TREE_VARIABLE;
use crate::sys::{signals, stop};

/// From the polite request to the firm one, and from there to the kill. Whoever plans has nothing to put in order.
const GRACE_MS: u64 = 1_500;
const LOOK_EVERY_MS: u8 = 50;
/// How often it is said that the client is still at work.
const HEARTBEAT: Duration = Duration::from_mins(1);
/// An attendant that was told to kill and is still there after this is ended by force.
const KILL_TIME_MAX: Duration = Duration::from_secs(3);

/// The progress of a client that writes a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanningNews {
    /// A line of what it says and does.
    Line(String),
    StillAtWork(Duration),
    /// Its plan is wrong, and it is told so.
    Corrected {
        again: u32,
        why: String,
    },
}

/// The client that plans.
pub(crate) struct PlanningClient {
    orders: ClientOrders,
    adapter: Adapter,
    work: AgentWork,
}

/// Where and for how long a client works.
pub(crate) struct TurnPlace<'a> {
    /// Everything about the turn lies here.
    pub(crate) folder: AttemptFolder,
    pub(crate) working_directory: PathBuf,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) until: Instant,
    pub(crate) leave: LeaveTurn<'a>,
    /// By the turns before: it comes off the budget.
    pub(crate) spent_usd: f64,
}

/// How a turn is given up.
#[derive(Clone, Copy)]
pub(crate) enum LeaveTurn<'a> {
    /// By the signals of this process: the first asks, another one kills.
    BySignals,
    /// By whoever waits for it: at once.
    ByFlag(&'a AtomicBool),
}

/// Why a turn has no result.
#[derive(Debug)]
pub(crate) enum TurnFault {
    GivenUp,
    TooLong,
    NotInstalled(String),
    Failed(String),
}

impl PlanningClient {
    /// None where nobody has heard of the agent.
    pub(crate) fn new(project: &Project, work: AgentWork) -> Option<Self> {
        let orders = agent::client(project, &work.agent);
        let adapter = orders.adapter()?;
        Some(Self { orders, adapter, work })
    }

    /// The account of a turn that was ended before anybody read it; none where nothing of it is there.
    pub(crate) fn account_of(&self, folder: &AttemptFolder) -> Option<AgentResult> {
        let exit = folder.exit().ok().flatten();
        folder.read_frames().ok()?;
        Some(AgentReading::for_planning(self.adapter.clone(), None).result(folder, exit.as_ref()))
    }

    pub(crate) fn name(&self) -> &str {
        &self.work.agent
    }

    /// Starts the client with this prompt and waits for its end.
    pub(crate) fn turn(
        &self,
        session: SessionStart<'_>,
        prompt: &str,
        place: &TurnPlace<'_>,
        heard: &mut dyn FnMut(PlanningNews),
    ) -> Result<AgentResult, TurnFault> {
        let failed = |why: &dyn std::fmt::Display| TurnFault::Failed(why.to_string());
        place.folder.create().map_err(|why| failed(&why))?;
        let (spec, env) = self.orders(session, prompt, place)?;
        let attending = attendant::spawn(Path::new(THIS_PROGRAM), &place.folder, &spec, &env);
        let exit = wait(attending.map_err(|why| failed(&why))?, place, heard)?;
        match &exit.outcome {
            ProcessEnd::CouldNotStart(why) => return Err(failed(why)),
            ProcessEnd::Code(_) | ProcessEnd::Signal(_) => {}
        }
        if exit.stopped_by.is_some() {
            return Err(TurnFault::GivenUp);
        }
        if exit.timed_out {
            return Err(TurnFault::TooLong);
        }
        let continued = match session {
            SessionStart::Continue { id } => Some(id.to_owned()),
            SessionStart::New { .. } => None,
        };
        Ok(AgentReading::for_planning(self.adapter.clone(), continued).result(&place.folder, Some(&exit)))
    }

    fn orders(
        &self,
        session: SessionStart<'_>,
        prompt: &str,
        place: &TurnPlace<'_>,
    ) -> Result<(Spec, Vec<(OsString, OsString)>), TurnFault> {
        let spent = Spent { usd: place.spent_usd, ..Spent::default() };
        let mut invocation = self.adapter.planning_invocation(&self.work, session, spent);
        if self.adapter == Adapter::Codex {
            invocation.add_flags(codex_retries(&agent::codex_config()));
        }
        let (argv, stdin) = invocation.with_prompt(prompt);
        let (mut env, tag) = (place.env.clone(), place.folder.tag());
        env.retain(|(name, _)| !invocation.env_removed.iter().any(|removed| name == removed.as_str()));
        for (name, value) in &invocation.env_set {
            shell::set(&mut env, name, value.into());
        }
        let outer = env.iter().find(|(name, _)| name == TREE_VARIABLE).and_then(|(_, value)| value.to_str());
        let tree = tree_value(outer, &tag);
        shell::set(&mut env, TREE_VARIABLE, tree.into());
        let argv = shell::found(&argv, &env);
        if let Some(program) = argv.first().filter(|program| !program.contains('/')) {
            return Err(TurnFault::NotInstalled(program.clone()));
        }
        let left = place.until.saturating_duration_since(Instant::now());
        let spec = Spec {
            run: "plan".to_owned(),
            phase: self.work.agent.clone(),
            attempt: 1,
            tag,
            argv,
            working_directory: place.working_directory.clone(),
            timeout_ms: Some(u64::try_from(left.as_millis()).unwrap_or(u64::MAX)),
            grace_int_ms: GRACE_MS,
            grace_term_ms: GRACE_MS,
            drain_ms: Spec::DRAIN_MS,
            output_head_bytes_max: Spec::OUTPUT_HEAD_BYTES_MAX,
            output_tail_bytes_max: Spec::OUTPUT_TAIL_BYTES_MAX,
            driver_pid: i32::try_from(std::process::id()).unwrap_or(i32::MAX),
            secret_names: redact::names(),
            secret_values: redact::given(),
            folder: place.folder.path().to_owned(),
            after_success: AfterSuccess::EndAll,
            stdin,
            client: Some(self.orders.clone()),
        };
        Ok((spec, env))
    }
}

/// Waits until the attendant has written how it ended; asks it to end the client where nobody waits for it any more.
fn wait(
    mut attending: Attending,
    place: &TurnPlace<'_>,
    heard: &mut dyn FnMut(PlanningNews),
) -> Result<ExitRecord, TurnFault> {
    let (began, mut beats) = (Instant::now(), 0);
    let mut output = OutputLines::new(&place.folder);
    let mut leaving = Leaving::default();
    while !attending.has_ended() {
        leaving.heed_stops(place);
        if leaving.killed_at.is_some_and(|at| at.elapsed() > KILL_TIME_MAX) {
            let _ = attendant::end_attempt(&place.folder);
        }
        output.new_ones().into_iter().for_each(|line| heard(PlanningNews::Line(line)));
        if began.elapsed() >= HEARTBEAT * (beats + 1) {
            beats += 1;
            heard(PlanningNews::StillAtWork(began.elapsed()));
        }
        look_later(attending.fd());
    }
    let _ = attending.reap();
    output.new_ones().into_iter().for_each(|line| heard(PlanningNews::Line(line)));
    match place.folder.exit() {
        Ok(Some(exit)) => Ok(exit),
        Ok(None) if leaving.asked => Err(TurnFault::GivenUp),
        Ok(None) => Err(TurnFault::Failed("what stayed with it ended without a word".to_owned())),
        Err(why) => Err(TurnFault::Failed(why.to_string())),
    }
}

fn look_later(ended: Option<BorrowedFd<'_>>) {
    let mut fds: Vec<PollFd<'_>> = ended.into_iter().map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
    // Whatever it says, all is looked at again.
    let _ = poll(&mut fds, LOOK_EVERY_MS);
}

/// How far the end of a client was asked for.
#[derive(Default)]
struct Leaving {
    asked: bool,
    /// How many signals came while it was waited for.
    signals: usize,
    killed_at: Option<Instant>,
}

impl Leaving {
    fn heed_stops(&mut self, place: &TurnPlace<'_>) {
        match place.leave {
            LeaveTurn::BySignals => {
                self.signals += signals::take().len();
                if stop::asked().is_some() && !self.asked {
                    let _ = attendant::ask_to_stop(&place.folder, StopRequest::Interrupt);
                    self.asked = true;
                }
                if self.signals > 1 {
                    self.kill(&place.folder);
                }
            }
            LeaveTurn::ByFlag(unwanted) => {
                if unwanted.load(Ordering::Relaxed) || stop::asked().is_some() {
                    self.asked = true;
                    self.kill(&place.folder);
                }
            }
        }
    }

    fn kill(&mut self, folder: &AttemptFolder) {
        if self.killed_at.is_none() {
            let _ = attendant::kill(folder, StopRequest::Interrupt);
            self.killed_at = Some(Instant::now());
        }
    }
}

/// Whole lines of what people read of a client.
struct OutputLines {
    follower: Follower,
    begun: Vec<u8>,
}

impl OutputLines {
    fn new(folder: &AttemptFolder) -> Self {
        Self { follower: Follower::new(folder.path().to_owned()), begun: Vec::new() }
    }

    fn new_ones(&mut self) -> Vec<String> {
        let read: io::Result<Vec<u8>> = self.follower.read();
        // What cannot be read is not shown, and is no reason to end anything.
        self.begun.extend(read.unwrap_or_default());
        let Some(end) = self.begun.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
        let rest = self.begun.split_off(end + 1);
        let whole = std::mem::replace(&mut self.begun, rest);
        String::from_utf8_lossy(&whole).lines().map(str::to_owned).collect()
    }
}
