//! Holds the ledger of effects, the journal and what was acknowledged against each other.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::book::BookLine;
use super::deeds::OUTWARD;
use super::tree::{AttemptName, ProcessKind};

/// The disturbances of a run by the rig.
#[derive(Debug, Default)]
pub struct Disturbed {
    /// Killed processes of attempts whose outcome was not on record yet, with the process id.
    pub killed: BTreeMap<AttemptName, BTreeSet<(ProcessKind, u32)>>,
    /// Runs whose driver was asked to stop.
    pub stopped: BTreeSet<String>,
}

/// Everything of one run that is looked at.
pub(super) struct Case<'a> {
    pub(super) run: &'a str,
    pub(super) book: &'a [BookLine],
    pub(super) events: &'a [Value],
    pub(super) disturbed: &'a Disturbed,
}

/// All that must not be, in words; empty if all is well.
pub(super) fn faults(case: &Case<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let mut by_phase: BTreeMap<&str, Vec<&BookLine>> = BTreeMap::new();
    let mut by_key: BTreeMap<(&str, &str), Vec<&BookLine>> = BTreeMap::new();
    for line in case.book.iter().filter(|line| line.run == case.run) {
        by_phase.entry(&line.phase).or_default().push(line);
        by_key.entry((&line.phase, &line.key)).or_default().push(line);
    }
    for ((phase, _), lines) in &by_key {
        judge_work(case, phase, lines, &mut found);
    }
    for (phase, lines) in &by_phase {
        judge_order(phase, lines, &mut found);
        judge_keys(case, phase, lines, &mut found);
        judge_journal(case, phase, lines, &mut found);
    }
    judge_completions(case, &by_phase, &mut found);
    found
}

/// No attempt works beside another one of the same phase, and none begins twice.
fn judge_order(phase: &str, lines: &[&BookLine], found: &mut Vec<String>) {
    let mut newest = 0;
    let mut begun = BTreeSet::new();
    for line in lines {
        if let Some(other) = line.what.strip_prefix("overlap:") {
            found.push(format!("{phase}: attempt {} was at work beside attempt {other}", line.attempt));
        } else if line.attempt < newest {
            found.push(format!("{phase}: attempt {} wrote `{}` after attempt {newest} began", line.attempt, line.what));
        }
        if line.what == "begin" {
            if !begun.insert(line.attempt) {
                found.push(format!("{phase}: attempt {} was started twice", line.attempt));
            }
            newest = newest.max(line.attempt);
        }
    }
}

/// The work of one phase in one generation, which is what a key stands for, is done once as far as anybody can know.
fn judge_work(case: &Case<'_>, phase: &str, lines: &[&BookLine], found: &mut Vec<String>) {
    let mut finished: Option<u32> = None;
    for line in lines {
        if let (Some(before), "begin") = (finished, line.what.as_str()) {
            found.push(format!("{phase}: attempt {} was started after attempt {before} was done", line.attempt));
        }
        if line.what == "end" && !is_excused(case, line) {
            finished = Some(line.attempt);
        }
    }
    let mut effects: BTreeMap<u32, u32> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.what == "effect") {
        *effects.entry(line.attempt).or_default() += 1;
    }
    for (attempt, count) in effects.iter().filter(|(_, count)| **count > 1) {
        found.push(format!("{phase}: attempt {attempt} had its effect {count} times"));
    }
    let all: u32 = effects.values().sum();
    if OUTWARD.contains(&phase) && all > 1 {
        found.push(format!("{phase}: its outward effect happened {all} times"));
    }
}

/// There are as many keys as generations on record: a retry never gets a key of its own.
fn judge_keys(case: &Case<'_>, phase: &str, lines: &[&BookLine], found: &mut Vec<String>) {
    let keys: BTreeSet<&str> = lines.iter().map(|line| line.key.as_str()).collect();
    let started = case.events.iter().filter(|event| event["type"] == "attempt_started" && event["phase"] == phase);
    let generations: BTreeSet<u64> = started.filter_map(|event| event["generation"].as_u64()).collect();
    if keys.len() > generations.len().max(1) {
        found.push(format!("{phase}: its attempts had {} keys in {} generations", keys.len(), generations.len()));
    }
}

/// Whether the rig did something to an attempt after which nobody can know that it was done, or a check may have said no. That
/// a child of it died is no such thing, unless it was the child itself that said so.
fn is_excused(case: &Case<'_>, end: &BookLine) -> bool {
    let killed = case.disturbed.killed.get(&name(case, &end.phase, u64::from(end.attempt)));
    let was_killed = killed.is_some_and(|them| {
        them.iter().any(|(kind, pid)| {
            *pid == end.pid || matches!(kind, ProcessKind::Main | ProcessKind::Attendant | ProcessKind::Check)
        })
    });
    was_stopped(case, &end.phase, end.attempt) || was_killed
}

