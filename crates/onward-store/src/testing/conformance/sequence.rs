//! The same calls on two stores, every answer compared.
//!
//! A [`Call`] is small numbers only, so that a generator can make, shuffle and shrink it without knowing what it means.

use std::{collections::BTreeMap, fmt::Debug, mem};

use onward_core::config::Compression;
use onward_core::id::{CheckpointId, RunId, Seq};

use super::{
    Fixture,
    kit::{at, checkpoint, event, holder, new_run, noise, patch},
};
use crate::{
    CheckpointFilter, Consumed, Entry, Lease, LeaseKind, Page, PruneList, RunFilter, Store, StoreError, StoreExt,
};

/// How many handles, and how many runs, a sequence plays with.
pub const HANDLES: u8 = 2;
pub const RUNS: u8 = 3;

/// One call. Numbers beyond what there is wrap around.
#[derive(Clone, Debug)]
pub enum Call {
    Create { handle: u8, run: u8 },
    Take { handle: u8, run: u8, driving: u8 },
    Give { run: u8 },
    LoseLock { run: u8 },
    Append { handle: u8, run: u8, wrong_by: u8, events: u8, size: u8, checkpoints: u8, consumed: u8, status: u8 },
    Post { handle: u8, run: u8, item: u8, size: u8 },
    Keyframe { handle: u8, checkpoint: u8, size: u8 },
    PutFold { handle: u8, run: u8, back: u8, size: u8 },
    DropFold { handle: u8, run: u8 },
    Prune { handle: u8, run: u8, checkpoint: u8, whole: u8 },
    Read { handle: u8, run: u8, after: u8, max: u8 },
    List { handle: u8, prefix: u8, status: u8, max: u8 },
    Changed { handle: u8 },
    Reopen { handle: u8 },
}

/// Plays `calls` on a store of each kind and panics at the first answer that differs.
pub fn compare(calls: &[Call], left: &dyn Fixture, right: &dyn Fixture) {
    let (mut left, mut right) = (Player::new(left), Player::new(right));
    for (index, call) in calls.iter().enumerate() {
        let (ours, theirs) = (left.play(call), right.play(call));
        // A store may report a change once too often; never too seldom is what `Changed` demands of both.
        let spurious = matches!(call, Call::Changed { .. });
        assert!(spurious || ours == theirs, "call {index}, {call:?}:\n left: {ours}\nright: {theirs}");
    }
    assert_eq!(left.everything(), right.everything(), "the stores differ at the end");
}

struct Player<'a> {
    fixture: &'a dyn Fixture,
    handles: Vec<Box<dyn Store>>,
    leases: BTreeMap<RunId, Lease>,
    /// Leases whose lock was lost; they still try to append.
    stale: BTreeMap<RunId, Lease>,
    /// Whether another handle committed since the handle was last asked.
    news: Vec<bool>,
    checkpoints: u32,
}

impl<'a> Player<'a> {
    fn new(fixture: &'a dyn Fixture) -> Self {
        Self {
            fixture,
            handles: (0..HANDLES).map(|_| fixture.open()).collect(),
            leases: BTreeMap::new(),
            stale: BTreeMap::new(),
            news: vec![false; usize::from(HANDLES)],
            checkpoints: 0,
        }
    }

