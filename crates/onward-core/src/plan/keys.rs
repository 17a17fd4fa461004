//! Every key of a plan, declared once: the checker, its messages, the reader, the defaults, the JSON Schema and the page
//! `docs/plan.md` are made from these tables. A new key starts here.

mod checkpoint;
mod freshness;

use crate::document::schema::{self, Empty};
use crate::document::shape::Shape::{
    Anything, Boolean, Choice, ChoiceBut, Command, Condition, Duration, Either, Format, Integer, Line, List, Mapping,
    Number, OneOrMany, Path, Pattern, PhaseId, Rate, Size, Table, Template, Text, Tool, Word, Words,
};
use crate::document::shape::{Field, Keys, NameRule, Rest, Shape, field};

use super::model::{
    Effects, LossKind as PhaseValue, OnChange, OnInterrupt, PhaseFailure, PlanFailure, Priority, RetryWhen, Staleness,
};
use super::parts::{IfExpired, IfSilent, MayEdit, Occasion, ReplanWhen, Scope, WhenBusy, WhenLimited};
use crate::plan::freshness::{IfAhead, IssueSync};
use checkpoint::CHECKPOINT;
pub(super) use checkpoint::GIT_COMMIT;
use freshness::FRESHNESS;
pub(super) use freshness::{GIT, PROBE};

const COUNT: Shape = Integer { min: 0, max: 1_000_000 };
const POSITIVE: Shape = Integer { min: 1, max: 1_000_000 };
const COMMANDS: Shape = OneOrMany(&Command);
const PATHS: Shape = OneOrMany(&Path);
const ENV: Shape = Table(NameRule::Variable, &Template);
/// A command, or one with the words that are told where it fails.
const REQUIREMENT_FORMS: Shape = Either(&[Command, Mapping(&REQUIREMENT)]);
const REQUIRES: Shape = OneOrMany(&REQUIREMENT_FORMS);
const BUDGET: Shape = Mapping(&BUDGET_KEYS);

/// The kinds of phase: the key that says how it is done.
pub(super) const KINDS: &[&str] = &["run", "agent", "approval", "external", "uses"];
/// Agents that have a limit of their name without the plan declaring one.
pub(super) const BUILT_IN_AGENTS: &[&str] = &["claude-code", "codex"];

const RETRY_WHEN: Shape = ChoiceBut(
    RetryWhen::WORDS,
    "interrupted",
    "interruptions never use up retries; `on-interrupt` says what happens after one",
);
pub(super) static PLAN: Keys = Keys { what: "the plan", fields: PLAN_FIELDS, rest: Rest::Extensions, one_of: &[] };
pub(super) static PHASE: Keys = Keys { what: "a phase", fields: PHASE_FIELDS, rest: Rest::Extensions, one_of: KINDS };
static DEFAULTS: Keys = Keys { what: "`defaults`", fields: DEFAULTS_FIELDS, rest: Rest::Extensions, one_of: &[] };

static ONE_PHASE: Shape = Mapping(&PHASE);
static ONE_MEMBER: Shape = Mapping(&MEMBER);
static ONE_NOTICE: Shape = Mapping(&NOTIFY);

/// The JSON Schema of the plan file.
pub fn json_schema() -> serde_json::Value {
    let mut schema = schema::schema("A plan of onward", &PLAN, Some(("phase", &PHASE)), Empty::Refused);
    // The checker says in its own words that the format is missing.
    schema["required"] = serde_json::json!(["onward", "phases"]);
    schema
}

/// The reference page of the plan file.
pub fn reference_page() -> String {
    crate::document::reference::page(&PLAN)
}

/// The keys that whoever writes a plan needs most, a line for each.
pub(crate) fn keys_in_short() -> String {
    let tables = [&PLAN, &PHASE, &AGENT, &RETRY, &ARTIFACT_KEYS, &APPROVAL, &EXTERNAL, &INPUT_KEYS];
    let sections =
        tables.map(|keys| format!("Keys of {}:\n{}", keys.what, crate::document::reference::short_list(keys)));
    sections.join("\n")
}

