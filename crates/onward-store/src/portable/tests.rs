//! Files that are damaged, and files that somebody made to do harm. None of them is taken, and none makes the reader panic.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use onward_core::id::{CheckpointId, RunId, Seq};

use super::section::{ARTIFACT, BUNDLE, CHECKPOINTS, DONE, HEAD, JOURNAL, SectionKind, SectionWriter};
use super::*;
use crate::chain;
use crate::error::StoreError;
use crate::fuzz_dice;
use crate::types::Record;

fn run() -> PortableRun {
    let id = RunId::new("run_demo_20261118_120000");
    let mut before = chain::start(&id);
    let records: Vec<Record> = (1..=3_u64)
        .map(|seq| {
            let (at, body) =
                (Timestamp::from_second(1_800_000_000).expect("a time"), format!("{{\"n\":{seq}}}").into_bytes());
            before = chain::next(&before, Seq(seq), at.as_microsecond(), "ada", &body);
            Record { seq: Seq(seq), at, actor: "ada".to_owned(), body, hash: before }
        })
        .collect();
    let whole = PortableCheckpoint {
        id: CheckpointId::new("CP-a-1"),
        seq: Seq(1),
        meta: b"{}".to_vec(),
        whole: Some(b"{\"a\":1}".to_vec()),
        patches: Vec::new(),
    };
    let patch = PortableCheckpoint {
        id: CheckpointId::new("CP-a-2"),
        seq: Seq(3),
        whole: None,
        patches: vec![b"{\"b\":2}".to_vec()],
        ..whole.clone()
    };
    let artifacts = vec![folder(&[("a.txt", b"a"), ("sub/b.txt", b"b")])];
    PortableRun {
        head: PortableHead {
            run: id,
            work: "work".to_owned(),
            exported_at: Timestamp::UNIX_EPOCH,
            by: "onward".to_owned(),
            records: 3,
            checkpoints: 2,
            artifacts: 1,
            redacted: false,
        },
        records,
        checkpoints: vec![whole, patch],
        artifacts,
        bundle: Some(b"bundle".to_vec()),
    }
}

fn file(content: &[u8]) -> ArtifactEntryKind {
    ArtifactEntryKind::File { content: content.to_vec(), executable: false }
}

fn folder(files: &[(&str, &[u8])]) -> PortableArtifact {
    let mut entries = vec![ArtifactEntry { path: String::new(), kind: ArtifactEntryKind::Folder }];
    for (path, content) in files {
        if let Some((above, _)) = path.rsplit_once('/') {
            entries.push(ArtifactEntry { path: above.to_owned(), kind: ArtifactEntryKind::Folder });
        }
        entries.push(ArtifactEntry { path: (*path).to_owned(), kind: file(content) });
    }
    let mut artifact = PortableArtifact { name: String::new(), entries };
    artifact.name = digest(&artifact);
    artifact
}

fn written(run: &PortableRun) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(run, &mut bytes).expect("memory can be written");
    bytes
}

fn is_damage(read: &Result<PortableRun, StoreError>) -> bool {
    matches!(read, Err(StoreError::Damaged(_)))
}

