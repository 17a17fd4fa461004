//! Agents that share things in a world: the same thing is said again and again, and is on record once.

use std::collections::{BTreeMap, BTreeSet};

use onward_core::checkpoint::{KnowledgeState, Sections};
use onward_core::event::{Event, MessageKind, MessagePriority, MessageText, SharedFact};

use super::dice::Dice;

/// So few ids that most of what is said was said before.
const IDS: u64 = 3;

/// Something that an agent shares.
pub(super) fn any(dice: &mut Dice) -> SharedFact {
    let number = dice.below(IDS);
    let text = format!("text {}", dice.below(2));
    match dice.below(7) {
        0 | 1 => SharedFact::MessageSent(MessageText {
            id: format!("MSG-{number}"),
            kind: if dice.percent(50) { MessageKind::Request } else { MessageKind::Broadcast },
            from: "ada".to_owned(),
            to: if dice.percent(50) { "bob".to_owned() } else { "*".to_owned() },
            body: text,
            priority: MessagePriority::Normal,
            correlation: None,
        }),
        2 => SharedFact::MessagesAcknowledged { ids: vec![format!("MSG-{number}")], by: Some("bob".to_owned()) },
        3 => SharedFact::KnowledgeAdded {
            id: format!("KE-{number}"),
            kind: "pattern".to_owned(),
            title: text,
            body: "body".to_owned(),
            state: KnowledgeState::Captured,
        },
        4 => SharedFact::DecisionMade { text, by: None },
        5 => SharedFact::ConflictStarted {
            id: format!("CONF-{number}"),
            between: vec!["ada".to_owned(), "bob".to_owned()],
            topic: text,
        },
        _ => SharedFact::ConflictResolved { id: format!("CONF-{number}"), resolution: text },
    }
}

/// The things on record, by their ids.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedIds {
    /// Messages, and who has acknowledged them.
    messages: BTreeMap<String, BTreeSet<String>>,
    knowledge: BTreeSet<String>,
    decisions: BTreeSet<String>,
    /// Conflicts, and whether they are resolved.
    conflicts: BTreeMap<String, bool>,
}

impl SharedIds {
    pub(super) fn fold(&mut self, event: &Event) {
        match event {
            Event::Shared { fact } => self.shared(fact),
            Event::RunRewound(rewound) => {
                if let Some(sections) = rewound.restored.as_ref().and_then(|restored| restored.sections.as_ref()) {
                    *self = Self::from_sections(sections);
                }
            }
            _ => {}
        }
    }

    fn shared(&mut self, fact: &SharedFact) {
        match fact {
            SharedFact::MessageSent(letter) => {
                let before = self.messages.insert(letter.id.clone(), BTreeSet::new());
                assert!(before.is_none(), "message {} is on record twice", letter.id);
            }
            SharedFact::MessagesAcknowledged { ids, by } => {
                for id in ids {
                    let readers = self.messages.get_mut(id).expect("what is acknowledged was sent");
                    assert!(readers.insert(by.clone().unwrap_or_default()), "message {id} is acknowledged twice");
                }
            }
            SharedFact::KnowledgeAdded { id, .. } => {
                assert!(self.knowledge.insert(id.clone()), "{id} is captured twice");
            }
            SharedFact::DecisionMade { text, .. } => {
                assert!(self.decisions.insert(text.clone()), "it is decided twice: {text}");
            }
            SharedFact::ConflictStarted { id, .. } => {
                assert!(self.conflicts.insert(id.clone(), false).is_none(), "conflict {id} begins twice");
            }
            SharedFact::ConflictRound { id, .. } => {
                assert_eq!(self.conflicts.get(id), Some(&false), "conflict {id} goes on, and is not at work");
            }
            SharedFact::ConflictResolved { id, .. } => {
                let before = self.conflicts.insert(id.clone(), true);
                assert_eq!(before, Some(false), "conflict {id} is resolved once, after it has begun");
            }
        }
    }

    fn from_sections(sections: &Sections) -> Self {
        let readers = |all: &Vec<String>| all.iter().cloned().collect();
        Self {
            messages: sections.messages.iter().map(|it| (it.id.clone(), readers(&it.acknowledged_by))).collect(),
            knowledge: sections.knowledge.iter().map(|it| it.id.clone()).collect(),
            decisions: sections.decisions.iter().map(|it| it.text.clone()).collect(),
            conflicts: sections.conflicts.iter().map(|it| (it.id.clone(), it.resolution.is_some())).collect(),
        }
    }
}
