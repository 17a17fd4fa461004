//! Every key of a plan: the tables behind the checker, the messages and the JSON Schema. A new key starts here.

use super::shape::Shape::{
    Anything, Boolean, Choice, ChoiceBut, Command, Condition, Duration, Either, Format, Integer, Line, List, Mapping,
    Number, OneOrMany, Path, Pattern, PhaseId, Rate, Size, Table, Template, Text, Word, Words,
};
use super::shape::{Field, Keys, NameRule, Rest, Shape, field, required};

const COUNT: Shape = Integer { min: 0, max: 1_000_000 };
const POSITIVE: Shape = Integer { min: 1, max: 1_000_000 };
const COMMANDS: Shape = OneOrMany(&Command);
const PATHS: Shape = OneOrMany(&Path);
const ENV: Shape = Table(NameRule::Variable, &Template);
const MONEY: Shape = Mapping(&Keys { what: "a budget", fields: BUDGET, rest: Rest::Refused, one_of: &[] });

/// The kinds of phase: the key that says how it is done.
pub(super) const KINDS: &[&str] = &["run", "agent", "approval", "external", "uses"];
/// Agents that have a limit of their name without the plan declaring one.
pub(super) const BUILT_IN_AGENTS: &[&str] = &["claude-code", "codex"];

const IF_CHANGED: Shape = Choice(&["ignore", "warn", "ask", "stop", "rerun"]);
const RETRY_WHEN: Shape = ChoiceBut(
    &["failed", "timed-out", "infra"],
    "interrupted",
    "interruptions never use up retries; `on-interrupt` says what happens after one",
);
const TRIGGERS: &[&str] = &[
    "run-start",
    "phase-transition",
    "batch-complete",
    "agent-complete",
    "conflict-start",
    "conflict-resolved",
    "user-interrupt",
    "session-end",
    "manual",
];

pub(super) static PLAN: Keys = Keys { what: "the plan", fields: PLAN_FIELDS, rest: Rest::Extensions, one_of: &[] };
pub(super) static PHASE: Keys = Keys { what: "a phase", fields: PHASE_FIELDS, rest: Rest::Extensions, one_of: KINDS };
static DEFAULTS: Keys = Keys { what: "`defaults`", fields: DEFAULTS_FIELDS, rest: Rest::Extensions, one_of: &[] };

static ONE_PHASE: Shape = Mapping(&PHASE);
static ONE_MEMBER: Shape = Mapping(&MEMBER);
static ONE_NOTICE: Shape = Mapping(&NOTIFY);
static ONE_PROBE: Shape = Mapping(&PROBE);

const PLAN_FIELDS: &[Field] = &[
    field("onward", Format, "Version of the format; always 1."),
    field("name", Line, "Name of the plan."),
    field("run-name", Line, "Name of one run; may hold expressions."),
    field("description", Text, "What the plan is for."),
    field("type", Word, "Workflow type, the first part of run ids."),
    field("inputs", Table(NameRule::Name, &INPUT), "Values that are given when a run starts."),
    field("env", ENV, "Variables of every phase."),
    field("defaults", Mapping(&DEFAULTS), "What phases share where they do not say otherwise."),
    field("max-parallel", POSITIVE, "Phases that run side by side."),
    field("on-failure", Choice(&["stop", "finish", "continue"]), "What a failed phase means for the others."),
    field("concurrency", Mapping(&CONCURRENCY), "Runs that must not overlap."),
    field("limits", Table(NameRule::Name, &LIMIT), "Named pools that phases draw on."),
    field("freshness", Mapping(&FRESHNESS), "What is checked on every resume."),
    field("checkpoint", Mapping(&CHECKPOINT), "When checkpoints are taken and how long they are kept."),
    field("replan", Mapping(&REPLAN), "How the plan may be changed while it runs."),
    field("issue", Mapping(&ISSUE), "The issue this work belongs to."),
    field("team", List(&ONE_MEMBER), "Who works on it."),
    field("notify", OneOrMany(&ONE_NOTICE), "Who is told of what."),
    required("phases", Table(NameRule::PhaseId, &ONE_PHASE), "The phases by id."),
    field("finally", Table(NameRule::PhaseId, &ONE_PHASE), "Phases that run at the end, whatever happened."),
];

