//! `onward export [RUN]`.

use std::io::IsTerminal;

use onward_core::exit;
use onward_engine::{Error, ExportParts, Onward, Redacted, Snapshots};
use serde_json::json;

use super::{export_as, here, output_file};
use crate::args;
use crate::failure::Failure;
use crate::render;

pub(super) fn export(args: &args::ExportArgs) -> Result<u8, Failure> {
    if let Some(branch) = &args.skeleton {
        return export_as::skeleton(branch, args.output.as_deref());
    }
    if let Some(word) = &args.format {
        return export_as::export_as(word, args);
    }
    if args.output.is_none() && std::io::stdout().is_terminal() {
        return Err(Failure::usage("a run as one file is not for a terminal: name a file with --output"));
    }
    let parts = ExportParts {
        snapshots: if args.with_files { Snapshots::Included } else { Snapshots::LeftOut },
        redacted: redacted(args),
    };
    let exported = Onward::look(&here()?)?.export(args.run.as_deref(), parts)?;
    for note in &exported.notes {
        render::say(&format!("note: {}\n", render::safe::line(note)));
    }
    let Some(path) = &args.output else {
        render::answer_exact(&exported.bytes);
        return Ok(exit::DONE);
    };
    output_file::write(path, &exported.bytes)
        .map_err(|why| Error::Io { what: format!("writing {}", path.display()), why })?;
    if args.form.json {
        render::answer_json(&json!({ "run": exported.run, "output": path, "bytes": exported.bytes.len() }));
        return Ok(exit::DONE);
    }
    let words = format!("run {} is in {} ({} bytes)\n", exported.run, path.display(), exported.bytes.len());
    render::say(&render::safe::block(&words));
    Ok(exit::DONE)
}

pub(super) fn redacted(args: &args::ExportArgs) -> Redacted {
    if args.redact { Redacted::OnceMore } else { Redacted::AsStored }
}
