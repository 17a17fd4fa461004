//! A run while it is driven: a line for every change, and the last words.

use jiff::{SignedDuration, Timestamp};
use onward_core::event::{Event, Recorded, StopReason};
use onward_core::exit;
use onward_core::id::RunId;
use onward_core::plan::{Body, Phase};
use onward_core::question::Question;
use onward_core::run::schedule::{self, Awaited};
use onward_core::run::{Ending, PhaseStatus, Run, RunStatus};
use onward_core::view::{self, StatusView};
use onward_engine::{Finished, HandOver, Project, Reporter, Update};
use serde::Serialize;
use serde_json::json;

use super::change::ChangeLines;
use super::live::Live;
use super::write::line_json;
use super::{json, limits, paint, people, safe, say, status, time};
use crate::failure::Failure;

/// After this long without a word somebody wonders whether it is still alive.
const HEARTBEAT: SignedDuration = SignedDuration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Lines for people on stderr.
    Text,
    /// Nothing but what went wrong.
    Quiet,
    /// Lines for programs on stdout.
    Json,
}

/// Tells what happens, and remembers which run it was about.
#[derive(Debug)]
pub(crate) struct RunReporter {
    style: Style,
    run: Option<RunId>,
    changes: ChangeLines,
    last_word: Option<Timestamp>,
    live: Live,
    /// The wait that was last shown.
    awaited: Option<Awaited>,
    /// The way in which the terminal is let go of, once the run is on record.
    hand_over: Option<HandOver>,
}

impl Reporter for RunReporter {
    fn update(&mut self, update: &Update<'_>) {
        if let Update::Event { run, .. } = update {
            self.let_go_of_the_terminal(&run.id);
        }
        match update {
            Update::Event { recorded, run } => self.event(recorded, run),
            Update::Note(text) => {
                self.live.clear();
                say(&format!("{} {}\n", paint::doubtful("!"), safe::line(text)));
            }
            Update::Status(view) => self.status(view),
            Update::Tick { run, now } => self.tick(run, *now),
        }
    }
}

impl RunReporter {
    pub(crate) fn new(style: Style) -> Self {
        Self {
            style,
            run: None,
            changes: ChangeLines::default(),
            last_word: None,
            live: Live::new(),
            awaited: None,
            hand_over: None,
        }
    }

    /// From the first fact on there is no terminal; the descriptor is the one that came with the flag.
    pub(crate) fn will_let_go_of_the_terminal(&mut self, fd: i32) -> Result<(), onward_engine::Error> {
        self.hand_over = Some(HandOver::from_flag(fd)?);
        Ok(())
    }

    /// Whether nobody can be asked any more once the run is driven; what is said then is kept in the project.
    pub(crate) fn is_detached_in(&mut self, project: &Project) -> bool {
        self.hand_over = self.hand_over.take().map(|hand_over| hand_over.in_project(project));
        self.hand_over.is_some()
    }

    fn let_go_of_the_terminal(&mut self, run: &RunId) {
        let Some(hand_over) = self.hand_over.take() else { return };
        super::drain();
        match hand_over.now(run) {
            // Whether there is a terminal is asked anew.
            Ok(()) => self.live = Live::new(),
            Err(why) => say(&format!("{} it stays on this terminal: {why}\n", paint::doubtful("!"))),
        }
    }

    fn event(&mut self, recorded: &Recorded, run: &Run) {
        let line = match self.style {
            Style::Text => self.changes.line(recorded, run),
            Style::Quiet => None,
            Style::Json => {
                line_json(&json::event_line(recorded));
                None
            }
        };
        if let Some(line) = line {
            self.live.clear();
            say(&line);
            self.last_word = Some(recorded.at);
        }
        self.run = Some(run.id.clone());
        self.last_word.get_or_insert(recorded.at);
    }

    fn status(&mut self, view: &StatusView) {
        let now = Timestamp::now();
        self.live.clear();
        match self.style {
            Style::Text | Style::Quiet => say(&status::short(view, now)),
            Style::Json => line_json(&json!({ "type": "status", "at": now, "run": view.run, "status": view })),
        }
        self.last_word = Some(now);
    }

    fn tick(&mut self, run: &Run, now: Timestamp) {
        if self.style != Style::Quiet && self.waits(run, now) {
            return;
        }
        let silent = self.last_word.map(|last| now.duration_since(last));
        if silent.is_some_and(|silent| silent < HEARTBEAT) {
            return;
        }
        self.last_word = Some(now);
        match self.style {
            Style::Text => say(&heartbeat(run, now)),
            Style::Quiet => {}
            Style::Json => {
                let running: Vec<_> = run.running().map(|(phase, _)| &phase.id).collect();
                line_json(&json!({ "type": "heartbeat", "at": now, "run": run.id, "running": running }));
            }
        }
    }

