//! An attempt at a phase: its folder, its environment, what its attendant is told.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};
use onward_core::expression::{self, Reference};
use onward_core::id::{Attempt, PhaseId};
use onward_core::plan::{Body, Phase, Plan};
use onward_core::run::context::{ExpressionContext, Outside, variables_asked_for};
use onward_core::run::{Before, PhaseState, Run, worktrees};
use onward_store::private;

use crate::attendant::{AfterSuccess, AttemptFolder, ClientOrders, Spec, tree_value};
use crate::executor::agent;
use crate::project::Project;
use crate::redact::{self, MARK};

/// Everything that is needed to start one attempt.
pub(crate) struct PreparedAttempt {
    pub(crate) folder: AttemptFolder,
    pub(crate) spec: Spec,
    pub(crate) env: Vec<(OsString, OsString)>,
}

/// Why an attempt cannot be prepared.
pub(crate) enum PrepareTrouble {
    /// Something about the phase itself.
    Phase(String),
    /// Something about the machine: no phase is to blame.
    Machine(String),
}

/// The part of the attendant's orders that depends on who does the phase.
pub(crate) struct StartOrders {
    pub(crate) argv: Vec<String>,
    pub(crate) stdin: Option<String>,
    pub(crate) client: Option<ClientOrders>,
    pub(crate) env_set: Vec<(String, String)>,
    pub(crate) env_removed: Vec<String>,
    pub(crate) after_success: AfterSuccess,
    /// The form of an agent's answer, as it was when the attempt was started.
    pub(crate) schema: Option<String>,
}

/// Makes the attempt's folder and works out its environment.
pub(crate) fn prepare(
    project: &Project,
    run: &Run,
    phase: &Phase,
    attempt: Attempt,
) -> Result<PreparedAttempt, PrepareTrouble> {
    let folder = folder(project, run, &phase.id, attempt);
    folder.create().map_err(|why| PrepareTrouble::Machine(why.to_string()))?;
    let scratch = scratch(project, run, &phase.id).map_err(PrepareTrouble::Machine)?;
    hand_on_the_note(&folder, run, &phase.id).map_err(PrepareTrouble::Machine)?;
    let tag = folder.tag();
    let mut env = environment(run, phase, &folder, &scratch, &tag).map_err(PrepareTrouble::Phase)?;
    name_the_project(&mut env, project, run, &phase.id);
    let orders = match &phase.body {
        Body::Run { script, shell } => {
            let script = redact::whole_text(script).map_err(PrepareTrouble::Phase)?;
            let argv = shell.iter().cloned().chain(["-c".to_owned(), script]).collect();
            StartOrders {
                argv,
                stdin: None,
                client: None,
                env_set: Vec::new(),
                env_removed: Vec::new(),
                after_success: AfterSuccess::LetBe,
                schema: None,
            }
        }
        Body::Agent(_) => agent::orders(project, run, phase, (attempt, &folder)).map_err(PrepareTrouble::Phase)?,
        Body::Approval(_) | Body::External(_) | Body::Uses(_) => {
            return Err(PrepareTrouble::Phase(format!("phase {} is for others to do", phase.id)));
        }
    };
    if let Some(schema) = &orders.schema {
        folder.keep_schema(schema).map_err(|why| PrepareTrouble::Machine(why.to_string()))?;
    }
    env.retain(|(name, _)| !orders.env_removed.iter().any(|removed| name == removed.as_str()));
    for (name, value) in &orders.env_set {
        set(&mut env, name, value.into());
    }
    let spec = Spec {
        run: run.id.to_string(),
        phase: phase.id.to_string(),
        attempt: attempt.0,
        tag,
        argv: found(&orders.argv, &env),
        working_directory: working_directory(project, &place_of(project, run, phase), phase)
            .map_err(PrepareTrouble::Phase)?,
        timeout_ms: phase.timeout.map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
        grace_int_ms: Spec::GRACE_INT_MS,
        grace_term_ms: Spec::GRACE_TERM_MS,
        drain_ms: Spec::DRAIN_MS,
        output_head_bytes_max: Spec::OUTPUT_HEAD_BYTES_MAX,
        output_tail_bytes_max: Spec::OUTPUT_TAIL_BYTES_MAX,
        driver_pid: i32::try_from(std::process::id()).unwrap_or(i32::MAX),
        secret_names: redact::names(),
        secret_values: redact::given(),
        folder: folder.path().to_owned(),
        after_success: orders.after_success,
        stdin: orders.stdin,
        client: orders.client,
    };
    Ok(PreparedAttempt { folder, spec, env })
}