const NAME: Field = field("name", Line, "What people see instead of the id.");
const SHELL: Field = field("shell", Words, "The shell and its flags.");
const DIRECTORY: Field = field("working-directory", Path, "Where it is done, relative to the top of the project.");
const VARIABLES: Field = field("env", ENV, "Variables of this phase.");
const TIMEOUT: Field = field("timeout", Duration, "How long one attempt may take.");
const RETRIES: Field = field("retry", Mapping(&RETRY), "How often, after what and with which pause it is tried again.");
const EFFECTS: Field = field("effects", Choice(&["none", "files", "external"]), "What doing it again would do.");
const PRIORITY: Field = field("priority", Choice(&["critical", "high", "normal", "low"]), "What goes first.");
const ON_INTERRUPT: Field =
    field("on-interrupt", Choice(&["continue", "rerun", "rerun-clean", "ask"]), "What happens after an interruption.");
const ON_CHANGE: Field =
    field("on-change", Choice(&["ask", "rerun", "keep"]), "What happens if it is done and its definition changed.");
const ON_FAILURE: Field =
    field("on-failure", Choice(&["stop", "replan", "skip", "ask"]), "What happens after the last retry.");
const LIMITS: Field = field("limits", OneOrMany(&Text), "Limits it draws on.");
const LOCKS: Field =
    field("locks", OneOrMany(&Line), "Names of which only one holder works at a time; `git` is built in.");
const RUNS_ON: Field = field("runs-on", Line, "Entry of `executors` in the configuration.");
const RESOURCES: Field = field("resources", Mapping(&RESOURCE), "What it takes on a cluster.");
const FINGERPRINT: Field = field("fingerprint", COMMANDS, "Commands whose output joins the digest.");
const AGENT_FIELD: Field = field("agent", Mapping(&AGENT), "Done by a coding agent.");
const REPLAN_FIELD: Field = field("replan", Mapping(&REPLAN), "How this phase may change the plan.");

const PHASE_FIELDS: &[Field] = &[
    NAME,
    field("description", Text, "What it delivers."),
    field("needs", OneOrMany(&NEED), "Phases that come before."),
    field("run", Command, "Done by a shell script."),
    AGENT_FIELD,
    field("approval", Mapping(&APPROVAL), "Done by a person who says yes."),
    field("external", Mapping(&EXTERNAL), "Done by someone else, who reports in."),
    field("uses", Path, "Done by another plan."),
    field("with", Table(NameRule::Name, &Template), "Inputs of the plan that `uses` names."),
    SHELL,
    DIRECTORY,
    VARIABLES,
    TIMEOUT,
    RETRIES,
    field("if", Condition, "Whether it is done at all."),
    field("matrix", Mapping(&MATRIX), "Done once for every combination."),
    field("outputs", Table(NameRule::Name, &Text), "Names of outputs and what they are for."),
    RUNS_ON,
    RESOURCES,
    field("reads", OneOrMany(&Template), "Globs of what it reads."),
    field("writes", PATHS, "Globs of what it writes."),
    field("artifacts", Table(NameRule::Name, &ARTIFACT), "Files that must be there when it is done."),
    field("verify", COMMANDS, "Commands that prove the work."),
    field("done-when", COMMANDS, "Probe: 0 the effect is there, 1 it is not, anything else cannot tell."),
    EFFECTS,
    PRIORITY,
    field("kind", Choice(&["issue", "commit", "code", "docs"]), "What would be lost."),
    ON_INTERRUPT,
    ON_CHANGE,
    ON_FAILURE,
    LOCKS,
    LIMITS,
    FINGERPRINT,
    REPLAN_FIELD,
];

const DEFAULTS_FIELDS: &[Field] = &[
    SHELL,
    DIRECTORY,
    VARIABLES,
    TIMEOUT,
    RETRIES,
    EFFECTS,
    PRIORITY,
    ON_INTERRUPT,
    ON_CHANGE,
    ON_FAILURE,
    LOCKS,
    LIMITS,
    RUNS_ON,
    RESOURCES,
    FINGERPRINT,
    AGENT_FIELD,
    REPLAN_FIELD,
];

