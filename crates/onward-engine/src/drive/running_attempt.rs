//! An attempt that is under way, as its driver sees it.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use onward_core::event::{AgentEnded, AgentHow, LeftRunning, Outcome, StopRequest, Urgency};
use onward_core::id::Attempt;
use onward_core::input::{AttemptEnd, LastWords};
use onward_core::tail::TAIL_BYTES_MAX;

use crate::attendant::{
    self, Adopted, AttemptFolder, AttemptFound, Attending, ExitRecord, Orders, OutputsError, ProcessEnd, RecordError,
    Spec,
};
use crate::error::{Error, Result};
use crate::executor::tool_calls;
use crate::probe::phase::ProofLook;
use crate::probe::surroundings_at_end::WorldWatch;
use crate::redact::secrets;
use crate::sys::process::{self, AttemptMark, Member};

/// How long an attempt may be looked at in vain for want of memory, open files and the like.
const BLIND_TIME_MAX: Duration = Duration::from_secs(10);

/// How long an attendant may take to end what it was asked to end: the time that it gives the phase, and a little more for itself.
/// After that the driver does it. Both end before the patience of a stop does (`core`).
const ASKED_TIME_MAX: Duration = Duration::from_millis(Spec::GRACE_INT_MS + Spec::GRACE_TERM_MS + 250);
const KILL_TIME_MAX: Duration = Duration::from_millis(1_200);
/// How much longer one may take of which nothing is left but itself: it reads the rest of the output and writes the outcome.
const LAST_TIME_MAX: Duration = Duration::from_millis(Spec::DRAIN_MS + 500);

/// Words of a summary.
const SUMMARY_WORDS_MAX: usize = 50;

/// Stands in the place of what a phase wrote itself.
const NOT_SHOWN: &str = "not shown: its attendant died, and this shell does not know all of its secrets";
const NOT_SHOWN_YET: &str = "not shown while it runs: this shell does not know all of its secrets";
const NOT_CLEANED: &str = "they could not be cleaned, and this shell does not know all of its secrets";

/// An attempt that has a process, or had one a moment ago.
pub(crate) struct Flight {
    pub(crate) attempt: Attempt,
    folder: AttemptFolder,
    by: By,
    boot: String,
    /// The evidence that is gathered when it is done.
    look: ProofLook,
    /// The last request to stop; repeated only when it is more urgent, or when nobody heard it.
    asked: Option<(StopRequest, Urgency)>,
    heard: bool,
    /// Since when it has been asked so urgently.
    asked_at: Instant,
    /// The mark of all its processes, and its attendant: known here also where its folder is gone.
    tag: String,
    attendant: Option<Member>,
    begun: Begun,
    /// Since when nothing can be told, because we have no room to look.
    blind_since: Option<Instant>,
}

/// Knowledge of the start of an attempt that is in no file of it: a phase can change those.
enum Begun {
    /// We started its attendant, which says so.
    Told(Orders),
    /// It was seen at work.
    Seen,
    /// Nothing could be seen.
    NotKnown,
}

impl Begun {
    fn may_have_run(&self) -> bool {
        match self {
            Self::Told(orders) => orders.are_carried_out(),
            Self::Seen => true,
            Self::NotKnown => false,
        }
    }
}

/// The thing that tells the end of the attempt.
enum By {
    Child(Attending),
    Adopted(Adopted),
    /// The attendant is dead or cannot be watched, but something it started is still there.
    Lock,
}

/// The result of one look at an attempt.
enum AttemptLook {
    Over(Box<AttemptEnd>),
    AtWork,
    /// There was no room to look, or to read what decides.
    Nothing,
}

/// The state of an attempt that an earlier driver had started.
pub(crate) enum Landed {
    Ended(AttemptEnd),
    NeverStarted,
    Flying(Flight),
}

impl Flight {
    pub(crate) fn attending(
        folder: AttemptFolder,
        attempt: Attempt,
        mut attending: Attending,
        look: ProofLook,
    ) -> Self {
        let start_time = process::start_time(attending.pid).ok();
        let attendant = start_time.map(|start_time| Member { pid: attending.pid, start_time });
        let begun = attending.orders.take().map_or(Begun::NotKnown, Begun::Told);
        Self { begun, ..Self::new(folder, attempt, By::Child(attending), &boot_now(), look, attendant) }
    }

