//! `onward trust`.

use std::fmt::Write as _;

use onward_core::exit;
use onward_engine::{Onward, Trusted};
use serde_json::json;

use super::{here, person_only};
use crate::args;
use crate::failure::Failure;
use crate::render;

pub(super) fn trust(args: &args::TrustArgs) -> Result<u8, Failure> {
    person_only::refuse("trusted")?;
    let done = Onward::trust(&here()?)?;
    if args.output.json {
        let was = if done.doubt.is_some() { "untrusted" } else { "trusted" };
        let folder = done.folder.display().to_string();
        render::answer_json(&json!({
            "store": folder, "was": was, "runs": done.runs, "unfinished": done.unfinished, "aside": done.aside,
            "settings": done.settings.iter().map(|(key, origin)| json!({ "key": key, "origin": origin })).collect::<Vec<_>>(),
        }));
    } else {
        render::say(&render::safe::block(&words(&done)));
    }
    Ok(exit::DONE)
}

fn words(done: &Trusted) -> String {
    let folder = done.folder.display();
    let mut text = String::new();
    for (key, origin) in &done.settings {
        let _ = writeln!(text, "{origin}: {key} is in force from now on, until the file sets it otherwise");
    }
    if done.doubt.is_none() {
        return if text.is_empty() { format!("{folder} is yours already\n") } else { text };
    }
    let _ = writeln!(
        text,
        "{folder} is taken for yours from now on; runs in it: {}, unfinished: {}",
        done.runs, done.unfinished
    );
    if done.unfinished > 0 {
        text.push_str("run and resume execute the plan that is stored in a run: look at it with  onward show @\n");
    }
    if let Some(aside) = &done.aside {
        let _ = writeln!(
            text,
            "the private git folder was not made here; it is in {aside}, a new one is made when it is needed"
        );
    }
    text
}