const PLAN_FIELDS: &[Field] = &[
    field("onward", Format, "Version of the format; always 1.").example("1"),
    field("name", Line, "Name of the plan.").default("plan").example("nightly-load"),
    field("run-name", Line, "Name of one run; may hold expressions.").example("load of ${{ inputs.day }}"),
    field("description", Text, "Purpose of the plan.").example("Loads the orders of one day."),
    field("type", Word, "Workflow type, the first part of run ids.").default("run").example("implement"),
    field("inputs", Table(NameRule::Name, &INPUT), "Values that are given when a run starts.")
        .example("{ day: { type: date, required: true } }"),
    field("env", ENV, "Variables of every phase.").example("{ DAY: \"${{ inputs.day }}\" }"),
    field("defaults", Mapping(&DEFAULTS), "Values that phases share where they do not say otherwise.")
        .example("{ timeout: 30m }"),
    field("max-parallel", POSITIVE, "Phases that run side by side.").default("4").example("2"),
    field("on-failure", Choice(PlanFailure::WORDS), "Consequence of a failed phase for the others.")
        .default("finish")
        .example("continue"),
    field(
        "concurrency",
        CONCURRENCY_FORMS,
        "Runs of the project that are not at work at the same time; or only the name of their group.",
    )
    .example("{ group: load, when-busy: fail }"),
    field("limits", Table(NameRule::Name, &LIMIT), "Named pools that phases draw on.")
        .example("{ api: { max-parallel: 2, rate: 60/1m } }"),
    field("freshness", Mapping(&FRESHNESS), "Facts that are checked on every resume.")
        .example("{ git: { if-branch-gone: stop } }"),
    field("checkpoint", Mapping(&CHECKPOINT), "When checkpoints are taken and how long they are kept.")
        .example("{ git-commit: { every: 3 } }"),
    field("replan", Mapping(&REPLAN), "How the plan may be changed while it runs.")
        .example("{ max: 2, approval: true }"),
    field("requires", REQUIRES, "Commands that must succeed before the run starts or goes on.")
        .example("[{ run: docker info, message: Start Docker first. }]"),
    field("paths", Table(NameRule::Name, &Path), "Named folders, for `${{ paths.NAME }}` and in every checkpoint.")
        .example("{ test_results: out/results/ }"),
    field("issue", Mapping(&ISSUE), "The issue this work belongs to.").example("{ number: 42 }"),
    field("team", List(&ONE_MEMBER), "Agents that work on it.").example("[{ agent: backend, role: developer }]"),
    field("notify", OneOrMany(&ONE_NOTICE), "Messages to people about the run.")
        .example("{ when: run-failed, command: mail -s \"$ONWARD_TEXT\" ops@example.org }"),
    field("phases", Table(NameRule::PhaseId, &ONE_PHASE), "The phases by id.")
        .required()
        .example("{ build: { run: make } }"),
    field("finally", Table(NameRule::PhaseId, &ONE_PHASE), "Phases that run at the end, whatever happened.")
        .example("{ clean-up: { run: rm -rf scratch } }"),
];

const NAME: Field = field("name", Line, "Shown to people instead of the id.").example("Build the program");
const SHELL: Field = field("shell", Words, "The shell and its flags.").default("sh -e").example("bash -euo pipefail");
const DIRECTORY: Field =
    field("working-directory", Path, "Folder it is done in, relative to the top of the project.").example("web");
const VARIABLES: Field = field("env", ENV, "Variables of this phase.").example("{ CI: \"1\" }");
const TIMEOUT: Field = field("timeout", Duration, "How long one attempt may take.").example("30m");
const RETRIES: Field = field(
    "retry",
    RETRY_FORMS,
    "How often, after which ends and with which pause it is tried again; or only how often.",
)
.example("{ max: 2, backoff: { initial: 10s } }");
const EFFECTS: Field = field(
    "effects",
    Choice(Effects::WORDS),
    "Effects of running it: `none`, only `files` of the project, or `external` ones such as a payment.",
)
.default("files")
.example("external");
const PRIORITY: Field =
    field("priority", Choice(Priority::WORDS), "Order among phases that are ready.").default("normal").example("high");
const ON_INTERRUPT: Field =
    field("on-interrupt", Choice(OnInterrupt::WORDS), "How it goes on after an interruption.").example("rerun-clean");
