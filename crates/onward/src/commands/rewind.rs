//! `onward rewind CHECKPOINT` and `onward undo`.

use onward_core::exit;
use onward_engine::{Onward, Preview, RewindParts, Rewound, WorkSince};
use serde_json::json;

use super::here;
use super::start::say_notes;
use crate::args::{self, AnswerForm};
use crate::failure::Failure;
use crate::prompt::{self, Answerer};
use crate::render;

pub(super) fn rewind(args: &args::RewindArgs) -> Result<u8, Failure> {
    let parts = match (args.state_only, args.files_only) {
        (true, _) => RewindParts::State,
        (_, true) => RewindParts::Files,
        (false, false) => RewindParts::Both,
    };
    let mut onward = Onward::work(&here()?)?;
    let somebody = !args.yes && !args.output.json && Answerer::here().is_person();
    let mut ask = |preview: &Preview| Ok(ask(preview));
    let said = onward.notices.len();
    let rewound = onward.rewind(&args.checkpoint, parts, if somebody { Some(&mut ask) } else { None });
    // Also where nothing else came of it.
    say_notes(&onward.notices[said..]);
    tell(&rewound?, args.output.form());
    Ok(exit::DONE)
}

pub(super) fn undo(args: &args::UndoArgs) -> Result<u8, Failure> {
    let mut onward = Onward::work(&here()?)?;
    let said = onward.notices.len();
    let somebody = !args.output.json && Answerer::here().is_person();
    let mut ask = |preview: &Preview| Ok(ask(preview));
    let work_since = match somebody {
        _ if args.yes => WorkSince::TakenBack,
        true => WorkSince::Ask(&mut ask),
        false => WorkSince::Refused,
    };
    let rewound = onward.undo(args.run.as_deref(), work_since);
    say_notes(&onward.notices[said..]);
    tell(&rewound?, args.output.form());
    Ok(exit::DONE)
}

fn ask(preview: &Preview) -> bool {
    let question = render::vcs::preview(preview);
    prompt::ask(&question).is_some_and(|answer| prompt::is_yes(&answer))
}

fn tell(rewound: &Rewound, form: AnswerForm) {
    match rewound {
        Rewound::Done { run, to, before, without_files, .. } if form == AnswerForm::Json => {
            render::answer_json(&json!({ "run": run, "to": to, "before": before, "without_files": without_files }));
        }
        Rewound::Done { .. } | Rewound::Declined => {
            render::say(&render::vcs::rewound(rewound, render::vcs::Then::Stays));
        }
    }
}
