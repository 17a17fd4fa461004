//! All that is seen around a run before it goes on, by the plan that is stored in it.

use std::collections::BTreeMap;

use onward_core::evidence::{Evidence, Files, ProbeSeen, WorldSeen};
use onward_core::id::PhaseId;
use onward_core::plan::ProbeOf;
use onward_core::run::{PhaseStatus, Run};

use super::answer::{answer, excerpt};
use super::{artifact_copies, command, files, git, issue, phase};
use crate::executor::shell;
use crate::project::Project;

/// The world around a run as it is now, as far as the stored plan asks.
pub(crate) fn world(project: &Project, run: &Run) -> WorldSeen {
    let freshness = &run.plan().freshness;
    let mut world = git::world_seen(project, run);
    for probe in &freshness.probes {
        let seen = match &probe.of {
            ProbeOf::Command(script) => of_command(project, run, script),
            ProbeOf::Files(globs) => of_files(project, run, globs),
            ProbeOf::Issue(number) => issue::text(project, run, number),
        };
        world.probes.insert(probe.name.clone(), seen);
    }
    world.issue = run.plan().issue.as_ref().map(|issue| issue::issue_seen(project, run, issue));
    world
}

/// The evidence of the finished phases of a run, taken now.
pub(crate) fn finished(project: &Project, run: &Run) -> BTreeMap<PhaseId, Evidence> {
    let mut all = BTreeMap::new();
    let nothing = Evidence::default();
    // What will be put back was not changed.
    let back = artifact_copies::put_back_later(project, run);
    let as_it_will_be = |then: &Files, mut now: Files| {
        let names = phase::names(project, Some(then));
        let as_kept = back.files.iter().filter_map(|(path, file)| Some((names.kept(path)?.into_owned(), file)));
        let meant = as_kept.filter(|(path, _)| then.files.contains_key(path));
        now.files.extend(meant.map(|(path, file)| (path, file.clone())));
        now
    };
    for (phase, state) in run.phases().filter(|(_, state)| state.status == PhaseStatus::Completed) {
        let then = state.seen.as_deref().unwrap_or(&nothing);
        if then.reads.is_none() && then.writes.is_none() && then.fingerprint.is_none() && state.artifacts.is_empty() {
            continue;
        }
        let seen = Evidence {
            artifacts: (!state.artifacts.is_empty()).then(|| artifact_copies::artifacts_now(project, run, state)),
            definition: String::new(),
            fingerprint: then.fingerprint.as_ref().and_then(|_| phase::fingerprint(project, run, phase)),
            reads: then.reads.as_ref().map(|then| as_it_will_be(then, phase::reads(project, run, phase, Some(then)))),
            writes: then
                .writes
                .as_ref()
                .map(|then| as_it_will_be(then, phase::writes(project, run, phase, Some(then)))),
        };
        all.insert(phase.id.clone(), seen);
    }
    all
}

/// Interrupted phases with the files that they write and that were changed after they had ended. Of a phase of whose end nothing is
/// known it cannot be told what it wrote itself.
pub(crate) fn changed_since_interrupted(project: &Project, run: &Run) -> BTreeMap<PhaseId, Vec<String>> {
    let interrupted = run.phases().filter(|(_, state)| state.status == PhaseStatus::Interrupted);
    let ended = interrupted.filter_map(|(phase, state)| Some((phase, state.ended_at?)));
    let changed = ended.map(|(phase, at)| (phase.id.clone(), phase::written_after(project, run, phase, at)));
    changed.filter(|(_, paths)| !paths.is_empty()).collect()
}

fn of_command(project: &Project, run: &Run, script: &str) -> ProbeSeen {
    let env = match shell::plan_environment(run) {
        Ok(env) => env,
        Err(why) => return ProbeSeen { hash: None, excerpt: excerpt(&why) },
    };
    let ran = command::run(&project.top, &command::default_shell(), script, env);
    match ran.code {
        Some(0) => answer(&ran.output),
        Some(code) => ProbeSeen { hash: None, excerpt: format!("it ended with code {code}") },
        None => ProbeSeen { hash: None, excerpt: ran.why },
    }
}

fn of_files(project: &Project, run: &Run, globs: &[String]) -> ProbeSeen {
    let globs: Vec<String> = globs.iter().filter_map(|glob| shell::fill(run, glob)).collect();
    let seen = files::files_seen(&project.top, &globs, &[], None, None);
    let mut hasher = blake3::Hasher::new();
    for (path, file) in &seen.files {
        hasher.update(format!("{path}\0{}\n", file.hash).as_bytes());
    }
    ProbeSeen { hash: Some(hasher.finalize().to_hex().to_string()), excerpt: format!("{} files", seen.files.len()) }
}