    fn new(
        folder: AttemptFolder,
        attempt: Attempt,
        by: By,
        boot: &str,
        look: ProofLook,
        attendant: Option<Member>,
    ) -> Self {
        let (tag, boot, asked_at) = (folder.tag(), boot.to_owned(), Instant::now());
        Self {
            attempt,
            folder,
            by,
            boot,
            look,
            asked: None,
            heard: false,
            asked_at,
            tag,
            attendant,
            begun: Begun::NotKnown,
            blind_since: None,
        }
    }

    pub(crate) fn recovered(folder: AttemptFolder, attempt: Attempt, boot: &str, after: ProofLook) -> Landed {
        let mut begun = Begun::Seen;
        let by = match find_attempt(&folder, boot) {
            Some(AttemptFound::Exited(exit)) => match end_of(&folder, &exit, &after) {
                Some(end) => return Landed::Ended(end),
                None => By::Lock,
            },
            Some(AttemptFound::NeverStarted) => return Landed::NeverStarted,
            Some(AttemptFound::Unknown) => return Landed::Ended(unknown(&folder, &after)),
            Some(AttemptFound::Alive(adopted)) => By::Adopted(adopted),
            Some(AttemptFound::Holding) => By::Lock,
            None => {
                begun = Begun::NotKnown;
                By::Lock
            }
        };
        let attendant = attendant::attendant_of(&folder);
        Landed::Flying(Self { begun, ..Self::new(folder, attempt, by, boot, after, attendant) })
    }