/// Where the phases of a run work.
pub(crate) fn top(project: &Project, run: &Run) -> PathBuf {
    run.started.worktree.as_ref().map_or_else(|| project.top.clone(), PathBuf::from)
}

/// Where a phase works, or where its work is looked at: in a worktree of its own until its files are in the project.
pub(crate) fn place_of(project: &Project, run: &Run, phase: &Phase) -> PathBuf {
    let top = top(project, run);
    let Some(state) = run.phase_state(&phase.id).filter(|state| state.is_apart()) else { return top };
    let worktree = project.store_folder().join(worktrees::place(&run.id, &phase.id, state.generation));
    // The worktree shows all of the repository, the project may lie below its top.
    let repository = top.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&top);
    worktree.join(top.strip_prefix(repository).unwrap_or_else(|_| Path::new("")))
}

/// The folder in which the commands of a phase are run, below the place where it works. A link may lead to another folder of the
/// repository or of the project, and no further: links come with a clone, and earlier phases make them.
pub(crate) fn working_directory(project: &Project, place: &Path, phase: &Phase) -> Result<PathBuf, String> {
    let Some(named) = phase.working_directory.as_deref() else { return Ok(place.to_owned()) };
    let folder = place.join(named);
    // What is not there has its own reason, which is told when it is to be used.
    let Ok(real) = folder.canonicalize() else { return Ok(folder) };
    let inside = |top: &Path| {
        let top = top.ancestors().find(|above| above.join(".git").exists()).unwrap_or(top);
        top.canonicalize().is_ok_and(|top| real.starts_with(top))
    };
    if inside(place) || inside(&project.top) {
        return Ok(folder);
    }
    Err(format!("its working directory {named} is a link out of the project, to {}", real.display()))
}

/// Names the project to a phase that works in a worktree of its own.
fn name_the_project(env: &mut Vec<(OsString, OsString)>, project: &Project, run: &Run, phase: &PhaseId) {
    if run.phase_state(phase).is_some_and(PhaseState::is_apart) {
        set(env, "ONWARD_PROJECT", project.top.clone().into());
    }
}

pub(crate) fn folder(project: &Project, run: &Run, phase: &PhaseId, attempt: Attempt) -> AttemptFolder {
    AttemptFolder::new(&project.store_folder(), &run.id, phase, attempt)
}

/// The words of the shell, with the program as a whole path where the phase's PATH has it. The attendant would try one
/// folder after the other otherwise, each time by executing it.
pub(crate) fn found(shell: &[String], env: &[(OsString, OsString)]) -> Vec<String> {
    let mut words = shell.to_vec();
    let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value);
    if let (Some(first), Some(path)) = (words.first_mut(), path)
        && !first.contains('/')
    {
        let places = std::env::split_paths(path).map(|folder| folder.join(&*first));
        let runs = |place: &PathBuf| place.is_absolute() && place.is_file() && access(place, AccessFlags::X_OK).is_ok();
        let program = places.into_iter().find(runs);
        if let Some(whole) = program.as_deref().and_then(Path::to_str) {
            whole.clone_into(first);
        }
    }
    words
}

