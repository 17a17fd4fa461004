//! Rigs over the real binary, which must not be confused by what happens to its processes.
//!
//! `onward-rigs kills --bin target/release/onward --runs 300 --seed 1` kills processes of the tree at random moments.
//! `onward-rigs faults --bin target/release/onward --points 200 --seed 1` has system calls fail, `--every` all of them,
//! `--pairs 60` two of them in one run.
//!
//! Both print figures, and of every seed or point that broke what was done, what is wrong, and the line that plays it again. The figures
//! are printed whatever happens: also after Ctrl+C, which leaves what is being played, and where the rig itself breaks.

use std::collections::BTreeMap;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, Signal};
use onward_testkit::rig::kills::{self, Force, Strikes};
#[cfg(target_arch = "x86_64")]
use onward_testkit::rig::{Aim, CallHit, Role, faults};
use onward_testkit::rig::{give_up, is_given_up};

const USAGE: &str = "usage: onward-rigs kills --bin PATH [--runs N] [--seed N] [--kills N] [--only renames] [--jobs N] [--seconds N] [--tale]
       onward-rigs faults --bin PATH [--points N] [--seed N] [--every] [--pairs N] [--at ROLE:PROCESS:CALL:WAY[+…]] [--jobs N] [--seconds N] [--tale]";

/// Time between two lines that say how far it is.
const PROGRESS_EVERY: Duration = Duration::from_secs(30);

/// The exit code of a rig that was interrupted before anything broke: its figures are not those that were asked for.
const INTERRUPTED: u8 = 130;

struct RigOptions {
    rig: String,
    bin: PathBuf,
    seed: u64,
    runs: u64,
    force: Force,
    points: usize,
    every: bool,
    /// So many pairs of points in the place of points.
    pairs: usize,
    /// `ROLE:PROCESS:CALL:WAY`, several with `+` between them.
    at: Option<String>,
    jobs: usize,
    /// After so long nothing more is begun.
    seconds: Option<u64>,
    tale: bool,
}

/// The report about one seed or one point.
#[derive(Default)]
struct PlayedReport {
    name: String,
    /// The words that play it again.
    again: String,
    sums: Vec<(&'static str, u64)>,
    /// The things that were hit, and how often.
    hits: Vec<(String, u64)>,
    longest_until_noticed: Duration,
    faults: Vec<String>,
    tale: Vec<String>,
    kept: Option<PathBuf>,
    given_up: bool,
}

/// All reports so far.
struct Tally {
    what: &'static str,
    of: usize,
    done: usize,
    begun: Instant,
    told: Instant,
    broke: Vec<String>,
    sums: BTreeMap<&'static str, u64>,
    hits: BTreeMap<String, u64>,
    longest_until_noticed: Duration,
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
    side_by_side("runs", &seeds, options, |seed| {
        let told = kills::play(&options.bin, *seed, options.force);
        let sums = vec![
            ("starts", told.starts),
            ("attempts", told.attempts),
            ("effects", told.effects),
            ("posts", told.posts),
            ("posts acknowledged", told.acknowledged),
        ];
        let only = if options.force.strikes == Strikes::Renames { " --only renames" } else { "" };
        PlayedReport {
            name: format!("seed {seed}"),
            again: format!("onward-rigs kills --seed {seed} --kills {}{only}", options.force.kills_max),
            sums,
            hits: told.hits.into_iter().collect(),
            longest_until_noticed: told.longest_until_noticed,
            faults: told.faults,
            tale: told.tale,
            kept: told.kept,
            given_up: told.given_up,
        }
    })
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
    side_by_side("points", &aims, options, |aims| {
        let told = faults::play(&options.bin, aims);
        let names = aims.iter().map(|aim| format!("{}:{}:{}:{}", aim.role, aim.process, aim.call, aim.way));
        let name = names.collect::<Vec<_>>().join("+");
        let again = format!("onward-rigs faults --at {name}");
        let met = told.hits.len();
        let mut sums = vec![("met", u64::from(met > 0))];
        if aims.len() > 1 {
            sums.push(("met with both faults", u64::from(met == aims.len())));
        }
        let words = |hit: &CallHit| [format!("{} {}", hit.role, faults::kind_of(hit)), format!("call {}", hit.call)];
        PlayedReport {
            name,
            again,
            sums,
            hits: told.hits.iter().flat_map(words).map(|hit| (hit, 1)).collect(),
            faults: told.faults,
            tale: told.tale,
            kept: told.kept,
            given_up: told.given_up,
            ..PlayedReport::default()
        }
    })
}

/// Plays each of many, so many at once, until the time is up or somebody interrupts it, and prints the figures.
fn side_by_side<T: Sync>(
    what: &'static str,
    of: &[T],
    options: &RigOptions,
    each: impl Fn(&T) -> PlayedReport + Sync,
) -> ExitCode {
    let now = Instant::now();
    let (broke, sums, hits) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    let longest_until_noticed = Duration::ZERO;
    let tally = Tally { what, of: of.len(), done: 0, begun: now, told: now, broke, sums, hits, longest_until_noticed };
    let tally = Arc::new(Mutex::new(tally));
    heed_signals(tally.clone());
    let next = AtomicUsize::new(0);
    let is_late = || is_given_up() || options.seconds.is_some_and(|limit| now.elapsed() >= Duration::from_secs(limit));
    thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(|| {
                while !is_late()
                    && let Some(one) = of.get(next.fetch_add(1, Ordering::SeqCst))
                {
                    let report =
                        catch_unwind(AssertUnwindSafe(|| each(one))).unwrap_or_else(|why| the_rig_broke(&*why));
                    if options.tale || !report.faults.is_empty() {
                        show(&report);
                    }
                    take(&tally).add(report);
                }
            });
        }
    });
    let tally = take(&tally);
    tally.print();
    tally.verdict()
}

