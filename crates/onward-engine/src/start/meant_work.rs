//! Finding the work that is meant: the plan, and the unfinished runs of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use onward_core::checkpoint::KeptTree;
use onward_core::data_limits::text_fits;
use onward_core::id::{CheckpointId, RunId};
use onward_core::lookup::Name;
use onward_core::plan;
use onward_core::run::{self, Run, RunStatus};
use onward_core::view::{RunQuery, Summary};
use onward_store::{RunFilter, RunRow};

use super::findings::{FileNow, FilesNow, PlanFileSeen, Unfinished};
use super::prepared_plan::{PreparedPlan, is_known_by, text_key};
use super::request::{Request, Want};
use super::starting::{StartFound, StartablePlan};
use crate::Onward;
use crate::error::{Error, Result};
use crate::markdown_file;
use crate::plan_files::{self, with_agent};
use crate::redact::{self, MARK};
use crate::vcs::working_tree::WorkingTree;

/// A plan file that was read and not yet understood.
pub(super) struct Source {
    path: PathBuf,
    plan_path: String,
    text: String,
    hash: String,
}

impl Onward {
    /// Reads the plan, if one is meant, and finds the unfinished runs of the same work.
    pub fn find(&mut self, request: &Request) -> Result<StartFound> {
        if let Some(name) = &request.checkpoint {
            return self.find_at(request, name);
        }
        if let Want::ResumeRun(name) | Want::Resume(name @ Some(_)) = &request.want {
            request.inputs.values().try_for_each(|value| text_fits("an input", value))?;
            let ids = match name {
                Some(name) => vec![self.find_run(Some(name))?],
                None if request.query.is_empty() => vec![self.newest_unfinished(&request.inputs)?],
                None => self.unfinished_that_fit(&request.query)?,
            };
            let mut unfinished = Vec::new();
            for id in ids {
                let run = self.load_to_go_on(&id)?;
                if let Some(why) = self.other_input(&run, &request.inputs)? {
                    return Err(Error::Unfit { why });
                }
                let file = self.file_now(&run, request);
                unfinished.push(self.judged(run, request.plan_from, file)?);
            }
            return Ok(StartFound { work: None, unfinished });
        }
        let source = match self.plan_source(request) {
            Err(Error::NoPlan { folder }) if request.want != Want::Fresh => {
                if let Some(found) = self.known_by_their_place(request)? {
                    return Ok(found);
                }
                self.demand_nothing_lost(None)?;
                return Err(Error::NoPlan { folder });
            }
            other => other?,
        };
        if request.want != Want::Fresh
            && let Some(unfinished) = self.known_by_its_text(request, &source)?
        {
            return Ok(StartFound { work: None, unfinished });
        }
        let work = self.read_work(request, source)?;
        let rows = self.rows(&RunFilter { work: Some(work.key.clone()), ..RunFilter::default() })?;
        let rows = self.of_this_tree(rows);
        let is = |row: &RunRow, status: RunStatus| row.status == status.as_str();
        let over = |row: &RunRow| is(row, RunStatus::Completed) || is(row, RunStatus::Archived);
        let mut meant: Vec<&RunRow> = rows.iter().filter(|row| !over(row)).collect();
        if meant.is_empty() && request.from.is_some() && request.want != Want::Fresh {
            // Phases are to be done again, so they have been done: by the last run that came to its end.
            let last = rows.iter().find(|row| is(row, RunStatus::Completed));
            meant.push(last.ok_or(Error::NothingToRedo)?);
        }
        if meant.is_empty() && request.want != Want::Fresh {
            self.demand_nothing_lost(Some(&work.key))?;
        }
        let mut unfinished = Vec::new();
        for row in meant {
            let run = self.load_to_go_on(&row.run)?;
            let file = match run.plan().markdown {
                // Who does its phases is the run's own, where nobody says otherwise.
                Some(_) => self.file_now(&run, request),
                None => FileNow::new(&run, &work.prepared, &work.plan_text).into(),
            };
            unfinished.push(self.judged(run, request.plan_from, file)?);
        }
        Ok(StartFound { work: Some(work), unfinished })
    }

    /// A run that is likely to be gone on with: it is kept, so that it need not be read twice.
    fn load_to_go_on(&mut self, id: &RunId) -> Result<Run> {
        let run = self.load_or_tell(id)?;
        self.demand_not_behind(&run)?;
        self.found = run.is_unfinished().then(|| Box::new(run.clone()));
        Ok(run)
    }

