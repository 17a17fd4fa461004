//! Reading a schema: every keyword is known, every reference leads somewhere inside, every pattern can be matched.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::schema::{DEPTH_MAX, RefSiblings, ResultSchema, SCHEMA_NODES_MAX, quoted};
use crate::patterns;

/// The drafts that are understood, by a part of their address, and what stands beside a `$ref` in them.
const DRAFTS: &[(&str, RefSiblings)] = &[
    ("json-schema.org/draft-06/schema", RefSiblings::Ignored),
    ("json-schema.org/draft-07/schema", RefSiblings::Ignored),
    ("json-schema.org/draft/2019-09/schema", RefSiblings::Count),
    ("json-schema.org/draft/2020-12/schema", RefSiblings::Count),
];

const TYPES: &[&str] = &["null", "boolean", "object", "array", "number", "integer", "string"];

/// Keywords that mean something, and are not looked at here: an answer would be taken that does not fit.
const NOT_UNDERSTOOD: &[&str] = &[
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$recursiveAnchor",
    "$recursiveRef",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// The form of the value of a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeywordForm {
    Schema,
    Schemas,
    /// A schema, or one for each place.
    SchemaOrSchemas,
    SchemaByName,
    SchemaByPattern,
    /// By name, a schema or the names that must be there as well.
    SchemaOrNamesByName,
    Names,
    NamesByName,
    Count,
    Number,
    Positive,
    Boolean,
    Pattern,
    Types,
    Values,
    Reference,
}

const FORMS: &[(&str, KeywordForm)] = &[
    ("type", KeywordForm::Types),
    ("enum", KeywordForm::Values),
    ("minimum", KeywordForm::Number),
    ("maximum", KeywordForm::Number),
    ("exclusiveMinimum", KeywordForm::Number),
    ("exclusiveMaximum", KeywordForm::Number),
    ("multipleOf", KeywordForm::Positive),
    ("minLength", KeywordForm::Count),
    ("maxLength", KeywordForm::Count),
    ("pattern", KeywordForm::Pattern),
    ("items", KeywordForm::SchemaOrSchemas),
    ("prefixItems", KeywordForm::Schemas),
    ("additionalItems", KeywordForm::Schema),
    ("minItems", KeywordForm::Count),
    ("maxItems", KeywordForm::Count),
    ("uniqueItems", KeywordForm::Boolean),
    ("contains", KeywordForm::Schema),
    ("minContains", KeywordForm::Count),
    ("maxContains", KeywordForm::Count),
    ("properties", KeywordForm::SchemaByName),
    ("patternProperties", KeywordForm::SchemaByPattern),
    ("additionalProperties", KeywordForm::Schema),
    ("propertyNames", KeywordForm::Schema),
    ("required", KeywordForm::Names),
    ("minProperties", KeywordForm::Count),
    ("maxProperties", KeywordForm::Count),
    ("dependentRequired", KeywordForm::NamesByName),
    ("dependentSchemas", KeywordForm::SchemaByName),
    ("dependencies", KeywordForm::SchemaOrNamesByName),
    ("allOf", KeywordForm::Schemas),
    ("anyOf", KeywordForm::Schemas),
    ("oneOf", KeywordForm::Schemas),
    ("not", KeywordForm::Schema),
    ("if", KeywordForm::Schema),
    ("then", KeywordForm::Schema),
    ("else", KeywordForm::Schema),
    ("$ref", KeywordForm::Reference),
    ("$defs", KeywordForm::SchemaByName),
    ("definitions", KeywordForm::SchemaByName),
];

struct SchemaReading<'a> {
    root: &'a Value,
    schema: ResultSchema,
    /// References of which the target was read.
    followed: BTreeSet<String>,
    nodes: usize,
}

pub(super) fn read(root: Value) -> Result<ResultSchema, String> {
    let siblings = siblings(&root)?;
    let schema = ResultSchema { root: Value::Bool(true), patterns: BTreeMap::new(), siblings };
    let mut reading = SchemaReading { root: &root, schema, followed: BTreeSet::new(), nodes: 0 };
    reading.schema(&root, "", 0)?;
    let schema = reading.schema;
    Ok(ResultSchema { root, ..schema })
}

fn siblings(root: &Value) -> Result<RefSiblings, String> {
    let Some(draft) = root.get("$schema") else { return Ok(RefSiblings::Count) };
    let named = draft.as_str().unwrap_or_default().trim_end_matches('#');
    let plain = named.strip_prefix("https://").or_else(|| named.strip_prefix("http://"));
    let known = DRAFTS.iter().find(|(address, _)| plain == Some(*address));
    known.map(|(_, siblings)| *siblings).ok_or_else(|| {
        format!("$schema {} is not understood: draft-06, draft-07, 2019-09 and 2020-12 are", quoted(draft))
    })
}

