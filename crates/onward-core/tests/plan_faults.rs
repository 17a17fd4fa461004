//! Authors make mistakes of every kind. Each mistake is named by its code, on its line, with the word that matters.

use std::collections::BTreeSet;

use onward_core::diagnostic::{Code, Diagnostic, Severity};
use onward_core::plan::parse;

/// A fault, the plan that has it, the line it is on and a word that message or help must have.
type Row = (Code, &'static str, u32, &'static str);

const SYNTAX: &[Row] = &[
    (Code::Syntax, "onward: 1\nname: [unclosed\nphases: {}", 3, "YAML"),
    (Code::Syntax, "{\n \"onward\": 1,\n \"name\": \"a\" \"b\"\n}", 3, "JSON"),
    (Code::Syntax, "{\"name\": \"half \\ud83d\"}", 1, "half"),
    (Code::Syntax, "onward: 1\n? [a]\n: b", 2, "key"),
    (Code::Syntax, "onward: 1\nx-a: &a [*a]", 2, "alias"),
    (Code::MultipleDocuments, "onward: 1\n---\nonward: 1", 2, "---"),
    (Code::TagRefused, "onward: 1\nname: !!str x\nphases: { a: { run: x } }", 2, "tag"),
    (Code::MergeKey, "onward: 1\nx-b: &b { run: x }\nphases:\n  a: { <<: *b }", 4, "defaults"),
    (Code::DuplicateKey, "onward: 1\nname: a\nname: b\nphases: { a: { run: x } }", 3, "line 2"),
    (Code::DuplicateKey, "onward: 1\nphases:\n  a: { run: x }\n  b: { run: x }\n  a: { run: y }", 5, "a"),
    (Code::DuplicateKey, "onward: 1\nphases: { a: { run: x } }\nfinally:\n  a: { run: y }", 4, "finally"),
    (Code::BadValue, "onward: 1\nname: \"a\\0b\"\nphases: { a: { run: x } }", 2, "NUL"),
    (Code::MissingFormat, "", 1, "onward: 1"),
    (Code::MissingFormat, "name: a\nphases: { a: { run: x } }", 1, "onward: 1"),
    (Code::MissingFormat, "onward: one\nphases: { a: { run: x } }", 1, "onward: 1"),
    (Code::MissingFormat, "onward: \"1\"\nphases: { a: { run: x } }", 1, "onward: 1"),
    (Code::NewerFormat, "onward: 2\nphazes: { a: { run: x } }", 1, "newer"),
];

