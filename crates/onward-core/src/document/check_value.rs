//! The rules for single values: numbers, durations, words, paths, texts with expressions.

use crate::agent::ToolPattern;
use crate::diagnostic::Code;
use crate::expression::{self, ExpressionError, Reference};
use crate::patterns;

use super::check::Checker;
use super::shape::{Shape, is_phase_id};
use super::tree::{Node, Quoting};
use super::units::{self, DurationFault};

/// The format this version reads.
const FORMAT: i64 = 1;
/// A script this long does not fit on a command line everywhere.
pub(crate) const SCRIPT_BYTES_MAX: usize = 96 << 10;

impl Checker {
    pub(crate) fn scalar(&mut self, shape: &Shape, text: &str, quoting: Quoting, node: &Node) {
        let fine = match shape {
            Shape::Format => return self.format(text, quoting, node),
            Shape::Template => return self.template(text, node),
            Shape::Line => return self.line(shape, text, node),
            Shape::Path => return self.path_below(shape, text, node),
            Shape::Command => return self.command(shape, text, node),
            Shape::Condition => return self.condition(text, node),
            Shape::Duration => return self.duration(text, node),
            Shape::Tool => return self.tool(text, node),
            Shape::Pattern if !text.trim().is_empty() => return self.pattern(text, node),
            Shape::ChoiceBut(_, refused, reason) if *refused == text => {
                return self.error(
                    Code::BadValue,
                    format!("`{}` cannot be `{refused}`", self.key()),
                    *reason,
                    node.place,
                );
            }
            Shape::Boolean => boolean(text, quoting).is_some(),
            Shape::Integer { min, max } => integer(text, quoting).is_some_and(|number| (*min..=*max).contains(&number)),
            Shape::Number => number(text, quoting).is_some(),
            Shape::Choice(words) | Shape::ChoiceBut(words, _, _) => words.contains(&text),
            Shape::Pattern | Shape::Words => !text.trim().is_empty(),
            Shape::PhaseId => !text.is_empty(),
            Shape::Word => is_phase_id(text),
            Shape::Size => return self.unit(shape, units::size(text).as_ref(), Code::BadSize, node),
            Shape::Rate => return self.unit(shape, units::rate(text).as_ref(), Code::BadRate, node),
            Shape::Text
            | Shape::List(_)
            | Shape::OneOrMany(_)
            | Shape::Mapping(_)
            | Shape::Table(_, _)
            | Shape::Either(_)
            | Shape::Anything => true,
        };
        if !fine {
            self.bad_value(shape, node);
        }
    }

    fn format(&mut self, text: &str, quoting: Quoting, node: &Node) {
        match integer(text, quoting) {
            Some(FORMAT) => {}
            Some(newer) if newer > FORMAT => {
                let message = format!("the plan is written in format {newer}; this version reads format {FORMAT}");
                self.error(Code::NewerFormat, message, "use a newer onward for this plan", node.place);
            }
            Some(_) | None => {
                let message = format!("`{text}` is no format of plans");
                self.error(Code::MissingFormat, message, "write `onward: 1`", node.place);
            }
        }
    }

    fn template(&mut self, text: &str, node: &Node) {
        match expression::references(text) {
            Ok(references) => references.into_iter().for_each(|reference| self.use_of(reference, node.place)),
            Err(error) => self.bad_expression(&error, node),
        }
    }

    fn bad_expression(&mut self, error: &ExpressionError, node: &Node) {
        let message = format!("the expression in `{}` cannot be read: {error}", self.key());
        self.error(Code::BadExpression, message, "write it as `${{ inputs.NAME }}`", node.place);
    }

    fn line(&mut self, shape: &Shape, text: &str, node: &Node) {
        if text.trim().is_empty() || text.trim_end().chars().any(char::is_control) {
            self.bad_value(shape, node);
        }
        self.template(text, node);
    }

    fn path_below(&mut self, shape: &Shape, text: &str, node: &Node) {
        if text.trim().is_empty() || text.chars().any(char::is_control) {
            return self.bad_value(shape, node);
        }
        let drive = text.get(1..2) == Some(":");
        let climbs = text.split(['/', '\\']).any(|part| part == "..");
        if climbs || drive || text.starts_with(['/', '\\', '~']) {
            let message = format!("`{}` leads out of the project: `{text}`", self.key());
            self.error(
                Code::PathOutside,
                message,
                "write a path relative to the top of the project, without `..`",
                node.place,
            );
        }
        self.template(text, node);
    }

