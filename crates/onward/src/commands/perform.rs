//! From the words of the command line to the exit code.

use std::ffi::OsString;
use std::path::PathBuf;

use onward_core::input::Choice;
use onward_engine::{Error, Result};

use super::{
    bare, check, checkpoint, completions, config, delete, diff, doctor, fork, graph, halt, init, list, load, log, logs,
    prune, resume, rewind, run, save, schema, show, state, status, steer, why,
};
use crate::args::{self, Cli, Color, Typed, Verb};
use crate::failure::{self, Failure};
use crate::later;
use crate::render::{self, run::Exit};

/// Does what was typed; gives the exit code.
pub(crate) fn perform(words: &[OsString]) -> u8 {
    let json_lines = args::wants_json_lines(words);
    if json_lines {
        failure::a_program_reads_lines();
    }
    match args::parse(words) {
        Ok(Typed::Now(cli)) => {
            colour(cli.color);
            dispatch(&cli)
        }
        Ok(Typed::Later(later)) => {
            let failure = Failure::from(later::refuse(&later));
            if json_lines {
                return render::run::Report::new(render::run::Style::Json).failed(&failure);
            }
            fail(&failure)
        }
        Err(error) => {
            render::usage(&error);
            let code = u8::try_from(error.exit_code()).unwrap_or(onward_core::exit::USAGE);
            if json_lines && code != onward_core::exit::DONE {
                render::answer_json(&Exit::usage(code));
            }
            code
        }
    }
}

fn dispatch(cli: &Cli) -> u8 {
    let done = match &cli.verb {
        None => Ok(bare::bare()),
        Some(Verb::Run(args)) => return run::run(args),
        Some(Verb::Resume(args)) => return resume::resume(args),
        Some(Verb::Init(args)) => init::init(args),
        Some(Verb::Status(args)) => status::status(args),
        Some(Verb::List(args)) => list::list(args),
        Some(Verb::Log(args)) => log::log(args),
        Some(Verb::Show(args)) => show::show(args),
        Some(Verb::Logs(args)) => logs::logs(args),
        Some(Verb::Why(args)) => why::why(args),
        Some(Verb::Check(args)) => check::check(args),
        Some(Verb::Graph(args)) => graph::graph(args),
        Some(Verb::Checkpoint(args)) => checkpoint::checkpoint(args),
        Some(Verb::Diff(args)) => diff::diff(args),
        Some(Verb::Rewind(args)) => rewind::rewind(args),
        Some(Verb::Undo(args)) => rewind::undo(args),
        Some(Verb::Fork(args)) => fork::fork(args),
        Some(Verb::Save(args)) => save::save(args),
        Some(Verb::Load(args)) => load::load(args),
        Some(Verb::State(args)) => state::state(&args.verb),
        Some(Verb::Schema(args)) => Ok(schema::schema(args)),
        Some(Verb::Config(args)) => config::config(args),
        Some(Verb::Prune(args)) => prune::prune(args),
        Some(Verb::Completions(args)) => Ok(completions::completions(args)),
        Some(Verb::Doctor(args)) => doctor::doctor(args),
        Some(Verb::Delete(args)) => delete::delete(args),
        Some(Verb::Retry(args)) => steer::steer(args, Choice::Retry),
        Some(Verb::Skip(args)) => steer::steer(args, Choice::Skip),
        Some(Verb::Adopt(args)) => steer::steer(args, Choice::Adopt),
        Some(Verb::Pause(args)) => halt::pause(args),
        Some(Verb::Cancel(args)) => halt::cancel(args),
    };
    done.unwrap_or_else(|failure| fail(&failure))
}

fn fail(failure: &Failure) -> u8 {
    render::say(&render::failure::page(failure));
    failure.code
}

/// Where the caller stands.
pub(crate) fn here() -> Result<PathBuf> {
    std::env::current_dir().map_err(|why| Error::Io { what: "looking for the current folder".to_owned(), why })
}

/// `NO_COLOR`, `CLICOLOR_FORCE` and the kind of the terminal decide unless the flag does.
fn colour(when: Color) {
    match when {
        Color::Auto => {}
        Color::Always => anstream::ColorChoice::Always.write_global(),
        Color::Never => anstream::ColorChoice::Never.write_global(),
    }
}
