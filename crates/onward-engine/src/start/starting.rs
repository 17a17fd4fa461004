//! Starting: find the unfinished run of the same work, judge it, and begin or go on.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use onward_core::event::{Orphans, RunStarted};
use onward_core::evidence::WorldSeen;
use onward_core::expression::{self, Reference};
use onward_core::id::{PhaseId, RunId};
use onward_core::ids_and_keys;
use onward_core::input::{Begin, Bounds, Choice, ClosedElsewhere, Input, Resumption};
use onward_core::plan::{Phase, Plan};
use onward_core::question::TypedWords;
use onward_core::replan::ReplanLimits;
use onward_core::resume::{self, Accept};
use onward_core::run::{Ending, Refusal, Run, RunStatus, wait_limits, worktrees};
use onward_core::view::{self, RunQuery};
use onward_store::{Holder, Lease, LeaseKind, NewRun, RunFilter, StoreError, private};

use crate::Onward;
use crate::attendant::{self, end_attempt};
use crate::commands::rewind::EndedRewind;
use crate::doctor;
use crate::drive::keyframes::{KeepNothing, Keeper};
use crate::drive::process_world::Flights;
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
use crate::queries::runs;
use crate::redact;
use crate::redact::distinct_marks::DistinctMarks;
use crate::redact::file_names;
use crate::redact::input_key::{KeptKey, keep_key};
use crate::start::findings::{Going, Unfinished};
use crate::start::groups::AskedGroup;
use crate::start::meant_work::unfinished_statuses;
use crate::start::prepared_plan::PreparedPlan;
use crate::start::uncounted;
use crate::sys::file_lock::{LOCK_LOOK_EVERY, exclusive};
use crate::sys::process;
use crate::sys::stop;
use crate::vcs::working_tree::WorkingTree;
use crate::vcs::{self, Repository, RunClaim};

/// Ids of one second that are tried before something else must be wrong.
const RUN_ID_TRIES_MAX: u32 = 10_000;

/// The request for a start.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub want: Want,
    pub plan: Option<PathBuf>,
    /// The run is to go on from here: it is judged as it would stand there, and brought back by whoever asks.
    pub checkpoint: Option<String>,
    pub inputs: BTreeMap<String, String>,
    pub choices: Vec<(String, Choice)>,
    pub orphans: Option<Orphans>,
    pub jobs: Option<u32>,
    pub plan_from: PlanFrom,
    /// Changes of the world are taken as they are.
    pub accept_stale: Accept,
    /// This phase and all that needs it is to be done again.
    pub from: Option<String>,
    /// No other phase is to be started.
    pub only: Option<String>,
    /// Whether one revision is let through that the limits forbid.
    pub replan_limits: ReplanLimits,
    /// How long limits are waited for at most; none: as the plan says.
    pub wait_limit: Option<Duration>,
    /// How long the run may take.
    pub deadline: Option<Duration>,
    /// The largest cost of all its agents; none: as an earlier start said.
    pub budget_nano_usd: Option<u64>,
    /// The agent that does the phases of a plan in Markdown.
    pub agent: Option<String>,
    /// Where no run is named, those that are meant by what they are about.
    pub query: RunQuery,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Want {
    /// `run`: start, or go on where that is safe.
    #[default]
    Plain,
    /// `run --resume`, perhaps with a run.
    Resume(Option<String>),
    /// `resume`, perhaps with a run: no plan file is named.
    ResumeRun(Option<String>),
    /// `run --fresh`.
    Fresh,
}

/// Which plan counts when the file was edited since the run was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlanFrom {
    #[default]
    File,
    Run,
}

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

