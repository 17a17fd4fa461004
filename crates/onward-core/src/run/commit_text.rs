//! The message of a mini-commit.

use std::collections::BTreeSet;

use super::state::Run;
use crate::agent::co_author;
use crate::event::CommitRule;
use crate::plan::Phase;

/// The message of a mini-commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitText {
    pub subject: String,
    pub body: String,
    pub trailers: Vec<String>,
    /// The value of the trailer by which the commit is found again.
    pub batch: String,
}

impl Run {
    /// The message of the mini-commit that was begun.
    pub fn commit_text(&self, rule: &CommitRule, number: u32) -> CommitText {
        let of_the_commit = |(_, phase): &(usize, &Phase)| self.vcs.uncommitted.contains(&phase.id);
        let numbered = self.plan().phases.iter().enumerate().map(|(at, phase)| (at + 1, phase));
        let phases: Vec<(usize, &Phase)> = numbered.filter(of_the_commit).collect();
        let id = |phase: Option<&(usize, &Phase)>| phase.map_or("", |(_, phase)| phase.id.as_str()).to_owned();
        let places: Vec<usize> = phases.iter().map(|(place, _)| *place).collect();
        let subject = rule.message.replace(PLACES, &places_in_words(&places));
        let subject = subject.replace("{first}", &id(phases.first())).replace("{last}", &id(phases.last()));
        let mut body = "Completed:\n".to_owned();
        body.extend(phases.iter().map(|(place, phase)| line_of(*place, phase)));
        let remaining = self.phases.len() - self.derived.finished;
        body.extend(["\nRemaining: ", &remaining.to_string(), " phases\n"]);
        let mut trailers = rule.trailers.clone();
        if rule.names_agents {
            let agents = phases.iter().filter_map(|(_, phase)| self.phase_state(&phase.id)?.agent.as_deref());
            let named: BTreeSet<&str> = agents.filter_map(|agent| co_author(&agent.agent)).collect();
            trailers.extend(named.into_iter().map(str::to_owned));
        }
        CommitText { subject, body, trailers, batch: number.to_string() }
    }
}

fn line_of(place: usize, phase: &Phase) -> String {
    format!("- Phase {place}: {}\n", phase.name.as_deref().unwrap_or(phase.id.as_str()))
}

/// In a commit's subject: the places of its phases in the plan.
pub const PLACES: &str = "{places}";

/// `phases 4-6`, `phases 1, 3, 4` where they are not in a row, `phase 2`.
fn places_in_words(places: &[usize]) -> String {
    let in_a_row = places.windows(2).all(|pair| pair[1] == pair[0] + 1);
    match places {
        [] => "phases".to_owned(),
        [one] => format!("phase {one}"),
        [first, .., last] if in_a_row => format!("phases {first}-{last}"),
        all => format!("phases {}", all.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}
