//! Saved state that a program holds open itself.

use nix::fcntl::{FcntlArg, fcntl};
use onward_core::id::CheckpointId;
use onward_core::patch::Op;
use onward_engine::{FOLDER, Onward, SavedState};
use onward_store::OpenMode;
use serde_json::json;

fn open(folder: &std::path::Path) -> SavedState {
    std::fs::create_dir_all(folder.join(FOLDER)).expect("a folder");
    SavedState::open(Onward::work(folder).expect("a project"), "test", "demo").expect("books")
}

/// In memory where there is such a place: nothing here is about flushes, and there are many of them.
fn quick_folder() -> tempfile::TempDir {
    let quick = std::path::Path::new("/dev/shm");
    let folder = if quick.is_dir() { tempfile::tempdir_in(quick) } else { tempfile::tempdir() };
    folder.expect("a temporary folder")
}

fn set(number: usize) -> Vec<Op> {
    vec![Op::Set { path: "/step".to_owned(), value: json!(number) }]
}

/// A program changed next to nothing some hundred times, one by one and several at once, and began anew in between. To
/// read any of the checkpoints takes one whole document and hardly more patches than that document weighs.
#[test]
fn a_small_checkpoint_is_never_far_from_a_whole_document() {
    let folder = quick_folder();
    let mut ids: Vec<CheckpointId> = Vec::new();
    for _ in 0..2 {
        let mut books = open(folder.path());
        for number in 0..50 {
            ids.push(books.change(set(number)).expect("it is saved"));
        }
        ids.extend(books.change_all((0..100).map(set).collect()).expect("they are saved"));
    }
    let mut store = onward_store::open(&folder.path().join(FOLDER), OpenMode::Look).expect("the store");
    for id in &ids {
        let found = store.checkpoint(id).expect("it can be read").expect("it is there");
        let bytes: usize = found.patches.iter().map(Vec::len).sum();
        let last = found.patches.last().map_or(0, Vec::len);
        assert!(bytes <= found.keyframe.len() + 3 * last, "{bytes} bytes behind {}", found.keyframe.len());
    }
    let mut books = open(folder.path());
    for (at, id) in ids.iter().enumerate() {
        let step = if at % 150 < 50 { at % 150 } else { at % 150 - 50 };
        assert_eq!(books.load(id).expect("it can be read").state["step"], json!(step), "{id}");
    }
}

/// Takes the byte that whoever writes to the store has locked. It belongs to the open file: also against ourselves.
fn lock_out_writers(folder: &std::path::Path) -> std::fs::File {
    let shared = folder.join(FOLDER).join("onward.db-shm");
    let file = std::fs::File::options().read(true).write(true).open(shared).expect("a store in use");
    let lock = libc::flock {
        l_type: libc::c_short::try_from(libc::F_WRLCK).expect("a small number"),
        l_whence: libc::c_short::try_from(libc::SEEK_SET).expect("a small number"),
        l_start: 120,
        l_len: 1,
        l_pid: 0,
    };
    fcntl(&file, FcntlArg::F_OFD_SETLKW(&lock)).expect("a lock");
    file
}

/// Nobody can write to the store while a program saves. What it holds then is what is stored, and the next save, which would change
/// nothing were that one believed, is made.
#[test]
fn soak_a_save_that_failed_is_not_believed() {
    let folder = quick_folder();
    let mut books = open(folder.path());
    books.change(set(1)).expect("it is saved");
    let lock = lock_out_writers(folder.path());
    books.change(set(2)).expect_err("nobody can write");
    drop(lock);
    let two = serde_json::Map::from_iter([("step".to_owned(), json!(2))]);
    let id = books.save(two).expect("nothing conflicts");
    assert_eq!(books.load(&id).expect("it can be read").state["step"], json!(2));
    books.change(set(3)).expect("it is saved");
    drop(books);
    assert_eq!(open(folder.path()).state()["step"], json!(3));
}

/// A log grew by four kilobytes four hundred times. What is stored grows as the log does: whole documents are written at ever
/// longer distances, not every so many steps.
#[test]
fn whole_documents_grow_apart_as_they_grow() {
    let folder = quick_folder();
    let mut books = open(folder.path());
    books.change(vec![Op::Set { path: "/log".to_owned(), value: json!([]) }]).expect("it is saved");
    let mut ids = Vec::new();
    for at in 0..400 {
        let entry = json!({ "at": at, "text": format!("{at:04}").repeat(1000) });
        let ops = vec![Op::Splice { path: "/log".to_owned(), at, remove: 0, insert: vec![entry] }];
        ids.push(books.change(ops).expect("it is saved"));
    }
    drop(books);
    let mut store = onward_store::open(&folder.path().join(FOLDER), OpenMode::Look).expect("the store");
    let mut whole = std::collections::BTreeSet::new();
    for id in ids.iter().skip(200) {
        let found = store.checkpoint(id).expect("it can be read").expect("it is there");
        whole.insert(found.keyframe.len());
    }
    assert!((1..=4).contains(&whole.len()), "{} whole documents behind the first half: {whole:?}", whole.len());
}
