//! `onward demo`: a run is killed twice before the reader's eyes, and goes on.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use onward_core::exit;
use onward_engine::demo::{DemoCommand, DemoStage, Killed};
use onward_engine::{Error, stop};
use serde_json::json;

use crate::args;
use crate::failure::Failure;
use crate::render::{self, demo as page};

/// The stream on which the story is told.
type Tell = fn(&str);

/// Time to read a sentence before the next thing happens.
const READING: Duration = Duration::from_millis(2_200);

/// How often a stop is looked for while somebody reads.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The items after which everything dies, and after which only the driver does. Enough are left then for the phase to be at work still
/// when somebody has read two sentences.
const EVERYTHING_DIES_AFTER: usize = 4;
const DRIVER_DIES_AFTER: usize = 8;

/// Parcels that the plan packs in all.
const PARCELS: usize = 20;

pub(super) fn demo(args: &args::DemoArgs) -> Result<u8, Failure> {
    let tell: Tell = if args.output.json { render::say } else { render::answer };
    let said = |line: &str| tell(&page::said(line));
    let stage = DemoStage::set(page::PLAN_FILE, page::PLAN)?;
    tell(&page::beginning(stage.folder(), PARCELS));
    pause();
    first_run_and_power_cut(&stage, tell)?;
    second_run_without_its_driver(&stage, tell)?;
    show(&stage, &["status"], page::STILL_AT_WORK, tell)?;
    let code = begin(&stage, &["run", page::PLAN_FILE, "--resume"], tell)?.wait(said)?;
    let packed = fs::read_to_string(packed(&stage)).unwrap_or_default();
    let charges = lines_of(&stage.folder().join("charges.txt"));
    stage.clear();
    if code != 0 || packed.lines().count() != PARCELS || charges != 1 {
        let why = io::Error::other(format!("exit code {code}, {charges} charges, parcels:\n{packed}"));
        return Err(Error::Io { what: "the demonstration went wrong".to_owned(), why }.into());
    }
    tell(&page::end(&packed, charges));
    if args.output.json {
        render::answer_json(&json!({ "parcels": PARCELS, "charges": charges }));
    }
    Ok(exit::DONE)
}

/// Everything dies while parcels are packed.
fn first_run_and_power_cut(stage: &DemoStage, tell: Tell) -> Result<(), Failure> {
    let said = |line: &str| tell(&page::said(line));
    let mut run = begin(stage, &["run", page::PLAN_FILE], tell)?;
    run.until(reached(packed(stage), EVERYTHING_DIES_AFTER), said)?;
    stage.kill(&run, Killed::Everything)?;
    run.wait(said)?;
    tell(page::EVERYTHING_DIED);
    pause();
    Ok(())
}

/// The program alone dies; the phase goes on.
fn second_run_without_its_driver(stage: &DemoStage, tell: Tell) -> Result<(), Failure> {
    let said = |line: &str| tell(&page::said(line));
    tell(page::GOES_ON);
    let mut run = begin(stage, &["run", page::PLAN_FILE, "--resume"], tell)?;
    run.until(reached(packed(stage), DRIVER_DIES_AFTER), said)?;
    stage.kill(&run, Killed::Driver)?;
    run.wait(said)?;
    tell(page::DRIVER_DIED);
    pause();
    Ok(())
}

fn show(stage: &DemoStage, words: &[&str], after: &str, tell: Tell) -> Result<(), Failure> {
    begin(stage, words, tell)?.wait(|line| tell(&page::said(line)))?;
    tell(after);
    pause();
    Ok(())
}

fn begin(stage: &DemoStage, words: &[&str], tell: Tell) -> Result<DemoCommand, Failure> {
    tell(&page::typed(words));
    Ok(stage.start(words)?)
}

fn packed(stage: &DemoStage) -> PathBuf {
    stage.folder().join("packed.txt")
}

fn reached(file: PathBuf, lines: usize) -> impl Fn() -> bool {
    move || lines_of(&file) >= lines
}

fn lines_of(file: &Path) -> usize {
    fs::read_to_string(file).map_or(0, |text| text.lines().count())
}

fn pause() {
    let steps = READING.as_millis() / LOOK_EVERY.as_millis();
    for _ in 0..steps {
        if stop::signal().is_some() {
            return;
        }
        thread::sleep(LOOK_EVERY);
    }
}
