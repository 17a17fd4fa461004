//! Findings about an unfinished run, and what follows from them. The facts are gathered here; core decides.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

use jiff::Timestamp;
use onward_core::diagnostic::{self, Diagnostic};
use onward_core::event::{Orphans, PlanRevised};
use onward_core::evidence::{Evidence, RequirementSeen, WorldSeen};
use onward_core::id::{PhaseId, RunId};
use onward_core::input::{Begin, Bounds, Choice, Resumption};
use onward_core::plan::{self, MarkdownSettings, PhaseMark};
use onward_core::resume::{
    self, Accept, Answers, Finding, FindingKind, Offered, PlanFact, ResumeFacts, RunStanding, Verdict, Wording, stale,
};
use onward_core::run::{self, Run};
use onward_core::view::{self, Alive, DriverView, NextStep, StatusView, WillRun};

use crate::Onward;
use crate::error::{Error, Result};
use crate::executor::shell;
use crate::plan_files;
use crate::probe;
use crate::probe::requirement::RequirementLook;
use crate::queries::runs::{self, require_phase};
use crate::start::offers::{fresh, question, refuse_if_driven};
use crate::start::prepared_plan::{PreparedPlan, is_known_by, text_key};
use crate::start::starting::{PlanFrom, Ready, Request, StartFound, Want};
use crate::sys::stop;
use crate::trust;
use crate::vcs;

/// An unfinished run of the same work, and all that was found out about it.
#[derive(Debug)]
pub struct Unfinished {
    pub run: Run,
    /// The processes of the run that were seen.
    alive: Alive,
    warnings: Vec<String>,
    pub plan: PlanFact,
    /// All that was found, whatever it weighs.
    pub findings: Vec<Finding>,
    /// The edited plan, where it is another one.
    revised: Option<Box<PlanRevised>>,
    world: Option<Box<WorldSeen>>,
    /// The evidence of finished phases, as it is now.
    seen: BTreeMap<PhaseId, Evidence>,
    /// The words of the plan's file about phases of which the record says something else.
    marks: Vec<PhaseMark>,
    /// Whether what the plan requires is there.
    pub(super) requirements: Vec<RequirementSeen>,
}

/// The judgement of core.
#[derive(Debug)]
pub struct Judged {
    pub verdict: Verdict,
    /// The findings that are still open, the worst first.
    pub open: Vec<Finding>,
    pub offered: BTreeSet<Offered>,
}

/// A run that goes on, and what is to be written down first.
#[derive(Clone, Debug)]
pub struct Going {
    pub run: RunId,
    pub resumption: Resumption,
}

/// The plan file compared with the run's plan.
pub(crate) enum FileNow {
    Same,
    /// Another text.
    Edited(Box<PlanRevised>),
    Gone,
    /// It is no plan any more, for these reasons.
    Invalid(Vec<String>),
}

/// The same, and what its headings say of phases where it is one in Markdown.
pub(crate) struct PlanFileSeen {
    pub(crate) now: FileNow,
    pub(crate) marks: Vec<PhaseMark>,
}

impl From<FileNow> for PlanFileSeen {
    fn from(now: FileNow) -> Self {
        Self { now, marks: Vec::new() }
    }
}

/// The state of the working tree that a resumed run will find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilesNow {
    AsTheyAre,
    /// They are put back first: that they are others now does not matter.
    PutBack,
}

impl FileNow {
    pub(crate) fn new(run: &Run, prepared: &PreparedPlan, text: &str) -> Self {
        let plan = prepared.beside(run);
        let same_text = text == run.started.plan_text && plan.markdown.is_none();
        if same_text || plan == *run.plan() {
            return Self::Same;
        }
        let (plan_digest, plan_text) = (prepared.digest.clone(), text.to_owned());
        Self::Edited(Box::new(PlanRevised { plan, plan_digest, plan_text, renamed: Vec::new() }))
    }
}

/// The errors of a plan, a line for each.
fn faults_of(why: &Error) -> Vec<String> {
    let (file, diagnostics) = match why {
        Error::PlanInvalid { file, diagnostics, .. }
        | Error::PlanNewer { file, diagnostics, .. }
        | Error::PlanUnsupported { file, diagnostics, .. } => (file, diagnostics),
        other => return vec![other.to_string()],
    };
    let counts = |one: &&Diagnostic| one.is_error() || matches!(why, Error::PlanUnsupported { .. });
    diagnostics.iter().filter(counts).map(|one| diagnostic::line(file, one)).collect()
}