/// Whether an attempt is on record as stopped half-way, in a run whose driver was asked to stop.
fn was_stopped(case: &Case<'_>, phase: &str, attempt: u32) -> bool {
    case.disturbed.stopped.contains(case.run)
        && case.events.iter().any(|event| {
            event["type"] == "attempt_ended"
                && event["phase"] == phase
                && event["attempt"] == attempt
                && event["outcome"]["how"] == "stopped"
                && event["outcome"]["said_done"] != true
        })
}

/// Compares the journal's account of a phase's attempts with what they wrote themselves.
fn judge_journal(case: &Case<'_>, phase: &str, lines: &[&BookLine], found: &mut Vec<String>) {
    let of_phase = || case.events.iter().filter(|event| event["phase"] == phase);
    let has =
        |attempt: u64, what: &str| lines.iter().any(|line| u64::from(line.attempt) == attempt && line.what == what);
    let started: Vec<u64> = of_phase()
        .filter(|event| event["type"] == "attempt_started")
        .filter_map(|event| event["attempt"].as_u64())
        .collect();
    for line in lines.iter().filter(|line| line.what == "begin") {
        if !started.contains(&u64::from(line.attempt)) {
            found.push(format!("{phase}: attempt {} began, and no record says so", line.attempt));
        }
    }
    let mut ended = BTreeSet::new();
    for event in of_phase().filter(|event| event["type"] == "attempt_ended") {
        let attempt = event["attempt"].as_u64().unwrap_or_default();
        let outcome = &event["outcome"];
        if !ended.insert(attempt) {
            found.push(format!("{phase}: attempt {attempt} has two outcomes on record"));
        }
        match outcome["how"].as_str().unwrap_or_default() {
            "exited" if outcome["code"] == 0 && !has(attempt, "end") => {
                found.push(format!("{phase}: attempt {attempt} is on record as done, and was not"));
            }
            "stopped" if outcome["said_done"] == true && !has(attempt, "end") => {
                found.push(format!("{phase}: attempt {attempt} is on record as finished after a stop, and was not"));
            }
            "could_not_start" | "never_ran" if has(attempt, "begin") => {
                found.push(format!("{phase}: attempt {attempt} is on record as never begun, and has begun"));
            }
            how @ ("unknown" | "killed") if !case.disturbed.killed.contains_key(&name(case, phase, attempt)) => {
                found.push(format!("{phase}: attempt {attempt} is on record as {how}, and nobody touched it"));
            }
            "stopped" if !case.disturbed.stopped.contains(case.run) => {
                found.push(format!("{phase}: attempt {attempt} is on record as stopped, and nobody asked for that"));
            }
            _ => {}
        }
    }
}

fn name(case: &Case<'_>, phase: &str, attempt: u64) -> AttemptName {
    let attempt = u32::try_from(attempt).unwrap_or(u32::MAX);
    AttemptName { run: case.run.to_owned(), phase: phase.to_owned(), attempt }
}

