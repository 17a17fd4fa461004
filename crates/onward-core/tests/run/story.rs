//! A run in virtual time, with everything it ever recorded.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use onward_core::checkpoint::NewCheckpointDocument;
use onward_core::effect::Effect;
use onward_core::event::{Event, Outcome, Recorded, RunStarted, StopRequest};
use onward_core::id::{Attempt, PhaseId};
use onward_core::input::{AttemptEnd, Begin, Choice, Input, LastWords, Posted, Resumption, Says};
use onward_core::plan::Plan;
use onward_core::run::{self, PhaseState, PhaseStatus, Refusal, Run, cache};
use onward_core::view::{self, WillRun};

use crate::common;

pub(crate) struct Story {
    pub(crate) run: Run,
    pub(crate) journal: Vec<Recorded>,
    pub(crate) taken: Vec<NewCheckpointDocument>,
    pub(crate) now: Timestamp,
    /// How far the time goes on before each input.
    pub(crate) pace: SignedDuration,
    pub(crate) epoch: u64,
}

impl Story {
    /// A run of this plan that nobody has driven yet.
    pub(crate) fn of(plan: Plan) -> Self {
        Self::started(common::started(plan))
    }

    pub(crate) fn started(started: RunStarted) -> Self {
        let now = common::now();
        let (run, stepped) = run::start(started, "ada", now);
        let pace = SignedDuration::from_secs(1);
        Self { run, journal: stepped.events, taken: stepped.checkpoints, now, pace, epoch: 0 }
    }

    /// The same run, with a driver that was told nothing.
    pub(crate) fn driven(mut self) -> Self {
        self.drive();
        self
    }

    /// Whether a resume would run a phase, and why.
    pub(crate) fn why(&self, phase: &str) -> WillRun {
        let ahead =
            run::ResumeAhead::new(&self.run, &common::begin(self.run.epoch + 1), &[], self.now).expect("it begins");
        view::why(&ahead, self.run.plan().phase(&PhaseId::new(phase)).expect("of the plan"))
    }

    /// Takes the input and gives the events. Events are read back as they were, the run is what its journal says afterwards, and the cache
    /// holds all of it.
    pub(crate) fn step(&mut self, input: &Input) -> Result<Vec<Event>, Refusal> {
        self.now += self.pace;
        let stepped = run::step(&mut self.run, input, "ada", self.now)?;
        for recorded in &stepped.events {
            let text = serde_json::to_string(&recorded.event).expect("plain data");
            let back: Event = serde_json::from_str(&text).expect("our own text");
            assert_eq!(back, recorded.event, "what is stored is read back");
        }
        self.journal.extend(stepped.events.clone());
        self.taken.extend(stepped.checkpoints);
        let live = format!("{:?}", self.run);
        let replayed = run::fold(&self.journal).expect("a journal");
        assert_eq!(live, format!("{replayed:?}"), "I1: live equals replayed");
        let cached = cache::decode(&cache::encode(&self.run)).expect("our own bytes");
        assert_eq!(live, format!("{cached:?}"), "the cache holds all of it");
        Ok(stepped.events.into_iter().map(|recorded| recorded.event).collect())
    }

    /// A fact that nobody decides like this any more, as an older record has it.
    pub(crate) fn put(&mut self, event: Event) {
        let recorded = Recorded { seq: self.run.seq.next(), at: self.now, actor: "ada".to_owned(), event };
        self.run.apply(&recorded);
        self.journal.push(recorded);
    }

    pub(crate) fn take(&mut self, input: &Input) -> Vec<Event> {
        self.step(input).expect("a legal input")
    }

    /// The next driver begins, told this.
    pub(crate) fn begin(&mut self, told: Begin) -> Result<Vec<Event>, Refusal> {
        self.epoch += 1;
        self.step(&Input::Begin(Begin { epoch: self.epoch, ..told }))
    }

    pub(crate) fn drive(&mut self) -> Vec<Event> {
        self.drive_with(&[])
    }

    pub(crate) fn drive_with(&mut self, choices: &[(&str, Choice)]) -> Vec<Event> {
        self.begin(Begin { choices: chosen(choices), ..common::begin(0) }).expect("a driver may begin")
    }