const INPUT: Shape = Mapping(&Keys {
    what: "an input",
    fields: &[
        field(
            "type",
            Choice(&["string", "integer", "number", "boolean", "date", "choice"]),
            "What it must be; string if left out.",
        ),
        field("required", Boolean, "Whether it must be given."),
        field("default", Text, "Its value where none is given."),
        field("choices", List(&Text), "What may be chosen from."),
        field("description", Text, "What it is for."),
    ],
    rest: Rest::Refused,
    one_of: &[],
});

const NEED: Shape = Either(&[PhaseId, Mapping(&NEED_KEYS)]);
static NEED_KEYS: Keys = Keys {
    what: "an entry of `needs`",
    fields: &[
        required("phase", PhaseId, "The phase that comes before."),
        field("staleness", Choice(&["inherit", "outputs", "ignore"]), "When it makes this one stale."),
        field("state", Choice(&["completed"]), "`completed`: a skipped phase does not count as done."),
    ],
    rest: Rest::Refused,
    one_of: &[],
};

static RETRY: Keys = Keys {
    what: "`retry`",
    fields: &[
        field("max", Integer { min: 0, max: 1000 }, "Retries after the first attempt."),
        field("when", OneOrMany(&RETRY_WHEN), "After what; all three if left out."),
        field("output-matches", Pattern, "Only if the end of the output matches."),
        field("backoff", Mapping(&BACKOFF), "The pause before a retry."),
    ],
    rest: Rest::Refused,
    one_of: &[],
};

static BACKOFF: Keys = Keys {
    what: "`backoff`",
    fields: &[
        field("initial", Duration, "The first pause."),
        field("factor", Number, "What each further pause is multiplied by."),
        field("max", Duration, "The longest pause."),
        field("jitter", Boolean, "Whether pauses vary a little."),
    ],
    rest: Rest::Refused,
    one_of: &[],
};

static MATRIX: Keys = Keys {
    what: "`matrix`",
    fields: &[
        field("max-parallel", POSITIVE, "Combinations that run side by side."),
        field("fail-fast", Boolean, "Whether one failure keeps those from starting that have not begun."),
    ],
    rest: Rest::Names(NameRule::Name, &Either(&[List(&Template), Template])),
    one_of: &[],
};

static RESOURCE: Keys = Keys {
    what: "`resources`",
    fields: &[
        field("cpus", Number, "Processors."),
        field("gpus", COUNT, "Graphics processors."),
        field("memory", Size, "Main memory."),
        field("disk", Size, "Scratch space."),
        field("time", Duration, "Time on the cluster."),
    ],
    rest: Rest::Refused,
    one_of: &[],
};

const ARTIFACT: Shape = Either(&[Path, Mapping(&ARTIFACT_KEYS)]);
static ARTIFACT_KEYS: Keys = Keys {
    what: "an artifact",
    fields: &[
        required("path", Path, "Where it lies."),
        field("required", Boolean, "Whether the phase fails without it."),
        field("keep", Either(&[Boolean, Choice(&["forever"]), Duration]), "Whether and how long a copy is kept."),
        field("max-size", Size, "What is larger is not kept."),
    ],
    rest: Rest::Refused,
    one_of: &[],
};

const BUDGET: &[Field] = &[field("usd", Number, "Dollars."), field("tokens", COUNT, "Tokens.")];

static AGENT: Keys = Keys {
    what: "`agent`",
    fields: &[
        field("use", Word, "Which agent."),
        field("model", Line, "Which model."),
        field("prompt", Template, "What it is told."),
        field("prompt-file", Path, "A file with what it is told."),
        field("context", OneOrMany(&Template), "What it is given to read."),
        field("result", Mapping(&RESULT), "What it must answer with."),
        field("session", Choice(&["continue", "new"]), "Whether an interrupted session goes on."),
        field("max-turns", POSITIVE, "Turns it may take."),
        field("worktree", Choice(&["never", "auto", "always"]), "Whether it works in a worktree of its own."),
        field("budget", MONEY, "What it may cost."),
        field("allow", OneOrMany(&Text), "Tools it may use."),
        field("deny", OneOrMany(&Text), "Tools it may not use."),
        field("arguments", OneOrMany(&Template), "Further arguments of its command."),
    ],
    rest: Rest::Refused,
    one_of: &[],
};

