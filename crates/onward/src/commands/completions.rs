//! `onward completions SHELL`, and the question of a shell what could come next.

use std::ffi::OsString;
use std::path::Path;

use clap::CommandFactory;
use clap_complete::env::Shells;
use onward_core::exit;
use onward_engine::Error;
use serde_json::json;

use super::here;
use crate::args;
use crate::failure::Failure;
use crate::render;

/// The variable in which the script names its shell when it asks.
const ASKED_BY: &str = "ONWARD_COMPLETE";

const NAME: &str = "onward";

/// Prints the script that a shell reads once; it asks this program for every word.
pub(super) fn completions(args: &args::CompletionsArgs) -> Result<u8, Failure> {
    let shells = Shells::builtins();
    let shell = shells.completer(&args.shell.to_string()).expect("every shell that can be named has a script");
    let mut script = Vec::new();
    shell.write_registration(ASKED_BY, NAME, NAME, NAME, &mut script).map_err(failed)?;
    if args.output.json {
        let script = String::from_utf8_lossy(&script);
        render::answer_json(&json!({ "shell": args.shell.to_string(), "script": script }));
    } else {
        render::answer_bytes(&script);
    }
    Ok(exit::DONE)
}

/// The answer to such a script, where it is one that asks. A shell has no place for an error, so there is none.
pub(super) fn completed(words: &[OsString]) -> Option<u8> {
    let shells = Shells::builtins();
    let asked_by = std::env::var_os(ASKED_BY).filter(|by| !by.is_empty())?;
    let shell = shells.completer(&Path::new(&asked_by).file_stem()?.to_string_lossy())?;
    let typed = words.iter().skip_while(|word| *word != "--").skip(1).cloned().collect();
    let mut command = args::offered(args::Cli::command());
    command.build();
    let mut candidates = Vec::new();
    let _ = shell.write_complete(&mut command, typed, here().ok().as_deref(), &mut candidates);
    render::answer_bytes(&candidates);
    Some(exit::DONE)
}

fn failed(why: std::io::Error) -> Failure {
    Error::Io { what: "writing the script".to_owned(), why }.into()
}
