//! A run while it is driven: a line for every change, and the last words.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use onward_core::event::{Event, Recorded, StopReason};
use onward_core::exit;
use onward_core::id::RunId;
use onward_core::question::Question;
use onward_core::run::schedule::{self, Awaited};
use onward_core::run::{Ending, Run};
use onward_core::view::{self, StatusView};
use onward_engine::names::learn_phases;
use onward_engine::{AttemptOutput, Finished, HandOver, Project, Reporter, Update};
use serde::Serialize;
use serde_json::json;

use super::change::ChangeLines;
use super::failure::ErrorLine;
use super::live::LiveArea;
use super::terminal_size::stderr_columns;
use super::write::line_json;
use super::{ending, json, limits, paint, safe, say, status, tail, time};
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
    /// When the first thing happened.
    begun: Option<Timestamp>,
    last_word: Option<Timestamp>,
    live: LiveArea,
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
            Update::Event { recorded, run, output } => {
                if matches!(recorded.event, Event::PhaseFailed { .. }) {
                    // Somebody may be asked about it in a moment, with the view right above.
                    self.live.refresh(run, *output, recorded.at);
                }
                self.event(recorded, run, *output);
                if run.ending().is_some() {
                    self.live.hide();
                } else {
                    self.live.show(run, *output, recorded.at);
                }
            }
            Update::Expected(expected) => self.live.expect(expected),
            Update::Note(text) => say(&format!("{} {}\n", paint::doubtful("!"), safe::line(text))),
            Update::Status(view) => self.status(view),
            Update::Tick { run, now, output } => {
                self.live.show(run, *output, *now);
                self.tick(run, *now, *output);
            }
        }
    }
}

impl RunReporter {
    pub(crate) fn new(style: Style) -> Self {
        Self {
            style,
            run: None,
            changes: ChangeLines::default(),
            begun: None,
            last_word: None,
            live: live_area(style),
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
            Ok(()) => self.live = live_area(self.style),
            Err(why) => say(&format!("{} it stays on this terminal: {why}\n", paint::doubtful("!"))),
        }
    }

    fn event(&mut self, recorded: &Recorded, run: &Run, output: &dyn AttemptOutput) {
        if let Event::PhaseExpanded { .. } = &recorded.event {
            learn_phases(run.plan());
        }
        let line = match self.style {
            Style::Text => {
                let line = self.changes.line(recorded, run).filter(|_| !self.is_seen_live(&recorded.event));
                line.map(|line| line + &last_lines(&recorded.event, run, output))
            }
            Style::Quiet if matches!(recorded.event, Event::PhaseFailed { .. }) => {
                let line = self.changes.line(recorded, run);
                line.map(|line| line + &last_lines(&recorded.event, run, output))
            }
            Style::Quiet => None,
            Style::Json => {
                let tail = tail::plain(&tail::of_event(&recorded.event, run, output));
                line_json(&json::event_line(recorded, &tail));
                None
            }
        };
        if let Some(line) = line {
            say(&line);
            self.last_word = Some(recorded.at);
        }
        self.run = Some(run.id.clone());
        self.begun.get_or_insert(recorded.at);
        self.last_word.get_or_insert(recorded.at);
    }

    fn status(&mut self, view: &StatusView) {
        let now = Timestamp::now();
        match self.style {
            Style::Text | Style::Quiet => say(&status::short(view, now)),
            Style::Json => line_json(&json!({ "type": "status", "at": now, "run": view.run, "status": view })),
        }
        self.last_word = Some(now);
    }

    fn tick(&mut self, run: &Run, now: Timestamp, output: &dyn AttemptOutput) {
        if self.live.is_possible() {
            return;
        }
        if self.style != Style::Quiet && self.waits(run, now) {
            return;
        }
        let silent = self.last_word.map(|last| now.duration_since(last));
        if silent.is_some_and(|silent| silent < HEARTBEAT) {
            return;
        }
        self.last_word = Some(now);
        match self.style {
            Style::Text => say(&heartbeat(run, now, output)),
            Style::Quiet => {}
            Style::Json => {
                let running: Vec<_> = run.running().map(|(phase, _)| &phase.id).collect();
                let notes: BTreeMap<_, _> =
                    running.iter().filter_map(|phase| Some((*phase, output.note(run, phase)?))).collect();
                line_json(
                    &json!({ "type": "heartbeat", "at": now, "run": run.id, "running": running, "notes": notes }),
                );
            }
        }
    }

    /// Whether the live view shows it: that something is at work now needs no line that stays.
    fn is_seen_live(&self, event: &Event) -> bool {
        let of_work = matches!(event, Event::AttemptStarted { .. } | Event::AttemptAdopted { alive: true, .. });
        self.live.is_possible() && of_work
    }

    /// While nothing is at work and time alone is waited for: a line when the waiting begins. Whether it was said now.
    fn waits(&mut self, run: &Run, now: Timestamp) -> bool {
        let awaited = schedule::awaited(run, now).filter(|_| run.running().next().is_none());
        let Some(awaited) = awaited.filter(|awaited| self.awaited.as_ref() != Some(awaited)) else { return false };
        if self.style == Style::Json {
            let Awaited { until, .. } = &awaited;
            let told = json!({ "type": "waiting", "at": now, "run": run.id, "for": awaited.words(), "until": until });
            line_json(&told);
        } else {
            let words = limits::awaited_words(&awaited.words(), awaited.until, now);
            say(&format!("{} {words}\n", paint::doubtful("◷")));
        }
        (self.awaited, self.last_word) = (Some(awaited), Some(now));
        true
    }

