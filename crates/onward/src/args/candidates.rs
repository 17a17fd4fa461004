//! Ids that a shell offers while a command is typed: runs, phases and checkpoints of this project.

use clap::Command;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use onward_engine::{ListFilter, Onward};

use crate::commands::here;

/// Ids that are offered at most; more than a screen of them helps nobody.
const OFFERED_MAX: usize = 50;

type CandidateSource = fn() -> Vec<CompletionCandidate>;

/// The command with candidates for every argument that is an id.
pub(crate) fn offered(command: Command) -> Command {
    let verbs: Vec<String> = command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    verbs.into_iter().fold(command, |command, verb| command.mut_subcommand(&verb, |inner| of_verb(&verb, inner)))
}

fn of_verb(verb: &str, command: Command) -> Command {
    let has = |name: &str| command.get_arguments().any(|arg| arg.get_id() == name);
    let offers: &[(&'static str, CandidateSource)] = match verb {
        "diff" => &[("from", checkpoints), ("to", checkpoints)],
        "show" => &[("id", runs_and_checkpoints)],
        "logs" | "approve" | "reject" | "retry" | "skip" | "adopt" | "why" => {
            &[("run", runs_and_phases), ("phase", phases)]
        }
        "run" | "resume" => &[
            ("run", runs),
            ("checkpoint", checkpoints),
            ("from", phases),
            ("only", phases),
            ("retry", phases),
            ("skip", phases),
            ("adopt", phases),
        ],
        _ => &[("run", runs), ("phase", phases), ("checkpoint", checkpoints)],
    };
    let offers: Vec<_> = offers.iter().filter(|(name, _)| has(name)).copied().collect();
    offers
        .into_iter()
        .fold(command, |command, (name, offer)| command.mut_arg(name, |arg| arg.add(ArgValueCandidates::new(offer))))
}

/// Candidates that a look gives; none where it fails: a shell has no place for an error.
fn looked<T>(what: impl FnOnce(&mut Onward) -> onward_engine::Result<Vec<T>>) -> Vec<T> {
    let onward = here().and_then(|from| Onward::look(&from));
    let mut found = onward.and_then(|mut onward| what(&mut onward)).unwrap_or_default();
    found.truncate(OFFERED_MAX);
    found
}

fn candidate(id: &str, help: &str) -> CompletionCandidate {
    CompletionCandidate::new(id).help((!help.is_empty()).then(|| help.to_owned().into()))
}

fn runs() -> Vec<CompletionCandidate> {
    let listed = looked(|onward| onward.list(&ListFilter::default()));
    listed.iter().map(|item| candidate(item.run.as_str(), &item.status)).collect()
}

fn phases() -> Vec<CompletionCandidate> {
    let status = looked(|onward| Ok(vec![onward.status(None)?]));
    let records = status.iter().flat_map(|view| view.running.iter().chain(&view.remaining).chain(&view.completed));
    records
        .map(|record| candidate(record.shown.as_deref().unwrap_or(record.id.as_str()), record.status.as_str()))
        .collect()
}

fn checkpoints() -> Vec<CompletionCandidate> {
    let logged = looked(|onward| Ok(onward.log(None)?.1));
    logged.iter().map(|item| candidate(item.id.as_str(), item.name.as_deref().unwrap_or_default())).collect()
}

fn runs_and_phases() -> Vec<CompletionCandidate> {
    phases().into_iter().chain(runs()).collect()
}

fn runs_and_checkpoints() -> Vec<CompletionCandidate> {
    checkpoints().into_iter().chain(runs()).collect()
}