    /// The run of a checkpoint, as it would stand there.
    fn find_at(&mut self, request: &Request, name: &str) -> Result<StartFound> {
        let to = self.checkpoint_meant(request, name)?;
        let to = self.read_checkpoint(&to)?;
        let run = self.load_or_tell(&to.run)?;
        // The file may be put back, with its markers.
        let file = PlanFileSeen { marks: Vec::new(), ..self.file_now(&run, request) };
        let tree = WorkingTree::of(&self.project, run.started.worktree.as_deref());
        // Where git cannot say so the rewind itself refuses, before anything is changed.
        let is_there = |kept: &KeptTree| tree.has_commit(&kept.commit).is_ok_and(|known| known == Ok(true));
        let files = if to.snapshot.as_ref().is_some_and(is_there) { FilesNow::PutBack } else { FilesNow::AsTheyAre };
        let unfinished = vec![self.judged_with(run::vcs::as_of(&run, &to), request.plan_from, file, files)?];
        Ok(StartFound { work: None, unfinished })
    }

    /// The plan file that is meant where none is named is not there: unfinished runs of it are found all the same.
    fn known_by_their_place(&mut self, request: &Request) -> Result<Option<StartFound>> {
        let rows = self.rows(&RunFilter { statuses: Some(unfinished_statuses()), ..RunFilter::default() })?;
        let rows = self.of_this_tree(rows);
        let places = self.project.default_plans(&self.from);
        let meant = |row: &&RunRow| summary_of(row).is_some_and(|summary| places.contains(&summary.plan));
        let mut unfinished = Vec::new();
        for row in rows.iter().filter(meant) {
            let run = self.load_or_tell(&row.run)?;
            unfinished.push(self.judged(run, request.plan_from, FileNow::Gone.into())?);
        }
        Ok((!unfinished.is_empty()).then_some(StartFound { work: None, unfinished }))
    }

    /// The newest unfinished run with these inputs.
    fn newest_unfinished(&mut self, inputs: &BTreeMap<String, String>) -> Result<RunId> {
        let rows = self.unfinished()?;
        if rows.is_empty() {
            return Err(Error::NothingUnfinished);
        }
        for row in rows {
            if inputs.is_empty() {
                return Ok(row.run);
            }
            let run = self.load_or_tell(&row.run)?;
            if self.other_input(&run, inputs)?.is_none() {
                return Ok(row.run);
            }
        }
        Err(Error::NothingFits)
    }

    /// Whether one of these inputs is not the run's, in words. An input that is kept without its secret is known by the key of the
    /// work, which tells it apart.
    fn other_input(&self, run: &Run, given: &BTreeMap<String, String>) -> Result<Option<String>> {
        if given.is_empty() {
            return Ok(None);
        }
        let started = &run.started;
        let kept = redact::learn_inputs(given);
        for (name, value) in &kept {
            match started.inputs.get(name) {
                None => return Ok(Some(format!("run {} has no input {name}", run.id))),
                Some(has) if has != value => {
                    let why = format!("run {} has the input {name}={has}, and not {value}", run.id);
                    return Ok(Some(format!("{why}: a run with other inputs is started with  onward run")));
                }
                Some(_) => {}
            }
        }
        let secret = |inputs: &BTreeMap<String, String>| inputs.values().filter(|value| value.contains(MARK)).count();
        // The keys can be compared only where all that was cut out is given again, and the store has the same key as then.
        let cannot_tell = secret(&kept) < secret(&started.inputs) || self.work_key_is_newer(run.created_at);
        if secret(&kept) == 0 || cannot_tell {
            return Ok(None);
        }
        let all: BTreeMap<String, String> =
            started.inputs.iter().map(|(k, v)| (k.clone(), v.clone())).chain(kept).collect();
        let is_other = self.work_key(&started.plan_path, &all)? != started.work;
        Ok(is_other.then(|| format!("run {} was started with another secret input", run.id)))
    }

    /// The unfinished runs that somebody looks for, the newest first.
    fn unfinished_that_fit(&mut self, query: &RunQuery) -> Result<Vec<RunId>> {
        let fits = |row: &RunRow| summary_of(row).is_some_and(|summary| query.fits(&summary));
        let found: Vec<RunId> = self.unfinished()?.into_iter().filter(fits).map(|row| row.run).collect();
        if found.is_empty() { Err(Error::NothingFits) } else { Ok(found) }
    }

    /// The newest first. A run without phases holds saved state: there is nothing to go on with.
    pub(crate) fn unfinished(&mut self) -> Result<Vec<RunRow>> {
        let rows = self.rows(&RunFilter { statuses: Some(unfinished_statuses()), ..RunFilter::default() })?;
        let has_phases = |row: &RunRow| summary_of(row).is_none_or(|summary| summary.phases_total > 0);
        Ok(self.of_this_tree(rows).into_iter().filter(has_phases).collect())
    }

    /// In the working tree of a fork its own runs are meant, if there are any.
    pub(super) fn of_this_tree(&self, rows: Vec<RunRow>) -> Vec<RunRow> {
        let Some(fork) = self.project.fork.as_deref() else { return rows };
        let is_here = |row: &RunRow| {
            let over = [RunStatus::Completed, RunStatus::Archived].iter().any(|status| row.status == status.as_str());
            !over && summary_of(row).and_then(|summary| summary.worktree).is_some_and(|tree| Path::new(&tree) == fork)
        };
        if rows.iter().any(is_here) { rows.into_iter().filter(is_here).collect() } else { rows }
    }

