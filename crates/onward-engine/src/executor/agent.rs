//! An attempt at an `agent` phase: the client's command line, and its prompt.

use std::path::{Path, PathBuf};

use onward_core::agent::{Adapter, AgentWork, AnswerSchema, InvocationStart, SessionStart, Spent, codex_retries};
use onward_core::agent_prompt::{ContextPart, PromptParts, compose};
use onward_core::brief::brief;
use onward_core::event::usd;
use onward_core::id::Attempt;
use onward_core::plan::Phase;
use onward_core::result_schema::ResultSchema;
use onward_core::run::{PhaseState, Run, agents, budgets, worktrees};

use super::shell::{StartOrders, fill_for, top};
use super::tool_calls;
use crate::attendant::{AfterSuccess, AttemptFolder, ClientOrders, open_plain};
use crate::plan_files;
use crate::project::Project;
use crate::redact;

/// Of a prompt file or a schema.
pub(crate) const FILE_BYTES_MAX: u64 = 1 << 20;
/// The brief in the prompt of a new session.
const BRIEF_TOKENS: usize = 1_000;
/// Of one file that is handed over as text; a longer one is named by its path.
const CONTEXT_BYTES_MAX: u64 = 64 << 10;

/// The client of this name, with its entry in the configuration.
pub(crate) fn client(project: &Project, name: &str) -> ClientOrders {
    // A configuration that cannot be read was refused before anything was started.
    let entry = plan_files::config(project).ok().and_then(|(config, _)| config.agent(name).cloned());
    ClientOrders { name: name.to_owned(), entry }
}

/// The orders for the attendant of an agent.
pub(super) fn orders(
    project: &Project,
    run: &Run,
    phase: &Phase,
    (attempt, folder): (Attempt, &AttemptFolder),
) -> Result<StartOrders, String> {
    let work = agents::work(phase).ok_or("it is not an agent's")?;
    let client = client(project, &work.agent);
    let adapter = client.adapter().ok_or_else(|| plan_files::no_such_agent(project, &work.agent))?;
    let keys = adapter.unsupported(&work);
    if !keys.is_empty() {
        return Err(format!("the agent {} has no means for {}", work.agent, keys.join(", ")));
    }
    let filled = |text: &String| {
        fill_for(run, phase, text).ok_or_else(|| format!("an expression in {text} cannot be filled in"))
    };
    let args = work.args.iter().map(filled).collect::<Result<Vec<_>, _>>()?;
    let env = work.env.iter().map(|(name, value)| Ok((name.clone(), filled(value)?)));
    let budget = budgets::told(run, phase, work.budget);
    let work = AgentWork { args, env: env.collect::<Result<Vec<_>, String>>()?, budget, ..work.clone() };
    let state = run.phase_state(&phase.id).and_then(|state| state.agent.as_deref()).cloned().unwrap_or_default();
    let session = state.session.clone().unwrap_or_default();
    let top = top(project, run);
    let schema =
        work.schema.as_ref().map(|path| Ok::<_, String>((read(&top, path)?, whole(&top, path)))).transpose()?;
    let spent = Spent {
        turns: u32::try_from(state.turns).unwrap_or(u32::MAX),
        usd: usd(state.cost_nano_usd),
        tokens: state.tokens,
    };
    if let Some((text, path)) = &schema {
        ResultSchema::read(text).map_err(|why| format!("{path} is no schema that can be checked: {why}"))?;
    }
    let calls = tool_calls::prepare(folder, &work, &state.calls)?;
    let start = InvocationStart {
        calls: calls.as_ref(),
        session: if state.named { SessionStart::Continue { id: &session } } else { SessionStart::New { id: &session } },
        spent,
        schema: schema.as_ref().map(|(text, path)| AnswerSchema { text, path }),
    };
    let mut invocation = adapter.invocation(&work, &start);
    if adapter == Adapter::Codex {
        invocation.add_flags(codex_retries(&codex_config()));
    }
    let (command, stdin) = if state.goes_on_with_a_call() {
        // Without a prompt the client goes on with the call that waits, and asks about it again.
        (invocation.argv.clone(), None)
    } else {
        invocation.with_prompt(&prompt(run, phase, (&work, attempt), &top)?)
    };
    Ok(StartOrders {
        argv: command,
        stdin,
        client: Some(client),
        env_set: invocation.env_set,
        env_removed: invocation.env_removed,
        after_success: AfterSuccess::EndAll,
        schema: schema.map(|(text, _)| text),
    })
}

