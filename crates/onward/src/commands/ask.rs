//! Where a person has to decide, and is there to do it. Every answer has a flag that says the same.

use jiff::Timestamp;
use onward_core::event::Orphans;
use onward_core::id::RunId;
use onward_core::input::Choice;
use onward_core::question::{self as questions, Question};
use onward_core::resume::{Accept, Offered, Verdict};
use onward_core::run::Run;
use onward_core::view;
use onward_engine::{After, Error, Onward, PlanFrom, Ready, Request, StartFound, Unfinished, Want};

use crate::args::Damaged;
use crate::failure::Failure;
use crate::prompt::{self, Answerer, ResumeAnswer, TRIES_MAX};
use crate::render::run::{Resumable, RunReporter, Style};
use crate::render::{self, question};

/// The answer of a person about the unfinished run.
pub(super) enum Said {
    Resume,
    /// Go on from this phase.
    From(String),
    Fresh,
    /// Nothing is to be started.
    Left {
        run: RunId,
        resumable: Resumable,
        words: String,
    },
}

/// The unfinished run of the same work, if nothing was said about it yet and nobody drives it.
pub(super) fn open_question<'a>(request: &Request, found: &'a StartFound) -> Option<&'a Unfinished> {
    match (&request.want, found.unfinished.as_slice()) {
        (Want::Plain, [one]) if one.driver().is_none() && one.run.is_unfinished() => Some(one),
        _ => None,
    }
}

/// The run that is meant where several of the same work are unfinished.
pub(super) enum Meant {
    Run(RunId),
    Fresh,
    /// None of them, and nothing is to be started.
    None(RunId),
}

/// Asks which of several unfinished runs is meant; none where there is nothing to choose.
pub(super) fn which_run(request: &Request, found: &StartFound) -> Result<Option<Meant>, Failure> {
    let (Want::Plain | Want::Resume(None), [newest, _, ..]) = (&request.want, found.unfinished.as_slice()) else {
        return Ok(None);
    };
    render::say(&question::which_run(&found.unfinished, Timestamp::now()));
    for _ in 0..TRIES_MAX {
        let Some(text) = prompt::ask(question::WHICH_RUN) else { break };
        let number = if text.is_empty() { Some(1) } else { text.parse::<usize>().ok() };
        let run = number.and_then(|number| found.unfinished.get(number.checked_sub(1)?));
        match (run, prompt::answer(&text)) {
            (Some(one), _) => return Ok(Some(Meant::Run(one.run.id.clone()))),
            (None, ResumeAnswer::Fresh) => return Ok(Some(Meant::Fresh)),
            (None, ResumeAnswer::Quit) => return Ok(Some(Meant::None(newest.run.id.clone()))),
            (None, _) => render::say("Please answer with a number or a letter in brackets.\n"),
        }
    }
    render::say("\n");
    let runs = found.unfinished.iter().map(|one| one.run.id.clone()).collect();
    Err(Error::Several { runs, typed: request.typed() }.into())
}

/// Shows the unfinished run and asks what is to become of it.
pub(super) fn about(
    onward: &mut Onward,
    request: &Request,
    found: &StartFound,
    one: &Unfinished,
) -> Result<Said, Failure> {
    let next = onward.would_do(&Request { want: Want::Resume(None), ..request.clone() }, found).unwrap_or_default();
    render::say(&question::summary(one, &next, Timestamp::now()));
    let run = &one.run.id;
    for _ in 0..TRIES_MAX {
        let Some(mut answer) = asked(on_resume(one, request)) else { break };
        if answer == ResumeAnswer::No {
            answer = what_else();
        }
        match answer {
            ResumeAnswer::Resume => return Ok(Said::Resume),
            ResumeAnswer::Fresh => return Ok(Said::Fresh),
            ResumeAnswer::Quit => return left(one, request),
            ResumeAnswer::Abandon => {
                if let Some(said) = abandoned(onward, one)? {
                    return Ok(said);
                }
            }
            ResumeAnswer::Pick => {
                if let Some(phase) = picked(&one.run) {
                    return Ok(Said::From(phase));
                }
            }
            ResumeAnswer::View => render::say(&question::details(onward.show_run(run.as_str())?, Timestamp::now())),
            ResumeAnswer::Files => render::say(&question::files(&onward.outside_changes(one))),
            ResumeAnswer::Delete => {
                if prompt::ask(&question::delete(run.as_str())).is_some_and(|answer| prompt::is_yes(&answer)) {
                    onward.delete(run.as_str())?;
                    let words = format!("run {} is deleted, nothing was started\n", render::safe::line(run.as_str()));
                    return Ok(Said::Left { run: run.clone(), resumable: Resumable::No, words });
                }
            }
            // Back to the question.
            ResumeAnswer::No => {}
            ResumeAnswer::Unclear => render::say("Please answer with one of the letters in brackets.\n"),
        }
    }
    render::say("\n");
    let verdict = on_resume(one, request);
    let question = questions::unanswered(&one.run, &one.findings, verdict, &onward.typed(one, request));
    Err(Failure::answer_needed(question))
}

