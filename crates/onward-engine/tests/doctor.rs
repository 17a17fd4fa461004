//! A folder full of damaged stores. Whatever is done to the files of a store: the doctor says so or nothing that is read
//! differs, nothing panics, and a repair keeps everything that could be read before it.
//!
//! The bounded share runs with the other tests. The full figure is
//! `ONWARD_MUTATIONS=20000 cargo test --release -p onward-engine --test doctor -- --ignored`.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use onward_core::patch::Op;
use onward_engine::{DoctorCode, FirstPlan, ListFilter, Onward, Repaired, SavedState, Soundness};
use onward_store::{Holder, LeaseKind, OpenMode, StoreExt, ownership};
use serde_json::{Value, json};

/// The readable content of a store, by a name for each piece.
type Pieces = BTreeMap<String, String>;

/// The files of a store that hold data, as they were before anything was done to them.
struct Fixture {
    root: tempfile::TempDir,
    files: BTreeMap<PathBuf, Vec<u8>>,
    pieces: Pieces,
}

#[derive(Clone, Copy, Debug)]
enum Size {
    /// All of it is in the log.
    Small,
    /// All of it is in the database.
    Large,
    /// One value is so large that it has a file of its own.
    Huge,
}

impl Fixture {
    fn new(size: Size) -> Self {
        let quick = Path::new("/dev/shm");
        let root = if quick.is_dir() { tempfile::tempdir_in(quick) } else { tempfile::tempdir() };
        let root = root.expect("a temporary folder");
        Onward::init(root.path(), FirstPlan::No).expect("a new project");
        let steps = match size {
            Size::Small => 4,
            Size::Large => 20,
            Size::Huge => 6,
        };
        for kind in ["review", "release"] {
            let mut books =
                SavedState::open(Onward::work(root.path()).expect("a project"), kind, "demo").expect("books");
            for step in 0..steps {
                let text = noise(if matches!(size, Size::Large) { 1_200 } else { 60 }, step);
                books.change(vec![set(&format!("/step{step}"), json!(text))]).expect("a change");
            }
            if matches!(size, Size::Huge) {
                books.change(vec![set("/huge", json!(noise(3_000_000, 7)))]).expect("a large change");
                books.change(vec![set("/after", json!(1))]).expect("a change");
            }
        }
        let mut fixture = Self { files: BTreeMap::new(), pieces: Pieces::new(), root };
        fixture.files = files(&fixture.folder());
        // Where a store was made says nothing about what is in it; one that is put back is marked anew.
        fixture.files.remove(&fixture.folder().join(ownership::MARK));
        fixture.pieces = fixture.read();
        assert!(fixture.pieces.values().all(|piece| !piece.starts_with("cannot")), "{:?}", fixture.pieces);
        fixture
    }

    fn folder(&self) -> PathBuf {
        self.root.path().join(".onward")
    }

    /// Puts everything back as it was.
    fn restore(&self) {
        let folder = self.folder();
        fs::remove_dir_all(&folder).expect("the folder is ours");
        for part in ["run", "blobs", "attempts", "state"] {
            private_folder(&folder.join(part));
        }
        for (path, bytes) in &self.files {
            private_folder(path.parent().expect("a file has a folder"));
            fs::write(path, bytes).expect("the folder is ours");
            set_mode(path, 0o600);
        }
        ownership::trust(&folder, &[]).expect("it is ours");
    }

    fn look(&self) -> Onward {
        Onward::look(self.root.path()).expect("a project")
    }

    /// All runs, journals and checkpoints.
    fn read(&self) -> Pieces {
        let mut pieces = Pieces::new();
        let mut onward = self.look();
        let list = match onward.list(&ListFilter { all: true, ..ListFilter::default() }) {
            Ok(list) => list,
            Err(why) => return Pieces::from([("list".to_owned(), format!("cannot be read: {why}"))]),
        };
        for item in list {
            let name = Some(item.run.as_str());
            let run = format!("run {}", item.run);
            pieces.insert(format!("{run} in the list"), serde_json::to_string(&item).expect("plain data"));
            let events = onward.events(name).map(|(_, events)| format!("{events:?}"));
            pieces.insert(format!("{run} journal"), events.unwrap_or_else(|why| format!("cannot be read: {why}")));
            let log = onward.log(name).map(|(_, log)| log).unwrap_or_default();
            for row in log {
                let shown = onward.show(row.id.as_str()).map(|shown| format!("{shown:?}"));
                let shown = shown.unwrap_or_else(|why| format!("cannot be read: {why}"));
                pieces.insert(format!("checkpoint {}", row.id), shown);
            }
        }
        pieces
    }
}

