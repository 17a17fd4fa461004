//! Deliberate mistakes, for the tests that must notice them. Without the feature `mutants` there are none, and every
//! question after one is answered with a constant.

/// A mistake that the simulator must catch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// The driver starts processes before the append that records them.
    ActBeforeTheAppend,
    /// Attempts of an earlier driver are taken for one's own and started again.
    ForgetRecovery,
    /// An end that we asked for uses up a retry.
    CountInterruptionsAsFailures,
    /// The store takes appends from whoever had the lease once.
    IgnoreTheLeaseEpoch,
    /// A message is consumed and never answered.
    LoseAnInboxReply,
    /// Finished work is done again under the old idempotency key.
    ReuseAGeneration,
    /// A phase starts although something it needs is not done.
    IgnoreOneNeed,
    /// The fold cache forgets what changed since the last checkpoint.
    ForgetWhatIsDirty,
    /// A commit is made while a phase writes.
    CommitBesideWriters,
    /// A commit that was made before a kill is not looked for, and made again.
    CommitTwice,
    /// A limit that was hit uses up a retry.
    CountLimitsAsFailures,
    /// Locks and limits that running phases hold are forgotten.
    ForgetThePools,
    /// A person says no, and the run goes on.
    TakeANoForAYes,
    /// A driver begins without a look at what waits in the inbox.
    ForgetWhatWaits,
    /// Going back gives a phase with outward effects another idempotency key.
    NewKeyAfterARewind,
    /// A failure that is reported twice uses up two retries.
    CountAReportTwice,
    /// A phase whose outputs cannot be read gets no retry, and no say in what its failure means.
    BadOutputsAreFinal,
    /// A `done-when` that says no is not what `replan.when: [verify-failed]` asks for.
    DoneWhenIsNoProof,
    /// An outward effect that was cut short is tried again like any failure, and nobody is asked.
    RepeatAnOutwardEffect,
    /// A phase that was asked to end and finished its work is done once more.
    ThrowAwayWhatIsDone,
    /// A person's answer about a phase at work is forgotten when it has ended.
    AskAgain,
    /// The file of a plan in Markdown is not told that a phase is done.
    ForgetTheMarker,
    /// People are not told of what they want to be told.
    ForgetTheNotices,
    /// A phase is started before it is known that what it requires is there.
    RequireNothing,
    /// Nobody tells the issue that a phase has started.
    ForgetTheLabel,
    /// A phase that fails in the same way again and again is tried again all the same.
    NeverStuck,
    /// An agent that could go on in its session begins a new one.
    ForgetTheSession,
    /// A full context is handed on to a new session as often as it likes.
    HandOnForEver,
    /// Agents are started although the run has cost what it may.
    SpendOn,
    /// The cost of an attempt that failed is not counted.
    ForgetACost,
    /// Parts of a phase that a person left out are tried again by the next driver, and it with them.
    ReviveSettledParts,
    /// An answer to a tool call is taken for whichever call waits.
    AnswerAnyCall,
    /// The bill of an agent that makes another plan is not counted.
    PlanForNothing,
    /// A session that its client has lost is followed by a new one as often as it likes.
    LoseSessionsForEver,
    /// An agent that says it is done is believed, whatever remains.
    BelieveEveryDone,
    /// An agent goes into another round as often as it likes.
    GoRoundForEver,
    /// A call that was approved once is approved in the next attempt, too.
    ApproveACallTwice,
    /// A call that a person rejected is made.
    MakeARejectedCall,
    /// The answer to a call does not reach the agent.
    ForgetAnAnswer,
    /// Files of a phase come into the project whoever holds the lock `git`.
    IntegrateBesideOthers,
    /// Files of an attempt that are in the project are put there once more.
    IntegrateTwice,
    /// Two versions of the same files are no question.
    OverlookAConflict,
    /// An edited plan counts, or a run is rewound, while files of a worktree are halfway into the project.
    ForgetWhatIsHalfway,
    /// Attempts that are over are judged by a plan that was edited since.
    EditBeforeTheEnds,
    /// An outward effect of which nobody knows is forgotten when its phase gets another id.
    ForgetADoubtByItsName,
    /// Nobody is asked about a phase at work that an edit leaves behind.
    OverlookAnEditAtWork,
    /// The record of a phase that was taken out of the plan is forgotten.
    ForgetWhatWasRemoved,
    /// A phase that is said to be the same under another id begins anew.
    ForgetARename,
    /// A phase that gets another id goes on under another idempotency key.
    NewKeyAfterARename,
    /// The attempts and generations of a phase that gets another id are counted from the beginning.
    CountAnewAfterARename,
    /// The children of a phase are forgotten when it gets another id.
    LosePartsByARename,
    /// Of phases that do the same in several places one is taken for another when they get other ids.
    ConfusePlacesInARename,
}

