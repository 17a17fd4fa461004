//! W5: questions about a long history, asked in process.

use onward_core::id::{CheckpointId, RunId};
use onward_store::{CheckpointFilter, OpenMode, Page, Store};
use rusqlite::{Connection, params};

use crate::Result;
use crate::figure::{Figure, Goal, Report};
use crate::measure::{Times, in_turns};
use crate::options::Options;
use crate::ours;

const NAME: &str = "W5";
const RUNS: usize = 10;
const CHECKPOINTS_PER_RUN: usize = 10_000;
/// Checkpoints that are stored together while the history is made.
const PER_COMMIT: usize = 100;
const GOAL_TIMES_QUERY: f64 = 5.0;
/// The time of a question may not grow with the history.
const GOAL_GROWTH: f64 = 1.5;
const LATEST: usize = 20;

pub(crate) fn measure(options: &Options, report: &mut Report) -> Result<()> {
    let (folder, beside) = (options.scratch()?, options.scratch()?);
    let mut bare = Bare::new(&beside.join("bare.db"))?;
    let mut ids = Vec::new();
    let mut runs = Vec::new();
    let mut before: Option<Vec<f64>> = None;
    for run in 0..RUNS {
        let mut books = ours::open(&folder, &format!("history-{run}"))?;
        for commit in 0..CHECKPOINTS_PER_RUN / PER_COMMIT {
            let steps = (0..PER_COMMIT).map(|step| ours::step(commit * PER_COMMIT + step)).collect();
            let stored = books.change_all(steps)?;
            bare.insert(run, &stored)?;
            ids.extend(stored);
        }
        runs.push(books.run().clone());
        drop(books);
        if run == 0 || run + 1 == RUNS {
            let mut store = onward_store::open(&folder.join(onward_engine::FOLDER), OpenMode::Look)?;
            let case = format!("{} checkpoints", ids.len());
            let taken = ask(options, report, &case, &mut *store, &bare, &ids, &runs)?;
            if let Some(before) = &before {
                show_growth(report, &case, before, &taken)?;
            }
            before = Some(taken);
        }
    }
    Ok(())
}

/// Asks the three questions; gives the ratio of each to its floor.
fn ask(
    options: &Options,
    report: &mut Report,
    case: &str,
    store: &mut dyn Store,
    bare: &Bare,
    ids: &[CheckpointId],
    runs: &[RunId],
) -> Result<Vec<f64>> {
    let turns = options.turns(options.pick(11, 31, 31), 20);
    let (mut ours_at, mut bare_at) = (0, 0);
    let next = |at: &mut usize| {
        *at = (*at + 7_919) % ids.len();
        &ids[*at]
    };
    let last_run = runs.len() - 1;
    let mut latest = in_turns(
        turns,
        &mut [
            &mut || expect(store.checkpoints(CheckpointFilter::All, Page::first(LATEST))?.len(), LATEST),
            &mut || expect(bare.latest()?, LATEST),
        ],
    )?;
    latest.extend(in_turns(
        turns,
        &mut [&mut || expect(usize::from(store.checkpoint(next(&mut ours_at))?.is_some()), 1), &mut || {
            bare.one(next(&mut bare_at))
        }],
    )?);
    latest.extend(in_turns(
        turns,
        &mut [
            &mut || expect(store.checkpoints(CheckpointFilter::OfRun(&runs[last_run]), Page::first(1))?.len(), 1),
            &mut || bare.latest_of(last_run),
        ],
    )?);
    let whats = ["latest 20 of all", "one by id", "latest of one run"];
    whats.iter().zip(latest.chunks(2)).map(|(what, times)| show(report, case, what, times)).collect()
}

fn show(report: &mut Report, case: &str, what: &str, times: &[Times]) -> Result<f64> {
    let micros = |milliseconds: f64| milliseconds * 1_000.0;
    let (ours, floor) = (&times[0], micros(times[1].p50()));
    let figure = |part: &str, value: f64| Figure::new(NAME, case, format!("{what}, {part}"), micros(value), "µs");
    report.add(&figure("p50", ours.p50()).over(floor).goal(Goal::Times(GOAL_TIMES_QUERY)))?;
    report.add(&figure("p99", ours.p99()).over(micros(times[1].p99())))?;
    Ok(ours.p50() / times[1].p50())
}

fn show_growth(report: &mut Report, case: &str, before: &[f64], after: &[f64]) -> Result<()> {
    for (what, (before, after)) in ["latest 20", "one by id", "latest of run"].iter().zip(before.iter().zip(after)) {
        let figure = Figure::new(NAME, case, format!("{what}, ratio over that of a tenth"), *after, "×");
        report.add(&figure.over(*before).goal(Goal::Times(GOAL_GROWTH)))?;
    }
    Ok(())
}

fn expect(found: usize, wanted: usize) -> Result<()> {
    if found == wanted { Ok(()) } else { Err(format!("{found} rows where {wanted} are").into()) }
}

/// A table of the same size with the same indexes, asked with plain SQL.
struct Bare(Connection);

impl Bare {
    fn new(path: &std::path::Path) -> Result<Self> {
        let connection = Connection::open(path)?;
        connection.execute_batch(
            "PRAGMA journal_mode = wal; PRAGMA synchronous = normal;
             CREATE TABLE checkpoints (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, run INTEGER NOT NULL,
                 meta BLOB NOT NULL, document BLOB NOT NULL);
             CREATE INDEX by_run ON checkpoints (run, number)",
        )?;
        Ok(Self(connection))
    }

    fn insert(&mut self, run: usize, ids: &[CheckpointId]) -> Result<()> {
        let transaction = self.0.transaction()?;
        for id in ids {
            let sql = "INSERT INTO checkpoints (id, run, meta, document) VALUES (?1, ?2, ?3, ?4)";
            let row = params![id.as_str(), i64::try_from(run)?, [b'm'; 120], [b'd'; 400]];
            transaction.prepare_cached(sql)?.execute(row)?;
        }
        Ok(transaction.commit()?)
    }

    fn latest(&self) -> Result<usize> {
        let sql = "SELECT number, id, run, meta FROM checkpoints ORDER BY number DESC LIMIT ?1";
        let mut statement = self.0.prepare_cached(sql)?;
        let rows = statement.query_map([i64::try_from(LATEST)?], |row| Ok((row.get(1)?, row.get(3)?)))?;
        Ok(rows.collect::<rusqlite::Result<Vec<(String, Vec<u8>)>>>()?.len())
    }

    fn one(&self, id: &CheckpointId) -> Result<()> {
        let mut statement = self.0.prepare_cached("SELECT number, document FROM checkpoints WHERE id = ?1")?;
        let _: (i64, Vec<u8>) = statement.query_row([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(())
    }

    fn latest_of(&self, run: usize) -> Result<()> {
        let sql = "SELECT id, meta FROM checkpoints WHERE run = ?1 ORDER BY number DESC LIMIT 1";
        let mut statement = self.0.prepare_cached(sql)?;
        let _: (String, Vec<u8>) = statement.query_row([i64::try_from(run)?], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(())
    }
}
