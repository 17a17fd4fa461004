//! Keys of `freshness`: the facts that are checked on every resume.

use crate::document::shape::Shape::{Choice, Command, Either, Integer, Line, Mapping, Table};
use crate::document::shape::{Keys, NameRule, Rest, Shape, field};

use super::PATHS;
use crate::plan::freshness::IfChanged;

const IF_CHANGED: Shape = Choice(IfChanged::WORDS);
static ONE_PROBE: Shape = Mapping(&PROBE);

pub(in crate::plan) static FRESHNESS: Keys = Keys::of(
    "`freshness`",
    &[
        field("git", Mapping(&GIT), "The branch.").example("{ branch: feat/x, if-branch-gone: stop }"),
        field("probes", Table(NameRule::Name, &ONE_PROBE), "Anything else that may change.")
            .example("{ schema: { command: ./schema-version, if-changed: ask } }"),
    ],
);

pub(in crate::plan) static GIT: Keys = Keys::of(
    "`git`",
    &[
        field("branch", Line, "The branch of the work.").example("feat/x"),
        field("base", Line, "The branch it started from.").example("main"),
        field("if-branch-gone", IF_CHANGED, "What happens if the branch is gone.").example("stop"),
        field("if-base-moved", IF_CHANGED, "What happens if the base has new commits.").example("warn"),
        field("if-dirty", IF_CHANGED, "What happens if there are uncommitted changes.").example("ask"),
    ],
);

pub(in crate::plan) static PROBE: Keys = Keys {
    what: "a probe",
    fields: &[
        field("command", Command, "Its output is compared.").example("./schema-version"),
        field("files", PATHS, "Their content is compared.").example("[schema.sql]"),
        field("issue", Either(&[Integer { min: 1, max: i64::MAX }, Line]), "Its text is compared.").example("42"),
        field("if-changed", IF_CHANGED, "What happens if it changed.").default("ask").example("rerun"),
    ],
    rest: Rest::Refused,
    one_of: &["command", "files", "issue"],
};
