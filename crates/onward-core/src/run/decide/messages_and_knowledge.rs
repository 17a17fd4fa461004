//! Messages, knowledge, decisions and conflicts of agents. The same thing said again changes nothing: whoever was killed before they heard the answer says it again.

use jiff::Timestamp;

use super::Refusal;
use super::posted::taken;
use crate::checkpoint::{AgentConflict, AgentMessage, KnowledgeEntry, KnowledgeState, Sections, Trigger};
use crate::event::{EVERYBODY, Event, MessageText, SharedFact};
use crate::run::state::Run;

/// Messages of one run.
const MESSAGES_MAX: usize = 10_000;
/// Knowledge entries of one run.
const KNOWLEDGE_ENTRIES_MAX: usize = 10_000;
/// Decisions of one run.
const DECISIONS_MAX: usize = 10_000;
/// Conflicts of one run, and rounds of one conflict.
const CONFLICTS_MAX: usize = 1_000;
const CONFLICT_ROUNDS_MAX: usize = 100;
/// Ids, names of agents, roles and types.
const SHARED_NAME_BYTES_MAX: usize = 200;
/// A title, a topic or a resolution.
const SHARED_TITLE_BYTES_MAX: usize = 4 << 10;
/// The body of a message or of a knowledge entry, and a decision.
const SHARED_BODY_BYTES_MAX: usize = 64 << 10;
/// All texts that the agents of one run share. They are in every checkpoint, beside a state that may be large.
const SHARED_BYTES_MAX: usize = 8 << 20;
/// Messages that are acknowledged at once, and agents of one conflict.
const SHARED_LIST_MAX: usize = 1_000;

pub(super) fn share(run: &Run, fact: &SharedFact, now: Timestamp) -> Result<Vec<Event>, Refusal> {
    demand_it_fits(fact)?;
    if !is_news(run.sections(), fact)? {
        return Ok(Vec::new());
    }
    demand_room(run.sections(), fact)?;
    let shared = Event::Shared { fact: Box::new(fact.clone()) };
    let checkpoint = trigger(fact).filter(|trigger| run.started.triggers.contains(trigger));
    let checkpoint = checkpoint.map(|trigger| taken(run, 2, trigger, None, now));
    Ok(std::iter::once(shared).chain(checkpoint).collect())
}

/// The checkpoint that it takes.
fn trigger(fact: &SharedFact) -> Option<Trigger> {
    match fact {
        SharedFact::ConflictStarted { .. } => Some(Trigger::ConflictStart),
        SharedFact::ConflictResolved { .. } => Some(Trigger::ConflictResolved),
        SharedFact::MessageSent(_)
        | SharedFact::MessagesAcknowledged { .. }
        | SharedFact::KnowledgeAdded { .. }
        | SharedFact::DecisionMade { .. }
        | SharedFact::ConflictRound { .. } => None,
    }
}

fn refused<T>(why: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::NotShared(why.into()))
}

/// Sizes and names, whatever the run knows.
fn demand_it_fits(fact: &SharedFact) -> Result<(), Refusal> {
    match fact {
        SharedFact::MessageSent(letter) => {
            demand_id(&letter.id)?;
            letter.correlation.as_deref().map_or(Ok(()), demand_id)?;
            demand_agent(&letter.from)?;
            if letter.to != EVERYBODY {
                demand_agent(&letter.to)?;
            }
            demand_text("the body", &letter.body, SHARED_BODY_BYTES_MAX)
        }
        SharedFact::MessagesAcknowledged { ids, by } => {
            if ids.is_empty() || ids.len() > SHARED_LIST_MAX {
                return refused(format!("between 1 and {SHARED_LIST_MAX} messages are acknowledged at once"));
            }
            by.as_deref().map_or(Ok(()), demand_agent)
        }
        SharedFact::KnowledgeAdded { id, kind, title, body, .. } => {
            demand_id(id)?;
            demand_name("the type", kind)?;
            demand_text("the title", title, SHARED_TITLE_BYTES_MAX)?;
            demand_text("the body", body, SHARED_BODY_BYTES_MAX)
        }
        SharedFact::DecisionMade { text, by } => {
            by.as_deref().map_or(Ok(()), |by| demand_name("the agent", by))?;
            demand_text("the decision", text, SHARED_BODY_BYTES_MAX)
        }
        SharedFact::ConflictStarted { id, between, topic } => {
            demand_id(id)?;
            if between.len() < 2 || between.len() > SHARED_LIST_MAX {
                return refused("a conflict is between two agents or more: --between A,B");
            }
            between.iter().try_for_each(|agent| demand_agent(agent))?;
            demand_text("the topic", topic, SHARED_TITLE_BYTES_MAX)
        }
        SharedFact::ConflictRound { text, by, .. } => {
            by.as_deref().map_or(Ok(()), demand_agent)?;
            demand_text("the round", text, SHARED_TITLE_BYTES_MAX)
        }
        SharedFact::ConflictResolved { resolution, .. } => {
            demand_text("the resolution", resolution, SHARED_TITLE_BYTES_MAX)
        }
    }
}

