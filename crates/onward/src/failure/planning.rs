//! The pages of plans that an agent was to write.

use jiff::Timestamp;
use onward_core::exit;
use onward_core::words;
use onward_engine::PlanningError;

use super::FailurePage;

const NOTHING_SAVED: &str = "nothing was saved and nothing was started";

pub(super) fn planning(what: &str, why: PlanningError) -> FailurePage {
    let page = |code, name| FailurePage::new(code, name, what).kept(NOTHING_SAVED);
    match why {
        PlanningError::Exists { .. } => {
            let page = page(exit::USAGE, "plan-exists").next("onward check");
            page.more(vec!["--output PATH saves the new plan beside it, --output - prints it".to_owned()])
        }
        PlanningError::OtherFormat { .. } => page(exit::USAGE, "plan-format"),
        PlanningError::NoTask => page(exit::USAGE, "no-task").next("onward help plan"),
        PlanningError::NoSuchAgent { .. } => page(exit::USAGE, "no-agent").next("onward config"),
        PlanningError::NotInstalled { .. } => {
            let more = vec!["install it, or name another agent with --agent".to_owned()];
            page(exit::FAILED, "agent-not-installed").more(more)
        }
        PlanningError::NotLoggedIn { .. } => {
            let more = vec!["start the client once by hand and log in".to_owned()];
            page(exit::FAILED, "agent-not-logged-in").more(more)
        }
        PlanningError::Limited { until, .. } => {
            let page = page(exit::PAUSED, "agent-limited").more(vec![opens(until)]);
            FailurePage { retry_at: until, ..page }
        }
        PlanningError::Overloaded { .. } => {
            page(exit::PAUSED, "agent-overloaded").more(vec!["try again a little later".to_owned()])
        }
        PlanningError::TooLong { .. } => {
            page(exit::FAILED, "agent-too-long").more(vec!["--timeout gives it more time".to_owned()])
        }
        PlanningError::Failed { .. } => page(exit::FAILED, "agent-made-no-plan"),
        PlanningError::Wrong { wrong, .. } => {
            let kept = format!("what it wrote last is in {}", wrong.kept.display());
            let more = Some(wrong.why.clone()).filter(|why| !why.is_empty()).into_iter().chain([kept]).collect();
            page(exit::USAGE, "plan-invalid").diagnosed("plan", &wrong.text, &wrong.diagnostics).more(more)
        }
        PlanningError::NotWritten { kept, .. } => {
            page(exit::STORE, "plan-not-written").more(vec![format!("its text is in {}", kept.display())])
        }
    }
}

fn opens(until: Option<Timestamp>) -> String {
    match until {
        Some(until) => format!("the limit opens at {until} ({})", words::countdown(until, Timestamp::now())),
        None => "nobody says until when; a minute is usual".to_owned(),
    }
}
