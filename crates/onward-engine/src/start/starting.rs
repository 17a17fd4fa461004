//! Starting: find the unfinished run of the same work, judge it, and begin or go on.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use onward_core::event::RunStarted;
use onward_core::evidence::WorldSeen;
use onward_core::expression::{self, Reference};
use onward_core::id::{PhaseId, RunId};
use onward_core::ids_and_keys;
use onward_core::input::{Begin, Bounds, Choice, ClosedElsewhere, Input, Resumption};
use onward_core::plan::{Phase, Plan};
use onward_core::question::TypedWords;
use onward_core::resume;
use onward_core::run::{self, Ending, Refusal, Run, RunStatus, deadline, worktrees};
use onward_core::view;
use onward_store::{Holder, Lease, LeaseKind, RunFilter, StoreError};

use crate::Onward;
use crate::commands::rewind::EndedRewind;
use crate::drive::keyframes::{KeepNothing, Keeper};
use crate::drive::process_world::Flights;
use crate::drive::project_moved::InPlace;
use crate::drive::reporter::Reporter;
use crate::drive::running_attempt;
use crate::drive::waiter::Waiter;
use crate::drive::world::{TreeWorld as _, World as _};
use crate::drive::{Committer, Driver, committer};
use crate::durations;
use crate::error::{Error, Result};
use crate::executor::shell;
use crate::journal;
use crate::kill_point::reached;
use crate::names;
use crate::probe;
use crate::project::Project;
use crate::redact;
use crate::redact::distinct_marks::DistinctMarks;
use crate::redact::file_names;
use crate::redact::input_key::{KeptKey, keep_key};
use crate::start::findings::{Going, Unfinished};
use crate::start::groups::AskedGroup;
use crate::start::meant_work::unfinished_statuses;
use crate::start::prepared_plan::PreparedPlan;
use crate::start::request::{Request, Want, begin_told};
use crate::start::unknown_costs;
use crate::sys::caller_guard::{CallingPhase, calling_phase};
use crate::sys::file_lock::exclusive;
use crate::sys::process;
use crate::sys::stop;
use crate::vcs;
use crate::vcs::working_tree::WorkingTree;

/// The state found before anything was started.
#[derive(Debug)]
pub struct StartFound {
    /// The plan that was named, unless a run was.
    pub(crate) work: Option<StartablePlan>,
    pub unfinished: Vec<Unfinished>,
}

/// A plan that can be started.
#[derive(Debug)]
pub(crate) struct StartablePlan {
    pub(crate) plan: Plan,
    pub(super) prepared: PreparedPlan,
    pub(super) plan_path: String,
    pub(crate) plan_text: String,
    pub(super) inputs: BTreeMap<String, String>,
    pub(super) key: String,
}

/// The action to take, once nothing is left to ask.
#[derive(Debug)]
pub enum Ready {
    Start,
    GoOn(Box<Going>),
    /// The run that was named is complete.
    Complete(RunId),
}

/// How a start ended.
#[derive(Debug)]
pub struct Finished {
    pub run: Run,
    pub ending: Ending,
}

/// Phases that were named must be of the plan, and what is said of them possible; checked before anything is made.
fn demand_named_phases(request: &Request, plan: &Plan) -> Result<()> {
    for phase in request.choices.iter().map(|(phase, _)| phase).chain(&request.only) {
        let id = PhaseId::new(phase);
        plan.phase(&id).ok_or(Refusal::NoSuchPhase(id))?;
    }
    if request.choices.is_empty() && request.only.is_none() {
        return Ok(());
    }
    let now = Timestamp::now();
    let (run, _) = run::start(RunStarted::bare(RunId::new("run"), "", plan.clone(), "run"), "", now);
    let only = request.only.as_deref().map(PhaseId::new);
    let begin = begin_told(request, run.epoch + 1, Resumption { only, ..Resumption::default() });
    run::preview(&run, &begin, now)?;
    Ok(())
}

