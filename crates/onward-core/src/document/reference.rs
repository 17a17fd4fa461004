//! The reference pages: every key of a table with its value, its default and an example.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::check_value::{boolean, integer};
use super::shape::{Field, Keys, Preset, Rest, Shape, Support};
use super::tree::Quoting;

/// The default of a key as JSON; `null` where it has none.
pub(crate) fn preset(field: &Field) -> Value {
    match field.default {
        Preset::Unset => Value::Null,
        Preset::Text(text) => {
            let known = boolean(text, Quoting::Plain)
                .map(Value::Bool)
                .or_else(|| integer(text, Quoting::Plain).map(Value::from));
            known.unwrap_or_else(|| json!(text))
        }
        Preset::Items(items) => json!(items),
        Preset::NoEntries => json!({}),
    }
}

/// One section for each mapping, in the order in which a reader meets them.
pub(crate) fn page(root: &'static Keys) -> String {
    let mut sections: Vec<(String, &'static Keys)> = vec![(String::new(), root)];
    let mut out = String::new();
    let mut at = 0;
    while let Some((path, keys)) = sections.get(at).cloned() {
        at += 1;
        for field in keys.fields {
            for (suffix, inner) in mappings(&field.shape) {
                if !sections.iter().any(|(_, known)| std::ptr::eq(*known, inner)) {
                    sections.push((join(&path, field.key) + suffix, inner));
                }
            }
        }
        section(&mut out, &path, keys);
    }
    out
}

/// One line for each key that this version acts on, for a reader who has little room.
pub(crate) fn short_list(keys: &'static Keys) -> String {
    let mut out = String::new();
    for field in keys.fields.iter().filter(|field| field.support != Support::NotYet) {
        // Writing to a string does not fail.
        let _ = writeln!(out, "- `{}`: {} For example `{}: {}`.", field.key, field.about, field.key, field.example);
    }
    out
}

/// The mappings in a value, and how they are reached from its key.
fn mappings(shape: &'static Shape) -> Vec<(&'static str, &'static Keys)> {
    match shape {
        Shape::Mapping(keys) => vec![("", keys)],
        Shape::List(item) | Shape::OneOrMany(item) => mappings(item),
        Shape::Table(_, value) => mappings(value).into_iter().map(|(_, keys)| (".NAME", keys)).collect(),
        Shape::Either(shapes) => shapes.iter().flat_map(mappings).collect(),
        Shape::Format
        | Shape::Text
        | Shape::Line
        | Shape::Template
        | Shape::Path
        | Shape::Command
        | Shape::Words
        | Shape::Condition
        | Shape::Word
        | Shape::PhaseId
        | Shape::Boolean
        | Shape::Integer { .. }
        | Shape::Number
        | Shape::Duration
        | Shape::Size
        | Shape::Rate
        | Shape::Pattern
        | Shape::Tool
        | Shape::Choice(_)
        | Shape::ChoiceBut(_, _, _)
        | Shape::Anything => Vec::new(),
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn section(out: &mut String, path: &str, keys: &'static Keys) {
    let title = if path.is_empty() { "The top of the file".to_owned() } else { format!("`{path}`") };
    let _ = write!(out, "\n## {title}\n\n| key | meaning | value | default | example |\n|---|---|---|---|---|\n");
    for field in keys.fields {
        let mut about = field.about.to_owned();
        if field.required {
            about.push_str(" Required.");
        }
        match field.support {
            Support::Full => {}
            Support::NotYet => about.push_str(" *Understood; this version does not act on it yet.*"),
            Support::NotYetAsText => {
                about.push_str(" *An address is understood; this version does not act on it yet.*");
            }
        }
        let default = match field.default {
            Preset::Unset => String::new(),
            Preset::Text(text) => format!("`{text}`"),
            Preset::Items(items) => format!("`[{}]`", items.join(", ")),
            Preset::NoEntries => "`{}`".to_owned(),
        };
        let row = [
            format!("`{}`", field.key),
            about,
            field.shape.describe(),
            default,
            format!("`{}: {}`", field.key, field.example),
        ];
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    match keys.rest {
        Rest::Refused => {}
        Rest::Extensions => out.push_str("\nKeys that begin with `x-` are yours.\n"),
        Rest::Names(_, shape) => {
            let _ = writeln!(out, "\nAll other keys are names of your choosing; each is {}.", shape.describe());
        }
    }
    if !keys.one_of.is_empty() {
        let _ = writeln!(out, "\nExactly one of {} is there.", super::shape::one_of(keys.one_of));
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::document::check::Checker;
    use crate::document::tree::Builder;
    use crate::document::yaml;

    /// Every example of a table is what an author may write there: a page with an example that is refused teaches a mistake.
    pub(crate) fn check_examples(root: &'static Keys) {
        let mut known: Vec<&'static Keys> = vec![root];
        let mut at = 0;
        while let Some(keys) = known.get(at).copied() {
            at += 1;
            for field in keys.fields {
                for (_, inner) in mappings(&field.shape) {
                    if !known.iter().any(|one| std::ptr::eq(*one, inner)) {
                        known.push(inner);
                    }
                }
                check_example(keys, field);
            }
        }
    }

    fn check_example(keys: &Keys, field: &'static Field) {
        let said = format!("`{}` of {}", field.key, keys.what);
        assert!(!field.example.is_empty(), "{said} has no example");
        let mut builder = Builder::default();
        yaml::read(field.example, &mut builder).unwrap_or_else(|fault| panic!("{said}: {}", fault.message));
        let (node, faults) = builder.finish();
        let mut checker = Checker::new(faults);
        checker.check(&field.shape, &node.unwrap_or_else(|| panic!("{said}: the example is empty")));
        let wrong: Vec<_> = checker.diagnostics.iter().filter(|fault| fault.is_error()).collect();
        assert!(wrong.is_empty(), "{said}: {wrong:?}");
    }
}
