//! `onward man [VERB]`.

use clap::CommandFactory;
use clap_mangen::Man;
use onward_core::exit;
use onward_engine::Error;
use serde_json::json;

use crate::args;
use crate::failure::Failure;
use crate::render;

pub(super) fn man(args: &args::ManArgs) -> Result<u8, Failure> {
    // What is not here yet has no page.
    let mut command = args::Cli::command();
    command.build();
    let page = match &args.verb {
        None => command,
        Some(verb) => match command.find_subcommand(verb) {
            Some(found) => found.clone().display_name(format!("onward-{verb}")),
            None => return Err(Failure::usage(format!("no verb is called {verb}")).and_next("onward help")),
        },
    };
    let mut text = Vec::new();
    let written = Man::new(page).manual("onward").render(&mut text);
    written.map_err(|why| Error::Io { what: "writing the page".to_owned(), why })?;
    if args.output.json {
        render::answer_json(&json!({ "verb": args.verb, "page": String::from_utf8_lossy(&text) }));
    } else {
        render::answer_bytes(&text);
    }
    Ok(exit::DONE)
}