const ON_CHANGE: Field =
    field("on-change", Choice(OnChange::WORDS), "What happens if it is done and its definition changed.")
        .example("rerun");
const ON_FAILURE: Field =
    field("on-failure", Choice(PhaseFailure::WORDS), "What happens after the last retry.").example("skip");
const LIMITS: Field = field("limits", OneOrMany(&Text), "Limits it draws on.").example("[api]");
const LOCKS: Field =
    field("locks", OneOrMany(&Line), "Names of which only one holder works at a time; `git` is built in.")
        .example("[git]");
const RUNS_ON: Field =
    field("runs-on", Line, "Entry of `executors` in the configuration.").example("cluster").not_yet();
const RESOURCES: Field =
    field("resources", Mapping(&RESOURCE), "Needs on a cluster.").example("{ cpus: 4, memory: 8GB }").not_yet();
const FINGERPRINT: Field = field(
    "fingerprint",
    COMMANDS,
    "Commands whose output is compared, such as versions of tools: a finished phase is stale when it changes.",
)
.example("cc --version");
const AGENT_FIELD: Field =
    field("agent", Mapping(&AGENT), "Done by a coding agent.").example("{ use: claude-code, prompt: Fix the tests }");
const REPLAN_FIELD: Field =
    field("replan", Mapping(&REPLAN), "How this phase may change the plan.").example("{ when: [failed] }");