/// Refuses a plan with phases in worktrees of their own where git has none for them.
fn demand_worktrees(tree: &WorkingTree, plan: &Plan) -> Result<()> {
    match works_apart(plan) {
        Some(phase) => tree.demand_worktrees().map_err(|why| Error::NoWorktree { phase: phase.id.clone(), why }),
        None => Ok(()),
    }
}

/// A phase of this plan, or of one that it uses, that works in a worktree of its own.
fn works_apart(plan: &Plan) -> Option<&Phase> {
    let own = plan.phases.iter().chain(&plan.finally).find(|phase| worktrees::works_apart(phase));
    own.or_else(|| plan.used.values().find_map(works_apart))
}

impl Onward {
    /// Starts a new run and drives it.
    pub fn start(&mut self, request: &Request, found: StartFound, reporter: &mut dyn Reporter) -> Result<Finished> {
        stop::demand_none()?;
        let StartFound { work, unfinished } = found;
        // A plan that was known by its text and not read has to be read now.
        let mut work = work.map_or_else(|| self.read_work(request, self.plan_source(request)?), Ok)?;
        demand_named_phases(request, &work.plan)?;
        let requirements = self.demand_requirements(&work, request)?;
        match request.orphans.filter(|_| request.want == Want::Fresh) {
            Some(orphans) => self.see_the_end_of_survivors(orphans, reporter)?,
            None => self.demand_no_survivor()?,
        }
        self.store()?;
        if request.want == Want::Fresh {
            // Before anybody is kept from starting, since it may take long.
            for old in &unfinished {
                self.see_the_end_of(old, request.orphans, reporter)?;
            }
        }
        // Of several that start the same work at once one goes on; the others must see its run.
        let alone = exclusive(&self.project.runtime().join("start.lock"))?;
        if DistinctMarks::are_in(&work.plan) && keep_key(&self.project.store_folder())? == KeptKey::Another {
            work = self.read_work(request, self.plan_source(request)?)?;
        }
        work.key = self.work_key_to_keep(&work.plan_path, &work.inputs)?;
        self.demand_nobody_was_faster(&work.key, &unfinished)?;
        let group = self.enter_group(&work.plan, &work.inputs, None)?;
        if request.want == Want::Fresh {
            for old in &unfinished {
                self.put_away(old)?;
            }
        }
        let worktree = self.project.fork.as_ref().and_then(|fork| fork.to_str()).map(str::to_owned);
        let tree = WorkingTree::to_drive(&self.project, worktree.as_deref())?;
        demand_worktrees(&tree, &work.plan)?;
        let commits = self.config.commit_rule(work.plan.git_commit.as_ref());
        if let (Some(_), Err(why)) = (&commits, tree.repository()) {
            reporter.update(&crate::Update::Note(&format!("no commits are made along the way: {why}")));
        }
        let changed_before = commits.as_ref().and_then(|_| tree.changed_before());
        let project = ids_and_keys::word(&work.plan.name);
        let title = redact::secrets().text(&title(&work)).into_owned();
        let started = RunStarted {
            run: RunId::new(""),
            work: work.key,
            plan_digest: work.prepared.digest,
            plan_path: work.plan_path,
            plan_text: work.plan_text,
            inputs: work.inputs,
            given: redact::learn_inputs(&request.inputs),
            project,
            title,
            branch: vcs::branch(self.project.fork.as_deref().unwrap_or(&self.project.top)),
            triggers: self.config.triggers(&work.plan.triggers),
            snapshots: self.config.snapshots() && tree.is_kept(),
            commits: commits.filter(|_| tree.is_kept()),
            mirrors: self.config.mirrors(work.plan.mirror.as_deref()),
            mirror_folder: self.config.mirror_folder(),
            worktree,
            changed_before,
            plan: work.plan,
        };
        // Git calls that a stop cut short have told nothing, and a run keeps what it was started with.
        stop::demand_none()?;
        let (id, lease) = self.create(&started, LeaseKind::Driving)?;
        let started = RunStarted { run: id, ..started };
        let actor = actor(&self.project);
        let (run, stepped) = committer::begin(self.store()?, &lease, &started, &[], (&actor, Timestamp::now()))?;
        drop(alone);
        names::learn_phases(run.plan());
        for recorded in &stepped.events {
            reporter.update(&crate::Update::Event { recorded, run: &run, output: &crate::NoOutput });
        }
        let resumption = Resumption { requirements, ..self.first_look(&run, request) };
        self.drive(run, &lease, request, (tree, resumption, group), reporter)
    }

