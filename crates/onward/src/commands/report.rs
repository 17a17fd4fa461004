//! `onward report start|progress|done|fail PHASE`: whoever does an external phase says how it stands.

use onward_core::exit;
use onward_core::replan::Because;
use onward_engine::{DoneClaim, Onward, PhaseReport, Proposed, Reported};

use super::here;
use super::next::the_run;
use crate::args::{self, ReportVerb};
use crate::failure::Failure;
use crate::render;

pub(super) fn report(args: &args::ReportArgs) -> Result<u8, Failure> {
    let (about, report) = match &args.what {
        ReportVerb::Start(about) => (about, PhaseReport::Start),
        ReportVerb::Progress(progress) => (&progress.about, PhaseReport::Progress { note: progress.note.clone() }),
        ReportVerb::Done(done) => (&done.about, PhaseReport::Done(claim(done))),
        ReportVerb::Fail(fail) => (&fail.about, PhaseReport::Fail { reason: fail.reason.clone() }),
        ReportVerb::Replan(replan) => return another_plan(replan),
    };
    let mut onward = Onward::work(&here()?)?;
    let reported = onward.report(the_run(about.run.as_deref()).as_deref(), &about.phase, &report, about.complexity)?;
    say(about, &reported, accepted(&report));
    Ok(if reported.accepted { exit::DONE } else { exit::FAILED })
}

fn another_plan(args: &args::ReportReplan) -> Result<u8, Failure> {
    let about = &args.about;
    let mut onward = Onward::work(&here()?)?;
    let run = the_run(about.run.as_deref());
    let reason = args.reason.as_deref().unwrap_or("it gives no reason");
    let (proposed, reported) = onward.report_replan(run.as_deref(), &about.phase, reason, args.plan.as_deref())?;
    say(about, &reported, "has another plan now");
    Ok(match proposed {
        Proposed::Taken => exit::DONE,
        Proposed::Waits => exit::WAITING,
        Proposed::Refused { because: Because::Limit, .. } => exit::REPLAN_LIMIT,
        Proposed::Refused { .. } => exit::FAILED,
    })
}

/// The record of a phase once a report is accepted.
fn accepted(report: &PhaseReport) -> &'static str {
    match report {
        PhaseReport::Start => "is begun",
        PhaseReport::Progress { .. } => "is at work",
        PhaseReport::Done(_) => "is done",
        PhaseReport::Fail { .. } => "is reported as failed",
    }
}

fn say(about: &args::ReportedPhase, reported: &Reported, now: &str) {
    if about.output.json {
        render::answer_json(reported);
    } else if let Some(reason) = &reported.reason {
        render::say(&render::safe::block(&format!("not accepted, the phase stays as it was: {reason}\n")));
    } else {
        render::say(&render::safe::block(&format!("accepted: phase {} {now}\n", about.phase)));
        render::say(&render::external_phases::next(&reported.next));
    }
}

fn claim(done: &args::ReportDone) -> DoneClaim {
    DoneClaim {
        summary: done.summary.clone(),
        artifacts: done.artifact.clone(),
        outputs: done.values.iter().cloned().collect(),
        commit: done.commit.clone(),
        remaining: done.remaining.clone(),
    }
}
