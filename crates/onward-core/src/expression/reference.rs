//! The names an expression may use.

use std::fmt;

use crate::id::PhaseId;

/// One value that an expression asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reference {
    Input(String),
    Env(String),
    /// A fact of the run: `id`, `name`, `type`.
    Run(String),
    Output {
        phase: PhaseId,
        output: String,
    },
    Status(PhaseId),
    Matrix(String),
    /// The number of the attempt.
    Attempt,
}

/// The beginning of the names of folders among the facts of a run.
pub const PATHS: &str = "paths.";

/// Facts of a run that expressions may name.
const RUN_FACTS: &[&str] = &["id", "name", "type", "project", "branch"];

impl Reference {
    /// Reads a dotted name. Phase ids may have dots themselves (`phases.2.5.outputs.n`), so they are cut off from both ends.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (head, tail) = text.split_once('.').unwrap_or((text, ""));
        match head {
            "inputs" => name(head, tail).map(Reference::Input),
            "env" => name(head, tail).map(Reference::Env),
            "matrix" => name(head, tail).map(Reference::Matrix),
            "run" if RUN_FACTS.contains(&tail) => Ok(Reference::Run(tail.to_owned())),
            "run" => Err(format!("`run.` has {}", RUN_FACTS.join(", "))),
            "paths" => name(head, tail).map(|folder| Reference::Run(format!("{PATHS}{folder}"))),
            "attempt" if text == "attempt" => Ok(Reference::Attempt),
            "phases" => of_phase(tail),
            _ => Err(format!(
                "`{text}` is no value; there are inputs.NAME, env.NAME, run.id, paths.NAME, phases.ID.outputs.NAME, phases.ID.status, matrix.NAME and attempt"
            )),
        }
    }
}

fn name(head: &str, tail: &str) -> Result<String, String> {
    let fits = tail.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if tail.is_empty() || !fits {
        return Err(format!("`{head}.` wants one name after the dot"));
    }
    Ok(tail.to_owned())
}

fn of_phase(tail: &str) -> Result<Reference, String> {
    if let Some((phase, output)) = tail.rsplit_once(".outputs.").filter(|(phase, _)| !phase.is_empty()) {
        return Ok(Reference::Output { phase: PhaseId::new(phase), output: name("outputs", output)? });
    }
    match tail.strip_suffix(".status") {
        Some(phase) if !phase.is_empty() => Ok(Reference::Status(PhaseId::new(phase))),
        Some(_) | None => Err("of a phase there are phases.ID.outputs.NAME and phases.ID.status".to_owned()),
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reference::Input(name) => write!(f, "inputs.{name}"),
            Reference::Env(name) => write!(f, "env.{name}"),
            Reference::Run(name) if name.starts_with(PATHS) => f.write_str(name),
            Reference::Run(name) => write!(f, "run.{name}"),
            Reference::Output { phase, output } => write!(f, "phases.{phase}.outputs.{output}"),
            Reference::Status(phase) => write!(f, "phases.{phase}.status"),
            Reference::Matrix(name) => write!(f, "matrix.{name}"),
            Reference::Attempt => f.write_str("attempt"),
        }
    }
}