fn demand_text(what: &str, text: &str, most: usize) -> Result<(), Refusal> {
    match text.len() {
        _ if text.trim().is_empty() => refused(format!("{what} is empty")),
        bytes if bytes > most => refused(format!("{what} has {bytes} bytes, and {most} is the most that is kept")),
        _ => Ok(()),
    }
}

fn demand_name(what: &str, name: &str) -> Result<(), Refusal> {
    if name.chars().any(char::is_control) {
        return refused(format!("{what} has a control character"));
    }
    demand_text(what, name, SHARED_NAME_BYTES_MAX)
}

fn demand_id(id: &str) -> Result<(), Refusal> {
    if id.contains(char::is_whitespace) {
        return refused("the id has a blank");
    }
    demand_name("the id", id)
}

fn demand_agent(name: &str) -> Result<(), Refusal> {
    if name == EVERYBODY {
        return refused(format!("{EVERYBODY} stands for everybody and is the name of no agent"));
    }
    demand_name("the name of an agent", name)
}

/// Whether the run does not know it yet. Something else under an id that is taken is refused.
fn is_news(sections: &Sections, fact: &SharedFact) -> Result<bool, Refusal> {
    match fact {
        SharedFact::MessageSent(letter) => match sections.messages.iter().find(|known| known.id == letter.id) {
            None => Ok(true),
            Some(known) if is_message(known, letter) => Ok(false),
            Some(_) => refused(format!("message {} is here with other content", letter.id)),
        },
        SharedFact::MessagesAcknowledged { ids, by } => acknowledges(sections, ids, by.as_deref()),
        SharedFact::KnowledgeAdded { id, kind, title, body, state } => {
            match sections.knowledge.iter().find(|known| known.id == *id) {
                None => Ok(true),
                Some(known) => entry_is_news(known, [kind, title, body], *state),
            }
        }
        SharedFact::DecisionMade { text, .. } => Ok(sections.decisions.iter().all(|known| known.text != *text)),
        SharedFact::ConflictStarted { id, between, topic } => {
            match sections.conflicts.iter().find(|known| known.id == *id) {
                None => Ok(true),
                Some(known) if known.between == *between && known.topic.as_ref() == Some(topic) => Ok(false),
                // Of one from a file nothing but the id is known.
                Some(known) if known.topic.is_none() && known.resolution.is_none() => Ok(true),
                Some(_) => refused(format!("conflict {id} is here with other content")),
            }
        }
        SharedFact::ConflictRound { id, text, by } => {
            let conflict = conflict(sections, id)?;
            let round = round(text, by.as_deref());
            match &conflict.resolution {
                _ if conflict.rounds.contains(&round) => Ok(false),
                Some(_) => refused(format!("conflict {id} is resolved")),
                None if conflict.rounds.len() >= CONFLICT_ROUNDS_MAX => {
                    refused(format!("conflict {id} has {CONFLICT_ROUNDS_MAX} rounds, and no more are kept"))
                }
                None => Ok(true),
            }
        }
        SharedFact::ConflictResolved { id, resolution } => match &conflict(sections, id)?.resolution {
            None => Ok(true),
            Some(known) if known == resolution => Ok(false),
            Some(known) => refused(format!("conflict {id} is resolved already: {known}")),
        },
    }
}

fn is_message(known: &AgentMessage, letter: &MessageText) -> bool {
    known.kind.as_deref() == Some(letter.kind.as_str())
        && known.from.as_ref() == Some(&letter.from)
        && known.to.as_ref() == Some(&letter.to)
        && known.body.as_ref() == Some(&letter.body)
        && known.priority.as_deref() == Some(letter.priority.as_str())
        && known.correlation == letter.correlation
}

