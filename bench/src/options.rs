//! The options of a measurement.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::Result;
use crate::measure::Turns;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workload {
    Saves,
    Steps,
    Phases,
    ComingBack,
    History,
    Growth,
    Snapshots,
    Flushes,
    Small,
    Files,
}

impl Workload {
    const ALL: [Self; 10] = [
        Self::Flushes,
        Self::Small,
        Self::Steps,
        Self::Phases,
        Self::ComingBack,
        Self::History,
        Self::Snapshots,
        Self::Saves,
        Self::Growth,
        Self::Files,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Saves => "W1",
            Self::Steps => "W2",
            Self::Phases => "W3",
            Self::ComingBack => "W4",
            Self::History => "W5",
            Self::Growth => "W6",
            Self::Snapshots => "W7",
            Self::Small => "W9",
            Self::Flushes => "flushes",
            Self::Files => "files",
        }
    }
}

/// How much time there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effort {
    /// Under 90 seconds.
    Quick,
    Usual,
    /// With the largest sizes, under 10 minutes.
    Full,
}

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) workloads: Vec<Workload>,
    pub(crate) effort: Effort,
    /// The real program.
    pub(crate) binary: PathBuf,
    /// Where the JSON lines go.
    pub(crate) out: PathBuf,
    /// Where the measured files lie; its disk is the one that is measured.
    pub(crate) folder: PathBuf,
    pub(crate) begun: Instant,
    /// Made when it is first needed.
    root: OnceCell<TempDir>,
}

impl Options {
    pub(crate) fn read(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self {
            workloads: Vec::new(),
            effort: Effort::Usual,
            binary: PathBuf::from("target/release/onward"),
            out: PathBuf::from("target/bench/figures.jsonl"),
            folder: std::env::temp_dir(),
            begun: Instant::now(),
            root: OnceCell::new(),
        };
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            let mut path = || arguments.next().map(PathBuf::from).ok_or_else(|| format!("{argument} needs a path"));
            match argument.as_str() {
                "--quick" => options.effort = Effort::Quick,
                "--full" => options.effort = Effort::Full,
                "--binary" => options.binary = path()?,
                "--out" => options.out = path()?,
                "--folder" => options.folder = path()?,
                name => options.workloads.push(workload(name)?),
            }
        }
        if options.workloads.is_empty() {
            options.workloads.extend(Workload::ALL);
        }
        options.binary = options
            .binary
            .canonicalize()
            .map_err(|why| format!("{}: {why}; build it, or start bench/run", options.binary.display()))?;
        Ok(options)
    }

    /// The value that fits the effort.
    pub(crate) fn pick<T>(&self, quick: T, usual: T, full: T) -> T {
        match self.effort {
            Effort::Quick => quick,
            Effort::Usual => usual,
            Effort::Full => full,
        }
    }

    /// Whether something that takes about so long still fits. On a busy machine large cases are left out, and said to be.
    pub(crate) fn has_time(&self, milliseconds: f64) -> bool {
        let limit = Duration::from_secs(self.pick(70, 260, 540));
        self.begun.elapsed().as_secs_f64() + milliseconds / 1_000.0 < limit.as_secs_f64()
    }

    /// Turns that end early where a comparison takes too long.
    pub(crate) fn turns(&self, rounds: usize, block: usize) -> Turns {
        Turns { rounds, block, limit: self.patience() }
    }

    /// How long one comparison may take before it must do with what it has.
    pub(crate) fn patience(&self) -> Duration {
        Duration::from_secs(self.pick(3, 20, 40))
    }

    /// A new folder that stays until the end: ext4 makes no new file in the place of one that was deleted in the last
    /// minutes, and its search for another place would be measured as ours.
    pub(crate) fn scratch(&self) -> Result<PathBuf> {
        if self.root.get().is_none() {
            let made = tempfile::Builder::new().prefix("onward-bench-").tempdir_in(&self.folder)?;
            spread(made.path());
            self.root.set(made).expect("it was not there a moment ago");
        }
        let root = self.root.get().expect("it was just made");
        Ok(tempfile::Builder::new().prefix("").tempdir_in(root.path())?.keep())
    }
}

/// Asks ext4 to put the folders in it far from each other, so that what an earlier run deleted is in nobody's way.
fn spread(root: &Path) {
    // Another file system may know no such mark, and has no such search either.
    let _ = Command::new("chattr").arg("+T").arg(root).stderr(Stdio::null()).status();
}

fn workload(name: &str) -> Result<Workload> {
    let found = Workload::ALL.into_iter().find(|workload| workload.name().eq_ignore_ascii_case(name));
    let names = Workload::ALL.map(Workload::name).join(", ");
    Ok(found.ok_or_else(|| format!("{name} is none of {names}, --quick, --full, --folder, --binary, --out"))?)
}

/// All bytes of the files below a folder, as the disk counts them.
pub(crate) fn bytes_below(folder: &Path) -> Result<u64> {
    use std::os::unix::fs::MetadataExt;
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        bytes += if about.is_dir() { bytes_below(&entry.path())? } else { about.blocks() * 512 };
    }
    Ok(bytes)
}