fn set(path: &str, value: Value) -> Op {
    Op::Set { path: path.to_owned(), value }
}

/// Text that does not shrink to nothing, the same for the same seed.
fn noise(chars: usize, seed: u64) -> String {
    let mut text = String::new();
    for block in 0_u64.. {
        if text.len() >= chars {
            break;
        }
        text.push_str(&blake3::hash(&[seed.to_le_bytes(), block.to_le_bytes()].concat()).to_hex());
    }
    text.truncate(chars);
    text
}

fn private_folder(path: &Path) {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).recursive(true).create(path).expect("a folder");
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}

/// Every file with data in it: locks, reserves and the index of the log hold none.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("a folder").flatten() {
            let (path, kind) = (entry.path(), entry.file_type().expect("a kind"));
            let name = entry.file_name().to_string_lossy().into_owned();
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && !name.ends_with("-shm") && name != "reserve" {
                all.insert(path.clone(), fs::read(path).expect("a file"));
            }
        }
    }
    all
}

/// A number in `0..below`, the same for the same seed.
fn random(seed: u64, what: &str, below: usize) -> usize {
    let hash = blake3::hash(format!("{seed} {what}").as_bytes());
    let number = u64::from_le_bytes(hash.as_bytes()[..8].try_into().expect("eight bytes"));
    usize::try_from(number % below.max(1) as u64).expect("a place in a file")
}

/// Does one thing to one file, and says what it was.
fn mutate(fixture: &Fixture, seed: u64) -> String {
    let targets: Vec<&PathBuf> =
        fixture.files.iter().filter(|(path, bytes)| is_data(path, bytes)).map(|(path, _)| path).collect();
    let path = targets[random(seed, "file", targets.len())];
    let mut bytes = fixture.files[path].clone();
    let at = random(seed, "place", bytes.len());
    let page = at / 4096 * 4096;
    let end = (page + 4096).min(bytes.len());
    let what = match random(seed, "kind", 20) {
        0 => {
            bytes.truncate(at);
            "cut off"
        }
        1 => {
            bytes[page..end].fill(0);
            "page of zeros"
        }
        2 => {
            let other = random(seed, "other", bytes.len()) / 4096 * 4096;
            let length = (end - page).min(bytes.len() - other);
            bytes.copy_within(other..other + length, page);
            "page of another place"
        }
        3 => {
            for (offset, byte) in bytes[page..end].iter_mut().enumerate() {
                *byte = noise(1, seed ^ offset as u64).as_bytes()[0];
            }
            "page of noise"
        }
        _ => {
            bytes[at] ^= 1 << random(seed, "bit", 8);
            "flipped bit"
        }
    };
    fs::write(path, &bytes).expect("the file is ours");
    let name = path.strip_prefix(fixture.root.path()).unwrap_or(path).display();
    format!("seed {seed}: {what} at {at} of {name}")
}

fn is_data(path: &Path, bytes: &[u8]) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let blob = path.components().any(|part| part.as_os_str() == "blobs");
    !bytes.is_empty() && (name.starts_with("onward.db") || name == "HEAD" || blob)
}