fn scratch_path(project: &Project, run: &Run, phase: &PhaseId) -> PathBuf {
    project.scratch().join(run.id.as_str()).join(phase.as_str().replace('/', "%2F"))
}

fn scratch(project: &Project, run: &Run, phase: &PhaseId) -> Result<PathBuf, String> {
    let path = scratch_path(project, run, phase);
    let made = private::make_folders(&project.store_folder(), &path);
    made.map_err(|why| format!("its scratch folder cannot be made: {why}"))?;
    Ok(path)
}

/// The progress file of an attempt starts with the last note of the one before.
fn hand_on_the_note(folder: &AttemptFolder, run: &Run, phase: &PhaseId) -> Result<(), String> {
    let Some(note) = run.phase_state(phase).and_then(|state| state.note.as_deref()) else { return Ok(()) };
    let written = private::open_to_write(&folder.progress_path()).and_then(|mut file| {
        file.set_len(0)?;
        writeln!(file, "{note}")
    });
    written.map_err(|why| format!("its progress file cannot be written: {why}"))
}

fn environment(
    run: &Run,
    phase: &Phase,
    folder: &AttemptFolder,
    scratch: &Path,
    tag: &str,
) -> Result<Vec<(OsString, OsString)>, String> {
    let state = run.phase_state(&phase.id).expect("the phase is one of this run");
    let attempt = state.attempt.as_ref().expect("the attempt was recorded before it is prepared");
    let mut env: Vec<(OsString, OsString)> = std::env::vars_os().filter(|(name, _)| !is_ours(name)).collect();
    let mut set = |name: &str, value: OsString| {
        env.retain(|(other, _)| other != name);
        env.push((name.into(), value));
    };
    for (name, value) in resolved_env(run, phase, attempt.number)? {
        set(&name, value.into());
    }
    set("ONWARD_RUN", run.id.as_str().into());
    set("ONWARD_PHASE", phase.id.as_str().into());
    set("ONWARD_ATTEMPT", attempt.number.to_string().into());
    set("ONWARD_KEY", run.attempt_key(&phase.id).into());
    set("ONWARD_OUTPUT", folder.result_path().into());
    set("ONWARD_PROGRESS", folder.progress_path().into());
    set("ONWARD_SUMMARY", folder.summary_path().into());
    set("ONWARD_STATE", scratch.into());
    set("ONWARD_RESUME_REASON", attempt.before.map_or("", Before::as_str).into());
    let inherited = std::env::var("ONWARD_TREE").ok();
    set("ONWARD_TREE", tree_value(inherited.as_deref(), tag).into());
    Ok(env)
}

/// The environment of a phase's probe: the variables of the plan and of the phase, and whose probe it is.
pub(crate) fn probe_environment(
    project: &Project,
    run: &Run,
    phase: &Phase,
) -> Result<Vec<(OsString, OsString)>, String> {
    let state = run.phase_state(&phase.id).expect("the phase is one of this run");
    let mut env = inherited();
    for (name, value) in resolved_env(run, phase, Attempt(state.attempts))? {
        set(&mut env, &name, value.into());
    }
    set(&mut env, "ONWARD_RUN", run.id.as_str().into());
    set(&mut env, "ONWARD_PHASE", phase.id.as_str().into());
    set(&mut env, "ONWARD_ATTEMPT", state.attempts.to_string().into());
    set(&mut env, "ONWARD_KEY", run.attempt_key(&phase.id).into());
    set(&mut env, "ONWARD_STATE", scratch_path(project, run, &phase.id).into());
    name_the_project(&mut env, project, run, &phase.id);
    Ok(env)
}

/// The environment of a plan's probe.
pub(crate) fn plan_environment(run: &Run) -> Result<Vec<(OsString, OsString)>, String> {
    let mut env = inherited();
    for (name, value) in ExpressionContext::of_plan(run, &AsGiven).variables()? {
        set(&mut env, &name, value.into());
    }
    set(&mut env, "ONWARD_RUN", run.id.as_str().into());
    Ok(env)
}

