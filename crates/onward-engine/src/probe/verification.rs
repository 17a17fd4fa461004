//! Whether a phase that says it is done is done: what it was to leave behind is looked at, its checks are run, its probe
//! is asked. Core judges.

use std::ffi::OsString;
use std::io::{self, Seek, Write};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use onward_core::id::Attempt;
use onward_core::plan::Phase;
use onward_core::run::Run;
use onward_core::run::verification::{self, ArtifactFound, ArtifactState, CheckEnd, EffectFound, Proof};
use onward_store::private;

use super::artifact;
use super::artifact_copies::Shelf;
use super::background_probe::LookBeside;
use super::command::{self, CommandBounds, Flood};
use super::declared_artifact::DeclaredArtifactPath;
use super::phase::shell_of;
use super::probe_lock::{ProbePlace, ProbePurpose};
use crate::attendant::{AttemptFolder, CHECKS};
use crate::executor::shell;
use crate::project::Project;
use crate::redact;

/// A check that takes longer than this has not passed, where its phase has no timeout of its own.
const CHECK_TIME_MAX: Duration = Duration::from_mins(30);
/// Characters of the last line of a check that an error holds.
const SAID_CHARS_MAX: usize = 200;
/// The output of an attempt's checks is kept up to here; when it is more, it is begun anew.
const LOG_BYTES_MAX: u64 = 8 << 20;

/// All that is needed to look, so that it can be done beside everything else.
pub(crate) struct Looking {
    top: PathBuf,
    folder: PathBuf,
    shell: Vec<String>,
    env: Result<Vec<(OsString, OsString)>, String>,
    artifacts: Vec<DeclaredArtifactPath>,
    verify: Vec<String>,
    done_when: Vec<String>,
    time_max: Duration,
    log: AttemptFolder,
    place: ProbePlace,
    shelf: Shelf,
}

impl Looking {
    /// `more` are artifacts that whoever did the phase names beside those of the plan.
    pub(crate) fn at(project: &Project, run: &Run, phase: &Phase, more: &[String]) -> Self {
        let top = shell::place_of(project, run, phase);
        let attempts = run.phase_state(&phase.id).map_or(1, |state| state.attempts.max(1));
        let planned = phase.artifacts.iter().map(|artifact| DeclaredArtifactPath::planned(run, phase, artifact));
        let place = ProbePlace::new(project, &run.id, &phase.id, ProbePurpose::Proof);
        let (mark, marked) = place.variable();
        let folder = shell::working_directory(project, &top, phase);
        let env = shell::probe_environment(project, run, phase).map(|mut env| {
            env.push((mark.into(), marked.into()));
            env
        });
        // Nothing is run where there is no environment to run it in.
        let env = env.and_then(|env| folder.as_ref().map(|_| env).map_err(Clone::clone));
        Self {
            folder: folder.unwrap_or_else(|_| top.clone()),
            shell: shell_of(phase),
            env,
            artifacts: planned.chain(more.iter().map(|path| DeclaredArtifactPath::named(path))).collect(),
            verify: phase.verify.clone(),
            done_when: phase.done_when.clone(),
            time_max: phase.timeout.unwrap_or(CHECK_TIME_MAX),
            log: shell::folder(project, run, &phase.id, Attempt(attempts)),
            place,
            shelf: Shelf::new(project, &run.id),
            top,
        }
    }

    /// Looks when nobody else does, where anything is started or copied for it. An error where nobody could look, for ten seconds:
    /// that says nothing about the phase.
    pub(crate) fn prove(&self, given_up: &AtomicBool) -> io::Result<Proof> {
        let copies = self.artifacts.iter().any(DeclaredArtifactPath::is_kept);
        if self.verify.is_empty() && self.done_when.is_empty() && !copies {
            return self.prove_alone(given_up);
        }
        match self.place.take(given_up) {
            Ok(Some(turn)) => {
                let proof = self.prove_alone(given_up);
                drop(turn);
                proof
            }
            Ok(None) => Ok(Proof { effect: Some(EffectFound::CannotTell), ..Proof::default() }),
            // Without a note of it nothing is started, and that says nothing about the phase.
            Err(why) => Err(why),
        }
    }

    /// Looks at the artifacts first; the first thing that is missing ends it.
    fn prove_alone(&self, given_up: &AtomicBool) -> io::Result<Proof> {
        let artifacts = self.artifacts.iter().map(|wanted| self.artifact(wanted, given_up));
        let artifacts = artifacts.collect::<io::Result<Vec<ArtifactFound>>>()?;
        let lacking = artifacts.iter().any(|found| !matches!(found.state, ArtifactState::There { .. }));
        let mut proof = Proof { artifacts, checks: Vec::new(), effect: None };
        if lacking && self.nothing_else_matters(&proof) {
            return Ok(proof);
        }
        for script in &self.verify {
            let end = self.check(script, given_up);
            let passed = end.code == Some(0);
            proof.checks.push(end);
            if !passed {
                return Ok(proof);
            }
        }
        if !self.done_when.is_empty() {
            proof.effect = Some(self.effect(given_up));
        }
        if matches!(proof.effect, None | Some(EffectFound::There)) && !given_up.load(Ordering::Relaxed) {
            self.keep_copies(&mut proof);
        }
        Ok(proof)
    }