const SHAPE: &[Row] = &[
    (Code::MissingKey, "onward: 1\nname: a", 1, "phases"),
    (Code::MissingKey, "onward: 1\nphases: {}", 2, "at least one"),
    (Code::MissingKey, "onward: 1\nphases:\n  a: { approval: { who: [me] } }", 3, "message"),
    (Code::MissingKey, "onward: 1\ninputs:\n  x: { type: choice }\nphases: { a: { run: x } }", 3, "choices"),
    (Code::UnknownKey, "onward: 1\nphases:\n  a: { rum: x }", 3, "`run`"),
    (Code::UnknownKey, "onward: 1\nphases:\n  a: { run: x }\n  b: { depends: a, run: x }", 4, "needs"),
    (Code::UnknownKey, "onward: 1\nphases:\n  a: { run: x }\n  b: { deps: a, run: x }", 4, "needs"),
    (Code::UnknownKey, "onward: 1\nphases:\n  a: { run: x }\n  b: { dependencies: a, run: x }", 4, "needs"),
    (Code::UnknownKey, "onward: 1\nphases:\n  a: { run: x }\n  b: { depends_on: a, run: x }", 4, "needs"),
    (Code::UnknownKey, "onward: 1\nmax_paralel: 3\nphases: { a: { run: x } }", 2, "max-parallel"),
    (Code::DuplicateKey, "onward: 1\nmax-parallel: 3\nmax_parallel: 3\nphases: { a: { run: x } }", 3, "max_parallel"),
    (Code::UnknownKey, "onward: 1\nphases:\n  a:\n    run: x\n    retry: { maximum: 2 }", 5, "backoff"),
    (Code::WrongType, "onward: 1\nphases: [a, b]", 2, "mapping"),
    (Code::WrongType, "onward: 1\nphases:\n  a: make", 3, "mapping"),
    (Code::WrongType, "onward: 1\nphases:\n  a: { run: [x] }", 3, "run"),
    (Code::WrongType, "onward: 1\nenv:\n  A: [x]\nphases: { a: { run: x } }", 3, "A"),
    (Code::WrongType, "just a word", 1, "mapping"),
    (Code::BadValue, "onward: 1\non-failure: contniue\nphases: { a: { run: x } }", 2, "`continue`?"),
    (Code::BadValue, "onward: 1\nmax-parallel: 0\nphases: { a: { run: x } }", 2, "1 or more, from 1"),
    (Code::BadValue, "onward: 1\nmax-parallel: \"3\"\nphases: { a: { run: x } }", 2, "whole number"),
    (
        Code::BadValue,
        "onward: 1\nmax-parallel: 99999999999999999999999999\nphases: { a: { run: x } }",
        2,
        "whole number",
    ),
    (Code::BadValue, "onward: 1\ntype: two words\nphases: { a: { run: x } }", 2, "letters"),
    (Code::BadValue, "onward: 1\nname: \"two\\nlines\"\nphases: { a: { run: x } }", 2, "one line"),
    (Code::BadValue, "onward: 1\nphases:\n  a: { run: \"\" }", 3, "run"),
    (Code::BadValue, "onward: 1\nphases:\n  a: { run: x, retry: { when: [interrupted] } }", 3, "never use up retries"),
    (Code::BadValue, "onward: 1\nphases:\n  a: { run: x, retry: { backoff: { jitter: yes } } }", 3, "true or false"),
    (Code::BadValue, "onward: 1\nphases:\n  a: { run: x, artifacts: { r: { path: r, keep: maybe } } }", 3, "forever"),
    (Code::BadValue, "onward: 1\ninputs:\n  x: { choices: [a] }\nphases: { a: { run: x } }", 3, "type: choice"),
    (Code::BadId, "onward: 1\nphases:\n  ../a: { run: x }", 3, "letters"),
    (Code::BadId, "onward: 1\nphases:\n  -a: { run: x }", 3, "start"),
    (Code::BadName, "onward: 1\nenv:\n  1A: x\nphases: { a: { run: x } }", 3, "variable"),
    (Code::BadName, "onward: 1\nphases:\n  a: { run: x, outputs: { a b: c } }", 3, "names"),
    (Code::BadDuration, "onward: 1\nphases:\n  a: { run: x, timeout: 30 }", 3, "`timeout` has no unit"),
    (Code::BadDuration, "onward: 1\nphases:\n  a: { run: x, timeout: 3 fortnights }", 3, "units"),
    (Code::BadDuration, "onward: 1\nphases:\n  a: { run: x, timeout: soon }", 3, "1h 30m"),
    (Code::BadDuration, "onward: 1\nphases:\n  a: { run: x, timeout: 99999999d }", 3, "century"),
    (Code::BadSize, "onward: 1\nphases:\n  a: { run: x, resources: { memory: 64 } }", 3, "2GB"),
    (Code::BadRate, "onward: 1\nlimits: { l: { rate: 60 } }\nphases: { a: { run: x } }", 2, "60/1m"),
    (Code::PathOutside, "onward: 1\nphases:\n  a: { run: x, artifacts: { o: ../secret } }", 3, "project"),
    (Code::PathOutside, "onward: 1\nphases:\n  a: { run: x, writes: [/etc/passwd] }", 3, "relative"),
    (Code::PathOutside, "onward: 1\nphases:\n  a: { run: x, working-directory: sub/../.. }", 3, "working-directory"),
    (Code::NoKind, "onward: 1\nphases:\n  a: { name: nothing }", 3, "exactly one"),
    (
        Code::NoKind,
        "onward: 1\nfreshness: { probes: { p: { if-changed: ask } } }\nphases: { a: { run: x } }",
        2,
        "command",
    ),
    (Code::TwoKinds, "onward: 1\nphases:\n  a: { run: x, agent: { use: y } }", 3, "agent"),
];

