//! From the words of the command line to the exit code.

use std::ffi::OsString;
use std::path::PathBuf;

use onward_core::exit;
use onward_core::input::Choice;
use onward_engine::{Error, Onward, Result, signals, stop};

use super::{
    approve, archive, bare, check, checkpoint, completions, config, delete, demo, diff, doctor, explain, export, fork,
    graph, hook, import, init, keep, list, load, log, logs, man, mcp, next, pause_and_cancel, plan, prune, report,
    resume, rewind, run, save, schema, share, show, state, status, steer, summary, trust, why,
};
use crate::args::{self, Audience, Cli, KnowledgeVerb, MessageVerb, StateVerb, Typed, Verb};
use crate::failure::{self, Failure};
use crate::not_yet;
use crate::own_log;
use crate::render::failure::{ErrorJson, ErrorLine};
use crate::render::{self, run::ExitLine};

/// Does what was typed and waits until it is written; gives the exit code.
pub(crate) fn perform_and_write(words: &[OsString]) -> u8 {
    let code = perform(words);
    match (render::drain(), stop::signal(), render::not_written()) {
        // Somebody stopped us while we waited for somebody to read.
        (false, Some(signal), _) if code < exit::SIGNALS => failure::code_of(signal),
        (_, _, Some(why)) if code < exit::SIGNALS && code != exit::BUG => {
            let failure = Failure::answer_not_written(why, code);
            render::say(&render::failure::page(&failure));
            render::drain();
            failure.code
        }
        (_, _, _) => code,
    }
}

/// Takes INT, TERM and HUP as a wish to stop, for whatever starts programs or moves files. Without it they end us at once.
pub(super) fn heed_signals() -> Result<()> {
    signals::listen().map_err(|why| Error::Io { what: "preparing for signals".to_owned(), why })?;
    render::write_beside();
    Ok(())
}

fn perform(words: &[OsString]) -> u8 {
    if let Some(code) = completions::completed(words) {
        return code;
    }
    if let Some(entry) = explain::asked_for(words) {
        render::answer(&entry);
        return exit::DONE;
    }
    let reader = args::reader(words);
    failure::is_read_by(reader);
    match args::parse(words) {
        Ok(Typed::Now(cli)) => {
            render::colour::choose(cli.color);
            own_log::tell(cli.verbose);
            dispatch(&cli, reader)
        }
        Ok(Typed::NotYet(later)) => fail(&Failure::from(not_yet::refuse(&later)), reader),
        // An agent's client must not take a word about its own settings for one to the agent.
        Err(error) if error.use_stderr() && args::verb(words).is_some_and(|verb| verb == hook::VERB) => {
            if args::is_verbose(words) {
                render::usage(&error);
            }
            exit::DONE
        }
        Err(error) => {
            render::usage(&error);
            let code = u8::try_from(error.exit_code()).unwrap_or(onward_core::exit::USAGE);
            match reader {
                // Help was asked for.
                Audience::Program | Audience::ProgramOfLines if code == onward_core::exit::DONE => {}
                Audience::Person => {}
                Audience::Program => render::answer_json(&ErrorJson::new(&not_understood(&error))),
                Audience::ProgramOfLines => {
                    render::answer_json(&ErrorLine::new(&not_understood(&error)));
                    render::answer_json(&ExitLine::usage(code));
                }
            }
            code
        }
    }
}