    /// The last words about a run that was driven; gives the exit code.
    pub(crate) fn finished(&mut self, finished: &Finished) -> u8 {
        self.live.hide();
        let code = exit_code(finished.ending);
        match self.style {
            Style::Json => line_json(&ExitLine::of_run(&finished.run, code)),
            Style::Quiet if code == exit::DONE => {}
            Style::Text | Style::Quiet => say(&ending::last_words(finished, self.begun)),
        }
        code
    }

    /// The run that is driven, once something of it was on record.
    pub(crate) fn driven(&self) -> Option<&RunId> {
        self.run.as_ref()
    }

    /// Nothing was started, and that is all right.
    pub(crate) fn left(&self, run: &RunId, resumable: Resumable, words: &str) {
        match self.style {
            Style::Json => line_json(&ExitLine::new(exit::DONE, Some(run), resumable)),
            Style::Text => say(words),
            Style::Quiet => {}
        }
    }

    /// It could not be done, or not to the end; gives the exit code.
    pub(crate) fn failed(&mut self, failure: &Failure) -> u8 {
        self.live.hide();
        say(&super::failure::page(failure));
        if self.style == Style::Json {
            if let Some(question) = &failure.question {
                line_json(&question_line(failure.run.as_ref(), question));
            }
            if !failure.findings.is_empty() {
                let (run, reasons, findings) = (&failure.run, &failure.more, &failure.findings);
                line_json(&json!({ "type": "refusal", "run": run, "reasons": reasons, "findings": findings }));
            }
            // A question is none.
            if failure.question.is_none() {
                line_json(&ErrorLine::new(failure));
            }
            line_json(&ExitLine::failed(failure, self.run.as_ref()));
        }
        failure.code
    }
}

/// Whether there is something to go on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resumable {
    Yes,
    No,
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
    fn new(code: u8, run: Option<&RunId>, resumable: Resumable) -> Self {
        let resumable = resumable == Resumable::Yes;
        let resume = run.filter(|_| resumable).map(view::resume_command);
        Self { kind: "exit", code, run: run.cloned(), resumable, resume, retry_at: None, error: None }
    }

    fn of_run(run: &Run, code: u8) -> Self {
        Self {
            retry_at: run.retry_at(),
            ..Self::new(code, Some(&run.id), if run.is_unfinished() { Resumable::Yes } else { Resumable::No })
        }
    }

    /// `driven` is the run that was under way when it happened; what is recorded of it can be resumed.
    pub(crate) fn failed(failure: &Failure, driven: Option<&RunId>) -> Self {
        let run = driven.or(failure.run.as_ref());
        let resumable = match run {
            Some(_) if driven.is_some() || failure.question.is_some() => Resumable::Yes,
            Some(_) | None => Resumable::No,
        };
        Self { error: Some(failure.what.clone()), ..Self::new(failure.code, run, resumable) }
    }

    /// It was left at work.
    pub(crate) fn at_work(run: &RunId) -> Self {
        Self::new(exit::DONE, Some(run), Resumable::Yes)
    }

    /// The command line itself was wrong.
    pub(crate) fn usage(code: u8) -> Self {
        Self::new(code, None, Resumable::No)
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
            StopReason::Requirement => exit::REFUSED,
            StopReason::Waiting => exit::WAITING,
            StopReason::OnlyThat | StopReason::Rewind | StopReason::Import => exit::DONE,
            StopReason::Limit | StopReason::Budget | StopReason::Deadline | StopReason::Pause => exit::PAUSED,
            StopReason::DriverGone | StopReason::Cancel => exit::FAILED,
        },
    }
}

/// Only people have a live view.
fn live_area(style: Style) -> LiveArea {
    if style == Style::Text { LiveArea::where_possible() } else { LiveArea::new() }
}

/// The last lines of a phase that failed, below the line that tells of it.
fn last_lines(event: &Event, run: &Run, output: &dyn AttemptOutput) -> String {
    let columns = stderr_columns();
    match event {
        Event::PhaseFailed { phase, .. } => tail::framed(&tail::of_event(event, run, output), run, phase, columns),
        Event::RetryScheduled { .. } => tail::of_a_retry(&tail::of_event(event, run, output), columns),
        _ => String::new(),
    }
}

fn heartbeat(run: &Run, now: Timestamp, output: &dyn AttemptOutput) -> String {
    let at_work: Vec<String> = run
        .running()
        .map(|(phase, state)| {
            let span = state.started_at.map(|at| time::span(at, now)).unwrap_or_default();
            let note = output.note(run, &phase.id).map(|note| format!(": {}", safe::line(&note))).unwrap_or_default();
            format!("{} ({span}){note}", safe::line(phase.id.as_str()))
        })
        .collect();
    let at_work = if at_work.is_empty() { "nothing".to_owned() } else { at_work.join(", ") };
    let waiting = limits::waiting(run, now).map(|words| format!("; {words}")).unwrap_or_default();
    format!("{} at work: {at_work}{waiting}\n", paint::dim("…"))
}

/// Whether this event greets the watcher of a run.
pub(super) fn greeting(event: &Event, run: &Run) -> Option<String> {
    let id = safe::line(run.id.as_str());
    let plan = safe::line(&run.started.plan_path);
    let watch = format!("watch it with  onward status {id}\n");
    match event {
        Event::RunStarted(_) => {
            Some(format!("run {} of {plan}, phases: {}\n{watch}", paint::bold(&id), run.phases_counted().total))
        }
        Event::DriverStarted { .. } => {
            let done = view::progress(run);
            Some(format!("going on with run {} of {plan}, {done}\n{watch}", paint::bold(&id)))
        }
        _ => None,
    }
}
