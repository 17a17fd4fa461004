//! A new database from what can still be read of a damaged one.
//!
//! The journal counts: from each run as many records are kept as fit each other and make whole steps, and all its
//! checkpoints up to there are made again from them. Checkpoints of what came later, if they can be read, are kept as
//! whole documents; they are all that is left of it.

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;

use onward_core::checkpoint::{self, NewCheckpointDocument};
use onward_core::event::{Event, Recorded};
use onward_core::id::{CheckpointId, RunId, Seq};
use onward_core::run::{self, Run};
use onward_store::{
    Appended, Consumed, Damage, Entry, Journal, Lease, LeaseKind, Letter, NewCheckpoint, NewRun, OldCheckpoint, OldRun,
    PruneList, Record, Salvage, Store, StoreError, StoredContent, ownership,
};

use super::code::DoctorCode;
use super::recover;
use super::repair::Repair;
use super::repair_folder::{Cut, Recovered};
use crate::drive::keyframes::{keyframe_is_due, put_keyframe};
use crate::durations;
use crate::error::{Error, Result};
use crate::journal;
use crate::project::Project;
use crate::queries::runs::{LOST, NEW};
use crate::start::starting::holder;
use crate::vcs::journal_piece::CopiedJournal;

const EVENTS_PER_APPEND: usize = 2_000;

/// The result of a rebuild.
#[derive(Default)]
pub(super) struct Rebuilt {
    pub(super) repaired: Vec<Repair>,
    pub(super) cut: Vec<Cut>,
    pub(super) recovered: Vec<Recovered>,
    /// Runs with records of which nothing shows that they were written here.
    pub(super) unproven: Vec<RunId>,
    /// The last record that was acknowledged, as long as it was not met.
    last: Option<(u64, [u8; 32])>,
    runs: usize,
    records: u64,
    checkpoints: usize,
}

/// The part of one run that is kept.
pub(super) struct KeptRun {
    pub(super) id: RunId,
    work: String,
    records: Vec<Record>,
    /// Events that the repair adds behind them.
    pub(super) added: Vec<Recorded>,
    /// `None` if there is no record.
    pub(super) run: Option<Run>,
    /// Its checkpoints, made again.
    taken: Vec<NewCheckpointDocument>,
    /// Readable checkpoints that the records do not tell of.
    beyond: Vec<NewCheckpoint>,
    letters: Vec<Letter>,
}

/// Rebuilds the database in `folder`; its files are copied into `aside` first.
pub(super) fn rebuild(project: &Project, aside: &Path, shown: &str) -> Result<Rebuilt> {
    let mut salvage = Salvage::begin(&project.store_folder(), aside)?;
    let mut rebuilt = Rebuilt { last: salvage.last_acknowledged(), ..Rebuilt::default() };
    let mut copies = recover::copies(project, &salvage.buried_runs()).all;
    let buried: Option<BTreeSet<CheckpointId>> = salvage.buried_checkpoints().map(|ids| ids.into_iter().collect());
    let old_runs = salvage.runs();
    let mut only_in_git = only_in_git(&salvage, &old_runs, &mut copies);
    for old in old_runs {
        let journal = salvage.journal(old, &name);
        let journal = recover::completed(journal, &mut copies, &mut rebuilt);
        // Runs are listed in the order in which they were begun, wherever they come from.
        let begun = journal.records.first().map(|first| first.at);
        while begun.is_some() && only_in_git.front().is_some_and(|copied| copied.begun() < begun) {
            bring_back(project, &mut salvage, only_in_git.pop_front(), &mut rebuilt)?;
        }
        let checkpoints = salvage.checkpoints(old, &journal.run.clone().unwrap_or_else(|| RunId::new("?")));
        let listed: BTreeSet<CheckpointId> = checkpoints.iter().map(|checkpoint| checkpoint.id.clone()).collect();
        let Some(mut kept) = sift(journal, checkpoints, &mut rebuilt)? else { continue };
        recover::doubt_what_nobody_knows(project, &mut kept, &mut rebuilt);
        kept.letters = salvage.letters(old);
        let gone = |id: &CheckpointId| match &buried {
            Some(buried) => buried.contains(id),
            None => !listed.contains(id),
        };
        let pruned: Vec<CheckpointId> = kept.taken.iter().map(|taken| taken.id.clone()).filter(gone).collect();
        rebuilt.checkpoints += kept.taken.len() + kept.beyond.len() - pruned.len();
        write(&mut salvage, Some(old), kept, pruned, &mut rebuilt)?;
    }
    while !only_in_git.is_empty() {
        bring_back(project, &mut salvage, only_in_git.pop_front(), &mut rebuilt)?;
    }
    if let Some((commits, _)) = rebuilt.last {
        let message = format!(
            "{commits} commits were acknowledged, and the last record of them is in no journal that is left: unless its run was \
             deleted, the end of a run is gone"
        );
        rebuilt.repaired.push(Repair::new(DoctorCode::EndLost, ".onward/HEAD", message));
    }
    if !rebuilt.unproven.is_empty() {
        // Before any of it is there: killed in between, nothing of it is executed.
        ownership::distrust(&project.store_folder())?;
        rebuilt.repaired.push(not_proven(&rebuilt.unproven));
    }
    salvage.finish()?;
    let Rebuilt { runs, records, checkpoints, .. } = rebuilt;
    let message = format!(
        "made a new database with {runs} runs, {records} records and {checkpoints} checkpoints; the files of the old one \
         are in {shown}"
    );
    rebuilt.repaired.push(Repair::new(DoctorCode::Rebuilt, ".onward/onward.db", message));
    Ok(rebuilt)
}

