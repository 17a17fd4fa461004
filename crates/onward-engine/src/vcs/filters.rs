//! Filters that a repository names in its own settings.
//!
//! They are commands, and an archive can bring them: whoever looks at a working tree has not asked for them. So they are
//! switched off wherever git only compares. A commit must use them, or it would hold what was never meant to be committed;
//! so it is not made until a person has said `onward trust`. Those in the user's own settings are the user's.

use std::collections::BTreeSet;
use std::path::Path;

use onward_store::ownership::OwnerMark;

use super::call::{GitCall, command, parts};
use super::commit::NotCommitted;
use super::repository::Repository;
use super::trouble::GitTrouble;

/// The settings that switch a filter off: nothing is run, and the content is taken as it is.
const OFF: [(&str, &str); 4] = [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")];

/// The filters of a repository's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filters {
    names: BTreeSet<String>,
    settings: Vec<u8>,
}

impl Filters {
    /// Those of the repository that a folder lies in.
    pub(crate) fn in_folder(folder: &Path) -> Result<Self, GitTrouble> {
        let words = ["-z", "--show-scope", "--get-regexp", r"^filter\."];
        let answer = GitCall::new(command(folder), "config").args(words).ask()?;
        if answer.code == Some(1) {
            return Ok(Self::default());
        }
        Ok(Self::parse(&answer.output()?))
    }

    /// `scope NUL key line-break value NUL`, again and again.
    fn parse(out: &[u8]) -> Self {
        let mut filters = Self::default();
        let all: Vec<&[u8]> = parts(out).collect();
        for one in all.chunks_exact(2) {
            let (scope, setting) = (one[0], one[1]);
            let key = setting.split(|&byte| byte == b'\n').next().unwrap_or_default();
            let key = String::from_utf8_lossy(key).into_owned();
            let name = key.strip_prefix("filter.").and_then(|rest| rest.rsplit_once('.')).map(|(name, _)| name);
            if let (b"local" | b"worktree", Some(name)) = (scope, name) {
                filters.names.insert(name.to_owned());
                filters.settings.extend_from_slice(setting);
                filters.settings.push(0);
            }
        }
        filters
    }

    /// The word in the mark of a store by which exactly these filters are trusted; none where there are none.
    pub(crate) fn word(&self) -> Option<String> {
        (!self.names.is_empty()).then(|| format!("filters-{}", blake3::hash(&self.settings).to_hex()))
    }

    /// The call without these filters. The settings go by the environment: a name may hold any character.
    pub(super) fn off(&self, call: GitCall) -> GitCall {
        let all = self
            .names
            .iter()
            .flat_map(|name| OFF.iter().map(move |(key, value)| (format!("filter.{name}.{key}"), value)));
        let (mut call, mut count) = (call, 0);
        for (key, value) in all {
            call = call.env(&format!("GIT_CONFIG_KEY_{count}"), key).env(&format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
        }
        if count == 0 { call } else { call.env("GIT_CONFIG_COUNT", count.to_string()) }
    }
}

impl Repository {
    /// The word by which the mark of a store allows the filters that this repository names; none where it names none.
    pub fn filters_word(&self) -> Result<Option<String>, GitTrouble> {
        Ok(self.filters()?.word())
    }

    pub(super) fn filters(&self) -> Result<Filters, GitTrouble> {
        Filters::in_folder(&self.top)
    }

    /// Refuses a commit of files that go through a filter which nobody has trusted.
    pub(super) fn demand_trusted(&self, filters: &Filters, paths: &BTreeSet<Vec<u8>>) -> Result<(), NotCommitted> {
        let mark = OwnerMark::read(&self.store);
        let trusted = filters.word().is_none_or(|word| mark.allows(&word) && mark.fits(&self.store));
        if trusted || paths.is_empty() {
            return Ok(());
        }
        let asked = self.call("check-attr").args(["-z", "--stdin", "filter"]).input(super::shadow::list(paths));
        let answer = asked.output()?;
        let fields: Vec<&[u8]> = answer.split(|&byte| byte == 0).collect();
        let used = fields.chunks_exact(3).map(|one| String::from_utf8_lossy(one[2]).into_owned());
        match used.into_iter().find(|name| filters.names.contains(name)) {
            Some(filter) => Err(NotCommitted::UntrustedFilter { filter }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Settings of the user's own stay as they are; those of the repository are known by name, whatever is in it.
    #[test]
    fn only_the_repositorys_own_filters_count() {
        let out = b"global\0filter.lfs.clean\ngit-lfs clean\0local\0filter.a=b.c.clean\nevil\0worktree\0filter.d.process\np\0";
        let filters = Filters::parse(out);
        assert_eq!(filters.names, ["a=b.c", "d"].map(str::to_owned).into());
        assert_ne!(filters.word(), Filters::parse(b"local\0filter.d.process\np\0").word());
        assert_eq!(Filters::parse(b"global\0filter.lfs.clean\nx\0").word(), None);
    }
}
