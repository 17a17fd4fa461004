//! The file that a new project gets.

/// All of it commented out, so that later defaults still reach the project.
pub const DEFAULT_FILE: &str = include_str!("default.yaml");