impl Onward {
    /// Compares the plan file with the run's plan.
    pub(crate) fn file_now(&self, run: &Run, request: &Request) -> PlanFileSeen {
        // The plan of a run that was taken over from a file is what that file says, whatever else it names.
        if run.sections().imported.is_some() && run.started.plan_text.is_empty() {
            return FileNow::Same.into();
        }
        let path = self.project.top.join(&run.started.plan_path);
        let Ok(text) = plan_files::plan_text(&path) else { return FileNow::Gone.into() };
        let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
        let origin = run.plan().markdown.as_deref();
        if origin.is_none() && is_known_by(&self.project, &run.started.plan_text, &hash) {
            return FileNow::Same.into();
        }
        let started = &run.started;
        let agent = request.agent.clone().or_else(|| origin.and_then(|origin| origin.settings.agent.clone()));
        let settings = MarkdownSettings { agent, ..self.config.markdown() };
        let prepared = plan_files::plan_from_text(&self.project, &path, text, &settings)
            .and_then(|plan| PreparedPlan::new(&self.project, &started.plan_path, &plan, &started.inputs));
        match prepared {
            Ok(prepared) => {
                let text = text_key(&self.project, &hash, prepared.plan.used.keys().map(String::as_str));
                let marks = prepared.plan.markdown.as_ref().map(|origin| origin.marks.clone()).unwrap_or_default();
                PlanFileSeen { now: FileNow::new(run, &prepared, &text), marks }
            }
            Err(why) => FileNow::Invalid(faults_of(&why)).into(),
        }
    }

    /// Looks at everything that going on depends on. Executes the probes of the plan that is stored in the run.
    pub(crate) fn judged(&mut self, run: Run, plan_from: PlanFrom, file: PlanFileSeen) -> Result<Unfinished> {
        self.judged_with(run, plan_from, file, FilesNow::AsTheyAre)
    }

    pub(crate) fn judged_with(
        &mut self,
        run: Run,
        plan_from: PlanFrom,
        file: PlanFileSeen,
        files: FilesNow,
    ) -> Result<Unfinished> {
        // What was cut off is ended before anything else is done.
        let (run, files) = match run.vcs.rewinding.clone().filter(|begun| begun.state) {
            Some(begun) => (run::vcs::as_of(&run, &self.read_checkpoint(&begun.to)?), FilesNow::PutBack),
            None => (run, files),
        };
        let driver = self.driver(&run.id)?;
        let warnings = self.warnings();
        let somebody_drives = driver.is_some();
        let alive = runs::alive(&self.project, &run, driver);
        let compared = plan_from == PlanFrom::File && !matches!(file.now, FileNow::Gone | FileNow::Invalid(_));
        let (plan, revised) = match (plan_from, file.now) {
            (PlanFrom::Run, _) => (PlanFact::Kept, None),
            (PlanFrom::File, FileNow::Same) => (PlanFact::Same, None),
            (PlanFrom::File, FileNow::Gone) => (PlanFact::Gone, None),
            (PlanFrom::File, FileNow::Invalid(faults)) => (PlanFact::Invalid(faults), None),
            (PlanFrom::File, FileNow::Edited(new)) if new.plan_digest == run.started.plan_digest => {
                (PlanFact::Touched, Some(new))
            }
            (PlanFrom::File, FileNow::Edited(new)) => (PlanFact::Changed, Some(new)),
        };
        let (findings, seen) = (Vec::new(), BTreeMap::new());
        let of_markdown = run.plan().markdown.is_some() && files == FilesNow::AsTheyAre;
        let marks = if compared && of_markdown { resume::markers::differing(&run, &file.marks) } else { Vec::new() };
        let (world, requirements) = (None, Vec::new());
        let mut one = Unfinished { run, alive, warnings, plan, findings, revised, world, seen, marks, requirements };
        // Somebody else is at it, or nothing is left: nothing is to be decided, so nothing is asked of the world.
        if !somebody_drives && one.run.is_unfinished() && one.run.phases_total() > 0 {
            self.look_around(&mut one, files);
        }
        // What was given up was not seen.
        stop::demand_none()?;
        Ok(one)
    }