    /// The checkpoint from which a run is to go on, known by its id.
    pub fn checkpoint_meant(&mut self, request: &Request, name: &str) -> Result<CheckpointId> {
        let name = Name::parse(name).ok_or(Error::EmptyName("checkpoint"))?;
        let of = match &request.want {
            Want::ResumeRun(Some(run)) | Want::Resume(Some(run)) => Some(self.find_run(Some(run))?),
            Want::ResumeRun(None) | Want::Resume(None) | Want::Plain | Want::Fresh => None,
        };
        let to = self.show_checkpoint(&name, of.as_ref())?;
        match of.filter(|run| *run != to.run) {
            Some(run) => Err(Error::NoSuchCheckpoint(format!("{} in run {run}: it is one of {}", to.id, to.run))),
            None => Ok(to.id),
        }
    }

    pub(super) fn plan_source(&self, request: &Request) -> Result<Source> {
        let path = match &request.plan {
            Some(path) => self.from.join(path),
            None => self.project.default_plan(&self.from)?,
        };
        plan_files::demand_text(&path)?;
        let text = plan_files::plan_text(&path)?;
        let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
        Ok(Source { plan_path: self.project.relative(&path), path, text, hash })
    }

    /// The unfinished runs of this work, if all of them were started from this very text: then it need not be read
    /// again, which for a large plan takes longer than everything else.
    fn known_by_its_text(&mut self, request: &Request, source: &Source) -> Result<Option<Vec<Unfinished>>> {
        if markdown_file::is_markdown(&source.path) {
            // Its markers are compared, whatever the text is.
            return Ok(None);
        }
        let project = self.project.clone();
        let same = |summary: &Summary| {
            summary.plan == source.plan_path && is_known_by(&project, &summary.plan_text, &source.hash)
        };
        let rows = self.rows(&RunFilter { statuses: Some(unfinished_statuses()), ..RunFilter::default() })?;
        let rows = self.of_this_tree(rows);
        let given = redact::learn_inputs(&request.inputs);
        if given.values().any(|value| value.contains(redact::MARK)) {
            // What is kept of a secret is the same whatever it is: only the key of the work tells it apart.
            return Ok(None);
        }
        let summary = |row: &RunRow| row.summary.as_ref().ok().and_then(|bytes| serde_json::from_slice(bytes).ok());
        let known = rows.iter().find(|row| summary(row).is_some_and(|s: Summary| same(&s) && s.given == given));
        let Some(work) = known.map(|row| row.work.clone()) else { return Ok(None) };
        let mut unfinished = Vec::new();
        for row in rows.iter().filter(|row| row.work == work) {
            if !summary_of(row).is_some_and(|summary| same(&summary)) {
                return Ok(None);
            }
            let run = self.load_to_go_on(&row.run)?;
            unfinished.push(self.judged(run, request.plan_from, FileNow::Same.into())?);
        }
        Ok(Some(unfinished))
    }

    pub(super) fn read_work(&self, request: &Request, source: Source) -> Result<StartablePlan> {
        let Source { path, plan_path, text, hash } = source;
        request.inputs.values().try_for_each(|value| text_fits("an input", value))?;
        if let (Some(_), false) = (&request.agent, markdown_file::is_markdown(&path)) {
            return Err(Error::AgentOfNoMarkdown { plan: plan_path });
        }
        let settings = with_agent(self.config.markdown(), request.agent.as_deref());
        let plan = plan_files::plan_from_text(&self.project, &path, text, &settings)?;
        let inputs = plan::inputs::resolve(&plan, &request.inputs)
            .map_err(|diagnostics| Error::Inputs { file: plan_path.clone(), diagnostics })?;
        let inputs = redact::learn_inputs(&inputs);
        let key = self.work_key(&plan_path, &inputs)?;
        let prepared = PreparedPlan::new(&self.project, &plan_path, &plan, &inputs)?;
        let plan = prepared.plan.clone();
        let plan_text = text_key(&self.project, &hash, plan.used.keys().map(String::as_str));
        Ok(StartablePlan { plan, prepared, plan_path, plan_text, inputs, key })
    }
}

pub(crate) fn summary_of(row: &RunRow) -> Option<Summary> {
    row.summary.as_ref().ok().and_then(|bytes| serde_json::from_slice(bytes).ok())
}

/// Statuses of runs that a start may go on with.
pub(crate) fn unfinished_statuses() -> Vec<String> {
    [RunStatus::Running, RunStatus::Paused, RunStatus::Waiting, RunStatus::Interrupted, RunStatus::Failed]
        .map(|status| status.as_str().to_owned())
        .into()
}
