//! Redaction of inputs: secrets are cut before anything is decided, so that the live state equals the replayed one.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use onward_core::event::{AgentEnded, AgentHow, NoCommit, Outcome, SharedFact, WorktreeFact};
use onward_core::evidence::RequirementSeen;
use onward_core::input::{AttemptEnd, Begin, DoneSaid, Input, Posted, Says};
use onward_core::patch::Op;
use onward_core::plan::Plan;
use onward_core::run::verification::{ArtifactCopied, ArtifactState, Proof};
use serde_json::{Map, Value};

use super::collisions::demand_outputs_apart;
use super::distinct_marks::DistinctMarks;
use super::{known, secrets, uncuttable};

/// The very same text, without a copy, where nothing in it is secret.
pub(crate) fn text(text: String) -> String {
    match secrets().text(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(without) => without,
    }
}

fn optional(value: Option<String>) -> Option<String> {
    value.map(text)
}

fn each(all: Vec<String>) -> Vec<String> {
    all.into_iter().map(text).collect()
}

fn outputs(all: BTreeMap<String, String>) -> BTreeMap<String, String> {
    all.into_iter().map(|(name, value)| (text(name), text(value))).collect()
}

/// A value of a state. Keys are told as openly as values are.
pub(crate) fn value(value: Value) -> Value {
    match value {
        Value::String(string) => Value::String(text(string)),
        Value::Array(list) => Value::Array(list.into_iter().map(self::value).collect()),
        Value::Object(entries) => Value::Object(map(entries)),
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain,
    }
}

/// Two keys that are the same without their secrets stay two: what stands under them is not lost.
pub(crate) fn map(entries: Map<String, Value>) -> Map<String, Value> {
    let mut clean = Map::new();
    for (key, inner) in entries {
        let key = text(key);
        let mut free = key.clone();
        let mut number = 2;
        while clean.contains_key(&free) {
            free = format!("{key} {number}");
            number += 1;
        }
        clean.insert(free, value(inner));
    }
    clean
}

/// Changes of a state by path.
pub(crate) fn ops(ops: Vec<Op>) -> Vec<Op> {
    let cut = |op| match op {
        Op::Set { path, value: set } => Op::Set { path: text(path), value: value(set) },
        Op::Remove { path } => Op::Remove { path: text(path) },
        Op::Splice { path, at, remove, insert } => {
            Op::Splice { path: text(path), at, remove, insert: insert.into_iter().map(value).collect() }
        }
        Op::Extend { path, text: more } => Op::Extend { path: text(path), text: text(more) },
    };
    ops.into_iter().map(cut).collect()
}

/// A plan as it is kept. Ids and the words of the format stay; every other text is cut, and remembered whole in this process.
pub(crate) fn plan(plan: &Plan, store: &Path) -> Result<Plan, String> {
    for (name, value) in plan.env.iter().chain(plan.phases.iter().flat_map(|phase| &phase.env)) {
        if !value.contains("${{") {
            known::learn(name, value);
        }
    }
    let clean = secrets();
    for phase in &plan.phases {
        if matches!(clean.text(phase.id.as_str()), Cow::Owned(_)) {
            return Err("the id of a phase is a secret of the environment, or has the shape of a token; an id cannot be cut out \
                        of what is kept (redact.except of the configuration takes a variable out)"
                .to_owned());
        }
    }
    uncuttable::demand_none(plan)?;
    let text = serde_json::to_string(plan).map_err(|why| why.to_string())?;
    if !text.contains(super::MARK) && matches!(clean.text(&text), Cow::Borrowed(_)) {
        return Ok(plan.clone());
    }
    let whole = serde_json::to_value(plan).map_err(|why| why.to_string())?;
    // A word of the format that happens to be somebody's secret says nothing about the secret.
    let twins = DistinctMarks::new(&whole, &clean, store)?;
    serde_json::from_value(plan_value(whole, TextPlace::Text, &twins))
        .map_err(|why| format!("a secret of the environment stands where it cannot be cut out of the plan: {why}"))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TextPlace {
    Text,
    /// Ids and words of the format.
    Word,
}

/// Keys of the stored form of a plan under which ids and words of the format stand.
const WORDS: [&str; 28] = [
    "marker",
    "unsaid",
    "id",
    "phase",
    "parent",
    "within",
    "children",
    "effects",
    "priority",
    "value",
    "on_interrupt",
    "on_failure",
    "on_change",
    "staleness",
    "kind",
    "when",
    "may_edit",
    "if_expired",
    "if_silent",
    "if_changed",
    "locks",
    "limits",
    "choices",
    "who",
    "scope",
    "when_limited",
    "keep",
    "shell",
];

fn plan_value(value: Value, place: TextPlace, twins: &DistinctMarks) -> Value {
    match value {
        Value::String(string) if place == TextPlace::Text => Value::String(known::cut_text(&string, twins)),
        Value::Array(list) => Value::Array(list.into_iter().map(|one| plan_value(one, place, twins)).collect()),
        Value::Object(entries) => Value::Object(
            entries
                .into_iter()
                .map(|(key, inner)| {
                    let place = if WORDS.contains(&key.as_str()) && !inner.is_object() {
                        TextPlace::Word
                    } else {
                        TextPlace::Text
                    };
                    (key, plan_value(inner, place, twins))
                })
                .collect(),
        ),
        plain @ (Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_)) => plain,
    }
}

