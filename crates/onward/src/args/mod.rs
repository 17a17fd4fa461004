//! The command line. Names and flags are a contract with scripts; those of later versions stand in `not_yet.rs`.

mod candidates;
mod cli;
mod files;
mod go_back;
mod help;
mod look;
mod planning;
mod reader;
#[cfg(test)]
mod reference;
mod scripts;
mod setup;
mod share;
mod start;
mod steer;
mod values;

pub(crate) use candidates::offered;
#[cfg(test)]
pub(crate) use cli::command;
pub(crate) use cli::{Cli, Color, Typed, Verb, is_verb, parse};
pub(crate) use files::{ExportArgs, ImportArgs};
pub(crate) use go_back::{CheckpointArgs, ForkArgs, RewindArgs, UndoArgs};
pub(crate) use look::{
    DiffArgs, GraphArgs, GraphFormat, ListArgs, LogArgs, LogsArgs, ShowArgs, StatusArgs, SummaryArgs, SummaryFormat,
    WhyArgs,
};
pub(crate) use planning::{PLANNING_TIME_MAX, PlanArgs};
pub(crate) use reader::{Audience, is_verbose, reader, verb};
pub(crate) use scripts::{
    HookArgs, LoadArgs, McpArgs, NextArgs, ReportArgs, ReportDone, ReportReplan, ReportVerb, ReportedPhase, SaveArgs,
    StateArgs, StateGet, StateMerge, StateVerb,
};
pub(crate) use setup::{
    CheckArgs, CompletionsArgs, ConfigArgs, DeleteArgs, DemoArgs, DoctorArgs, InitArgs, KeepArgs, ManArgs, PruneArgs,
    SchemaArgs, SchemaName, TrustArgs,
};
pub(crate) use share::{
    BriefArgs, ConflictVerb, DecisionVerb, KnowledgeVerb, MessageInbox, MessageSend, MessageVerb, SharedRun, TeamArgs,
};
pub(crate) use start::{Damaged, ResumeArgs, RunArgs, StartArgs};
pub(crate) use steer::{AdoptArgs, ApproveArgs, ArchiveArgs, HaltArgs, SteerArgs};
pub(crate) use values::{AnswerForm, Json};
use values::{dollars, key_and_value, span};
