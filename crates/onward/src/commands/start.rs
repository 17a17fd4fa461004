//! The common part of `run` and `resume`: find, ask where something is to be asked, drive, say how it ended.

use std::path::PathBuf;

use onward_core::event::StopReason;
use onward_core::exit;
use onward_core::id::{PhaseId, RunId};
use onward_core::input::{Choice, Resumption};
use onward_core::question;
use onward_core::replan::ReplanLimits;
use onward_core::resume::Accept;
use onward_core::run::Ending;
use onward_core::view::{RunQuery, WillRun};
use onward_engine::{
    After, Awake, Error, Finished, Going, Onward, Ready, Request, RewindParts, Rewound, StartFound, Want, stop,
};
use serde_json::json;

use super::after_failure::{self, Decided};
use super::ask::{self, Said, Settled};
use super::ask_approval;
use super::detach;
use super::foreign;
use super::plan::{self, FirstPlanFate};
use super::steer::refuse_inside_a_phase;
use super::{here, or_lost, person_only, prune, replan};
use crate::args;
use crate::failure::{Failure, elsewhere};
use crate::prompt::Answerer;
use crate::render;
use crate::render::run::{Resumable, RunReporter, Style};

pub(super) fn start(want: Want, plan: Option<PathBuf>, args: &args::StartArgs) -> u8 {
    start_of((RunQuery::default(), After::Nothing), want, plan, args)
}

/// The same for runs that are named by what they are about.
pub(super) fn start_of(
    (query, after): (RunQuery, After),
    want: Want,
    plan: Option<PathBuf>,
    args: &args::StartArgs,
) -> u8 {
    let style = match (args.json, args.quiet) {
        (true, _) => Style::Json,
        (false, true) => Style::Quiet,
        (false, false) => Style::Text,
    };
    if args.detach && args.detach_to.is_none() {
        return detach::detach(style);
    }
    let mut report = RunReporter::new(style);
    if let Some(Err(why)) = args.detach_to.map(|fd| report.will_let_go_of_the_terminal(fd)) {
        return report.failed(&why.into());
    }
    let ended = request(want, plan, args).and_then(|request| {
        let request = Request { query, after, ..request };
        if args.dry_run { dry_run(&request, style) } else { perform(request, args, &mut report) }
    });
    if ended.is_ok() && !args.dry_run && stop::signal().is_none() {
        prune::housekeep();
    }
    ended.unwrap_or_else(|failure| {
        let failure = or_lost(failure).or_stopped().while_driving(report.driven()).in_its_project();
        report.failed(&failure)
    })
}

fn perform(mut request: Request, args: &args::StartArgs, report: &mut RunReporter) -> Result<u8, Failure> {
    let from = here()?;
    let mut onward = match &request.want {
        Want::ResumeRun(_) => Onward::work(&from)?,
        Want::Plain | Want::Resume(_) | Want::Fresh => Onward::work_or_new(&from)?,
    };
    if !args.quiet {
        say_notes(&elsewhere().into_iter().collect::<Vec<_>>());
        say_notes(&onward.notices);
        render::say(&render::foreign_work::line(&onward.project.left_by_others()));
    }
    let ended = match onward.end_rewinds() {
        // What is damaged has a way out, which is asked about below.
        Err(why) if request.want == Want::Fresh && why.is_damage() => Vec::new(),
        other => other?,
    };
    say_notes(&ended);
    let answerer = if args.no_input { Answerer::Nobody } else { Answerer::here() };
    let said = onward.notices.len();
    let Some(name) = &request.checkpoint else { return go_on(onward, request, args, said, answerer, report) };
    // Names and `@` may mean another one once something has happened.
    request.checkpoint = Some(onward.checkpoint_meant(&request, name)?.to_string());
    let request = go_back(&mut onward, request, answerer)?;
    go_on(onward, request, args, said, answerer, report).map_err(Failure::after_a_rewind)
}

