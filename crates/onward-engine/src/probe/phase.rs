//! Probes of one phase: what it reads and writes, its fingerprint, and whether its effect is there.

use std::io::Read;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use onward_core::evidence::{Evidence, Files};
use onward_core::plan::{Body, Phase};
use onward_core::run::Run;
use onward_store::private;

use super::surroundings_at_end::WorldWatch;
use super::{command, files};
use crate::attendant::{AttemptFolder, open_plain};
use crate::drive::agent_end::AgentReading;
use crate::executor::shell;
use crate::project::{FOLDER, Project};
use crate::redact::file_names::{FileNames, NamesFor};
use crate::sys::stop;

/// The file beside an attempt that says what it was begun with.
const SEEN: &str = "seen";
const SEEN_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The files of `reads`. Files that the phase writes itself are not its input.
pub(super) fn reads(project: &Project, run: &Run, phase: &Phase, before: Option<&Files>) -> Files {
    let (globs, but) = (filled(run, phase, &phase.reads), filled(run, phase, &phase.writes));
    files::files_seen(&project.top, &globs, &but, before, Some(&names(project, before)))
}

pub(super) fn writes(project: &Project, run: &Run, phase: &Phase, before: Option<&Files>) -> Files {
    files::files_seen(&project.top, &filled(run, phase, &phase.writes), &[], before, Some(&names(project, before)))
}

/// The files that a phase writes, as they are in the project now; none where it does not say what it writes.
pub(crate) fn written_now(project: &Project, run: &Run, phase: &Phase) -> Option<Files> {
    (!phase.writes.is_empty()).then(|| writes(project, run, phase, None))
}

/// Names for a look: one that is compared with an earlier one writes nothing.
pub(super) fn names(project: &Project, before: Option<&Files>) -> FileNames {
    let store = project.store_folder();
    match before {
        Some(before) => FileNames::new(&store, NamesFor::Comparison).beside(before.files.keys()),
        None => FileNames::new(&store, NamesFor::Record),
    }
}

/// The files of `writes` that were written after a time.
pub(super) fn written_after(project: &Project, run: &Run, phase: &Phase, at: Timestamp) -> Vec<String> {
    files::written_after(&project.top, &filled(run, phase, &phase.writes), at)
}

fn filled(run: &Run, phase: &Phase, globs: &[String]) -> Vec<String> {
    globs.iter().filter_map(|glob| shell::fill_for(run, phase, glob)).collect()
}

/// The globs of `writes`, filled in.
pub(crate) fn written(run: &Run, phase: &Phase) -> Vec<String> {
    filled(run, phase, &phase.writes)
}

/// The hash over what the commands of `fingerprint` print; none where there are none or one of them fails.
pub(super) fn fingerprint(project: &Project, run: &Run, phase: &Phase) -> Option<String> {
    if phase.fingerprint.is_empty() {
        return None;
    }
    let mut hasher = blake3::Hasher::new();
    for script in &phase.fingerprint {
        let env = shell::probe_environment(project, run, phase).ok()?;
        let ran = command::run(&project.top, &shell_of(phase), script, env);
        hasher.update(&ran.code.unwrap_or(-1).to_le_bytes());
        hasher.update(&ran.output);
    }
    Some(hasher.finalize().to_hex().to_string())
}

/// Notes what an attempt is begun with. It lies beside the attempt, since it may end when nobody is there to remember.
pub(crate) fn note_the_beginning(project: &Project, run: &Run, phase: &Phase, folder: &AttemptFolder) {
    if phase.reads.is_empty() && phase.fingerprint.is_empty() {
        return;
    }
    let seen = Evidence {
        fingerprint: fingerprint(project, run, phase),
        reads: (!phase.reads.is_empty()).then(|| reads(project, run, phase, None)),
        ..Evidence::default()
    };
    if stop::asked().is_some() {
        return;
    }
    let bytes = serde_json::to_vec(&seen).expect("it has only string keys");
    // Without it a later change of what the phase reads goes unnoticed, and nothing else is lost.
    let _ = private::replace(&folder.path().join(SEEN), &bytes);
}

/// The evidence of an external phase, taken when it is reported done: nobody looked when it began.
pub(crate) fn as_it_is(project: &Project, run: &Run, phase: &Phase) -> Option<Box<Evidence>> {
    if phase.reads.is_empty() && phase.writes.is_empty() && phase.fingerprint.is_empty() {
        return None;
    }
    Some(Box::new(Evidence {
        fingerprint: fingerprint(project, run, phase),
        reads: (!phase.reads.is_empty()).then(|| reads(project, run, phase, None)),
        writes: (!phase.writes.is_empty()).then(|| writes(project, run, phase, None)),
        ..Evidence::default()
    }))
}

/// Where to look when an attempt has come to its end.
#[derive(Clone, Debug)]
pub(crate) struct ProofLook {
    top: PathBuf,
    writes: Vec<String>,
    pub(crate) around: WorldWatch,
    /// Where an agent does it.
    pub(crate) agent: Option<Box<AgentReading>>,
}

impl ProofLook {
    pub(crate) fn new(project: &Project, run: &Run, phase: &Phase) -> Self {
        let (writes, around) = (filled(run, phase, &phase.writes), WorldWatch::new(project, run));
        let agent = AgentReading::new(project, run, phase).map(Box::new);
        Self { top: project.top.clone(), writes, around, agent }
    }

    /// The same without a look at what the phase writes.
    pub(crate) fn without_files(self) -> Self {
        Self { writes: Vec::new(), ..self }
    }

    /// The evidence of an attempt that is done: as it was when it began, and what it leaves behind.
    pub(crate) fn at_the_end(&self, folder: &AttemptFolder) -> Option<Box<Evidence>> {
        let begun = noted(&folder.path().join(SEEN));
        if begun.is_none() && self.writes.is_empty() {
            return None;
        }
        let names = FileNames::new(&self.top.join(FOLDER), NamesFor::Record);
        let writes =
            (!self.writes.is_empty()).then(|| files::files_seen(&self.top, &self.writes, &[], None, Some(&names)));
        // Half of a look says nothing.
        let writes = writes.filter(|_| stop::asked().is_none());
        Some(Box::new(Evidence { writes, ..begun.unwrap_or_default() }))
    }
}

fn noted(path: &Path) -> Option<Evidence> {
    let mut bytes = Vec::new();
    open_plain(path).ok()?.take(SEEN_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

pub(super) fn shell_of(phase: &Phase) -> Vec<String> {
    match &phase.body {
        Body::Run { shell, .. } => shell.clone(),
        Body::Agent(_) | Body::Approval(_) | Body::External(_) | Body::Uses(_) => command::default_shell(),
    }
}
