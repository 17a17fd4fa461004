//! The simulator itself: worlds end well, the same seed gives the same world, every event is met, and a driver that
//! makes a mistake is caught.

use onward_core::run::transitions::{MOVES, TakenBy};
use onward_testkit::sim::{self, Coverage};

const SEEDS: u64 = 600;

/// Some hundred worlds, every one with kills. No invariant breaks, and most runs complete.
#[test]
fn soak_some_hundred_worlds() {
    let (mut kills, mut completed) = (0, 0);
    for seed in 0..SEEDS {
        let told = sim::play(seed);
        assert_eq!(
            told.coverage.get(sim::FORETOLD_WRONGLY),
            None,
            "what is told of a resume is not what it does: seed {seed}"
        );
        kills += told.kills;
        completed += u64::from(told.completed);
    }
    assert!(kills > SEEDS / 2 && completed > SEEDS / 2, "{kills} kills, {completed} of {SEEDS} completed");
}

/// A seed is played twice. Everything about it is the same.
#[test]
fn a_seed_is_a_world() {
    let (first, second) = (sim::play(7), sim::play(7));
    assert_eq!(format!("{first:?}"), format!("{second:?}"));
}

/// Every change of a phase's status has its row in the table that is in the documents, and every row is used.
fn moves_are_the_table(all: &Coverage) {
    let made: Vec<(&str, &str, &str)> = all
        .keys()
        .filter_map(|name| {
            let (moved, by) = name.strip_prefix("phase: ")?.split_once(" by ")?;
            let (from, to) = moved.split_once(" to ")?;
            Some((from, to, by))
        })
        .collect();
    let has_a_row = |(from, to, by): &&(&str, &str, &str)| MOVES.iter().any(|row| row.covers(from, to, by));
    let without: Vec<_> = made.iter().filter(|one| !has_a_row(one)).collect();
    assert!(without.is_empty(), "these moves have no row in run/moves.rs (from, to, by): {without:#?}");
    let simulated = MOVES.iter().filter(|row| row.taken_by == TakenBy::Simulator);
    let never: Vec<_> = simulated.filter(|row| !made.iter().any(|(from, to, by)| row.covers(from, to, by))).collect();
    assert!(never.is_empty(), "these rows of run/moves.rs were never seen: {never:#?}");
}

/// Agents end in every way that there is, people answer their calls in both, and worktrees come to all that may come of them.
fn agents_are_met(all: &Coverage) {
    for how in [
        "done",
        "limited",
        "overloaded",
        "exhausted",
        "session_unknown",
        "session_in_use",
        "interrupted",
        "max_turns",
        "budget",
        "not_logged_in",
        "deferred",
        "failed",
        "no_result",
    ] {
        assert!(all.contains_key(&format!("agent_ended:{how}")), "no agent ended as {how}");
    }
    for what in ["begun", "integration_begun", "integrated", "called_off", "conflict", "removed"] {
        assert!(all.contains_key(&format!("worktree_changed:{what}")), "no worktree was {what}");
    }
    for answer in ["approved", "rejected"] {
        assert!(all.contains_key(&format!("call_answered:{answer}")), "no call was {answer}");
    }
}

/// The plan is edited in every way while something is left over that the edit bears on.
fn edits_are_met(all: &Coverage) {
    for what in [
        "after an end",
        "beside an orphan",
        "renamed in doubt",
        "renamed when it was done",
        "removed when it was done",
        "put back when it was done",
        "other work in doubt",
    ] {
        assert!(all.contains_key(&format!("edited: {what}")), "no plan was edited: {what}");
    }
}

/// Every kind of event and of end is met, or the simulator has gone blind on one side. A new event must be met too, and every
/// way from one status to another.
#[test]
fn soak_every_event_is_met() {
    let mut all = Coverage::new();
    for seed in 0..SEEDS * 7 {
        for (name, count) in sim::play(seed).coverage {
            *all.entry(name).or_default() += count;
        }
    }
    let schema = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/event.json")).expect("it");
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("JSON");
    let variants = schema["oneOf"].as_array().expect("a schema of tagged variants");
    let tag = |variant: &serde_json::Value| variant["properties"]["type"]["const"].as_str().expect("a tag").to_owned();
    let known: Vec<String> = variants.iter().map(tag).collect();
    assert!(known.len() > 15, "{known:?}");
    // A run is put away, branched off another or taken over from a file by hand only, and no world has such a hand; nor has one
    // files that are kept for other tools.
    let by_hand = ["run_archived", "run_forked", "run_imported", "mirror_troubled"];
    let met = |name: &String| {
        by_hand.iter().chain(&["planning_paid", "call_answer_given"]).any(|other| other == name)
            || all.contains_key(name)
    };
    let missing: Vec<_> = known.iter().filter(|name| !met(name)).collect();
    assert!(missing.is_empty(), "never met: {missing:?}; met: {all:?}");
    moves_are_the_table(&all);
    for what in ["started", "progress", "overruled", "done", "failed", "silent"] {
        assert!(all.contains_key(&format!("reported:{what}")), "nobody reported {what}");
    }
    for how in ["exited", "killed", "timed_out", "could_not_start", "stopped", "unknown", "never_ran"] {
        assert!(all.contains_key(&format!("attempt_ended:{how}")), "no attempt ended as {how}");
    }
    agents_are_met(&all);
    edits_are_met(&all);
    assert!(all.contains_key("attempt_ended:bad-outputs"), "all outputs could be read");
    assert!(all.contains_key("rewound: kept its key"), "nobody went back past an outward effect");
}