/// Finds what is unfinished, asks about it where that is needed, and drives it.
fn go_on(
    mut onward: Onward,
    mut request: Request,
    args: &args::StartArgs,
    said: usize,
    answerer: Answerer,
    report: &mut RunReporter,
) -> Result<u8, Failure> {
    let Some(found) = find(&mut onward, &request, args, answerer)? else { return Ok(exit::DONE) };
    if !args.quiet {
        say_notes(&onward.notices[said..]);
    }
    let mut found = found;
    if answerer.is_person()
        && let Some(meant) = ask::which_run(&request, &found)?
    {
        match meant {
            ask::Meant::Run(run) => {
                found.unfinished.retain(|one| one.run.id == run);
                if request.want != Want::Plain {
                    request.want = Want::Resume(Some(run.to_string()));
                }
            }
            ask::Meant::Fresh => request.want = Want::Fresh,
            ask::Meant::None(run) => {
                report.left(&run, Resumable::Yes, "everything is left as it is\n");
                return Ok(exit::DONE);
            }
        }
    }
    request = onward.by_id(request, &found);
    if answerer.is_person() && request.want == Want::Plain {
        match foreign::ask(&mut onward)? {
            Some(run) => {
                request.want = Want::ResumeRun(Some(run.to_string()));
                let found = onward.find(&request)?;
                return drive(onward, request, found, answerer, report);
            }
            None => stop::demand_none()?,
        }
    }
    if let Some(one) = ask::open_question(&request, &found) {
        if args.yes {
            request.want = Want::Resume(Some(one.run.id.to_string()));
        } else if answerer.is_person() {
            let this = Want::Resume(Some(one.run.id.to_string()));
            match ask::about(&mut onward, &request, &found, one)? {
                Said::Resume => request.want = this,
                Said::From(phase) => (request.want, request.from) = (this, Some(phase)),
                Said::Fresh => {
                    request.want = Want::Fresh;
                    // All unfinished runs of this work are archived, also those that were not asked about.
                    found = onward.find(&request)?;
                }
                Said::Left { run, resumable, words } => {
                    report.left(&run, resumable, &words);
                    return Ok(exit::DONE);
                }
            }
        }
    }
    let _awake = args.keep_awake.then(|| kept_awake(args)).flatten();
    drive(onward, request, found, answerer, report)
}

/// The unfinished work, after a damaged store was seen to and a missing plan was written; none where a person does not want that plan.
fn find(
    onward: &mut Onward,
    request: &Request,
    args: &args::StartArgs,
    answerer: Answerer,
) -> Result<Option<StartFound>, Failure> {
    match onward.find(request) {
        Err(why) if request.want == Want::Fresh && why.is_damage() => {
            ask::way_out(onward, why, args.damaged, answerer)?;
        }
        Err(why @ Error::NoPlan { .. }) if answerer.is_person() && !args.json => {
            let no_plan = Failure::from(why);
            match plan::first(&no_plan)? {
                FirstPlanFate::Saved => {}
                FirstPlanFate::Declined => return Ok(None),
                FirstPlanFate::NoTask => return Err(no_plan),
            }
        }
        other => return Ok(Some(other?)),
    }
    Ok(Some(onward.find(request)?))
}

/// The machine does not go to sleep as long as this is held; where that cannot be had, a note says why.
fn kept_awake(args: &args::StartArgs) -> Option<Awake> {
    match Awake::keep("a run is at work") {
        Ok(awake) => Some(awake),
        Err(why) => {
            if !args.quiet {
                say_notes(&[format!("the machine may go to sleep: {why}")]);
            }
            None
        }
    }
}

pub(super) fn say_notes(notes: &[String]) {
    for note in notes {
        render::say(&format!("note: {}\n", render::safe::line(note)));
    }
}

/// The run is judged as it would stand at the checkpoint, and asked about like any other; only then is it brought back. What is
/// there now is kept first, so it can be taken back.
fn go_back(onward: &mut Onward, request: Request, answerer: Answerer) -> Result<Request, Failure> {
    let found = onward.find(&request)?;
    let request = onward.by_id(request, &found);
    let Settled { mut request, .. } = ask::settle(onward, request, found, answerer)?;
    let checkpoint = request.checkpoint.take().expect("the caller has seen it");
    let said = onward.notices.len();
    let rewound = onward.rewind(&checkpoint, RewindParts::Both, None);
    say_notes(&onward.notices.split_off(said));
    let rewound = rewound?;
    render::say(&render::vcs::rewound(&rewound, render::vcs::Then::GoesOn));
    match rewound {
        Rewound::Done { run, .. } => Ok(Request { want: Want::ResumeRun(Some(run.to_string())), ..request }),
        Rewound::Declined => unreachable!("nobody was asked"),
    }
}