impl Mutant {
    /// Those that the simulator catches: no plan has a bill in its worlds, so one is caught by tests alone.
    pub const ALL: [Self; 51] = [
        Self::ActBeforeTheAppend,
        Self::ForgetRecovery,
        Self::CountInterruptionsAsFailures,
        Self::IgnoreTheLeaseEpoch,
        Self::LoseAnInboxReply,
        Self::ReuseAGeneration,
        Self::IgnoreOneNeed,
        Self::ForgetWhatIsDirty,
        Self::CommitBesideWriters,
        Self::CommitTwice,
        Self::CountLimitsAsFailures,
        Self::ForgetThePools,
        Self::TakeANoForAYes,
        Self::ForgetWhatWaits,
        Self::NewKeyAfterARewind,
        Self::CountAReportTwice,
        Self::BadOutputsAreFinal,
        Self::DoneWhenIsNoProof,
        Self::RepeatAnOutwardEffect,
        Self::ThrowAwayWhatIsDone,
        Self::AskAgain,
        Self::ForgetTheMarker,
        Self::ForgetTheNotices,
        Self::RequireNothing,
        Self::ForgetTheLabel,
        Self::NeverStuck,
        Self::ForgetTheSession,
        Self::HandOnForEver,
        Self::SpendOn,
        Self::ForgetACost,
        Self::LoseSessionsForEver,
        Self::BelieveEveryDone,
        Self::GoRoundForEver,
        Self::ApproveACallTwice,
        Self::MakeARejectedCall,
        Self::ForgetAnAnswer,
        Self::IntegrateBesideOthers,
        Self::IntegrateTwice,
        Self::OverlookAConflict,
        Self::ForgetWhatIsHalfway,
        Self::AnswerAnyCall,
        Self::ReviveSettledParts,
        Self::EditBeforeTheEnds,
        Self::ForgetADoubtByItsName,
        Self::OverlookAnEditAtWork,
        Self::ForgetWhatWasRemoved,
        Self::ForgetARename,
        Self::CountAnewAfterARename,
        Self::LosePartsByARename,
        Self::ConfusePlacesInARename,
        Self::NewKeyAfterARename,
    ];
}

/// A mistake that a generator over the real program must find: one that the simulator, which has no processes, files or git,
/// cannot see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// A number is taken that does not come back as it was written.
    TakeAnyNumber,
    /// Data is taken however deep it is nested.
    TakeAnyDepth,
    /// Processes of an attempt live on after its failure.
    LetTheRestLive,
    /// A check that could not be started for want of something says no.
    NoPatienceWithShortages,
    /// Files are brought back beside another run that is at work.
    IgnoreTheNeighbours,
    /// A stop waits for a git that hangs.
    WaitForGit,
    /// Commands that the settings of a repository name are executed by our calls of git.
    ObeyTheRepository,
    /// A prune takes a run from which an unfinished one was forked.
    ForgetTheForks,
    /// A large value goes with the first run that has it, also where another run has it too.
    DeleteWhatIsShared,
}

#[cfg(feature = "mutants")]
mod switched {
    use std::cell::Cell;
    use std::sync::OnceLock;

    use super::{Defect, Mutant};

    /// Names a mistake that the whole process makes. Not one of our own variables: those are kept from attendants.
    const VARIABLE: &str = "TESTKIT_MUTANT";

    thread_local! {
        static ACTIVE: Cell<Option<Mutant>> = const { Cell::new(None) };
    }

    /// Makes this mistake in this thread from now on.
    pub fn make(mutant: Option<Mutant>) {
        ACTIVE.set(mutant);
    }

    pub fn is(mutant: Mutant) -> bool {
        ACTIVE.get() == Some(mutant) || is_chosen(&mutant)
    }

    pub fn has(defect: Defect) -> bool {
        is_chosen(&defect)
    }

    #[expect(clippy::disallowed_methods, reason = "the tests that look for a mistake have the whole process make it")]
    fn is_chosen(mistake: &dyn std::fmt::Debug) -> bool {
        static CHOSEN: OnceLock<Option<String>> = OnceLock::new();
        CHOSEN.get_or_init(|| std::env::var(VARIABLE).ok()).as_ref().is_some_and(|name| *name == format!("{mistake:?}"))
    }
}

#[cfg(feature = "mutants")]
pub use switched::{has, is, make};

/// Whether this mistake is to be made: never, without the feature `mutants`.
#[cfg(not(feature = "mutants"))]
pub const fn is(_: Mutant) -> bool {
    false
}

/// Whether the program has this defect: never, without the feature `mutants`.
#[cfg(not(feature = "mutants"))]
pub const fn has(_: Defect) -> bool {
    false
}