    /// The descriptor that becomes readable when the attendant is gone.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.by {
            By::Child(attending) => attending.fd(),
            By::Adopted(adopted) => Some(adopted.fd()),
            By::Lock => None,
        }
    }

    /// Nothing becomes readable when it is over: it has to be looked at again and again.
    pub(crate) fn is_unwatched(&self) -> bool {
        self.fd().is_none()
    }

    /// The surroundings that are looked at again when it has ended.
    pub(crate) fn watch(&self) -> &WorldWatch {
        &self.look.around
    }

    /// The end of the attempt, if it is over. Where that cannot be told for long the driver has to end: nothing is said then of
    /// the attempt, and the next driver looks again.
    pub(crate) fn landed(&mut self) -> Result<Option<AttemptEnd>> {
        match &mut self.by {
            By::Child(attending) => {
                if !attending.has_ended() {
                    self.end_what_is_overdue();
                    return Ok(None);
                }
                // Its status says nothing: what counts is its record.
                let _ = attending.reap();
            }
            By::Adopted(adopted) => {
                if !process::pidfd_ended(adopted.fd()) {
                    self.end_what_is_overdue();
                    return Ok(None);
                }
            }
            By::Lock => self.end_what_is_overdue(),
        }
        match find_attempt(&self.folder, &self.boot).map_or(AttemptLook::Nothing, |found| self.seen(found)) {
            AttemptLook::Over(end) => return Ok(Some(*end)),
            AttemptLook::AtWork => {
                self.blind_since = None;
                return Ok(None);
            }
            AttemptLook::Nothing => {}
        }
        if self.blind_since.get_or_insert_with(Instant::now).elapsed() > BLIND_TIME_MAX {
            let what = format!("what became of the attempt in {} cannot be read", self.folder.path().display());
            return Err(Error::NoRoom { what });
        }
        // Looked at again and again from now on.
        self.by = By::Lock;
        Ok(None)
    }

    fn seen(&mut self, found: AttemptFound) -> AttemptLook {
        // A folder without a start may have been emptied, or be another one than that in which the attendant worked.
        let found = match found {
            AttemptFound::NeverStarted if self.begun.may_have_run() => AttemptFound::Unknown,
            other => other,
        };
        let end = match found {
            AttemptFound::Exited(exit) => {
                // An attendant that could only be told by a signal does not know who asked.
                let stopped_by = exit.stopped_by.map(|by| self.asked.map_or(by, |(by, _)| by));
                end_of(&self.folder, &ExitRecord { stopped_by, ..exit }, &self.look)
            }
            AttemptFound::Alive(_) => return AttemptLook::AtWork,
            AttemptFound::Holding => {
                self.by = By::Lock;
                self.repeat_the_kill();
                return AttemptLook::AtWork;
            }
            // Its own attendant was started from that folder: if the folder is gone, somebody took it away.
            AttemptFound::NeverStarted if !self.folder.path().exists() => Some(unknown(&self.folder, &self.look)),
            AttemptFound::NeverStarted => Some(AttemptEnd::bare(Outcome::NeverRan)),
            AttemptFound::Unknown => Some(match self.asked {
                Some((by, _)) => AttemptEnd {
                    outcome: Outcome::Stopped { by, said_done: false },
                    ..unknown(&self.folder, &self.look)
                },
                None => unknown(&self.folder, &self.look),
            }),
        };
        end.map_or(AttemptLook::Nothing, |end| AttemptLook::Over(Box::new(end)))
    }

    pub(crate) fn ask_to_stop(&mut self, by: StopRequest, urgency: Urgency) {
        if self.heard && matches!(self.asked, Some((_, asked)) if asked >= urgency) {
            return;
        }
        if self.asked.is_none_or(|(_, asked)| asked < urgency) {
            self.asked_at = Instant::now();
        }
        self.asked = Some((by, urgency));
        // An attendant that is gone will be seen to be; one that could not be told is told again at the next look.
        let reached = match urgency {
            Urgency::Ask => attendant::ask_to_stop(&self.folder, by),
            Urgency::Kill => attendant::kill(&self.folder, by),
        };
        let told = || self.attendant().is_some_and(|one| attendant::tell_to_stop(one, urgency).unwrap_or(false));
        self.heard = reached.is_ok() || told();
        self.repeat_the_kill();
    }

    /// With no attendant left to do it, the kill is ours to do.
    fn repeat_the_kill(&self) {
        let alone = matches!(self.by, By::Lock) && !self.is_attended();
        if alone && self.asked.is_some() {
            // What is left then is found again by the next look.
            let _ = self.mark().kill();
        }
    }

    /// The kill is ours to do also where the attendant lives and does not do it: it was stopped, and cannot be made to go on. One
    /// that runs and has nothing more to end is given the time that it needs to write the outcome.
    fn end_what_is_overdue(&self) {
        let Some((_, urgency)) = self.asked else { return };
        let limit = match urgency {
            Urgency::Ask => ASKED_TIME_MAX,
            Urgency::Kill => KILL_TIME_MAX,
        };
        let since = self.asked_at.elapsed();
        if since < limit {
            return;
        }
        let Some(attendant) = self.attendant().filter(|_| self.is_attended()) else { return };
        let beside = AttemptMark { root: Some(attendant.pid), spared: Some(attendant.pid), ..self.mark() };
        let something_lives = || beside.members().is_ok_and(|members| !members.is_empty());
        if process::is_stopped(attendant.pid) || something_lives() || since >= limit + LAST_TIME_MAX {
            // What is left then is found by the next look.
            let _ = attendant::end_by_force(&self.mark(), Some(attendant));
        }
    }

    fn attendant(&self) -> Option<Member> {
        self.attendant.or_else(|| attendant::attendant_of(&self.folder))
    }

    fn is_attended(&self) -> bool {
        self.attendant().is_some_and(|one| process::alive(one.pid, one.start_time))
    }

    /// The mark that tells the processes of this attempt from all others, by the tag that they were given.
    fn mark(&self) -> AttemptMark {
        AttemptMark { tag: self.tag.clone(), ..self.folder.mark(&boot_now()) }
    }
}

/// The state of an attempt; none where we had no room to look, which says nothing about it. A record that a newer
/// onward wrote, or that nobody can read, tells us nothing either: as long as something of the attempt is there it is
/// waited for, and after that nobody knows.
fn find_attempt(folder: &AttemptFolder, boot: &str) -> Option<AttemptFound> {
    let found = match attendant::find(folder, &process::boot_id().ok()?, boot) {
        Ok(found) => found,
        Err(RecordError::Unreadable { source, .. }) if process::may_pass(&source) => return None,
        Err(_) => match attendant::is_at_work(folder) {
            Ok(true) => AttemptFound::Holding,
            Ok(false) => AttemptFound::Unknown,
            Err(_) => return None,
        },
    };
    let lost = matches!(found, AttemptFound::NeverStarted) && is_lost(folder);
    Some(if lost { AttemptFound::Unknown } else { found })
}