const MEANING: &[Row] = &[
    (Code::UnknownNeed, "onward: 1\nphases:\n  build: { run: x }\n  b: { needs: biuld, run: x }", 4, "`build`?"),
    (Code::SelfNeed, "onward: 1\nphases:\n  a: { needs: [a], run: x }", 3, "itself"),
    (Code::DuplicateNeed, "onward: 1\nphases:\n  a: { run: x }\n  b: { needs: [a, a], run: x }", 4, "twice"),
    (
        Code::Cycle,
        "onward: 1\nphases:\n  a: { needs: c, run: x }\n  b: { needs: a, run: x }\n  c: { needs: b, run: x }",
        3,
        "a -> c -> b -> a",
    ),
    (Code::ExpressionInRun, "onward: 1\nphases:\n  a: { run: 'echo ${{ inputs.user-name }}' }", 3, "USER_NAME"),
    (Code::ExpressionInRun, "onward: 1\nphases:\n  a: { run: x, verify: ['test ${{ attempt }}'] }", 3, "`env`"),
    (Code::ExpressionInRun, "onward: 1\nphases:\n  a: { run: x, done-when: 'test ${{ attempt }}' }", 3, "`env`"),
    (
        Code::ExpressionInRun,
        "onward: 1\nfreshness: { probes: { p: { command: '${{ run.id }}' } } }\nphases: { a: { run: x } }",
        2,
        "env",
    ),
    (Code::BadExpression, "onward: 1\nenv: { A: '${{ inputs.a' }\nphases: { a: { run: x } }", 2, "}}"),
    (Code::BadExpression, "onward: 1\nenv: { A: '${{ secrets.a }}' }\nphases: { a: { run: x } }", 2, "secrets.a"),
    (Code::BadExpression, "onward: 1\nphases:\n  a: { run: x, if: 'a ==' }", 3, "condition"),
    (
        Code::UnknownInput,
        "onward: 1\ninputs: { colour: {} }\nenv: { A: '${{ inputs.color }}' }\nphases: { a: { run: x } }",
        3,
        "colour",
    ),
    (Code::UnknownInput, "onward: 1\nphases:\n  a: { run: x, if: inputs.gone == 'x' }", 3, "gone"),
    (Code::UnknownPhase, "onward: 1\nphases:\n  a: { run: x, env: { A: '${{ phases.b.outputs.c }}' } }", 3, "`b`"),
    (
        Code::UnknownOutput,
        "onward: 1\nphases:\n  a: { run: x, outputs: { size: how big } }\n  b: { needs: a, run: x, env: { A: '${{ phases.a.outputs.sise }}' } }",
        4,
        "`size`?",
    ),
    (
        Code::UnknownMatrix,
        "onward: 1\nphases:\n  a: { run: x, matrix: { day: [1] }, name: '${{ matrix.dya }}' }",
        3,
        "`day`?",
    ),
    (
        Code::NotAnAncestor,
        "onward: 1\nphases:\n  a: { run: x }\n  b: { run: x, env: { A: '${{ phases.a.outputs.c }}' } }",
        4,
        "needs",
    ),
    (
        Code::NotAnAncestor,
        "onward: 1\nenv: { A: '${{ phases.a.status }}' }\nphases: { a: { run: x } }",
        2,
        "no phase has run",
    ),
    (
        Code::MatrixNotAncestor,
        "onward: 1\nphases:\n  a: { run: x }\n  b: { run: x, matrix: { d: '${{ phases.a.outputs.days }}' } }",
        4,
        "add `a`",
    ),
    (
        Code::UnknownLimit,
        "onward: 1\nlimits: { vendor: {} }\nphases:\n  a: { run: x, limits: [vendr] }",
        4,
        "`vendor`?",
    ),
    (
        Code::BadExpression,
        "onward: 1\nconcurrency: 'load-${{ env.X }}'\nphases: { a: { run: x } }",
        2,
        "it may ask for inputs",
    ),
    (
        Code::BadValue,
        "onward: 1\nconcurrency: { group: a, when-busy: fail, cancel-in-progress: true }\nphases: { a: { run: x } }",
        2,
        "contradict",
    ),
    (Code::NotYetSupported, "onward: 1\nphases:\n  a: { run: x, resources: { cpus: 1 } }", 3, "`resources`"),
    (
        Code::NoEffect,
        "onward: 1\nlimits:\n  l: { budget: { usd: 5 }, scope: user }\nphases: { a: { run: x, limits: l } }",
        3,
        "each run by itself",
    ),
    (
        Code::WritesOverlap,
        "onward: 1\nphases:\n  a: { run: x, writes: out/** }\n  b: { run: x, writes: [out/two.txt] }",
        4,
        "take turns",
    ),
    (
        Code::TwoCommitters,
        "onward: 1\nphases:\n  a: { run: x, kind: commit }\n  b: { run: x, locks: [git] }",
        4,
        "locks: [git]",
    ),
    (Code::EffectWithoutProbe, "onward: 1\nphases:\n  a: { run: x, effects: external }", 3, "done-when"),
    (
        Code::LowBeforeHigh,
        "onward: 1\nphases:\n  d: { run: x, kind: docs }\n  i: { needs: d, run: x, kind: issue }",
        4,
        "takes nothing",
    ),
    (
        Code::ChoiceWithoutEffect,
        "onward: 1\nphases:\n  a: { approval: { message: go, choices: [ship, hold] } }\n  b: { needs: a, run: x }",
        3,
        "`ship`, `hold` all let",
    ),
    (
        Code::BadInput,
        "onward: 1\ninputs: { n: { type: integer, default: many } }\nphases: { a: { run: x } }",
        2,
        "whole number",
    ),
];

