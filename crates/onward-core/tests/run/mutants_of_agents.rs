//! Each rule about agents is broken once, and the test of it has to notice. The simulator must notice the same mistakes.

use std::panic;

use onward_core::mutant::{self, Mutant};

use crate::{agent_calls, agents, budgets, tries, worktrees};

#[track_caller]
fn is_noticed(mutant: Mutant, test: fn()) {
    mutant::make(Some(mutant));
    let played = panic::catch_unwind(test);
    mutant::make(None);
    assert!(played.is_err(), "{mutant:?} was not noticed");
}

/// The same failure comes a third time, of an agent and of somebody who reports, and it is tried again.
#[test]
fn nobody_is_ever_stuck() {
    is_noticed(Mutant::NeverStuck, agents::the_same_failure_three_times_is_stuck);
    is_noticed(Mutant::NeverStuck, tries::the_same_report_three_times_is_stuck);
}

/// An interrupted agent begins a new session instead of going on in its own.
#[test]
fn a_session_is_forgotten() {
    is_noticed(Mutant::ForgetTheSession, agents::a_session_goes_on);
}

/// An edited plan counts while files of a worktree are halfway into the project.
#[test]
fn what_is_halfway_is_forgotten() {
    is_noticed(Mutant::ForgetWhatIsHalfway, worktrees::another_plan_waits_for_what_was_begun);
}

/// A full context is handed on without an end.
#[test]
fn a_context_is_handed_on_for_ever() {
    is_noticed(Mutant::HandOnForEver, agents::a_full_context_is_handed_on_twice);
}

/// The money is used up, and the next agent starts.
#[test]
fn money_is_spent_on() {
    is_noticed(Mutant::SpendOn, budgets::no_agent_starts_without_money);
}

/// An attempt that was not done costs nothing.
#[test]
fn a_cost_is_forgotten() {
    is_noticed(Mutant::ForgetACost, agents::what_it_takes_is_added_up_and_ends);
}

/// An answer comes late and is taken for the call that waits by then.
#[test]
fn an_answer_is_taken_for_any_call() {
    is_noticed(Mutant::AnswerAnyCall, agent_calls::an_answer_is_for_the_call_that_was_shown);
}

/// An agent that makes another plan costs nothing.
#[test]
fn a_plan_is_made_for_nothing() {
    is_noticed(Mutant::PlanForNothing, budgets::what_a_plan_costs_counts);
}