/// A text of the plan with its `${{ }}` filled in, as far as the run alone can do it.
pub(crate) fn fill(run: &Run, template: &str) -> Option<String> {
    ExpressionContext::of_plan(run, &InputsAsKept).fill(template)
}

/// The same for a text of one phase, with the variables that the plan and the phase give it.
pub(crate) fn fill_for(run: &Run, phase: &Phase, template: &str) -> Option<String> {
    let attempt = run.phase_state(&phase.id).map_or(0, |state| state.attempts);
    ExpressionContext::of_phase(run, phase, attempt, &InputsAsKept).fill(template)
}

/// The variables of this process that decisions about the plan ask for, as they are put on record.
pub(crate) fn variables_on_record(plan: &Plan) -> BTreeMap<String, String> {
    let (secrets, names) = (redact::secrets(), redact::names());
    let kept = |name: String| {
        let value = std::env::var(&name).ok()?;
        let secret = names.mean(name.as_bytes()) && !value.is_empty();
        let value = if secret { MARK.to_owned() } else { secrets.text(&value).into_owned() };
        Some((name, value))
    };
    variables_asked_for(plan).into_iter().filter_map(kept).collect()
}

/// This process, as the expressions of an attempt see it: an input as it was given, where this process was given it.
struct AsGiven;

impl Outside for AsGiven {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn input(&self, name: &str, kept: &str) -> String {
        redact::whole_input(name, kept)
    }

    fn text(&self, kept: &str) -> Result<String, String> {
        redact::whole_text(kept)
    }
}

/// The same for what is shown and looked for: inputs as they are on record.
struct InputsAsKept;

impl Outside for InputsAsKept {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn text(&self, kept: &str) -> Result<String, String> {
        redact::whole_text(kept)
    }
}

pub(crate) fn inherited() -> Vec<(OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| !is_ours(name)).collect()
}

pub(crate) fn set(env: &mut Vec<(OsString, OsString)>, name: &str, value: OsString) {
    env.retain(|(other, _)| other != name);
    env.push((name.into(), value));
}

/// Variables of an outer phase say nothing about this one, and the key of an encrypted store is not for phases.
fn is_ours(name: &std::ffi::OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("ONWARD_")
        && !matches!(&*name, "ONWARD_STORE" | "ONWARD_PROJECT" | "ONWARD_KILL_POINT" | "ONWARD_KILL_MARK")
}

/// The variables of the plan and of the phase, with their `${{ }}` filled in; the phase's own win.
fn resolved_env(run: &Run, phase: &Phase, attempt: Attempt) -> Result<Vec<(String, String)>, String> {
    refuse_what_was_cut(run, phase)?;
    ExpressionContext::of_phase(run, phase, attempt.0, &AsGiven).variables()
}

/// A value out of which a secret was cut is not the one that was given: nothing starts with it.
fn refuse_what_was_cut(run: &Run, phase: &Phase) -> Result<(), String> {
    let was_cut = |reference: &Reference| match reference {
        Reference::Input(_) => {
            let value = ExpressionContext::of_phase(run, phase, 0, &AsGiven).value(reference);
            value.is_some_and(|value| value.contains(MARK))
        }
        // Core has looked at these before.
        Reference::Output { .. }
        | Reference::Env(_)
        | Reference::Run(_)
        | Reference::Status(_)
        | Reference::Matrix(_)
        | Reference::Attempt => false,
    };
    for (name, template) in run.plan().env.iter().chain(&phase.env) {
        let asked = expression::references(template).unwrap_or_default();
        if let Some(cut) = asked.iter().find(|reference| was_cut(reference)) {
            return Err(format!(
                "the variable {name} is to hold {cut}, out of which a secret was cut: give it again with --input"
            ));
        }
    }
    Ok(())
}
