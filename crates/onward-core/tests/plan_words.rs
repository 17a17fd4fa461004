//! The small languages inside a plan: durations, sizes, globs, expressions, conditions, inputs.

use std::collections::BTreeMap;
use std::time::Duration;

use onward_core::diagnostic::Code;
use onward_core::document::units::{DurationFault, duration, rate, size};
use onward_core::expression::{Condition, ExpressionError, Past, Reference, condition, references, substitute};
use onward_core::id::PhaseId;
use onward_core::plan::globs::may_overlap;
use onward_core::plan::{inputs, parse};

#[test]
fn durations_have_units() {
    for (text, milliseconds) in [
        ("30m", 1_800_000),
        ("1h 30m", 5_400_000),
        ("1h30m", 5_400_000),
        ("300ms", 300),
        ("12h", 43_200_000),
        ("7d", 604_800_000),
        ("1.5s", 1_500),
        ("0s", 0),
        ("2w", 1_209_600_000),
    ] {
        assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
    }
    for (text, fault) in [
        ("30", DurationFault::NoUnit),
        ("1h 30", DurationFault::NoUnit),
        ("", DurationFault::NotADuration),
        ("-5m", DurationFault::NotADuration),
        ("5m!", DurationFault::NotADuration),
        ("1.s", DurationFault::NotADuration),
        ("5 min", DurationFault::UnknownUnit),
        ("99999999999999999999h", DurationFault::TooLong),
        ("999999d", DurationFault::TooLong),
    ] {
        assert_eq!(duration(text), Err(fault), "{text}");
    }
}

#[test]
fn sizes_and_rates() {
    assert_eq!((size("2GB"), size("1.5 KiB"), size("7B")), (Some(2_000_000_000), Some(1_536), Some(7)));
    assert_eq!((size("2"), size("GB"), size("2gb"), size("99999999999999999TB")), (None, None, None, None));
    assert_eq!(rate("60/1m"), Some((60, Duration::from_mins(1))));
    assert_eq!((rate("0/1m"), rate("60"), rate("60/0s"), rate("x/1m")), (None, None, None, None));
}

#[test]
fn globs_that_can_meet() {
    for (a, b) in [
        ("out/**", "out/two.txt"),
        ("out", "out/two.txt"),
        ("./out/", "out"),
        ("**/*.rs", "src/main.rs"),
        ("**/*.rs", "main.rs"),
        ("src/*", "src/a"),
        ("src/[ab].rs", "src/a.rs"),
        ("src/{a,b}.rs", "src/b.rs"),
        ("{a,{b,c}}", "c"),
        ("a*c", "ab*"),
        ("*", "anything"),
        ("SRC/a", "src/A"),
        ("raw/${{ matrix.day }}.zst", "raw/monday.zst"),
        ("../x", "y"),
        ("/x", "y"),
        ("!x", "y"),
        ("a\\*", "b"),
        ("caf\u{e9}", "cafe\u{301}"),
        ("a?c", "abc"),
    ] {
        assert!(may_overlap(a, b) && may_overlap(b, a), "{a} and {b}");
    }
}

#[test]
fn globs_that_cannot_meet() {
    for (a, b) in [
        ("src/**", "web/**"),
        ("src/*.rs", "src/*.md"),
        ("src/*.rs", "src/auth/main.rs"),
        ("out/one", "out/two"),
        ("out", "outer"),
        ("a?c", "a/c"),
        ("*.md", "docs/a.md"),
        ("raw/${{ matrix.day }}.zst", "cooked/monday.zst"),
    ] {
        assert!(!may_overlap(a, b) && !may_overlap(b, a), "{a} and {b}");
    }
}

/// A value that looks like an expression is put in. It stays the text it is.
#[test]
fn values_are_data() {
    let hostile = "$(touch x) ${{ env.HOME }} }}";
    let context = |reference: &Reference| match reference {
        Reference::Input(name) if name == "who" => Some(hostile.to_owned()),
        Reference::Attempt => Some("2".to_owned()),
        _ => None,
    };
    let out = substitute("<${{ inputs.who }}> ${{attempt}} $x {{ }}", &context);
    assert_eq!(out, Ok(format!("<{hostile}> 2 $x {{{{ }}}}")));
    let missing = substitute("${{ env.NONE }}", &context);
    assert_eq!(missing, Err(ExpressionError::NoValue { reference: Reference::Env("NONE".into()) }));
}

