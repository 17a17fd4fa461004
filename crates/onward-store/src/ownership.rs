//! Whether a folder was made here, by this program: the mark `made-here`.
//!
//! A store says what is to be executed, so one that came with a clone or in an archive must not pass for the user's own.
//! Its files belong to whoever unpacked it and may have any content; but nobody can choose under which inode a file is
//! made, nor when it was born. So the mark of a folder holds both, of the folder itself and of the file in it that counts.
//! A clone, an archive and a copy bring the mark, and it does not fit; a move and a mount at another place change neither.
//!
//! Where a file system does not know when its files were born, the inode alone decides.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, DirEntry, File, Metadata};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::error::StoreError;
use crate::folder::sync_folder;
use crate::{listing, private};

/// The file in which the mark of a folder lies.
pub const MARK: &str = "made-here";
/// The first line of a mark. Another one is no mark.
const FORM: &str = "onward made this 1";
/// A mark is a few lines.
const MARK_BYTES_MAX: u64 = 4096;
const DATABASE: &str = "onward.db";
/// The file that says that what is in a store was brought back from git, and that nothing shows that it was recorded here.
const BROUGHT: &str = "brought-from-git";
/// A note is a line or two.
const NOTE_BYTES_MAX: u64 = 64 * 1024;
/// Files that people write into the folder of a store, and put under version control if they like.
const FOR_PEOPLE: [&str; 3] = ["yaml", "yml", "md"];

/// When and where a file or folder was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Birth {
    inode: u64,
    born_ns: Option<u128>,
}

/// The mark of a store's folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnerMark {
    folder: Option<Birth>,
    files: Vec<(String, Birth)>,
    allowed: BTreeSet<String>,
}

/// The standing of a store's folder: ours, somebody else's, new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderStanding {
    /// There is no store yet: nothing, or only what people wrote.
    New,
    Ours,
    Foreign(Foreign),
}

/// Why a store is not taken for the user's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Foreign {
    #[error("it has no mark of this program")]
    Unmarked,
    #[error("its mark is that of another folder: it was copied, or came with a clone or in an archive")]
    Elsewhere,
    #[error("its database is not the one that was made here: it was replaced")]
    Replaced,
    #[error("runs in it were brought in from a file or from git, and nothing shows that they were recorded here")]
    Brought,
}

impl Birth {
    fn new(about: &Metadata) -> Self {
        let born = about.created().ok().and_then(|born| born.duration_since(UNIX_EPOCH).ok());
        Self { inode: about.ino(), born_ns: born.map(|born| born.as_nanos()) }
    }

    fn words(self) -> String {
        format!("{} {}", self.inode, self.born_ns.map_or_else(|| "-".to_owned(), |ns| ns.to_string()))
    }

    fn parse(words: &str) -> Option<Self> {
        let (inode, born) = words.split_once(' ')?;
        let born_ns = if born == "-" { None } else { Some(born.parse().ok()?) };
        Some(Self { inode: inode.parse().ok()?, born_ns })
    }
}

impl OwnerMark {
    /// The mark that lies in a folder; an empty one if there is none that can be used.
    pub fn read(folder: &Path) -> Self {
        let text = private::read(&folder.join(MARK), MARK_BYTES_MAX).ok().and_then(|text| String::from_utf8(text).ok());
        text.and_then(|text| Self::parse(&text)).unwrap_or_default()
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let mut mark = Self::default();
        (lines.next()? == FORM).then_some(())?;
        for line in lines {
            let (what, rest) = line.split_once(' ')?;
            match what {
                "folder" => mark.folder = Some(Birth::parse(rest)?),
                "allowed" => drop(mark.allowed.insert(rest.to_owned())),
                "file" => {
                    let (name, birth) = rest.split_once(' ')?;
                    mark.files.push((name.to_owned(), Birth::parse(birth)?));
                }
                _ => return None,
            }
        }
        Some(mark)
    }

    /// Whether it was made for this very folder.
    pub fn fits(&self, folder: &Path) -> bool {
        let about = fs::symlink_metadata(folder);
        about.is_ok_and(|about| about.is_dir() && self.folder == Some(Birth::new(&about)))
    }

    /// Whether a file of the folder is the one that was marked.
    pub fn names(&self, folder: &Path, name: &str) -> bool {
        let about = fs::symlink_metadata(folder.join(name));
        about.is_ok_and(|about| {
            let birth = Birth::new(&about);
            about.is_file() && self.files.iter().any(|(marked, other)| marked == name && *other == birth)
        })
    }

