//! `onward load`.

use jiff::Timestamp;
use onward_core::checkpoint::{Checkpoint, saved_form};
use onward_core::exit;
use onward_core::question::{Offer, Question};
use onward_engine::{Error, Onward};

use super::here;
use crate::args;
use crate::failure::Failure;
use crate::prompt::{self, Answerer, ResumeAnswer};
use crate::render::{self, safe};

pub(super) fn load(args: &args::LoadArgs) -> Result<u8, Failure> {
    let checkpoint = Onward::look(&here()?)?.load_saved(&args.kind, args.project.as_deref())?;
    if !args.ask {
        render::answer_json(&saved_form(&checkpoint));
        return Ok(exit::DONE);
    }
    if !Answerer::here().is_person() {
        return Err(wanted(&checkpoint));
    }
    ask(checkpoint, args)
}

/// The question about a saved state; whoever starts anew finds nothing.
fn ask(mut checkpoint: Checkpoint, args: &args::LoadArgs) -> Result<u8, Failure> {
    let mut question = render::question::saved(&checkpoint, Timestamp::now());
    for _ in 0..prompt::TRIES_MAX {
        let Some(answer) = prompt::ask(&question) else { break };
        let answer = prompt::answer(&answer);
        let sure = answer != ResumeAnswer::Delete
            || prompt::ask(&render::question::delete(checkpoint.run.as_str()))
                .is_some_and(|sure| prompt::is_yes(&sure));
        // An answer is about what was shown: a state that was saved while the question stood is asked about itself.
        let now = Onward::look(&here()?)?.load_saved(&args.kind, args.project.as_deref())?;
        if now.id != checkpoint.id {
            checkpoint = now;
            question = format!(
                "\nIt was saved once more meanwhile.\n\n{}",
                render::question::saved(&checkpoint, Timestamp::now())
            );
            continue;
        }
        let nothing = || Error::NothingSaved { kind: args.kind.clone(), project: args.project.clone() };
        match answer {
            ResumeAnswer::Resume => {
                render::answer_json(&saved_form(&checkpoint));
                return Ok(exit::DONE);
            }
            ResumeAnswer::Fresh | ResumeAnswer::Abandon => {
                Onward::work(&here()?)?.archive(&checkpoint.run)?;
                return Err(nothing().into());
            }
            ResumeAnswer::Delete if sure => {
                Onward::work(&here()?)?.delete(checkpoint.run.as_str())?;
                return Err(nothing().into());
            }
            ResumeAnswer::View => {
                let text = serde_json::to_string_pretty(&saved_form(&checkpoint)).unwrap_or_default();
                render::say(&format!("{}\n", safe::block(&text)));
            }
            // A script that gets no state must not take that for one.
            ResumeAnswer::Quit => break,
            ResumeAnswer::Delete
            | ResumeAnswer::Pick
            | ResumeAnswer::Files
            | ResumeAnswer::No
            | ResumeAnswer::Unclear => {}
        }
        render::question::SAVED_CHOICES.clone_into(&mut question);
    }
    Err(wanted(&checkpoint))
}

fn wanted(checkpoint: &Checkpoint) -> Failure {
    let run = &checkpoint.run;
    let choices = vec![
        Offer::new("take it as it is", format!("onward load {} {}", checkpoint.kind, checkpoint.project)),
        Offer::new("look at it", format!("onward show {run}")),
    ];
    let reasons = vec!["a person was to be asked whether to go on with the saved state".to_owned()];
    Failure::answer_needed(Question { reasons, choices, ..Question::new(run.clone()) })
}