    fn command(&mut self, shape: &Shape, text: &str, node: &Node) {
        if text.trim().is_empty() {
            return self.bad_value(shape, node);
        }
        if text.len() > SCRIPT_BYTES_MAX {
            let message =
                format!("`{}` is {} KiB long; at most {} fit", self.key(), text.len() >> 10, SCRIPT_BYTES_MAX >> 10);
            self.error(Code::ScriptTooLong, message, "put it in a file and run that", node.place);
        }
        if expression::holds(text) {
            let reference = expression::references(text).ok().and_then(|found| found.into_iter().next());
            let message = format!("an expression stands inside `{}`, where its value would be run as code", self.key());
            self.error(Code::ExpressionInRun, message, rewrite(reference.as_ref()), node.place);
        }
    }

    fn condition(&mut self, text: &str, node: &Node) {
        match expression::condition(text) {
            Ok(references) => references.into_iter().for_each(|reference| self.use_of(reference, node.place)),
            Err(error) => {
                let message = format!("the condition of `{}` cannot be read: {error}", self.key());
                self.error(
                    Code::BadExpression,
                    message,
                    "write it as `inputs.target == 'prod' && success()`",
                    node.place,
                );
            }
        }
    }

    fn duration(&mut self, text: &str, node: &Node) {
        let key = self.key();
        let shown: String = text.chars().take(40).collect();
        let (what, help) = match units::duration(text) {
            Ok(_) => return,
            Err(DurationFault::NoUnit) => ("has no unit", format!("write `{shown}s`, `{shown}m` or `{shown}h`")),
            Err(DurationFault::UnknownUnit) => ("has an unknown unit", "units are ms, s, m, h, d and w".to_owned()),
            Err(DurationFault::NotADuration) => ("is no duration", "write it as `30m` or `1h 30m`".to_owned()),
            Err(DurationFault::TooLong) => ("is longer than a century", String::new()),
        };
        self.error(Code::BadDuration, format!("`{key}` {what}: `{shown}`"), help, node.place);
    }

    fn pattern(&mut self, text: &str, node: &Node) {
        let Err(error) = patterns::compile(text) else { return };
        let message = format!("`{}` is no regular expression: {error}", self.key());
        let help = "write a literal `(` as `\\(`; look-around and back-references are not known";
        self.error(Code::BadValue, message, help, node.place);
    }

    fn tool(&mut self, text: &str, node: &Node) {
        let Err(why) = ToolPattern::parse(text) else { return };
        let help = "name a tool as the client does: Bash, Bash(git push:*), Edit(src/**), mcp__server__tool";
        self.error(Code::BadValue, format!("`{}` names no tool: {why}", self.key()), help, node.place);
    }

    fn unit<T>(&mut self, shape: &Shape, read: Option<&T>, code: Code, node: &Node) {
        if read.is_none() {
            let shown: String = node.text().unwrap_or_default().chars().take(40).collect();
            let message = format!("`{}` cannot be `{shown}`; expected {}", self.key(), shape.describe());
            self.error(code, message, "", node.place);
        }
    }
}

/// How to say the same through a variable, which the shell never takes for code.
fn rewrite(reference: Option<&Reference>) -> String {
    let Some(reference) = reference else {
        return "bind the value through `env` and use the variable in the script".to_owned();
    };
    let name = match reference {
        Reference::Input(name) | Reference::Env(name) | Reference::Matrix(name) => name.as_str(),
        Reference::Run(fact) => fact,
        Reference::Output { output, .. } => output,
        Reference::Status(_) => "status",
        Reference::Attempt => "attempt",
    };
    let variable = name.to_ascii_uppercase().replace(['-', '.'], "_");
    format!(
        "bind it through `env`: `env: {{ {variable}: \"${{{{ {reference} }}}}\" }}`, and write \"${variable}\" in the script"
    )
}

/// Only what YAML 1.2 calls a boolean: `yes` and `on` are words.
pub(crate) fn boolean(text: &str, quoting: Quoting) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" if quoting == Quoting::Plain => Some(true),
        "false" | "False" | "FALSE" if quoting == Quoting::Plain => Some(false),
        _ => None,
    }
}

pub(crate) fn integer(text: &str, quoting: Quoting) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let decimal = quoting == Quoting::Plain && !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit());
    if decimal { text.parse().ok() } else { None }
}

/// Zero or more, finite, written in digits.
pub(crate) fn number(text: &str, quoting: Quoting) -> Option<f64> {
    let written = quoting == Quoting::Plain && text.starts_with(|c: char| c.is_ascii_digit());
    if written { text.parse().ok().filter(|number: &f64| number.is_finite()) } else { None }
}