    /// Whether a person has allowed this beyond the usual.
    pub fn allows(&self, what: &str) -> bool {
        self.allowed.contains(what)
    }
}

/// Marks a folder as made here, with the files in it that count. What was allowed before stays allowed if the folder is the
/// same. Durable when it returns.
pub fn mark(folder: &Path, files: &[(&str, &Path)], allowed: &[&str]) -> io::Result<()> {
    let _alone = alone(folder)?;
    write(folder, files, allowed)?;
    flush(folder)
}

fn flush(folder: &Path) -> io::Result<()> {
    private::open(&folder.join(MARK))?.sync_all()?;
    sync_folder(folder)
}

fn write(folder: &Path, files: &[(&str, &Path)], allowed: &[&str]) -> io::Result<()> {
    let old = OwnerMark::read(folder);
    let mut text = format!("{FORM}\nfolder {}\n", Birth::new(&fs::symlink_metadata(folder)?).words());
    for (name, path) in files {
        let _ = writeln!(text, "file {name} {}", Birth::new(&fs::symlink_metadata(path)?).words());
    }
    let mut kept = if old.fits(folder) { old.allowed } else { BTreeSet::new() };
    // What is trusted as it stands takes the place of what stood there before; else the mark would grow without end.
    kept.retain(|word| kind(word).is_none_or(|kind_of_old| !allowed.iter().any(|new| kind(new) == Some(kind_of_old))));
    for word in kept.iter().map(String::as_str).chain(allowed.iter().copied()).collect::<BTreeSet<_>>() {
        let _ = writeln!(text, "allowed {word}");
    }
    private::replace(&folder.join(MARK), text.as_bytes())
}

/// The kind of an allowed word with a digest behind it.
fn kind(word: &str) -> Option<&str> {
    word.split_once('-').map(|(kind, _)| kind)
}

/// Of several that make one store at the same time, one marks it at a time. Held until it is dropped.
fn alone(folder: &Path) -> io::Result<File> {
    let folder = File::open(folder)?;
    // Where folders cannot be locked, marks are still written whole.
    drop(folder.lock());
    Ok(folder)
}

/// The standing of a store's folder. Nothing is written.
pub fn standing(folder: &Path) -> FolderStanding {
    match standing_now(folder) {
        // Somebody may be just making it: the mark is there before anything else is.
        FolderStanding::Foreign(_) => standing_now(folder),
        known => known,
    }
}

fn standing_now(folder: &Path) -> FolderStanding {
    if fs::symlink_metadata(folder.join(BROUGHT)).is_ok() {
        return FolderStanding::Foreign(Foreign::Brought);
    }
    let mark = OwnerMark::read(folder);
    if mark.fits(folder) {
        let length = fs::symlink_metadata(folder.join(DATABASE)).map_or(0, |about| about.len());
        // An empty one holds nothing that could be taken for ours.
        let ours = length == 0 || mark.names(folder, DATABASE);
        return if ours { FolderStanding::Ours } else { FolderStanding::Foreign(Foreign::Replaced) };
    }
    // Of which only a part can be seen may be anything: it is not taken for a new one.
    let names = match listing::all(folder) {
        Err(why) if why.raw_os_error() == Some(libc::EIO) => None,
        names => Some(names.unwrap_or_default()),
    };
    let is_of_a_store = |entry: &DirEntry| {
        let name = entry.file_name();
        let name = Path::new(&name);
        !name.to_string_lossy().starts_with(MARK) && !is_for_people(name) && !is_begun(&entry.path())
    };
    let is_store = names.is_none_or(|names| names.iter().any(is_of_a_store));
    match (is_store, mark.folder) {
        (false, _) => FolderStanding::New,
        (true, None) => FolderStanding::Foreign(Foreign::Unmarked),
        (true, Some(_)) => FolderStanding::Foreign(Foreign::Elsewhere),
    }
}

/// Whether a file at the top of the folder is one that people write.
pub fn is_for_people(name: &Path) -> bool {
    let ending = name.extension().and_then(|ending| ending.to_str());
    name == Path::new(".gitignore") || ending.is_some_and(|ending| FOR_PEOPLE.contains(&ending))
}

/// Whether this is what a power cut leaves of a store that was just being made: nothing is in it yet.
fn is_begun(path: &Path) -> bool {
    let Ok(about) = fs::symlink_metadata(path) else { return false };
    let name = path.file_name().and_then(|name| name.to_str());
    match name {
        Some(DATABASE) => about.is_file() && about.len() == 0,
        Some("reserve") => about.is_file(),
        Some("run" | "blobs") => about.is_dir() && listing::all(path).is_ok_and(|inside| inside.is_empty()),
        Some(_) | None => false,
    }
}

