//! Plays worlds: `onward-sim --seeds 1000000`, `onward-sim --seconds 60`, `onward-sim --seed 42 --trace`.
//!
//! Prints what was covered, and the first seed in which an invariant does not hold, with the line that plays it again.

use std::io::Write;
use std::panic;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use onward_testkit::sim::{self, Coverage, SeedTold};

/// The options of the simulator.
struct SimOptions {
    first: u64,
    seeds: u64,
    seconds: Option<u64>,
    trace: Option<fn(&str)>,
}

#[derive(Default)]
struct Sum {
    kills: u64,
    starts: u64,
    events: u64,
    completed: u64,
    coverage: Coverage,
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        say("usage: onward-sim [--seed N | --first N] [--seeds N] [--seconds N] [--trace]");
        return ExitCode::from(2);
    };
    panic::set_hook(Box::new(|_| {}));
    let (next, stop) = (AtomicU64::new(options.first), AtomicBool::new(false));
    let (sum, bad) = (Mutex::new(Sum::default()), Mutex::new(None::<(u64, String)>));
    let started = Instant::now();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| work(&options, started, &next, &stop, &sum, &bad));
        }
    });
    let played = next.load(Ordering::SeqCst).saturating_sub(options.first);
    report(played.min(options.seeds), started.elapsed(), &sum.into_inner().expect("no thread panics"));
    match bad.into_inner().expect("no thread panics") {
        None => ExitCode::SUCCESS,
        Some((seed, why)) => {
            say(&format!("seed {seed} broke: {why}\nplay it again: onward-sim --seed {seed}"));
            ExitCode::FAILURE
        }
    }
}

fn work(
    options: &SimOptions,
    started: Instant,
    next: &AtomicU64,
    stop: &AtomicBool,
    sum: &Mutex<Sum>,
    bad: &Mutex<Option<(u64, String)>>,
) {
    let mut own = Sum::default();
    let late = || options.seconds.is_some_and(|limit| started.elapsed() >= Duration::from_secs(limit));
    while !stop.load(Ordering::SeqCst) && !late() {
        let seed = next.fetch_add(1, Ordering::SeqCst);
        if seed >= options.first.saturating_add(options.seeds) {
            break;
        }
        match panic::catch_unwind(|| sim::play_and_tell(seed, options.trace)) {
            Ok(told) => add(&mut own, told),
            Err(why) => {
                let text = why.downcast_ref::<String>().cloned();
                let text = text.or_else(|| why.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                *bad.lock().expect("no thread panics") = Some((seed, text.unwrap_or_default()));
                stop.store(true, Ordering::SeqCst);
            }
        }
    }
    let mut all = sum.lock().expect("no thread panics");
    all.kills += own.kills;
    all.starts += own.starts;
    all.events += own.events;
    all.completed += own.completed;
    for (name, count) in own.coverage {
        *all.coverage.entry(name).or_default() += count;
    }
}

fn add(sum: &mut Sum, told: SeedTold) {
    sum.kills += told.kills;
    sum.starts += told.starts;
    sum.events += told.events;
    sum.completed += u64::from(told.completed);
    for (name, count) in told.coverage {
        *sum.coverage.entry(name).or_default() += count;
    }
}

fn report(played: u64, took: Duration, sum: &Sum) {
    say(&format!(
        "{played} worlds in {:.1} s: {} starts, {} kills, {} events, {} completed",
        took.as_secs_f64(),
        sum.starts,
        sum.kills,
        sum.events,
        sum.completed
    ));
    for (name, count) in &sum.coverage {
        say(&format!("  {name:<40} {count}"));
    }
}

fn options() -> Option<SimOptions> {
    let mut options = SimOptions { first: 0, seeds: u64::MAX, seconds: None, trace: None };
    let mut words = std::env::args().skip(1);
    let mut bounded = false;
    while let Some(word) = words.next() {
        if word == "--trace" {
            options.trace = Some(say);
            continue;
        }
        let number: u64 = words.next()?.parse().ok()?;
        bounded |= word != "--first";
        match word.as_str() {
            "--seed" => (options.first, options.seeds) = (number, 1),
            "--first" => options.first = number,
            "--seeds" => options.seeds = number,
            "--seconds" => options.seconds = Some(number),
            _ => return None,
        }
    }
    bounded.then_some(options)
}

fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}
