//! A plan on its way into a run: the plans that it uses are read, and what can be taken apart is.

use std::collections::BTreeMap;

use onward_core::agent::{AgentWork, argument_against_asking};
use onward_core::diagnostic::{Code, Diagnostic};
use onward_core::plan::expand::{self, UsedFault};
use onward_core::plan::{self, Body, Plan};
use onward_core::run::Run;

use crate::error::{Error, Result};
use crate::executor::agent;
use crate::plan_files::Checked;
use crate::plan_files::{no_such_agent, plan_from_text, plan_text};
use crate::project::Project;
use crate::redact;
use crate::redact::distinct_marks::DistinctMarks;
use crate::redact::input_key::keep_key;
use crate::start::agent_files;

/// A plan as a run stores it, and the digest of what its author wrote.
#[derive(Clone, Debug)]
pub(crate) struct PreparedPlan {
    pub(crate) plan: Plan,
    pub(crate) digest: String,
}

impl PreparedPlan {
    pub(crate) fn new(project: &Project, file: &str, plan: &Plan, inputs: &BTreeMap<String, String>) -> Result<Self> {
        let whole = with_used(project, plan)?;
        let diagnostics = agents_that_cannot_do_it(project, &whole);
        if !diagnostics.is_empty() {
            return Err(Error::PlanInvalid { file: file.to_owned(), text: String::new(), diagnostics });
        }
        redact::uncuttable::demand_whole_inputs(&whole, inputs).map_err(|why| holds_a_secret(file, why))?;
        let digest = plan::digest(&whole);
        let expanded = expand::at_start(&whole, inputs).map_err(|faults| {
            let faults = faults.into_iter().map(|why| Diagnostic::error(Code::BadValue, why.to_string()));
            Error::PlanInvalid { file: file.to_owned(), text: String::new(), diagnostics: faults.collect() }
        })?;
        Ok(Self { plan: expand::joined(expanded), digest })
    }

    /// Reads the file of a run's plan once more, so that what was cut out of it is known to this process where it still stands
    /// there. What is wrong with the file matters to whoever asks about it.
    pub(crate) fn learn_what_was_cut(project: &Project, run: &Run) {
        let kept = serde_json::to_string(run.plan()).unwrap_or_default();
        if !kept.contains(redact::MARK) {
            return;
        }
        let path = project.top.join(&run.started.plan_path);
        let settings = run.plan().markdown.as_ref().map(|origin| origin.settings.clone()).unwrap_or_default();
        let read = plan_text(&path).and_then(|text| plan_from_text(project, &path, text, &settings));
        let _ = read.and_then(|plan| Self::new(project, &run.started.plan_path, &plan, &run.started.inputs));
    }

    /// The same with what was taken apart while this run was at it.
    pub(crate) fn beside(&self, run: &Run) -> Plan {
        expand::carried_over(self.plan.clone(), run.plan())
    }
}

/// A plan that takes the place of another while a run is at it: what has to be taken apart is when its turn comes.
pub(crate) fn revision(project: &Project, plan: &Plan) -> Result<Plan> {
    let revised = with_used(project, plan).map(expand::joined)?;
    if DistinctMarks::are_in(&revised) {
        keep_key(&project.store_folder())?;
    }
    Ok(revised)
}

fn with_used(project: &Project, plan: &Plan) -> Result<Plan> {
    let (whole, warnings) = expand::read_used(plan, &mut |path| load(project, path)).map_err(refused)?;
    let not_yet = |fault: &UsedFault| fault.diagnostics.iter().any(|one| one.code == Code::NotYetSupported);
    match warnings.into_iter().find(not_yet) {
        Some(UsedFault { path, text, diagnostics }) => Err(Error::PlanUnsupported { file: path, text, diagnostics }),
        None => redact::inputs::plan(&whole, &project.store_folder()).map_err(|why| holds_a_secret(&whole.name, why)),
    }
}

/// The text of the plan is not shown beside it: the secret stands there.
fn holds_a_secret(file: &str, why: String) -> Error {
    let diagnostics = vec![Diagnostic::error(Code::BadValue, why)];
    Error::PlanInvalid { file: file.to_owned(), text: String::new(), diagnostics }
}

/// All that is wrong with the first plan that has errors.
fn refused(faults: Vec<UsedFault>) -> Error {
    let wrong = |fault: &UsedFault| fault.diagnostics.iter().any(Diagnostic::is_error);
    let UsedFault { path, text, diagnostics } =
        faults.into_iter().find(wrong).expect("a plan is refused for an error in it");
    Error::PlanInvalid { file: path, text, diagnostics }
}