/// Damages the store, looks, repairs and looks again.
fn try_one(fixture: &Fixture, seed: u64) -> &'static str {
    fixture.restore();
    let what = mutate(fixture, seed);
    let before = files(&fixture.folder());
    let found = fixture.look().doctor();
    assert_eq!(files(&fixture.folder()), before, "{what}: looking wrote something");
    let readable: Pieces = fixture.read();
    if found.ok {
        assert_eq!(readable, fixture.pieces, "{what}: it is said to be well, and reads differently: {found:?}");
    }
    for finding in &found.findings {
        assert!(!finding.help.is_empty() && !finding.message.is_empty(), "{what}: {finding:?}");
    }
    let done = fixture.look().repair().unwrap_or_else(|why| panic!("{what}: {why}: {found:?}"));
    assert!(
        found.soundness() != Soundness::Newer && done.soundness() != Soundness::Newer,
        "{what}: damage was taken for a later version: {found:?}"
    );
    demand_kept(fixture, &what, &readable, &done);
    for (path, bytes) in before.iter().filter(|(path, _)| path.file_name().is_some_and(|name| name == "onward.db")) {
        if let Some(aside) = done
            .repaired
            .iter()
            .any(|repair| repair.code == DoctorCode::Rebuilt)
            .then_some(&done.aside)
            .and_then(Option::as_ref)
        {
            let name = path.file_name().expect("a name");
            let kept = fs::read(fixture.root.path().join(aside).join(name)).expect("the old database");
            assert_eq!(kept, *bytes, "{what}: the old database is not kept as it was");
        }
    }
    if found.ok { "harmless" } else { "explained" }
}

fn demand_kept(fixture: &Fixture, what: &str, readable: &Pieces, done: &Repaired) {
    assert!(done.ok, "{what}: not well after the repair: {done:?}");
    let after = fixture.read();
    for (name, piece) in readable.iter().filter(|(name, piece)| fixture.pieces.get(*name) == Some(*piece)) {
        // A row that was good may tell of a journal that was not, and is written anew then.
        if !name.ends_with("in the list") && !name.ends_with("journal") {
            assert_eq!(after.get(name), Some(piece), "{what}: {name} could be read before: {done:?}");
        }
        if name.ends_with("journal") {
            assert_eq!(after.get(name), Some(piece), "{what}: a whole journal was cut: {done:?}");
        }
    }
}

/// The row in the list says something else than the journal, with a checksum that fits. It is written anew.
#[test]
fn a_row_that_does_not_say_what_the_journal_says() {
    let fixture = Fixture::new(Size::Small);
    let run = fixture.look().list(&ListFilter::default()).expect("a list")[0].run.clone();
    {
        let mut store = onward_store::open(&fixture.folder(), OpenMode::ReadWrite).expect("a store");
        let holder = Holder { host: "here".to_owned(), pid: 1, since: jiff::Timestamp::UNIX_EPOCH };
        let lease = store.take_lease(&run, LeaseKind::Brief, holder).expect("a lease");
        store.relist(&lease, "completed", b"{}", &[]).expect("another row");
    }
    demand_code(&fixture, DoctorCode::Projection);
    let done = fixture.look().repair().expect("a repair");
    assert_eq!(done.repaired.iter().map(|repair| repair.code).collect::<Vec<_>>(), [DoctorCode::Projection]);
    assert!(done.ok && done.aside.is_none(), "nothing has to be moved for that: {done:?}");
    assert_eq!(fixture.read(), fixture.pieces);
}

/// The file of a large value is gone. If a record was in it the journal ends before that; if a checkpoint was, that is
/// made again from the journal.
#[test]
fn a_large_value_that_is_missing() {
    let fixture = Fixture::new(Size::Huge);
    let mut cuts = Vec::new();
    for blob in fixture.files.keys().filter(|path| path.to_string_lossy().contains("/blobs/")) {
        fixture.restore();
        fs::remove_file(blob).expect("the file is ours");
        demand_code(&fixture, DoctorCode::Blob);
        let readable = fixture.read();
        let done = fixture.look().repair().expect("a repair");
        demand_kept(&fixture, "a missing file", &readable, &done);
        cuts.push(done.repaired.iter().any(|repair| repair.code == DoctorCode::JournalCut));
    }
    assert!(cuts.contains(&true) && cuts.contains(&false), "{cuts:?}");
}

