//! Pruning: what retention would delete, and deleting it.
//!
//! Every run and every run's checkpoints go in one commit of the store; refs, folders and outputs go after it. Whoever is killed in
//! between leaves something that belongs to nobody, and the next prune takes it away.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use onward_core::event::Event;
use onward_core::id::{CheckpointId, PhaseId, RunId, Seq};
use onward_core::mutant::{self, Defect};
use onward_core::retention::{self, CheckpointFacts, Moment, PruneItem, PruneLine, PrunePlan, RunFacts, RunRetention};
use onward_core::run::{Run, RunStatus};
use onward_core::view::{self, Summary};
use onward_store::listing;
use onward_store::{CheckpointRow, PruneList, RunFilter, RunRow};

use super::housekeeping;
use crate::Onward;
use crate::attendant::old_output;
use crate::error::{Error, Result};
use crate::journal;
use crate::kill_point::reached;
use crate::queries::runs::checkpoint_from;
use crate::vcs::working_tree::WorkingTree;

/// Answers to messages stay this long. Whoever posted one waits for seconds.
const ANSWERED_KEPT: SignedDuration = SignedDuration::from_hours(24 * 7);
/// That a run was forked is among its first records.
const FORKED_WITHIN: usize = 4;
/// Folders of the store that have one folder for each run.
const FOLDERS: [&str; 4] = ["attempts", "state", "artifacts", "worktrees"];

/// Snapshots of a run that were taken after it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SnapshotsSince {
    /// The caller drives the run: any of them is its own, and it has no use for them.
    Ours,
    /// Somebody may have begun to drive it. One that was taken since is of a checkpoint that is not listed yet.
    Perhaps,
}

/// The outcome of a prune.
#[derive(Debug, Default)]
pub struct PruneDone {
    pub deleted: Vec<PruneLine>,
    /// Lines that were not carried out, with the reason.
    pub failed: Vec<(PruneLine, String)>,
    /// The sum of the lines that were deleted, as the plan counted them.
    pub bytes_freed: u64,
}

impl Onward {
    /// The prune plan of retention: what it would delete, and why; deletes nothing. With an age only what is older goes.
    pub fn prune_plan(&mut self, older_than: Option<Duration>) -> Result<PrunePlan> {
        let mut facts = self.facts_of_all()?;
        let policy = self.config.retention();
        let policy = older_than.map_or(policy.clone(), |age| policy.only_older_than(age));
        let moment = Moment { now: Timestamp::now(), doubt: housekeeping::clock_doubt(&self.project) };
        let mut read = BTreeSet::new();
        loop {
            let plan = retention::plan(&policy, &facts, &moment);
            // What goes is read first: what cannot be read may be all that is left.
            if !self.note_unreadable(&plan, &mut facts, &mut read)? {
                return Ok(plan);
            }
        }
    }

    fn facts_of_all(&mut self) -> Result<Vec<RunFacts>> {
        let mut facts = Vec::new();
        for row in self.rows(&RunFilter::default())? {
            facts.push(self.facts(&row)?);
        }
        for (parent, fork) in self.unfinished_forks(&facts)? {
            if let Some(run) = facts.iter_mut().find(|run| run.id == parent) {
                run.forked_to = Some(fork);
            }
        }
        Ok(facts)
    }

    /// Unfinished runs that were forked, behind the runs that they were forked from. One that cannot be read is not known as one.
    fn unfinished_forks(&mut self, facts: &[RunFacts]) -> Result<Vec<(RunId, RunId)>> {
        let mut all = Vec::new();
        for run in facts.iter().filter(|run| run.unfinished && !mutant::has(Defect::ForgetTheForks)) {
            let first = self.store()?.events(&run.id, Seq(0), FORKED_WITHIN).unwrap_or_default();
            let from = first.iter().find_map(|record| match journal::event(&record.body)? {
                Event::RunForked { from, .. } => Some(from),
                _ => None,
            });
            all.extend(from.map(|from| (from, run.id.clone())));
        }
        Ok(all)
    }

    /// Reads all that a plan would delete. Whether something of it cannot be read, which is noted in the facts.
    fn note_unreadable(
        &mut self,
        plan: &PrunePlan,
        facts: &mut [RunFacts],
        read: &mut BTreeSet<String>,
    ) -> Result<bool> {
        let mut found = false;
        for line in plan.delete.iter().filter(|line| line.item != PruneItem::Output) {
            if !read.insert(line.id.clone()) {
                continue;
            }
            let why = match line.item {
                PruneItem::Run => self.load(&line.run).err(),
                PruneItem::Checkpoint | PruneItem::Output => self.unreadable_checkpoint(&line.id),
            };
            let Some(why) = why else { continue };
            if matches!(why, Error::Stopped { .. }) {
                return Err(why);
            }
            found = true;
            let Some(run) = facts.iter_mut().find(|run| run.id == line.run) else { continue };
            match run.checkpoints.iter_mut().find(|checkpoint| checkpoint.id.as_str() == line.id) {
                Some(checkpoint) => checkpoint.readable = false,
                None => run.unreadable = Some(why.to_string()),
            }
        }
        Ok(found)
    }

