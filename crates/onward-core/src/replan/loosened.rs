//! Whether a revision takes away, or weakens, what only a person grants: such a plan waits for one, whatever else the plan says.

use std::collections::{BTreeMap, BTreeSet};

use crate::agent::AgentWork;
use crate::id::PhaseId;
use crate::plan::{Body, Budget, Phase, Plan, Retry};

/// Each thing that the new plan grants and the old one did not, in words. Of phases that are over nothing is asked any more.
pub fn loosened(old: &Plan, new: &Plan, is_over: &dyn Fn(&PhaseId) -> bool) -> Vec<String> {
    let (before, after) = (phases(old), phases(new));
    let mut told = approvals_loosened(old, new, is_over);
    told.extend(old.limits.iter().filter(|(name, limit)| new.limits.get(*name) != Some(*limit)).map(|(name, _)| {
        let how = if new.limits.contains_key(name) { "changes" } else { "removes" };
        format!("{how} the limit {name}")
    }));
    told.extend(taken("the plan", "requires", &old.requires, &new.requires));
    if old.default_agent != new.default_agent {
        let work = |block: &Option<serde_json::Value>| block.as_ref().map(AgentWork::read);
        match (work(&old.default_agent), work(&new.default_agent)) {
            (Some(old), Some(new)) => told.extend(more_for_an_agent("the agent that phases share", &old, &new)),
            (None, Some(new)) => told.extend(of_a_new_agent("the agent that phases share", &agents(old), &new)),
            (_, None) => {}
        }
    }
    for (id, phase) in &after {
        match before.get(id) {
            Some(earlier) => told.extend(of_a_phase(old, earlier, phase)),
            None => told.extend(of_a_new_phase(old, &before, phase)),
        }
    }
    for (id, gone) in before.iter().filter(|(id, _)| !after.contains_key(*id)) {
        told.extend(checks_gone(id, gone, &after));
    }
    for (path, used) in &old.used {
        let inside = new.used.get(path).map(|new| loosened(used, new, &|_| false)).unwrap_or_default();
        told.extend(inside.into_iter().map(|what| format!("{path}: {what}")));
    }
    told
}

fn phases(plan: &Plan) -> BTreeMap<&PhaseId, &Phase> {
    plan.phases.iter().chain(&plan.finally).map(|phase| (&phase.id, phase)).collect()
}

/// Approvals that are gone, or are others, and phases that do not wait for one any more.
pub fn approvals_loosened(old: &Plan, new: &Plan, is_over: &dyn Fn(&PhaseId) -> bool) -> Vec<String> {
    let (before, after) = (phases(old), phases(new));
    let is_approval = |phase: &&&Phase| matches!(phase.body, Body::Approval(_)) && !is_over(&phase.id);
    let mut told = Vec::new();
    for gate in before.values().filter(is_approval) {
        let needs = |phase: &Phase| phase.needs.iter().map(|need| need.phase.clone()).collect::<BTreeSet<_>>();
        match after.get(&gate.id) {
            None => told.push(format!("removes the approval {}", gate.id)),
            Some(now) if now.body != gate.body || now.condition != gate.condition => {
                told.push(format!("changes the approval {}", gate.id));
            }
            Some(now) if !needs(now).is_superset(&needs(gate)) => {
                told.push(format!("has the approval {} asked for earlier", gate.id));
            }
            Some(_) => {}
        }
    }
    for (id, phase) in after.iter().filter(|(id, _)| !is_over(id)) {
        let Some(earlier) = before.get(id) else { continue };
        let now = above(phase, &after);
        let lost = above(earlier, &before).into_iter().filter(|gate| {
            before.get(gate).as_ref().is_some_and(is_approval) && after.contains_key(gate) && !now.contains(gate)
        });
        told.extend(lost.map(|gate| format!("lets {id} begin without the approval {gate}")));
    }
    told
}

/// All that a phase needs, near or far.
fn above<'a>(phase: &'a Phase, all: &BTreeMap<&'a PhaseId, &'a Phase>) -> BTreeSet<&'a PhaseId> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![phase];
    while let Some(phase) = waiting.pop() {
        let whole = phase.situation.parent.as_ref();
        for need in phase.needs.iter().map(|need| &need.phase).chain(whole) {
            if found.insert(need) {
                waiting.extend(all.get(need));
            }
        }
    }
    found
}

