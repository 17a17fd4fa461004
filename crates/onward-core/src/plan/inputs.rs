//! The values a run is started with.

use std::collections::BTreeMap;

use jiff::civil::Date;

use crate::diagnostic::{Code, Diagnostic};

use super::model::{InputKind, InputSpec, Plan};
use super::read;
use crate::document::shape::one_of;
use crate::document::suggest::did_you_mean;
use crate::document::tree::Node;

/// The value of every input in this run: the given one, else its default, else an empty text.
pub fn resolve(plan: &Plan, given: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, Vec<Diagnostic>> {
    let mut faults: Vec<Diagnostic> =
        given.keys().filter(|name| !plan.inputs.contains_key(*name)).map(|name| unknown(plan, name)).collect();
    let mut values = BTreeMap::new();
    for (name, spec) in &plan.inputs {
        let value = given.get(name).or(spec.default.as_ref());
        match value {
            Some(value) => match misfit(&spec.kind, value) {
                None => drop(values.insert(name.clone(), value.clone())),
                Some(wanted) => faults.push(bad(name, value, &wanted)),
            },
            None if spec.required => faults.push(missing(name, spec)),
            None => drop(values.insert(name.clone(), String::new())),
        }
    }
    if faults.is_empty() { Ok(values) } else { Err(faults) }
}

fn unknown(plan: &Plan, name: &str) -> Diagnostic {
    let mut help = did_you_mean(name, plan.inputs.keys().map(String::as_str));
    if help.is_empty() {
        let known: Vec<&str> = plan.inputs.keys().map(String::as_str).collect();
        help = if known.is_empty() {
            format!("declare it in the plan: `inputs: {{ {name}: {{}} }}`")
        } else {
            format!("the plan has {}", one_of(&known))
        };
    }
    Diagnostic::error(Code::UnknownInput, format!("the plan has no input `{name}`")).help(help)
}

fn missing(name: &str, spec: &InputSpec) -> Diagnostic {
    let about = spec.description.as_ref().map(|text| format!(" ({text})")).unwrap_or_default();
    let fault =
        Diagnostic::error(Code::MissingInput, format!("the input `{name}`{about} is required and was not given"));
    fault.help(format!("give it with `--input {name}=VALUE`"))
}

fn bad(name: &str, value: &str, wanted: &str) -> Diagnostic {
    let shown: String = value.chars().take(60).collect();
    Diagnostic::error(Code::BadInput, format!("the input `{name}` cannot be `{shown}`"))
        .help(format!("it wants {wanted}"))
}

/// The kind of value that was expected, if this one does not fit.
fn misfit(kind: &InputKind, value: &str) -> Option<String> {
    let (fits, wanted) = match kind {
        InputKind::String => (!value.contains('\0'), "text without NUL".to_owned()),
        InputKind::Integer => (value.parse::<i64>().is_ok() && !value.starts_with('+'), "a whole number".to_owned()),
        InputKind::Number => (is_number(value), "a number".to_owned()),
        InputKind::Boolean => (matches!(value, "true" | "false"), "`true` or `false`".to_owned()),
        InputKind::Date => (is_date(value), "a date as YYYY-MM-DD".to_owned()),
        InputKind::Choice { choices } => {
            let words: Vec<&str> = choices.iter().map(String::as_str).collect();
            (choices.iter().any(|choice| choice == value), one_of(&words))
        }
    };
    if fits { None } else { Some(wanted) }
}

fn is_number(value: &str) -> bool {
    let digits = value.strip_prefix('-').unwrap_or(value);
    digits.starts_with(|c: char| c.is_ascii_digit()) && value.parse::<f64>().is_ok_and(f64::is_finite)
}

fn is_date(value: &str) -> bool {
    let shape = value.len() == 10
        && value.chars().enumerate().all(|(at, c)| if at == 4 || at == 7 { c == '-' } else { c.is_ascii_digit() });
    shape && value.parse::<Date>().is_ok()
}

/// Checks the declared inputs themselves, before anybody gives a value.
pub(super) fn check_declared(root: &Node, faults: &mut Vec<Diagnostic>) {
    for entry in root.get("inputs").map(Node::entries).unwrap_or_default() {
        let spec = read::input(&entry.value);
        let choices = entry.value.entry("choices");
        match (&spec.kind, choices) {
            (InputKind::Choice { choices }, _) if choices.is_empty() => {
                let fault = Diagnostic::error(
                    Code::MissingKey,
                    format!("the input `{}` is a choice without `choices`", entry.key),
                );
                faults.push(fault.at(entry.place).help("add `choices: [...]`"));
                continue;
            }
            (InputKind::Choice { .. }, _) | (_, None) => {}
            (_, Some(choices)) => {
                let fault = Diagnostic::error(
                    Code::BadValue,
                    format!("the input `{}` has `choices` but is no choice", entry.key),
                );
                faults.push(fault.at(choices.place).help("add `type: choice`"));
            }
        }
        let default = spec.default.as_ref().zip(entry.value.get("default"));
        if let Some((default, node)) = default
            && let Some(wanted) = misfit(&spec.kind, default)
        {
            faults.push(bad(&entry.key, default, &wanted).at(node.place));
        }
    }
}
