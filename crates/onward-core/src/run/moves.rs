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

/// What proves that the move is really made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenBy {
    Simulator,
    /// A test of this name, since no world of the simulator gets there.
    Story(&'static str),
}

use PhaseStatus::{Completed, Failed, Interrupted, Pending, Running, Skipped};

const fn simulated(from: PhaseStatus, to: PhaseStatus, by: &'static str, when: &'static str) -> Move {
    Move { from: Some(from), to: Some(to), by, when, taken_by: TakenBy::Simulator }
}

/// A row is added with the event that makes the move.
pub const MOVES: &[Move] = &[
    simulated(Pending, Running, "attempt_started", "it is its turn"),
    simulated(Interrupted, Running, "attempt_started", "its last attempt was interrupted, and it is its turn again"),
    simulated(Running, Interrupted, "attempt_ended", "its attempt is over; in most cases the next row follows at once"),
    simulated(Interrupted, Completed, "phase_completed", "it said that it was done, and so did its probe"),
    simulated(Interrupted, Pending, "retry_scheduled", "it failed and has a retry left"),
    simulated(Interrupted, Pending, "limit_hit", "a limit turned it away; it waits for the limit to open"),
    simulated(Interrupted, Failed, "phase_failed", "it failed and has no retry left, or takes its host down"),
    simulated(Interrupted, Pending, "replanned", "it asked for another plan, and there is one"),
    simulated(Failed, Pending, "replanned", "another plan was brought for it"),
    simulated(Pending, Completed, "phase_completed", "a person took it as done"),
    simulated(Failed, Completed, "phase_completed", "a person took it as done"),
    simulated(Skipped, Completed, "phase_completed", "a person took it as done"),
    simulated(Pending, Skipped, "phase_skipped", "a person left it out"),
    simulated(Interrupted, Skipped, "phase_skipped", "a person left it out"),
    simulated(Failed, Skipped, "phase_skipped", "a person left it out"),
    simulated(Interrupted, Pending, "phase_reopened", "a person wants it tried again, with its retries renewed"),
    simulated(Failed, Pending, "phase_reopened", "a resume tries it again, or another plan changes it"),
    simulated(Completed, Pending, "phase_reopened", "it is to be done again, in its next generation"),
    simulated(Skipped, Pending, "phase_reopened", "it is to be done after all, in its next generation"),
    Move {
        from: None,
        to: None,
        by: "run_rewound",
        when: "the run went back to a checkpoint: as it stood there, but never from or to `running`",
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
        let fits = |row: Option<PhaseStatus>, name: &str| {
            row.map_or(name != Running.as_str(), |status| status.as_str() == name)
        };
        self.by == by && fits(self.from, from) && fits(self.to, to)
    }
}

impl PhaseStatus {
    pub const ALL: [Self; 6] = [Pending, Running, Interrupted, Completed, Failed, Skipped];

    /// What it means, in one sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Pending => "not begun, or to be done again; it waits for its turn, for a time, or for another plan",
            Running => "an attempt is at work; without a driver it is shown as an orphan, or as interrupted",
            Interrupted => {
                "its last attempt is over and nothing is decided: it was stopped, nobody knows, its probe has to speak, or it \
                 asked for another plan"
            }
            Completed => "done; it starts again only in a new generation",
            Failed => "its retries are used up, or it is parked since it takes its host down",
            Skipped => "a person left it out; what needs it may start unless it must be completed",
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