fn of_a_phase(plan: &Plan, old: &Phase, new: &Phase) -> Vec<String> {
    let id = &new.id;
    let mut told = taken(id.as_str(), "verify", &old.verify, &new.verify);
    told.extend(taken(id.as_str(), "done-when", &old.done_when, &new.done_when));
    told.extend(taken(id.as_str(), "requires", &old.requires, &new.requires));
    told.extend(taken(id.as_str(), "limits", &old.limits, &new.limits));
    // What another kind of phase has unsaid is no raise.
    let same_kind = std::mem::discriminant(&old.body) == std::mem::discriminant(&new.body);
    let unsaid = if same_kind { 0 } else { Retry::unsaid(&new.body).max };
    if new.retry.max > old.retry.max.max(unsaid) {
        told.push(format!("raises retry of {id}"));
    }
    if new.replan != old.replan {
        told.push(format!("changes replan of {id}"));
    }
    match (&old.body, &new.body) {
        (Body::Agent(old), Body::Agent(new)) if old != new => {
            told.extend(more_for_an_agent(id.as_str(), &AgentWork::read(old), &AgentWork::read(new)));
        }
        (Body::Agent(_), Body::Agent(_)) => {}
        (_, Body::Agent(new)) => told.extend(of_a_new_agent(id.as_str(), &agents(plan), &AgentWork::read(new))),
        _ => {}
    }
    told
}

fn of_a_new_phase(plan: &Plan, before: &BTreeMap<&PhaseId, &Phase>, new: &Phase) -> Vec<String> {
    let mut told = Vec::new();
    let most = before.values().map(|phase| phase.retry.max).chain([Retry::unsaid(&new.body).max]).max();
    if Some(new.retry.max) > most {
        told.push(format!("raises retry, for {}", new.id));
    }
    // A part of a matrix is what its whole says.
    if new.replan.is_some() && new.situation.parent.is_none() {
        told.push(format!("says replan for {}", new.id));
    }
    if let Body::Agent(block) = &new.body {
        told.extend(of_a_new_agent(new.id.as_str(), &agents(plan), &AgentWork::read(block)));
    }
    told
}

/// Checks of a phase that goes, and that no phase makes in its place.
fn checks_gone(id: &PhaseId, gone: &Phase, after: &BTreeMap<&PhaseId, &Phase>) -> Vec<String> {
    if gone.situation.parent.is_some() {
        return Vec::new();
    }
    let verify: Vec<String> = after.values().flat_map(|phase| phase.verify.clone()).collect();
    taken(id.as_str(), "verify", &gone.verify, &verify)
}

fn taken<T: PartialEq>(of: &str, key: &str, old: &[T], new: &[T]) -> Vec<String> {
    let is_less = old.iter().any(|one| !new.contains(one));
    is_less.then(|| format!("takes something out of {key} of {of}")).into_iter().collect()
}

/// Every agent that the plan names.
fn agents(plan: &Plan) -> Vec<AgentWork> {
    let block = |phase: &Phase| match &phase.body {
        Body::Agent(block) => Some(AgentWork::read(block)),
        Body::Run { .. } | Body::Approval(_) | Body::External(_) | Body::Uses(_) => None,
    };
    let shared = plan.default_agent.as_ref().map(AgentWork::read);
    phases(plan).values().filter_map(|phase| block(phase)).chain(shared).collect()
}

/// An agent may do what one of the agents of the plan may.
fn of_a_new_agent(who: &str, known: &[AgentWork], new: &AgentWork) -> Vec<String> {
    let plain = AgentWork::read(&serde_json::json!({ "use": new.agent }));
    let known = if known.is_empty() { std::slice::from_ref(&plain) } else { known };
    let told = known.iter().map(|old| more_for_an_agent(who, old, new));
    told.min_by_key(Vec::len).unwrap_or_default()
}

fn more_for_an_agent(who: &str, old: &AgentWork, new: &AgentWork) -> Vec<String> {
    let mut told = Vec::new();
    let mut tell = |key: &str| told.push(format!("changes {key} of {who} to what allows more"));
    if new.agent != old.agent {
        tell("use");
    }
    if new.args != old.args {
        tell("args");
    }
    if new.allow.iter().any(|tool| !old.allow.contains(tool)) {
        tell("allow");
    }
    for (key, old, new) in [("deny", &old.deny, &new.deny), ("ask", &old.ask, &new.ask)] {
        if old.iter().any(|tool| !new.contains(tool)) {
            tell(key);
        }
    }
    if is_more(old.max_turns, new.max_turns) {
        tell("max-turns");
    }
    if costs_more(old.budget, new.budget) {
        tell("budget");
    }
    if new.worktree != old.worktree {
        tell("worktree");
    }
    told
}

/// Whether there was a limit, and it is higher now or gone.
fn is_more<T: PartialOrd>(old: Option<T>, new: Option<T>) -> bool {
    old.is_some_and(|old| new.is_none_or(|new| new > old))
}