    fn unreadable_checkpoint(&mut self, id: &str) -> Option<Error> {
        let id = CheckpointId::new(id);
        let found = self.store().and_then(|store| Ok(store.checkpoint(&id)?));
        match found {
            Ok(Some(found)) => checkpoint_from(&id, &found).err(),
            // It was deleted meanwhile.
            Ok(None) => None,
            Err(why) => Some(why),
        }
    }

    fn facts(&mut self, row: &RunRow) -> Result<RunFacts> {
        let checkpoints = self.checkpoint_rows(&row.run)?.iter().map(checkpoint_facts).collect();
        let summary = row.summary.as_ref().map_err(ToString::to_string).and_then(|bytes| {
            serde_json::from_slice::<Summary>(bytes).map_err(|why| format!("its summary cannot be understood: {why}"))
        });
        let summary = match summary {
            Ok(summary) => summary,
            Err(why) => return Ok(unreadable_run(row, why, checkpoints)),
        };
        let over = matches!(summary.status, RunStatus::Completed | RunStatus::Archived);
        let driver = self.driver(&row.run)?;
        Ok(RunFacts {
            id: row.run.clone(),
            kind: summary.kind,
            project: summary.project,
            status: view::status_seen(summary.status, driver.as_ref()),
            updated_at: summary.updated_at,
            arrived_at: summary.arrived_at,
            keep: summary.keep,
            unfinished: !over,
            unreadable: None,
            forked_to: None,
            checkpoints,
            logs: old_output::of_run(&self.project.store_folder(), &row.run),
        })
    }

    /// Deletes what a plan lists. What cannot be deleted is told, and the rest goes all the same. Whatever changed since the plan was
    /// made, for somebody went on with a run, is left alone.
    pub fn prune(&mut self, plan: &PrunePlan, older_than: Option<Duration>) -> Result<PruneDone> {
        let now = self.prune_plan(older_than)?;
        let still: BTreeSet<(PruneItem, &str)> = now.delete.iter().map(|line| (line.item, line.id.as_str())).collect();
        let lines = plan.delete.iter().filter(|line| still.contains(&(line.item, line.id.as_str())));
        let mut lines: Vec<PruneLine> = lines.cloned().collect();
        lines.sort_by_key(|line| line.item);
        let done = self.delete_lines(lines)?;
        housekeeping::note_prune(&self.project);
        Ok(done)
    }

    pub(super) fn delete_lines(&mut self, lines: Vec<PruneLine>) -> Result<PruneDone> {
        let mut done = PruneDone::default();
        let gone: BTreeSet<RunId> =
            lines.iter().filter(|line| line.item == PruneItem::Run).map(|line| line.run.clone()).collect();
        let mut checkpoints: BTreeMap<RunId, Vec<PruneLine>> = BTreeMap::new();
        for line in lines {
            match line.item {
                PruneItem::Run => {
                    let outcome = self.delete(line.run.as_str());
                    done.note(vec![line], outcome);
                }
                // They go with it, and stay with it.
                PruneItem::Checkpoint | PruneItem::Output if gone.contains(&line.run) => done.note_with_run(line),
                PruneItem::Checkpoint => checkpoints.entry(line.run.clone()).or_default().push(line),
                PruneItem::Output => {
                    let outcome = old_output::forget(&self.project.store_folder(), &line.id);
                    let outcome = outcome.map_err(Error::io(format!("removing {}", line.id)));
                    done.note(vec![line], outcome);
                }
            }
        }
        let forked: BTreeSet<RunId> = if checkpoints.is_empty() { BTreeSet::new() } else { self.forked_runs()? };
        for (run, lines) in checkpoints {
            let outcome = self.delete_checkpoints(&run, &lines, &forked);
            done.note(lines, outcome);
        }
        let answers = PruneList { answered_before: Some(Timestamp::now() - ANSWERED_KEPT), ..PruneList::default() };
        self.store()?.prune(&answers)?;
        self.sweep_what_was_left()?;
        Ok(done)
    }

    /// Runs from which unfinished ones were forked.
    fn forked_runs(&mut self) -> Result<BTreeSet<RunId>> {
        let forked = self.facts_of_all()?.into_iter().filter(|facts| facts.forked_to.is_some());
        Ok(forked.map(|facts| facts.id).collect())
    }

    /// Deletes checkpoints of a run that stays, in one commit, and then the snapshots that only they named.
    fn delete_checkpoints(&mut self, run: &RunId, lines: &[PruneLine], forked: &BTreeSet<RunId>) -> Result<()> {
        let checkpoints = lines.iter().map(|line| CheckpointId::new(line.id.as_str())).collect();
        reached("prune.before-checkpoints");
        self.store()?.prune(&PruneList { checkpoints, ..PruneList::default() })?;
        reached("prune.after-checkpoints");
        // Of a run that is driven the next prune sees to it; of one that was forked the fork may need them.
        if self.driver(run)?.is_none() && !forked.contains(run) {
            let run = self.load(run)?;
            self.drop_unnamed_snapshots(&run, SnapshotsSince::Perhaps)?;
        }
        Ok(())
    }