/// The user's configuration of Codex. It is often a link; where it cannot be read there is nothing to heed in it.
pub(crate) fn codex_config() -> String {
    let named = std::env::var_os("CODEX_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".codex"));
    let path = named.or_else(home).unwrap_or_default().join("config.toml");
    let is_short = std::fs::metadata(&path).is_ok_and(|about| about.is_file() && about.len() <= FILE_BYTES_MAX);
    if is_short { std::fs::read_to_string(&path).unwrap_or_default() } else { String::new() }
}

fn prompt(run: &Run, phase: &Phase, (work, attempt): (&AgentWork, Attempt), top: &Path) -> Result<String, String> {
    let told = match (&work.prompt, &work.prompt_file) {
        (Some(text), _) => redact::whole_text(text)?,
        (None, Some(path)) => {
            let path =
                fill_for(run, phase, path).ok_or("its prompt-file has an expression that cannot be filled in")?;
            read(top, &path)?
        }
        (None, None) => return Err("it has neither a prompt nor a prompt-file".to_owned()),
    };
    // What stands in a file is the author's text as it is: only the plan has expressions.
    let told = match &work.prompt {
        Some(_) => fill_for(run, phase, &told).ok_or("its prompt has an expression that cannot be filled in")?,
        None => told,
    };
    let state = run.phase_state(&phase.id);
    let agent = state.and_then(|state| state.agent.as_deref());
    let parts = PromptParts {
        task: told,
        // A session that goes on knows all of it.
        brief: agent.is_none_or(|agent| !agent.named).then(|| brief(run, BRIEF_TOKENS).text),
        context: work.context.iter().map(|one| context(run, phase, one, top)).collect(),
        note: state.and_then(|state| state.note.clone()),
        tries: state.map(|state| state.tries.clone()).unwrap_or_default(),
        remaining: agent.and_then(|agent| agent.remaining.clone()),
        calls: agent.map(|agent| agent.calls.told()).unwrap_or_default(),
        goes_on: agent.is_some_and(|agent| agent.named),
        brought_together: brought_together(state),
        left_in: left_in(run, phase, top),
        attempt,
    };
    Ok(compose(&parts))
}

/// The files that were brought together with those of the project, where the worktree began with them.
fn brought_together(state: Option<&PhaseState>) -> Option<Vec<String>> {
    let state = state?;
    let own = state.own.as_deref().filter(|own| own.content.is_some())?;
    Some(own.unresolved.clone())
}

/// The worktree in which it worked under an earlier plan.
fn left_in(run: &Run, phase: &Phase, top: &Path) -> Option<String> {
    let generation = run.phase_state(&phase.id).filter(|_| !worktrees::works_apart(phase))?.generation;
    let place = format!(".onward/{}", worktrees::place(&run.id, &phase.id, generation));
    top.join(&place).is_dir().then_some(place)
}

/// One entry of `context`.
fn context(run: &Run, phase: &Phase, entry: &str, top: &Path) -> ContextPart {
    let entry = fill_for(run, phase, entry).unwrap_or_else(|| entry.to_owned());
    let part = |text: String| ContextPart { name: entry.clone(), text };
    if let Some(named) = entry.strip_prefix("artifacts:") {
        let found = named.rsplit_once('.').and_then(|(of, name)| {
            let of_it = run.phases().filter(|(other, _)| other.id.as_str() == of || is_part(other.id.as_str(), of));
            let paths: Vec<String> = of_it
                .flat_map(|(_, state)| &state.artifacts)
                .filter(|artifact| artifact.name == name)
                .map(|artifact| artifact.path.clone())
                .collect();
            (!paths.is_empty()).then_some(paths)
        });
        let Some(paths) = found else { return part("(it is not there)".to_owned()) };
        return part(paths.iter().map(|path| file(top, path)).collect::<Vec<_>>().join("\n\n"));
    }
    match entry.as_str() {
        "issue" => part(issue(run).unwrap_or_else(|| "(the run has no issue, or nobody could read it)".to_owned())),
        "diff" => part(changed(run)),
        path => part(file(top, path)),
    }
}

/// The issue as it was last read.
fn issue(run: &Run) -> Option<String> {
    let issue = run.sections().issue.as_ref()?;
    let number = issue.number.as_ref().map(|number| format!("#{number} ")).unwrap_or_default();
    let labels = if issue.labels.is_empty() { String::new() } else { format!("\nlabels: {}", issue.labels.join(", ")) };
    Some(format!("{number}{}{labels}\n\n{}", issue.title, issue.body))
}

/// The combinations of a matrix are `PHASE@…`.
fn is_part(id: &str, of: &str) -> bool {
    id.strip_prefix(of).is_some_and(|rest| rest.starts_with('@'))
}

/// The files that are not as the last commit has them, by name: their content is in the project.
fn changed(run: &Run) -> String {
    let files: Vec<String> = {
        let modified = run.sections().files_modified.values();
        modified.map(|file| format!("{} {}", file.status, file.path)).collect()
    };
    if files.is_empty() { "(nothing is changed since the last commit)".to_owned() } else { files.join("\n") }
}

fn file(top: &Path, path: &str) -> String {
    let short =
        std::fs::metadata(top.join(path)).is_ok_and(|about| about.is_file() && about.len() <= CONTEXT_BYTES_MAX);
    match read(top, path).ok().filter(|_| short) {
        Some(text) => format!("{path}:\n{text}"),
        None => format!("Read {path}."),
    }
}

fn whole(top: &Path, path: &str) -> String {
    top.join(path).to_string_lossy().into_owned()
}

fn read(top: &Path, path: &str) -> Result<String, String> {
    let cannot = |why: std::io::Error| format!("{path} cannot be read: {why}");
    let file = open_plain(&top.join(path)).map_err(cannot)?;
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut std::io::Read::take(file, FILE_BYTES_MAX + 1), &mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("{path} is longer than {FILE_BYTES_MAX} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| format!("{path} is no text"))
}
