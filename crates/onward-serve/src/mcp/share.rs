//! The tools for what agents share through a run: messages, knowledge, decisions.

use onward_core::checkpoint::KnowledgeState;
use onward_core::event::{MessageKind, MessageText, SharedFact};
use onward_engine::{Error, Onward, SharedOn, new_message_id};
use serde_json::json;

use super::arguments::Arguments;
use super::calls::{ToolAnswer, the_run};
use super::server::ServerSetup;

pub(super) fn message_send(setup: &ServerSetup, arguments: &Arguments) -> Result<ToolAnswer, Error> {
    let unfit = |why: &str| Error::Unfit { why: why.to_owned() };
    let kind = MessageKind::parse(arguments.demanded("type"))
        .ok_or_else(|| unfit("`type` is request, response, handoff, escalate, broadcast or vote"))?;
    let priority = arguments.text("priority").map(|word| serde_json::from_value(json!(word.to_lowercase())));
    let priority = priority.transpose().map_err(|_| unfit("`priority` is critical, high, normal or low"))?;
    let body = arguments.demanded("body");
    let id = arguments.text("id").map_or_else(|| new_message_id(body), str::to_owned);
    let letter = MessageText {
        id: id.clone(),
        kind,
        from: arguments.demanded("from").to_owned(),
        to: arguments.demanded("to").to_owned(),
        body: body.to_owned(),
        priority: priority.unwrap_or_default(),
        correlation: arguments.text("correlation").map(str::to_owned),
    };
    shared(setup, arguments, SharedFact::MessageSent(letter), &[id])
}

pub(super) fn message_inbox(setup: &ServerSetup, arguments: &Arguments) -> Result<ToolAnswer, Error> {
    let messages = Onward::look(&setup.from)?.inbox(the_run(setup, arguments), arguments.demanded("agent"))?;
    Ok(ToolAnswer::new(&json!({ "messages": messages })))
}

pub(super) fn message_ack(setup: &ServerSetup, arguments: &Arguments) -> Result<ToolAnswer, Error> {
    let ids = arguments.texts("ids");
    let by = arguments.text("as").map(str::to_owned);
    shared(setup, arguments, SharedFact::MessagesAcknowledged { ids: ids.clone(), by }, &ids)
}

pub(super) fn knowledge_add(setup: &ServerSetup, arguments: &Arguments) -> Result<ToolAnswer, Error> {
    let text = |name| arguments.demanded(name).to_owned();
    let fact = SharedFact::KnowledgeAdded {
        id: text("id"),
        kind: text("type"),
        title: text("title"),
        body: text("body"),
        state: KnowledgeState::Captured,
    };
    shared(setup, arguments, fact, &[text("id")])
}

pub(super) fn knowledge_list(setup: &ServerSetup, arguments: &Arguments) -> Result<ToolAnswer, Error> {
    let entries = Onward::look(&setup.from)?.knowledge(the_run(setup, arguments))?;
    Ok(ToolAnswer::new(&json!({ "entries": entries })))
}

pub(super) fn decision_add(setup: &ServerSetup, arguments: &Arguments) -> Result<ToolAnswer, Error> {
    let by = arguments.text("by").map(str::to_owned);
    shared(setup, arguments, SharedFact::DecisionMade { text: arguments.demanded("text").to_owned(), by }, &[])
}

fn shared(setup: &ServerSetup, arguments: &Arguments, fact: SharedFact, ids: &[String]) -> Result<ToolAnswer, Error> {
    let SharedOn { run, checkpoint } = Onward::work(&setup.from)?.share(the_run(setup, arguments), fact)?;
    Ok(ToolAnswer::new(&json!({ "run": run, "ids": ids, "checkpoint": checkpoint })))
}