fn costs_more(old: Budget, new: Budget) -> bool {
    is_more(old.usd, new.usd) || is_more(old.tokens, new.tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "
onward: 1
name: demo
limits: { api: { max-parallel: 2 } }
requires: [gh auth status]
phases:
  a:
    agent: { use: claude-code, prompt: do it, allow: [Read], deny: [Bash], ask: [Write], max-turns: 5, budget: { usd: 1 } }
    verify: [make test]
    retry: 1
  g: { needs: a, approval: ok? }
  z: { needs: g, run: deploy, limits: [api] }
";

    fn plan(text: &str) -> Plan {
        let parsed = crate::plan::parse(text);
        parsed.plan.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics))
    }

    /// Each of these lets something pass that a person has put there, and is told as such.
    #[test]
    fn each_loosening_is_told() {
        let old = plan(OLD);
        for (from, to, told) in [
            ("  g: { needs: a, approval: ok? }\n  z: { needs: g,", "  z: { needs: a,", "removes the approval g"),
            ("approval: ok?", "run: 'true'", "changes the approval g"),
            ("approval: ok?", "approval: { message: ok?, expires: 1s, if-expired: approve }", "changes the approval g"),
            ("g: { needs: a, approval", "g: { if: 'false', needs: a, approval", "changes the approval g"),
            ("g: { needs: a, approval", "g: { approval", "has the approval g asked for earlier"),
            ("z: { needs: g,", "z: { needs: a,", "lets z begin without the approval g"),
            ("max-parallel: 2", "max-parallel: 9", "changes the limit api"),
            ("requires: [gh auth status]\n", "", "takes something out of requires of the plan"),
            ("verify: [make test]", "verify: ['true']", "takes something out of verify of a"),
            ("retry: 1", "retry: 50", "raises retry of a"),
            ("retry: 1", "replan: { approval: false }\n    retry: 1", "changes replan of a"),
            (", limits: [api]", "", "takes something out of limits of z"),
            ("allow: [Read]", "allow: [Read, WebFetch]", "changes allow of a to what allows more"),
            ("deny: [Bash], ", "", "changes deny of a to what allows more"),
            ("ask: [Write], ", "", "changes ask of a to what allows more"),
            ("max-turns: 5", "max-turns: 6", "changes max-turns of a to what allows more"),
            (", budget: { usd: 1 }", "", "changes budget of a to what allows more"),
            (
                "prompt: do it",
                "prompt: do it, args: [--dangerously-skip-permissions]",
                "changes args of a to what allows more",
            ),
        ] {
            let text = OLD.replacen(from, to, 1);
            assert_ne!(text, OLD, "{from}");
            let found = loosened(&old, &plan(&text), &|_| false);
            assert!(found.iter().any(|one| one == told), "{told}: {found:?}");
        }
    }

    /// A new agent phase may do what one of the plan's agents may, and no more; a phase with checks does not lose them by a new name.
    #[test]
    fn new_phases_grant_nothing_new() {
        let old = plan(OLD);
        let with = |phase: &str| loosened(&old, &plan(&format!("{OLD}  n: {phase}\n")), &|_| false);
        let bounds = "deny: [Bash], ask: [Write], max-turns: 5, budget: { usd: 1 }";
        assert_eq!(with(&format!("{{ agent: {{ use: claude-code, prompt: x, {bounds} }} }}")), Vec::<String>::new());
        let wider = with(&format!("{{ agent: {{ use: claude-code, prompt: x, allow: [Bash], {bounds} }} }}"));
        assert_eq!(wider, ["changes allow of n to what allows more"]);
        assert_eq!(with("{ run: x, retry: 9 }"), ["raises retry, for n"]);
        let renamed = OLD
            .replace("  a:\n", "  b:\n")
            .replace("needs: a", "needs: b")
            .replace("verify: [make test]", "verify: []");
        assert_eq!(
            loosened(&old, &plan(&renamed), &|_| false),
            ["has the approval g asked for earlier", "takes something out of verify of a"]
        );
    }

    /// An approval that was given is not asked for again.
    #[test]
    fn what_was_granted_is_granted() {
        let (old, new) = (plan(OLD), plan(&OLD.replace("z: { needs: g,", "z: { needs: a,")));
        assert_eq!(loosened(&old, &new, &|id| id.as_str() == "g"), Vec::<String>::new());
    }

    /// Other work, other words, more checks and tighter bounds wait for nobody.
    #[test]
    fn other_work_grants_nothing() {
        let old = plan(OLD);
        assert_eq!(loosened(&old, &old, &|_| false), Vec::<String>::new());
        let other = OLD
            .replace("run: deploy", "run: deploy --slowly")
            .replace("prompt: do it", "prompt: do it well")
            .replace("verify: [make test]", "verify: [make test, make lint]")
            .replace("deny: [Bash]", "deny: [Bash, WebFetch]")
            .replace("usd: 1", "usd: 0.5")
            .replace("  z:", "  y: { needs: g, run: more }\n  z:");
        assert_eq!(loosened(&old, &plan(&other), &|_| false), Vec::<String>::new());
    }
}
