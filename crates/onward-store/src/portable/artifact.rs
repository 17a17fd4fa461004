//! Artifacts in a file: which paths they may have, and the digest of their content.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::model::{ArtifactEntry, ArtifactEntryKind, PortableArtifact};
use super::section::damaged;
use crate::error::StoreError;

const ENTRIES_MAX: usize = 10_000;
const PATH_BYTES_MAX: usize = 4_096;
const DIGEST_CHARS: usize = 64;
/// Stands between the digest and the second until which it is kept.
const UNTIL: &str = ".until-";

/// The list that stands before the contents.
#[derive(Serialize, Deserialize)]
pub(super) struct ArtifactList {
    name: String,
    entries: Vec<ListedEntry>,
}

#[derive(Serialize, Deserialize)]
struct ListedEntry {
    path: String,
    /// Of a file; a folder has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    executable: bool,
}

/// The length of the list, the list, and then all contents in its order.
pub(super) fn encode(artifact: &PortableArtifact) -> Vec<u8> {
    let listed = artifact.entries.iter().map(|entry| match &entry.kind {
        ArtifactEntryKind::Folder => ListedEntry { path: entry.path.clone(), bytes: None, executable: false },
        ArtifactEntryKind::File { content, executable } => {
            ListedEntry { path: entry.path.clone(), bytes: Some(content.len() as u64), executable: *executable }
        }
    });
    let list = ArtifactList { name: artifact.name.clone(), entries: listed.collect() };
    let list = serde_json::to_vec(&list).expect("a list has only string keys");
    let mut out = (list.len() as u64).to_le_bytes().to_vec();
    out.extend(list);
    for entry in &artifact.entries {
        if let ArtifactEntryKind::File { content, .. } = &entry.kind {
            out.extend_from_slice(content);
        }
    }
    out
}

pub(super) fn decode(bytes: &[u8]) -> Result<PortableArtifact, StoreError> {
    let bad = || damaged("an artifact in it is not what it should be");
    let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(bad)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| bad())?;
    let (list, mut rest) = rest.split_at_checked(length).ok_or_else(bad)?;
    let list: ArtifactList = serde_json::from_slice(list).map_err(|_| bad())?;
    if list.entries.len() > ENTRIES_MAX {
        return Err(damaged(format!("an artifact in it has more than {ENTRIES_MAX} files")));
    }
    let mut entries = Vec::with_capacity(list.entries.len());
    for ListedEntry { path, bytes, executable } in list.entries {
        let kind = match bytes {
            None => ArtifactEntryKind::Folder,
            Some(bytes) => {
                let bytes = usize::try_from(bytes).map_err(|_| bad())?;
                let (content, behind) = rest.split_at_checked(bytes).ok_or_else(bad)?;
                rest = behind;
                ArtifactEntryKind::File { content: content.to_vec(), executable }
            }
        };
        entries.push(ArtifactEntry { path, kind });
    }
    if !rest.is_empty() {
        return Err(bad());
    }
    let artifact = PortableArtifact { name: list.name, entries };
    check(&artifact)?;
    Ok(artifact)
}

/// Refuses names that are no names, paths that lead out or stand twice, and content that does not have its digest.
fn check(artifact: &PortableArtifact) -> Result<(), StoreError> {
    let (wanted, until) = match artifact.name.split_once(UNTIL) {
        Some((wanted, until)) => (wanted, Some(until)),
        None => (artifact.name.as_str(), None),
    };
    let is_digest =
        wanted.len() == DIGEST_CHARS && wanted.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_time =
        until.is_none_or(|until| until.len() < 20 && until.parse::<u64>().is_ok_and(|time| time.to_string() == until));
    if !is_digest || !is_time {
        return Err(damaged("an artifact in it has no digest for a name"));
    }
    let Some((first, below)) = artifact.entries.split_first() else {
        return Err(damaged("an artifact in it is empty"));
    };
    let mut folders: BTreeMap<&str, bool> = BTreeMap::new();
    folders.insert("", matches!(first.kind, ArtifactEntryKind::Folder));
    if !first.path.is_empty() {
        return Err(damaged("an artifact in it does not begin with itself"));
    }
    for entry in below {
        let (folder, name) = entry.path.rsplit_once('/').unwrap_or(("", &entry.path));
        let leads_out =
            name.is_empty() || name == "." || name == ".." || entry.path.bytes().any(|byte| byte == 0 || byte == b'\\');
        if leads_out || entry.path.len() > PATH_BYTES_MAX || folders.get(folder) != Some(&true) {
            return Err(damaged(format!("an artifact in it has the path {:?}", entry.path)));
        }
        if folders.insert(&entry.path, matches!(entry.kind, ArtifactEntryKind::Folder)).is_some() {
            return Err(damaged(format!("an artifact in it has {:?} twice", entry.path)));
        }
    }
    if digest(artifact) != wanted {
        return Err(damaged("an artifact in it does not have the content that it is named after"));
    }
    Ok(())
}

/// The digest of an artifact: of a file its content; of a folder, for each name in it, in order, the name and what is there.
pub fn digest(artifact: &PortableArtifact) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut within: BTreeMap<&str, Vec<(&str, &ArtifactEntry)>> = BTreeMap::new();
    for entry in artifact.entries.iter().skip(1) {
        let (folder, name) = entry.path.rsplit_once('/').unwrap_or(("", &entry.path));
        within.entry(folder).or_default().push((name, entry));
    }
    for names in within.values_mut() {
        names.sort_unstable_by(|one, other| one.0.as_bytes().cmp(other.0.as_bytes()));
    }
    let Some(first) = artifact.entries.first() else { return hasher.finalize().to_hex().to_string() };
    // Without recursion: a hostile file may be nested as deep as its paths are long.
    let mut open: Vec<(Option<&str>, &ArtifactEntry)> = vec![(None, first)];
    while let Some((name, entry)) = open.pop() {
        if let Some(name) = name {
            hasher.update(name.as_bytes()).update(&[0]);
        }
        match &entry.kind {
            ArtifactEntryKind::File { content, .. } => drop(hasher.update(content)),
            ArtifactEntryKind::Folder => {
                let inside = within.get(entry.path.as_str()).into_iter().flatten().rev();
                open.extend(inside.map(|(name, entry)| (Some(*name), *entry)));
            }
        }
    }
    hasher.finalize().to_hex().to_string()
}