    /// As a person resumes it: what was given up is tried anew.
    pub(crate) fn resume(&mut self, choices: &[(&str, Choice)]) -> Vec<Event> {
        self.begin(Begin { renew: true, choices: chosen(choices), ..common::begin(0) }).expect("a person may")
    }

    pub(crate) fn try_drive_told(&mut self, resumption: Resumption) -> Result<Vec<Event>, Refusal> {
        self.begin(Begin { resumption, ..common::begin(0) })
    }

    pub(crate) fn drive_told(&mut self, resumption: Resumption) -> Vec<Event> {
        self.try_drive_told(resumption).expect("a person may")
    }

    pub(crate) fn end_as(&mut self, phase: &str, end: AttemptEnd) -> Vec<Event> {
        let attempt = Attempt(self.state(phase).attempts);
        self.take(&Input::AttemptEnded { phase: PhaseId::new(phase), attempt, end })
    }

    pub(crate) fn end(&mut self, phase: &str, outcome: Outcome) -> Vec<Event> {
        self.end_as(phase, AttemptEnd::bare(outcome))
    }

    pub(crate) fn end_saying(&mut self, phase: &str, outcome: Outcome, text: &str) -> Vec<Event> {
        let last_words = Some(Box::new(LastWords { text: text.to_owned(), local: TimeZone::UTC }));
        self.end_as(phase, AttemptEnd { last_words, ..AttemptEnd::bare(outcome) })
    }

    pub(crate) fn done(&mut self, phase: &str) -> Vec<Event> {
        self.end(phase, Outcome::Exited { code: 0 })
    }

    pub(crate) fn fail(&mut self, phase: &str) -> Vec<Event> {
        self.end(phase, Outcome::Exited { code: 3 })
    }

    pub(crate) fn stop(&mut self, by: StopRequest) -> Vec<Event> {
        self.take(&Input::StopAsked { by })
    }

    pub(crate) fn choose(&mut self, phase: &str, choice: Choice) -> Result<Vec<Event>, Refusal> {
        self.step(&Input::Posted(Posted::Choose { phase: PhaseId::new(phase), choice, by: None, reason: None }))
    }

    pub(crate) fn report(&mut self, phase: &str, says: Says) -> Result<Vec<Event>, Refusal> {
        let phase = PhaseId::new(phase);
        self.step(&Input::Posted(Posted::Report { phase, by: "ada@h".to_owned(), says, complexity: None }))
    }

    pub(crate) fn after(&mut self, span: SignedDuration) -> Vec<Event> {
        self.now += span;
        self.take(&Input::Tick)
    }

    /// Lets the time come at which this phase is tried again.
    pub(crate) fn later(&mut self, phase: &str) {
        self.after(SignedDuration::from_hours(1));
        assert_eq!(self.status(phase), PhaseStatus::Running, "it is tried again");
    }

    pub(crate) fn state(&self, phase: &str) -> &PhaseState {
        self.run.phase_state(&PhaseId::new(phase)).unwrap_or_else(|| panic!("{phase} is no phase of the plan"))
    }

    pub(crate) fn status(&self, phase: &str) -> PhaseStatus {
        self.state(phase).status
    }

    pub(crate) fn at_work(&self) -> Vec<&str> {
        self.run.running().map(|(phase, _)| phase.id.as_str()).collect()
    }

    /// The same, for a story that goes on with them.
    pub(crate) fn names_at_work(&self) -> Vec<String> {
        self.at_work().into_iter().map(str::to_owned).collect()
    }

    pub(crate) fn wanted(&self) -> Vec<Effect> {
        run::wanted(&self.run, self.now)
    }
}

pub(crate) fn chosen(choices: &[(&str, Choice)]) -> Vec<(PhaseId, Choice)> {
    choices.iter().map(|(phase, choice)| (PhaseId::new(*phase), *choice)).collect()
}

/// The names of events as they are stored.
pub(crate) fn names(events: &[Event]) -> Vec<String> {
    let name =
        |event: &Event| serde_json::to_value(event).expect("plain data")["type"].as_str().expect("a tag").to_owned();
    events.iter().map(name).collect()
}
