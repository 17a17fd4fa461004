//! The words of onward and every decision it takes. Pure: no files, no clock, no randomness, no threads.

pub mod checkpoint;
pub mod config;
pub mod diagnostic;
pub mod effect;
pub mod event;
pub mod exit;
pub mod expression;
pub mod failure;
pub mod id;
pub mod input;
pub mod lookup;
pub mod mutant;
pub mod naming;
pub mod patch;
pub mod patterns;
pub mod plan;
pub mod rate_limit;
pub mod replan;
pub mod resume;
pub mod retention;
pub mod run;
pub mod secret_names;
pub mod seen;
pub mod tail;
pub mod view;
pub mod words;
