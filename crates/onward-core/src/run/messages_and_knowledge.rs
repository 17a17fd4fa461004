//! Messages, knowledge, decisions and conflicts of the agents, and what follows from them.

use jiff::Timestamp;
use serde_json::json;

use super::decide::round;
use super::state::Run;
use crate::checkpoint::{AgentConflict, AgentMessage, KeyDecision, KnowledgeEntry, KnowledgeState, Sections};
use crate::event::{EVERYBODY, MessageKind, MessageText, SharedFact};
use crate::patch::Op;

impl Run {
    pub(super) fn apply_shared(&mut self, fact: &SharedFact, at: Timestamp) {
        match fact {
            SharedFact::MessageSent(letter) => self.message_sent(letter, at),
            SharedFact::MessagesAcknowledged { ids, by } => self.acknowledged(ids, by.as_deref()),
            SharedFact::KnowledgeAdded { id, kind, title, body, state } => {
                self.knowledge_added(id, [kind, title, body], *state, at);
            }
            SharedFact::DecisionMade { text, by } => {
                let decision = KeyDecision { text: text.clone(), at: Some(at), by: by.clone() };
                self.add_to_section("/decisions", |sections| &mut sections.decisions, decision);
            }
            SharedFact::ConflictStarted { id, between, topic } => self.conflict_started(id, between, topic, at),
            SharedFact::ConflictRound { id, text, by } => {
                self.change_conflict(id, |conflict| conflict.rounds.push(round(text, by.as_deref())));
            }
            SharedFact::ConflictResolved { id, resolution } => self.change_conflict(id, |conflict| {
                (conflict.resolution, conflict.resolved_at) = (Some(resolution.clone()), Some(at));
            }),
        }
    }

    fn message_sent(&mut self, letter: &MessageText, at: Timestamp) {
        assert!(self.sections().messages.iter().all(|known| known.id != letter.id), "one id is one message");
        let message = AgentMessage {
            id: letter.id.clone(),
            kind: Some(letter.kind.as_str().to_owned()),
            from: Some(letter.from.clone()),
            to: Some(letter.to.clone()),
            body: Some(letter.body.clone()),
            sent_at: Some(at),
            acknowledged_by: Vec::new(),
            pending: true,
            awaits_response: asks(letter.kind),
            priority: Some(letter.priority.as_str().to_owned()),
            correlation: letter.correlation.clone(),
        };
        self.add_to_section("/messages", |sections| &mut sections.messages, message);
        let answered = letter.correlation.as_ref().filter(|_| letter.kind != MessageKind::Request);
        let answered = answered
            .and_then(|id| self.sections().messages.iter().position(|known| known.id == *id && known.awaits_response));
        if let Some(at) = answered
            && !is_awaited(self.sections(), at)
        {
            self.change_message(at, |message| message.awaits_response = false);
        }
    }

    fn acknowledged(&mut self, ids: &[String], by: Option<&str>) {
        for id in ids {
            let at = self.sections().messages.iter().position(|known| known.id == *id);
            let at = at.expect("a message was seen to be here before it was acknowledged");
            let reader = match self.sections().messages[at].to.as_deref() {
                Some(EVERYBODY) | None => by,
                to => to,
            };
            let reader = reader.map(str::to_owned);
            let mut known = self.sections().messages[at].acknowledged_by.clone();
            known.extend(reader.filter(|reader| !known.contains(reader)).into_iter().collect::<Vec<_>>());
            let pending = is_pending(self.sections(), at, &known);
            self.change_message(at, |message| (message.acknowledged_by, message.pending) = (known, pending));
        }
    }

    fn knowledge_added(
        &mut self,
        id: &str,
        [kind, title, body]: [&String; 3],
        state: KnowledgeState,
        added_at: Timestamp,
    ) {
        let entry = KnowledgeEntry {
            id: id.to_owned(),
            kind: Some(kind.clone()),
            title: Some(title.clone()),
            body: Some(body.clone()),
            added_at: Some(added_at),
            state,
        };
        match self.sections().knowledge.iter().position(|known| known.id == id) {
            Some(at) => {
                let known = self.sections().knowledge[at].state;
                assert_eq!(known, KnowledgeState::Pending, "an entry is captured once");
                self.note(Op::Set { path: format!("/knowledge/{at}"), value: json!(entry) });
                self.sections.knowledge[at] = entry;
            }
            None => self.add_to_section("/knowledge", |sections| &mut sections.knowledge, entry),
        }
    }