    fn look_around(&mut self, one: &mut Unfinished, files: FilesNow) {
        // The stored plan is somebody else's: nothing in it is executed, not even to find out how the world stands.
        if trust::doubt(&self.project).is_some() {
            return;
        }
        if let Some(gone) = self.worktree_gone(&one.run) {
            // Nothing can be seen in a folder that is not there, and what is seen elsewhere is not about this run.
            one.findings = vec![gone];
            return;
        }
        let run = &one.run;
        let world = probe::world(&self.project, run);
        one.seen = probe::finished(&self.project, run);
        if files == FilesNow::PutBack {
            for seen in one.seen.values_mut() {
                (seen.reads, seen.writes, seen.artifacts) = (None, None, None);
            }
        }
        let facts = ResumeFacts {
            run,
            plan: one.plan.clone(),
            branch: vcs::branch_fact(&self.project.top, run.branch()),
            head: self.head_moved(run, &world),
            auto: self.config.resume_auto(),
            max_age: self.config.resume_max_age(),
            now: Timestamp::now(),
        };
        let mut findings = resume::observe(&facts);
        findings.extend(resume::world::findings(run, &world));
        resume::tell_plan_edits(&mut findings, run.plan(), one.revised.as_ref().map(|revised| &revised.plan));
        let (revised, again) = (one.revised.as_ref().map(|revised| &revised.plan), resume::world::again(run, &world));
        findings.extend(resume::markers::findings(run, &one.marks));
        findings.extend(stale::findings(run, revised, &one.seen, &again));
        if files == FilesNow::AsTheyAre {
            let changed = self.with_other_bytes(run, probe::changed_since_interrupted(&self.project, run));
            findings.extend(resume::reworked(run, changed));
            findings.extend(probe::artifact::restorable(&self.project, run).map(|(phase, artifact)| {
                let (name, path) = (&artifact.name, &artifact.path);
                let message = format!("phase {phase}: its artifact {name} ({path}) is gone, and its copy is put back");
                Finding::about(FindingKind::ArtifactRestored, phase, message)
            }));
        }
        one.requirements = RequirementLook::of_plan(&self.project, run, revised.unwrap_or(run.plan()))
            .check_all(&AtomicBool::new(false));
        findings.extend(one.requirements.iter().filter(|seen| !seen.met).map(unmet));
        findings.extend(self.latest_is_damaged(run));
        self.count_lines(run, &mut findings);
        findings.extend(one.orphans().map(|phase| {
            let message = format!("phase {phase} is still at work, and is waited for");
            Finding::about(FindingKind::Orphan, phase, message)
        }));
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.kind.row().weight));
        one.world = Some(Box::new(world)).filter(|world| **world != WorldSeen::default());
        one.findings = findings;
    }

    /// The action to take, or the question that stands in the way.
    pub fn ready(&mut self, request: &Request, found: &StartFound) -> Result<Ready> {
        let one = match (&request.want, found.unfinished.as_slice()) {
            (Want::Fresh, all) => {
                self.ask_about_survivors(request)?;
                return fresh(request, all);
            }
            (_, []) => return Ok(Ready::Start),
            (Want::Plain | Want::Resume(_) | Want::ResumeRun(_), [one]) => one,
            (_, several) => {
                return Err(Error::Several {
                    runs: several.iter().map(|one| one.run.id.clone()).collect(),
                    typed: request.typed(),
                });
            }
        };
        refuse_if_driven(one)?;
        one.demand_phases(request)?;
        one.demand_retried_have_ended(request)?;
        let judged = one.judge(request);
        let run = one.run.id.clone();
        match judged.verdict {
            Verdict::Driven => unreachable!("it was asked before"),
            Verdict::NoPhases => Err(Error::NoPhases { run }),
            Verdict::Complete => Ok(Ready::Complete(run)),
            Verdict::GoOn => Ok(Ready::GoOn(Box::new(one.going(request)?))),
            Verdict::Refuse if one.run.archived => Err(run::Refusal::Archived.into()),
            Verdict::Refuse => {
                self.note(&run, &one.findings);
                Err(Error::Forbidden { run, findings: one.findings.clone() })
            }
            Verdict::Ask => {
                self.note(&run, &one.findings);
                let typed = self.typed(one, request);
                Err(Error::AnswerNeeded(Box::new(question(one, &judged, request, &typed))))
            }
        }
    }

    /// The request with every phase by its id: people also type the names that they are shown.
    #[must_use]
    pub fn by_id(&self, request: Request, found: &StartFound) -> Request {
        let run = found.unfinished.first();
        let revised = run.and_then(|one| one.revised.as_ref()).map(|revised| &revised.plan);
        let plans = revised.into_iter().chain(run.map(|one| one.run.plan()));
        let plans: Vec<&plan::Plan> = plans.chain(found.work.as_ref().map(|work| &work.plan)).collect();
        let meant = |typed: String| {
            let id = plans.iter().find_map(|plan| plan::phase_meant(plan, &typed));
            id.map_or(typed, |id| id.to_string())
        };
        Request {
            choices: request.choices.into_iter().map(|(phase, choice)| (meant(phase), choice)).collect(),
            from: request.from.map(meant),
            only: request.only.map(meant),
            ..request
        }
    }

    /// The phases that would run, and why.
    pub fn would_do(&self, request: &Request, found: &StartFound) -> Result<Vec<WillRun>> {
        let new = matches!(request.want, Want::Fresh) || found.unfinished.is_empty();
        match (new, &found.work, found.unfinished.first()) {
            (true, Some(work), _) => Ok(work.plan.phases.iter().map(|phase| of_new(request, phase)).collect()),
            (_, _, Some(one)) => {
                one.demand_phases(request)?;
                let ahead = one.preview(request)?;
                let mut all: Vec<WillRun> =
                    ahead.phases().map(|(phase, state)| self.why_now(&ahead, phase, state)).collect();
                for why in &mut all {
                    one.explain(request, why);
                }
                Ok(all)
            }
            (_, _, None) => Ok(Vec::new()),
        }
    }
}

