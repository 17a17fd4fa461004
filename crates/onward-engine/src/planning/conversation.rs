//! The conversation with a client that writes a plan: a prompt, a plan, and what is wrong with it, until it is right or given up.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use onward_core::agent::{AgentEnd, AgentResult, SessionStart, UsageOf};
use onward_core::diagnostic::Diagnostic;
use onward_core::id::{Attempt, PhaseId, RunId};
use onward_core::ids_and_keys::session_id;
use onward_core::planning::{CORRECTIONS_MAX, correction, no_plan, plan_text};

use super::client_turn::{LeaveTurn, PlanningClient, PlanningNews, TurnFault, TurnPlace};
use crate::attendant::AttemptFolder;
use crate::redact::secrets;
use crate::sys::stop;

/// How often, and after which pauses, a service without capacity is asked again.
const OVERLOADED_PAUSES: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(10)];
const PAUSE_LOOK_EVERY: Duration = Duration::from_millis(50);

/// The sum of all turns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanningCost {
    pub session: Option<String>,
    pub turns: u64,
    pub tokens: u64,
    pub cost_usd: Option<f64>,
    /// More was used than is known.
    pub is_part: bool,
}

impl PlanningCost {
    /// One more turn.
    pub(crate) fn add(&mut self, result: &AgentResult) {
        if result.session.is_some() {
            self.session.clone_from(&result.session);
        }
        self.is_part |= result.is_part;
        self.turns += u64::from(result.turns.unwrap_or_default());
        let tokens = result.tokens.map_or(0, onward_core::agent::Tokens::total);
        self.tokens = match result.usage_of {
            UsageOf::Process => self.tokens + tokens,
            UsageOf::Session => tokens.max(self.tokens),
        };
        if let Some(cost) = result.cost_usd {
            self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + cost);
        }
    }
}

/// Where the client works, for all turns.
pub(crate) struct PlanningPlace<'a> {
    /// The folder of the first turn; others get its name with their number.
    pub(crate) folder: PathBuf,
    pub(crate) working_directory: PathBuf,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) time_max: Duration,
    pub(crate) leave: LeaveTurn<'a>,
}

/// The sign for a secret that was cut out of an answer: such a plan would run with the sign.
const REDACTED: &str = "[redacted]";
const HOLDS_A_SECRET: &str =
    "a secret stood in it and was cut out ([redacted]): name the variable that holds it instead";

/// Whether the sign stands anywhere but in a description or a comment.
fn runs_with_the_sign(text: &str) -> bool {
    let is_said = |line: &str| line.starts_with("description:") || line.starts_with('#');
    text.lines().any(|line| line.contains(REDACTED) && !is_said(line.trim_start()))
}

/// The faults of a text, in the words of the next prompt and in those of an error.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Objection {
    pub(crate) text: String,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Empty where the diagnostics say it.
    pub(crate) why: String,
    prompt: String,
}

impl Objection {
    pub(crate) fn from_checker(text: &str, diagnostics: Vec<Diagnostic>) -> Self {
        let prompt = correction(text, &diagnostics);
        Self { text: text.to_owned(), diagnostics, why: String::new(), prompt }
    }

    pub(crate) fn from_run(text: &str, why: String) -> Self {
        let prompt = onward_core::planning::refused(&why);
        Self { text: text.to_owned(), diagnostics: Vec::new(), why, prompt }
    }

    /// In one line.
    pub(crate) fn in_short(&self) -> String {
        let first = self.diagnostics.iter().find(|one| one.is_error()).or(self.diagnostics.first());
        first.map_or_else(|| self.why.clone(), |one| one.message.clone())
    }
}

/// The end of a conversation that gave no plan.
#[derive(Debug)]
pub(crate) enum NoPlan {
    GivenUp,
    TooLong,
    NotInstalled(String),
    Limited {
        until: Option<Timestamp>,
        said: String,
    },
    Overloaded {
        said: String,
    },
    NotLoggedIn {
        said: String,
    },
    Failed(String),
    /// After all corrections.
    Wrong(Objection),
}

impl From<TurnFault> for NoPlan {
    fn from(fault: TurnFault) -> Self {
        match fault {
            TurnFault::GivenUp => Self::GivenUp,
            TurnFault::TooLong => Self::TooLong,
            TurnFault::NotInstalled(program) => Self::NotInstalled(program),
            TurnFault::Failed(why) => Self::Failed(why),
        }
    }
}

/// Asks for a plan until one passes `check`, which gives what it is or what is wrong with it. It has its cost, whatever comes of it.
pub(crate) fn converse<T>(
    client: &PlanningClient,
    place: &PlanningPlace<'_>,
    task: &str,
    check: impl FnMut(&str) -> Result<T, Objection>,
    heard: &mut dyn FnMut(PlanningNews),
) -> (Result<T, NoPlan>, PlanningCost) {
    let mut conversation =
        Conversation { client, place, until: Instant::now() + place.time_max, turns: 0, cost: PlanningCost::default() };
    let planned = until_it_is_right(&mut conversation, task, check, heard);
    (planned, conversation.cost)
}