/// Keys that mean nothing for the way the phase is done.
const IDLE: &[Row] = &[
    (Code::NoEffect, "onward: 1\nphases:\n  a: { approval: { message: go }, verify: [x] }", 3, "nobody would look"),
    (Code::NoEffect, "onward: 1\nphases:\n  a: { approval: { message: go }, timeout: 1h }", 3, "`expires`"),
    (Code::NoEffect, "onward: 1\nphases:\n  a: { approval: { message: go }, retry: { max: 2 } }", 3, "onward retry"),
    (Code::NoEffect, "onward: 1\nphases:\n  a: { approval: { message: go }, locks: git }", 3, "an approval"),
    (Code::NoEffect, "onward: 1\nphases:\n  a: { external: { instructions: go }, timeout: 1h }", 3, "`heartbeat`"),
    (Code::NoEffect, "onward: 1\nphases:\n  a: { uses: b.yaml, done-when: x }", 3, "nobody would look"),
    (Code::NoEffect, "onward: 1\nphases:\n  a: { uses: b.yaml, artifacts: { x: y } }", 3, "that needs this one"),
    (Code::NoEffect, "onward: 1\nphases:\n  a: { uses: b.yaml, env: { X: y } }", 3, "`with`"),
    (Code::NoEffect, "onward: 1\nphases:\n  a: { uses: b.yaml, retry: { max: 2 } }", 3, "that plan"),
    (Code::NoEffect, "onward: 1\nphases:\n  a: { uses: b.yaml, on-failure: replan }", 3, "on-failure: replan"),
];

/// Blocks that are right key by key and make no sense as a whole.
const BLOCKS: &[Row] = &[
    (Code::MissingKey, "onward: 1\nphases:\n  a: { run: x, matrix: { max-parallel: 2 } }", 3, "over nothing"),
    (Code::BadValue, "onward: 1\nphases:\n  a: { run: x, matrix: { day: [] } }", 3, "no value for `day`"),
    (Code::BadValue, "onward: 1\nphases:\n  a: { run: x, matrix: { day: [mon, mon] } }", 3, "stands twice"),
    (Code::BadValue, "onward: 1\nphases:\n  a: { run: x, with: { b: c } }", 3, "there is none"),
    (Code::BadValue, "onward: 1\nphases:\n  a:\n    uses: plans/${{ run.id }}.yaml", 4, "cannot hold an expression"),
    (Code::BadValue, "onward: 1\nphases:\n  a: { approval: { message: go, choices: [] } }", 3, "is empty"),
    (Code::BadValue, "onward: 1\nphases:\n  a: { approval: { message: go, choices: [a, a] } }", 3, "stands twice"),
    (
        Code::MissingKey,
        "onward: 1\nphases:\n  a:\n    approval: { message: go, if-expired: reject }",
        4,
        "expires: 24h",
    ),
    (
        Code::MissingKey,
        "onward: 1\nphases:\n  a:\n    external: { instructions: go, if-silent: fail }",
        4,
        "heartbeat: 15m",
    ),
    (
        Code::BadValue,
        "onward: 1\nlimits:\n  api: { detect: { reset-at: '(' } }\nphases: { a: { run: x } }",
        3,
        "no regular expression",
    ),
    (Code::BadValue, "onward: 1\nphases:\n  a: { run: x, retry: { output-matches: '(?=x)' } }", 3, "look-around"),
];