impl Unfinished {
    /// The view of the run. Made when somebody looks: most starts ask nobody, and a large run takes a while to
    /// describe.
    pub fn view(&self) -> StatusView {
        view::status(&self.run, &self.alive, self.warnings.clone())
    }

    /// The driver of the run, if there is one.
    pub fn driver(&self) -> Option<&DriverView> {
        self.alive.driver.as_ref()
    }

    /// Phases that outlived their driver.
    pub(crate) fn orphans(&self) -> impl Iterator<Item = &PhaseId> {
        let alone = self.driver().is_none();
        let at_work = self.run.running().map(|(phase, _)| &phase.id);
        at_work.filter(move |phase| alone && self.alive.phases.contains(phase))
    }

    /// The judgement of core, with the answers that were given.
    pub fn judge(&self, request: &Request) -> Judged {
        self.judge_of(&self.findings, request)
    }

    /// The findings that would still be open if the plan kept with the run counted and not the file.
    pub(crate) fn open_by_kept_plan(&self, request: &Request) -> Vec<Finding> {
        let by_the_file = [
            FindingKind::PlanGone,
            FindingKind::PlanChanged,
            FindingKind::PlanTouched,
            FindingKind::Renamed,
            FindingKind::Stale,
            FindingKind::StaleReruns,
            FindingKind::DependentsKept,
            FindingKind::OutputChanged,
        ];
        let world = self.world.as_deref().cloned().unwrap_or_default();
        let again = resume::world::again(&self.run, &world);
        let kept = stale::findings(&self.run, None, &self.seen, &again);
        let others = self.findings.iter().filter(|finding| !by_the_file.contains(&finding.kind)).cloned();
        self.judge_of(&others.chain(kept).collect::<Vec<_>>(), request).open
    }

    fn judge_of(&self, findings: &[Finding], request: &Request) -> Judged {
        let chosen = self.chosen(request);
        let in_the_way = self.in_the_way(request);
        let all: Vec<Finding> = findings.iter().chain(&in_the_way).cloned().collect();
        let answers = Answers {
            wording: wording(request),
            accept: request.accept_stale,
            chosen: &chosen,
            orphans: if request.orphans.is_some() { Accept::Yes } else { Accept::No },
        };
        let decision = resume::decide(self.standing(request), &all, answers);
        let open = decision.open.into_iter().cloned().collect();
        Judged { verdict: decision.verdict, open, offered: decision.offered }
    }

