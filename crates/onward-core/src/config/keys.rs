//! Every key of a configuration file, declared once: the checker, its messages, the values that are in force where no file
//! sets them, the JSON Schema and the page `docs/config.md` are made from these tables. A new key starts here; one that lets something run or keeps less from others says `needs_trust`.

use crate::document::schema::{self, Empty};
use crate::document::shape::Shape::{
    Anything, Boolean, Choice, Command, Duration, Either, Integer, Line, List, Mapping, OneOrMany, Pattern, Table,
};
use crate::document::shape::{Field, Keys, NameRule, Shape, field};
use crate::plan::{MayEdit, ReplanWhen, UnsaidNeeds};

/// The word for -1, which people find easier to read.
pub(super) const ALL: &str = "all";

/// The key under which names of the author's choosing stand.
pub(super) const EXECUTORS: &str = "executors";

/// The same, of coding agents.
pub(super) const AGENTS: &str = "agents";
/// Tables of which each entry is a key of its own.
pub(super) const NAMED: [&str; 2] = [EXECUTORS, AGENTS];

const COUNT: Shape = Either(&[Integer { min: -1, max: 1_000_000 }, Choice(&[ALL])]);
const MIRRORS: Shape = Choice(&["pipeline-state", "checkpoint", "workflow", "crunch"]);

/// The JSON Schema of the configuration file.
pub fn json_schema() -> serde_json::Value {
    schema::schema("A configuration of onward", &CONFIG, None, Empty::Allowed)
}

/// The reference page of the configuration file.
pub fn reference_page() -> String {
    crate::document::reference::page(&CONFIG)
}

pub(super) static CONFIG: Keys = Keys::of(
    "the configuration",
    &[
        field("resume", Mapping(&RESUME), "When an unfinished run goes on without a question.")
            .example("{ auto: never }"),
        field("checkpoint", Mapping(&CHECKPOINT), "When checkpoints are taken, and how long they are kept.")
            .example("{ snapshots: false }"),
        field("store", Either(&[Line, Mapping(&STORE)]), "Where runs are kept: the address of a shared store.")
            .example("postgres://db.example.org/onward")
            .not_yet_as_text(),
        field("blobs", Line, "Where large content is kept.").example("s3://bucket/onward").not_yet(),
        field(EXECUTORS, Table(NameRule::Name, &EXECUTOR), "Engines that phases name in `runs-on`.")
            .no_entries()
            .example("{ cluster: { type: slurm } }")
            .not_yet(),
        field(
            AGENTS,
            Table(NameRule::Name, &AGENT),
            "Coding agents that `agent.use` names, beside those that are built in; of a project, only after `onward trust`.",
        )
        .no_entries()
        .example("{ mine: { start: [my-agent, --json], continue: [my-agent, --json, --session, \"{session}\"] } }")
        .needs_trust(),
        field("markdown", Mapping(&MARKDOWN), "How plans in Markdown are read.").example("{ needs: none }"),
        field("plan", Mapping(&PLANNING), "Who writes a plan for a task.").example("{ agent: codex }"),
        field("logs", Mapping(&LOGS), "How long the output of phases is kept.").example("{ max_age: 90d }"),
        field("redact", Mapping(&REDACT), "Variables that hold secrets, beside those whose names say so.")
            .example("{ names: [DEPLOY_CODE] }"),
    ],
);

static RESUME: Keys = Keys::of(
    "`resume`",
    &[
        field("auto", Choice(&["safe", "never"]), "Whether a run goes on by itself where nothing speaks against it.")
            .default("safe")
            .example("never"),
        field("max_age", Duration, "A run whose last change is older is asked about.").default("7d").example("2d"),
    ],
);

static CHECKPOINT: Keys = Keys::of(
    "`checkpoint`",
    &[
        field("enabled", Boolean, "Whether checkpoints are taken without being asked for.")
            .default("true")
            .example("false"),
        field("auto_checkpoint", Boolean, "The same as `enabled`; either of them switches off.")
            .default("true")
            .example("false"),
        field("checkpoint_triggers", Mapping(&TRIGGERS), "Events that take a checkpoint.")
            .example("{ batch_complete: false }"),
        field("retention", Mapping(&RETENTION), "How many of each are kept; -1 or `all` keeps all, 0 none.")
            .example("{ phase_transition: 10 }"),
        field("storage", Mapping(&STORAGE), "Where checkpoints lie, and how much they may take.")
            .example("{ max_size_mb: 500 }"),
        field("snapshots", Boolean, "Whether checkpoints keep the working tree, in a git repository.")
            .default("true")
            .example("false"),
        field("git-commit", Mapping(&GIT_COMMIT), "Commits along the way.").example("{ every: 3 }"),
        field("mirror", OneOrMany(&MIRRORS), "Formats of other tools, kept alongside.")
            .default_items(&[])
            .example("[pipeline-state]"),
    ],
);

