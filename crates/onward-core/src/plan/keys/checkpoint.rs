//! Keys of `checkpoint`: when checkpoints are taken and how long they are kept, and the commits along the way.

use crate::document::shape::Shape::{Boolean, Choice, Duration, Either, Integer, Line, List, Mapping, OneOrMany};
use crate::document::shape::{Keys, Shape, field};

use super::POSITIVE;

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

pub(super) static CHECKPOINT: Keys = Keys::of(
    "`checkpoint`",
    &[
        field(
            "triggers",
            Either(&[List(&Choice(TRIGGERS)), Mapping(&TRIGGER_SWITCHES)]),
            "When one is taken: those that are listed, or each by itself.",
        )
        .example("[phase-transition, user-interrupt]"),
        field("git-commit", Mapping(&GIT_COMMIT), "Commits along the way.").example("{ every: 3 }"),
        field(
            "keep",
            Either(&[KEEP_ALL_OR_NONE, KEEP_COUNT, Mapping(&KEEP)]),
            "How many are kept of each trigger and phase: one count for all, or each by itself; before `checkpoint.retention` of the configuration.",
        )
        .example("{ phase-transition: 10, manual: all, succeeded-run: 7d }"),
        field(
            "compress",
            Boolean,
            "Whether they are compressed; it goes before `checkpoint.storage.compress` of the configuration.",
        )
        .example("false"),
        field(
            "mirror",
            OneOrMany(&Choice(&["pipeline-state", "checkpoint", "workflow", "crunch"])),
            "Formats of other tools, kept alongside.",
        )
        .example("[pipeline-state]"),
    ],
);

macro_rules! of_triggers {
    ($shape:expr, $about:literal, $example:literal
     $(, { $ages:expr, $($more:literal: $more_about:literal, $more_example:literal;)* })?) => {
        &[
            field("run-start", $shape, $about).example($example),
            field("phase-transition", $shape, $about).example($example),
            field("batch-complete", $shape, $about).example($example),
            field("agent-complete", $shape, $about).example($example),
            field("conflict-start", $shape, $about).example($example),
            field("conflict-resolved", $shape, $about).example($example),
            field("user-interrupt", $shape, $about).example($example),
            field("session-end", $shape, $about).example($example),
            field("manual", $shape, $about).example($example),
            $($(field($more, $ages, $more_about).example($more_example),)*)?
        ]
    };
}

static TRIGGER_SWITCHES: Keys = Keys::of("`triggers`", of_triggers!(Boolean, "Whether it takes a checkpoint.", "true"));

const KEEP_ALL_OR_NONE: Shape = Choice(&["all", "none"]);
const KEEP_COUNT: Shape = Integer { min: -1, max: 1_000_000 };

static KEEP: Keys = Keys::of(
    "`keep`",
    of_triggers!(
        Either(&[KEEP_ALL_OR_NONE, KEEP_COUNT]),
        "How many are kept; -1 or `all` keeps all, 0 or `none` none.",
        "10",
        {
            Either(&[Choice(&["forever"]), Duration]),
            "succeeded-run": "How long a completed run is kept after its last change, 30d where nothing is said; then it goes without a question.", "7d";
            "failed-run": "How long a failed run is kept after its last change, 30d where nothing is said; then an explicit `prune` takes it.", "90d";
        }
    ),
);

pub(in crate::plan) static GIT_COMMIT: Keys = Keys::of(
    "`git-commit`",
    &[
        field("every", POSITIVE, "Completed phases per commit.").default("3").example("5"),
        field("message", Line, "Its subject.").example("wip phases {first} to {last}"),
        field("trailers", OneOrMany(&Line), "Lines at its end; without them, the agents that did its phases.")
            .example("[\"Refs: #42\"]"),
        field("hooks", Boolean, "Whether the hooks of the repository run.").default("false").example("true"),
    ],
);