    /// The surroundings of a run that has just been made.
    fn first_look(&self, run: &Run, request: &Request) -> Resumption {
        let world = Some(Box::new(probe::world(&self.project, run))).filter(|world| **world != WorldSeen::default());
        let world = world.filter(|_| stop::asked().is_none());
        let unread = world.as_ref().and_then(|world| resume::world::unread(world.issue.as_ref()?));
        Resumption {
            world,
            findings: unread.into_iter().collect(),
            only: request.only.as_deref().map(PhaseId::new),
            replan_limits: request.replan_limits,
            ..Resumption::default()
        }
    }

    /// A run of the same work that was not there when we looked was begun by somebody else meanwhile.
    fn demand_nobody_was_faster(&mut self, work: &str, known: &[Unfinished]) -> Result<()> {
        let filter = RunFilter { work: Some(work.to_owned()), statuses: Some(unfinished_statuses()), run_prefix: None };
        let rows = self.rows(&filter)?;
        for row in self.of_this_tree(rows) {
            if known.iter().any(|one| one.run.id == row.run) {
                continue;
            }
            return Err(match self.driver(&row.run)? {
                Some(driver) => Error::Driven { run: row.run, driver },
                None => Error::Several { runs: vec![row.run], typed: TypedWords::default() },
            });
        }
        Ok(())
    }

    /// Goes on with a run.
    pub fn go_on(&mut self, going: &Going, request: &Request, reporter: &mut dyn Reporter) -> Result<Finished> {
        stop::demand_none()?;
        let id = &going.run;
        let lease = self.take_lease(id, LeaseKind::Driving)?;
        self.forget_note(id);
        // Read to its end only now: until the lease was ours somebody else could have moved it on.
        let run = match self.found.take().filter(|found| found.id == *id) {
            Some(mut found) => journal::catch_up(self.store()?, &mut found).map(|()| *found)?,
            None => self.load(id)?,
        };
        self.demand_no_orphan_beside(&run)?;
        let plan = going.resumption.revised.as_ref().map_or(run.plan(), |revised| &revised.plan);
        let group = self.enter_group(plan, &run.started.inputs, Some(id))?;
        let (run, ended) = self.end_a_rewind_that_was_cut_off(run, &lease)?;
        for note in ended.iter().flat_map(EndedRewind::notes) {
            reporter.update(&crate::Update::Note(&note));
        }
        let told = &going.resumption;
        let (run, ended) = match (&told.revised, &told.from) {
            (None, None) => (run, None),
            (Some(_), _) | (_, Some(_)) => self.end_an_integration(run, &lease)?,
        };
        if let Some(note) = ended {
            reporter.update(&crate::Update::Note(&note));
        }
        let clean = request.choices.iter().any(|(_, choice)| *choice == Choice::RetryClean);
        if clean || run.will_put_files_back() {
            self.demand_tree_alone(&run)?;
        }
        let mut tree = WorkingTree::to_drive(&self.project, run.started.worktree.as_deref())?;
        let run = self.see_what_others_made(run, &lease, &mut tree)?;
        self.put_artifacts_back(&run, going, request)?;
        if going.resumption.accepted.iter().any(|(_, seen)| file_names::are_cut_in(seen)) {
            // What is accepted is compared with tomorrow.
            keep_key(&self.project.store_folder())?;
        }
        let ends = match &going.resumption.revised {
            Some(revised) => self.ends_before_the_edit(&run, revised, tree.head().as_deref())?,
            None => Vec::new(),
        };
        let resumption = Resumption { ends, ..going.resumption.clone() };
        self.drive(run, &lease, request, (tree, resumption, group), reporter)
    }