/// Copies of runs of which the old database has nothing, in order of creation.
fn only_in_git(salvage: &Salvage, old: &[OldRun], copies: &mut Vec<CopiedJournal>) -> VecDeque<CopiedJournal> {
    let known: BTreeSet<RunId> = old.iter().filter_map(|old| salvage.journal(*old, &name).run).collect();
    let (both, only): (Vec<CopiedJournal>, Vec<CopiedJournal>) =
        copies.drain(..).partition(|copied| known.contains(&copied.run));
    *copies = both;
    only.into()
}

fn bring_back(
    project: &Project,
    salvage: &mut Salvage,
    copied: Option<CopiedJournal>,
    rebuilt: &mut Rebuilt,
) -> Result<()> {
    let Some(copied) = copied else { return Ok(()) };
    let journal = recover::completed(recover::nothing_of(&copied), &mut vec![copied], rebuilt);
    let Some(mut kept) = sift(journal, Vec::new(), rebuilt)? else { return Ok(()) };
    recover::doubt_what_nobody_knows(project, &mut kept, rebuilt);
    rebuilt.checkpoints += kept.taken.len();
    write(salvage, None, kept, Vec::new(), rebuilt)
}

fn not_proven(runs: &[RunId]) -> Repair {
    let runs: Vec<&str> = runs.iter().map(RunId::as_str).collect();
    let message = format!(
        "nothing shows that {} was recorded here and not fetched from elsewhere: nothing in the store is executed until you have \
         looked at it and typed  onward trust",
        runs.join(", ")
    );
    Repair::new(DoctorCode::Untrusted, ".onward", message)
}

/// The run and the key of its work, from its first record.
pub(super) fn name(body: &[u8]) -> Option<(RunId, String)> {
    match journal::event(body)? {
        Event::RunStarted(started) => Some((started.run.clone(), started.work.clone())),
        _ => None,
    }
}

/// Decides what of a run is kept; none if nothing is left of it.
fn sift(found: Journal, checkpoints: Vec<OldCheckpoint>, rebuilt: &mut Rebuilt) -> Result<Option<KeptRun>> {
    let Journal { run, work, mut records, mut cut, mut lost } = found;
    let Some(id) = run.or_else(|| named_by(&checkpoints)) else { return Ok(None) };
    let mut events: Vec<Recorded> = Vec::new();
    for record in &records {
        match journal::decode(&id, record.clone()) {
            Ok(event) => events.push(event),
            Err(why @ Error::Store(StoreError::Newer { .. })) => return Err(why),
            Err(why) => {
                cut = Some(why.to_string());
                break;
            }
        }
    }
    if cut.is_some() {
        events.truncate(whole_steps(&events));
    }
    let dropped = (records.len() - events.len()) as u64;
    records.truncate(events.len());
    let (run, taken) = replay(&events).unzip();
    let taken = taken.unwrap_or_default();
    lost = lost.map(|lost| lost + dropped).or((dropped > 0).then_some(dropped));
    let begun = run.is_some() || cut.is_some() && lost.is_some() || !checkpoints.is_empty();
    if let Some(why) = cut.filter(|_| lost.is_some() || records.is_empty() && begun) {
        let cut = Cut { run: id.clone(), kept: records.len() as u64, lost, why };
        rebuilt.repaired.push(told(&cut));
        rebuilt.cut.push(cut);
    }
    let beyond = beyond(checkpoints, &taken, Seq(records.len() as u64), rebuilt);
    // A run that cannot go on must not stand in the way of the same work.
    let work = work.filter(|_| run.is_some()).unwrap_or_default();
    Ok(Some(KeptRun { id, work, records, added: Vec::new(), run, taken, beyond, letters: Vec::new() }))
}

