//! Which phases may be at work beside each other, and what is said where one may not.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use onward_core::id::PhaseId;
use onward_core::plan::globs::may_overlap;
use onward_core::plan::{Body, Budget, Effects, Limit, LossKind, Matrix, Phase, Priority, Rate};
use onward_core::rate_limit::RecognisedLimit;
use onward_core::run::admission::{Claim, Obstacle, Pools, Usage, rate_opens};
use onward_core::run::order::order;
use proptest::prelude::*;

fn now() -> Timestamp {
    "2026-11-15T10:00:00Z".parse().expect("a time")
}

fn phase(id: &str) -> Phase {
    Phase::new(PhaseId::new(id), Body::Run { script: "x".into(), shell: vec!["sh".into()] })
}

struct World {
    max_parallel: usize,
    limits: BTreeMap<String, Limit>,
    usage: BTreeMap<String, Usage>,
}

impl World {
    fn new() -> Self {
        Self { max_parallel: 4, limits: BTreeMap::new(), usage: BTreeMap::new() }
    }

    fn asks(&self, candidate: &Phase, at_work: &[&Phase]) -> Option<Obstacle> {
        let at_work = at_work.iter().map(|phase| Claim::new(phase, None)).collect();
        let pools = Pools { max_parallel: self.max_parallel, limits: &self.limits, usage: &self.usage, at_work };
        pools.obstacle(&Claim::new(candidate, None), now())
    }
}

#[test]
fn no_more_than_the_plan_allows() {
    let world = World { max_parallel: 2, ..World::new() };
    let (a, b, c) = (phase("a"), phase("b"), phase("c"));
    assert_eq!(world.asks(&c, &[&a]), None);
    assert_eq!(world.asks(&c, &[&a, &b]), Some(Obstacle::Full { max: 2 }));
}

#[test]
fn writers_and_committers_take_turns() {
    // Two write below the same folder, two commit. Neither pair meets; one of each pair does.
    let w1 = Phase { writes: vec!["out/**".into()], ..phase("w1") };
    let w2 = Phase { writes: vec!["other".into(), "out/two.txt".into()], ..phase("w2") };
    let g1 = Phase { locks: vec!["git".into()], ..phase("g1") };
    let g2 = Phase { value: Some(LossKind::Commit), ..phase("g2") };
    let world = World::new();
    let writes = Obstacle::Writes { other: w1.id.clone(), glob: "out/two.txt".into() };
    let lock = Obstacle::Lock { name: "git".into(), holder: g1.id.clone() };
    assert_eq!((world.asks(&w2, &[&w1]), world.asks(&g2, &[&g1])), (Some(writes), Some(lock)));
    assert_eq!((world.asks(&w2, &[&g1]), world.asks(&g2, &[&w1])), (None, None));
}

#[test]
fn a_limit_counts_its_phases_and_closes() {
    // Three phases draw on a limit for one at a time. A second one waits for the first; after a hit all of them wait for the time,
    // and a phase outside does not.
    let mut world = World::new();
    world.limits.insert("api".into(), Limit { max_parallel: Some(1), ..Limit::default() });
    let x = Phase { limits: vec!["api".into()], ..phase("x") };
    let y = Phase { limits: vec!["api".into()], ..phase("y") };
    let free = phase("free");
    assert_eq!(world.asks(&y, &[&x]), Some(Obstacle::Pool { name: "api".into(), max: 1 }));
    let until = now() + SignedDuration::from_secs(2);
    world.usage.insert("api".into(), Usage { closed_until: Some(until), ..Usage::default() });
    assert_eq!(world.asks(&y, &[]), Some(Obstacle::Closed { name: "api".into(), until }));
    assert_eq!(world.asks(&free, &[&x]), None);
    world.usage.insert("api".into(), Usage { closed_until: Some(now()), ..Usage::default() });
    assert_eq!(world.asks(&y, &[]), None);
}