fn rows() -> impl Iterator<Item = &'static Row> {
    SYNTAX.iter().chain(SHAPE).chain(MEANING).chain(IDLE).chain(BLOCKS)
}

fn found(diagnostics: &[Diagnostic], row: &Row) -> bool {
    let (code, _, line, word) = row;
    diagnostics.iter().any(|diagnostic| {
        let text = format!("{} {}", diagnostic.message, diagnostic.help);
        let place = diagnostic.place.map(|place| place.line) == Some(*line);
        diagnostic.code == *code && place && word.split(", ").any(|word| text.contains(word))
    })
}

#[test]
fn every_mistake_has_its_code_line_and_word() {
    for row in rows() {
        let parsed = parse(row.1);
        assert!(found(&parsed.diagnostics, row), "{row:?} gave {:#?}", parsed.diagnostics);
        let errors = parsed.diagnostics.iter().any(Diagnostic::is_error);
        assert_eq!(parsed.plan.is_none(), errors, "{row:?}: a plan comes out exactly if nothing is an error");
    }
}

/// Codes that need a large text or a started run have tests of their own, named here.
#[test]
fn every_code_is_seen_somewhere() {
    let elsewhere = [
        Code::TooLarge,      // plan_limits
        Code::TooDeep,       // plan_limits
        Code::TooManyNodes,  // plan_limits
        Code::MoreFaults,    // plan_limits
        Code::ScriptTooLong, // plan_limits
        Code::MissingInput,  // plan_words
        // Of plans in Markdown alone: markdown
        Code::NoPhases,
        Code::DuplicatePhase,
        Code::UnknownMarker,
        Code::UnclearHeading,
        Code::UnclearDependency,
        Code::LinkedFile,
        Code::DoneBeforeNeed,
        Code::DoneWithOpenTasks,
    ];
    let seen: BTreeSet<Code> = rows().map(|row| row.0).chain(elsewhere).collect();
    let all: BTreeSet<Code> = Code::ALL.iter().copied().collect();
    assert_eq!(seen, all);
    let names: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(names.len(), Code::ALL.len(), "two codes share a name");
}

/// A plan has eight faults of eight kinds. All come in one go, in the order of the file.
#[test]
fn a_matrix_with_too_many_combinations() {
    let values: Vec<String> = (0..150).map(|number| number.to_string()).collect();
    let list = values.join(", ");
    let parsed = parse(&format!("onward: 1\nphases:\n  a: {{ run: x, matrix: {{ x: [{list}], y: [{list}] }} }}\n"));
    assert!(found(&parsed.diagnostics, &(Code::TooLarge, "", 3, "22500 combinations")), "{:?}", parsed.diagnostics);
}