    /// Files that came into the working tree while the run rested are on record before its phases add theirs, so that a rewind
    /// leaves them alone. Of a run that was killed nobody knows what its phases had made.
    fn see_what_others_made(&mut self, run: Run, lease: &Lease, tree: &mut WorkingTree) -> Result<Run> {
        let rests = run.ending().is_some() && run.running().next().is_none() && run.status() != RunStatus::Waiting;
        let Some(last) = run.vcs.last.as_ref().filter(|_| rests && run.started.snapshots) else { return Ok(run) };
        let taken = tree.snapshot(&run)?;
        if !matches!(&taken, Input::Snapshotted(Ok(taken)) if taken.commit != last.commit) {
            return Ok(run);
        }
        let (mut run, actor, mut keep) = (run, actor(&self.project), KeepNothing);
        Committer::new(self.store()?, lease, &mut keep, &mut run, &actor).tell(vec![taken], Timestamp::now())?;
        Ok(run)
    }

    pub(crate) fn end_a_rewind_that_was_cut_off(
        &mut self,
        run: Run,
        lease: &Lease,
    ) -> Result<(Run, Option<EndedRewind>)> {
        let brings_files = run.vcs.rewinding.as_ref().is_some_and(|begun| begun.files.is_some());
        let _alone = if brings_files { self.hold_tree_alone(&run)? } else { None };
        self.finish_rewind(run, lease)
    }

    /// Brings back what finished phases left behind and is gone, except where they are to be done again anyway.
    fn put_artifacts_back(&self, run: &Run, going: &Going, request: &Request) -> Result<()> {
        let from = going.resumption.from.as_ref().map(|from| run.with_dependents(from)).unwrap_or_default();
        let again = |phase: &PhaseId| {
            let chosen = request.choices.iter().any(|(name, _)| name == phase.as_str());
            chosen || from.contains(phase) || going.resumption.rerun.contains(phase)
        };
        for (phase, artifact) in
            probe::artifact_copies::restorable(&self.project, run).filter(|(phase, _)| !again(phase))
        {
            probe::artifact_copies::put_back(&self.project, run, artifact).map_err(|why| {
                let what = format!("{}, an artifact of {phase}, cannot be put back: {why}", artifact.path);
                let how = format!("--retry {phase} does it again, --adopt {phase} goes on with what is there");
                Error::Refused { run: run.id.clone(), reasons: vec![format!("{what}; {how}")] }
            })?;
        }
        Ok(())
    }

    pub(crate) fn take_lease(&mut self, id: &RunId, kind: LeaseKind) -> Result<Lease> {
        // One that was killed a moment ago is waited for here.
        self.driver(id)?;
        match self.store()?.take_lease(id, kind, holder()) {
            Ok(lease) => {
                tracing::info!(run = %id, epoch = lease.epoch(), ?kind, "the lease is ours");
                Ok(lease)
            }
            Err(StoreError::Held { run, holder, .. }) => {
                let driver = view::DriverView { host: holder.host, pid: holder.pid, since: holder.since };
                Err(Error::Driven { run, driver })
            }
            Err(other) => Err(other.into()),
        }
    }

