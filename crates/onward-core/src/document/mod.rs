//! Texts that people write, plans and configurations alike: from text to a tree in which every part knows its place, and
//! held against tables of keys.
//!
//! The way is: text → `tree` (from `yaml` or `json`) → `check` against a table of `shape::Keys`. The same tables make the
//! JSON Schemas (`schema`) and the reference pages (`reference`).

pub(crate) mod check;
pub(crate) mod check_value;
pub(crate) mod json;
pub(crate) mod reference;
pub(crate) mod schema;
pub(crate) mod shape;
pub(crate) mod spelling;
pub(crate) mod suggest;
pub(crate) mod tree;
pub mod units;
pub(crate) mod word;
pub(crate) mod yaml;