    /// While nothing is at work and time alone is waited for: a line that counts down where a terminal can show it, else a
    /// line when the waiting begins. Whether that is all that is to be said now.
    fn waits(&mut self, run: &Run, now: Timestamp) -> bool {
        let awaited = schedule::awaited(run, now).filter(|_| run.running().next().is_none());
        let Some(awaited) = awaited else {
            self.live.clear();
            return false;
        };
        let words = limits::awaited_words(&awaited.words(), awaited.until, now);
        if self.style == Style::Text && self.live.is_possible() {
            self.live.show(&format!("◷ {words}"));
            return true;
        }
        if self.awaited.as_ref() != Some(&awaited) {
            if self.style == Style::Json {
                let Awaited { until, .. } = &awaited;
                let told =
                    json!({ "type": "waiting", "at": now, "run": run.id, "for": awaited.words(), "until": until });
                line_json(&told);
            } else {
                say(&format!("{} {words}\n", paint::doubtful("◷")));
            }
            (self.awaited, self.last_word) = (Some(awaited), Some(now));
        }
        false
    }

    /// The last words about a run that was driven; gives the exit code.
    pub(crate) fn finished(&mut self, finished: &Finished) -> u8 {
        self.live.clear();
        let code = exit_code(finished.ending);
        match self.style {
            Style::Json => line_json(&ExitLine::of_run(&finished.run, code)),
            Style::Quiet if code == exit::DONE => {}
            Style::Text | Style::Quiet => say(&last_words(finished)),
        }
        code
    }

    /// Nothing was started, and that is all right.
    pub(crate) fn left(&self, run: &RunId, resumable: bool, words: &str) {
        match self.style {
            Style::Json => line_json(&ExitLine::new(exit::DONE, Some(run), resumable)),
            Style::Text => say(words),
            Style::Quiet => {}
        }
    }

    /// It could not be done, or not to the end; gives the exit code.
    pub(crate) fn failed(&mut self, failure: &Failure) -> u8 {
        self.live.clear();
        say(&super::failure::page(failure));
        if self.style == Style::Json {
            if let Some(question) = &failure.question {
                line_json(&question_line(failure.run.as_ref(), question));
            }
            if !failure.findings.is_empty() {
                let (run, reasons, findings) = (&failure.run, &failure.more, &failure.findings);
                line_json(&json!({ "type": "refusal", "run": run, "reasons": reasons, "findings": findings }));
            }
            line_json(&ExitLine::failed(failure, self.run.as_ref()));
        }
        failure.code
    }
}