#[test]
fn of_two_closed_limits_the_later_counts() {
    let mut world = World::new();
    let until = |seconds| now() + SignedDuration::from_secs(seconds);
    for (name, seconds) in [("one", 60), ("two", 30)] {
        world.limits.insert(name.into(), Limit::default());
        world.usage.insert(name.into(), Usage { closed_until: Some(until(seconds)), ..Usage::default() });
    }
    let both = Phase { limits: vec!["one".into(), "two".into()], ..phase("x") };
    assert_eq!(world.asks(&both, &[]).and_then(|why| why.until()), Some(until(60)));
}

#[test]
fn agents_share_the_limit_of_their_name() {
    // Nothing is declared. A hit of one built-in agent is still waited for by the other phases of that agent.
    let agent = |id: &str, name: &str| Phase { body: Body::Agent(serde_json::json!({ "use": name })), ..phase(id) };
    let mut world = World::new();
    let until = now() + SignedDuration::from_mins(5);
    world.usage.insert("claude-code".into(), Usage { closed_until: Some(until), ..Usage::default() });
    assert_eq!(world.asks(&agent("a", "claude-code"), &[]).and_then(|why| why.until()), Some(until));
    assert_eq!(world.asks(&agent("b", "codex"), &[]), None);
    assert_eq!(world.asks(&agent("c", "mine"), &[]), None);
}

#[test]
fn starts_are_counted_in_a_sliding_window() {
    let minute = Duration::from_mins(1);
    let ago = |seconds: i64| now() - SignedDuration::from_secs(seconds);
    let ahead = |seconds: i64| Some(now() + SignedDuration::from_secs(seconds));
    assert_eq!(rate_opens(&[], 1, minute, now()), None);
    assert_eq!(rate_opens(&[ago(60)], 1, minute, now()), None);
    assert_eq!(rate_opens(&[ago(59)], 1, minute, now()), ahead(1));
    assert_eq!(rate_opens(&[ago(50), ago(20)], 2, minute, now()), ahead(10));
    assert_eq!(rate_opens(&[ago(50), ago(20), ago(5)], 2, minute, now()), ahead(40));
    assert_eq!(rate_opens(&[ago(50), ago(20)], 3, minute, now()), None);
    let mut world = World::new();
    world.limits.insert("api".into(), Limit { rate: Some(Rate { count: 1, window: minute }), ..Limit::default() });
    world.usage.insert("api".into(), Usage { starts: vec![ago(20)], ..Usage::default() });
    let why = world.asks(&Phase { limits: vec!["api".into()], ..phase("x") }, &[]).expect("it has to wait");
    assert_eq!(why.words(now()), "1 phases that draw on the limit api were started within 1 min; the next may in 40 s");
}

#[test]
fn a_budget_that_is_used_up_does_not_come_back() {
    let mut world = World::new();
    let budget = Budget { usd: Some(25.0), tokens: None };
    world.limits.insert("claude".into(), Limit { budget: Some(budget), ..Limit::default() });
    let x = Phase { limits: vec!["claude".into()], ..phase("x") };
    for (usd, blocked) in [(Some(24.99), false), (Some(25.0), true), (None, false)] {
        world.usage.insert("claude".into(), Usage { spent: Budget { usd, tokens: Some(1) }, ..Usage::default() });
        assert_eq!(world.asks(&x, &[]).is_some(), blocked, "{usd:?}");
    }
    let budget = Budget { usd: None, tokens: Some(100) };
    world.limits.insert("claude".into(), Limit { budget: Some(budget), ..Limit::default() });
    for (tokens, blocked) in [(99, false), (100, true)] {
        let spent = Budget { usd: Some(99.0), tokens: Some(tokens) };
        world.usage.insert("claude".into(), Usage { spent, ..Usage::default() });
        assert_eq!(world.asks(&x, &[]).is_some(), blocked, "{tokens} tokens");
    }
}