    fn play(&mut self, call: &Call) -> String {
        match *call {
            Call::Create { handle, run } => {
                let answer = self.handle(handle).create_run(new_run(id(run).as_str()));
                self.wrote(handle, &answer)
            }
            Call::Take { handle, run, driving } => self.take(handle, &id(run), driving),
            Call::Give { run } => format!("{:?}", self.leases.remove(&id(run)).map(drop)),
            Call::LoseLock { run } => self.lose(&id(run)),
            Call::Append { .. } => self.append(call),
            Call::Post { handle, run, item, size } => {
                let body = noise(bytes(size), item);
                let item = format!("item-{}", item % 6);
                let answer = self.handle(handle).post(&id(run), &item, at(0), body);
                self.wrote(handle, &answer)
            }
            Call::Keyframe { handle, checkpoint, size } => {
                let id = CheckpointId::new(format!("CP-{}", checkpoint % 24));
                let answer = self.handle(handle).put_keyframe(&id, noise(bytes(size), checkpoint));
                self.wrote(handle, &answer)
            }
            Call::PutFold { handle, run, back, size } => {
                let seq = Seq((self.head(&id(run)).0 + 1).saturating_sub(u64::from(back % 4)));
                let fold = noise(bytes(size), back);
                let answer = self.handle(handle).put_fold(&id(run), seq, u32::from(back), fold);
                self.wrote(handle, &answer)
            }
            Call::DropFold { handle, run } => {
                let answer = self.handle(handle).drop_fold(&id(run));
                self.wrote(handle, &answer)
            }
            Call::Prune { handle, run, checkpoint, whole } => {
                let list = PruneList {
                    checkpoints: vec![CheckpointId::new(format!("CP-{}", checkpoint % 16))],
                    runs: if whole.is_multiple_of(4) { vec![id(run)] } else { Vec::new() },
                    answered_before: None,
                };
                // How many bytes a deletion frees is each backend's own affair.
                let answer = self.handle(handle).prune(&list).map(|_| ());
                self.wrote(handle, &answer)
            }
            Call::Read { handle, run, after, max } => self.read(handle, &id(run), after, max),
            Call::List { handle, prefix, status, max } => self.list(handle, prefix, status, max),
            Call::Changed { handle } => {
                let news = mem::take(&mut self.news[usize::from(handle % HANDLES)]);
                let changed = self.handle(handle).changed().expect("an answer");
                assert!(changed || !news, "a commit of another handle went unnoticed");
                String::new()
            }
            Call::Reopen { handle } => {
                let index = usize::from(handle % HANDLES);
                self.handles[index] = self.fixture.open();
                self.news[index] = false;
                String::new()
            }
        }
    }

    fn handle(&mut self, handle: u8) -> &mut dyn Store {
        self.handles[usize::from(handle % HANDLES)].as_mut()
    }

    /// Notes a commit for the other handles; one that may not have happened counts as none.
    fn wrote<T: Debug>(&mut self, handle: u8, answer: &Result<T, StoreError>) -> String {
        let silent = ["Ok(AlreadyThere)", "Ok(Gone)"].contains(&format!("{answer:?}").as_str());
        if answer.is_ok() && !silent {
            for (index, news) in self.news.iter_mut().enumerate() {
                *news |= index != usize::from(handle % HANDLES);
            }
        }
        show(answer)
    }

    fn take(&mut self, handle: u8, run: &RunId, driving: u8) -> String {
        // To wait for a brief holder that will never go would only cost time.
        if self.leases.get(run).is_some_and(|lease| lease.kind() == LeaseKind::Brief) {
            return String::new();
        }
        let kind = if driving.is_multiple_of(2) { LeaseKind::Driving } else { LeaseKind::Brief };
        match self.handle(handle).take_lease(run, kind, holder(u32::from(handle))) {
            Ok(lease) => {
                let answer = Ok(lease.epoch());
                self.leases.insert(run.clone(), lease);
                self.wrote(handle, &answer)
            }
            Err(error) => show::<()>(&Err(error)),
        }
    }

    fn lose(&mut self, run: &RunId) -> String {
        let Some(lease) = self.leases.remove(run) else { return String::new() };
        self.fixture.lose_lock(run);
        self.stale.insert(run.clone(), lease);
        String::new()
    }

    fn append(&mut self, call: &Call) -> String {
        let Call::Append { handle, run, wrong_by, events, size, checkpoints, consumed, status } = *call else {
            return String::new();
        };
        let run = id(run);
        // A stale lease is tried first: it must be refused as soon as somebody else took the run.
        let lease = self.stale.remove(&run).or_else(|| self.leases.remove(&run));
        let Some(lease) = lease else { return String::new() };
        let head = self.head(&run);
        let expected = if wrong_by < 8 { Seq(head.0 + u64::from(wrong_by)) } else { head };
        let end = expected.0 + u64::from(events % 4);
        let entry = Entry {
            events: (0..events % 4).map(|n| event(&noise(bytes(size).max(1), n))).collect(),
            checkpoints: (0..checkpoints % 3).map(|n| self.checkpoint(end, size, n)).collect(),
            consumed: self.waiting(handle, &run, consumed),
            durations: Vec::new(),
            status: format!("status-{}", status % 3),
            summary: noise(bytes(status), status),
            compression: [None, Some(Compression::On), Some(Compression::Off)][status as usize % 3],
        };
        let answer = self.handle(handle).append(&lease, expected, entry);
        if self.leases.contains_key(&run) || matches!(answer, Err(StoreError::LeaseLost { .. })) {
            drop(lease);
        } else {
            self.leases.insert(run, lease);
        }
        self.wrote(handle, &answer)
    }