    fn standing(&self, request: &Request) -> RunStanding {
        let again = !request.choices.is_empty() || request.from.is_some();
        if self.driver().is_some() {
            RunStanding::Driven
        } else if self.run.phases_total() == 0 {
            RunStanding::NoPhases
        } else if self.run.archived {
            RunStanding::Archived
        } else if !self.run.is_unfinished() && !again {
            RunStanding::Complete
        } else {
            RunStanding::Open
        }
    }

    /// Phases that were answered for, one by one or with all that needs one of them.
    fn chosen(&self, request: &Request) -> BTreeSet<PhaseId> {
        let mut chosen: BTreeSet<PhaseId> = request.choices.iter().map(|(phase, _)| PhaseId::new(phase)).collect();
        if let Some(from) = &request.from {
            chosen.extend(self.run.with_dependents(&PhaseId::new(from)));
        }
        chosen
    }

    /// Phases at work that are to be done again, or that the edited plan no longer has.
    fn in_the_way(&self, request: &Request) -> Vec<Finding> {
        let redone: Vec<PhaseId> =
            request.from.as_ref().map(|from| self.run.with_dependents(&PhaseId::new(from))).unwrap_or_default();
        let alive = self.orphans().filter(|phase| redone.contains(phase));
        let finding = |id: &PhaseId| {
            let message = format!("phase {id} is to be done again and is still at work");
            Finding::about(FindingKind::OrphanInTheWay, id, message)
        };
        alive.map(finding).collect()
    }

    /// Phases that were named must be there, in the plan that is to count.
    fn demand_phases(&self, request: &Request) -> Result<()> {
        let named = request.choices.iter().map(|(phase, _)| phase).chain(&request.from).chain(&request.only);
        for phase in named {
            let added = |revised: &PlanRevised| revised.plan.phase(&PhaseId::new(phase)).is_some();
            if !self.revised.as_deref().is_some_and(added) {
                require_phase(&self.run, phase)?;
            }
        }
        Ok(())
    }

    /// A retry is an answer about an attempt that is over. One that still works has to be ended first: the answer would count for
    /// its end too, which nobody has seen yet.
    fn demand_retried_have_ended(&self, request: &Request) -> Result<()> {
        if request.orphans == Some(Orphans::Kill) {
            return Ok(());
        }
        let retried = |phase: &PhaseId| {
            let again = |(name, choice): &(String, Choice)| {
                name == phase.as_str() && matches!(choice, Choice::Retry | Choice::RetryClean)
            };
            request.choices.iter().any(again)
        };
        match self.orphans().find(|phase| retried(phase)) {
            None => Ok(()),
            Some(phase) => Err(run::Refusal::outlived_its_driver(phase).into()),
        }
    }

    fn going(&self, request: &Request) -> Result<Going> {
        if let Some(revised) = &self.revised {
            let gone = self.orphans().find(|phase| revised.plan.phase(phase).is_none());
            if let Some(phase) = gone {
                let why = format!("phase {phase} is still at work and is not in the edited plan any more");
                return Err(Error::Refused { run: self.run.id.clone(), reasons: vec![why] });
            }
        }
        Ok(Going { run: self.run.id.clone(), resumption: self.resumption(request) })
    }

    fn resumption(&self, request: &Request) -> Resumption {
        let chosen = self.chosen(request);
        let of = |kinds: &[FindingKind]| -> Vec<PhaseId> {
            let found = self.findings.iter().filter(|finding| kinds.contains(&finding.kind));
            found.filter_map(|finding| finding.phase.clone()).filter(|phase| !chosen.contains(phase)).collect()
        };
        let rerun = of(&[FindingKind::StaleReruns]);
        let seen = |phase: PhaseId| (self.seen.get(&phase).cloned().unwrap_or_default(), phase);
        let mut accepted: Vec<(PhaseId, Evidence)> = of(&[FindingKind::Stale, FindingKind::OutputChanged])
            .into_iter()
            .filter(|phase| !rerun.contains(phase))
            .map(|phase| {
                let (seen, phase) = seen(phase);
                (phase, seen)
            })
            .collect();
        accepted.dedup_by(|a, b| a.0 == b.0);
        let revised = self.revised.clone().map(|mut revised| {
            let pairs = stale::renamed(&self.run, &revised.plan).into_iter();
            let accept = request.accept_stale == Accept::Yes;
            revised.renamed = pairs.filter(|(_, new)| accept && !chosen.contains(new)).collect();
            revised
        });
        let said = self.findings.iter().filter(|finding| finding.kind != FindingKind::Orphan);
        Resumption {
            revised,
            world: self.world.clone().or_else(|| (!self.findings.is_empty()).then(Box::default)),
            findings: said.cloned().collect(),
            requirements: self.requirements.clone(),
            accepted,
            rerun,
            from: request.from.as_deref().map(PhaseId::new),
            only: request.only.as_deref().map(PhaseId::new),
            replan_limits: request.replan_limits,
            marks: self.marks.clone(),
        }
    }