/// Refuses to write to a store that was not made here.
pub(crate) fn demand(folder: &Path) -> Result<(), StoreError> {
    match standing(folder) {
        FolderStanding::New | FolderStanding::Ours => Ok(()),
        FolderStanding::Foreign(why) => Err(StoreError::Foreign { folder: folder.to_owned(), why }),
    }
}

/// Marks the folder of a new store. Not flushed: that is done when its database is noted, and before that nothing is in it.
pub(crate) fn mark_folder(folder: &Path) -> Result<(), StoreError> {
    if OwnerMark::read(folder).fits(folder) {
        return Ok(());
    }
    let marked = alone(folder).and_then(|_alone| {
        // Somebody may have been faster, and have noted more.
        if OwnerMark::read(folder).fits(folder) { Ok(()) } else { write(folder, &[], &[]) }
    });
    marked.map_err(|error| StoreError::not_saved(folder.join(MARK), &error))
}

/// Notes the file that is the database of a store, or will take its place.
pub(crate) fn mark_database(folder: &Path, database: &Path) -> Result<(), StoreError> {
    let there = folder.join(DATABASE);
    if database == there && OwnerMark::read(folder).names(folder, DATABASE) {
        return Ok(());
    }
    let marked = alone(folder).and_then(|_alone| {
        let known = OwnerMark::read(folder).names(folder, DATABASE);
        match (known, database == there) {
            (true, true) => return Ok(()),
            (true, false) => write(folder, &[(DATABASE, database), (DATABASE, &there)], &[])?,
            (false, _) => write(folder, &[(DATABASE, database)], &[])?,
        }
        flush(folder)
    });
    marked.map_err(|error| StoreError::not_saved(folder.join(MARK), &error))
}

