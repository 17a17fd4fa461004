//! `onward logs [RUN] [PHASE]`: what the phases printed, byte for byte where a program reads it; `-f` while they print it.

use std::io::Read;
use std::time::Duration;

use onward_core::exit;
use onward_engine::{Error, Logged, Onward};
use serde_json::{Value, json};

use super::here;
use crate::args;
use crate::failure::Failure;
use crate::render::follow::{FollowedForm, FollowedLines, Names};
use crate::render::{self, Readership};

/// How often output is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// More of one attempt is not put into a JSON object; `logs` without `--json` has it all.
const OUTPUT_BYTES_MAX: u64 = 8 << 20;

pub(super) fn logs(args: &args::LogsArgs) -> Result<u8, Failure> {
    let mut onward = Onward::look(&here()?)?;
    let (run, phase) = match (args.run.as_deref(), args.phase.as_deref()) {
        // One word is a phase of the run that is meant where it has one of that name, else a run.
        (Some(word), None) if onward.has_phase(None, word)? => (None, Some(word)),
        (Some(word), None) if matches!(onward.find_run(Some(word)), Err(Error::NoSuchRun(_))) => {
            return Err(Error::NoRunOrPhase(word.to_owned()).into());
        }
        named => named,
    };
    if args.follow {
        return follow(&mut onward, (run, phase), args);
    }
    let attempts = onward.logs(run, phase)?;
    if args.output.json {
        let all = attempts.into_iter().map(as_json).collect::<Result<Vec<_>, _>>()?;
        render::answer_json(&json!({ "logs": all }));
        return Ok(exit::DONE);
    }
    let pieces: usize = attempts.iter().map(|logged| 1 + usize::from(logged.checks.is_some())).sum();
    for Logged { phase, attempt, output, checks } in attempts {
        let output = std::iter::once(("", Box::new(output) as Box<dyn Read>));
        let checks = checks.map(|checks| (", its checks", Box::new(checks) as Box<dyn Read>));
        for (what, bytes) in output.chain(checks) {
            let header = format!("== {} attempt {attempt}{what} ==\n", render::safe::line(phase.as_str()));
            if pieces > 1 {
                render::answer(&header);
            } else {
                render::say(&header);
            }
            if render::copy(bytes).map_err(cannot_read)? == Readership::NobodyReads {
                return Ok(exit::DONE);
            }
        }
    }
    Ok(exit::DONE)
}

/// Shows what is printed until nobody is at work any more, or nobody reads it.
fn follow(
    onward: &mut Onward,
    (run, phase): (Option<&str>, Option<&str>),
    args: &args::LogsArgs,
) -> Result<u8, Failure> {
    let mut followed = onward.follow(run, phase)?;
    let names = if phase.is_some() { Names::LeftOut } else { Names::InFront };
    let mut lines = FollowedLines::new(if args.output.json { FollowedForm::Json } else { FollowedForm::Text(names) });
    while let Some(printed) = onward.printed(&mut followed)? {
        if lines.show(&printed) == Readership::NobodyReads {
            return Ok(exit::DONE);
        }
        if printed.is_empty() {
            std::thread::sleep(LOOK_EVERY);
        }
    }
    lines.end();
    Ok(exit::DONE)
}

fn as_json(logged: Logged) -> Result<Value, Error> {
    let text = |from: &mut dyn Read| {
        let mut bytes = Vec::new();
        from.take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes).map_err(cannot_read)?;
        Ok::<_, Error>(String::from_utf8_lossy(&bytes).into_owned())
    };
    let Logged { phase, attempt, mut output, checks } = logged;
    let checks = checks.map(|mut checks| text(&mut checks)).transpose()?;
    Ok(json!({ "phase": phase, "attempt": attempt, "output": text(&mut output)?, "checks": checks }))
}

fn cannot_read(why: std::io::Error) -> Error {
    Error::Io { what: "reading what a phase printed".to_owned(), why }
}