/// One round of the question; none when there is nobody any more.
fn asked(verdict: Verdict) -> Option<ResumeAnswer> {
    if verdict != Verdict::Refuse {
        return prompt::ask(question::RESUME).map(|text| prompt::answer(&text));
    }
    let text = prompt::ask(question::REFUSED)?;
    Some(match prompt::answer(&text) {
        ResumeAnswer::Resume if text.is_empty() => ResumeAnswer::Quit,
        ResumeAnswer::Resume | ResumeAnswer::Pick | ResumeAnswer::No => ResumeAnswer::Unclear,
        other => other,
    })
}

/// The run is not to go on as it would: from another phase, or not at all? `No` is back to the question.
fn what_else() -> ResumeAnswer {
    match prompt::ask(question::NOT_RESUMED).map(|text| prompt::answer(&text)) {
        Some(answer @ (ResumeAnswer::Pick | ResumeAnswer::Abandon)) => answer,
        Some(_) | None => ResumeAnswer::No,
    }
}

/// The phase that the person wants to start from; none where they went back.
fn picked(run: &Run) -> Option<String> {
    let offered = questions::pickable(run);
    render::say(&question::pick_list(&offered));
    for _ in 0..TRIES_MAX {
        let typed = prompt::ask(question::PICK).filter(|typed| !typed.is_empty())?;
        match questions::picked(&offered, run, &typed) {
            Some(phase) => return Some(phase.id.to_string()),
            None if matches!(prompt::answer(&typed), ResumeAnswer::Quit) => return None,
            None => render::say("This run has no such phase.\n"),
        }
    }
    None
}

/// The verdict if the run were resumed.
fn on_resume(one: &Unfinished, request: &Request) -> Verdict {
    let going_on = Request { want: Want::Resume(None), ..request.clone() };
    one.judge(&going_on).verdict
}

/// Everything is left as it is. A start that is refused has failed, whatever is answered.
fn left(one: &Unfinished, request: &Request) -> Result<Said, Failure> {
    let run = one.run.id.clone();
    if on_resume(one, request) == Verdict::Refuse {
        return Err(Error::Forbidden { run, findings: one.findings.clone() }.into());
    }
    let words = format!("everything is left as it is; come back with  {}\n", view::resume_command(&run));
    Ok(Said::Left { run, resumable: Resumable::Yes, words: render::safe::block(&words) })
}

/// Archives the run and starts nothing; none where the person would rather not, since a phase of it is still at work.
fn abandoned(onward: &mut Onward, one: &Unfinished) -> Result<Option<Said>, Failure> {
    let mut orphans = None;
    if one.view().orphans().next().is_some() {
        render::say("A phase of this run is still at work.\n");
        orphans = about_orphans();
        if orphans.is_none() {
            return Ok(None);
        }
    }
    onward.put_away_unfinished(one, orphans, &mut RunReporter::new(Style::Text))?;
    let run = one.run.id.clone();
    let words = format!("run {run} is archived, nothing was started\nlook at it with  onward show {run}\n");
    Ok(Some(Said::Left { run, resumable: Resumable::No, words: render::safe::block(&words) }))
}

/// A fresh start meets a store that is damaged. It is repaired or put aside, as was said or is said now; otherwise it stays.
pub(super) fn way_out(
    onward: &mut Onward,
    why: Error,
    said: Option<Damaged>,
    answerer: Answerer,
) -> Result<(), Failure> {
    let failure = Failure::from(why);
    let how = match said {
        None if answerer.is_person() => {
            render::say(&render::failure::page(&failure));
            prompt::ask(question::DAMAGED).and_then(|text| prompt::about_damage(&text))
        }
        said => said,
    };
    match how {
        None => Err(failure.with_ways_out()),
        Some(Damaged::Aside) => {
            let place = onward.put_store_aside()?;
            render::say(&format!("note: the damaged store was put aside, in {}\n", render::safe::line(&place)));
            Ok(())
        }
        Some(Damaged::Repair) => {
            let done = onward.repair()?;
            render::say(&render::doctor::repair(&done));
            if done.ok { Ok(()) } else { Err(failure) }
        }
    }
}