/// A phase that the journal calls completed did its work, unless a person said so.
fn judge_completions(case: &Case<'_>, by_phase: &BTreeMap<&str, Vec<&BookLine>>, found: &mut Vec<String>) {
    let tried: BTreeSet<&str> = case
        .events
        .iter()
        .filter(|event| event["type"] == "attempt_started")
        .filter_map(|event| event["phase"].as_str())
        .collect();
    for event in case.events.iter().filter(|event| event["type"] == "phase_completed" && event["adopted"] != true) {
        let phase = event["phase"].as_str().unwrap_or_default();
        let effects = by_phase.get(phase).map_or(0, |lines| lines.iter().filter(|line| line.what == "effect").count());
        if tried.contains(phase) && effects == 0 {
            found.push(format!("{phase}: completed on record, and its effect never happened"));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(what: &str, attempt: u32) -> BookLine {
        BookLine {
            what: what.to_owned(),
            run: "r".to_owned(),
            phase: "pay".to_owned(),
            attempt,
            key: "k".to_owned(),
            pid: 7,
            micros: 1,
        }
    }

    fn judged(lines: &[BookLine], events: &[Value], disturbed: &Disturbed) -> Vec<String> {
        faults(&Case { run: "r", book: lines, events, disturbed })
    }

    fn started(attempt: u32) -> Value {
        json!({ "type": "attempt_started", "phase": "pay", "attempt": attempt })
    }

    fn ended(attempt: u32, outcome: &Value) -> Value {
        json!({ "type": "attempt_ended", "phase": "pay", "attempt": attempt, "outcome": outcome })
    }

    #[test]
    fn one_attempt_that_does_its_work_is_well() {
        let events = [started(1), ended(1, &json!({ "how": "exited", "code": 0 }))];
        let lines = [line("begin", 1), line("effect", 1), line("end", 1)];
        assert_eq!(judged(&lines, &events, &Disturbed::default()), Vec::<String>::new());
    }

    /// Each kind of mistake is seen.
    #[test]
    fn every_mistake_is_seen() {
        let none = Disturbed::default();
        let done = [line("begin", 1), line("effect", 1), line("end", 1)];
        let twice = [&done[..], &[line("begin", 2), line("effect", 2), line("end", 2)]].concat();
        let told = judged(&twice, &[started(1), started(2)], &none);
        assert!(told.iter().any(|fault| fault.contains("after attempt 1 was done")), "{told:?}");
        assert!(told.iter().any(|fault| fault.contains("outward effect happened 2 times")), "{told:?}");
        let beside = [line("begin", 1), line("begin", 2), line("overlap:1", 2), line("effect", 1)];
        let told = judged(&beside, &[started(1), started(2)], &none);
        assert!(told.iter().any(|fault| fault.contains("beside attempt 1")), "{told:?}");
        assert!(told.iter().any(|fault| fault.contains("wrote `effect` after attempt 2 began")), "{told:?}");
        let told = judged(&[line("begin", 1), line("begin", 1)], &[started(1)], &none);
        assert!(told.iter().any(|fault| fault.contains("started twice")), "{told:?}");
        let told = judged(&done, &[], &none);
        assert!(told.iter().any(|fault| fault.contains("no record says so")), "{told:?}");
        let told = judged(&done, &[started(1), ended(1, &json!({ "how": "could_not_start" }))], &none);
        assert!(told.iter().any(|fault| fault.contains("never begun, and has begun")), "{told:?}");
        let told = judged(&[line("begin", 1)], &[started(1), ended(1, &json!({ "how": "exited", "code": 0 }))], &none);
        assert!(told.iter().any(|fault| fault.contains("as done, and was not")), "{told:?}");
        let told = judged(&done, &[started(1), ended(1, &json!({ "how": "unknown" }))], &none);
        assert!(told.iter().any(|fault| fault.contains("nobody touched it")), "{told:?}");
        let completed = json!({ "type": "phase_completed", "phase": "pay", "adopted": false });
        let told = judged(&[line("begin", 1)], &[started(1), completed], &none);
        assert!(told.iter().any(|fault| fault.contains("its effect never happened")), "{told:?}");
        let told = judged(&[&done[..2], &done[1..]].concat(), &[started(1)], &none);
        assert!(told.iter().any(|fault| fault.contains("had its effect 2 times")), "{told:?}");
        let other = BookLine { key: "other".to_owned(), ..line("begin", 2) };
        let told = judged(&[line("begin", 1), other], &[started(1), started(2)], &none);
        assert!(told.iter().any(|fault| fault.contains("had 2 keys in")), "{told:?}");
    }

    /// The journal says of one attempt what cannot be.
    #[test]
    fn an_end_that_was_none_is_seen() {
        let none = Disturbed::default();
        let begun = [line("begin", 1), line("effect", 1)];
        let exited = || ended(1, &json!({ "how": "exited", "code": 3 }));
        let told = judged(&begun, &[started(1), exited(), exited()], &none);
        assert!(told.iter().any(|fault| fault.contains("has two outcomes")), "{told:?}");
        let stopped = ended(1, &json!({ "how": "stopped", "said_done": true }));
        let told = judged(&begun, &[started(1), stopped], &none);
        assert!(told.iter().any(|fault| fault.contains("finished after a stop, and was not")), "{told:?}");
        let told = judged(&begun, &[started(1), ended(1, &json!({ "how": "stopped" }))], &none);
        assert!(told.iter().any(|fault| fault.contains("as stopped, and nobody asked")), "{told:?}");
    }

    /// Somebody asked a phase to end, and it finished its work: that counts, and it is not begun again.
    #[test]
    fn what_finished_after_a_stop_is_not_done_again() {
        let stopped = Disturbed { stopped: BTreeSet::from(["r".to_owned()]), ..Disturbed::default() };
        let again = [line("begin", 1), line("end", 1), line("begin", 2), line("effect", 2), line("end", 2)];
        let events =
            |said_done: bool| [started(1), started(2), ended(1, &json!({ "how": "stopped", "said_done": said_done }))];
        assert_eq!(judged(&again, &events(false), &stopped), Vec::<String>::new());
        let told = judged(&again, &events(true), &stopped);
        assert!(told.iter().any(|fault| fault.contains("after attempt 1 was done")), "{told:?}");
    }

    /// The attendant was killed before it could say how the attempt ended: it may be done again, though not its outward effect.
    #[test]
    fn an_attempt_of_which_nobody_knows_may_be_done_again() {
        let name = AttemptName { run: "r".to_owned(), phase: "pay".to_owned(), attempt: 1 };
        let killed = |kind, pid| Disturbed {
            killed: BTreeMap::from([(name.clone(), BTreeSet::from([(kind, pid)]))]),
            ..Disturbed::default()
        };
        let again = [line("begin", 1), line("end", 1), line("begin", 2), line("effect", 2), line("end", 2)];
        let both = [started(1), started(2)];
        assert_eq!(judged(&again, &both, &killed(ProcessKind::Attendant, 1)), Vec::<String>::new());
        assert_eq!(judged(&again, &both, &killed(ProcessKind::Child, 1)).len(), 1, "a child's death is no excuse");
        assert_eq!(
            judged(&again, &both, &killed(ProcessKind::Child, 7)),
            Vec::<String>::new(),
            "it was the one that said so"
        );
    }
}
