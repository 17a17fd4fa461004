//! Every key of a configuration file: the tables behind the checker, its messages and the JSON Schema. A new key starts
//! here, and gets its line in the table of defaults.

use crate::plan::shape::Shape::{
    Anything, Boolean, Choice, Duration, Either, Integer, Line, Mapping, OneOrMany, Table,
};
use crate::plan::shape::{Field, Keys, NameRule, Rest, Shape, field};

/// The word for -1, which people find easier to read.
pub(super) const ALL: &str = "all";

const COUNT: Shape = Either(&[Integer { min: -1, max: 1_000_000 }, Choice(&[ALL])]);
const MIRRORS: Shape = Choice(&["pipeline-state", "checkpoint", "workflow", "crunch"]);

pub(super) static CONFIG: Keys = keys(
    "the configuration",
    &[
        field("resume", Mapping(&RESUME), "When an unfinished run goes on without a question."),
        field("checkpoint", Mapping(&CHECKPOINT), "When checkpoints are taken, and how long they are kept."),
        field("store", Either(&[Line, Mapping(&STORE)]), "Where runs are kept: the address of a shared store."),
        field("blobs", Line, "Where large content is kept."),
        field("executors", Table(NameRule::Name, &EXECUTOR), "Engines that phases name in `runs-on`."),
        field("markdown", Mapping(&MARKDOWN), "How plans in Markdown are read."),
        field("redact", Mapping(&REDACT), "What is cut out as secret, beside what says so itself."),
    ],
);

static RESUME: Keys = keys(
    "`resume`",
    &[
        field("auto", Choice(&["safe", "never"]), "Whether it goes on by itself where nothing speaks against it."),
        field("max_age", Duration, "A run that last moved longer ago is asked about."),
    ],
);

static CHECKPOINT: Keys = keys(
    "`checkpoint`",
    &[
        field("enabled", Boolean, "Whether checkpoints are taken without being asked for."),
        field("auto_checkpoint", Boolean, "The same as `enabled`; either of them switches off."),
        field("checkpoint_triggers", Mapping(&TRIGGERS), "What takes a checkpoint."),
        field("retention", Mapping(&RETENTION), "How many of each are kept; -1 or `all` keeps all, 0 none."),
        field("storage", Mapping(&STORAGE), "Where checkpoints lie, and how much they may take."),
        field("snapshots", Boolean, "Whether checkpoints keep the working tree, in a git repository."),
        field("git-commit", Mapping(&GIT_COMMIT), "Commits along the way."),
        field("mirror", OneOrMany(&MIRRORS), "Formats of other tools, kept alongside."),
    ],
);

static TRIGGERS: Keys = keys(
    "`checkpoint_triggers`",
    &[
        field("run_start", Boolean, "When a run starts."),
        field("phase_transition", Boolean, "After a phase."),
        field("batch_complete", Boolean, "After a batch of phases."),
        field("agent_complete", Boolean, "After an agent gave something out."),
        field("conflict_events", Boolean, "Before a conflict is settled, and after."),
        field("user_interrupt", Boolean, "When a person interrupts."),
        field("session_end", Boolean, "When the session is ended from outside or its time is up."),
    ],
);

static RETENTION: Keys = keys(
    "`retention`",
    &[
        field("run_start", COUNT, "Of a run."),
        field("phase_transition", COUNT, "Of each phase."),
        field("batch_complete", COUNT, "Of each phase."),
        field("agent_complete", COUNT, "Of each phase."),
        field("conflict_start", COUNT, "Of each phase."),
        field("conflict_resolved", COUNT, "Of each phase."),
        field("user_interrupt", COUNT, "Of a run."),
        field("session_end", COUNT, "Of a run."),
        field("manual", COUNT, "Of each phase; those with a name stay in any case."),
    ],
);

static STORAGE: Keys = keys(
    "`storage`",
    &[
        field("location", Line, "Folder of the checkpoints; {issue} is filled in."),
        field("compress", Boolean, "Whether they are compressed."),
        field("max_size_mb", Integer { min: 1, max: 1_000_000_000 }, "Above this the oldest go first."),
    ],
);

static GIT_COMMIT: Keys = keys(
    "`git-commit`",
    &[
        field(
            "every",
            Integer { min: 1, max: 1_000_000 },
            "Completed phases per commit; none are made where it is not set.",
        ),
        field("message", Line, "The subject of the commit."),
        field("trailers", OneOrMany(&Line), "Lines at its end."),
        field("hooks", Boolean, "Whether the repository's hooks have a say."),
    ],
);

static STORE: Keys = keys(
    "`store`",
    &[field("network", Choice(&["allow", "refuse"]), "Whether the store may lie on a network file system.")],
);

/// What an executor is told is its own business until it is used.
const EXECUTOR: Shape = Table(NameRule::Free, &Anything);

static MARKDOWN: Keys = keys(
    "`markdown`",
    &[
        field("agent", Line, "The agent that does the phases; someone else does and reports in where it is not set."),
        field(
            "needs",
            Choice(&["earlier", "none"]),
            "What a phase without a word on it needs: all earlier ones, or none.",
        ),
    ],
);

static REDACT: Keys = keys(
    "`redact`",
    &[
        field("names", OneOrMany(&Line), "Variables that hold secrets although their names do not say so."),
        field("except", OneOrMany(&Line), "Variables that hold none although their names say so."),
    ],
);

const fn keys(what: &'static str, fields: &'static [Field]) -> Keys {
    Keys { what, fields, rest: Rest::Refused, one_of: &[] }
}