#[test]
fn all_faults_come_at_once() {
    let text = "onward: 1
phases:
  first: { needs: third, run: x }
  second: { needs: nobody, run: x }
  third: { needs: first, run: x }
  fourth: { deps: second, run: x }
  fifth: { needs: fifth, run: x }
  second: { run: x }
  sixth: { run: 'x ${{ inputs.who }}' }
  seventh: { rnu: x }
  eighth: { run: x, uses: y }
";
    let parsed = parse(text);
    let errors = parsed.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    let errors: Vec<_> = errors.map(|error| (error.place.map_or(0, |place| place.line), error.code.as_str())).collect();
    let expected = [
        (3, "cycle"),
        (4, "unknown-need"),
        (6, "unknown-key"),
        (7, "self-need"),
        (8, "duplicate-key"),
        (9, "expression-in-run"),
        (10, "unknown-key"),
        (11, "two-kinds"),
    ];
    assert_eq!(errors, expected);
    let ids: Vec<&str> = parsed.phases.iter().map(|phase| phase.id.as_str()).collect();
    assert_eq!(ids, ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"]);
    assert_eq!(parsed.phases[0].needs[0].as_str(), "third");
}

/// Two circles that share nothing, and a phase that only hangs on one. Each circle is told once, whole.
#[test]
fn every_circle_is_told_once() {
    let text = "onward: 1
phases:
  a: { needs: b, run: x }
  b: { needs: a, run: x }
  tail: { needs: b, run: x }
  c: { needs: [e, a], run: x }
  d: { needs: c, run: x }
  e: { needs: d, run: x }
";
    let cycles: Vec<String> = parse(text)
        .diagnostics
        .into_iter()
        .filter(|fault| fault.code == Code::Cycle)
        .map(|fault| fault.message)
        .collect();
    assert_eq!(cycles.len(), 2, "{cycles:?}");
    assert!(cycles[0].ends_with(": a -> b -> a"), "{cycles:?}");
    assert!(cycles[1].ends_with(": c -> e -> d -> c"), "{cycles:?}");
}

/// Warnings are about risk. What is ordered, disjoint, locked, probed or handed over has none.
#[test]
fn careful_plans_have_no_warnings_of_risk() {
    let risks = [
        Code::WritesOverlap,
        Code::TwoCommitters,
        Code::EffectWithoutProbe,
        Code::LowBeforeHigh,
        Code::ChoiceWithoutEffect,
    ];
    for text in [
        "onward: 1\nphases:\n  a: { run: x, writes: out/** }\n  m: { needs: a, run: x }\n  b: { needs: m, run: x, writes: out/two }",
        "onward: 1\nphases:\n  a: { run: x, writes: src/** }\n  b: { run: x, writes: web/** }",
        "onward: 1\nphases:\n  a: { run: x, locks: [git] }\n  b: { run: x, locks: [git] }",
        "onward: 1\nphases:\n  a: { run: x, kind: commit }\n  b: { needs: a, run: x, kind: commit }",
        "onward: 1\nphases:\n  a: { run: x, effects: external, done-when: x }",
        "onward: 1\ndefaults: { effects: external }\nphases:\n  a: { approval: { message: go } }\n  b: { uses: c.yaml }",
        "onward: 1\nphases:\n  d: { run: x, kind: docs }\n  i: { needs: d, run: x, kind: issue, env: { A: '${{ phases.d.outputs.n }}' } }",
        "onward: 1\nphases:\n  d: { run: x, kind: docs, writes: docs/** }\n  i: { needs: d, run: x, kind: issue, reads: docs/a.md }",
        "onward: 1\nphases:\n  a: { approval: { message: go, choices: [ship, reject] } }",
        "onward: 1\nphases:\n  a: { approval: { message: go, choices: [x, y] } }\n  b: { needs: a, run: x, if: phases.a.outputs.choice == 'x' }",
    ] {
        let warned = parse(text).diagnostics.into_iter().find(|fault| risks.contains(&fault.code));
        assert_eq!(warned, None, "{text}");
    }
}

/// Mistakes that people make in their first plan, and a word of the way out. No place in YAML is told without one.
#[test]
fn first_mistakes_have_a_way_out() {
    let plans = [
        ("  a: { run: echo note: this }", "quote it"),
        ("  a: { run: echo ${HOME} }", "quote it"),
        ("  a:\n    run: echo note: this", "write the command as a block"),
        ("\ta: { run: x }", "indent with blanks"),
        ("  a:\n    run: *.sh", "quote the value"),
        ("  a:\n    run: @build", "is quoted"),
        ("  a:\n    run:\n      - echo 1\n      - echo 2", "`run: |`"),
        ("  - a: { run: x }", "leave out the dashes"),
        ("  a: { run: x, outputs: days }", "name each with a line about it: `outputs: { days: … }`"),
        ("  a: { run: x, artifacts: build/* }", "into brackets"),
        ("  a: { run: x, retry: { backoff: 1s } }", "`{ initial: 5s }`; its keys are initial, factor, max, jitter"),
        ("  a: { agent: { prompt: x, result: { schema: { type: object } } } }", "`schema: schemas/review.json`"),
        ("  a: { external: Write the notes }", "`{ instructions: Write the release notes }`"),
        ("  a: { run: x }\n  b: { run: x }\n  c: { run: x, needs: 'a b' }", "needs: [a, b]"),
        ("  a: { run: x }\n  b: { run: x }\n  c: { run: x, needs: 'a,b' }", "needs: [a, b]"),
    ];
    for (phases, word) in plans {
        let parsed = parse(&format!("onward: 1\nphases:\n{phases}\n"));
        let told: Vec<&str> = parsed.diagnostics.iter().map(|one| one.help.as_str()).collect();
        assert!(parsed.plan.is_none() && told.iter().any(|help| help.contains(word)), "{phases}: {told:?}");
    }
}