/// A message as it is left in the inbox.
pub(crate) fn posted(posted: Posted) -> Posted {
    match posted {
        Posted::Checkpoint { name } => Posted::Checkpoint { name: optional(name) },
        Posted::Replan { phase, reason, plan } => Posted::Replan { phase, reason: text(reason), plan },
        Posted::Merge { patch } => Posted::Merge { patch: map(patch) },
        Posted::Change { ops: changes, ends } => Posted::Change { ops: ops(changes), ends },
        Posted::Save { state } => Posted::Save { state: map(state) },
        Posted::Share { fact } => Posted::Share { fact: Box::new(shared(*fact)) },
        Posted::Answer { phase, choice, by, reason, call } => {
            let call = optional(call);
            Posted::Answer { phase, choice: text(choice), by: text(by), reason: optional(reason), call }
        }
        Posted::Report { phase, by, says, complexity } => {
            Posted::Report { phase, by: text(by), says: said(says), complexity }
        }
        Posted::Choose { phase, choice, by, reason } => {
            Posted::Choose { phase, choice, by: optional(by), reason: optional(reason) }
        }
        plain @ (Posted::SessionEnd
        | Posted::Archive
        | Posted::Pause
        | Posted::Cancel
        | Posted::GiveCallAnswer { .. }
        | Posted::SettleReplan { .. }) => plain,
    }
}

fn shared(mut fact: SharedFact) -> SharedFact {
    for told in fact.texts_mut() {
        *told = text(std::mem::take(told));
    }
    fact
}

fn said(says: Says) -> Says {
    match says {
        Says::Start => Says::Start,
        Says::Progress { note } => Says::Progress { note: optional(note) },
        Says::Fail { reason } => Says::Fail { reason: text(reason) },
        Says::Done(done) => Says::Done(Box::new(DoneSaid {
            summary: optional(done.summary),
            outputs: outputs(done.outputs),
            commit: optional(done.commit),
            remaining: text(done.remaining),
            proof: proof(done.proof),
            commit_is: done.commit_is,
            seen: done.seen,
        })),
    }
}

fn proof(proof: Proof) -> Proof {
    let Proof { mut artifacts, mut checks, effect } = proof;
    for artifact in &mut artifacts {
        artifact.name = text(std::mem::take(&mut artifact.name));
        artifact.path = text(std::mem::take(&mut artifact.path));
        match &mut artifact.state {
            ArtifactState::Refused { why } | ArtifactState::There { copy: ArtifactCopied::Not { why }, .. } => {
                *why = text(std::mem::take(why));
            }
            ArtifactState::There { .. } | ArtifactState::Missing => {}
        }
    }
    for check in &mut checks {
        check.command = text(std::mem::take(&mut check.command));
        check.said = text(std::mem::take(&mut check.said));
    }
    Proof { artifacts, checks, effect }
}

fn end(end: AttemptEnd) -> AttemptEnd {
    let outcome = match end.outcome {
        Outcome::CouldNotStart { reason } => Outcome::CouldNotStart { reason: text(reason) },
        plain @ (Outcome::Exited { .. }
        | Outcome::Killed { .. }
        | Outcome::TimedOut
        | Outcome::NeverRan
        | Outcome::Stopped { .. }
        | Outcome::Unknown) => plain,
    };
    let last_words = end.last_words.map(|mut words| {
        words.text = text(std::mem::take(&mut words.text));
        words
    });
    AttemptEnd {
        outcome,
        note: optional(end.note),
        summary: optional(end.summary),
        outputs: end.outputs.and_then(|all| demand_outputs_apart(&all).map(|()| outputs(all))).map_err(text),
        last_words,
        agent: end.agent.map(|agent| Box::new(account(*agent))),
        ..end
    }
}

/// The account of an agent, in its own words and in those of its client.
fn account(ended: AgentEnded) -> AgentEnded {
    let how = match ended.how {
        AgentHow::Limited { until, said } => AgentHow::Limited { until, said: text(said) },
        AgentHow::Overloaded { message } => AgentHow::Overloaded { message: text(message) },
        AgentHow::NotLoggedIn { message } => AgentHow::NotLoggedIn { message: text(message) },
        AgentHow::Deferred { tool, input, digest } => {
            AgentHow::Deferred { tool: text(tool), input: text(input), digest }
        }
        AgentHow::Failed { message } => AgentHow::Failed { message: text(message) },
        plain @ (AgentHow::Done
        | AgentHow::Exhausted
        | AgentHow::SessionUnknown
        | AgentHow::SessionInUse
        | AgentHow::Interrupted
        | AgentHow::MaxTurns
        | AgentHow::Budget
        | AgentHow::NoResult) => plain,
    };
    AgentEnded {
        how,
        text: optional(ended.text),
        denied: each(ended.denied),
        answer: outputs(ended.answer),
        model: optional(ended.model),
        remaining: optional(ended.remaining),
        ..ended
    }
}