/// A rig that breaks has one point less, and not all figures.
fn the_rig_broke(why: &(dyn std::any::Any + Send)) -> PlayedReport {
    let text = why.downcast_ref::<String>().cloned();
    let text = text.or_else(|| why.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default();
    let name = "the rig itself".to_owned();
    PlayedReport { name, faults: vec![text], given_up: is_given_up(), ..PlayedReport::default() }
}

/// The first signal has what is being played left, and all figures follow. The second one does not wait for that.
fn heed_signals(tally: Arc<Mutex<Tally>>) {
    let mut set = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        set.add(signal);
    }
    // Threads have the mask of the one that starts them; commands begin without one.
    if set.thread_block().is_err() {
        return;
    }
    thread::spawn(move || {
        if set.wait().is_ok() {
            say("interrupted: what is being played is left");
            give_up();
        }
        if set.wait().is_ok() {
            let tally = take(&tally);
            tally.print();
            std::process::exit(i32::from(INTERRUPTED));
        }
    });
}

fn take(tally: &Mutex<Tally>) -> MutexGuard<'_, Tally> {
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tally {
    fn add(&mut self, report: PlayedReport) {
        if report.given_up {
            return;
        }
        self.done += 1;
        for (name, count) in report.sums {
            *self.sums.entry(name).or_default() += count;
        }
        for (name, count) in report.hits {
            *self.hits.entry(name).or_default() += count;
        }
        self.longest_until_noticed = self.longest_until_noticed.max(report.longest_until_noticed);
        if !report.faults.is_empty() {
            self.broke.push(report.name);
        }
        if self.told.elapsed() >= PROGRESS_EVERY {
            self.told = Instant::now();
            self.say_how_far();
        }
    }

    fn say_how_far(&self) {
        let (seconds, done) = (self.begun.elapsed().as_secs(), self.done.max(1) as u64);
        let left = seconds * (self.of.saturating_sub(self.done)) as u64 / done;
        say(&format!(
            "{} of {} {} in {seconds} s, about {left} s to go; {} broke {:?}",
            self.done,
            self.of,
            self.what,
            self.broke.len(),
            self.broke
        ));
    }

    fn print(&self) {
        let sums: Vec<String> = self.sums.iter().map(|(name, count)| format!("{count} {name}")).collect();
        say(&format!(
            "{} of {} {} in {} s: {}; {} broke {:?}",
            self.done,
            self.of,
            self.what,
            self.begun.elapsed().as_secs(),
            sums.join(", "),
            self.broke.len(),
            self.broke
        ));
        for (name, count) in &self.hits {
            say(&format!("  {name:<28} {count}"));
        }
        if self.longest_until_noticed > Duration::ZERO {
            say(&format!("  a renaming was noticed after {} ms at most", self.longest_until_noticed.as_millis()));
        }
    }

    fn verdict(&self) -> ExitCode {
        match (self.broke.is_empty(), is_given_up()) {
            (false, _) => ExitCode::FAILURE,
            (true, true) => ExitCode::from(INTERRUPTED),
            (true, false) => ExitCode::SUCCESS,
        }
    }
}

fn show(report: &PlayedReport) {
    let PlayedReport { name, again, faults, tale, kept, .. } = report;
    say(&format!("== {name}\n{}", tale.join("\n")));
    if !faults.is_empty() {
        say(&format!("{name} broke:\n  {}\nplay it again: {again}", faults.join("\n  ")));
    }
    if let Some(kept) = kept {
        say(&format!("kept in {}", kept.display()));
    }
}

fn options() -> Option<RigOptions> {
    let mut words = std::env::args().skip(1);
    let mut options = RigOptions {
        rig: words.next()?,
        bin: PathBuf::new(),
        seed: 1,
        runs: 1,
        force: Force::default(),
        points: 50,
        every: false,
        pairs: 0,
        at: None,
        jobs: 1,
        seconds: None,
        tale: false,
    };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--tale" => options.tale = true,
            "--every" => options.every = true,
            "--pairs" => options.pairs = words.next()?.parse().ok()?,
            "--bin" => options.bin = PathBuf::from(words.next()?).canonicalize().ok()?,
            "--seed" => options.seed = words.next()?.parse().ok()?,
            "--runs" => options.runs = words.next()?.parse().ok()?,
            "--kills" => options.force.kills_max = words.next()?.parse().ok()?,
            "--only" => options.force.strikes = (words.next()? == "renames").then_some(Strikes::Renames)?,
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
fn aims(options: &RigOptions) -> Option<Vec<Vec<Aim>>> {
    if let Some(text) = &options.at {
        return Some(vec![text.split('+').map(aim).collect::<Option<_>>()?]);
    }
    let seen = faults::record(&options.bin);
    let all = faults::points(&seen);
    say(&format!("{} calls, {} points", seen.len(), all.len()));
    if options.pairs > 0 {
        let pairs = faults::sample_pairs(&seen, options.pairs, options.seed);
        return Some(pairs.into_iter().map(Vec::from).collect());
    }
    let points = if options.every { all } else { faults::sample(&seen, options.points, options.seed) };
    Some(points.into_iter().map(|aim| vec![aim]).collect())
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