const PHASE_FIELDS: &[Field] = &[
    NAME,
    field("description", Text, "The deliverable.").example("Compiles everything once."),
    field("needs", OneOrMany(&NEED), "Phases that come before.").example("[fetch, { phase: lint, state: completed }]"),
    field("tasks", OneOrMany(&Line), "Steps of its work, one a line; `onward next` prints them.")
        .example("[users table, index]"),
    field("run", Command, "Done by a shell script.").example("make all"),
    AGENT_FIELD,
    field("approval", APPROVAL_FORMS, "Done by a person who says yes; the whole block, or only the question.")
        .example("{ message: \"Release it?\" }"),
    field("external", Mapping(&EXTERNAL), "Done by someone else, who reports in.")
        .example("{ instructions: Write the release notes }"),
    field("uses", Path, "Done by another plan.").example("plans/publish.yaml"),
    field("with", Table(NameRule::Name, &Template), "Inputs of the plan that `uses` names.")
        .example("{ target: prod }"),
    SHELL,
    DIRECTORY,
    VARIABLES,
    TIMEOUT,
    RETRIES,
    field("if", Condition, "Condition; if it does not hold, the phase is skipped.")
        .example("inputs.target == 'prod' && success()"),
    field("matrix", Mapping(&MATRIX), "Runs it once for each combination of values, which are `${{ matrix.NAME }}`.")
        .example("{ day: [mon, tue], max-parallel: 2 }"),
    field(
        "outputs",
        Table(NameRule::Name, &Text),
        "Names of its outputs and their purpose; it writes `NAME=VALUE` lines to the file `$ONWARD_OUTPUT`.",
    )
    .example("{ version: the version that was built }"),
    RUNS_ON,
    RESOURCES,
    field("requires", REQUIRES, "Commands that must succeed before each attempt at it.")
        .example("[{ run: gh auth status, message: Log in to GitHub. }]"),
    field("reads", OneOrMany(&Template), "Globs of files it reads.").example("[\"src/**\"]"),
    field("writes", PATHS, "Globs of files it writes; phases that write the same files never run side by side.")
        .example("[\"build/**\"]"),
    field("artifacts", ARTIFACTS, "Files that must be there when it is done; in a list each is called by its path.")
        .example("{ program: build/app }"),
    field("verify", COMMANDS, "Commands that prove the work.").example("[make test]"),
    field("done-when", COMMANDS, "Probe: 0 the effect is there, 1 it is not, anything else cannot tell.")
        .example("gh release view v1"),
    EFFECTS,
    PRIORITY,
    field("kind", Choice(PhaseValue::WORDS), "Its kind of result; the hardest to reconstruct goes first.")
        .example("issue"),
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

const INPUT: Shape = Mapping(&INPUT_KEYS);
pub(super) static INPUT_KEYS: Keys = Keys::of(
    "an input",
    &[
        field("type", Choice(&["string", "integer", "number", "boolean", "date", "choice"]), "The type of its value.")
            .default("string")
            .example("date"),
        field("required", Boolean, "Whether it must be given.").default("false").example("true"),
        field("default", Text, "Its value where none is given.").example("staging"),
        field("choices", List(&Text), "The values that may be chosen.").example("[staging, prod]"),
        field("description", Text, "Its purpose.").example("The day to load."),
    ],
);

const NEED: Shape = Either(&[PhaseId, Mapping(&NEED_KEYS)]);
pub(super) static NEED_KEYS: Keys = Keys::of(
    "an entry of `needs`",
    &[
        field("phase", PhaseId, "The phase that comes before.").required().example("fetch"),
        field("staleness", Choice(Staleness::WORDS), "When it makes this one stale.")
            .default("outputs")
            .example("ignore"),
        field("state", Choice(&["completed"]), "`completed`: a skipped phase does not count as done.")
            .example("completed"),
    ],
);

/// Blocks of which the one value that matters most may stand alone; `short_forms` writes them out.
const RETRY_FORMS: Shape = Either(&[RETRIES_MAX, Mapping(&RETRY)]);
const CONCURRENCY_FORMS: Shape = Either(&[Line, Mapping(&CONCURRENCY)]);
const APPROVAL_FORMS: Shape = Either(&[Template, Mapping(&APPROVAL)]);
const ARTIFACTS: Shape = Either(&[List(&Path), Table(NameRule::Name, &ARTIFACT)]);

const RETRIES_MAX: Shape = Integer { min: 0, max: 1000 };
pub(super) static RETRY: Keys = Keys::of(
    "`retry`",
    &[
        field("max", RETRIES_MAX, "Retries after the first attempt.").default("0").example("2"),
        field("when", OneOrMany(&RETRY_WHEN), "Ends after which it is tried again.")
            .default_items(&["transient", "failed", "timed-out"])
            .example("[transient]"),
        field("output-matches", Pattern, "Only if the end of the output matches.").example("connection reset"),
        field("backoff", Mapping(&BACKOFF), "The pause before a retry.").example("{ initial: 5s, factor: 2 }"),
    ],
);

pub(super) static BACKOFF: Keys = Keys::of(
    "`backoff`",
    &[
        field("initial", Duration, "The first pause.").default("10s").example("5s"),
        field("factor", Number, "Factor from one pause to the next.").default("2").example("1.5"),
        field("max", Duration, "The longest pause.").default("5m").example("1m"),
        field("jitter", Boolean, "Whether pauses vary a little.").default("true").example("false"),
    ],
);

pub(super) static MATRIX: Keys = Keys {
    what: "`matrix`",
    fields: &[
        field("max-parallel", POSITIVE, "Combinations that run side by side.").example("2"),
        field("fail-fast", Boolean, "Whether one failure keeps those from starting that have not begun.")
            .default("false")
            .example("true"),
    ],
    rest: Rest::Names(NameRule::Name, &Either(&[List(&Template), Template])),
    one_of: &[],
};

static RESOURCE: Keys = Keys::of(
    "`resources`",
    &[
        field("cpus", Number, "Processors.").example("4"),
        field("gpus", COUNT, "Graphics processors.").example("1"),
        field("memory", Size, "Main memory.").example("8GB"),
        field("disk", Size, "Scratch space.").example("100GB"),
        field("time", Duration, "Time on the cluster.").example("2h"),
    ],
);

const ARTIFACT: Shape = Either(&[Path, Mapping(&ARTIFACT_KEYS)]);
pub(super) static ARTIFACT_KEYS: Keys = Keys::of(
    "an artifact",
    &[
        field("path", Path, "Its place.").required().example("build/app"),
        field("required", Boolean, "Whether the phase fails without it.").default("true").example("false"),
        field("keep", Either(&[Boolean, Choice(&["forever"]), Duration]), "Whether and how long a copy is kept.")
            .default("false")
            .example("30d"),
        field("max-size", Size, "Larger files are not kept.").example("100MB"),
        field("kind", Choice(&["report"]), "A report has its place in the context of the run.").example("report"),
    ],
);

pub(super) static BUDGET_KEYS: Keys = Keys::of(
    "a budget",
    &[field("usd", Number, "Dollars.").example("5"), field("tokens", COUNT, "Tokens.").example("1000000")],
);

pub(super) static AGENT: Keys = Keys::of(
    "`agent`",
    &[
        field("use", Word, "Name of the agent.").example("claude-code"),
        field("model", Line, "Name of the model.").example("opus"),
        field("prompt", Template, "The task.").example("Fix the failing tests"),
        field("prompt-file", Path, "A file with the task.").example("prompts/fix.md"),
        field("context", OneOrMany(&Template), "Texts and files it is given to read.")
            .example("[issue, docs/design.md]"),
        field("result", Mapping(&RESULT), "The form of its answer.").example("{ schema: schemas/review.json }"),
        field("session", Choice(&["continue", "new"]), "Whether a later attempt goes on in the same session.")
            .default("continue")
            .example("new"),
        field("max-turns", POSITIVE, "Turns it may take, all attempts together.").example("40"),
        field("worktree", Choice(&["never", "own"]), "Whether it works in a git worktree of its own.")
            .default("never")
            .example("own"),
        field("budget", BUDGET, "Its largest cost, all attempts together.").example("{ usd: 5 }"),
        field("allow", OneOrMany(&Text), "Tools it may use.").example("[Edit, \"Bash(make:*)\"]"),
        field("deny", OneOrMany(&Text), "Tools it may not use.").example("[WebFetch]"),
        field("ask", OneOrMany(&Tool), "Tools that a person approves one by one.").example("[\"Bash(git push:*)\"]"),
        field("args", OneOrMany(&Template), "Further arguments of its command.").example("[--verbose]"),
        field("env", ENV, "Variables of the agent, beside those of the phase.").example("{ DEBUG: \"1\" }"),
    ],
);

static RESULT: Keys =
    Keys::of("`result`", &[field("schema", Path, "JSON Schema of the answer.").example("schemas/review.json")]);

pub(super) static APPROVAL: Keys = Keys::of(
    "`approval`",
    &[
        field("message", Template, "The question.").required().example("Release ${{ phases.build.outputs.version }}?"),
        field("show", OneOrMany(&Template), "Texts and files that are shown with it.").example("[CHANGELOG.md]"),
        field("choices", List(&Line), "The answers; the first one is a yes.")
            .default_items(&["approve", "reject"])
            .example("[ship, wait, reject]"),
        field("who", OneOrMany(&Line), "People who may answer; anybody where none is named.").example("[ana, ben]"),
        field("expires", Duration, "How long the question stands.").example("2d"),
        field("if-expired", Choice(IfExpired::WORDS), "What happens if nobody answers in time.")
            .default("pause")
            .example("reject"),
    ],
);

pub(super) static EXTERNAL: Keys = Keys::of(
    "`external`",
    &[
        field("instructions", Template, "The work to be done.").required().example("Write the release notes"),
        field("heartbeat", Duration, "How often the worker reports.").example("10m"),
        field("if-silent", Choice(IfSilent::WORDS), "What happens if no report comes in time.")
            .default("wait")
            .example("fail"),
    ],
);

pub(super) static REQUIREMENT: Keys = Keys::of(
    "an entry of `requires`",
    &[
        field("run", Command, "The command; it must end with 0.").required().example("docker info"),
        field("message", Text, "Text that is shown if it fails, instead of the command.")
            .example("Start Docker first."),
    ],
);

pub(super) static CONCURRENCY: Keys = Keys::of(
    "`concurrency`",
    &[
        field("group", Line, "Name of the group; it may ask for inputs.")
            .required()
            .example("load-${{ inputs.region }}"),
        field(
            "when-busy",
            Choice(WhenBusy::WORDS),
            "What a run does while another of its group is at work: `wait` for its end, `fail` with exit code 11 before \
             anything is made, or `cancel` that one and take its place.",
        )
        .default("wait")
        .example("fail"),
        field("cancel-in-progress", Boolean, "`true` is `when-busy: cancel`, as GitHub Actions writes it.")
            .default("false")
            .example("true"),
    ],
);

const LIMIT: Shape = Mapping(&LIMIT_KEYS);
pub(super) static LIMIT_KEYS: Keys = Keys::of(
    "a limit",
    &[
        field("max-parallel", POSITIVE, "Phases that draw on it at once.").example("2"),
        field("rate", Rate, "Starts within a sliding window.").example("60/1m"),
        field("budget", BUDGET, "The largest cost of all of them, in one run.").example("{ usd: 20 }"),
        field("detect", Mapping(&DETECT), "How a rate limit is recognised.").example("{ exit-codes: [75] }"),
        field("when-limited", Choice(WhenLimited::WORDS), "What happens when a phase is rate-limited.")
            .default("wait")
            .example("pause"),
        field("max-wait", Duration, "The longest wait; a reset beyond it pauses the run.").default("6h").example("30m"),
        field("scope", Choice(Scope::WORDS), "Who shares it; `project`, but `user` for built-in agents.")
            .example("user"),
    ],
);

pub(super) static DETECT: Keys = Keys::of(
    "`detect`",
    &[
        field("exit-codes", OneOrMany(&Integer { min: 0, max: 255 }), "Exit codes that mean rate-limited.")
            .example("[75]"),
        field("output-matches", Pattern, "Output that means rate-limited.").example("quota exceeded"),
        field("reset-at", Pattern, "Captures the time of the reset.").example("\"resets at ([0-9]+)\""),
    ],
);

pub(super) static REPLAN: Keys = Keys::of(
    "`replan`",
    &[
        field("max", COUNT, "Revisions in one run.").default("4").example("2"),
        field("max-per-phase", COUNT, "Revisions one phase may ask for.").default("2").example("1"),
        field("may-edit", Choice(MayEdit::WORDS), "Phases that a revision may change.")
            .default("downstream")
            .example("pending"),
        field("approval", Boolean, "Whether a person must agree.").default("true").example("false"),
        field(
            "run",
            Command,
            "Prints the new plan; without it the agent of the phase writes one, else that of `defaults`.",
        )
        .example("./replan.sh"),
        field(
            "when",
            OneOrMany(&Choice(ReplanWhen::WORDS)),
            "Events that ask for one; `too-complex` too where a figure is set.",
        )
        .default_items(&["agent-asked"])
        .example("[failed, too-complex]"),
        field("complexity-max", COUNT, "A reported figure above this asks for one.").default("8").example("5"),
        field("tasks-max", COUNT, "More open tasks than this ask for one first.").default("10").example("20"),
    ],
);

pub(super) static ISSUE: Keys = Keys::of(
    "`issue`",
    &[
        field("number", Either(&[Integer { min: 1, max: i64::MAX }, Line]), "Its number.").example("42"),
        field("provider", Line, "The program that knows it, or a JSON file that holds it.")
            .default("gh")
            .example("tools/issue"),
        field("states", Table(NameRule::Free, &Anything), "Phases that its labels stand for.")
            .example("{ \"state:review\": review }"),
        field("sync", Choice(IssueSync::WORDS), "`labels`: the label of a phase is set when the phase starts.")
            .example("labels"),
        field("if-ahead", Choice(IfAhead::WORDS), "The answer to a label of a phase that is still ahead.")
            .default("warn")
            .example("ask"),
    ],
);

pub(super) static MEMBER: Keys = Keys::of(
    "a member of the team",
    &[
        field("agent", Line, "Its name.").required().example("backend"),
        field("role", Line, "Its role.").example("developer"),
    ],
);

pub(super) static NOTIFY: Keys = Keys::of(
    "an entry of `notify`",
    &[
        field("when", OneOrMany(&Choice(Occasion::WORDS)), "Events that are told.").required().example("[run-failed]"),
        field("desktop", Boolean, "On the desktop, by `notify-send`.").example("true"),
        field("webhook", Line, "By a POST of a JSON document to this address, by `curl`.")
            .example("https://example.org/hook"),
        field(
            "command",
            Command,
            "By a command, which finds `ONWARD_EVENT`, `ONWARD_TEXT`, `ONWARD_RUN` and `ONWARD_PHASE`.",
        )
        .example("mail -s \"$ONWARD_TEXT\" ops@example.org"),
    ],
);

#[cfg(test)]
mod tests {
    /// An author copies an example from the reference page into a plan. It is accepted.
    #[test]
    fn every_example_is_accepted() {
        crate::document::reference::tests::check_examples(&super::PLAN);
    }
}
