//! `onward schema [NAME]`.

use clap::ValueEnum;
use onward_core::exit;
use serde_json::json;

use crate::args::{self, SchemaName};
use crate::render;
use crate::schema;

pub(super) fn schema(args: &args::SchemaArgs) -> u8 {
    if let Some(name) = args.name {
        render::answer_bytes(schema::written(name).as_bytes());
        return exit::DONE;
    }
    let values = SchemaName::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    let names: Vec<String> = values.map(|value| value.get_name().to_owned()).collect();
    if args.output.json {
        render::answer_json(&json!({ "schemas": names }));
    } else {
        render::answer(&format!("{}\n", names.join("\n")));
    }
    exit::DONE
}
