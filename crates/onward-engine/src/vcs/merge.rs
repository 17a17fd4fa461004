//! Two versions of the project brought together: by git's merge, on snapshots, and file by file into the working tree.
//!
//! Nothing is moved before the merge is a commit. Then only the files that it changes are swapped, each of them from the very state
//! that was merged: whatever is in another state by then belongs to somebody, and all is called off.

use std::collections::BTreeMap;
use std::path::PathBuf;

use onward_store::private;

use super::call::parts;
use super::changes::PathStep;
use super::place::KeptFile;
use super::repository::Repository;
use super::restore::{NotRestored, Others};
use super::scan::TreeEntry;
use super::shadow::Shadow;
use super::trouble::GitTrouble;
use crate::kill_point::reached;
use crate::sys::stop;

/// The names of the two sides in conflict marks.
pub(crate) const SIDES: [&str; 2] = ["project", "worktree"];

/// The version of git whose merge needs no working tree.
const VERSION_MIN: (u32, u32) = (2, 38);

/// Both together.
#[derive(Debug)]
pub(crate) struct Merged {
    /// Conflicting files have both versions in them, between marks.
    pub(crate) commit: String,
    pub(crate) tree: String,
    /// None where all goes together.
    pub(crate) conflicts: Vec<PathBuf>,
    /// In git's words.
    pub(crate) told: Vec<String>,
}

/// How it ended to put files into the working tree.
#[derive(Debug)]
pub(crate) enum PlacedFiles {
    /// All are there. Files that were edited in that moment lie elsewhere now.
    Done { kept: Vec<String> },
    /// None is there: others have changed something in that moment.
    CalledOff { reason: String, paths: Vec<PathBuf> },
    /// Files that no snapshot has lie where others are to be put.
    InTheWay { paths: Vec<PathBuf> },
}

impl Repository {
    /// Whether this git can merge what lies in no working tree, or why not.
    pub(crate) fn demand_merges(&self) -> Result<(), String> {
        let text = self.call("version").line().map_err(|why| why.to_string())?;
        let mut numbers = text.trim_start_matches("git version ").split('.').map_while(|part| part.parse::<u32>().ok());
        let version = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
        if version >= VERSION_MIN {
            return Ok(());
        }
        let (major, minor) = VERSION_MIN;
        Err(format!("{text} is too old to bring files together; {major}.{minor} or later can"))
    }

    /// Brings together what the project and a worktree have made of the same base.
    pub(crate) fn merge(&self, name: &str, base: &str, [project, own]: [&str; 2]) -> Result<Merged, GitTrouble> {
        let shadow = Shadow::take(self)?;
        // Snapshots have HEAD as their parent: what they have in common is told to git by commits of our own.
        for (side, snapshot) in SIDES.into_iter().zip([project, own]) {
            let commit = shadow.commit_of(&shadow.tree_of(snapshot)?, &[base], side)?;
            shadow.set_side(side, &commit)?;
        }
        let words = ["--write-tree", "-z", "--name-only", "--messages"];
        let answer = shadow.durable("merge-tree").args(words).args(SIDES).ask()?;
        if !matches!(answer.code, Some(0 | 1)) {
            return Err(answer.failed());
        }
        let told = parse(&answer.out).ok_or_else(|| GitTrouble::unclear("merge-tree", &answer.out))?;
        let commit = shadow.commit_of(&told.tree, &[project, own], "onward: both together")?;
        reached("worktree.merged");
        self.set_ref(name, &commit)?;
        let conflicts = told.paths.iter().filter_map(|path| self.in_project(path)).collect();
        Ok(Merged { commit, tree: told.tree, conflicts, told: told.messages })
    }

    /// Puts the differences between two snapshots into the working tree, which was as the first of them a moment ago. Also where
    /// an earlier try was killed in the middle. `name` keeps what is there now.
    pub(crate) fn put_in_place(&self, name: &str, before: &str, merged: &str) -> Result<PlacedFiles, GitTrouble> {
        let wanted: Vec<PathStep> = self.own_steps(before, merged)?;
        let now = self.snapshot_under(name, Some(before))?.commit;
        let shadow = Shadow::take(self)?;
        let whole = stop::Whole::begin_later();
        let left = steps_by_path(self.own_steps(&now, merged)?);
        let is_edited = |step: &&PathStep| left.get(&step.path).is_some_and(|left| left.before != step.before);
        let edited: Vec<&PathStep> = wanted.iter().filter(is_edited).collect();
        if edited.is_empty() {
            let open = wanted.iter().filter_map(|step| left.get(&step.path)).cloned().collect();
            match shadow.bring(open, &now, Others::MayWrite, &whole) {
                Ok(brought) => {
                    return Ok(PlacedFiles::Done { kept: brought.kept.iter().map(KeptFile::words).collect() });
                }
                Err(NotRestored::Trouble(why)) => return Err(why),
                Err(half @ (NotRestored::HalfDone { .. } | NotRestored::NotEnded { .. })) => {
                    return Err(GitTrouble::Failed { what: "worktree".to_owned(), said: half.to_string() });
                }
                Err(why @ (NotRestored::InTheWay { .. } | NotRestored::Moved | NotRestored::RolledBack { .. })) => {
                    self.take_back(&shadow, &wanted, (&now, before), &whole)?;
                    return Ok(called_off(why));
                }
            }
        }
        let paths = edited.iter().filter_map(|step| self.in_project(&step.path)).collect();
        self.take_back(&shadow, &wanted, (&now, before), &whole)?;
        Ok(PlacedFiles::CalledOff { reason: "files were edited in the same moment".to_owned(), paths })
    }