#[test]
fn what_is_known_of_a_limit_stays_small_and_true() {
    // Starts that no window can reach are forgotten. A guess does not shorten a time that was told; a new time that is told counts.
    let rate = Some(Rate { count: 2, window: Duration::from_mins(1) });
    let mut usage = Usage::default();
    for second in 0..600 {
        usage.started(rate, now() + SignedDuration::from_secs(second));
    }
    assert_eq!(usage.starts.len(), 60);
    usage.started(None, now());
    assert_eq!(usage.starts.len(), 60);
    let hit = |told, minutes| RecognisedLimit {
        limits: BTreeSet::new(),
        until: now() + SignedDuration::from_mins(minutes),
        told,
        said: String::new(),
    };
    let mut after = |told, minutes| {
        usage.hit(&hit(told, minutes));
        usage.closed_until.expect("closed").duration_since(now()).as_mins()
    };
    assert_eq!([after(false, 1), after(true, 60), after(false, 2), after(true, 30)], [1, 60, 60, 30]);
    usage.spend(Budget { usd: Some(0.5), tokens: None });
    usage.spend(Budget { usd: Some(0.25), tokens: Some(7) });
    usage.spend(Budget { usd: None, tokens: Some(u64::MAX) });
    assert_eq!(usage.spent, Budget { usd: Some(0.75), tokens: Some(u64::MAX) });
}

#[test]
fn parts_of_one_phase_have_a_limit_of_their_own() {
    let matrix = Matrix { axes: Vec::new(), max_parallel: Some(2), fail_fast: false };
    let parent = Phase { matrix: Some(matrix), ..phase("fetch") };
    let parts: Vec<Phase> = ["fetch@1", "fetch@2", "fetch@3"].map(phase).into();
    let world = World::new();
    let at_work = parts[..2].iter().map(|part| Claim::new(part, Some(&parent))).collect();
    let pools = Pools { max_parallel: 9, limits: &world.limits, usage: &world.usage, at_work };
    let third = Claim::new(&parts[2], Some(&parent));
    assert_eq!(pools.obstacle(&third, now()), Some(Obstacle::Group { parent: parent.id.clone(), max: 2 }));
    assert_eq!(pools.obstacle(&Claim::new(&parts[2], None), now()), None);
}

#[test]
fn the_hardest_to_get_back_goes_first() {
    let of = |id: &str, value, priority, effects| Phase { value, priority, effects, ..phase(id) };
    let normal = Priority::Normal;
    let mut ready = [
        of("docs", Some(LossKind::Docs), normal, Effects::Files),
        of("plain", None, normal, Effects::Files),
        of("commit", Some(LossKind::Commit), normal, Effects::Files),
        of("mail", None, normal, Effects::External),
        of("late", Some(LossKind::Issue), Priority::Low, Effects::Files),
        of("first", Some(LossKind::Docs), Priority::Critical, Effects::Files),
    ];
    ready.sort_by_key(order);
    assert_eq!(ready.map(|phase| phase.id.to_string()), ["first", "mail", "commit", "plain", "docs", "late"]);
}

/// The globs as their authors mean them, written down a second time without any cleverness.
fn fits(glob: &[u8], path: &[u8]) -> bool {
    match glob {
        [] => path.is_empty() || path[0] == b'/',
        [b'*', b'*', b'/', rest @ ..] => {
            fits(rest, path) || (0..path.len()).any(|at| path[at] == b'/' && fits(rest, &path[at + 1..]))
        }
        [b'*', b'*', rest @ ..] => (0..=path.len()).any(|at| fits(rest, &path[at..])),
        [b'*', rest @ ..] => {
            (0..=path.len()).take_while(|at| !path[..*at].contains(&b'/')).any(|at| fits(rest, &path[at..]))
        }
        [b'?', rest @ ..] => !path.is_empty() && path[0] != b'/' && fits(rest, &path[1..]),
        [b'[', b'!', one, b']', rest @ ..] => {
            !path.is_empty() && path[0] != *one && path[0] != b'/' && fits(rest, &path[1..])
        }
        [b'[', one, two, b']', rest @ ..] => {
            !path.is_empty() && (path[0] == *one || path[0] == *two) && fits(rest, &path[1..])
        }
        [first, rest @ ..] => path.first() == Some(first) && fits(rest, &path[1..]),
    }
}