/// An entry that was still to be captured is captured once. An entry of which only the id is known was captured elsewhere.
fn entry_is_news(
    known: &KnowledgeEntry,
    [kind, title, body]: [&String; 3],
    state: KnowledgeState,
) -> Result<bool, Refusal> {
    let told = [&known.kind, &known.title, &known.body];
    let same = told.into_iter().zip([kind, title, body]).all(|(known, new)| known.as_ref() == Some(new));
    let unknown = told.iter().all(|text| text.is_none());
    match known.state {
        KnowledgeState::Pending if same || unknown => Ok(state != KnowledgeState::Pending || unknown),
        KnowledgeState::Captured | KnowledgeState::Injected if same || unknown => Ok(false),
        KnowledgeState::Captured | KnowledgeState::Injected | KnowledgeState::Pending => {
            refused(format!("knowledge entry {} is here with other content", known.id))
        }
    }
}

fn acknowledges(sections: &Sections, ids: &[String], by: Option<&str>) -> Result<bool, Refusal> {
    let mut news = false;
    for id in ids {
        let Some(message) = sections.messages.iter().find(|known| known.id == *id) else {
            return refused(format!("there is no message {id}"));
        };
        let reader = match (message.to.as_deref(), by) {
            (Some(EVERYBODY), None) => {
                return refused(format!("message {id} is for everybody: say who has read it with --as AGENT"));
            }
            (Some(EVERYBODY) | None, Some(by)) => Some(by),
            (Some(to), Some(by)) if to != by => {
                return refused(format!("message {id} is for {to}, and not for {by}"));
            }
            (to, _) => to,
        };
        news |= match reader {
            Some(reader) => !message.acknowledged_by.iter().any(|known| known == reader),
            None => message.pending,
        };
    }
    Ok(news)
}

fn conflict<'a>(sections: &'a Sections, id: &str) -> Result<&'a AgentConflict, Refusal> {
    let found = sections.conflicts.iter().find(|known| known.id == id);
    found.ok_or_else(|| Refusal::NotShared(format!("there is no conflict {id}")))
}

/// A round as it is kept.
pub(in crate::run) fn round(text: &str, by: Option<&str>) -> String {
    by.map_or_else(|| text.to_owned(), |by| format!("{by}: {text}"))
}

fn demand_room(sections: &Sections, fact: &SharedFact) -> Result<(), Refusal> {
    let (what, count, most) = match fact {
        SharedFact::MessageSent(_) => ("messages", sections.messages.len(), MESSAGES_MAX),
        SharedFact::KnowledgeAdded { .. } => ("knowledge entries", sections.knowledge.len(), KNOWLEDGE_ENTRIES_MAX),
        SharedFact::DecisionMade { .. } => ("decisions", sections.decisions.len(), DECISIONS_MAX),
        SharedFact::ConflictStarted { .. } => ("conflicts", sections.conflicts.len(), CONFLICTS_MAX),
        SharedFact::ConflictRound { .. } | SharedFact::ConflictResolved { .. } => ("", 0, 1),
        SharedFact::MessagesAcknowledged { .. } => return Ok(()),
    };
    if count >= most {
        return refused(format!("the run has {most} {what}, and no more are kept"));
    }
    let more: usize = fact.clone().texts_mut().iter().map(|text| text.len()).sum();
    if shared_bytes(sections) + more > SHARED_BYTES_MAX {
        return refused(format!("the agents of this run share {SHARED_BYTES_MAX} bytes, and no more are kept"));
    }
    Ok(())
}

/// The length of all texts that are shared.
fn shared_bytes(sections: &Sections) -> usize {
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let messages =
        sections.messages.iter().map(|it| it.id.len() + length(&it.body) + length(&it.from) + length(&it.to));
    let knowledge = sections.knowledge.iter().map(|it| it.id.len() + length(&it.title) + length(&it.body));
    let decisions = sections.decisions.iter().map(|it| it.text.len());
    let conflicts = sections.conflicts.iter().map(|it| {
        it.id.len() + length(&it.topic) + length(&it.resolution) + it.rounds.iter().map(String::len).sum::<usize>()
    });
    messages.chain(knowledge).chain(decisions).chain(conflicts).sum()
}
