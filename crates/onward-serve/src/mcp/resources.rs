//! Resources: each run, its plan, and its newest checkpoint.

use onward_engine::{Error, ListFilter, Onward};
use rmcp::model::{Resource, ResourceTemplate};
use serde_json::Value;

use super::calls::shown;
use super::server::ServerSetup;

/// Runs that are listed.
const RUNS_MAX: usize = 50;
const JSON: &str = "application/json";

/// The kinds of resources, with the ways in which they are named.
const RUN: &str = "onward://run/";
const CHECKPOINT: &str = "onward://checkpoint/";
const PLAN: &str = "/plan";

/// The newest runs with their plans, and the newest checkpoint.
pub(super) fn listed(setup: &ServerSetup) -> Result<Vec<Resource>, Error> {
    let mut onward = match Onward::look(&setup.from) {
        Err(Error::NoProject { .. }) => return Ok(Vec::new()),
        other => other?,
    };
    let runs = match onward.list(&ListFilter::default()) {
        Err(Error::NoRuns) => Vec::new(),
        other => other?,
    };
    let mut all: Vec<Resource> = Vec::new();
    for item in runs.iter().take(RUNS_MAX) {
        let (run, title) = (item.run.as_str(), item.title.as_str());
        all.push(resource(format!("{RUN}{run}"), run, &format!("{title}: the run as it stands, {}", item.status)));
        all.push(resource(
            format!("{RUN}{run}{PLAN}"),
            &format!("{run} plan"),
            &format!("{title}: the plan of the run"),
        ));
    }
    if let Some((_, log)) = runs.first().and_then(|item| onward.log(Some(item.run.as_str())).ok())
        && let Some(newest) = log.first()
    {
        all.push(resource(format!("{CHECKPOINT}{}", newest.id), newest.id.as_str(), "the newest checkpoint"));
    }
    Ok(all)
}

fn resource(uri: String, name: &str, about: &str) -> Resource {
    Resource::new(uri, name).with_description(about).with_mime_type(JSON)
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |uri: String, name: &str, about: &str| {
        ResourceTemplate::new(uri, name).with_description(about).with_mime_type(JSON)
    };
    vec![
        template(format!("{RUN}{{run}}"), "run", "A run as it stands, with plan, state and checkpoints."),
        template(format!("{RUN}{{run}}{PLAN}"), "plan", "The plan of a run."),
        template(format!("{CHECKPOINT}{{checkpoint}}"), "checkpoint", "A checkpoint in full."),
    ]
}

/// The text of a resource; none where there is no resource of this name.
pub(super) fn read(setup: &ServerSetup, uri: &str) -> Result<Option<Value>, Error> {
    let (id, part) = match (uri.strip_prefix(RUN), uri.strip_prefix(CHECKPOINT)) {
        (Some(rest), _) => rest.strip_suffix(PLAN).map_or((rest, None), |run| (run, Some("plan"))),
        (_, Some(id)) => (id, None),
        (None, None) => return Ok(None),
    };
    match shown(setup, id) {
        Ok(value) => Ok(Some(part.map_or_else(|| value.clone(), |part| value[part].clone()))),
        Err(Error::NoProject { .. } | Error::NoRuns | Error::NoSuchRun(_) | Error::NoSuchCheckpoint(_)) => Ok(None),
        Err(other) => Err(other),
    }
}
