//! `onward logs RUN [PHASE]`: what the phases printed, byte for byte where a program reads it.

use std::io::Read;

use onward_core::exit;
use onward_engine::{Error, Onward};
use serde_json::json;

use super::here;
use crate::args;
use crate::failure::Failure;
use crate::render::{self, Copied};

/// More of one attempt is not put into a JSON object; `logs` without `--json` has it all.
const OUTPUT_BYTES_MAX: u64 = 8 << 20;

pub(super) fn logs(args: &args::Logs) -> Result<u8, Failure> {
    let attempts = Onward::look(&here()?)?.logs(Some(&args.run), args.phase.as_deref())?;
    let cannot_read = |why| Error::Io { what: "reading what a phase printed".to_owned(), why };
    if args.output.json {
        let mut all = Vec::new();
        for (phase, attempt, output) in attempts {
            let mut bytes = Vec::new();
            output.take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes).map_err(cannot_read)?;
            all.push(json!({ "phase": phase, "attempt": attempt, "output": String::from_utf8_lossy(&bytes) }));
        }
        render::answer_json(&json!({ "logs": all }));
        return Ok(exit::DONE);
    }
    let several = attempts.len() > 1;
    for (phase, attempt, output) in attempts {
        let header = format!("== {} attempt {attempt} ==\n", render::safe::line(phase.as_str()));
        if several {
            render::answer(&header);
        } else {
            render::say(&header);
        }
        if render::copy(output).map_err(cannot_read)? == Copied::NobodyReads {
            break;
        }
    }
    Ok(exit::DONE)
}