    fn checkpoint(&mut self, end: u64, size: u8, n: u8) -> crate::NewCheckpoint {
        self.checkpoints += 1;
        // Ids come round again, so that some are refused as taken.
        let (id, content) = (format!("CP-{}", self.checkpoints % 24), noise(bytes(size), n));
        if self.checkpoints.is_multiple_of(4) { checkpoint(&id, end, &content) } else { patch(&id, end, &content) }
    }

    fn waiting(&mut self, handle: u8, run: &RunId, consumed: u8) -> Vec<Consumed> {
        let mut items: Vec<String> = match self.handle(handle).inbox(run, usize::from(consumed % 4)) {
            Ok(items) => items.into_iter().map(|item| item.id).collect(),
            Err(_) => Vec::new(),
        };
        if consumed > 250 {
            items.push("never posted".to_owned());
        }
        items.into_iter().map(|id| Consumed { reply: noise(bytes(consumed), 5), id }).collect()
    }

    fn head(&mut self, run: &RunId) -> Seq {
        let filter = RunFilter { run_prefix: Some(run.to_string()), ..RunFilter::default() };
        let rows = self.handles[0].runs(&filter, Page::first(1)).expect("a list");
        rows.first().map_or(Seq(0), |row| row.head)
    }

    fn read(&mut self, handle: u8, run: &RunId, after: u8, max: u8) -> String {
        let store = self.handle(handle);
        let max = usize::from(max % 8);
        let parts = [
            show(&store.events(run, Seq(u64::from(after % 8)), max)),
            show(&store.checkpoints(CheckpointFilter::OfRun(run), Page::first(max))),
            show(&store.inbox(run, max)),
            show(&store.reply(run, &format!("item-{}", after % 6))),
            show(&store.holder(run)),
            show(&store.fold(run)),
            show(&store.checkpoint(&CheckpointId::new(format!("CP-{after}")))),
        ];
        parts.join("\n")
    }

    fn list(&mut self, handle: u8, prefix: u8, status: u8, max: u8) -> String {
        let store = self.handle(handle);
        let filter = RunFilter {
            run_prefix: prefix.is_multiple_of(2).then(|| id(prefix).to_string()),
            work: None,
            statuses: status.is_multiple_of(2).then(|| vec![format!("status-{}", status % 3), "pending".to_owned()]),
        };
        let page = Page::first(usize::from(max % 5));
        let wide = Page::first(usize::from(max));
        let found = store.checkpoints(CheckpointFilter::IdPrefix(&format!("CP-{}", prefix % 3)), wide);
        let newest = store.checkpoints(CheckpointFilter::All, page);
        [show(&store.runs(&filter, page)), show(&newest), show(&found)].join("\n")
    }

    fn everything(&mut self) -> String {
        let lists = self.list(0, 1, 1, u8::MAX);
        let checkpoints: Vec<String> =
            (0..24).map(|n| show(&self.handles[0].checkpoint(&CheckpointId::new(format!("CP-{n}"))))).collect();
        let runs: Vec<String> = (0..RUNS).map(|run| self.read(1, &id(run), 0, u8::MAX)).collect();
        format!("{lists}\n{}\n{}", checkpoints.join("\n"), runs.join("\n"))
    }
}

fn id(run: u8) -> RunId {
    RunId::new(["a", "ab", "b"][usize::from(run % RUNS)])
}

/// A few sizes on either side of the borders, the large ones seldom.
fn bytes(size: u8) -> usize {
    match size {
        0..=199 => usize::from(size),
        200..=239 => 8 * 1024 + usize::from(size) - 220,
        240..=253 => 40_000,
        254.. => 1024 * 1024 + 100,
    }
}

/// An answer as text, without what may differ between backends.
fn show<T: Debug>(answer: &Result<T, StoreError>) -> String {
    let text = format!("{answer:?}");
    if text.len() < 500 {
        return text;
    }
    format!("{}… {}", text.chars().take(200).collect::<String>(), blake3::hash(text.as_bytes()))
}
