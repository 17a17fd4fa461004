//! Verbs that a phase may not use on runs: an agent never grants itself what a person must.

use onward_core::replan::ReplanLimits;
use onward_core::resume::Accept;
use onward_core::run::Run;
use onward_engine::{Inside, Project, Ready, Request, StartFound, Want, inside};

use super::here;
use crate::failure::Failure;

/// How a person answers who is refused.
const FROM_OUTSIDE: &str = "answer from a terminal of your own that is older, or from a new login";

/// Refuses what runs inside a phase to grant itself what a person has to.
pub(super) fn refuse(done: &str) -> Result<(), Failure> {
    let from = here()?;
    let project = Project::find(&from).unwrap_or(Project::at(from));
    let Some(why) = inside(&project) else { return Ok(()) };
    let mut failure = Failure::usage(format!("nothing is {done} from inside a phase: a person has to do it"));
    failure.more.push(match &why {
        Inside::Environment => "the environment of this command is that of a phase".to_owned(),
        Inside::Process(pid) => format!("process {pid} belongs to work on a run, and this command comes from it"),
        Inside::TooDeep => "this command has too many processes above it to tell where it comes from".to_owned(),
        Inside::Unseen => {
            "where this command comes from cannot be seen: /proc is hidden here, or that of another namespace"
                .to_owned()
        }
        Inside::AtLarge { attempt } => {
            format!("{attempt} has begun, its attendant is not seen here, and this command may come from it")
        }
    });
    match why {
        Inside::Environment | Inside::Process(_) => {}
        Inside::TooDeep | Inside::Unseen | Inside::AtLarge { .. } => failure.more.push(FROM_OUTSIDE.to_owned()),
    }
    Err(failure)
}

/// Refuses a start inside a phase that puts another run away, or gives one what a person has to: more money, more attempts, an
/// answer. To start a run and to go on with one grants nothing.
pub(super) fn refuse_start(request: &Request, found: &StartFound, ready: &Ready) -> Result<(), Failure> {
    match ready {
        Ready::Start if request.want == Want::Fresh && !found.unfinished.is_empty() => {
            refuse("put away to start fresh")
        }
        Ready::Start | Ready::Complete(_) => Ok(()),
        Ready::GoOn(_) => found.unfinished.iter().try_for_each(|one| refuse_grants(request, &one.run)),
    }
}

fn refuse_grants(request: &Request, run: &Run) -> Result<(), Failure> {
    let had = run.budget_nano_usd();
    if request.budget_nano_usd.zip(had).is_some_and(|(asked, had)| asked > had) {
        return refuse("given a larger budget");
    }
    if request.accept_stale == Accept::Yes {
        return refuse("accepted as it stands");
    }
    if !request.choices.is_empty() || request.from.is_some() {
        return refuse("retried, skipped or adopted");
    }
    match request.replan_limits {
        ReplanLimits::Hold => Ok(()),
        ReplanLimits::Waived => refuse("let past the limits of replans"),
    }
}
