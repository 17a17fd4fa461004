//! Sharing through a run: messages, knowledge, decisions, conflicts, and the team they are in.

use jiff::Timestamp;
use onward_core::checkpoint::{AgentMessage, KnowledgeEntry, TeamMember};
use onward_core::event::SharedFact;
use onward_core::id::RunId;
use onward_core::input::{Posted, Reply};
use onward_core::run::Run;

use crate::Onward;
use crate::error::{Error, Result};
use crate::start::starting::actor;

/// The record of something that was shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedOn {
    pub run: RunId,
    /// The checkpoint that it took.
    pub checkpoint: Option<String>,
}

impl Onward {
    /// Puts on record what an agent shares. Said again it changes nothing.
    pub fn share(&mut self, name: Option<&str>, mut fact: SharedFact) -> Result<SharedOn> {
        let run = self.find_run(name)?;
        if let SharedFact::DecisionMade { by, .. } = &mut fact {
            by.get_or_insert_with(|| actor(&self.project));
        }
        match self.post(&run, Posted::Share { fact: Box::new(fact.clone()) }) {
            Ok(Reply::Checkpoint { id }) => Ok(SharedOn { run, checkpoint: Some(id) }),
            Ok(_) => Ok(SharedOn { run, checkpoint: None }),
            Err(Error::RequestRefused { reason, .. }) => {
                let known = self.load(&run)?;
                Err(missing(&known, &fact).unwrap_or(Error::Declined { reason }))
            }
            Err(other) => Err(other),
        }
    }

    /// The messages for an agent that it has not acknowledged, the oldest first.
    pub fn inbox(&mut self, name: Option<&str>, agent: &str) -> Result<Vec<AgentMessage>> {
        let run = self.find_run(name)?;
        Ok(self.load(&run)?.inbox(agent).cloned().collect())
    }

    /// The knowledge entries of a run, in the order in which they came.
    pub fn knowledge(&mut self, name: Option<&str>) -> Result<Vec<KnowledgeEntry>> {
        let run = self.find_run(name)?;
        Ok(self.load(&run)?.sections().knowledge.clone())
    }

    /// The members of the team, as they stand.
    pub fn team(&mut self, name: Option<&str>) -> Result<Vec<TeamMember>> {
        let run = self.find_run(name)?;
        Ok(self.load(&run)?.sections().team.members.clone())
    }
}

/// The first thing that is spoken of and is not there.
fn missing(run: &Run, fact: &SharedFact) -> Option<Error> {
    let sections = run.sections();
    let not_shared = |what, id: &String| Error::NotShared { run: run.id.clone(), what, id: id.clone() };
    match fact {
        SharedFact::MessagesAcknowledged { ids, .. } => {
            let unknown = ids.iter().find(|id| sections.messages.iter().all(|known| known.id != **id));
            unknown.map(|id| not_shared("message", id))
        }
        SharedFact::ConflictRound { id, .. } | SharedFact::ConflictResolved { id, .. } => {
            let unknown = sections.conflicts.iter().all(|known| known.id != *id);
            unknown.then(|| not_shared("conflict", id))
        }
        SharedFact::MessageSent(_)
        | SharedFact::KnowledgeAdded { .. }
        | SharedFact::DecisionMade { .. }
        | SharedFact::ConflictStarted { .. } => None,
    }
}

/// An id for a message that was given none.
pub fn new_message_id(text: &str) -> String {
    let now = Timestamp::now();
    let told = format!("{}-{}-{text}", std::process::id(), now.as_nanosecond());
    let hash = blake3::hash(told.as_bytes()).to_hex();
    format!("MSG-{}-{}", now.strftime("%Y%m%d"), &hash[..12])
}