/// The last line for a program.
#[derive(Debug, Serialize)]
pub(crate) struct ExitLine {
    #[serde(rename = "type")]
    kind: &'static str,
    code: u8,
    run: Option<RunId>,
    resumable: bool,
    resume: Option<String>,
    retry_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl ExitLine {
    fn new(code: u8, run: Option<&RunId>, resumable: bool) -> Self {
        let resume = run.filter(|_| resumable).map(view::resume_command);
        Self { kind: "exit", code, run: run.cloned(), resumable, resume, retry_at: None, error: None }
    }

    fn of_run(run: &Run, code: u8) -> Self {
        Self { retry_at: run.retry_at(), ..Self::new(code, Some(&run.id), run.is_unfinished()) }
    }

    /// `driven` is the run that was under way when it happened; what is recorded of it can be resumed.
    pub(crate) fn failed(failure: &Failure, driven: Option<&RunId>) -> Self {
        let run = driven.or(failure.run.as_ref());
        let resumable = run.is_some() && (driven.is_some() || failure.question.is_some());
        Self { error: Some(failure.what.clone()), ..Self::new(failure.code, run, resumable) }
    }

    /// It was left at work.
    pub(crate) fn at_work(run: &RunId) -> Self {
        Self::new(exit::DONE, Some(run), true)
    }

    /// The command line itself was wrong.
    pub(crate) fn usage(code: u8) -> Self {
        Self::new(code, None, false)
    }
}

fn question_line(run: Option<&RunId>, question: &Question) -> serde_json::Value {
    let Question { reasons, in_doubt, orphans, choices, findings, stale, .. } = question;
    json!({
        "type": "question", "run": run, "reasons": reasons, "in_doubt": in_doubt, "orphans": orphans, "choices": choices,
        "stale": stale, "findings": findings,
    })
}

pub(crate) fn exit_code(ending: Ending) -> u8 {
    match ending {
        Ending::Completed => exit::DONE,
        Ending::Failed => exit::FAILED,
        Ending::Stopped(reason) => match reason {
            StopReason::Interrupt => exit::INTERRUPT,
            StopReason::SessionEnd => exit::TERMINATED,
            StopReason::Hangup => exit::HANGUP,
            StopReason::Question => exit::ANSWER_NEEDED,
            StopReason::Waiting => exit::WAITING,
            StopReason::OnlyThat | StopReason::Rewind | StopReason::Import => exit::DONE,
            StopReason::Limit | StopReason::Deadline | StopReason::Pause => exit::PAUSED,
            StopReason::DriverGone | StopReason::Cancel => exit::FAILED,
        },
    }
}

fn heartbeat(run: &Run, now: Timestamp) -> String {
    let at_work: Vec<String> = run
        .running()
        .map(|(phase, state)| {
            let span = state.started_at.map(|at| time::span(at, now)).unwrap_or_default();
            format!("{} ({span})", safe::line(phase.id.as_str()))
        })
        .collect();
    let at_work = if at_work.is_empty() { "nothing".to_owned() } else { at_work.join(", ") };
    let waiting = limits::waiting(run, now).map(|words| format!("; {words}")).unwrap_or_default();
    format!("{} at work: {at_work}{waiting}\n", paint::dim("…"))
}

/// Where to look after the last failure of something that prints, and what makes a person's no undone: a resume does not.
fn after_a_failure(run: &Run) -> String {
    let id = safe::line(run.id.as_str());
    let failed = || run.phases().filter(|(_, state)| state.status == PhaseStatus::Failed);
    let prints = |phase: &Phase| phase.children.is_none() && matches!(phase.body, Body::Run { .. } | Body::Agent(_));
    let printed = failed().filter(|(phase, state)| state.attempts > 0 && prints(phase));
    let logs = printed
        .max_by_key(|(_, state)| state.ended_at)
        .map(|(phase, _)| format!("see what it printed with  onward logs {id} {}\n", safe::line(phase.id.as_str())));
    let refused = failed().filter(|(phase, _)| matches!(phase.body, Body::Approval(_)));
    let again = refused
        .map(|(phase, _)| format!("have it asked again with  onward retry {id} {}\n", safe::line(phase.id.as_str())));
    logs.into_iter().chain(again).collect()
}

fn last_words(finished: &Finished) -> String {
    let run = &finished.run;
    let id = safe::line(run.id.as_str());
    let done = format!("{} of {} phases done", run.phases_finished(), run.phases_total());
    let resume = format!("go on with  {}\n", safe::line(&view::resume_command(&run.id)));
    match finished.ending {
        Ending::Failed if run.status() == RunStatus::Archived => {
            format!("{} run {id} failed, {done}, and is archived\nlook at it with  onward show {id}\n", paint::bad("✗"))
        }
        Ending::Completed => format!("{} run {id} is complete, {done}\n", paint::good("✓")),
        Ending::Failed => {
            format!("{} run {id} failed, {done}\n{}{resume}", paint::bad("✗"), after_a_failure(run))
        }
        Ending::Stopped(reason) => {
            let why = match reason {
                StopReason::Interrupt => "was interrupted",
                StopReason::SessionEnd => "was told to end",
                StopReason::Hangup => "lost its terminal; phases at work go on, and the next start takes their results",
                StopReason::Question => "needs an answer",
                StopReason::OnlyThat => "did what was wanted of it",
                StopReason::DriverGone => "was stopped after a failure",
                StopReason::Rewind => "was rewound",
                StopReason::Import => "was taken over from a file",
                StopReason::Limit | StopReason::Deadline | StopReason::Pause | StopReason::Cancel => {
                    return limits::last_words(run, reason);
                }
                StopReason::Waiting => "waits for others",
            };
            let left = left_at_work(run, reason);
            let awaited = if reason == StopReason::Waiting { people::awaited(run) } else { String::new() };
            format!("{} run {id} {why}, {done}\n{left}{awaited}{resume}", paint::doubtful("■"))
        }
    }
}

/// Phases that were told to end and have not, where that is not what was wanted.
fn left_at_work(run: &Run, reason: StopReason) -> String {
    let ids: Vec<String> = run.running().map(|(phase, _)| safe::line(phase.id.as_str())).collect();
    if ids.is_empty() || reason == StopReason::Hangup {
        return String::new();
    }
    format!("did not end in time: {}; the next start finds what became of it\n", ids.join(", "))
}

/// Whether this event greets the watcher of a run.
pub(super) fn greeting(event: &Event, run: &Run) -> Option<String> {
    let id = safe::line(run.id.as_str());
    let plan = safe::line(&run.started.plan_path);
    let watch = format!("watch it with  onward status {id}\n");
    match event {
        Event::RunStarted(_) => {
            Some(format!("run {} of {plan}, phases: {}\n{watch}", paint::bold(&id), run.phases_total()))
        }
        Event::DriverStarted { .. } => {
            let done = format!("{} of {} phases done", run.phases_finished(), run.phases_total());
            Some(format!("going on with run {} of {plan}, {done}\n{watch}", paint::bold(&id)))
        }
        _ => None,
    }
}
