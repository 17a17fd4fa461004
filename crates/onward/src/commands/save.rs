//! `onward save`.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use onward_core::data_limits::{self, STATE_BYTES_MAX};
use onward_core::exit;
use onward_engine::{Error, Onward};
use serde_json::{Map, Value, json};

use super::here;
use crate::args;
use crate::failure::Failure;
use crate::render;

pub(super) fn save(args: &args::Save) -> Result<u8, Failure> {
    for (what, name) in [("type", &args.kind), ("project", &args.project)] {
        if name.trim().is_empty() {
            return Err(Error::EmptyName(what).into());
        }
    }
    let state = object(&args.state)?;
    let (run, id) = Onward::work_or_new(&here()?)?.save(&args.kind, &args.project, state)?;
    if args.output.json {
        render::answer_json(&json!({ "id": id, "run": run }));
    } else {
        render::answer(&format!("{}\n", render::safe::line(id.as_str())));
    }
    Ok(exit::DONE)
}

/// A JSON object from a file, or from stdin for `-`; anything else is refused by name.
pub(super) fn object(path: &Path) -> Result<Map<String, Value>, Failure> {
    let refuse = |why: String| Failure::from(Error::NotAnObject { file: path.display().to_string(), why });
    let mut text = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().take(STATE_BYTES_MAX + 1).read_to_end(&mut text)
    } else {
        File::open(path).and_then(|file| file.take(STATE_BYTES_MAX + 1).read_to_end(&mut text))
    };
    read.map_err(|why| refuse(why.to_string()))?;
    if text.len() as u64 > STATE_BYTES_MAX {
        return Err(refuse(format!("it is longer than {STATE_BYTES_MAX} bytes")));
    }
    data_limits::read_object(&text).map_err(|why| refuse(why.to_string()))
}