static TRIGGERS: Keys = Keys::of(
    "`checkpoint_triggers`",
    &[
        field("run_start", Boolean, "When a run starts.").default("true").example("false"),
        field("phase_transition", Boolean, "After a phase.").default("true").example("false"),
        field("batch_complete", Boolean, "After a batch of phases.").default("true").example("false"),
        field("agent_complete", Boolean, "After an agent gave something out.").default("false").example("true"),
        field("conflict_events", Boolean, "Before a conflict is settled, and after.").default("true").example("false"),
        field("user_interrupt", Boolean, "When a person interrupts.").default("true").example("false"),
        field("session_end", Boolean, "When the session is ended from outside or its time is up.")
            .default("true")
            .example("false"),
    ],
);

static RETENTION: Keys = Keys::of(
    "`retention`",
    &[
        field("run_start", COUNT, "Of a run.").default("1").example("2"),
        field("phase_transition", COUNT, "Of each phase.").default("-1").example("10"),
        field("batch_complete", COUNT, "Of each phase.").default("3").example("1"),
        field("agent_complete", COUNT, "Of each phase.").default("1").example("2"),
        field("conflict_start", COUNT, "Of each phase.").default("-1").example("5"),
        field("conflict_resolved", COUNT, "Of each phase.").default("-1").example("5"),
        field("user_interrupt", COUNT, "Of a run.").default("1").example("2"),
        field("session_end", COUNT, "Of a run.").default("1").example("2"),
        field("manual", COUNT, "Of each phase; those with a name stay in any case.").default("-1").example("all"),
    ],
);

static STORAGE: Keys = Keys::of(
    "`storage`",
    &[
        field("location", Line, "Folder in the project that `mirror: [crunch]` writes; {issue} is filled in.")
            .example("\"checkpoints/{issue}\""),
        field("compress", Boolean, "Whether they are compressed.").default("true").example("false"),
        field("max_size_mb", Integer { min: 1, max: 1_000_000_000 }, "Above this the oldest go first.").example("500"),
    ],
);

static GIT_COMMIT: Keys = Keys::of(
    "`git-commit`",
    &[
        field(
            "every",
            Integer { min: 1, max: 1_000_000 },
            "Completed phases per commit; none are made where it is not set.",
        )
        .example("3"),
        field("message", Line, "The subject of the commit.").example("wip phases {first} to {last}"),
        field("trailers", OneOrMany(&Line), "Lines at its end; without them, the agents that did its phases.")
            .default_items(&[])
            .example("[\"Refs: #42\"]"),
        field(
            "hooks",
            Boolean,
            "Whether the hooks of the repository run; set by a project, only after `onward trust`.",
        )
        .default("false")
        .example("true")
        .needs_trust(),
    ],
);

static STORE: Keys = Keys::of(
    "`store`",
    &[field(
        "network",
        Choice(&["allow", "refuse"]),
        "Whether the store may lie on a network file system; allowed by a project, only after `onward trust`.",
    )
    .default("refuse")
    .example("allow")
    .needs_trust()],
);

/// Settings of an executor are free-form: it checks them itself when it is used.
const EXECUTOR: Shape = Table(NameRule::Free, &Anything);

const AGENT: Shape = Mapping(&AGENT_KEYS);
static AGENT_KEYS: Keys = Keys::of(
    "an agent",
    &[
        field("start", List(&Line), "The program and its arguments.").required().example("[my-agent, --json]"),
        field("continue", List(&Line), "The same to go on with a session; `{session}` stands for its id.")
            .example("[my-agent, --json, --session, \"{session}\"]"),
        field("prompt", Choice(&["stdin", "argument"]), "How it is given its task.")
            .default("stdin")
            .example("argument"),
        field("frames", Choice(&["json-lines", "text"]), "The form of what it prints.")
            .default("json-lines")
            .example("text"),
        field("session", Line, "JSON pointer to the id of the session.").example("/session_id"),
        field("text", Line, "JSON pointer to what the agent says.").example("/message/text"),
        field("cost", Line, "JSON pointer to the cost so far, in dollars.").example("/cost_usd"),
        field("limit", Mapping(&AGENT_LIMIT), "How a usage limit shows in what it prints.")
            .example("{ matches: \"quota exceeded\" }"),
    ],
);

