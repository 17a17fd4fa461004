//! Messages, knowledge and conflicts of agents, and the team. All of it is text of theirs.

use std::fmt::Write as _;

use onward_core::checkpoint::{AgentMessage, KnowledgeEntry, TeamMember};
use onward_core::event::{EVERYBODY, SharedFact};

use super::{paint, safe};

/// The longest text of an agent in one line.
const LINE_CHARS_MAX: usize = 120;

/// The line of something that was shared.
pub(super) fn line(fact: &SharedFact) -> String {
    let short = |text: &str| cut(&safe::line(text));
    let told = match fact {
        SharedFact::MessageSent(letter) => {
            let (from, to) = (safe::line(&letter.from), receiver(&letter.to));
            format!("{from} to {to}: {} {} \"{}\"", letter.kind.as_str(), safe::line(&letter.id), short(&letter.body))
        }
        SharedFact::MessagesAcknowledged { ids, .. } => format!("acknowledged: {}", short(&ids.join(", "))),
        SharedFact::KnowledgeAdded { id, title, .. } => {
            format!("learned: {} \"{}\"", safe::line(id), short(title))
        }
        SharedFact::DecisionMade { text, .. } => format!("decided: \"{}\"", short(text)),
        SharedFact::ConflictStarted { id, between, topic } => {
            let between = safe::line(&between.join(", "));
            format!("conflict {} between {between}: \"{}\"", safe::line(id), short(topic))
        }
        SharedFact::ConflictRound { id, text, by } => {
            let by = by.as_deref().map(|by| format!(" {}", safe::line(by))).unwrap_or_default();
            format!("conflict {}:{by} \"{}\"", safe::line(id), short(text))
        }
        SharedFact::ConflictResolved { id, resolution } => {
            format!("conflict {} resolved: \"{}\"", safe::line(id), short(resolution))
        }
    };
    format!("{} {told}", paint::busy("·"))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LINE_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

fn receiver(to: &str) -> String {
    if to == EVERYBODY { "all".to_owned() } else { safe::line(to) }
}

/// `onward message inbox`.
pub(crate) fn inbox(messages: &[AgentMessage]) -> String {
    let mut out = String::new();
    for message in messages {
        let of = |text: &Option<String>| safe::line(text.as_deref().unwrap_or_default());
        let priority = message.priority.as_deref().filter(|priority| *priority != "normal");
        let priority = priority.map(|priority| format!(", {}", safe::line(priority))).unwrap_or_default();
        let answers =
            message.correlation.as_deref().map(|id| format!(", about {}", safe::line(id))).unwrap_or_default();
        let (id, kind, from) = (safe::line(&message.id), of(&message.kind), of(&message.from));
        let _ = writeln!(out, "{id}  {kind} from {from}{priority}{answers}");
        let body = safe::block(message.body.as_deref().unwrap_or_default());
        for line in body.lines() {
            let _ = writeln!(out, "    {line}");
        }
    }
    if out.is_empty() { "no messages\n".to_owned() } else { out }
}

/// `onward knowledge list`.
pub(crate) fn knowledge(entries: &[KnowledgeEntry]) -> String {
    let mut out = String::new();
    for entry in entries {
        let of = |text: &Option<String>| safe::line(text.as_deref().unwrap_or_default());
        let _ = writeln!(out, "{}  {}  {}", safe::line(&entry.id), of(&entry.kind), of(&entry.title));
        let body = safe::block(entry.body.as_deref().unwrap_or_default());
        for line in body.lines() {
            let _ = writeln!(out, "    {line}");
        }
    }
    if out.is_empty() { "nothing was captured\n".to_owned() } else { out }
}

/// `onward team`.
pub(crate) fn team(members: &[TeamMember]) -> String {
    let mut out = String::new();
    for member in members {
        let role = member.role.as_deref().map(|role| format!("  {}", safe::line(role))).unwrap_or_default();
        let status = safe::line(member.status.as_deref().unwrap_or("unknown"));
        let (agent, all) = (safe::line(&member.agent), member.tasks_completed + member.tasks_pending);
        let _ = writeln!(out, "{agent}{role}  {status}, {} of {all} tasks done", member.tasks_completed);
    }
    if out.is_empty() { "the plan names no team\n".to_owned() } else { out }
}