fn told(cut: &Cut) -> Repair {
    let lost = cut.lost.map_or_else(|| "what came after is lost".to_owned(), |lost| format!("{lost} are lost"));
    let message = match cut.kept {
        0 => format!("nothing of its journal could be kept ({})", cut.why),
        kept => format!("kept its journal up to record {kept}; {lost} ({})", cut.why),
    };
    Repair::new(DoctorCode::JournalCut, format!("run {}", cut.run), message)
}

/// The run that a document names, where nothing else does.
fn named_by(checkpoints: &[OldCheckpoint]) -> Option<RunId> {
    let stored = checkpoints.iter().filter_map(|checkpoint| checkpoint.stored.as_ref().ok());
    let mut read = stored.filter_map(|stored| checkpoint::assemble(&stored.keyframe, &stored.patches).ok());
    read.next().map(|document| document.run)
}

/// How many events make whole steps: behind them all that follows from the state is on record. A cause without its
/// consequences is better left out, for what caused it can be found again: the end of an attempt is in its folder.
fn whole_steps(events: &[Recorded]) -> usize {
    let Some((first, rest)) = events.split_first() else { return 0 };
    let Some(mut run) = run::fold([first]) else { return 0 };
    let mut whole = 0;
    for (at, recorded) in rest.iter().enumerate() {
        if run::is_settled(&run) {
            whole = at + 1;
        }
        run.apply(recorded);
    }
    if run::is_settled(&run) || whole == 0 { events.len() } else { whole }
}

/// Folds the events, and takes each checkpoint that they tell of once more.
pub(crate) fn replay(events: &[Recorded]) -> Option<(Run, Vec<NewCheckpointDocument>)> {
    let (first, rest) = events.split_first()?;
    let mut run = run::fold([first])?;
    let mut taken = Vec::new();
    for recorded in rest {
        if let Some(head) = run::checkpoint_at(&run, recorded) {
            let again = checkpoint::taken(&run, head);
            run.behind = run.behind.then(&again.content);
            taken.push(again);
        }
        run.apply(recorded);
    }
    Some((run, taken))
}

/// Checkpoints that can be read and that the journal does not tell of any more, each as a whole.
fn beyond(
    checkpoints: Vec<OldCheckpoint>,
    taken: &[NewCheckpointDocument],
    end: Seq,
    rebuilt: &mut Rebuilt,
) -> Vec<NewCheckpoint> {
    let made: BTreeSet<&CheckpointId> = taken.iter().map(|taken| &taken.id).collect();
    let mut kept = Vec::new();
    for OldCheckpoint { id, stored } in checkpoints.into_iter().filter(|checkpoint| !made.contains(&checkpoint.id)) {
        let document = stored.map_err(|damage| damage.to_string()).and_then(|stored| {
            let document = checkpoint::keyframe(&stored.keyframe, &stored.patches).map_err(|why| why.to_string())?;
            Ok((stored.row, document))
        });
        match document {
            // A store keeps no checkpoint behind the end of its journal; the document itself says where it stood.
            Ok((row, document)) => {
                kept.push(NewCheckpoint {
                    id,
                    seq: row.seq.min(end),
                    meta: row.meta,
                    content: StoredContent::Whole(document),
                });
            }
            Err(why) => {
                rebuilt.repaired.push(Repair::new(
                    DoctorCode::CheckpointLost,
                    id.as_str(),
                    format!("it is lost: {why}"),
                ));
            }
        }
    }
    kept
}

