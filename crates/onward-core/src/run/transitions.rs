//! Every way in which a phase gets from one status to another, as one table: the page about it is made from this, and a
//! test holds what the simulator does against it.

use super::state::PhaseStatus;

/// One row. A row without a beginning or an end stands for several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    pub from: Option<PhaseStatus>,
    pub to: Option<PhaseStatus>,
    /// The type of the event that makes it.
    pub by: &'static str,
    pub when: &'static str,
    pub taken_by: TakenBy,
}

/// The evidence that a transition is really taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenBy {
    Simulator,
    /// A test of this name, since no world of the simulator gets there.
    Story(&'static str),
}

use PhaseStatus::{Completed, Failed, Interrupted, Pending, Running, Skipped, Waiting};

const fn simulated(from: PhaseStatus, to: PhaseStatus, by: &'static str, when: &'static str) -> Move {
    Move { from: Some(from), to: Some(to), by, when, taken_by: TakenBy::Simulator }
}

/// A row is added with the event that makes the move.
pub const MOVES: &[Move] = &[
    simulated(Pending, Running, "attempt_started", "it is its turn"),
    simulated(Interrupted, Running, "attempt_started", "its last attempt was interrupted, and it is its turn again"),
    simulated(Running, Interrupted, "attempt_ended", "its attempt is over; in most cases the next row follows at once"),
    simulated(
        Interrupted,
        Completed,
        "phase_completed",
        "it said that it was done, and so did all that was to prove it",
    ),
    simulated(
        Interrupted,
        Waiting,
        "worktree_changed",
        "it worked in a worktree of its own, and others have changed the same meanwhile",
    ),
    simulated(Interrupted, Pending, "retry_scheduled", "it failed and has a retry left"),
    simulated(Interrupted, Pending, "limit_hit", "a limit turned it away; it waits for the limit to open"),
    simulated(Interrupted, Failed, "phase_failed", "it failed and has no retry left, or takes its host down"),
    simulated(Pending, Running, "reported", "somebody else has begun it"),
    simulated(Interrupted, Running, "reported", "somebody else takes it in hand again"),
    simulated(Running, Interrupted, "reported", "whoever does it says that it is over, or was not heard for too long"),
    simulated(Pending, Waiting, "approval_asked", "it is an approval, and a person is asked"),
    Move {
        from: Some(Interrupted),
        to: Some(Waiting),
        by: "approval_asked",
        when: "the run went back to when it was another kind of work, and it is an approval now",
        taken_by: TakenBy::Story("an_approval_that_was_other_work_once"),
    },
    simulated(Interrupted, Waiting, "call_asked", "its agent wants to make a tool call that a person has to approve"),
    simulated(Waiting, Pending, "call_answered", "a person answered, and its agent goes on in its session"),
    simulated(Waiting, Completed, "phase_completed", "a person agreed, or time did as the plan says"),
    simulated(Waiting, Failed, "phase_failed", "a person did not agree, or time did not as the plan says"),
    simulated(Pending, Completed, "phase_completed", "all its parts are done, or a person took it as done"),
    simulated(
        Pending,
        Completed,
        "markers_taken",
        "the plan in Markdown marked it as complete when the run was started",
    ),
    simulated(Pending, Skipped, "markers_taken", "the plan in Markdown marked it as skipped when the run was started"),
    simulated(Pending, Failed, "phase_failed", "a child of it failed, or it could not be expanded"),
    simulated(Pending, Skipped, "phase_skipped", "its condition does not hold, or a person left it out"),
    simulated(Failed, Skipped, "phase_skipped", "its failure means that it is left out, or a person left it out"),
    simulated(Interrupted, Skipped, "phase_skipped", "a person left it out"),
    simulated(Waiting, Skipped, "phase_skipped", "a person left it out, or what it is a part of"),
    simulated(Failed, Completed, "phase_completed", "a person took it as done"),
    simulated(Skipped, Completed, "phase_completed", "a person took it as done"),
    simulated(Interrupted, Pending, "replanned", "it asked for another plan, and there is one"),
    simulated(Failed, Pending, "replanned", "another plan was brought for it"),
    simulated(
        Running,
        Pending,
        "replanned",
        "somebody else is at work on it and brought another plan, or has to begin anew",
    ),
    simulated(Waiting, Pending, "replanned", "it is not what a person was asked about any more"),
    simulated(Running, Pending, "plan_revised", "somebody else is at work on it, and it is another kind of work now"),
    simulated(Waiting, Pending, "plan_revised", "it is no approval any more"),
    simulated(
        Interrupted,
        Pending,
        "plan_revised",
        "it is another kind of work: its last attempt does not matter any more",
    ),
    simulated(Interrupted, Pending, "phase_reopened", "a person wants it tried again, with its retries renewed"),
    simulated(Failed, Pending, "phase_reopened", "a resume tries it again, or another plan changes it"),
    simulated(Running, Pending, "phase_reopened", "somebody else is at work on it, and a person wants it begun anew"),
    simulated(Waiting, Pending, "phase_reopened", "a person wants to be asked anew"),
    simulated(Completed, Pending, "phase_reopened", "it is to be done again, in its next generation"),
    simulated(Skipped, Pending, "phase_reopened", "it is to be done after all, in its next generation"),
    Move {
        from: None,
        to: None,
        by: "run_rewound",
        when: "the run went back to a checkpoint: as it stood there, but never to `running`",
        taken_by: TakenBy::Simulator,
    },
    Move {
        from: Some(Pending),
        to: None,
        by: "run_forked",
        when: "the run was branched off a checkpoint: as it stood there, but never to `running`",
        taken_by: TakenBy::Story("a_fork_in_a_working_tree_of_its_own"),
    },
];