/// Whether nothing is left that could tell if an attempt was begun. Its folder was never made, or was taken away; that of the run is
/// made before anything is started.
pub(crate) fn is_lost(folder: &AttemptFolder) -> bool {
    let of_the_run = || folder.path().ancestors().nth(2).is_some_and(std::path::Path::exists);
    !folder.path().exists() && !of_the_run()
}

/// Whether something of an attempt that nobody drives still works.
pub(crate) fn is_at_work(folder: &AttemptFolder, boot: &str) -> bool {
    match find_attempt(folder, boot) {
        Some(AttemptFound::Alive(_) | AttemptFound::Holding) | None => true,
        Some(AttemptFound::Exited(_) | AttemptFound::NeverStarted | AttemptFound::Unknown) => false,
    }
}

/// An empty id differs from every recorded one, so that without it nothing counts as never started.
pub(crate) fn boot_now() -> String {
    process::boot_id().unwrap_or_default()
}

/// The last note of an attempt as it is shown while nobody has recorded its end: one that may hold secrets which this process does
/// not know is not.
pub(crate) fn note_shown(folder: &AttemptFolder) -> Option<String> {
    if folder.is_clean_with(&secrets()) {
        return note(folder);
    }
    let why = if attendant::is_attended(folder) { NOT_SHOWN_YET } else { NOT_SHOWN };
    folder.has_own_words().then(|| why.to_owned())
}

/// The last note of an attempt; one that cannot be read is as good as none.
fn note(folder: &AttemptFolder) -> Option<String> {
    folder.read_note(&secrets()).unwrap_or_default()
}

fn unknown(folder: &AttemptFolder, look: &ProofLook) -> AttemptEnd {
    let agent = look.agent.as_ref().filter(|_| folder.path().exists()).map(|reading| reading.account(folder, None));
    let answer_given = look.agent.is_some() && tool_calls::answer_was_given(folder);
    AttemptEnd { agent, answer_given, ..unknown_of_files(folder) }
}

/// The damage of the record of an attempt's end, in words, with its path in the store.
pub(crate) fn damage(folder: &AttemptFolder) -> Option<String> {
    let why = folder.exit().err().filter(|why| matches!(why, RecordError::Damaged { .. }))?;
    let path = folder.path().join("EXIT");
    let top = path.ancestors().nth(6).unwrap_or(&path);
    Some(format!("{why} ({})", path.strip_prefix(top).unwrap_or(&path).display()))
}

fn unknown_of_files(folder: &AttemptFolder) -> AttemptEnd {
    let end = unknown_of_its_words(folder);
    AttemptEnd { damage: damage(folder), ..end }
}

/// The end of an attempt that is over, as far as its record tells it, without a change of its files; none of one that is at work,
/// that never ran, or of which nothing can be told now.
pub(crate) fn end_told(folder: &AttemptFolder, boot: &str, look: &ProofLook) -> Option<AttemptEnd> {
    match find_attempt(folder, boot)? {
        AttemptFound::Exited(exit) => end_of(folder, &exit, look),
        AttemptFound::Unknown => Some(AttemptEnd { damage: damage(folder), ..AttemptEnd::bare(Outcome::Unknown) }),
        AttemptFound::Alive(_) | AttemptFound::Holding | AttemptFound::NeverStarted => None,
    }
}

/// The end of an attempt that failed, as its record tells it: for whoever wants to know beforehand what becomes of it.
pub(crate) fn recorded_failure(folder: &AttemptFolder) -> Option<AttemptEnd> {
    let exit = folder.exit().ok()?.filter(|exit| exit.stopped_by.is_none() && exit.outcome != ProcessEnd::Code(0))?;
    let outcome = outcome_of(&exit);
    let last_words = last_words(folder, &outcome).unwrap_or_default();
    Some(AttemptEnd { last_words, ended_at: Some(exit.ended_at), ..AttemptEnd::bare(outcome) })
}

fn unknown_of_its_words(folder: &AttemptFolder) -> AttemptEnd {
    if !folder.is_clean_with(&secrets()) {
        // No note: the next attempt would take it for its own.
        let summary = folder.has_own_words().then(|| NOT_SHOWN.to_owned());
        return AttemptEnd { summary, ..AttemptEnd::bare(Outcome::Unknown) };
    }
    // Its attendant died before it did so. A file that cannot be cleaned is still read with the secrets cut out.
    let _ = folder.clean(&secrets());
    // What it gave out counts only if a probe says that it is done.
    let outputs = Ok(folder.read_outputs(&secrets()).unwrap_or_default());
    let summary = folder.read_summary(&secrets()).unwrap_or_default();
    AttemptEnd { note: note(folder), summary, outputs, ..AttemptEnd::bare(Outcome::Unknown) }
}