/// Phases that were named must be of the plan; checked before anything is made.
fn demand_named_phases(request: &Request, plan: &Plan) -> Result<()> {
    for phase in request.choices.iter().map(|(phase, _)| phase).chain(&request.only) {
        let id = PhaseId::new(phase);
        plan.phase(&id).ok_or(Refusal::NoSuchPhase(id))?;
    }
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
            triggers: self.config.triggers(),
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
        let (run, stepped) = committer::begin(self.store()?, &lease, &started, &[], (&actor(), Timestamp::now()))?;
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

    /// The repository in which the id of a run has to be the only one of its name. Saved state is never in git.
    pub(crate) fn repository_of_ids(&self, started: &RunStarted) -> Result<Option<Repository>> {
        if started.plan.phases.is_empty() {
            return Ok(None);
        }
        let found = doctor::repository(&self.project);
        // A call that a stop cut short says nothing about git.
        stop::demand_none()?;
        Ok(found)
    }

    /// A new id, and the right to write under it.
    pub(crate) fn create(&mut self, started: &RunStarted, kind: LeaseKind) -> Result<(RunId, Lease)> {
        let now = Timestamp::now();
        let id = |number| Some(ids_and_keys::run_id(&started.plan.kind, &started.project, now, number));
        let repository = self.repository_of_ids(started)?;
        self.create_as(started, kind, repository.as_ref(), &id)
    }

    /// The same under the first of these ids that is free.
    pub(crate) fn create_as(
        &mut self,
        started: &RunStarted,
        kind: LeaseKind,
        repository: Option<&Repository>,
        ids: &dyn Fn(u32) -> Option<RunId>,
    ) -> Result<(RunId, Lease)> {
        for id in (1..RUN_ID_TRIES_MAX).map_while(ids) {
            if let Some(repository) = repository
                && claim(repository, &id)? == RunClaim::Taken
            {
                continue;
            }
            let new = NewRun {
                run: id.clone(),
                work: started.work.clone(),
                summary: b"{}".to_vec(),
                status: runs::NEW.to_owned(),
            };
            match self.store()?.create_run(new) {
                Ok(()) => {
                    names::learn_newest(Some(id.clone()));
                    reached("start.after-create");
                    self.make_run_folder(&id)?;
                    let lease = self.store()?.take_lease(&id, kind, holder())?;
                    tracing::info!(run = %id, epoch = lease.epoch(), "the run is made");
                    return Ok((id, lease));
                }
                // The claim is that run's from now on.
                Err(StoreError::AlreadyThere { .. }) => {}
                Err(other) => {
                    if let Some(repository) = repository {
                        repository.drop_claim(&id);
                    }
                    return Err(other.into());
                }
            }
        }
        let why = "its run id is taken in this repository, by another working tree or by a store that is gone: onward doctor names \
                   what git has of it";
        Err(Error::ImportConflict { why: why.to_owned() })
    }

    /// The folder of the run's attempts, made before the first of them: where it is missing later, it was taken away.
    pub(crate) fn make_run_folder(&self, id: &RunId) -> Result<()> {
        let store = self.project.store_folder();
        let path = store.join("attempts").join(id.as_str());
        let made = private::make_folders(&store, &path);
        made.map_err(|why| Error::NoRoom { what: format!("{} cannot be made: {why}", path.display()) })
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
        let plan = going.resumption.revised.as_ref().map_or(run.plan(), |revised| &revised.plan);
        let group = self.enter_group(plan, &run.started.inputs, Some(id))?;
        let (run, ended) = self.end_a_rewind_that_was_cut_off(run, &lease)?;
        for note in ended.iter().flat_map(EndedRewind::notes) {
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
        self.drive(run, &lease, request, (tree, going.resumption.clone(), group), reporter)
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
        let (mut run, actor, mut keep) = (run, actor(), KeepNothing);
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
        for (phase, artifact) in probe::artifact::restorable(&self.project, run).filter(|(phase, _)| !again(phase)) {
            probe::artifact::put_back(&self.project, run, artifact).map_err(|why| {
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
        let waiter = Waiter::new(wake).map_err(Error::io("preparing to wait"))?;
        let project = self.project.clone();
        let me = holder();
        let me = view::DriverView { host: me.host, pid: me.pid, since: me.since };
        let head = tree.head();
        // The driver before may have been killed in the middle of a look; what it started must not go on beside ours.
        probe::probe_lock::end_what_was_left(&project, &run.id);
        probe::artifact::expire(&project, Timestamp::now());
        let (place, busy) = group.map(|asked| asked.of_run(&run.id)).transpose()?.unzip();
        let mut world = Flights::new(&project, waiter, me, tree).in_group(place);
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
                deadline: request.deadline.map(|allowed| wait_limits::deadline(Timestamp::now(), allowed)),
                budget_nano_usd: request.budget_nano_usd,
            },
            closed: elsewhere(world.limits_elsewhere(&run)),
            busy: busy.flatten().map(Box::new),
        };
        // Without it nothing is expected, and that is all.
        if let Ok(expected) = durations::expected(self.inspection()?, &run) {
            reporter.update(&crate::Update::Expected(&expected));
        }
        for note in uncounted::notes(&project, &run, request) {
            reporter.update(&crate::Update::Note(&note));
        }
        let mut keeper = Keeper::new(project.store_folder(), run.seq.0);
        let (actor, mut run) = (actor(), run);
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

    /// Waits until nothing of a run is at work any more, or ends it.
    fn see_the_end_of(&self, old: &Unfinished, orphans: Option<Orphans>, reporter: &mut dyn Reporter) -> Result<()> {
        let held = |folder: &attendant::AttemptFolder| attendant::is_at_work(folder).unwrap_or(false);
        for folder in self.at_work(&old.run).iter().filter(|folder| held(folder)) {
            if orphans == Some(Orphans::Kill) {
                end_attempt(folder).map_err(|why| Error::Refused { run: old.run.id.clone(), reasons: vec![why] })?;
                continue;
            }
            let note = format!("run {} has a phase at work, and its end is waited for", old.run.id);
            reporter.update(&crate::Update::Note(&note));
            while held(folder) {
                stop::demand_none()?;
                std::thread::sleep(LOCK_LOOK_EVERY);
            }
        }
        Ok(())
    }

    /// Archives an unfinished run and starts nothing; phases that are still at work are waited for or ended first.
    pub fn put_away_unfinished(
        &mut self,
        one: &Unfinished,
        orphans: Option<Orphans>,
        reporter: &mut dyn Reporter,
    ) -> Result<()> {
        self.see_the_end_of(one, orphans, reporter)?;
        self.put_away(one)?;
        self.learn_newest();
        Ok(())
    }

    fn at_work(&self, run: &Run) -> Vec<attendant::AttemptFolder> {
        let attempts = run.running().filter_map(|(phase, state)| Some((&phase.id, state.attempt.as_ref()?.number)));
        attempts.map(|(phase, number)| shell::folder(&self.project, run, phase, number)).collect()
    }

    /// Archives a run that a fresh start leaves behind. Somebody may have gone on with it while its end was waited for.
    fn put_away(&mut self, old: &Unfinished) -> Result<()> {
        self.archive(&old.run.id)
    }
}

/// Claims an id among all stores of the repository. One that git knows and nobody has claimed was lost, perhaps in this very second.
fn claim(repository: &Repository, id: &RunId) -> Result<RunClaim> {
    let is_known = repository.has_refs_of(id);
    // A call that a stop cut short says nothing about refs.
    stop::demand_none()?;
    Ok(if is_known { RunClaim::Taken } else { repository.claim(id) })
}

/// The same, as a driver is told it before it begins.
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

/// The name of the person, as far as the environment tells.
pub(crate) fn actor() -> String {
    let name = std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_else(|_| "unknown".to_owned());
    format!("{name}@{}", process::hostname())
}
