//! `onward message`, `knowledge`, `decision`, `conflict` and `team`: what agents share through a run.

use onward_core::checkpoint::KnowledgeState;
use onward_core::event::{MessageText, SharedFact};
use onward_core::exit;
use onward_engine::{Onward, SharedOn, new_message_id};
use serde_json::json;

use super::here;
use super::next::the_run;
use crate::args::{
    BriefArgs, ConflictVerb, DecisionVerb, KnowledgeVerb, MessageInbox, MessageSend, MessageVerb, SharedRun, TeamArgs,
};
use crate::failure::Failure;
use crate::render;

pub(super) fn message(verb: &MessageVerb) -> Result<u8, Failure> {
    match verb {
        MessageVerb::Send(args) => send(args),
        MessageVerb::Inbox(args) => inbox(args),
        MessageVerb::Ack(args) => {
            let fact = SharedFact::MessagesAcknowledged { ids: args.ids.clone(), by: args.by.clone() };
            shared(&args.about, fact, &args.ids)
        }
    }
}

fn send(args: &MessageSend) -> Result<u8, Failure> {
    let id = args.id.clone().unwrap_or_else(|| new_message_id(&args.body));
    let letter = MessageText {
        id: id.clone(),
        kind: args.kind,
        from: args.from.clone(),
        to: args.to.clone(),
        body: args.body.clone(),
        priority: args.priority,
        correlation: args.correlation.clone(),
    };
    shared(&args.about, SharedFact::MessageSent(letter), &[id])
}

fn inbox(args: &MessageInbox) -> Result<u8, Failure> {
    let messages = Onward::look(&here()?)?.inbox(the_run(args.about.run.as_deref()).as_deref(), &args.agent)?;
    if args.about.output.json {
        render::answer_json(&json!({ "messages": messages }));
    } else {
        render::answer(&render::messages_and_knowledge::inbox(&messages));
    }
    Ok(exit::DONE)
}

pub(super) fn knowledge(verb: &KnowledgeVerb) -> Result<u8, Failure> {
    match verb {
        KnowledgeVerb::Add(args) => {
            let fact = SharedFact::KnowledgeAdded {
                id: args.id.clone(),
                kind: args.kind.clone(),
                title: args.title.clone(),
                body: args.body.clone(),
                state: KnowledgeState::Captured,
            };
            shared(&args.about, fact, std::slice::from_ref(&args.id))
        }
        KnowledgeVerb::List(about) => {
            let entries = Onward::look(&here()?)?.knowledge(the_run(about.run.as_deref()).as_deref())?;
            if about.output.json {
                render::answer_json(&json!({ "entries": entries }));
            } else {
                render::answer(&render::messages_and_knowledge::knowledge(&entries));
            }
            Ok(exit::DONE)
        }
    }
}

pub(super) fn decision(verb: &DecisionVerb) -> Result<u8, Failure> {
    let DecisionVerb::Add(args) = verb;
    shared(&args.about, SharedFact::DecisionMade { text: args.text.clone(), by: args.by.clone() }, &[])
}

pub(super) fn conflict(verb: &ConflictVerb) -> Result<u8, Failure> {
    match verb {
        ConflictVerb::Start(args) => {
            let between = args.between.iter().map(|agent| agent.trim().to_owned()).collect();
            let fact = SharedFact::ConflictStarted { id: args.id.clone(), between, topic: args.topic.clone() };
            shared(&args.about, fact, std::slice::from_ref(&args.id))
        }
        ConflictVerb::Round(args) => {
            let fact = SharedFact::ConflictRound { id: args.id.clone(), text: args.text.clone(), by: args.by.clone() };
            shared(&args.about, fact, std::slice::from_ref(&args.id))
        }
        ConflictVerb::Resolve(args) => {
            let fact = SharedFact::ConflictResolved { id: args.id.clone(), resolution: args.resolution.clone() };
            shared(&args.about, fact, std::slice::from_ref(&args.id))
        }
    }
}

pub(super) fn brief(args: &BriefArgs) -> Result<u8, Failure> {
    let brief = Onward::look(&here()?)?.brief(the_run(args.run.as_deref()).as_deref(), args.tokens)?;
    if args.output.json {
        render::answer_json(&brief);
    } else {
        render::answer(&brief.text);
    }
    Ok(exit::DONE)
}

pub(super) fn team(args: &TeamArgs) -> Result<u8, Failure> {
    let members = Onward::look(&here()?)?.team(the_run(args.run.as_deref()).as_deref())?;
    if args.output.json {
        render::answer_json(&json!({ "members": members }));
    } else {
        render::answer(&render::messages_and_knowledge::team(&members));
    }
    Ok(exit::DONE)
}

/// Shares it and prints the ids that it has.
fn shared(about: &SharedRun, fact: SharedFact, ids: &[String]) -> Result<u8, Failure> {
    let SharedOn { run, checkpoint } = Onward::work(&here()?)?.share(the_run(about.run.as_deref()).as_deref(), fact)?;
    if about.output.json {
        render::answer_json(&json!({ "run": run, "ids": ids, "checkpoint": checkpoint }));
    } else {
        let lines: String = ids.iter().map(|id| format!("{}\n", render::safe::line(id))).collect();
        render::answer(&lines);
    }
    Ok(exit::DONE)
}