/// The request, with every question answered.
pub(super) struct Settled {
    pub(super) request: Request,
    pub(super) found: StartFound,
    pub(super) ready: Ready,
}

/// Asks what stands in the way until nothing does, or until it is clear that somebody else has to answer.
pub(super) fn settle(
    onward: &mut Onward,
    mut request: Request,
    mut found: StartFound,
    answerer: Answerer,
) -> Result<Settled, Failure> {
    for _ in 0..TRIES_MAX {
        let question = match onward.ready(&request, &found) {
            Ok(ready) => return Ok(Settled { request, found, ready }),
            Err(Error::AnswerNeeded(question)) if answerer.is_person() => question,
            Err(other) => return Err(other.into()),
        };
        render::say(&question.reasons.iter().map(|reason| question::reason_line(reason)).collect::<String>());
        if !question.orphans.is_empty() {
            request.orphans = about_orphans();
            if request.orphans.is_none() {
                return Err(Error::AnswerNeeded(question).into());
            }
        } else if request.after == After::AnAnswer && question.offered.contains(&Offered::GoOn) {
            // The edits stand above.
            if !prompt::ask(question::EDITED).is_some_and(|answer| prompt::is_yes(&answer)) {
                return Err(Error::AnswerNeeded(question).into());
            }
            request.after = After::Nothing;
        } else if question.offered.contains(&Offered::PlanFromRun) {
            match about_the_plan(&mut request, &question) {
                WhichPlan::OfTheRun => {
                    request.plan_from = PlanFrom::Run;
                    found = onward.find(&request)?;
                }
                WhichPlan::Edited => {}
                WhichPlan::Open => return Err(Error::AnswerNeeded(question).into()),
            }
        } else if question.in_doubt.is_empty() && question.offered.contains(&Offered::AcceptStale) {
            if !about_stale(&mut request, &question) {
                return Err(Error::AnswerNeeded(question).into());
            }
        } else {
            match about_doubts(&question) {
                Some(choices) => request.choices.extend(choices),
                None => return Err(Error::AnswerNeeded(question).into()),
            }
        }
    }
    Err(Failure::usage("the question was not answered"))
}

/// The plan by which a run goes on.
enum WhichPlan {
    OfTheRun,
    /// The one that is in the file now, with the answer about what is done in the request.
    Edited,
    Open,
}

fn about_the_plan(request: &mut Request, question: &Question) -> WhichPlan {
    match prompt::ask(question::PLAN).as_deref().map(prompt::is_yes) {
        Some(true) => WhichPlan::OfTheRun,
        Some(false) if question.in_doubt.is_empty() && question.offered.contains(&Offered::AcceptStale) => {
            render::say("By the edited plan, then.\n");
            if about_stale(request, question) { WhichPlan::Edited } else { WhichPlan::Open }
        }
        Some(false) | None => WhichPlan::Open,
    }
}

/// Whether what is done stays as it is or is done again, with the answer in the request; false where it is left open.
fn about_stale(request: &mut Request, question: &Question) -> bool {
    match prompt::ask(question::STALE).unwrap_or_default().to_lowercase().as_str() {
        "k" | "keep" => {
            request.accept_stale = Accept::Yes;
            true
        }
        "r" | "redo" if !question.stale.is_empty() => {
            request.choices.extend(question.stale.iter().map(|phase| (phase.to_string(), Choice::Retry)));
            render::say("Phases that are done and need these stay as they are; --from PHASE does those again, too.\n");
            true
        }
        _ => false,
    }
}

fn about_orphans() -> Option<Orphans> {
    match prompt::ask(question::ORPHANS)?.to_lowercase().as_str() {
        "w" | "wait" => Some(Orphans::Wait),
        "k" | "kill" => Some(Orphans::Kill),
        _ => None,
    }
}

/// An answer for every phase in doubt; none if one of them is left open, or if there is none to ask about.
pub(super) fn about_doubts(question: &Question) -> Option<Vec<(String, Choice)>> {
    let mut choices = Vec::new();
    for phase in &question.in_doubt {
        render::say(&format!("Did the effect of {} happen? ", render::safe::line(phase.as_str())));
        choices.push((phase.to_string(), prompt::about_a_doubt(&prompt::ask(question::DOUBT)?)?));
    }
    (!choices.is_empty()).then_some(choices)
}
