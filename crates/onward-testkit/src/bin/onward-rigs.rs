//! Rigs over the real binary, which must not be confused by what happens to its processes.
//!
//! `onward-rigs kills --bin target/release/onward --runs 300 --seed 1` kills processes of the tree at random moments.
//! `onward-rigs faults --bin target/release/onward --points 200 --seed 1` has system calls fail, `--every` all of them.
//!
//! Both print figures, and of every seed or point that broke what was done, what is wrong, and the line that plays it again.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use onward_testkit::rig::kills::{self, Force};
#[cfg(target_arch = "x86_64")]
use onward_testkit::rig::{Aim, Role, faults};

const USAGE: &str = "usage: onward-rigs kills --bin PATH [--runs N] [--seed N] [--kills N] [--jobs N] [--seconds N] [--tale]
       onward-rigs faults --bin PATH [--points N] [--seed N] [--every] [--at ROLE:PROCESS:CALL:WAY] [--jobs N] [--seconds N] [--tale]";

struct RigOptions {
    rig: String,
    bin: PathBuf,
    seed: u64,
    runs: u64,
    kills_max: u64,
    points: usize,
    every: bool,
    /// `ROLE:PROCESS:CALL:WAY`.
    at: Option<String>,
    jobs: usize,
    /// After so long nothing more is begun.
    seconds: Option<u64>,
    tale: bool,
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        say(USAGE);
        return ExitCode::from(2);
    };
    match options.rig.as_str() {
        "kills" => kill(&options),
        "faults" => fail(&options),
        _ => {
            say(USAGE);
            ExitCode::from(2)
        }
    }
}

fn kill(options: &RigOptions) -> ExitCode {
    let seeds: Vec<u64> = (options.seed..options.seed + options.runs).collect();
    let all = side_by_side(&seeds, options, |seed| {
        let told = kills::play(&options.bin, *seed, Force { kills_max: options.kills_max });
        let again = format!("onward-rigs kills --seed {seed} --kills {}", options.kills_max);
        if options.tale || !told.faults.is_empty() {
            show(&format!("seed {seed}"), &told.tale, &told.faults, told.kept.as_ref(), &again);
        }
        told
    });
    let mut hits: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, count) in all.iter().flat_map(|told| &told.hits) {
        *hits.entry(name).or_default() += count;
    }
    let sum = |of: fn(&kills::KillsTold) -> u64| all.iter().map(of).sum::<u64>();
    let mut bad: Vec<u64> = all.iter().filter(|told| !told.faults.is_empty()).map(|told| told.seed).collect();
    bad.sort_unstable();
    say(&format!(
        "{} runs: {} starts, {} attempts, {} effects, {} posts ({} acknowledged); {} broke {bad:?}",
        all.len(),
        sum(|told| told.starts),
        sum(|told| told.attempts),
        sum(|told| told.effects),
        sum(|told| told.posts),
        sum(|told| told.acknowledged),
        bad.len(),
    ));
    count(&hits);
    verdict(bad.len())
}

#[cfg(not(target_arch = "x86_64"))]
fn fail(_: &RigOptions) -> ExitCode {
    say("the rig of faults knows the registers of x86-64 only");
    ExitCode::from(2)
}

#[cfg(target_arch = "x86_64")]
fn fail(options: &RigOptions) -> ExitCode {
    let Some(aims) = aims(options) else {
        say(USAGE);
        return ExitCode::from(2);
    };
    let all = side_by_side(&aims, options, |aim| {
        let told = faults::play(&options.bin, *aim);
        let at = format!("{}:{}:{}:{}", aim.role, aim.process, aim.call, aim.way);
        let again = format!("onward-rigs faults --at {at}");
        if options.tale || !told.faults.is_empty() {
            show(&at, &told.tale, &told.faults, told.kept.as_ref(), &again);
        }
        told
    });
    let mut hits: BTreeMap<String, u64> = BTreeMap::new();
    let mut calls: BTreeMap<&str, u64> = BTreeMap::new();
    for hit in all.iter().filter_map(|told| told.hit.as_ref().map(|hit| (told.aim.role, hit))) {
        *hits.entry(format!("{} {}", hit.0, faults::kind_of(hit.1))).or_default() += 1;
        *calls.entry(hit.1.call).or_default() += 1;
    }
    let bad = all.iter().filter(|told| !told.faults.is_empty()).count();
    let met = all.iter().filter(|told| told.hit.is_some()).count();
    say(&format!("{} points, {met} met, {} different calls; {bad} broke", all.len(), calls.len()));
    count(&hits);
    count(&calls);
    verdict(bad)
}

