//! The artifacts that a phase declares, or whoever did it names: where each is, whether it is kept, and how large a copy may be.

use std::io;
use std::path::Path;

use jiff::Timestamp;
use onward_core::plan::{DeclaredArtifact, KeepCopy, Phase};
use onward_core::run::Run;
use onward_core::run::verification::ArtifactCopied;
use onward_core::words;

use super::artifact;
use super::artifact_copies::Shelf;
use crate::executor::shell;

/// An artifact that is to be there.
pub(super) struct DeclaredArtifactPath {
    pub(super) name: String,
    /// Filled in; none where that cannot be done.
    pub(super) path: Option<String>,
    pub(super) required: bool,
    keep: KeepCopy,
    max_bytes: Option<u64>,
}

impl DeclaredArtifactPath {
    pub(super) fn planned(run: &Run, phase: &Phase, artifact: &DeclaredArtifact) -> Self {
        Self {
            name: artifact.name.clone(),
            path: shell::fill_for(run, phase, &artifact.path),
            required: artifact.required,
            keep: artifact.keep,
            max_bytes: artifact.max_bytes,
        }
    }

    /// One that whoever did the phase names.
    pub(super) fn named(path: &str) -> Self {
        Self { name: path.to_owned(), path: Some(path.to_owned()), required: true, keep: KeepCopy::No, max_bytes: None }
    }

    /// Whether a copy of it is wanted.
    pub(super) fn is_kept(&self) -> bool {
        self.keep != KeepCopy::No
    }

    /// Copies it, unless it is larger than the plan allows: it is read a second time, and that reading counts.
    pub(super) fn copy_to(
        &self,
        copies: &Shelf,
        (top, aside): (&Path, &str),
        path: &str,
        (bytes, digest): (&mut u64, &mut String),
    ) -> ArtifactCopied {
        let until = match self.keep {
            KeepCopy::For(span) => Some(Timestamp::now().checked_add(span).unwrap_or(Timestamp::MAX)),
            KeepCopy::Forever | KeepCopy::No => None,
        };
        if let Some(most) = self.max_bytes.filter(|most| *bytes > *most) {
            let (is, most) = (words::bytes(*bytes), words::bytes(most));
            return ArtifactCopied::Not { why: format!("it is {is}, and no more than {most} is kept") };
        }
        let put = artifact::real(top, path).map_err(|_| io::Error::from(io::ErrorKind::NotFound));
        match put.and_then(|real| copies.put(&real, aside, until)) {
            Ok(taken) => {
                (*bytes, *digest) = (taken.bytes, taken.digest);
                ArtifactCopied::Kept { until }
            }
            Err(why) => ArtifactCopied::Not { why: format!("it cannot be copied: {why}") },
        }
    }
}