    /// Takes away again what an earlier try has put into its place, as far as it is still the same.
    fn take_back(
        &self,
        shadow: &Shadow<'_>,
        wanted: &[PathStep],
        (now, before): (&str, &str),
        whole: &stop::Whole,
    ) -> Result<(), GitTrouble> {
        let back = steps_by_path(self.own_steps(now, before)?);
        let placed = |step: &&PathStep| back.get(&step.path).is_some_and(|back| back.before == step.after);
        let back: Vec<PathStep> =
            wanted.iter().filter(placed).filter_map(|step| back.get(&step.path)).cloned().collect();
        if back.is_empty() {
            return Ok(());
        }
        match shadow.bring(back, now, Others::MayWrite, whole) {
            Ok(_) => Ok(()),
            Err(NotRestored::Trouble(why)) => Err(why),
            Err(why) => Err(GitTrouble::Failed { what: "worktree".to_owned(), said: why.to_string() }),
        }
    }

    /// The differences between two snapshots that are ours to make.
    fn own_steps(&self, from: &str, to: &str) -> Result<Vec<PathStep>, GitTrouble> {
        let (steps, _) = self.steps_and_lines(from, to)?;
        let is_ours = |step: &PathStep| {
            let sides = [&step.before, &step.after];
            let nested = sides.iter().any(|side| side.as_ref().is_some_and(TreeEntry::is_repository));
            !nested && !self.is_store(&step.path) && self.in_project(&step.path).is_some()
        };
        Ok(steps.into_iter().filter(is_ours).collect())
    }
}

fn called_off(why: NotRestored) -> PlacedFiles {
    match why {
        NotRestored::InTheWay { paths } => PlacedFiles::InTheWay { paths },
        NotRestored::RolledBack { path, why } => {
            PlacedFiles::CalledOff { reason: format!("{}: {why}", path.display()), paths: vec![path] }
        }
        other => PlacedFiles::CalledOff { reason: other.to_string(), paths: Vec::new() },
    }
}

fn steps_by_path(steps: Vec<PathStep>) -> BTreeMap<Vec<u8>, PathStep> {
    steps.into_iter().map(|step| (step.path.clone(), step)).collect()
}

impl Shadow<'_> {
    /// A branch in the private folder, so that conflict marks say whose a version is.
    fn set_side(&self, side: &str, commit: &str) -> Result<(), GitTrouble> {
        let heads = self.folder.join("refs/heads");
        private::make_folders(&self.folder, &heads).map_err(GitTrouble::file(&heads, "made"))?;
        let path = heads.join(side);
        private::replace(&path, format!("{commit}\n").as_bytes()).map_err(GitTrouble::written(&path))
    }
}

/// The answer of `merge-tree`.
#[derive(Debug, PartialEq, Eq)]
struct MergeTold {
    tree: String,
    paths: Vec<Vec<u8>>,
    messages: Vec<String>,
}

/// `tree NUL`; where there are conflicts, `path NUL` for each; an empty part; then for each message how many paths it is about, these,
/// its kind, and the text.
fn parse(out: &[u8]) -> Option<MergeTold> {
    let tree = String::from_utf8(parts(out).next()?.to_vec()).ok()?;
    let mut rest = out.split(|&byte| byte == 0).skip(1);
    let paths = rest.by_ref().take_while(|part| !part.is_empty()).map(<[u8]>::to_vec).collect();
    let mut messages = Vec::new();
    while let Some(count) = rest.next().filter(|part| !part.is_empty()) {
        let count: usize = std::str::from_utf8(count).ok()?.parse().ok()?;
        for _ in 0..count {
            rest.next()?;
        }
        let kind = rest.next()?;
        let text = String::from_utf8_lossy(rest.next()?).trim_end().to_owned();
        if kind.starts_with(b"CONFLICT") {
            messages.push(text);
        }
    }
    Some(MergeTold { tree, paths, messages })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Git tells of a merge with two conflicts, and of one without any.
    #[test]
    fn the_answer_of_a_merge_is_understood() {
        let text = b"40ab\0f\0g h\0\x001\0f\0Auto-merging\0Auto-merging f\n\x002\0g h\0x\0CONFLICT (modify/delete)\0CONFLICT: g\n\0";
        let told = parse(text).expect("it is understood");
        assert_eq!(told.paths, [b"f".to_vec(), b"g h".to_vec()]);
        assert_eq!((told.tree.as_str(), told.messages), ("40ab", vec!["CONFLICT: g".to_owned()]));
        let clean = parse(b"40ab\0").expect("it is understood");
        assert_eq!(clean, MergeTold { tree: "40ab".to_owned(), paths: Vec::new(), messages: Vec::new() });
    }
}