fn drive(
    mut onward: Onward,
    request: Request,
    found: StartFound,
    answerer: Answerer,
    report: &mut RunReporter,
) -> Result<u8, Failure> {
    let Settled { mut request, found, ready } = ask::settle(&mut onward, request, found, answerer)?;
    person_only::refuse_start(&request, &found, &ready)?;
    let answerer = if report.is_detached_in(&onward.project) { Answerer::Nobody } else { answerer };
    let approver = ask_approval::approver(answerer);
    let mut finished = match ready {
        Ready::Start => onward.start(&request, found, report)?,
        Ready::GoOn(going) => onward.go_on(&going, &request, report)?,
        Ready::Complete(run) => {
            report.left(&run, Resumable::No, &nothing_left(&run));
            return Ok(exit::DONE);
        }
    };
    loop {
        let choices = match finished.ending {
            Ending::Stopped(StopReason::Question) if finished.run.in_doubt().next().is_some() => {
                let question = question::of_doubts(&finished.run);
                let said = if answerer.is_person() { ask::about_doubts(&question) } else { None };
                let Some(choices) = said else { return Err(Failure::stopped_for_an_answer(question)) };
                choices
            }
            Ending::Stopped(StopReason::Question) if !(answerer.is_person() && question::asks(&finished.run)) => {
                return Err(replan::failure(&finished.run));
            }
            Ending::Failed | Ending::Stopped(StopReason::Question) if answerer.is_person() => {
                let decided = after_failure::ask(&mut onward, &finished.run);
                if let Some(signal) = stop::signal() {
                    return Err(Failure::stopped_at_a_question(&finished.run.id, signal));
                }
                // A person was there: what is left open now is a failure, and not the lack of an answer.
                finished.ending = Ending::Failed;
                match decided {
                    Decided::Choices(choices) => choices,
                    Decided::Abort => {
                        onward.archive(&finished.run.id)?;
                        finished.run = onward.load(&finished.run.id)?;
                        return Ok(report.finished(&finished));
                    }
                    Decided::Quit => return Ok(report.finished(&finished)),
                }
            }
            // Nothing else is at work, and a person is there.
            Ending::Stopped(StopReason::Waiting) if approver.is_person() => {
                let decided = ask_approval::ask(&mut onward, &finished.run)?;
                if let Some(signal) = stop::signal() {
                    return Err(Failure::stopped_at_a_question(&finished.run.id, signal));
                }
                if !decided {
                    return Ok(report.finished(&finished));
                }
                if let Some(over) = put_away_meanwhile(&mut onward, &finished.run.id)? {
                    return Ok(report.finished(&over));
                }
                Vec::new()
            }
            Ending::Completed | Ending::Failed | Ending::Stopped(_) => return Ok(report.finished(&finished)),
        };
        let run = finished.run.id.clone();
        // An answer about one phase is none about others that failed.
        let want = if choices.is_empty() { Want::Plain } else { Want::ResumeRun(Some(run.to_string())) };
        request = Request { want, choices, from: None, only: request.only.take(), ..request };
        let only = request.only.as_deref().map(PhaseId::new);
        let going = Going { run, resumption: Resumption { only, ..Resumption::default() } };
        finished = onward.go_on(&going, &request, report)?;
    }
}

/// The run as somebody else left it while a person was asked about it, where nothing is to be started then.
fn put_away_meanwhile(onward: &mut Onward, id: &RunId) -> Result<Option<Finished>, Failure> {
    let run = onward.load(id)?;
    let ending = match run.ending() {
        _ if run.archived => Some(Ending::Stopped(StopReason::Cancel)),
        Some(halted @ Ending::Stopped(StopReason::Pause)) => Some(halted),
        Some(_) | None => None,
    };
    Ok(ending.map(|ending| Finished { run, ending }))
}

fn nothing_left(run: &RunId) -> String {
    format!("run {} is complete, nothing is left to do\n", render::safe::line(run.as_str()))
}