fn requirements(seen: &mut [RequirementSeen]) {
    for one in seen {
        one.name = text(std::mem::take(&mut one.name));
        one.said = text(std::mem::take(&mut one.said));
    }
}

fn worktree(mut fact: WorktreeFact) -> WorktreeFact {
    match &mut fact {
        WorktreeFact::Begun { unresolved: paths, .. } | WorktreeFact::Integrated { left_out: paths, .. } => {
            *paths = each(std::mem::take(paths));
        }
        WorktreeFact::CalledOff { reason, paths } => {
            (*reason, *paths) = (text(std::mem::take(reason)), each(std::mem::take(paths)));
        }
        WorktreeFact::Conflict(conflict) => {
            conflict.paths = each(std::mem::take(&mut conflict.paths));
            conflict.told = each(std::mem::take(&mut conflict.told));
        }
        WorktreeFact::Removed { kept, .. } => *kept = optional(kept.take()),
        WorktreeFact::IntegrationBegun { .. } => {}
    }
    fact
}

fn begin(mut begin: Begin) -> Begin {
    for found in &mut begin.resumption.ends {
        found.end = end(found.end.clone());
    }
    for finding in &mut begin.resumption.findings {
        finding.message = text(std::mem::take(&mut finding.message));
        finding.details = each(std::mem::take(&mut finding.details));
        for file in &mut finding.files {
            file.path = text(std::mem::take(&mut file.path));
        }
    }
    requirements(&mut begin.resumption.requirements);
    if let Some(world) = &mut begin.resumption.world {
        world.dirty = world.dirty.take().map(each);
    }
    begin
}

/// Redacts an input, whoever sends it.
pub(crate) fn input(given: Input) -> Input {
    match given {
        Input::Posted(message) => Input::Posted(posted(message)),
        Input::AttemptEnded { phase, attempt, end: ended } => Input::AttemptEnded { phase, attempt, end: end(ended) },
        Input::Probed { phase, proof: found } => Input::Probed { phase, proof: Box::new(proof(*found)) },
        Input::Replan { phase, plan } => Input::Replan { phase, plan: plan.map_err(text) },
        // Of a bill only the name of the agent is text, and the plan or the configuration has that.
        Input::PlanningPaid { phase, bill, answer } => {
            Input::PlanningPaid { phase, bill, answer: Box::new(input(*answer)) }
        }
        Input::ReplanLimited { phase, agent, until, said } => {
            Input::ReplanLimited { phase, agent, until, said: text(said) }
        }
        Input::Snapshotted(Ok(mut kept)) => {
            kept.left_out = each(kept.left_out);
            Input::Snapshotted(Ok(kept))
        }
        Input::TreeSeen { mut files } => {
            for file in &mut files {
                file.path = text(std::mem::take(&mut file.path));
            }
            Input::TreeSeen { files }
        }
        Input::KeptBeforeClean { phase, attempt, mut snapshot } => {
            snapshot.left_out = each(snapshot.left_out);
            Input::KeptBeforeClean { phase, attempt, snapshot }
        }
        Input::Snapshotted(Err(why)) => Input::Snapshotted(Err(text(why))),
        Input::Committed { number, made: Ok(mut made) } => {
            made.left_out = each(made.left_out);
            Input::Committed { number, made: Ok(made) }
        }
        Input::Committed { number, made: Err(NoCommit::NotNow { reason }) } => {
            Input::Committed { number, made: Err(NoCommit::NotNow { reason: text(reason) }) }
        }
        Input::Committed { number, made: Err(NoCommit::NothingChanged { left_out }) } => {
            Input::Committed { number, made: Err(NoCommit::NothingChanged { left_out: each(left_out) }) }
        }
        Input::Worktree { phase, found } => Input::Worktree { phase, found: found.map(|fact| Box::new(worktree(*fact))).map_err(text) },
        Input::Notified { notice, sent } => Input::Notified { notice, sent: sent.map_err(text) },
        Input::PhaseMarked { phase, marked } => Input::PhaseMarked { phase, marked: marked.map_err(text) },
        Input::Required { phase, mut seen } => {
            requirements(&mut seen);
            Input::Required { phase, seen }
        }
        Input::IssueLabelled { phase, set } => Input::IssueLabelled { phase, set: set.map_err(text) },
        Input::Rewound(result) => Input::Rewound(result.map_err(text)),
        Input::Begin(given) => Input::Begin(begin(given)),
        plain @ (Input::AttemptFound { .. }
        | Input::DriverGone
        | Input::StopAsked { .. }
        // Cut before it was read: what it says is worked out from that.
        | Input::Import(_)
        | Input::Mirrored { .. }
        | Input::Rewind(_)
        | Input::Forked { .. }
        | Input::LimitElsewhere(_)
        | Input::GroupSeen(_)
        | Input::Tick) => plain,
    }
}