    fn conflict_started(&mut self, id: &str, between: &[String], topic: &str, at: Timestamp) {
        let conflict = AgentConflict {
            id: id.to_owned(),
            between: between.to_vec(),
            topic: Some(topic.to_owned()),
            started_at: Some(at),
            ..AgentConflict::default()
        };
        if self.sections().conflicts.iter().any(|known| known.id == id) {
            self.change_conflict(id, |known| *known = conflict);
        } else {
            self.add_to_section("/conflicts", |sections| &mut sections.conflicts, conflict);
        }
    }

    pub(super) fn change_conflict(&mut self, id: &str, change: impl FnOnce(&mut AgentConflict)) {
        let at = self.sections().conflicts.iter().position(|known| known.id == id);
        let at = at.expect("a conflict was seen to be here before it changed");
        assert!(self.sections.conflicts[at].resolution.is_none(), "a conflict that is resolved stays as it is");
        change(&mut self.sections.conflicts[at]);
        self.note(Op::Set { path: format!("/conflicts/{at}"), value: json!(self.sections.conflicts[at]) });
    }

    fn change_message(&mut self, at: usize, change: impl FnOnce(&mut AgentMessage)) {
        change(&mut self.sections.messages[at]);
        self.note(Op::Set { path: format!("/messages/{at}"), value: json!(self.sections.messages[at]) });
    }

    /// Messages for an agent that it has not acknowledged, the oldest first.
    pub fn inbox<'a>(&'a self, agent: &'a str) -> impl Iterator<Item = &'a AgentMessage> {
        self.sections().messages.iter().filter(move |message| {
            let for_it = match message.to.as_deref() {
                Some(EVERYBODY) => message.from.as_deref() != Some(agent),
                Some(to) => to == agent,
                None => false,
            };
            for_it && !message.acknowledged_by.iter().any(|by| by == agent)
        })
    }
}

/// Whether whoever sends it waits for an answer.
fn asks(kind: MessageKind) -> bool {
    match kind {
        MessageKind::Request | MessageKind::Escalate | MessageKind::Vote => true,
        MessageKind::Response | MessageKind::Handoff | MessageKind::Broadcast => false,
    }
}

/// The agents a message is for; none where nobody knows who they all are.
fn audience<'a>(sections: &'a Sections, message: &'a AgentMessage) -> Vec<&'a str> {
    match message.to.as_deref() {
        Some(EVERYBODY) => {
            let team = sections.team.members.iter().map(|member| member.agent.as_str());
            team.filter(|agent| message.from.as_deref() != Some(agent)).collect()
        }
        Some(to) => vec![to],
        None => Vec::new(),
    }
}

/// Somebody it is for has not acknowledged it. Where nobody knows who they all are, one is enough.
fn is_pending(sections: &Sections, at: usize, acknowledged_by: &[String]) -> bool {
    let message = &sections.messages[at];
    let audience = audience(sections, message);
    if audience.is_empty() {
        // One from a file is for nobody that is named: that it was acknowledged is all that is known.
        return message.to.is_some() && acknowledged_by.is_empty();
    }
    audience.iter().any(|agent| !acknowledged_by.iter().any(|by| by == agent))
}

/// A vote waits for everybody it is for, anything else for one answer.
fn is_awaited(sections: &Sections, at: usize) -> bool {
    let asked = &sections.messages[at];
    let answers = sections.messages.iter().filter(|one| one.correlation.as_ref() == Some(&asked.id));
    let by: Vec<&str> = answers.filter(|one| one.from != asked.from).filter_map(|one| one.from.as_deref()).collect();
    match asked.kind.as_deref() {
        Some("vote") => by.is_empty() || audience(sections, asked).iter().any(|agent| !by.contains(agent)),
        _ => by.is_empty(),
    }
}