fn until_it_is_right<T>(
    conversation: &mut Conversation<'_>,
    task: &str,
    mut check: impl FnMut(&str) -> Result<T, Objection>,
    heard: &mut dyn FnMut(PlanningNews),
) -> Result<T, NoPlan> {
    let mut prompt = task.to_owned();
    for again in 0..=CORRECTIONS_MAX {
        let said = conversation.ask(&prompt, heard)?;
        let objection = match plan_text(&said) {
            Ok(text) if runs_with_the_sign(&text) => Objection::from_run(&text, HOLDS_A_SECRET.to_owned()),
            Ok(text) => match check(&text) {
                Ok(plan) => return Ok(plan),
                Err(objection) => objection,
            },
            Err(why) => {
                let prompt = no_plan(&why);
                Objection { text: said.clone(), diagnostics: Vec::new(), why: why.to_string(), prompt }
            }
        };
        if again == CORRECTIONS_MAX {
            return Err(NoPlan::Wrong(objection));
        }
        heard(PlanningNews::Corrected { again: again + 1, why: objection.in_short() });
        prompt = match conversation.cost.session {
            Some(_) => objection.prompt,
            // A client without sessions knows nothing of what was said before.
            None => format!("{task}\n\n# Your last answer\n\n{said}\n\n{}", objection.prompt),
        };
    }
    unreachable!("the last round returns")
}

struct Conversation<'a> {
    client: &'a PlanningClient,
    place: &'a PlanningPlace<'a>,
    until: Instant,
    turns: u32,
    cost: PlanningCost,
}

impl Conversation<'_> {
    /// One prompt and the client's last message, with secrets cut out. A service without capacity is asked again a little later.
    fn ask(&mut self, prompt: &str, heard: &mut dyn FnMut(PlanningNews)) -> Result<String, NoPlan> {
        let mut pauses = OVERLOADED_PAUSES.iter();
        loop {
            let result = self.turn(prompt, heard)?;
            return match result.how {
                AgentEnd::Done | AgentEnd::Refused => Ok(secrets().text(&result.text).into_owned()),
                AgentEnd::Overloaded { said } => match pauses.next() {
                    Some(pause) => {
                        self.pause(*pause)?;
                        continue;
                    }
                    None => Err(NoPlan::Overloaded { said }),
                },
                AgentEnd::Limited { until, said } => Err(NoPlan::Limited { until, said }),
                AgentEnd::NotLoggedIn { said } => Err(NoPlan::NotLoggedIn { said }),
                AgentEnd::Failed { message: said } | AgentEnd::NoResult { said } => Err(NoPlan::Failed(said)),
                AgentEnd::Budget => Err(NoPlan::Failed("it has spent what the budget of the run had left".to_owned())),
                other @ (AgentEnd::Deferred
                | AgentEnd::Exhausted
                | AgentEnd::MaxTurns
                | AgentEnd::UnknownSession
                | AgentEnd::SessionInUse
                | AgentEnd::Interrupted) => Err(NoPlan::Failed(format!("it ended as {}", other.word()))),
            };
        }
    }

    fn turn(&mut self, prompt: &str, heard: &mut dyn FnMut(PlanningNews)) -> Result<AgentResult, NoPlan> {
        self.turns += 1;
        let (session, new) = (self.cost.session.clone(), self.new_session());
        let session = session.as_deref().map_or(SessionStart::New { id: &new }, |id| SessionStart::Continue { id });
        let place = TurnPlace {
            folder: AttemptFolder::at(numbered(&self.place.folder, self.turns)),
            working_directory: self.place.working_directory.clone(),
            env: self.place.env.clone(),
            until: self.until,
            leave: self.place.leave,
            spent_usd: self.cost.cost_usd.unwrap_or(0.0),
        };
        match self.client.turn(session, prompt, &place, heard) {
            Ok(result) => {
                self.cost.add(&result);
                Ok(result)
            }
            Err(fault) => {
                if let Some(begun) = self.client.account_of(&place.folder) {
                    self.cost.add(&begun);
                }
                Err(fault.into())
            }
        }
    }

    /// An id that nobody else has: the folder is one that was made for this conversation alone.
    fn new_session(&self) -> String {
        let place = format!("{}\n{}", self.place.folder.display(), Timestamp::now());
        session_id(&RunId::new(place), &PhaseId::new(self.client.name()), Attempt(self.turns))
    }

    fn pause(&self, pause: Duration) -> Result<(), NoPlan> {
        let until = Instant::now() + pause;
        while Instant::now() < until {
            if self.place.leave.is_wanted() {
                return Err(NoPlan::GivenUp);
            }
            if Instant::now() >= self.until {
                return Err(NoPlan::TooLong);
            }
            thread::sleep(PAUSE_LOOK_EVERY);
        }
        Ok(())
    }
}

impl LeaveTurn<'_> {
    /// Whether nobody waits for it any more.
    fn is_wanted(self) -> bool {
        let unwanted = match self {
            LeaveTurn::BySignals => false,
            LeaveTurn::ByFlag(unwanted) => unwanted.load(std::sync::atomic::Ordering::Relaxed),
        };
        unwanted || stop::asked().is_some()
    }
}

fn numbered(folder: &Path, turn: u32) -> PathBuf {
    let mut name = folder.as_os_str().to_owned();
    name.push(format!("-{turn}"));
    PathBuf::from(name)
}
