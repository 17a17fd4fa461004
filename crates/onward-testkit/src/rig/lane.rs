//! One plan on its way to its end: which command goes on with it, and what a person who looks at the world answers.

use std::time::Instant;

use serde_json::Value;

use super::book::read_book;
use super::deeds::OUTWARD;
use super::patience::Patience;
use crate::TestProject;
use crate::running::Running;
use crate::sim::dice::Dice;

/// A driver at work.
pub(super) struct DriverAtWork {
    pub(super) running: Running,
    pub(super) since: Instant,
    /// How long it may take.
    pub(super) patience: Patience,
    /// How long it may take since it was asked to stop.
    pub(super) asked: Option<Patience>,
}

/// One plan and its run.
pub(super) struct Lane {
    pub(super) name: String,
    pub(super) run: Option<String>,
    pub(super) driver: Option<DriverAtWork>,
    pub(super) starts: u32,
    /// Starts in a row that ended with a question although all that is known was answered.
    pub(super) asked_again: u32,
    pub(super) done: bool,
}

impl Lane {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), run: None, driver: None, starts: 0, asked_again: 0, done: false }
    }

    pub(super) fn plan(&self) -> String {
        format!("{}.yaml", self.name)
    }

    /// The run of this plan, as `list` has it. An error says that there are several.
    pub(super) fn find_run(&mut self, list: &Value) -> Result<(), String> {
        let of_this: Vec<&str> = list["runs"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|run| run["plan"].as_str() == Some(&self.plan()))
            .filter_map(|run| run["run"].as_str())
            .collect();
        match of_this.as_slice() {
            [] if self.run.is_none() => Ok(()),
            [] => Err(format!("the run {} is not listed any more", self.run.as_deref().unwrap_or_default())),
            [one] => {
                self.run = Some((*one).to_owned());
                Ok(())
            }
            several => Err(format!("the plan {} has several runs: {several:?}", self.plan())),
        }
    }

    /// The command that goes on, with an answer for every phase that needs one: taken as done if the world has its effect,
    /// tried again if not.
    pub(super) fn command(&self, project: &TestProject, status: &Value, dice: &mut Dice) -> Vec<String> {
        let Some(run) = &self.run else {
            return ["run", &self.plan(), "--no-input"].into_iter().map(str::to_owned).collect();
        };
        let mut answers = Vec::new();
        for phase in status["remaining"].as_array().into_iter().flatten() {
            let id = phase["id"].as_str().unwrap_or_default();
            let is_failed = phase["status"] == "failed";
            let is_open = phase["in_doubt"] == true || is_failed;
            if is_open && OUTWARD.contains(&id) {
                answers.push(if has_effect(project, run, id) { "--adopt" } else { "--retry" }.to_owned());
                answers.push(id.to_owned());
            } else if is_failed && phase["error_code"] != "part-failed" {
                answers.push("--retry".to_owned());
                answers.push(id.to_owned());
            }
        }
        let mut words = vec!["resume".to_owned(), run.clone()];
        if answers.is_empty() && self.asked_again == 0 && dice.percent(50) {
            words = vec!["run".to_owned(), self.plan()];
        }
        words.extend(answers);
        if self.asked_again > 0 {
            words.push("--accept-stale".to_owned());
        }
        words.push("--no-input".to_owned());
        words
    }
}

pub(super) fn has_effect(project: &TestProject, run: &str, phase: &str) -> bool {
    let book = read_book(&project.root().join("rig/ledger"));
    book.iter().any(|line| line.what == "effect" && line.run == run && line.phase == phase)
}