static RESULT: Keys = Keys {
    what: "`result`",
    fields: &[field("schema", Path, "JSON Schema of the answer.")],
    rest: Rest::Refused,
    one_of: &[],
};

static APPROVAL: Keys = Keys {
    what: "`approval`",
    fields: &[
        required("message", Template, "The question."),
        field("show", OneOrMany(&Template), "What is shown with it."),
        field("choices", List(&Line), "The answers."),
        field("who", OneOrMany(&Line), "Who may answer."),
        field("expires", Duration, "How long the question stands."),
        field("if-expired", Choice(&["approve", "reject", "pause"]), "What silence means."),
    ],
    rest: Rest::Refused,
    one_of: &[],
};

static EXTERNAL: Keys = Keys {
    what: "`external`",
    fields: &[
        required("instructions", Template, "What is to be done."),
        field("heartbeat", Duration, "How often the worker reports."),
        field("if-silent", Choice(&["wait", "pause", "fail", "ask"]), "What silence means."),
    ],
    rest: Rest::Refused,
    one_of: &[],
};

static CONCURRENCY: Keys = Keys {
    what: "`concurrency`",
    fields: &[
        required("group", Line, "Runs of one group do not overlap."),
        field("when-busy", Choice(&["fail", "wait", "cancel"]), "What a second run does."),
    ],
    rest: Rest::Refused,
    one_of: &[],
};

const LIMIT: Shape = Mapping(&Keys {
    what: "a limit",
    fields: &[
        field("max-parallel", POSITIVE, "Phases that draw on it at once."),
        field("rate", Rate, "Starts within a sliding window."),
        field("budget", MONEY, "What all of them may cost."),
        field("detect", Mapping(&DETECT), "How a hit is recognised."),
        field("when-limited", Choice(&["wait", "pause", "fail"]), "What a hit means."),
        field("max-wait", Duration, "The longest wait."),
        field("scope", Choice(&["run", "project", "user"]), "Who shares it."),
    ],
    rest: Rest::Refused,
    one_of: &[],
});

static DETECT: Keys = Keys {
    what: "`detect`",
    fields: &[
        field("exit-codes", OneOrMany(&Integer { min: 0, max: 255 }), "Exit codes that mean a hit."),
        field("output-matches", Pattern, "Output that means a hit."),
        field("reset-at", Pattern, "What captures the time of the reset."),
    ],
    rest: Rest::Refused,
    one_of: &[],
};

static FRESHNESS: Keys = Keys {
    what: "`freshness`",
    fields: &[
        field("git", Mapping(&GIT), "The branch."),
        field("probes", Table(NameRule::Name, &ONE_PROBE), "Anything else that may change."),
    ],
    rest: Rest::Refused,
    one_of: &[],
};

static GIT: Keys = Keys {
    what: "`git`",
    fields: &[
        field("branch", Line, "The branch of the work."),
        field("base", Line, "What it started from."),
        field("if-branch-gone", IF_CHANGED, "The branch was there and is not now."),
        field("if-base-moved", IF_CHANGED, "The base has new commits."),
        field("if-dirty", IF_CHANGED, "There are changes that are not committed."),
    ],
    rest: Rest::Refused,
    one_of: &[],
};

static PROBE: Keys = Keys {
    what: "a probe",
    fields: &[
        field("command", Command, "Its output is compared."),
        field("files", PATHS, "Their content is compared."),
        field("issue", Either(&[Integer { min: 1, max: i64::MAX }, Line]), "Its text is compared."),
        field("if-changed", IF_CHANGED, "What a change means."),
    ],
    rest: Rest::Refused,
    one_of: &["command", "files", "issue"],
};

