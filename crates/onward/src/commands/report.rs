//! `onward report start|progress|done|fail PHASE`: whoever does an external phase says how it stands.

use onward_core::exit;
use onward_engine::{Done, Error, Onward, Report};

use super::here;
use super::next::the_run;
use crate::args::people::{self, What};
use crate::failure::Failure;
use crate::render;

pub(super) fn report(args: &people::Report) -> Result<u8, Failure> {
    let (about, report) = match &args.what {
        What::Start(about) => (about, Report::Start),
        What::Progress(progress) => (&progress.about, Report::Progress { note: progress.note.clone() }),
        What::Done(done) => (&done.about, Report::Done(claim(done))),
        What::Fail(fail) => (&fail.about, Report::Fail { reason: fail.reason.clone() }),
        What::Replan(_) => {
            return Err(Error::NotYet("this version has no `onward report replan` yet".to_owned()).into());
        }
    };
    let mut onward = Onward::work(&here()?)?;
    let reported = onward.report(the_run(about.run.as_deref()).as_deref(), &about.phase, &report)?;
    if about.output.json {
        render::answer_json(&reported);
    } else if let Some(reason) = &reported.reason {
        render::say(&render::safe::block(&format!("not accepted, the phase stays as it was: {reason}\n")));
    } else {
        render::say(&render::people::next(&reported.next));
    }
    Ok(if reported.accepted { exit::DONE } else { exit::FAILED })
}

fn claim(done: &people::Done) -> Done {
    Done {
        summary: done.summary.clone(),
        artifacts: done.artifact.clone(),
        outputs: done.values.iter().cloned().collect(),
        commit: done.commit.clone(),
        remaining: done.remaining.clone(),
    }
}
