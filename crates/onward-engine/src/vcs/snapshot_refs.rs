//! The refs that keep snapshots, and the end of those that are kept no longer.

use onward_core::id::RunId;

use super::repository::Repository;
use super::snapshot::ref_name;
use super::trouble::GitTrouble;

impl Repository {
    /// Lets go of the snapshots of a run but for those to keep, by their numbers and commits, and says how many went. Git removes what
    /// nothing refers to any more when it tidies up.
    pub fn drop_snapshots(&self, run: &RunId, keep: &dyn Fn(u64, &str) -> bool) -> Result<usize, GitTrouble> {
        let first = ref_name(run, 0)?;
        let folder = first.trim_end_matches('0');
        let listed = self.call("for-each-ref").args(["--format=%(objectname) %(refname)", folder]).output()?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let named = listed.lines().filter_map(|line| line.split_once(' '));
        let dropped: Vec<&str> = named
            .filter(|(commit, name)| {
                let number = name.strip_prefix(folder).and_then(|number| number.parse::<u64>().ok());
                number.is_some_and(|number| !keep(number, commit))
            })
            .map(|(_, name)| name)
            .collect();
        if !dropped.is_empty() {
            let commands: Vec<u8> = dropped.iter().flat_map(|name| format!("delete {name}\n").into_bytes()).collect();
            let call = self.wherever_it_is(self.call("update-ref"));
            call.args(["--no-deref", "--stdin"]).input(commands).output()?;
        }
        Ok(dropped.len())
    }
}