    /// Takes away what a deletion left that was cut short: folders and refs of runs that were deleted here.
    fn sweep_what_was_left(&mut self) -> Result<()> {
        let folder = self.project.store_folder();
        let names = |place: &&str| listing::readable(folder.join(place));
        let all: BTreeSet<RunId> = FOLDERS
            .iter()
            .flat_map(names)
            .map(|entry| entry.file_name())
            .filter_map(|name| name.into_string().ok())
            .map(RunId::new)
            .collect();
        for run in all {
            if self.inspection()?.run_was_deleted(&run)? {
                self.drop_refs_of(&run);
                // What cannot be taken away now is in nobody's way, and the next prune tries again.
                drop(self.remove_what_is_beside_the_store(&run));
            }
        }
        Ok(())
    }

    /// Lets go of the snapshots of a run that no checkpoint names any more and that nothing of the run needs.
    pub(crate) fn drop_unnamed_snapshots(&mut self, run: &Run, since: SnapshotsSince) -> Result<usize> {
        let rows = self.checkpoint_rows(&run.id)?;
        let mut needed: BTreeSet<String> = BTreeSet::new();
        for row in &rows {
            // What cannot be read may name any of them.
            let Some(meta) = journal::meta(row.meta.as_ref()) else { return Ok(0) };
            needed.extend(meta.snapshot.map(|kept| kept.commit));
        }
        needed.extend(run.vcs.last.as_ref().map(|last| last.commit.clone()));
        for (_, state) in run.phases() {
            let attempt = state.attempt.as_ref();
            needed.extend(state.base.clone());
            needed.extend(attempt.and_then(|attempt| attempt.clean.clone()));
            needed.extend(attempt.and_then(|attempt| attempt.kept.clone()));
        }
        let files = run.vcs.rewinding.iter().chain(&run.vcs.undoable).filter_map(|begun| begun.files.as_ref());
        needed.extend(files.map(|files| files.to.clone()));
        needed.extend(run.vcs.theirs.iter().flat_map(|pair| [pair.older.clone(), pair.newer.clone()]));
        let tree = WorkingTree::of(&self.project, run.started.worktree.as_deref());
        let Ok(repository) = tree.repository() else { return Ok(0) };
        let newest = match since {
            SnapshotsSince::Perhaps => run.vcs.last.as_ref().map_or(0, |last| last.number),
            SnapshotsSince::Ours => u64::MAX,
        };
        let keep = |number: u64, commit: &str| number > newest || needed.contains(commit);
        let dropped = repository.drop_snapshots(&run.id, &keep);
        // What cannot be let go stays behind hidden refs, where it harms nobody.
        Ok(dropped.unwrap_or_default())
    }
}

impl PruneDone {
    fn note(&mut self, lines: Vec<PruneLine>, outcome: Result<()>) {
        match outcome {
            Ok(()) => {
                self.bytes_freed += lines.iter().map(|line| line.bytes).fold(0, u64::saturating_add);
                self.deleted.extend(lines);
            }
            Err(why) => self.failed.extend(lines.into_iter().map(|line| (line, why.to_string()))),
        }
    }

    fn note_with_run(&mut self, line: PruneLine) {
        if let Some((_, why)) = self.failed.iter().find(|(run, _)| run.item == PruneItem::Run && run.run == line.run) {
            let why = why.clone();
            self.failed.push((line, why));
        } else {
            self.bytes_freed += line.bytes;
            self.deleted.push(line);
        }
    }
}

fn unreadable_run(row: &RunRow, why: String, checkpoints: Vec<CheckpointFacts>) -> RunFacts {
    RunFacts {
        id: row.run.clone(),
        kind: String::new(),
        project: row.run.to_string(),
        status: RunStatus::Interrupted,
        updated_at: Timestamp::UNIX_EPOCH,
        arrived_at: None,
        keep: RunRetention::default(),
        unfinished: false,
        unreadable: Some(why),
        forked_to: None,
        checkpoints,
        logs: Vec::new(),
    }
}

fn checkpoint_facts(row: &CheckpointRow) -> CheckpointFacts {
    let meta = journal::meta(&row.meta);
    let phase: Option<PhaseId> = meta.as_ref().and_then(|meta| meta.phase.clone());
    CheckpointFacts {
        id: row.id.clone(),
        seq: row.seq,
        number: row.number,
        created_at: meta.as_ref().map(|meta| meta.created_at),
        triggers: meta.as_ref().map(|meta| meta.triggers.clone()).unwrap_or_default(),
        phase,
        batch: meta.as_ref().and_then(|meta| meta.batch),
        name: meta.as_ref().and_then(|meta| meta.name.clone()),
        can_resume: meta.as_ref().is_some_and(|meta| meta.can_resume),
        bytes: row.bytes,
        readable: meta.is_some() && row.damage.is_none(),
    }
}