fn dispatch(cli: &Cli, reader: Audience) -> u8 {
    let heeds = cli.verb.as_ref().is_some_and(heeds_signals);
    if let Some(Err(why)) = heeds.then(heed_signals) {
        return fail(&why.into(), reader);
    }
    let done = match &cli.verb {
        None => bare::bare(),
        Some(Verb::Plan(args)) => plan::plan(args),
        Some(Verb::Run(args)) => return run::run(args),
        Some(Verb::Resume(args)) => return resume::resume(args),
        Some(Verb::Demo(args)) => demo::demo(args),
        Some(Verb::Init(args)) => init::init(args),
        Some(Verb::Status(args)) => status::status(args),
        Some(Verb::List(args)) => list::list(args),
        Some(Verb::Log(args)) => log::log(args),
        Some(Verb::Show(args)) => show::show(args),
        Some(Verb::Logs(args)) => logs::logs(args),
        Some(Verb::Why(args)) => why::why(args),
        Some(Verb::Check(args)) => check::check(args),
        Some(Verb::Graph(args)) => graph::graph(args),
        Some(Verb::Summary(args)) => summary::summary(args),
        Some(Verb::Checkpoint(args)) => checkpoint::checkpoint(args),
        Some(Verb::Diff(args)) => diff::diff(args),
        Some(Verb::Rewind(args)) => rewind::rewind(args),
        Some(Verb::Undo(args)) => rewind::undo(args),
        Some(Verb::Fork(args)) => fork::fork(args),
        Some(Verb::Save(args)) => save::save(args),
        Some(Verb::Load(args)) => load::load(args),
        Some(Verb::Import(args)) => import::import(args),
        Some(Verb::Export(args)) => export::export(args),
        Some(Verb::State(args)) => state::state(&args.verb),
        Some(Verb::Brief(args)) => share::brief(args),
        Some(Verb::Message(verb)) => share::message(verb),
        Some(Verb::Team(args)) => share::team(args),
        Some(Verb::Knowledge(verb)) => share::knowledge(verb),
        Some(Verb::Decision(verb)) => share::decision(verb),
        Some(Verb::Conflict(verb)) => share::conflict(verb),
        Some(Verb::Schema(args)) => Ok(schema::schema(args)),
        Some(Verb::Config(args)) => config::config(args),
        Some(Verb::Prune(args)) => prune::prune(args),
        Some(Verb::Completions(args)) => completions::completions(args),
        Some(Verb::Man(args)) => man::man(args),
        Some(Verb::Keep(args)) => keep::keep(args),
        Some(Verb::Doctor(args)) => doctor::doctor(args),
        Some(Verb::Trust(args)) => trust::trust(args),
        Some(Verb::Archive(args)) => archive::archive(args),
        Some(Verb::Delete(args)) => delete::delete(args),
        Some(Verb::Next(args)) => next::next(args),
        Some(Verb::Report(args)) => report::report(args),
        Some(Verb::Approve(args)) => approve::approve(args),
        Some(Verb::Reject(args)) => approve::reject(args),
        Some(Verb::Retry(args)) => steer::steer(args, Choice::Retry, None),
        Some(Verb::Skip(args)) => steer::steer(args, Choice::Skip, None),
        Some(Verb::Adopt(args)) => steer::steer(&args.steer, Choice::Adopt, args.reason.clone()),
        Some(Verb::Mcp(args)) => mcp::mcp(args),
        Some(Verb::Hook(args)) => return hook::heed(hook::HookCall::from_args(args)),
        Some(Verb::Pause(args)) => pause_and_cancel::pause(args),
        Some(Verb::Cancel(args)) => pause_and_cancel::cancel(args),
    };
    done.unwrap_or_else(|failure| fail(&or_lost(failure).or_stopped().in_its_project(), reader))
}

/// A verb that finds nothing looks at the head file and into git first: what was there may be lost, and then that is the answer.
pub(super) fn or_lost(failure: Failure) -> Failure {
    if failure.code != onward_core::exit::NOT_FOUND {
        return failure;
    }
    let onward = here().ok().and_then(|from| Onward::look_or_lost(&from).ok());
    onward.and_then(|mut onward| onward.lost()).map_or(failure, Failure::from)
}

/// Whether a verb starts programs, moves files or leaves something for a driver, and so has something to end, to finish or to
/// take back.
fn heeds_signals(verb: &Verb) -> bool {
    match verb {
        Verb::Plan(_)
        | Verb::Run(_)
        | Verb::Resume(_)
        | Verb::Rewind(_)
        | Verb::Undo(_)
        | Verb::Fork(_)
        | Verb::Checkpoint(_)
        | Verb::Report(_)
        | Verb::Approve(_)
        | Verb::Reject(_)
        | Verb::Retry(_)
        | Verb::Skip(_)
        | Verb::Adopt(_)
        | Verb::Pause(_)
        | Verb::Cancel(_)
        | Verb::Demo(_)
        | Verb::Archive(_)
        | Verb::Import(_)
        | Verb::Decision(_)
        | Verb::Conflict(_)
        | Verb::Save(_) => true,
        Verb::State(args) => matches!(args.verb, StateVerb::Merge(_)),
        Verb::Message(verb) => matches!(verb, MessageVerb::Send(_) | MessageVerb::Ack(_)),
        Verb::Knowledge(verb) => matches!(verb, KnowledgeVerb::Add(_)),
        Verb::Hook(_)
        | Verb::Mcp(_)
        | Verb::Status(_)
        | Verb::List(_)
        | Verb::Log(_)
        | Verb::Show(_)
        | Verb::Logs(_)
        | Verb::Why(_)
        | Verb::Graph(_)
        | Verb::Summary(_)
        | Verb::Diff(_)
        | Verb::Team(_)
        | Verb::Brief(_)
        | Verb::Next(_)
        | Verb::Load(_)
        | Verb::Export(_)
        | Verb::Init(_)
        | Verb::Check(_)
        | Verb::Config(_)
        | Verb::Schema(_)
        | Verb::Keep(_)
        | Verb::Doctor(_)
        | Verb::Trust(_)
        | Verb::Prune(_)
        | Verb::Delete(_)
        | Verb::Man(_)
        | Verb::Completions(_) => false,
    }
}

fn fail(failure: &Failure, reader: Audience) -> u8 {
    if reader == Audience::ProgramOfLines {
        return render::run::RunReporter::new(render::run::Style::Json).failed(failure);
    }
    render::say(&render::failure::page(failure));
    if reader == Audience::Program {
        render::answer_json(&ErrorJson::new(failure));
    }
    failure.code
}

/// The first line says what is wrong; the rest is how it is written.
fn not_understood(error: &clap::Error) -> Failure {
    Failure::usage(render::usage_words(error))
}

/// Where the caller stands.
pub(crate) fn here() -> Result<PathBuf> {
    std::env::current_dir().map_err(|why| Error::Io { what: "looking for the current folder".to_owned(), why })
}
