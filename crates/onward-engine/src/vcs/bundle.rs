//! The snapshots of a run as a git bundle, and back. A bundle comes from elsewhere: its refs are read here, before git sees any of it,
//! and its objects are checked by git as those of a stranger.

use onward_core::id::RunId;

use super::repository::Repository;
use super::snapshot::ref_name;
use super::trouble::GitTrouble;

const SIGNATURES: [&[u8]; 2] = [b"# v2 git bundle\n", b"# v3 git bundle\n"];
const REFS_MAX: usize = 100_000;

/// A bundle that holds snapshots of one run and nothing else.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CheckedBundle<'a> {
    /// Refs with their commits.
    refs: Vec<(String, String)>,
    pack: &'a [u8],
}

/// Reads the head of a bundle. Why it is refused, if it is.
pub(crate) fn check<'a>(bundle: &'a [u8], run: &RunId) -> Result<CheckedBundle<'a>, String> {
    let first = ref_name(run, 0).map_err(|why| why.to_string())?;
    let folder = first.trim_end_matches('0');
    let rest = SIGNATURES.iter().find_map(|signature| bundle.strip_prefix(*signature));
    let mut rest = rest.ok_or("its snapshots are no git bundle")?;
    let mut refs = Vec::new();
    loop {
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or("its git bundle is cut off")?;
        let line = std::str::from_utf8(&rest[..end]).map_err(|_| "its git bundle is no bundle of text")?;
        rest = &rest[end + 1..];
        if line.is_empty() {
            break;
        }
        if line.starts_with("@object-format=") {
            continue;
        }
        if line.starts_with(['-', '@']) {
            return Err("its git bundle is built on commits that are not in it".to_owned());
        }
        let (commit, name) = line.split_once(' ').ok_or("its git bundle names something without a ref")?;
        let number = name.strip_prefix(folder).and_then(|number| number.parse::<u64>().ok());
        let is_snapshot = number.is_some_and(|number| name == format!("{folder}{number}"));
        let is_hash =
            matches!(commit.len(), 40 | 64) && commit.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if !is_snapshot || !is_hash || refs.len() == REFS_MAX {
            return Err(format!("its git bundle names {name:?}, which is no snapshot of run {run}"));
        }
        refs.push((name.to_owned(), commit.to_owned()));
    }
    if refs.is_empty() || !rest.starts_with(b"PACK") {
        return Err("its git bundle holds nothing".to_owned());
    }
    Ok(CheckedBundle { refs, pack: rest })
}

impl Repository {
    /// All snapshots of a run, with what they are built on; none where there is no snapshot.
    pub(crate) fn bundle(&self, run: &RunId) -> Result<Option<Vec<u8>>, GitTrouble> {
        let first = ref_name(run, 0)?;
        let folder = first.trim_end_matches('0');
        let listed = self.call("for-each-ref").args(["--format=%(refname)", folder]).output()?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let is_snapshot = |name: &&str| name.strip_prefix(folder).is_some_and(|number| number.parse::<u64>().is_ok());
        let names: String = listed.lines().filter(is_snapshot).flat_map(|name| [name, "\n"]).collect();
        if names.is_empty() {
            return Ok(None);
        }
        let made = self.call("bundle").args(["create", "--quiet", "-", "--stdin"]).input(names.into_bytes());
        made.output().map(Some)
    }

    /// Takes the objects of a bundle that was checked, and then its refs. Objects without a ref are what a kill leaves, and git removes
    /// them one day.
    pub(crate) fn unbundle(&self, bundle: &CheckedBundle<'_>) -> Result<(), GitTrouble> {
        self.durable_call("index-pack").args(["--stdin", "--strict"]).input(bundle.pack.to_vec()).output()?;
        let commits: String = bundle.refs.iter().flat_map(|(_, commit)| [commit.as_str(), "^{commit}\n"]).collect();
        // All that they are built on must be there, or a later restore would fail half-way.
        self.call("rev-list").args(["--objects", "--quiet", "--stdin"]).input(commits.into_bytes()).output()?;
        bundle.refs.iter().try_for_each(|(name, commit)| self.set_ref(name, commit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "0123456789abcdef0123456789abcdef01234567";

    /// Bundles that name branches, other runs, links out, or build on what is not in them are refused before git sees them.
    #[test]
    fn only_snapshots_of_the_run_are_taken() {
        let run = RunId::new("r1");
        let with = |line: &str| format!("# v2 git bundle\n{line}\n\nPACK").into_bytes();
        let good = with(&format!("{HASH} refs/onward/r1/7"));
        assert_eq!(check(&good, &run).map(|found| found.refs.len()), Ok(1));
        for bad in [
            format!("{HASH} refs/heads/main"),
            format!("{HASH} refs/onward/r2/7"),
            format!("{HASH} refs/onward/r1/../../heads/main"),
            format!("{HASH} refs/onward/r1/journal"),
            format!("{HASH} refs/onward/r1/+7"),
            format!("{HASH} HEAD"),
            format!("-{HASH} base\n{HASH} refs/onward/r1/7"),
            "zz refs/onward/r1/7".to_owned(),
            String::new(),
        ] {
            assert!(check(&with(&bad), &run).is_err(), "{bad}");
        }
        for bad in [&b""[..], b"PACK", b"# v2 git bundle\n", b"# v2 git bundle\n\nPACK"] {
            assert!(check(bad, &run).is_err(), "{}", bad.escape_ascii());
        }
    }
}