#[test]
fn references_are_found_in_order() {
    let text = "${{ inputs.a }}${{ env.B_C }} ${{ run.id }} ${{ phases.2.5.outputs.n-m }} ${{ phases.x.status }} ${{ matrix.d }}";
    let found = references(text).expect("all are well formed");
    let output = Reference::Output { phase: PhaseId::new("2.5"), output: "n-m".into() };
    assert_eq!(found[3], output);
    let names: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["inputs.a", "env.B_C", "run.id", "phases.2.5.outputs.n-m", "phases.x.status", "matrix.d"]);
    for wrong in
        ["${{ }}", "${{ inputs }}", "${{ inputs. }}", "${{ inputs.a.b }}", "${{ run.pid }}", "${{ phases.a }}", "${{ a"]
    {
        assert!(references(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn conditions_have_a_grammar() {
    for right in [
        "inputs.target == 'prod'",
        "${{ inputs.target != 'it''s' }}",
        "success() && !(failure() || always())",
        "phases.2.5.outputs.n == 1.5",
        "true",
        "!!false",
        "phases.a.status == 'completed' && matrix.day == -3",
    ] {
        assert!(condition(right).is_ok(), "{right}: {:?}", condition(right));
    }
    let deep = format!("{}true{}", "(".repeat(10_000), ")".repeat(10_000));
    for wrong in [
        "",
        "a",
        "==",
        "'open",
        "\"double\"",
        "true true",
        "(true",
        "success",
        "now()",
        "1 = 2",
        "true &&",
        deep.as_str(),
    ] {
        assert!(condition(wrong).is_err(), "{wrong}");
    }
    assert_eq!(condition("inputs.a == inputs.b").map(|found| found.len()), Ok(2));
    let error = condition("  true $").expect_err("a dollar has no meaning");
    assert_eq!(error.offset(), 7);
}

fn resolved(given: &[(&str, &str)]) -> Result<BTreeMap<String, String>, Vec<Code>> {
    let text = "onward: 1
inputs:
  count: { type: integer, required: true }
  share: { type: number, default: 0.5 }
  quiet: { type: boolean, default: false }
  day: { type: date }
  target: { type: choice, choices: [trial, live], default: trial }
  who: {}
phases: { a: { run: x } }
";
    let plan = parse(text).plan.expect("the plan is right");
    let given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    inputs::resolve(&plan, &given).map_err(|faults| faults.into_iter().map(|fault| fault.code).collect())
}

#[test]
fn inputs_are_checked_and_filled_in() {
    let values = resolved(&[("count", "-3"), ("day", "2024-02-29"), ("who", "$(x) ${{ env.Y }}")]).expect("all fit");
    let values: Vec<String> = values.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(
        values,
        ["count=-3", "day=2024-02-29", "quiet=false", "share=0.5", "target=trial", "who=$(x) ${{ env.Y }}"]
    );
    assert_eq!(resolved(&[("count", "1")]).expect("the rest has defaults")["day"], "");
    assert_eq!(resolved(&[]), Err(vec![Code::MissingInput]));
    for wrong in ["x", "1.5", "+1", ""] {
        assert_eq!(resolved(&[("count", wrong)]), Err(vec![Code::BadInput]), "{wrong}");
    }
    for (name, values) in [
        ("day", ["2023-02-29", "2024-2-9", "20240209"]),
        ("share", ["nan", "1e999", "half"]),
        ("quiet", ["yes", "True", "1"]),
        ("target", ["moon", "", "Live"]),
        ("who", ["a\0b", "\0", "\0\0"]),
    ] {
        for wrong in values {
            assert_eq!(resolved(&[("count", "1"), (name, wrong)]), Err(vec![Code::BadInput]), "{name}: {wrong}");
        }
    }
    assert_eq!(resolved(&[("cuont", "1"), ("count", "x")]), Err(vec![Code::UnknownInput, Code::BadInput]));
}

#[test]
fn conditions_hold_or_not() {
    // The inputs are `target: prod`, `draft: false`, `count: 3`; the phase `a` is completed and gave out `size: L`. Nothing else
    // has a value.
    let context = |reference: &Reference| match reference {
        Reference::Input(name) => match name.as_str() {
            "target" => Some("prod".to_owned()),
            "draft" => Some("false".to_owned()),
            "count" => Some("3".to_owned()),
            _ => None,
        },
        Reference::Output { phase, output } if phase.as_str() == "a" && output == "size" => Some("L".to_owned()),
        Reference::Status(phase) if phase.as_str() == "a" => Some("completed".to_owned()),
        _ => None,
    };
    for (text, holds_after_good, holds_after_failure) in [
        ("inputs.target == 'prod'", true, false),
        ("${{ inputs.target == 'prod' }}", true, false),
        ("inputs.target == 'Prod'", false, false),
        ("inputs.target != 'prod'", false, false),
        ("inputs.draft", false, false),
        ("!inputs.draft", true, false),
        ("inputs.draft == false", true, false),
        ("inputs.count == 3.0", true, false),
        ("inputs.count == '03x'", false, false),
        ("inputs.missing == ''", true, false),
        ("phases.a.outputs.size == 'L' && phases.a.status == 'completed'", true, false),
        ("phases.a.outputs.other", false, false),
        ("inputs.draft || inputs.target == 'prod' && inputs.count", true, false),
        ("(inputs.draft || inputs.target == 'prod') && !inputs.count", false, false),
        ("success()", true, false),
        ("failure()", false, true),
        ("always()", true, true),
        ("always() && inputs.target == 'prod'", true, true),
        ("!success()", false, true),
        ("failure() || inputs.target == 'prod'", true, true),
        ("'it''s' == 'it''s'", true, false),
        ("true", true, false),
        ("0", false, false),
        ("success() == true", true, false),
    ] {
        let condition = Condition::parse(text).expect(text);
        assert_eq!(condition.holds(&context, Past::Good), holds_after_good, "{text}, all went well");
        assert_eq!(condition.holds(&context, Past::Failed), holds_after_failure, "{text}, something failed");
    }
}
