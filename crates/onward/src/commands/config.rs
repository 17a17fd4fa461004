//! `onward config`.

use onward_core::exit;
use onward_engine::Onward;
use serde_json::json;

use super::here;
use crate::args;
use crate::failure::Failure;
use crate::render;

pub(super) fn config(args: &args::ConfigArgs) -> Result<u8, Failure> {
    let onward = Onward::look(&here()?)?;
    let values = onward.config.values();
    if args.output.json {
        render::answer_json(&json!({ "values": values, "not_in_force": onward.config.not_in_force() }));
        return Ok(exit::DONE);
    }
    let mut text = String::new();
    for value in &values {
        let origin = if args.origin { format!("   ({})", value.origin) } else { String::new() };
        text.push_str(&render::safe::line(&format!("{} = {}{origin}", value.key, value.value)));
        text.push('\n');
    }
    for value in onward.config.not_in_force() {
        let line = format!("{} = {}   not in force until  onward trust   ({})", value.key, value.value, value.origin);
        text.push_str(&render::safe::line(&line));
        text.push('\n');
    }
    render::answer(&text);
    Ok(exit::DONE)
}