    /// Copies what is to be kept, once nothing is expected to write to it any more: checks may have.
    fn keep_copies(&self, proof: &mut Proof) {
        let there = |found: &ArtifactFound| matches!(found.state, ArtifactState::There { .. });
        let complete =
            self.artifacts.iter().zip(&proof.artifacts).all(|(wanted, found)| !wanted.required || there(found));
        let kept = self.artifacts.iter().zip(&mut proof.artifacts).filter(|(wanted, _)| wanted.is_kept());
        for (wanted, found) in kept.filter(|_| complete) {
            if let ArtifactState::There { bytes, digest, copy } = &mut found.state {
                *copy = wanted.copy_to(&self.shelf, (&self.top, self.place.tag()), &found.path, (bytes, digest));
            }
        }
    }

    /// A missing artifact may be one that need not be there; only core knows.
    fn nothing_else_matters(&self, proof: &Proof) -> bool {
        self.verify.is_empty() && self.done_when.is_empty()
            || proof.artifacts.iter().any(|found| matches!(found.state, ArtifactState::Refused { .. }))
    }

    fn artifact(&self, wanted: &DeclaredArtifactPath, given_up: &AtomicBool) -> io::Result<ArtifactFound> {
        let (path, state) = match &wanted.path {
            Some(path) => {
                (path.clone(), command::through_shortages(given_up, || artifact::artifact_read(&self.top, path))?)
            }
            None => (String::new(), ArtifactState::Refused { why: "its path cannot be filled in".to_owned() }),
        };
        Ok(ArtifactFound { name: wanted.name.clone(), path, state })
    }

    fn check(&self, script: &str, given_up: &AtomicBool) -> CheckEnd {
        let env = match &self.env {
            Ok(env) => env.clone(),
            Err(why) => return CheckEnd { command: script.to_owned(), code: None, said: why.clone() },
        };
        let patience = CommandBounds {
            time_max: self.time_max,
            bytes_max: command::OUTPUT_BYTES_MAX,
            given_up,
            tag: Some(self.place.tag()),
            flood: Flood::ReadOn,
        };
        let ran = command::run_and_hear(&self.folder, &self.shell, script, env, patience);
        let output = redact::secrets().bytes(&ran.output);
        // What a check printed is for people; that it cannot be kept does not change what it found.
        let cut = ran.output.len() as u64 >= command::OUTPUT_BYTES_MAX;
        let _ = self.keep(script, &output, if cut { "\n[… the rest is left out …]\n" } else { "" });
        let text = String::from_utf8_lossy(&output);
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let said = if ran.code.is_none() { ran.why } else { last.chars().take(SAID_CHARS_MAX).collect() };
        CheckEnd { command: redact::secrets().text(script).into_owned(), code: ran.code, said }
    }

    fn keep(&self, script: &str, output: &[u8], behind: &str) -> io::Result<()> {
        if !self.log.path().exists() {
            self.log.create().map_err(io::Error::other)?;
        }
        let mut file = private::open_or_create(&self.log.path().join(CHECKS))?;
        file.seek(io::SeekFrom::End(0))?;
        if file.metadata()?.len() + output.len() as u64 > LOG_BYTES_MAX {
            file.set_len(0)?;
            file.rewind()?;
            file.write_all("[… earlier checks left out …]\n".as_bytes())?;
        }
        let heading = format!("$ {}\n", redact::secrets().text(script));
        file.write_all(heading.as_bytes())?;
        file.write_all(output)?;
        file.write_all(behind.as_bytes())
    }

    fn effect(&self, given_up: &AtomicBool) -> EffectFound {
        let Ok(env) = &self.env else { return EffectFound::CannotTell };
        let patience = CommandBounds {
            time_max: command::TIME_MAX,
            bytes_max: command::OUTPUT_BYTES_MAX,
            given_up,
            tag: Some(self.place.tag()),
            flood: Flood::ReadOn,
        };
        let mut codes = Vec::new();
        for script in &self.done_when {
            let code = command::run_and_hear(&self.folder, &self.shell, script, env.clone(), patience).code;
            codes.push(code);
            if code != Some(0) {
                break;
            }
        }
        verification::effect(&codes)
    }
}

/// A look that is under way.
pub(crate) struct Proving(LookBeside<io::Result<Proof>>);

impl Proving {
    pub(crate) fn begin(looking: Looking) -> Self {
        Self(LookBeside::begin(move |given_up| looking.prove(given_up)))
    }

    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.0.fd()
    }

    /// The proof, once all of it was looked at; an error where nobody could look.
    pub(crate) fn proof(&mut self) -> Option<io::Result<Proof>> {
        // A look that broke down has seen nothing; a probe that did not answer cannot tell.
        let nothing = Proof { effect: Some(EffectFound::CannotTell), ..Proof::default() };
        self.0.seen().map(|seen| seen.unwrap_or(Ok(nothing)))
    }
}