    fn drive(
        &mut self,
        run: Run,
        lease: &Lease,
        request: &Request,
        (tree, resumption, group): (WorkingTree, Resumption, Option<AskedGroup>),
        reporter: &mut dyn Reporter,
    ) -> Result<Finished> {
        redact::learn_inputs(&request.inputs);
        PreparedPlan::learn_what_was_cut(&self.project, &run);
        let wake = self.wake_path(&run.id);
        // Noted when the store was opened: whoever renames the project from then on is noticed.
        let place = self.place.clone().map_or_else(|| InPlace::new(&self.project).map(Arc::new), Ok)?;
        let waiter = Waiter::new(wake).map_err(Error::io("preparing to wait"));
        let waiter = waiter.map_err(|why| place.demand().err().unwrap_or(why))?;
        reached("start.before-drive");
        let project = self.project.clone();
        let me = holder();
        let me = view::DriverView { host: me.host, pid: me.pid, since: me.since };
        let head = tree.head();
        // The driver before may have been killed in the middle of a look; what it started must not go on beside ours.
        probe::probe_lock::end_what_was_left(&project, &run.id);
        probe::artifact_copies::expire(&project, Timestamp::now());
        let (turn, busy) = group.map(|asked| asked.of_run(&run.id)).transpose()?.unzip();
        let mut world = Flights::new(&project, place, waiter, me, tree).in_group(turn);
        let begin = Begin {
            epoch: lease.epoch(),
            host: process::hostname(),
            pid: std::process::id(),
            boot: running_attempt::boot_now(),
            jobs: request.jobs,
            orphans: request.orphans.unwrap_or_default(),
            head,
            environment: shell::variables_on_record(
                resumption.revised.as_ref().map_or(run.plan(), |revised| &revised.plan),
            ),
            renew: matches!(request.want, Want::Resume(_) | Want::ResumeRun(_)),
            choices: request.choices.iter().map(|(phase, choice)| (PhaseId::new(phase), *choice)).collect(),
            resumption,
            bounds: Bounds {
                wait_limit: request.wait_limit,
                deadline: request.deadline.map(|allowed| deadline::after(Timestamp::now(), allowed)),
                budget_nano_usd: request.budget_nano_usd,
            },
            closed: elsewhere(world.limits_elsewhere(&run)),
            busy: busy.flatten().map(Box::new),
        };
        // Without it nothing is expected, and that is all.
        if let Ok(expected) = durations::expected(self.inspection()?, &run) {
            reporter.update(&crate::Update::Expected(&expected));
        }
        for note in unknown_costs::notes(&project, &run, request) {
            reporter.update(&crate::Update::Note(&note));
        }
        let mut keeper = Keeper::new(project.store_folder(), run.seq.0);
        let (actor, mut run) = (actor(&self.project), run);
        let committer = Committer::new(self.store()?, lease, &mut keeper, &mut run, &actor);
        let driven = Driver { committer, world: &mut world, reporter }.drive(begin);
        let ending = match driven {
            Ok(ending) => ending,
            Err(Error::Store(StoreError::Gone { path, how })) => {
                keeper.finish(&run);
                // Waits for the copy in git, whose thread has the lost journal open.
                drop(keeper);
                let copy = self.copy_in_git(&run);
                return Err(Error::StoreGone { run: run.id, path, how, copy });
            }
            Err(why) => return Err(why),
        };
        tracing::info!(run = %run.id, ?ending, "let go of the run");
        keeper.finish(&run);
        world.catch_index_up();
        Ok(Finished { run, ending })
    }

    pub(crate) fn wake_path(&self, run: &RunId) -> PathBuf {
        self.project.runtime().join(format!("{run}.wake"))
    }
}

/// Limits that other runs have hit, as a driver is told of them before it begins.
fn elsewhere(inputs: Vec<Input>) -> Vec<ClosedElsewhere> {
    let closed =
        inputs.into_iter().filter_map(|input| if let Input::LimitElsewhere(one) = input { Some(one) } else { None });
    closed.collect()
}

fn title(work: &StartablePlan) -> String {
    let fill = |reference: &Reference| match reference {
        Reference::Input(name) => work.inputs.get(name).cloned(),
        Reference::Env(name) => std::env::var(name).ok(),
        Reference::Run(_)
        | Reference::Output { .. }
        | Reference::Status(_)
        | Reference::Attempt
        | Reference::Matrix(_) => None,
    };
    let named = work.plan.run_name.as_deref().map(|template| expression::substitute(template, &fill));
    named.and_then(std::result::Result::ok).unwrap_or_else(|| work.plan.name.clone())
}

pub(crate) fn holder() -> Holder {
    Holder { host: process::hostname(), pid: std::process::id(), since: Timestamp::now() }
}

/// The author of what this process writes down: the user, and the phase that the command comes from, where it comes from one.
pub(crate) fn actor(project: &Project) -> String {
    let name = std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_else(|_| "unknown".to_owned());
    let user = format!("{name}@{}", process::hostname());
    match calling_phase(project) {
        Some(CallingPhase { run, phase }) => format!("{user} (phase {phase} of {run})"),
        None => user,
    }
}