    /// The run as it would stand after this start, before anything is started.
    fn preview(&self, request: &Request) -> Result<Run> {
        let resumption = self.resumption(request);
        let plan = resumption.revised.as_ref().map_or(self.run.plan(), |revised| &revised.plan);
        let begin = Begin {
            epoch: self.run.epoch + 1,
            environment: shell::variables_on_record(plan),
            host: String::new(),
            pid: 0,
            boot: String::new(),
            jobs: request.jobs,
            orphans: request.orphans.unwrap_or_default(),
            renew: false,
            choices: request.choices.iter().map(|(phase, choice)| (PhaseId::new(phase), *choice)).collect(),
            head: None,
            resumption,
            bounds: Bounds { budget_nano_usd: request.budget_nano_usd, ..Bounds::default() },
            closed: Vec::new(),
            busy: None,
        };
        Ok(run::preview(&self.run, &begin, Timestamp::now())?)
    }

    /// Adds what was found about a phase, and what was said about it.
    fn explain(&self, request: &Request, why: &mut WillRun) {
        let chosen = request.choices.iter().find(|(phase, _)| phase == why.phase.as_str());
        if let Some((_, choice)) = chosen {
            *why = of_choice(&why.phase, *choice);
        } else if self.chosen(request).contains(&why.phase) && why.will_run {
            why.reasons = vec![format!("--from {}", request.from.as_deref().unwrap_or_default())];
        }
        if request.only.as_ref().is_some_and(|only| only != why.phase.as_str()) && why.will_run {
            *why = WillRun::new(&why.phase, None, vec!["another phase alone is wanted".to_owned()]);
        }
        let about = |finding: &&Finding| finding.phase.as_ref() == Some(&why.phase);
        let told = [FindingKind::Stale, FindingKind::StaleReruns, FindingKind::Renamed, FindingKind::OutputChanged];
        let found = self.findings.iter().filter(about).filter(|finding| told.contains(&finding.kind));
        let found: Vec<String> = found.map(|finding| finding.message.clone()).collect();
        why.reasons.extend(found);
        if self.run.phase_state(&why.phase).is_none() {
            why.reasons.push("it is new in the edited plan".to_owned());
        }
    }
}

fn unmet(seen: &RequirementSeen) -> Finding {
    let message = format!("the plan requires: {}", seen.name);
    Finding { details: vec![seen.said.clone()], ..Finding::new(FindingKind::RequirementUnmet, message) }
}

fn wording(request: &Request) -> Wording {
    match request.want {
        Want::Resume(_) | Want::ResumeRun(_) => Wording::Resume,
        Want::Plain | Want::Fresh => Wording::Plain,
    }
}

fn of_new(request: &Request, phase: &plan::Phase) -> WillRun {
    let chosen = request.choices.iter().find(|(name, _)| name == phase.id.as_str());
    chosen.map_or_else(|| view::why_new(phase), |(_, choice)| of_choice(&phase.id, *choice))
}

fn of_choice(phase: &PhaseId, choice: Choice) -> WillRun {
    let (next, reason) = match choice {
        Choice::Retry => (Some(NextStep::Run), "it is to be retried"),
        Choice::RetryClean => (Some(NextStep::Run), "what it writes is put back, and it is to be retried"),
        Choice::Skip => (None, "it is to be skipped"),
        Choice::Adopt => (None, "it is to be taken as done"),
    };
    WillRun::new(phase, next, vec![reason.to_owned()])
}
