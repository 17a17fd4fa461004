//! The calls behind the tools: the verb of the same name, over `Onward`.

use onward_core::brief::BRIEF_TOKENS_DEFAULT;
use onward_engine::{DoneClaim, Error, ListFilter, Onward, PhaseReport, Reported, Shown};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::arguments::Arguments;
use super::server::ServerSetup;

/// Does what a tool is for.
pub(super) type ToolCall = fn(&ServerSetup, &Arguments) -> Result<ToolAnswer, Error>;

/// The object that the verb's `--json` is, and whether it is what was asked for.
#[derive(Debug)]
pub(super) struct ToolAnswer {
    pub(super) value: Value,
    pub(super) accepted: bool,
}

impl ToolAnswer {
    pub(super) fn new(value: &impl Serialize) -> Self {
        let value = serde_json::to_value(value).expect("our values have only text keys");
        Self { value, accepted: true }
    }

    fn of_report(reported: &Reported) -> Self {
        Self { accepted: reported.accepted, ..Self::new(reported) }
    }
}

/// The run that is meant: the one that was named, else the server's own, else the newest.
pub(super) fn the_run<'a>(setup: &'a ServerSetup, arguments: &'a Arguments) -> Option<&'a str> {
    arguments.text("run").or(setup.run.as_deref())
}

pub(super) fn status(setup: &ServerSetup, arguments: &Arguments) -> Result<ToolAnswer, Error> {
    Onward::look(&setup.from)?.status(the_run(setup, arguments)).map(|view| ToolAnswer::new(&view))
}

pub(super) fn next(setup: &ServerSetup, arguments: &Arguments) -> Result<ToolAnswer, Error> {
    Onward::look(&setup.from)?.next(the_run(setup, arguments)).map(|next| ToolAnswer::new(&next))
}

pub(super) fn brief(setup: &ServerSetup, arguments: &Arguments) -> Result<ToolAnswer, Error> {
    let tokens = arguments.number("tokens").and_then(|tokens| usize::try_from(tokens).ok());
    let mut onward = Onward::look(&setup.from)?;
    let brief = onward.brief(the_run(setup, arguments), tokens.unwrap_or(BRIEF_TOKENS_DEFAULT))?;
    Ok(ToolAnswer::new(&brief))
}

pub(super) fn list(setup: &ServerSetup, arguments: &Arguments) -> Result<ToolAnswer, Error> {
    let text = |name| arguments.text(name).map(str::to_owned);
    let filter = ListFilter {
        all: arguments.flag("all"),
        kind: text("type"),
        project: text("project"),
        ..ListFilter::default()
    };
    let (runs, warnings) = match Onward::look(&setup.from) {
        Ok(mut onward) => (onward.list(&filter)?, onward.warnings()),
        Err(Error::NoProject { .. }) => (Vec::new(), Vec::new()),
        Err(other) => return Err(other),
    };
    Ok(ToolAnswer::new(&json!({ "runs": runs, "warnings": warnings })))
}

pub(super) fn show(setup: &ServerSetup, arguments: &Arguments) -> Result<ToolAnswer, Error> {
    shown(setup, arguments.demanded("id")).map(|value| ToolAnswer { value, accepted: true })
}

/// A checkpoint or a run by its id; never a file.
pub(super) fn shown(setup: &ServerSetup, id: &str) -> Result<Value, Error> {
    let value = match Onward::look(&setup.from)?.show(id)? {
        Shown::Checkpoint(checkpoint) => serde_json::to_value(checkpoint),
        Shown::Run(run) => serde_json::to_value(run),
    };
    Ok(value.expect("our values have only text keys"))
}

pub(super) fn diff(setup: &ServerSetup, arguments: &Arguments) -> Result<ToolAnswer, Error> {
    let diff = Onward::look(&setup.from)?.diff(arguments.demanded("from"), arguments.demanded("to"))?;
    Ok(ToolAnswer { value: (setup.words.diff)(&diff), accepted: true })
}

pub(super) fn why(setup: &ServerSetup, arguments: &Arguments) -> Result<ToolAnswer, Error> {
    let mut onward = Onward::look(&setup.from)?;
    onward.why(the_run(setup, arguments), arguments.demanded("phase")).map(|why| ToolAnswer::new(&why))
}

pub(super) fn start(setup: &ServerSetup, arguments: &Arguments) -> Result<ToolAnswer, Error> {
    let plan = arguments.value("plan").unwrap_or(&Value::Null);
    let mut onward = Onward::work_or_new(&setup.from)?;
    let started = onward.start_reported(plan)?;
    let next = onward.next(Some(started.run.as_str()))?;
    Ok(ToolAnswer::new(&json!({ "run": started.run, "already": started.already, "next": next })))
}

pub(super) fn report_start(setup: &ServerSetup, arguments: &Arguments) -> Result<ToolAnswer, Error> {
    report(setup, arguments, &PhaseReport::Start)
}

pub(super) fn report_progress(setup: &ServerSetup, arguments: &Arguments) -> Result<ToolAnswer, Error> {
    report(setup, arguments, &PhaseReport::Progress { note: arguments.text("note").map(str::to_owned) })
}

pub(super) fn report_done(setup: &ServerSetup, arguments: &Arguments) -> Result<ToolAnswer, Error> {
    let claim = DoneClaim {
        summary: arguments.text("summary").map(str::to_owned),
        artifacts: arguments.texts("artifacts"),
        outputs: arguments.values("outputs"),
        commit: arguments.text("commit").map(str::to_owned),
        remaining: arguments.text("remaining").unwrap_or_default().to_owned(),
    };
    report(setup, arguments, &PhaseReport::Done(claim))
}

pub(super) fn report_fail(setup: &ServerSetup, arguments: &Arguments) -> Result<ToolAnswer, Error> {
    report(setup, arguments, &PhaseReport::Fail { reason: arguments.demanded("reason").to_owned() })
}

fn report(setup: &ServerSetup, arguments: &Arguments, report: &PhaseReport) -> Result<ToolAnswer, Error> {
    let (run, phase) = (the_run(setup, arguments), arguments.demanded("phase"));
    let reported = Onward::work(&setup.from)?.report(run, phase, report, arguments.number("complexity"))?;
    Ok(ToolAnswer::of_report(&reported))
}

pub(super) fn report_replan(setup: &ServerSetup, arguments: &Arguments) -> Result<ToolAnswer, Error> {
    let (run, phase, reason) = (the_run(setup, arguments), arguments.demanded("phase"), arguments.demanded("reason"));
    let mut onward = Onward::work(&setup.from)?;
    let (_, reported) = onward.report_reported_replan(run, phase, reason, arguments.value("plan"))?;
    Ok(ToolAnswer::of_report(&reported))
}

pub(super) fn checkpoint(setup: &ServerSetup, arguments: &Arguments) -> Result<ToolAnswer, Error> {
    let mut onward = Onward::work(&setup.from)?;
    let run = onward.find_run(the_run(setup, arguments))?;
    let id = onward.checkpoint(Some(run.as_str()), arguments.text("name"))?;
    Ok(ToolAnswer::new(&json!({ "id": id, "run": run })))
}

pub(super) fn state_merge(setup: &ServerSetup, arguments: &Arguments) -> Result<ToolAnswer, Error> {
    let patch: Map<String, Value> = arguments.value("patch").and_then(Value::as_object).cloned().unwrap_or_default();
    let run = Onward::work(&setup.from)?.merge_state(the_run(setup, arguments), patch)?;
    Ok(ToolAnswer::new(&json!({ "run": run })))
}