/// A file with these sections, each one with the checksum that it should have.
fn made_of(sections: &[(SectionKind, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = SectionWriter::begin(&mut bytes).expect("memory can be written");
    for (kind, content) in sections {
        writer.section(*kind, content).expect("memory can be written");
    }
    bytes
}

/// The sections of a file, unpacked.
fn sections(bytes: &[u8]) -> Vec<(SectionKind, Vec<u8>)> {
    let mut reader = super::section::SectionReader::begin(bytes).expect("a whole file");
    let mut all = Vec::new();
    loop {
        let section = reader.next().expect("a whole file");
        all.push((section.kind, reader.content(&section).expect("a whole file")));
        if section.kind == DONE {
            return all;
        }
    }
}

#[test]
fn what_is_written_is_read() {
    let run = run();
    assert!(is_one(&written(&run)));
    assert_eq!(read(&written(&run)).expect("a whole file"), run);
}

/// Each byte is changed in several ways, and the file is cut at each place. It is damaged each time, and never of a later version.
#[test]
fn every_changed_byte_is_damage() {
    let bytes = written(&run());
    for at in 0..bytes.len() {
        for by in [1, 2, 0x10, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= by;
            let found = read(&changed);
            assert!(is_damage(&found), "byte {at} changed by {by:#x}: {found:?}");
        }
        assert!(is_damage(&read(&bytes[..at])), "cut at {at}");
    }
    assert!(is_damage(&read(&[bytes, vec![0]].concat())), "a byte behind the end");
}

/// A whole file of a later version is refused as that.
#[test]
fn a_later_version_is_named() {
    let mut later = Vec::new();
    later.extend(MAGIC);
    later.extend(7_u16.to_le_bytes());
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[0; 32]).update(&7_u16.to_le_bytes()).update(b"WHAT").update(&[0; 16]);
    later.extend(b"WHAT");
    later.extend([0; 16]);
    later.extend(hasher.finalize().as_bytes());
    assert!(matches!(read(&later), Err(StoreError::Newer { found: 7, known: 1, .. })), "{:?}", read(&later));
}

/// Somebody who knows the form leaves parts out, doubles them, or puts them elsewhere, with checksums that fit.
#[test]
fn parts_stand_where_they_belong() {
    let whole = sections(&written(&run()));
    assert!(read(&made_of(&whole)).is_ok());
    for at in 0..whole.len() {
        let mut without = whole.clone();
        let part = without.remove(at);
        // A file without snapshots is whole.
        assert!(part.0 == BUNDLE || is_damage(&read(&made_of(&without))), "without part {at}");
        let mut twice = whole.clone();
        twice.insert(at, part.clone());
        assert!(is_damage(&read(&made_of(&twice))), "part {at} twice");
        let mut swapped = whole.clone();
        if at + 1 < swapped.len() {
            swapped.swap(at, at + 1);
            assert!(is_damage(&read(&made_of(&swapped))), "parts {at} and {} swapped", at + 1);
        }
    }
}

/// A part claims to be small and unpacks to four gigabytes, or claims a length that no machine has.
#[test]
fn a_bomb_is_not_unpacked() {
    let zeros = zstd::bulk::compress(&vec![0; 1 << 24], 3).expect("it can be compressed");
    for claimed in [10_u64, 1 << 24, 1 << 40, u64::MAX] {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(FORMAT.to_le_bytes());
        let mut hasher = blake3::Hasher::new();
        hasher.update(&[0; 32]).update(&FORMAT.to_le_bytes()).update(&HEAD);
        hasher.update(&claimed.to_le_bytes()).update(&(zeros.len() as u64).to_le_bytes()).update(&zeros);
        bytes.extend(HEAD);
        bytes.extend(claimed.to_le_bytes());
        bytes.extend((zeros.len() as u64).to_le_bytes());
        bytes.extend(hasher.finalize().as_bytes());
        bytes.extend(&zeros);
        let begun = Instant::now();
        assert!(is_damage(&read(&bytes)), "{claimed}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{claimed}");
    }
}

/// Paths of an artifact lead out, or are no paths; names are no digests.
#[test]
fn artifacts_stay_where_they_are_put() {
    let with = |artifact: PortableArtifact| written(&PortableRun { artifacts: vec![artifact], ..run() });
    for path in ["../out", "/etc/passwd", "sub/../../out", "", ".", "a//b", "a/", "nofolder/x", "a\\b", "a\0b"] {
        let mut artifact = folder(&[("a.txt", b"a")]);
        artifact.entries.push(ArtifactEntry { path: path.to_owned(), kind: file(b"x") });
        artifact.name = digest(&artifact);
        assert!(is_damage(&read(&with(artifact))), "{path:?}");
    }
    let good = folder(&[("a.txt", b"a")]);
    for name in ["", "../evil", "0".repeat(64).as_str(), &format!("{}/x", good.name), &format!("{}.until-x", good.name)]
    {
        assert!(is_damage(&read(&with(PortableArtifact { name: name.to_owned(), ..good.clone() }))), "{name:?}");
    }
    assert!(read(&with(PortableArtifact { name: format!("{}.until-1800000000", good.name), ..good })).is_ok());
}

/// Ids that are paths.
#[test]
fn ids_are_names() {
    for bad in ["../evil", "a/b", "", ".hidden", "-rf", "a\nb", "x\u{1b}[31m"] {
        let mut run = run();
        run.head.run = RunId::new(bad);
        let mut before = chain::start(&run.head.run);
        for record in &mut run.records {
            before = chain::next(&before, record.seq, record.at.as_microsecond(), &record.actor, &record.body);
            record.hash = before;
        }
        assert!(is_damage(&read(&written(&run))), "run {bad:?}");
        let mut run = self::run();
        run.checkpoints[0].id = CheckpointId::new(bad);
        assert!(is_damage(&read(&written(&run))), "checkpoint {bad:?}");
    }
}

/// Bytes are changed at random, in the file and in its parts before they get their checksums. The reader takes it or refuses it, and
/// what it takes it can write again. `ONWARD_FUZZ_SECONDS` and `ONWARD_FUZZ_SEED` make it longer and other.
#[test]
fn fuzz_portable() {
    let (length, mut dice) = fuzz_dice::asked();
    let (bytes, parts) = (written(&run()), sections(&written(&run())));
    let mut count = fuzz_dice::FuzzCount::new("portable", length);
    while count.goes_on() {
        let mut changed = bytes.clone();
        if dice.below(3) == 0 {
            dice.mutate(&mut changed);
        } else {
            let mut parts = parts.clone();
            let at = dice.below(parts.len());
            if dice.below(8) == 0 {
                parts[at].0 = [HEAD, JOURNAL, CHECKPOINTS, ARTIFACT, BUNDLE, DONE, *b"????"][dice.below(7)];
            }
            dice.mutate(&mut parts[at].1);
            changed = made_of(&parts);
        }
        let found = read(&changed).ok();
        if let Some(found) = &found {
            assert_eq!(read(&written(found)).ok().as_ref(), Some(found));
        }
        count.tried(u64::from(found.is_some()));
    }
    count.tell();
}