/// The driver, the core or the store makes one mistake. The oracle notices within some hundred worlds.
#[cfg(feature = "mutants")]
mod mutants {
    use std::panic;

    use onward_core::mutant::{self, Mutant};
    use onward_testkit::sim;

    const SEEDS_MAX: u64 = 3000;

    fn is_caught(mutant: Mutant) -> bool {
        let hook = panic::take_hook();
        panic::set_hook(Box::new(|_| {}));
        let caught = (0..SEEDS_MAX).any(|seed| {
            mutant::make(Some(mutant));
            let played = panic::catch_unwind(|| sim::play(seed));
            mutant::make(None);
            played.is_err()
        });
        panic::set_hook(hook);
        caught
    }

    macro_rules! mutants {
        ($($name:ident: $mutant:ident;)*) => {
            $(
                #[test]
                fn $name() {
                    assert!(is_caught(Mutant::$mutant), "{:?} was not noticed in {SEEDS_MAX} worlds", Mutant::$mutant);
                }
            )*

            #[test]
            fn every_mutant_has_its_test() {
                assert_eq!([$(Mutant::$mutant,)*].len(), Mutant::ALL.len());
            }
        };
    }

    mutants! {
        soak_act_before_the_append: ActBeforeTheAppend;
        soak_forget_recovery: ForgetRecovery;
        soak_count_interruptions_as_failures: CountInterruptionsAsFailures;
        soak_ignore_the_lease_epoch: IgnoreTheLeaseEpoch;
        soak_lose_an_inbox_reply: LoseAnInboxReply;
        soak_reuse_a_generation: ReuseAGeneration;
        soak_ignore_one_need: IgnoreOneNeed;
        soak_forget_what_is_dirty: ForgetWhatIsDirty;
        soak_commit_beside_writers: CommitBesideWriters;
        soak_commit_twice: CommitTwice;
        soak_count_limits_as_failures: CountLimitsAsFailures;
        soak_forget_the_pools: ForgetThePools;
        soak_take_a_no_for_a_yes: TakeANoForAYes;
        soak_forget_what_waits: ForgetWhatWaits;
        soak_new_key_after_a_rewind: NewKeyAfterARewind;
        soak_count_a_report_twice: CountAReportTwice;
        soak_bad_outputs_are_final: BadOutputsAreFinal;
        soak_done_when_is_no_proof: DoneWhenIsNoProof;
        an_outward_effect_is_repeated_unasked: RepeatAnOutwardEffect;
        soak_what_is_done_is_thrown_away: ThrowAwayWhatIsDone;
        soak_a_person_is_asked_again: AskAgain;
        soak_the_marker_is_forgotten: ForgetTheMarker;
        soak_people_are_not_told: ForgetTheNotices;
        soak_nothing_is_required: RequireNothing;
        soak_the_label_is_forgotten: ForgetTheLabel;
        soak_nobody_is_ever_stuck: NeverStuck;
        soak_a_session_is_forgotten: ForgetTheSession;
        soak_a_full_context_is_handed_on_for_ever: HandOnForEver;
        soak_money_is_spent_on: SpendOn;
        soak_a_cost_is_forgotten: ForgetACost;
        soak_sessions_are_lost_for_ever: LoseSessionsForEver;
        soak_every_done_is_believed: BelieveEveryDone;
        soak_rounds_have_no_end: GoRoundForEver;
        soak_a_call_is_approved_twice: ApproveACallTwice;
        soak_a_rejected_call_is_made: MakeARejectedCall;
        soak_an_answer_is_forgotten: ForgetAnAnswer;
        soak_files_come_in_beside_others: IntegrateBesideOthers;
        soak_files_come_in_twice: IntegrateTwice;
        soak_a_conflict_is_overlooked: OverlookAConflict;
        soak_files_are_left_halfway: ForgetWhatIsHalfway;
        soak_an_answer_is_taken_for_another_call: AnswerAnyCall;
        soak_what_was_left_out_is_done: ReviveSettledParts;
        soak_an_end_is_judged_by_an_edit: EditBeforeTheEnds;
        soak_a_doubt_is_forgotten_by_its_name: ForgetADoubtByItsName;
        soak_an_edit_at_work_is_overlooked: OverlookAnEditAtWork;
        soak_what_was_removed_is_forgotten: ForgetWhatWasRemoved;
        soak_a_rename_is_forgotten: ForgetARename;
        soak_a_rename_begins_to_count_anew: CountAnewAfterARename;
        soak_parts_are_lost_by_a_rename: LosePartsByARename;
        soak_a_rename_gives_another_key: NewKeyAfterARename;
        soak_places_are_confused_by_a_rename: ConfusePlacesInARename;
    }
}
