//! The command line. Names and flags are a contract with scripts; those of later versions stand in `later.rs`.

mod cli;
mod go_back;
mod help;
mod look;
mod reader;
mod scripts;
mod setup;
mod start;
mod steer;
mod values;

#[cfg(test)]
pub(crate) use cli::command;
pub(crate) use cli::{Cli, Color, Typed, Verb, parse};
pub(crate) use go_back::{Checkpoint, Fork, Rewind, Undo};
pub(crate) use look::{Diff, Graph, GraphFormat, List, Log, Logs, Show, Status, Why};
pub(crate) use reader::{Reader, reader};
pub(crate) use scripts::{About, Done, Load, Next, Replan, Report, Save, State, StateGet, StateMerge, StateVerb, What};
pub(crate) use setup::{Check, Completions, Config, Delete, Doctor, Init, Prune, Schema, SchemaName, Trust};
pub(crate) use start::{Damaged, Resume, Run, Start};
pub(crate) use steer::{Approve, Halt, Steer};
pub(crate) use values::Json;
use values::{key_and_value, span};
