//! The arguments of a tool: declared once, told to clients as a JSON Schema, and checked before a call is made.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// The form of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArgumentKind {
    Text,
    Number,
    Flag,
    Texts,
    /// Texts by name.
    Values,
    Object,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Necessity {
    Must,
    May,
}

/// One argument of a tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Argument {
    pub(super) name: &'static str,
    pub(super) kind: ArgumentKind,
    pub(super) need: Necessity,
    pub(super) about: &'static str,
}

/// The JSON Schema of the arguments of a tool.
pub(super) fn schema(declared: &[Argument]) -> Map<String, Value> {
    let properties: Map<String, Value> = declared.iter().map(|one| (one.name.to_owned(), property(one))).collect();
    let required: Vec<&str> = declared.iter().filter(|one| one.need == Necessity::Must).map(|one| one.name).collect();
    let whole =
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    match whole {
        Value::Object(whole) => whole,
        _ => unreachable!("it was just written as an object"),
    }
}

fn property(one: &Argument) -> Value {
    let mut property = match one.kind {
        ArgumentKind::Text => json!({ "type": "string" }),
        ArgumentKind::Number => json!({ "type": "integer", "minimum": 0 }),
        ArgumentKind::Flag => json!({ "type": "boolean" }),
        ArgumentKind::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        ArgumentKind::Values => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        ArgumentKind::Object => json!({ "type": "object" }),
    };
    property["description"] = json!(one.about);
    property
}

/// Arguments that fit their declaration.
#[derive(Debug)]
pub(super) struct Arguments(Map<String, Value>);

impl Arguments {
    /// The arguments, or what is wrong with the first that does not fit.
    pub(super) fn check(given: Map<String, Value>, declared: &[Argument]) -> Result<Self, String> {
        for (name, value) in &given {
            let Some(one) = declared.iter().find(|one| one.name == name) else {
                let known: Vec<&str> = declared.iter().map(|one| one.name).collect();
                return Err(format!("there is no argument `{name}` here; there are: {}", known.join(", ")));
            };
            if !(fits(value, one.kind) || value.is_null() && one.need == Necessity::May) {
                return Err(format!("`{name}` is to be {}", in_words(one.kind)));
            }
        }
        match declared.iter().find(|one| one.need == Necessity::Must && !given.contains_key(one.name)) {
            Some(missing) => Err(format!("`{}` is missing: {}", missing.name, missing.about)),
            None => Ok(Self(given)),
        }
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// A text that the declaration demands.
    pub(super) fn demanded(&self, name: &str) -> &str {
        self.text(name).unwrap_or_default()
    }

    pub(super) fn number(&self, name: &str) -> Option<u32> {
        self.0.get(name).and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok())
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        let items = self.0.get(name).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_str).map(str::to_owned).collect()
    }

    pub(super) fn values(&self, name: &str) -> BTreeMap<String, String> {
        let entries = self.0.get(name).and_then(Value::as_object).into_iter().flatten();
        entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
    }

    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }
}

fn fits(value: &Value, kind: ArgumentKind) -> bool {
    match kind {
        ArgumentKind::Text => value.is_string(),
        ArgumentKind::Number => value.as_u64().is_some_and(|number| u32::try_from(number).is_ok()),
        ArgumentKind::Flag => value.is_boolean(),
        ArgumentKind::Texts => value.as_array().is_some_and(|items| items.iter().all(Value::is_string)),
        ArgumentKind::Values => value.as_object().is_some_and(|entries| entries.values().all(Value::is_string)),
        ArgumentKind::Object => value.is_object(),
    }
}

fn in_words(kind: ArgumentKind) -> &'static str {
    match kind {
        ArgumentKind::Text => "a text",
        ArgumentKind::Number => "a whole number",
        ArgumentKind::Flag => "true or false",
        ArgumentKind::Texts => "a list of texts",
        ArgumentKind::Values => "an object of texts",
        ArgumentKind::Object => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DECLARED: [Argument; 2] = [
        Argument { name: "phase", kind: ArgumentKind::Text, need: Necessity::Must, about: "The phase." },
        Argument { name: "outputs", kind: ArgumentKind::Values, need: Necessity::May, about: "Values." },
    ];

    fn checked(given: Value) -> Result<Arguments, String> {
        let Value::Object(given) = given else { panic!("an object") };
        Arguments::check(given, &DECLARED)
    }

    /// A model leaves out, misspells and mistypes arguments. Each mistake is named.
    #[test]
    fn what_does_not_fit_is_named() {
        for (given, named) in [
            (json!({}), "`phase` is missing"),
            (json!({ "phase": 7 }), "`phase` is to be a text"),
            (json!({ "phase": null }), "`phase` is to be a text"),
            (json!({ "phase": "a", "fase": "b" }), "no argument `fase`"),
            (json!({ "phase": "a", "outputs": { "n": 1 } }), "`outputs` is to be an object of texts"),
        ] {
            let why = checked(given).expect_err(named);
            assert!(why.contains(named), "{why}");
        }
        let fine = checked(json!({ "phase": "a", "outputs": null })).expect("it fits");
        assert_eq!((fine.demanded("phase"), fine.values("outputs").len()), ("a", 0));
    }

    #[test]
    fn the_schema_demands_what_the_check_demands() {
        let schema = schema(&DECLARED);
        assert_eq!((&schema["required"], &schema["additionalProperties"]), (&json!(["phase"]), &json!(false)));
    }
}