/// Does something with each of many, so many at once, until the time is up.
fn side_by_side<T: Sync, R: Send>(of: &[T], options: &RigOptions, each: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, all) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let began = Instant::now();
    let is_late = || options.seconds.is_some_and(|limit| began.elapsed() >= Duration::from_secs(limit));
    thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(|| {
                while !is_late()
                    && let Some(one) = of.get(next.fetch_add(1, Ordering::SeqCst))
                {
                    let done = each(one);
                    all.lock().expect("no thread panics").push(done);
                }
            });
        }
    });
    all.into_inner().expect("no thread panics")
}

fn show(name: &str, tale: &[String], faults: &[String], kept: Option<&PathBuf>, again: &str) {
    say(&format!("== {name}\n{}", tale.join("\n")));
    if !faults.is_empty() {
        say(&format!("{name} broke:\n  {}\nplay it again: {again}", faults.join("\n  ")));
    }
    if let Some(kept) = kept {
        say(&format!("kept in {}", kept.display()));
    }
}

fn count<K: std::fmt::Display>(of: &BTreeMap<K, u64>) {
    for (name, count) in of {
        say(&format!("  {name:<28} {count}"));
    }
}

fn verdict(bad: usize) -> ExitCode {
    if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn options() -> Option<RigOptions> {
    let mut words = std::env::args().skip(1);
    let mut options = RigOptions {
        rig: words.next()?,
        bin: PathBuf::new(),
        seed: 1,
        runs: 1,
        kills_max: Force::default().kills_max,
        points: 50,
        every: false,
        at: None,
        jobs: 1,
        seconds: None,
        tale: false,
    };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--tale" => options.tale = true,
            "--every" => options.every = true,
            "--bin" => options.bin = PathBuf::from(words.next()?).canonicalize().ok()?,
            "--seed" => options.seed = words.next()?.parse().ok()?,
            "--runs" => options.runs = words.next()?.parse().ok()?,
            "--kills" => options.kills_max = words.next()?.parse().ok()?,
            "--points" => options.points = words.next()?.parse().ok()?,
            "--jobs" => options.jobs = words.next()?.parse().ok()?,
            "--seconds" => options.seconds = Some(words.next()?.parse().ok()?),
            "--at" => options.at = Some(words.next()?),
            _ => return None,
        }
    }
    options.bin.is_file().then_some(options)
}

/// The points that are played; none if the one that was named cannot be read.
#[cfg(target_arch = "x86_64")]
fn aims(options: &RigOptions) -> Option<Vec<Aim>> {
    if let Some(text) = &options.at {
        return Some(vec![aim(text)?]);
    }
    let seen = faults::record(&options.bin);
    let all = faults::points(&seen);
    say(&format!("{} calls, {} points", seen.len(), all.len()));
    Some(if options.every { all } else { faults::sample(&seen, options.points, options.seed) })
}

/// `ROLE:PROCESS:CALL:WAY`.
#[cfg(target_arch = "x86_64")]
fn aim(text: &str) -> Option<Aim> {
    let parts: Vec<&str> = text.split(':').collect();
    let &[role, process, call, way] = parts.as_slice() else { return None };
    let role = [Role::Driver, Role::Attendant, Role::Poster].into_iter().find(|one| one.to_string() == role)?;
    Some(Aim { role, process: process.parse().ok()?, call: call.parse().ok()?, way: way.parse().ok()? })
}

fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}
