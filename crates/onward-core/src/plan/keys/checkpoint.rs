//! Keys of `checkpoint`: when checkpoints are taken and how long they are kept, and the commits along the way.

use crate::document::shape::Shape::{Boolean, Choice, Duration, Either, Integer, Line, List, Mapping, OneOrMany};
use crate::document::shape::{Keys, field};

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
        field("keep", Mapping(&KEEP), "How many or how long.").example("{ phase-transition: 10 }").not_yet(),
        field("compress", Boolean, "Whether they are compressed.").example("true").not_yet(),
        field(
            "mirror",
            OneOrMany(&Choice(&["pipeline-state", "checkpoint", "workflow", "crunch"])),
            "Formats of other tools, kept alongside.",
        )
        .example("[pipeline-state]"),
    ],
);

macro_rules! of_triggers {
    ($shape:expr, $about:literal, $example:literal $(, $more:literal)*) => {
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
            $(field($more, $shape, $about).example($example),)*
        ]
    };
}

static TRIGGER_SWITCHES: Keys = Keys::of("`triggers`", of_triggers!(Boolean, "Whether it takes a checkpoint.", "true"));

static KEEP: Keys = Keys::of(
    "`keep`",
    of_triggers!(
        Either(&[Choice(&["all", "none"]), Integer { min: -1, max: 1_000_000 }, Duration]),
        "How many are kept, or how long.",
        "10",
        "succeeded-run",
        "failed-run"
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