/// The fold cache of a run is another run's, or an older one's. It is compared with the whole fold and made again.
#[test]
fn a_fold_that_is_not_what_the_journal_gives() {
    let fixture = Fixture::new(Size::Small);
    let list = fixture.look().list(&ListFilter::default()).expect("a list");
    let (first, second) = (list[0].run.clone(), list[1].run.clone());
    {
        let mut store = onward_store::open(&fixture.folder(), OpenMode::ReadWrite).expect("a store");
        let mut run = onward_engine::load_run(&mut *store, &second).expect("a run");
        run.seq = onward_engine::load_run(&mut *store, &first).expect("a run").seq;
        let version = onward_core::run::cache::FOLD_VERSION;
        store.put_fold(&first, run.seq, version, onward_core::run::cache::encode(&run)).expect("a fold");
    }
    demand_code(&fixture, DoctorCode::FoldCache);
    let done = fixture.look().repair().expect("a repair");
    assert!(done.ok, "{done:?}");
    assert_eq!(fixture.read(), fixture.pieces);
}

fn demand_code(fixture: &Fixture, code: DoctorCode) {
    let found = fixture.look().doctor();
    assert!(!found.ok && found.findings.iter().any(|finding| finding.code == code), "{found:?}");
}

fn many(size: Size, count: u64) -> String {
    let fixture = Fixture::new(size);
    let began = std::time::Instant::now();
    let mut outcomes: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 0..count {
        let outcome = catch_unwind(AssertUnwindSafe(|| try_one(&fixture, seed)));
        let outcome = outcome.unwrap_or_else(|_| panic!("seed {seed} of {size:?}"));
        *outcomes.entry(outcome).or_default() += 1;
    }
    // Of a store with large values most bytes are copies that are made again without a word.
    let least = match size {
        Size::Small | Size::Large => count / 4,
        Size::Huge => count / 8,
    };
    assert!(outcomes.get("explained").is_some_and(|explained| *explained > least), "{outcomes:?}");
    format!("{size:?}: {outcomes:?} of {count} in {:?}", began.elapsed())
}

#[test]
fn damage_in_the_database_is_explained_and_repaired() {
    many(Size::Large, 40);
}

#[test]
fn damage_in_the_log_is_explained_and_repaired() {
    many(Size::Small, 80);
}

#[test]
fn damage_to_large_values_is_explained_and_repaired() {
    many(Size::Huge, 5);
}

#[test]
#[ignore = "the full figure: ONWARD_MUTATIONS of them, 20,000 if not said"]
fn twenty_thousand_mutations() {
    let count = std::env::var("ONWARD_MUTATIONS").ok().and_then(|count| count.parse().ok()).unwrap_or(20_000_u64);
    for (size, count) in [(Size::Large, count / 2), (Size::Small, count / 2 - count / 50), (Size::Huge, count / 50)] {
        println!("{}", many(size, count));
    }
}

/// How long attempts took is kept beside the journals. The doctor notices what those do not say, and a repair takes it away.
#[test]
fn durations_are_what_the_journals_say() {
    let fixture = Fixture::new(Size::Small);
    {
        let mut store = onward_store::open(&fixture.folder(), OpenMode::ReadWrite).expect("a store");
        let rows = store.runs(&onward_store::RunFilter::default(), onward_store::Page::first(1)).expect("a list");
        let row = rows.into_iter().next().expect("a run");
        let holder = Holder { host: "here".to_owned(), pid: 1, since: jiff::Timestamp::UNIX_EPOCH };
        let lease = store.take_lease(&row.run, LeaseKind::Brief, holder).expect("a lease");
        let (plan, phase, ended) = ("onward.yaml".to_owned(), "a".to_owned(), "done".to_owned());
        let strange = onward_store::DurationRow { seq: onward_core::id::Seq(1), plan, phase, ended, ms: 5 };
        let summary = row.summary.expect("it is readable");
        store.relist(&lease, &row.status, &summary, &[strange]).expect("another row");
    }
    let found = fixture.look().doctor().findings;
    assert_eq!(found.iter().map(|one| one.code).collect::<Vec<_>>(), [DoctorCode::Projection]);
    let done = fixture.look().repair().expect("a repair");
    assert_eq!(done.repaired.iter().map(|repair| repair.code).collect::<Vec<_>>(), [DoctorCode::Projection]);
    assert!(fixture.look().doctor().findings.is_empty(), "{:?}", fixture.look().doctor().findings);
    assert_eq!(fixture.read(), fixture.pieces);
}