static CHECKPOINT: Keys = Keys {
    what: "`checkpoint`",
    fields: &[
        field("triggers", Either(&[List(&Choice(TRIGGERS)), Mapping(&TRIGGER_SWITCHES)]), "When one is taken."),
        field("git-commit", Mapping(&GIT_COMMIT), "Commits along the way."),
        field("keep", Mapping(&KEEP), "How many or how long."),
        field("compress", Boolean, "Whether they are compressed."),
        field(
            "mirror",
            OneOrMany(&Choice(&["pipeline-state", "checkpoint", "workflow", "crunch"])),
            "Formats of other tools, kept alongside.",
        ),
    ],
    rest: Rest::Refused,
    one_of: &[],
};

macro_rules! of_triggers {
    ($shape:expr, $about:literal $(, $more:literal)*) => {
        &[
            field("run-start", $shape, $about),
            field("phase-transition", $shape, $about),
            field("batch-complete", $shape, $about),
            field("agent-complete", $shape, $about),
            field("conflict-start", $shape, $about),
            field("conflict-resolved", $shape, $about),
            field("user-interrupt", $shape, $about),
            field("session-end", $shape, $about),
            field("manual", $shape, $about),
            $(field($more, $shape, $about),)*
        ]
    };
}

static TRIGGER_SWITCHES: Keys = Keys {
    what: "`triggers`",
    fields: of_triggers!(Boolean, "Whether it takes a checkpoint."),
    rest: Rest::Refused,
    one_of: &[],
};

static KEEP: Keys = Keys {
    what: "`keep`",
    fields: of_triggers!(
        Either(&[Choice(&["all", "none"]), Integer { min: -1, max: 1_000_000 }, Duration]),
        "How many are kept, or how long.",
        "succeeded-run",
        "failed-run"
    ),
    rest: Rest::Refused,
    one_of: &[],
};

static GIT_COMMIT: Keys = Keys {
    what: "`git-commit`",
    fields: &[
        field("every", POSITIVE, "Completed phases per commit."),
        field("message", Line, "Its subject."),
        field("trailers", OneOrMany(&Line), "Lines at its end."),
        field("hooks", Boolean, "Whether the repository's hooks have a say; they have none where it is not set."),
    ],
    rest: Rest::Refused,
    one_of: &[],
};

static REPLAN: Keys = Keys {
    what: "`replan`",
    fields: &[
        field("max", COUNT, "Revisions in one run."),
        field("max-per-phase", COUNT, "Revisions one phase may ask for."),
        field("may-edit", Choice(&["downstream", "pending", "all"]), "What a revision may touch."),
        field("approval", Boolean, "Whether a person must agree."),
        field("run", Command, "Prints the new plan."),
        field(
            "when",
            OneOrMany(&Choice(&["failed", "verify-failed", "too-complex", "agent-asked"])),
            "What asks for one.",
        ),
        field("complexity-max", COUNT, "A reported figure above this asks for one."),
        field("tasks-max", COUNT, "More tasks than this ask for one."),
    ],
    rest: Rest::Refused,
    one_of: &[],
};

static ISSUE: Keys = Keys {
    what: "`issue`",
    fields: &[
        field("number", Either(&[Integer { min: 1, max: i64::MAX }, Line]), "Its number."),
        field("provider", Word, "Where it lives."),
        field("states", Table(NameRule::Free, &Anything), "What its labels say about phases."),
    ],
    rest: Rest::Refused,
    one_of: &[],
};

static MEMBER: Keys = Keys {
    what: "a member of the team",
    fields: &[required("agent", Line, "Its name."), field("role", Line, "What it does.")],
    rest: Rest::Refused,
    one_of: &[],
};

static NOTIFY: Keys = Keys {
    what: "an entry of `notify`",
    fields: &[
        required("when", OneOrMany(&Choice(NOTICES)), "What is told."),
        field("desktop", Boolean, "On the desktop."),
        field("webhook", Line, "To an address."),
        field("command", Command, "By a command."),
    ],
    rest: Rest::Refused,
    one_of: &[],
};

const NOTICES: &[&str] = &[
    "approval-wanted",
    "question",
    "rate-limited",
    "phase-completed",
    "phase-failed",
    "replan-wanted",
    "run-started",
    "run-succeeded",
    "run-failed",
    "run-interrupted",
    "run-paused",
];
