//! Small questions on the way to a resume: what a snapshot holds of a few files, and how far HEAD went. Never worth a wait.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::time::Duration;

use super::repository::Repository;
use super::trouble::GitTrouble;

/// Time limit; a comparison that takes longer has no answer.
const TIME_MAX: Duration = Duration::from_secs(5);
/// Files that are larger are not compared line by line.
pub(crate) const TEXT_BYTES_MAX: u64 = 1024 * 1024;

impl Repository {
    /// Commits in the history of one commit that are not in the history of the other: the new ones first, then those gone.
    pub(crate) fn commits_between(&self, from: &str, to: &str) -> Option<(u64, u64)> {
        let both = format!("{from}...{to}");
        let call = self.call("rev-list").args(["--left-right", "--count", &both, "--"]);
        let counted = call.at_most(TIME_MAX).line().ok()?;
        let (gone, new) = counted.split_once('\t')?;
        Some((new.parse().ok()?, gone.parse().ok()?))
    }

    /// The contents of some files in a snapshot, by their paths from the top of the project. Missing and large ones are
    /// left out.
    pub(crate) fn texts(&self, commit: &str, paths: &[&str]) -> BTreeMap<String, Vec<u8>> {
        self.small_files(commit, paths).and_then(|names| self.contents(&names)).unwrap_or_default()
    }

    /// Paths and the names of their content.
    fn small_files(&self, commit: &str, paths: &[&str]) -> Result<Vec<(String, String)>, GitTrouble> {
        let prefix = String::from_utf8_lossy(&self.prefix).into_owned();
        let paths: Vec<&&str> = paths.iter().filter(|path| !path.contains('\n')).collect();
        let asked = paths.iter().map(|path| format!("{commit}:{prefix}{path}\n")).collect::<Vec<_>>().concat();
        let call = self.call("cat-file").arg("--batch-check=%(objectname) %(objecttype) %(objectsize)");
        let out = call.input(asked.into_bytes()).at_most(TIME_MAX).output()?;
        let told = String::from_utf8_lossy(&out);
        let small = told.lines().zip(paths).filter_map(|(line, path)| {
            let [name, "blob", size] = *line.split(' ').collect::<Vec<_>>() else { return None };
            (size.parse::<u64>().ok()? <= TEXT_BYTES_MAX).then(|| ((*path).to_owned(), name.to_owned()))
        });
        Ok(small.collect())
    }

    fn contents(&self, files: &[(String, String)]) -> Result<BTreeMap<String, Vec<u8>>, GitTrouble> {
        let asked = files.iter().map(|(_, name)| format!("{name}\n")).collect::<Vec<_>>().concat();
        self.call("cat-file").arg("--batch").input(asked.into_bytes()).at_most(TIME_MAX).stream(|from| {
            let mut contents = BTreeMap::new();
            for (path, _) in files {
                contents.insert(path.clone(), next(from).ok_or_else(|| GitTrouble::unclear("cat-file", b""))?);
            }
            Ok(contents)
        })
    }
}

/// `NAME blob SIZE`, a line break, the content, a line break.
fn next(from: &mut dyn BufRead) -> Option<Vec<u8>> {
    let mut line = String::new();
    from.read_line(&mut line).ok()?;
    let size: usize = line.trim_end().rsplit(' ').next()?.parse().ok()?;
    let mut content = vec![0; size + 1];
    from.read_exact(&mut content).ok()?;
    content.pop();
    Some(content)
}