/// All paths of up to two parts over two letters, one and two letters long.
fn small_paths() -> Vec<String> {
    let names: Vec<String> = ["a", "b", "aa", "ab", "ba", "bb", "a.b", "b.a"].map(str::to_owned).into();
    let mut paths = names.clone();
    for first in &names {
        for second in &names {
            paths.push(format!("{first}/{second}"));
            paths.push(format!("{first}/a/{second}"));
        }
    }
    paths
}

/// The globs that one with braces stands for.
fn without_braces(glob: &str) -> Vec<String> {
    let Some((before, rest)) = glob.split_once('{') else { return vec![glob.to_owned()] };
    let Some((inside, after)) = rest.split_once('}') else { return vec![glob.to_owned()] };
    inside.split(',').flat_map(|one| without_braces(&format!("{before}{one}{after}"))).collect()
}

/// As an author means it: `./` in front and `/` behind change nothing.
fn means(glob: &str, path: &str) -> bool {
    let plain = glob.trim_start_matches("./").trim_end_matches('/');
    without_braces(plain).iter().any(|glob| fits(glob.as_bytes(), path.as_bytes()))
}

const GLOB: &str = "(\\./)?((a|b|\\*|\\*\\*|\\?|\\[ab\\]|\\[!a\\]|a\\.b|ab|\\*b|\\{a,b/a\\})/){0,2}(a|b|\\*|\\*\\*|\\?|\\[ab\\]|a\\*|\\*\\.b|ba|b\\*a|A|\\{a,bb\\}b?)/?";

proptest! {
    #[test]
    fn globs_that_share_a_path_may_overlap(a in GLOB, b in GLOB) {
        let shared = small_paths().into_iter().find(|path| means(&a, path) && means(&b, path));
        if let Some(path) = shared {
            prop_assert!(may_overlap(&a, &b), "{a} and {b} both mean {path}");
        }
        prop_assert_eq!(may_overlap(&a, &b), may_overlap(&b, &a));
    }

    #[test]
    fn what_may_start_breaks_no_rule(
        shapes in proptest::collection::vec((0..3_usize, 0..3_usize, 0..4_usize), 1..8),
        max_parallel in 1..5_usize,
    ) {
        // Phases with random locks, limits and writes are started one after the other, as far as they may. However it goes, no
        // lock has two holders, no limit too many phases, and no file two writers.
        let phases: Vec<Phase> = shapes.iter().enumerate().map(|(number, (lock, limit, writes))| Phase {
            locks: (*lock > 0).then(|| format!("lock{lock}")).into_iter().collect(),
            limits: (*limit > 0).then(|| format!("limit{limit}")).into_iter().collect(),
            writes: (*writes > 0).then(|| format!("out{writes}/**")).into_iter().collect(),
            ..phase(&format!("p{number}"))
        }).collect();
        let limits: BTreeMap<String, Limit> =
            (1..3).map(|count| (format!("limit{count}"), Limit { max_parallel: Some(count), ..Limit::default() })).collect();
        let usage = BTreeMap::new();
        let mut at_work: Vec<Claim<'_>> = Vec::new();
        for candidate in &phases {
            let claim = Claim::new(candidate, None);
            let pools = Pools { max_parallel, limits: &limits, usage: &usage, at_work: at_work.clone() };
            if pools.obstacle(&claim, now()).is_none() {
                at_work.push(claim);
            }
        }
        prop_assert!(!at_work.is_empty() && at_work.len() <= max_parallel);
        for (at, one) in at_work.iter().enumerate() {
            for other in &at_work[..at] {
                prop_assert!(one.locks.iter().all(|lock| !other.locks.contains(lock)));
                prop_assert!(one.writes.iter().all(|glob| !other.writes.contains(glob)));
            }
        }
        for (name, limit) in &limits {
            let drawing = at_work.iter().filter(|claim| claim.pools.contains(&name.as_str())).count();
            prop_assert!(drawing <= limit.max_parallel.unwrap_or(1) as usize);
        }
    }
}
