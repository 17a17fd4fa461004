//! Keys that a phase may have, but not one that is done this way: nobody acts on them, and their author believes that
//! somebody does.

use crate::diagnostic::{Code, Diagnostic, Severity};

use crate::document::tree::{Node, NodeEntry};

/// A way in which phases are done, what cannot be said of those, and what to write instead.
struct Idle {
    kind: &'static str,
    /// The kind in words, behind "a phase that is".
    what: &'static str,
    keys: &'static [&'static str],
    help: &'static str,
}

/// The keys that prove that a phase is done. A plan that seems to be checked and is not is an error; all else is a
/// warning.
const PROOFS: &[&str] = &["artifacts", "verify", "done-when"];

const APPROVAL: &str = "an approval";
const REQUIRES: &str = "let a phase before it look, by its `verify`";
const USES: &str = "done by another plan";

const IDLE: &[Idle] = &[
    Idle { kind: "approval", what: APPROVAL, keys: PROOFS, help: "let a phase that needs this one prove it" },
    Idle { kind: "approval", what: APPROVAL, keys: &["timeout"], help: "`expires` and `if-expired` end the wait" },
    Idle {
        kind: "approval",
        what: APPROVAL,
        keys: &["retry"],
        help: "leave it out; `onward retry RUN PHASE` asks once more",
    },
    Idle {
        kind: "approval",
        what: APPROVAL,
        keys: &["shell", "working-directory", "reads", "writes", "on-interrupt", "locks", "limits", "fingerprint"],
        help: "leave it out",
    },
    Idle { kind: "approval", what: APPROVAL, keys: &["requires"], help: REQUIRES },
    Idle { kind: "external", what: "done by somebody else", keys: &["requires"], help: REQUIRES },
    Idle { kind: "uses", what: USES, keys: &["requires"], help: "put it into the phases of that plan" },
    Idle { kind: "uses", what: USES, keys: PROOFS, help: "put it into that plan, or into a phase that needs this one" },
    Idle { kind: "uses", what: USES, keys: &["env"], help: "give the other plan its inputs by `with`" },
    Idle {
        kind: "uses",
        what: USES,
        keys: &[
            "shell",
            "working-directory",
            "timeout",
            "retry",
            "reads",
            "writes",
            "on-interrupt",
            "fingerprint",
            "priority",
            "kind",
        ],
        help: "put it into the phases of that plan, or into its `defaults`",
    },
];

pub(super) fn check(phase: &Node, faults: &mut Vec<Diagnostic>) {
    for Idle { kind, what, keys, help } in IDLE.iter().filter(|idle| phase.get(idle.kind).is_some()) {
        let idle = phase.entries().iter().filter(|entry| entry.key != *kind && keys.contains(&entry.key.as_str()));
        faults.extend(idle.map(|entry| fault(entry, what, help)));
    }
    by_value(phase, faults);
}

fn fault(entry: &NodeEntry, what: &str, help: &str) -> Diagnostic {
    let key = &entry.key;
    let proves = PROOFS.contains(&key.as_str());
    let why = if proves { "nobody would look" } else { "it changes nothing" };
    let severity = if proves { Severity::Error } else { Severity::Warning };
    let message = format!("`{key}` has no effect in a phase that is {what}: {why}");
    Diagnostic { severity, ..Diagnostic::warning(Code::NoEffect, message).at(entry.place).help(help) }
}

/// Keys that have no effect because of a value, or because of another key.
fn by_value(phase: &Node, faults: &mut Vec<Diagnostic>) {
    let waits = phase.get("external").is_some() && phase.get("verify").is_none();
    if let Some(entry) = phase.entry("timeout").filter(|_| waits) {
        let help = "`heartbeat` and `if-silent` of `external` say how long it is waited for";
        faults.push(fault(entry, "done by somebody else", help));
    }
    let replans = |entry: &&NodeEntry| entry.value.text() == Some("replan") && phase.get("uses").is_some();
    if let Some(entry) = phase.entry("on-failure").filter(replans) {
        let message = format!("`on-failure: replan` has no effect in a phase that is {USES}: it fails");
        let help = "put it into the phases of that plan, or into its `defaults`";
        faults.push(Diagnostic::warning(Code::NoEffect, message).at(entry.place).help(help));
    }
}