/// All that the files of an attempt say about its end; none where we had no room to read what decides.
fn end_of(folder: &AttemptFolder, exit: &ExitRecord, look: &ProofLook) -> Option<AttemptEnd> {
    let outcome = outcome_of(exit);
    let last_words = match last_words(folder, &outcome) {
        Err(why) if process::may_pass(&why) => return None,
        read => read.unwrap_or_default(),
    };
    let clean = folder.is_clean_with(&secrets());
    let outputs = match folder.read_outputs(&secrets()) {
        Ok(_) if !clean => Err(NOT_CLEANED.to_owned()),
        Err(OutputsError::Unreadable(why)) if process::may_pass(&why) => return None,
        read => read.map_err(|why| why.to_string()),
    };
    let agent = look.agent.as_ref().filter(|_| !matches!(outcome, Outcome::CouldNotStart { .. }));
    let agent = agent.map(|reading| reading.account(folder, Some(exit)));
    let answer = agent.iter().flat_map(|agent| agent.answer.clone());
    let outputs = outputs.map(|outputs| answer.chain(outputs).collect());
    let summary = folder.read_summary(&secrets()).unwrap_or_default().filter(|_| clean);
    let summary = summary.or_else(|| agent.as_deref().and_then(last_word));
    Some(AttemptEnd {
        seen: if says_done(&outcome) { look.at_the_end(folder) } else { None },
        outcome,
        ended_at: Some(exit.ended_at),
        duration_ms: Some(exit.duration_ms),
        note: note(folder).filter(|_| clean),
        summary,
        outputs,
        head: None,
        around: None,
        last_words,
        agent,
        left_running: exit.left_running.iter().map(left_running).collect(),
        answer_given: look.agent.is_some() && tool_calls::answer_was_given(folder),
        damage: None,
    })
}

/// The last word of an agent that is done is the summary of its work.
fn last_word(agent: &AgentEnded) -> Option<String> {
    let words: Vec<&str> = agent.text.as_deref()?.split_whitespace().take(SUMMARY_WORDS_MAX).collect();
    (agent.how == AgentHow::Done && !words.is_empty()).then(|| words.join(" "))
}

fn left_running(one: &LeftRunning) -> LeftRunning {
    LeftRunning { name: secrets().text(&one.name).into_owned(), ..one.clone() }
}

/// The end of the output of an attempt that failed: it may have been rate-limited. It was redacted when it was
/// kept.
fn last_words(folder: &AttemptFolder, outcome: &Outcome) -> io::Result<Option<Box<LastWords>>> {
    match outcome {
        Outcome::Exited { code: 0 }
        | Outcome::CouldNotStart { .. }
        | Outcome::NeverRan
        | Outcome::Stopped { .. }
        | Outcome::Unknown => return Ok(None),
        Outcome::Exited { .. } | Outcome::Killed { .. } | Outcome::TimedOut => {}
    }
    let end = folder.output_end(TAIL_BYTES_MAX as u64)?;
    let text = String::from_utf8_lossy(&end).into_owned();
    Ok(Some(Box::new(LastWords { text, local: TimeZone::system() })))
}

/// Whether an attempt ended with code 0, asked to end or not.
fn says_done(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Exited { code: 0 } | Outcome::Stopped { said_done: true, .. })
}

/// An end that we asked for is never a failure; whether it is a success is for core to say.
fn outcome_of(exit: &ExitRecord) -> Outcome {
    match (exit.stopped_by, exit.timed_out, &exit.outcome) {
        (Some(by), _, outcome) => Outcome::Stopped { by, said_done: *outcome == ProcessEnd::Code(0) },
        (None, true, _) => Outcome::TimedOut,
        (None, false, ProcessEnd::Code(code)) => Outcome::Exited { code: *code },
        (None, false, ProcessEnd::Signal(signal)) => Outcome::Killed { signal: *signal },
        (None, false, ProcessEnd::CouldNotStart(reason)) => Outcome::CouldNotStart { reason: reason.clone() },
    }
}
