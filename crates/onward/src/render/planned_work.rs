//! All that a plan would execute or hand to an agent, in full: a person says yes to it.

use std::fmt::Write as _;

use onward_core::agent::AgentWork;
use onward_core::plan::{Body, Need, NoticeWay, Phase, Plan, ProbeOf};

use super::safe;

/// A key of the plan, and what stands there.
struct PlannedText {
    key: String,
    text: String,
}

fn planned(key: &str, text: impl Into<String>) -> PlannedText {
    PlannedText { key: key.to_owned(), text: text.into() }
}

fn all(key: &'static str, texts: &[String]) -> impl Iterator<Item = PlannedText> {
    texts.iter().map(move |text| planned(key, text))
}

fn variables(env: &[(String, String)]) -> impl Iterator<Item = PlannedText> {
    env.iter().map(|(name, value)| planned(&format!("env {name}"), value))
}

/// The phases with their work, then what belongs to the plan as a whole.
pub(super) fn list(plan: &Plan) -> String {
    let mut out = String::new();
    for phase in plan.phases.iter().chain(&plan.finally) {
        let needs: Vec<String> = phase.needs.iter().map(|Need { phase, .. }| safe::line(phase.as_str())).collect();
        let needs = if needs.is_empty() { String::new() } else { format!(" (needs {})", needs.join(", ")) };
        let mut texts = of_phase(phase).into_iter();
        let first = texts.next().expect("a phase has its work");
        let _ = writeln!(out, "  · {}{needs}  {}", safe::line(phase.id.as_str()), shown(&first, 6));
        for text in texts {
            let _ = writeln!(out, "    {}", shown(&text, 6));
        }
    }
    for text in of_plan(plan) {
        let _ = writeln!(out, "  {}", shown(&text, 4));
    }
    out
}

/// A text of one line beside its key, another one below it, whole.
fn shown(text: &PlannedText, indent: usize) -> String {
    let PlannedText { key, text } = text;
    let (key, body) = (safe::line(key), text.trim_end_matches('\n'));
    if !body.contains('\n') {
        return format!("{key}: {}", safe::block(body));
    }
    let lines = body.split('\n').map(|line| format!("\n{:indent$}{}", "", safe::block(line)));
    format!("{key}:{}", lines.collect::<String>())
}

fn of_phase(phase: &Phase) -> Vec<PlannedText> {
    let mut texts = match &phase.body {
        Body::Run { script, shell } => {
            let shell = (!shell.is_empty()).then(|| planned("shell", shell.join(" ")));
            std::iter::once(planned("run", script.as_str())).chain(shell).collect()
        }
        Body::Agent(block) => of_agent(&AgentWork::read(block)),
        Body::Approval(approval) => vec![planned("approval", approval.message.as_str())],
        Body::External(external) => vec![planned("external", external.instructions.as_str())],
        Body::Uses(uses) => vec![planned("uses", uses.path.as_str())],
    };
    texts.extend(phase.working_directory.as_deref().map(|folder| planned("working-directory", folder)));
    texts.extend(variables(&phase.env));
    texts.extend(phase.requires.iter().map(|one| planned("requires", one.run.as_str())));
    texts.extend(all("verify", &phase.verify).chain(all("done-when", &phase.done_when)));
    texts.extend(all("fingerprint", &phase.fingerprint));
    texts.extend(phase.replan.iter().filter_map(|keys| keys.run.as_deref()).map(|run| planned("replan.run", run)));
    texts
}

fn of_agent(work: &AgentWork) -> Vec<PlannedText> {
    let prompt = work.prompt.as_deref().map(|prompt| planned("agent", prompt));
    let file = work.prompt_file.as_deref().map(|file| planned("agent, prompt-file", file));
    let mut texts: Vec<PlannedText> = prompt.into_iter().chain(file).collect();
    if texts.is_empty() {
        texts.push(planned("agent", ""));
    }
    texts.extend(all("agent args", &work.args).chain(all("allow", &work.allow)));
    texts.extend(variables(&work.env));
    texts
}

fn of_plan(plan: &Plan) -> Vec<PlannedText> {
    let mut texts: Vec<PlannedText> = variables(&plan.env).collect();
    texts.extend(plan.requires.iter().map(|one| planned("requires", one.run.as_str())));
    texts.extend(plan.freshness.probes.iter().filter_map(|probe| match &probe.of {
        ProbeOf::Command(command) => Some(planned(&format!("probe {}", probe.name), command.as_str())),
        ProbeOf::Files(_) | ProbeOf::Issue(_) => None,
    }));
    texts.extend(plan.replan.iter().filter_map(|keys| keys.run.as_deref()).map(|run| planned("replan.run", run)));
    texts.extend(plan.notices.iter().filter_map(|rule| match &rule.way {
        NoticeWay::Command(command) => Some(planned("notify", command.as_str())),
        NoticeWay::Webhook(address) => Some(planned("notify", address.as_str())),
        NoticeWay::Desktop => None,
    }));
    texts
}