/// By what a plan is known again without being read: the hash of its own text (`hash`) and of the plans that it uses, and
/// where these lie.
pub(crate) fn text_key<'a>(project: &Project, hash: &str, used: impl IntoIterator<Item = &'a str>) -> String {
    let (mut whole, mut paths) = (hash.to_owned(), String::new());
    for path in used {
        // A plan that cannot be read is another text than any that can.
        let text = load(project, path).unwrap_or_default();
        let parts = [whole.as_bytes(), path.as_bytes(), blake3::hash(text.as_bytes()).as_bytes().as_slice()].join(&0);
        whole = blake3::hash(&parts).to_hex().to_string();
        paths.extend(["\n", path]);
    }
    whole + &paths
}

/// Whether a plan with this hash, and all that it used when the key was made, are the same texts still.
pub(crate) fn is_known_by(project: &Project, key: &str, hash: &str) -> bool {
    text_key(project, hash, key.lines().skip(1)) == key
}

/// Why agents cannot do what a plan gives them.
fn agents_that_cannot_do_it(project: &Project, plan: &Plan) -> Vec<Diagnostic> {
    let plans = std::iter::once(plan).chain(plan.used.values());
    let phases = plans.flat_map(|one| one.phases.iter().chain(&one.finally));
    let without_means = phases.filter_map(|phase| {
        let Body::Agent(block) = &phase.body else { return None };
        let task = AgentWork::read(block);
        let (agent, id) = (&task.agent, &phase.id);
        let client = agent::client(project, agent);
        let Some(adapter) = client.adapter() else {
            let why = no_such_agent(project, agent);
            let message = format!("phase {id} cannot be done: {why}");
            return Some(Diagnostic::error(Code::BadValue, message).help("`onward config` shows what is in force"));
        };
        let keys = adapter.unsupported(&task);
        if !keys.is_empty() {
            let message = format!("the agent {agent} of phase {id} has no means for {}", keys.join(", "));
            return Some(Diagnostic::error(Code::BadValue, message).help("leave it out, or use an agent that has"));
        }
        let word = argument_against_asking(&task.args).filter(|_| !task.ask.is_empty())?;
        let message = format!("the argument {word} of phase {id} takes away the hook by which `ask` asks");
        Some(Diagnostic::error(Code::BadValue, message).help("leave out one of the two"))
    });
    without_means.chain(agent_files::faults(project, plan)).collect()
}

fn load(project: &Project, path: &str) -> std::result::Result<String, String> {
    match plan_text(&project.top.join(path)) {
        Ok(text) => Ok(text),
        Err(Error::PlanUnreadable { why, .. }) => Err(why),
        Err(other) => Err(other.to_string()),
    }
}

/// Adds what is to be said about the plans that a plan uses. Only a warning: they may be written later.
pub(crate) fn look_at_used(project: Option<&Project>, checked: &mut Checked) {
    let (Some(project), Some(plan)) = (project, &checked.parsed.plan) else { return };
    let missing = agents_that_cannot_do_it(project, plan);
    let faults = match expand::read_used(plan, &mut |path| load(project, path)) {
        Ok((_, warnings)) => warnings,
        Err(faults) => faults,
    };
    for UsedFault { path, diagnostics, .. } in faults {
        let told = |one: Diagnostic| {
            let place = one.place.map(|place| format!(":{}:{}", place.line, place.column)).unwrap_or_default();
            let at = if place.is_empty() { String::new() } else { format!("{path}{place}: ") };
            Diagnostic::warning(one.code, format!("{at}{}", one.message)).help(one.help)
        };
        checked.parsed.diagnostics.extend(diagnostics.into_iter().map(told));
    }
    let told = |one: Diagnostic| Diagnostic::warning(one.code, one.message).help(one.help);
    checked.parsed.diagnostics.extend(missing.into_iter().map(told));
}

/// Adds what is to be said about secrets of this environment that stand where a run could not cut them out.
pub(crate) fn look_for_secrets(project: Option<&Project>, checked: &mut Checked) {
    let Some(plan) = &checked.parsed.plan else { return };
    let with_used = project.and_then(|project| expand::read_used(plan, &mut |path| load(project, path)).ok());
    let whole = with_used.map_or_else(|| plan.clone(), |(whole, _)| whole);
    let told = redact::uncuttable::found(&whole).into_iter().map(|what| Diagnostic::warning(Code::BadValue, what));
    checked.parsed.diagnostics.extend(told);
}
