//! Stories told to the real binary in a project of their own.

mod abandoned_checks;
mod agent_calls;
mod agent_calls_steered;
mod agent_frames;
mod agents;
mod answers;
mod artifacts;
mod background;
mod book;
mod branches;
mod brought_settings;
mod chain;
mod checkpoint_names;
mod commits;
mod concurrency;
mod conditions;
mod counting;
mod damaged_store;
mod data;
mod demo;
mod doctor;
mod edited_at_work;
mod examples;
mod export;
mod external_phases;
mod feature;
mod filters;
mod for_people;
mod foreign_files;
mod foretold;
mod forks;
mod format_1;
mod fresh;
mod git;
mod hooks;
mod hostile;
mod imports;
mod inside_phases;
mod keep;
#[cfg(feature = "kill-points")]
mod kill_points;
mod lifecycle;
mod limits;
mod live;
mod load_ask;
mod losses;
mod lost_store;
mod manual;
mod markdown;
mod mcp;
mod mirrors;
mod neighbours;
mod network;
mod notices;
mod operator;
mod operator_hints;
mod outcomes;
mod output_flood;
mod own_log;
mod pipes;
mod places;
mod planning;
mod posts;
mod processes;
mod prune_histories;
mod questions;
mod readme_tour;
mod real_agents;
mod replan;
mod requirements;
mod resume;
mod rewinds_cut_off;
mod rigs;
mod run_ids;
mod screens;
mod secret_names;
mod secrets;
mod several_runs;
mod shared;
mod shown_to_terminals;
mod stopping;
mod stories;
mod summary;
mod taken_back;
mod trust;
mod typed;
mod untrusted_settings;
mod vanished_store;
mod worktree_edits;
mod worktrees;

/// The library that gives a program another clock.
fn faketime() -> std::path::PathBuf {
    let folders = std::fs::read_dir("/usr/lib").expect("a folder").flatten();
    let mut found = folders.map(|entry| entry.path().join("faketime/libfaketime.so.1"));
    found.find(|path| path.exists()).expect("libfaketime, which scripts/test installs")
}

fn project() -> onward_testkit::TestProject {
    onward_testkit::TestProject::new(env!("CARGO_BIN_EXE_onward"))
}