impl SchemaReading<'_> {
    fn schema(&mut self, schema: &Value, at: &str, depth: usize) -> Result<(), String> {
        self.nodes += 1;
        if self.nodes > SCHEMA_NODES_MAX || depth > DEPTH_MAX {
            return Err(format!("it is too large: at most {SCHEMA_NODES_MAX} schemas, {DEPTH_MAX} inside each other"));
        }
        let keywords = match schema {
            Value::Bool(_) => return Ok(()),
            Value::Object(keywords) => keywords,
            other => return Err(format!("{} is no schema: {}", place(at), quoted(other))),
        };
        if let Some(name) = NOT_UNDERSTOOD.iter().find(|name| keywords.contains_key(**name)) {
            return Err(format!("{} has {name}, which is not understood here", place(at)));
        }
        if keywords.contains_key("$id") && !at.is_empty() {
            return Err(format!("{} has $id, which is understood at the top only", place(at)));
        }
        // Keywords that mean nothing to the standard are the author's own.
        let known = FORMS.iter().filter_map(|(name, form)| Some((name, form, keywords.get(*name)?)));
        for (name, form, value) in known {
            self.keyword((form, value), &format!("{at}/{name}"), depth)?;
        }
        Ok(())
    }

    fn keyword(&mut self, (form, value): (&KeywordForm, &Value), at: &str, depth: usize) -> Result<(), String> {
        let wrong = || Err(format!("{} cannot be {}", place(at), quoted(value)));
        match (form, value) {
            (KeywordForm::Schema | KeywordForm::SchemaOrSchemas, Value::Bool(_) | Value::Object(_)) => {
                self.schema(value, at, depth + 1)
            }
            (KeywordForm::Schemas | KeywordForm::SchemaOrSchemas, Value::Array(all)) if !all.is_empty() => {
                let mut numbered = all.iter().enumerate();
                numbered.try_for_each(|(number, one)| self.schema(one, &format!("{at}/{number}"), depth + 1))
            }
            (KeywordForm::SchemaByName, Value::Object(all)) => self.by_name(all, at, depth),
            (KeywordForm::SchemaByPattern, Value::Object(all)) => {
                all.keys().try_for_each(|pattern| self.pattern(pattern, at))?;
                self.by_name(all, at, depth)
            }
            (KeywordForm::SchemaOrNamesByName, Value::Object(all)) => all.iter().try_for_each(|(name, one)| {
                if is_names(one) { Ok(()) } else { self.schema(one, &format!("{at}/{name}"), depth + 1) }
            }),
            (KeywordForm::Names, names) if is_names(names) => Ok(()),
            (KeywordForm::NamesByName, Value::Object(all)) if all.values().all(is_names) => Ok(()),
            // `2.0` is a whole number, too.
            (KeywordForm::Count, Value::Number(count))
                if count.as_f64().is_some_and(|n| n >= 0.0 && n.fract() == 0.0) =>
            {
                Ok(())
            }
            (KeywordForm::Number, Value::Number(_)) | (KeywordForm::Boolean, Value::Bool(_)) => Ok(()),
            (KeywordForm::Positive, Value::Number(number)) if number.as_f64().is_some_and(|n| n > 0.0) => Ok(()),
            (KeywordForm::Values, Value::Array(values)) if !values.is_empty() => Ok(()),
            (KeywordForm::Pattern, Value::String(pattern)) => self.pattern(pattern, at),
            (KeywordForm::Types, types) if is_types(types) => Ok(()),
            (KeywordForm::Reference, Value::String(target)) => self.reference(target, at),
            _ => wrong(),
        }
    }

    fn by_name(&mut self, all: &Map<String, Value>, at: &str, depth: usize) -> Result<(), String> {
        all.iter().try_for_each(|(name, one)| self.schema(one, &format!("{at}/{name}"), depth + 1))
    }

    fn pattern(&mut self, pattern: &str, at: &str) -> Result<(), String> {
        if !self.schema.patterns.contains_key(pattern) {
            let compiled = patterns::compile(pattern);
            let compiled =
                compiled.map_err(|why| format!("{} has a pattern that is not understood: {why}", place(at)))?;
            self.schema.patterns.insert(pattern.to_owned(), compiled);
        }
        Ok(())
    }

    /// The target is read too: it may stand where no schema is looked for.
    fn reference(&mut self, target: &str, at: &str) -> Result<(), String> {
        let Some(pointer) = target.strip_prefix('#') else {
            return Err(format!("{} leads to {target}: only references inside the schema are followed", place(at)));
        };
        let root = self.root;
        let found = root.pointer(&decoded(pointer)).filter(|found| found.is_boolean() || found.is_object());
        let found = found.ok_or_else(|| format!("{} leads to {target}, where no schema is", place(at)))?;
        if self.followed.insert(target.to_owned()) { self.schema(found, pointer, 1) } else { Ok(()) }
    }
}

/// The part of a reference behind the `#`, as a JSON pointer.
pub(super) fn decoded(pointer: &str) -> String {
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let byte = hex.and_then(|two| u8::from_str_radix(two, 16).ok()).filter(|_| first == b'%');
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| pointer.to_owned())
}

fn place(at: &str) -> String {
    if at.is_empty() { "the schema".to_owned() } else { format!("#{at}") }
}

fn is_names(value: &Value) -> bool {
    value.as_array().is_some_and(|names| names.iter().all(Value::is_string))
}

fn is_types(value: &Value) -> bool {
    let known = |one: &Value| one.as_str().is_some_and(|name| TYPES.contains(&name));
    known(value) || value.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(known))
}
