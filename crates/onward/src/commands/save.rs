//! `onward save`.

use std::fs::File;
use std::io::{self, Read, Stdin};
use std::path::Path;

use onward_core::data_limits::{self, STATE_BYTES_MAX};
use onward_core::exit;
use onward_engine::{Error, Onward, patient_io, stop};
use serde_json::{Map, Value, json};

use super::{here, prune};
use crate::args;
use crate::failure::Failure;
use crate::render;

pub(super) fn save(args: &args::SaveArgs) -> Result<u8, Failure> {
    let named = |what: &'static str, name: &str| {
        if name.trim().is_empty() { Err(Failure::from(Error::EmptyName(what))) } else { Ok(()) }
    };
    named("type", &args.kind)?;
    args.project.iter().try_for_each(|project| named("project", project))?;
    let state = object(&args.state)?;
    let project = match args.project.as_deref().or_else(|| state.get("project_name").and_then(Value::as_str)) {
        Some(project) => project.to_owned(),
        None => return Err(Failure::usage("no project is named, and the state has no `project_name`")),
    };
    named("project", &project)?;
    let (run, id) = Onward::work_or_new(&here()?)?.save(&args.kind, &project, state)?;
    if args.output.json {
        render::answer_json(&json!({ "id": id, "run": run }));
    } else {
        render::answer(&format!("{}\n", render::safe::line(id.as_str())));
    }
    prune::housekeep();
    Ok(exit::DONE)
}

/// Stdin, as long as nobody asks for a stop.
struct StoppableStdin(Stdin);

impl Read for StoppableStdin {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if patient_io::is_readable(&self.0) {
            self.0.read(buffer)
        } else {
            Err(io::Error::other("a stop was asked for"))
        }
    }
}

/// A JSON object from a file, or from stdin for `-`; anything else is refused by name.
pub(super) fn object(path: &Path) -> Result<Map<String, Value>, Failure> {
    let refuse = |why: String| Failure::from(Error::NotAnObject { file: path.display().to_string(), why });
    let mut text = Vec::new();
    let read = if path == Path::new("-") {
        StoppableStdin(std::io::stdin()).take(STATE_BYTES_MAX + 1).read_to_end(&mut text)
    } else {
        File::open(path).and_then(|file| file.take(STATE_BYTES_MAX + 1).read_to_end(&mut text))
    };
    read.map_err(|why| match stop::signal() {
        Some(signal) => Error::Stopped { signal }.into(),
        None => refuse(why.to_string()),
    })?;
    if text.len() as u64 > STATE_BYTES_MAX {
        return Err(refuse(format!("it is longer than {STATE_BYTES_MAX} bytes")));
    }
    data_limits::read_object(&text).map_err(|why| refuse(why.to_string()))
}