/// Turns the arguments into a request to the engine.
fn request(want: Want, plan: Option<PathBuf>, args: &args::StartArgs) -> Result<Request, Failure> {
    // Who names a checkpoint wants to go on from there, whatever the verb.
    let want = match want {
        Want::Plain | Want::Fresh if args.checkpoint.is_some() => Want::ResumeRun(None),
        other => other,
    };
    Ok(Request {
        want,
        plan,
        checkpoint: args.checkpoint.clone(),
        inputs: args.input.iter().cloned().collect(),
        choices: choices(args)?,
        orphans: args.orphan.map(Into::into),
        jobs: args.jobs,
        plan_from: args.plan_from.into(),
        accept_stale: if args.accept_stale { Accept::Yes } else { Accept::No },
        from: named(args.from.as_deref())?,
        only: named(args.only.as_deref())?,
        replan_limits: if args.force_replan { ReplanLimits::Waived } else { ReplanLimits::Hold },
        wait_limit: args.wait_limit,
        deadline: args.deadline,
        budget_nano_usd: args.budget,
        agent: args.agent.clone(),
        after: After::Nothing,
        query: RunQuery::default(),
    })
}

fn named(phase: Option<&str>) -> Result<Option<String>, Failure> {
    match phase {
        Some("") => Err(Error::EmptyName("phase").into()),
        other => Ok(other.map(str::to_owned)),
    }
}

fn choices(args: &args::StartArgs) -> Result<Vec<(String, Choice)>, Failure> {
    let mut choices: Vec<(String, Choice)> = Vec::new();
    for text in &args.retry {
        let (phase, choice) = retried(text)?;
        choices.push((phase.to_owned(), choice));
    }
    choices.extend(args.adopt.iter().map(|phase| (phase.clone(), Choice::Adopt)));
    choices.extend(args.skip.iter().map(|phase| (phase.clone(), Choice::Skip)));
    for (index, (phase, choice)) in choices.iter().enumerate() {
        refuse_inside_a_phase(*choice)?;
        if phase.is_empty() {
            return Err(Error::EmptyName("phase").into());
        }
        if choices[..index].iter().any(|(other, chosen)| other == phase && chosen != choice) {
            return Err(Failure::usage(format!("phase {phase} is given two different answers")));
        }
    }
    choices.dedup();
    Ok(choices)
}

/// `--retry PHASE[=keep|clean]`.
fn retried(text: &str) -> Result<(&str, Choice), Failure> {
    match text.rsplit_once('=') {
        None => Ok((text, Choice::Retry)),
        Some((phase, "keep")) => Ok((phase, Choice::Retry)),
        Some((phase, "clean")) => Ok((phase, Choice::RetryClean)),
        Some((_, how)) => Err(Failure::usage(format!("--retry takes PHASE, PHASE=keep or PHASE=clean, not {how}"))),
    }
}

/// Prints which phases would run and why. Nothing is written, and nothing that would be asked is asked.
fn dry_run(request: &Request, style: Style) -> Result<u8, Failure> {
    let from = here()?;
    let mut onward = match &request.want {
        Want::ResumeRun(_) => Onward::look(&from)?,
        Want::Plain | Want::Resume(_) | Want::Fresh => Onward::look_or_new(&from)?,
    };
    if let Some(words) = onward.doubt_in_words() {
        render::say(&format!("note: {}\n", render::safe::line(&words)));
    }
    let found = onward.find(request)?;
    let request = &onward.by_id(request.clone(), &found);
    let all = onward.would_do(request, &found)?;
    let notes = onward.notes_of_unended_rewinds();
    let notes: Vec<String> = notes.into_iter().chain(onward.told_requirements(request, &found)?).collect();
    say_notes(&notes);
    if style == Style::Json {
        let phases: Vec<_> = all
            .iter()
            .map(|why| json!({ "id": why.phase, "will_run": why.will_run, "reason": why.reasons.join("; ") }))
            .collect();
        render::answer_json(&json!({ "phases": phases, "notes": notes }));
    } else {
        render::answer(&all.iter().map(would).collect::<String>());
    }
    Ok(exit::DONE)
}

fn would(why: &WillRun) -> String {
    let (phase, reasons) = (render::safe::line(why.phase.as_str()), render::safe::line(&why.reasons.join("; ")));
    let sign = if why.will_run { render::paint::busy("▸") } else { render::paint::dim("-") };
    format!("{sign} {phase}  {}: {reasons}\n", if why.will_run { "runs" } else { "does not run" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_may_say_what_happens_to_the_files() {
        assert_eq!(retried("b"), Ok(("b", Choice::Retry)));
        assert_eq!(retried("b=keep"), Ok(("b", Choice::Retry)));
        assert_eq!(retried("b=clean"), Ok(("b", Choice::RetryClean)));
        assert_eq!(retried("b=cleen").map_err(|failure| failure.code), Err(exit::USAGE));
    }
}