/// Takes a store for the user's own from now on, as it lies there. For a person who says so.
pub fn trust(folder: &Path, allowed: &[&str]) -> Result<(), StoreError> {
    let database = folder.join(DATABASE);
    let there = fs::symlink_metadata(&database).is_ok();
    let files: Vec<(&str, &Path)> = there.then_some((DATABASE, database.as_path())).into_iter().collect();
    mark(folder, &files, allowed).map_err(|error| StoreError::not_saved(folder.join(MARK), &error))?;
    let brought = folder.join(BROUGHT);
    match fs::remove_file(&brought) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::not_saved(brought, &error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Takes a store for somebody else's until a person trusts it. Durable when it returns.
pub fn distrust(folder: &Path) -> Result<(), StoreError> {
    let path = folder.join(BROUGHT);
    let made = private::replace(&path, b"onward trust\n").and_then(|()| {
        private::open(&path)?.sync_all()?;
        sync_folder(folder)
    });
    made.map_err(|error| StoreError::not_saved(path, &error))
}

/// Writes a note that proves by when and where it was made that it was made here.
pub fn write_note(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new = Path::new(&name);
    let mut file = private::create_anew(new)?;
    let birth = Birth::new(&file.metadata()?).words();
    file.write_all(format!("{FORM}\nitself {birth}\n{text}").as_bytes())?;
    fs::rename(new, path)
}

/// A note that was made here; none if there is none, or if it was not.
pub fn read_note(path: &Path) -> Option<String> {
    let bytes = private::read(path, NOTE_BYTES_MAX).ok()?;
    let birth = Birth::new(&fs::symlink_metadata(path).ok()?);
    let text = String::from_utf8(bytes).ok()?;
    let rest = text.strip_prefix(FORM)?.strip_prefix("\nitself ")?;
    let (words, text) = rest.split_once('\n')?;
    (Birth::parse(words)? == birth).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn store() -> (tempfile::TempDir, PathBuf) {
        let top = tempfile::tempdir().expect("a folder");
        let folder = top.path().join("store");
        fs::create_dir(&folder).expect("a folder");
        assert_eq!(standing(&folder), FolderStanding::New);
        mark_folder(&folder).expect("it can be marked");
        fs::create_dir(folder.join("run")).expect("a folder");
        assert_eq!(standing(&folder), FolderStanding::Ours);
        fs::write(folder.join(DATABASE), "").expect("a file");
        mark_database(&folder, &folder.join(DATABASE)).expect("it can be marked");
        fs::write(folder.join(DATABASE), "records").expect("a file");
        assert_eq!(standing(&folder), FolderStanding::Ours);
        (top, folder)
    }

    /// A store is moved. It is the same folder with the same files in it.
    #[test]
    fn a_move_changes_nothing() {
        let (top, folder) = store();
        let moved = top.path().join("elsewhere");
        fs::rename(&folder, &moved).expect("a move");
        assert_eq!(standing(&moved), FolderStanding::Ours);
    }

    /// A person trusts settings again and again as they change. Only the last ones are trusted, and other words stay.
    #[test]
    fn what_is_trusted_anew_takes_the_place_of_the_old() {
        let (_top, folder) = store();
        for number in 0..100 {
            mark(&folder, &[], &["tracked", "filters-1", &format!("config-{number:064}")]).expect("it can be marked");
        }
        let mark = OwnerMark::read(&folder);
        assert!(mark.fits(&folder) && mark.allows("tracked") && mark.allows("filters-1"));
        assert!(mark.allows(&format!("config-{:064}", 99)) && !mark.allows(&format!("config-{:064}", 98)));
    }

    /// The same bytes come in another folder, or the database alone is another file.
    #[test]
    fn a_copy_is_noticed() {
        let (top, folder) = store();
        let copy = top.path().join("copy");
        fs::create_dir(&copy).expect("a folder");
        for name in [MARK, DATABASE] {
            fs::copy(folder.join(name), copy.join(name)).expect("a copy");
        }
        assert_eq!(standing(&copy), FolderStanding::Foreign(Foreign::Elsewhere));
        trust(&copy, &["tracked"]).expect("a person says so");
        assert_eq!(standing(&copy), FolderStanding::Ours);
        assert!(OwnerMark::read(&copy).allows("tracked"));
        fs::remove_file(folder.join(DATABASE)).expect("it was there");
        fs::write(folder.join(DATABASE), "others").expect("a file");
        assert_eq!(standing(&folder), FolderStanding::Foreign(Foreign::Replaced));
        fs::remove_file(folder.join(MARK)).expect("it was there");
        assert_eq!(standing(&folder), FolderStanding::Foreign(Foreign::Unmarked));
    }

    /// A team keeps configuration and plan under version control. A store may be made beside them.
    #[test]
    fn what_people_wrote_is_no_store() {
        let top = tempfile::tempdir().expect("a folder");
        for name in ["config.yaml", "plan.yaml", ".gitignore", "README.md"] {
            fs::write(top.path().join(name), "").expect("a file");
        }
        assert_eq!(standing(top.path()), FolderStanding::New);
        for folder in ["run", "blobs"] {
            fs::create_dir(top.path().join(folder)).expect("a folder");
        }
        fs::write(top.path().join(DATABASE), "").expect("a file");
        assert_eq!(standing(top.path()), FolderStanding::New, "what a power cut leaves");
        fs::create_dir(top.path().join("git")).expect("a folder");
        assert_eq!(standing(top.path()), FolderStanding::Foreign(Foreign::Unmarked));
    }

    /// A note proves itself; a copy of it with the same bytes does not.
    #[test]
    fn a_note_is_known_by_its_own_birth() {
        let top = tempfile::tempdir().expect("a folder");
        let (path, copy) = (top.path().join("note"), top.path().join("copy"));
        assert_eq!(read_note(&path), None);
        write_note(&path, "one").expect("it can be written");
        write_note(&path, "two\nlines").expect("it can be written");
        assert_eq!(read_note(&path).as_deref(), Some("two\nlines"));
        fs::copy(&path, &copy).expect("a copy");
        assert_eq!(read_note(&copy), None);
    }

    /// A store that was brought back from elsewhere is nobody's until a person says so, although the folder was made here.
    #[test]
    fn what_was_brought_is_distrusted_until_a_person_trusts_it() {
        let (_top, folder) = store();
        distrust(&folder).expect("it can be written");
        assert_eq!(standing(&folder), FolderStanding::Foreign(Foreign::Brought));
        trust(&folder, &[]).expect("a person says so");
        assert_eq!(standing(&folder), FolderStanding::Ours);
    }

    /// A database is built anew and takes the place of the old one. Killed before or after the move, the store is ours.
    #[test]
    fn a_new_database_may_take_the_place_of_the_old_one() {
        let (top, folder) = store();
        let built = top.path().join("built");
        fs::write(&built, "rebuilt").expect("a file");
        mark_database(&folder, &built).expect("it can be marked");
        assert_eq!(standing(&folder), FolderStanding::Ours);
        fs::rename(&built, folder.join(DATABASE)).expect("a move");
        assert_eq!(standing(&folder), FolderStanding::Ours);
    }
}