impl Move {
    /// Whether this row is about going from here to there by this event.
    pub fn covers(&self, from: &str, to: &str, by: &str) -> bool {
        let begins = self.from.is_none_or(|status| status.as_str() == from);
        let ends = self.to.map_or(to != Running.as_str(), |status| status.as_str() == to);
        self.by == by && begins && ends
    }
}

impl PhaseStatus {
    pub const ALL: [Self; 7] = [Pending, Running, Waiting, Interrupted, Completed, Failed, Skipped];

    /// The transition in one sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Pending => "not begun, or to be done again; it waits for its turn, for a time, or for another plan",
            Running => {
                "an attempt is at work, or somebody else is; an attempt without a driver is shown as an orphan, or as interrupted"
            }
            Interrupted => {
                "its last attempt is over and nothing is decided: it was stopped, nobody knows, its probe has to speak, or it \
                 asked for another plan"
            }
            Waiting => "a person is asked about it, and has not answered",
            Completed => "done; it starts again only in a new generation",
            Failed => {
                "its retries are used up, a part of it failed, a person did not agree, or it is parked since it takes its host down"
            }
            Skipped => {
                "left out, by its condition, by a failure or by a person; what needs it may start unless it must be completed"
            }
        }
    }
}

/// Both tables of the page.
pub fn table() -> String {
    let mut page = "| status | means |\n|---|---|\n".to_owned();
    for status in PhaseStatus::ALL {
        page.extend(["| `", status.as_str(), "` | ", status.meaning(), " |\n"]);
    }
    page.push_str("\n| from | to | by | when | seen in |\n|---|---|---|---|---|\n");
    for row in MOVES {
        let name = |status: Option<PhaseStatus>| status.map_or("any".to_owned(), |s| format!("`{}`", s.as_str()));
        let seen = match row.taken_by {
            TakenBy::Simulator => "the simulator".to_owned(),
            TakenBy::Story(story) => format!("`{story}`"),
        };
        let (from, to) = (name(row.from), name(row.to));
        page.extend([format!("| {from} | {to} | `{}` | {} | {seen} |\n", row.by, row.when)]);
    }
    page
}