static AGENT_LIMIT: Keys = Keys::of(
    "`limit`",
    &[
        field("matches", Pattern, "Output that means a limit.").example("quota exceeded"),
        field("reset-at", Pattern, "Captures the time at which it ends.").example("\"resets at ([0-9]+)\""),
    ],
);

static MARKDOWN: Keys = Keys::of(
    "`markdown`",
    &[
        field("agent", Line, "The agent that does the phases; where none is named, someone else does and reports in.")
            .example("claude-code"),
        field("needs", Choice(UnsaidNeeds::WORDS), "Needs of a phase that names none: all earlier ones, or none.")
            .default("earlier")
            .example("none"),
        field(
            "replan",
            Mapping(&MARKDOWN_REPLAN),
            "How these plans may be changed while they run, as `replan` of other plans.",
        )
        .example("{ tasks-max: 10 }"),
    ],
);

const FIGURE: Shape = Integer { min: 0, max: 1_000_000 };
/// As `replan` of a plan has them, defaults included: those stand there, so that it is known which of them were written.
static MARKDOWN_REPLAN: Keys = Keys::of(
    "`replan`",
    &[
        field("max", FIGURE, "Revisions in one run; 4 where nothing is said.").example("2"),
        field("max-per-phase", FIGURE, "Revisions one phase may ask for; 2 where nothing is said.").example("1"),
        field(
            "may-edit",
            Choice(MayEdit::WORDS),
            "Phases that a revision may change; downstream where nothing is said.",
        )
        .example("pending"),
        field("approval", Boolean, "Whether a person must agree; `false` of a project only after `onward trust`.")
            .default("true")
            .example("false")
            .needs_trust(),
        field("run", Command, "Prints the new plan, in Markdown; of a project, only after `onward trust`.")
            .example("./replan.sh")
            .needs_trust(),
        field(
            "when",
            OneOrMany(&Choice(ReplanWhen::WORDS)),
            "Events that ask for a revision; agent-asked where nothing is said, too-complex too where a figure is set.",
        )
        .example("[failed, too-complex]"),
        field("complexity-max", FIGURE, "A reported figure above this asks for one; 8 where nothing is said.")
            .example("5"),
        field(
            "tasks-max",
            FIGURE,
            "A phase with more open boxes asks for one before it starts; 10 where nothing is said.",
        )
        .example("10"),
    ],
);

static PLANNING: Keys = Keys::of(
    "`plan`",
    &[field("agent", Line, "The agent of `onward plan`; claude-code where none is named.").example("codex")],
);

static LOGS: Keys = Keys::of(
    "`logs`",
    &[field(
        "max_age",
        Duration,
        "Of an attempt that another came after; the output of the last one stays with its run.",
    )
    .default("30d")
    .example("90d")],
);

static REDACT: Keys = Keys::of(
    "`redact`",
    &[
        field(
            "names",
            OneOrMany(&Line),
            "Variables that hold secrets although their names do not say so; those of a project and your own are added up.",
        )
            .default_items(&[])
            .example("[DEPLOY_CODE]"),
        field(
            "except",
            OneOrMany(&Line),
            "Variables that hold none although their names say so; set by a project, only after `onward trust`.",
        )
        .default_items(&[])
        .example("[SORT_KEY]")
        .needs_trust(),
    ],
);

/// Every key that can be set, dotted, in the order of the tables.
pub(super) fn leaves() -> Vec<(String, &'static Field)> {
    let mut out = Vec::new();
    collect("", &CONFIG, &mut out);
    out
}

fn collect(prefix: &str, keys: &'static Keys, out: &mut Vec<(String, &'static Field)>) {
    for field in keys.fields {
        let key = format!("{prefix}{}", field.key);
        // All other shapes are values, and stand for themselves.
        if let Shape::Mapping(inner) = field.shape {
            collect(&format!("{key}."), inner, out);
        } else {
            out.push((key.clone(), field));
            if let Shape::Either([_, Shape::Mapping(inner)]) = field.shape {
                collect(&format!("{key}."), inner, out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    /// An author copies an example from the reference page into a configuration. It is accepted.
    #[test]
    fn every_example_is_accepted() {
        crate::document::reference::tests::check_examples(&super::CONFIG);
    }
}