fn write(
    salvage: &mut Salvage,
    old: Option<OldRun>,
    kept: KeptRun,
    pruned: Vec<CheckpointId>,
    rebuilt: &mut Rebuilt,
) -> Result<()> {
    let KeptRun { id, work, records, added, run, taken, beyond, letters } = kept;
    rebuilt.last = rebuilt.last.filter(|(_, hash)| !records.iter().any(|record| record.hash == *hash));
    let is_new = run.is_none() && beyond.is_empty();
    let epoch = run.as_ref().map_or(0, |run| run.epoch);
    let (status, summary) = match &run {
        Some(run) => (run.status().as_str(), journal::summary_bytes(run)),
        None => (if is_new { NEW } else { LOST }, b"{}".to_vec()),
    };
    let plan = run.as_ref().map(|run| run.started.plan_path.clone());
    let store = salvage.new_store();
    let new = NewRun { run: id.clone(), work, summary: summary.clone(), status: status.to_owned() };
    match store.create_run(new) {
        Err(StoreError::AlreadyThere { .. }) => {
            let message = "a second run of this name was found; it is in the old database only";
            rebuilt.repaired.push(Repair::new(DoctorCode::RunTwice, format!("run {id}"), message.to_owned()));
            return Ok(());
        }
        other => other?,
    }
    let lease = store.take_lease(&id, LeaseKind::Brief, holder())?;
    let compression = run.as_ref().and_then(journal::compression);
    let base = Entry { status: status.to_owned(), summary, compression, ..Entry::default() };
    let head = append_events(store, &lease, &records, plan.as_deref(), &base)?;
    let head = append_added(store, &lease, head, &added, &base)?;
    // Those first: the next patch is built on the newest one, and that must be the journal's.
    for new in beyond.into_iter().chain(taken.iter().map(journal::stored)) {
        append_checkpoint(store, &lease, head, new, &base)?;
    }
    deliver(store, &lease, head, letters, &base)?;
    drop(lease);
    if !pruned.is_empty() {
        store.prune(&PruneList { checkpoints: pruned, ..PruneList::default() })?;
    }
    salvage.keep_epoch(old, &id, epoch)?;
    rebuilt.runs += usize::from(!is_new);
    rebuilt.records += head.0;
    Ok(())
}

fn append_events(
    store: &mut dyn Store,
    lease: &Lease,
    records: &[Record],
    plan: Option<&str>,
    base: &Entry,
) -> Result<Seq> {
    let mut head = Seq(0);
    for part in records.chunks(EVENTS_PER_APPEND) {
        let event = |record: &Record| onward_store::NewEvent {
            at: record.at,
            actor: record.actor.clone(),
            body: record.body.clone(),
        };
        let took = |record: &Record| durations::row(plan?, &journal::decode(lease.run(), record.clone()).ok()?);
        let durations = part.iter().filter_map(took).collect();
        let entry = Entry { events: part.iter().map(event).collect(), durations, ..base.clone() };
        let appended = store.append(lease, head, entry)?;
        if part.last().is_some_and(|last| last.hash != appended.hash) {
            let what = "its records do not give the hash that is on record with them";
            return Err(StoreError::from(Damage::new(what).of_run(lease.run())).into());
        }
        head = appended.head;
    }
    Ok(head)
}

fn append_added(store: &mut dyn Store, lease: &Lease, head: Seq, added: &[Recorded], base: &Entry) -> Result<Seq> {
    if added.is_empty() {
        return Ok(head);
    }
    let event = |recorded: &Recorded| onward_store::NewEvent {
        at: recorded.at,
        actor: recorded.actor.clone(),
        body: journal::encode(&recorded.event),
    };
    let entry = Entry { events: added.iter().map(event).collect(), ..base.clone() };
    Ok(store.append(lease, head, entry)?.head)
}

fn append_checkpoint(store: &mut dyn Store, lease: &Lease, head: Seq, new: NewCheckpoint, base: &Entry) -> Result<()> {
    let id = new.id.clone();
    let entry = Entry { checkpoints: vec![new], ..base.clone() };
    let Appended { chain, .. } = store.append(lease, head, entry)?;
    if keyframe_is_due(&chain) {
        put_keyframe(store, &id, base.compression)?;
    }
    Ok(())
}

/// Restores the inbox: unanswered items wait again, answered ones keep their replies.
fn deliver(store: &mut dyn Store, lease: &Lease, head: Seq, letters: Vec<Letter>, base: &Entry) -> Result<()> {
    let mut consumed = Vec::new();
    for Letter { item, at, reply } in letters {
        store.post(lease.run(), &item.id, at, item.body)?;
        consumed.extend(reply.map(|reply| Consumed { id: item.id, reply }));
    }
    if !consumed.is_empty() {
        store.append(lease, head, Entry { consumed, ..base.clone() })?;
    }
    Ok(())
}
