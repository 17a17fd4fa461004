//! Findings about an unfinished run, and what follows from them. The facts are gathered here; core decides.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

use jiff::Timestamp;
use onward_core::diagnostic::{self, Diagnostic};
use onward_core::event::{Orphans, PlanRevised};
use onward_core::evidence::{Evidence, RequirementSeen, WorldSeen};
use onward_core::id::{PhaseId, RunId};
use onward_core::input::{Choice, Resumption};
use onward_core::plan::{self, MarkdownSettings, PhaseMark, Requirement};
use onward_core::resume::{
    self, Accept, Answers, Finding, FindingKind, Offered, PlanFact, ResumeFacts, RunStanding, Verdict, Wording, stale,
};
use onward_core::run::{self, Run};
use onward_core::view::{self, Alive, DriverView, StatusView};

use crate::Onward;
use crate::error::{Error, Result};
use crate::plan_files;
use crate::probe;
use crate::probe::requirement::RequirementLook;
use crate::queries::runs::{self, require_phase};
use crate::start::offers::{fresh, question, refuse_if_driven};
use crate::start::prepared_plan::{PreparedPlan, is_known_by, text_key};
use crate::start::request::{After, PlanFrom, Request, Want};
use crate::start::starting::{Ready, StartFound};
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
        // A file that still says what a phase's new plan has replaced was not edited.
        let as_before = plan.markdown.is_some() && run.replans.has_replaced(&plan);
        if same_text || as_before || plan == *run.plan() {
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
        // What an edit means is asked of the phases as they stand once their results are taken.
        let is_edited = plan_from == PlanFrom::File && matches!(file.now, FileNow::Edited(_));
        let run = if is_edited && !somebody_drives { self.with_ends_told(run) } else { run };
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
        findings.retain(|finding| !is_doubt_of_what_is_gone(finding, revised));
        findings.extend(resume::approvals_taken(run, revised));
        findings.extend(resume::files_came_in(run, revised));
        findings.extend(resume::worktrees_left(run, revised));
        findings.extend(resume::markers::findings(run, &one.marks));
        findings.extend(stale::findings(run, revised, &one.seen, &again));
        if files == FilesNow::AsTheyAre {
            let changed = self.with_other_bytes(run, probe::changed_since_interrupted(&self.project, run));
            findings.extend(resume::reworked(run, changed));
            findings.extend(probe::artifact_copies::restorable(&self.project, run).map(|(phase, artifact)| {
                let (name, path) = (&artifact.name, &artifact.path);
                let message = format!("phase {phase}: its artifact {name} ({path}) is gone, and its copy is put back");
                Finding::about(FindingKind::ArtifactRestored, phase, message)
            }));
        }
        // Of the edited file only what the run's own plan says too: the rest is nobody's word before the file counts.
        let kept = |plan: &plan::Plan| {
            let says = |one: &Requirement| revised.is_none_or(|revised| revised.requires.contains(one));
            plan::Plan { requires: plan.requires.iter().filter(|one| says(one)).cloned().collect(), ..plan.clone() }
        };
        one.requirements =
            RequirementLook::of_plan(&self.project, run, &kept(run.plan())).check_all(&AtomicBool::new(false));
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
            Verdict::GoOn => {
                if let Some(orphans) = request.orphans.filter(|_| one.left_behind().next().is_some()) {
                    // What the edit means can be asked only once their results are there.
                    self.see_the_end_of_left_behind(one, orphans)?;
                    let found = self.find(request)?;
                    return self.ready(request, &found);
                }
                let mut going = one.going(request)?;
                self.demand_what_the_edit_requires(one, &mut going)?;
                Ok(Ready::GoOn(Box::new(going)))
            }
            Verdict::Refuse if one.run.archived => Err(run::Refusal::Archived.into()),
            Verdict::Refuse => {
                self.note(&run, &one.findings);
                Err(Error::Forbidden { run, findings: one.findings.clone() })
            }
            Verdict::Ask => {
                if request.only.is_some() {
                    // Whatever is answered, it cannot be done alone: nothing is asked then.
                    one.preview(request)?;
                }
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
}

impl Unfinished {
    /// The view of the run. Made when somebody looks: most starts ask nobody, and a large run takes a while to
    /// describe.
    pub fn view(&self) -> StatusView {
        view::status(&self.run, &self.alive, self.warnings.clone())
    }

    /// The requirements of the edited plan that the run's own plan does not have.
    pub(super) fn added_requirements(&self) -> Vec<Requirement> {
        let revised = self.revised.iter().flat_map(|revised| &revised.plan.requires);
        revised.filter(|one| !self.run.plan().requires.contains(one)).cloned().collect()
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
        let in_the_way: Vec<Finding> = self.to_be_redone(request).into_iter().chain(self.left_behind()).collect();
        let mut judged = self.judge_of(&self.findings, &in_the_way, request);
        if judged.verdict == Verdict::Ask && self.left_behind().next().is_some() {
            // Nothing is left behind by the plan that is kept.
            judged.offered.insert(Offered::PlanFromRun);
        }
        judged
    }

    /// The findings that would still be open if the plan kept with the run counted and not the file.
    pub(crate) fn open_by_kept_plan(&self, request: &Request) -> Vec<Finding> {
        let by_the_file = [
            FindingKind::PlanGone,
            FindingKind::PlanChanged,
            FindingKind::ApprovalTaken,
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
        let kept: Vec<Finding> = others.chain(kept).collect();
        self.judge_of(&kept, &self.to_be_redone(request), request).open
    }

    fn judge_of(&self, findings: &[Finding], in_the_way: &[Finding], request: &Request) -> Judged {
        let chosen = self.chosen(request);
        let all: Vec<Finding> = findings.iter().chain(in_the_way).cloned().collect();
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
    pub(super) fn chosen(&self, request: &Request) -> BTreeSet<PhaseId> {
        let mut chosen: BTreeSet<PhaseId> = request.choices.iter().map(|(phase, _)| PhaseId::new(phase)).collect();
        if let Some(from) = &request.from {
            chosen.extend(self.run.with_dependents(&PhaseId::new(from)));
        }
        chosen
    }

    /// Phases at work that the edited plan no longer has, or has as other work.
    pub(super) fn left_behind(&self) -> impl Iterator<Item = Finding> {
        let edited = self.revised.as_ref().map(|revised| &revised.plan);
        edited
            .into_iter()
            .flat_map(|plan| self.orphans().filter_map(|id| Some((id, resume::left_behind(&self.run, id, plan)?))))
            .map(|(id, how)| {
                Finding::about(FindingKind::OrphanInTheWay, id, format!("phase {id} is still at work and {how}"))
            })
    }

    /// Phases at work that are to be done again.
    fn to_be_redone(&self, request: &Request) -> Vec<Finding> {
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
    pub(super) fn demand_phases(&self, request: &Request) -> Result<()> {
        let named = request.choices.iter().map(|(phase, _)| phase).chain(&request.from).chain(&request.only);
        for phase in named {
            let added = |revised: &PlanRevised| revised.plan.phase(&PhaseId::new(phase)).is_some();
            if !self.revised.as_deref().is_some_and(added) {
                require_phase(&self.run, phase)?;
            }
        }
        if let (Some(only), Some(from)) = (&request.only, &request.from)
            && only != from
        {
            let why = format!("--from {from} makes another phase undone than the one that is wanted");
            return Err(run::Refusal::Illegal("--only", PhaseId::new(only), why).into());
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
                let how =
                    "--orphan wait waits for its end, --orphan kill ends it, --plan-from run keeps it in the plan";
                let why = format!("phase {phase} is still at work and is not in the edited plan any more: {how}");
                return Err(Error::Refused { run: self.run.id.clone(), reasons: vec![why] });
            }
        }
        Ok(Going { run: self.run.id.clone(), resumption: self.resumption(request) })
    }

    pub(super) fn resumption(&self, request: &Request) -> Resumption {
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
            // A doubt goes with its phase, whatever is answered; what is done only where it is said to be the same.
            let goes =
                |old: &PhaseId, new: &PhaseId| stale::is_in_doubt(&self.run, old) || (accept && !chosen.contains(new));
            revised.renamed = pairs.filter(|(old, new)| goes(old, new)).collect();
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
            // They are looked for once nobody else can drive the run.
            ends: Vec::new(),
        }
    }

    /// The run as the edited plan would have it, where it counts: for what may be said about its phases.
    pub(crate) fn run_as_edited(&self) -> Run {
        match self.revised.as_deref().filter(|_| self.left_behind().next().is_none()) {
            None => self.run.clone(),
            Some(revised) => {
                let doubts = stale::renamed(&self.run, &revised.plan).into_iter();
                let renamed = doubts.filter(|(old, _)| stale::is_in_doubt(&self.run, old)).collect();
                run::preview_revised(&self.run, &PlanRevised { renamed, ..revised.clone() })
            }
        }
    }

    /// The plan as its file has it, where it is another one and counts.
    pub(crate) fn edited_plan(&self) -> Option<&plan::Plan> {
        self.revised.as_ref().map(|revised| &revised.plan)
    }
}

/// A doubt about a phase that a person took out of the plan is not asked about: nothing could be answered.
fn is_doubt_of_what_is_gone(finding: &Finding, revised: Option<&plan::Plan>) -> bool {
    let gone = |plan: &plan::Plan| finding.phase.as_ref().is_some_and(|phase| plan.phase(phase).is_none());
    finding.kind == FindingKind::InDoubt && revised.is_some_and(gone)
}

pub(super) fn unmet(seen: &RequirementSeen) -> Finding {
    let message = format!("the plan requires: {}", seen.name);
    Finding { details: vec![seen.said.clone()], ..Finding::new(FindingKind::RequirementUnmet, message) }
}

fn wording(request: &Request) -> Wording {
    match request.want {
        Want::Resume(_) | Want::ResumeRun(_) if request.after == After::AnAnswer => Wording::Answer,
        Want::Resume(_) | Want::ResumeRun(_) => Wording::Resume,
        Want::Plain | Want::Fresh => Wording::Plain,
    }
}
