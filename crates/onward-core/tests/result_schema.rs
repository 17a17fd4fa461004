//! Schemas of answers: what fits, what does not, what is no schema, and that there is an end to it.

use onward_core::result_schema::ResultSchema;
use serde_json::{Value, json};

fn schema(schema: &Value) -> ResultSchema {
    ResultSchema::read(&schema.to_string()).unwrap_or_else(|why| panic!("{schema}: {why}"))
}

/// A schema, values that fit it, and values that do not.
fn cases() -> Vec<(Value, Vec<Value>, Vec<Value>)> {
    let mut cases = simple_cases();
    cases.extend(list_cases());
    cases.extend(object_cases());
    cases.extend(combined_cases());
    cases
}

fn simple_cases() -> Vec<(Value, Vec<Value>, Vec<Value>)> {
    vec![
        (json!(true), vec![json!(1), json!({})], vec![]),
        (json!(false), vec![], vec![json!(null), json!({})]),
        (json!({"type": "integer"}), vec![json!(1), json!(1.0), json!(-3)], vec![json!(1.5), json!("1"), json!(null)]),
        (json!({"type": "number"}), vec![json!(1), json!(1.5)], vec![json!("1"), json!(true)]),
        (json!({"type": ["string", "null"]}), vec![json!("x"), json!(null)], vec![json!(1), json!([])]),
        (json!({"enum": [1, "x", [2]]}), vec![json!(1.0), json!("x"), json!([2.0])], vec![json!(2), json!([2, 2])]),
        (json!({"const": {"a": 1}}), vec![json!({"a": 1.0})], vec![json!({"a": 1, "b": 2}), json!({})]),
        (json!({"minimum": 1, "maximum": 3}), vec![json!(1), json!(3), json!("x")], vec![json!(0.99), json!(4)]),
        (json!({"exclusiveMinimum": 1, "exclusiveMaximum": 3}), vec![json!(2)], vec![json!(1), json!(3)]),
        (json!({"multipleOf": 0.01}), vec![json!(4.02), json!(0)], vec![json!(0.005)]),
        (
            json!({"minLength": 2, "maxLength": 3}),
            vec![json!("äö"), json!("abc"), json!(1)],
            vec![json!("ä"), json!("abcd")],
        ),
        (json!({"pattern": "^[a-z]+$"}), vec![json!("abc"), json!(3)], vec![json!("aBc"), json!("")]),
        (json!({"format": "email"}), vec![json!("no address")], vec![]),
        (json!({"x-mine": 1}), vec![json!(1)], vec![]),
    ]
}

fn list_cases() -> Vec<(Value, Vec<Value>, Vec<Value>)> {
    vec![
        (
            json!({"items": {"type": "integer"}, "minItems": 1, "maxItems": 2}),
            vec![json!([1]), json!({})],
            vec![json!([]), json!([1, 2, 3]), json!(["x"])],
        ),
        (
            json!({"prefixItems": [{"type": "string"}], "items": false}),
            vec![json!(["x"]), json!([])],
            vec![json!([1]), json!(["x", 1])],
        ),
        (
            json!({"items": [{"type": "string"}], "additionalItems": {"type": "integer"}}),
            vec![json!(["x", 1])],
            vec![json!(["x", "y"])],
        ),
        (
            json!({"uniqueItems": true}),
            vec![json!([1, 2]), json!([{"a": 1}, {"a": 2}])],
            vec![json!([1, 1.0]), json!([{"a": 1, "b": 2}, {"b": 2, "a": 1}])],
        ),
        (
            json!({"contains": {"const": 1}, "maxContains": 2}),
            vec![json!([1, 0, 1])],
            vec![json!([0]), json!([1, 1, 1])],
        ),
        (json!({"contains": {"const": 1}, "minContains": 0}), vec![json!([])], vec![]),
    ]
}

fn object_cases() -> Vec<(Value, Vec<Value>, Vec<Value>)> {
    vec![
        (
            json!({"properties": {"a": {"type": "string"}}, "required": ["a"]}),
            vec![json!({"a": "x", "b": 1}), json!(1)],
            vec![json!({}), json!({"a": 1})],
        ),
        (
            json!({"patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": {"type": "string"}}),
            vec![json!({"x1": 1, "y": "z"})],
            vec![json!({"x1": "1"}), json!({"y": 1})],
        ),
        (
            json!({"properties": {"a": true}, "additionalProperties": false}),
            vec![json!({"a": 1})],
            vec![json!({"b": 1})],
        ),
        (
            json!({"propertyNames": {"maxLength": 1}, "minProperties": 1, "maxProperties": 2}),
            vec![json!({"a": 1})],
            vec![json!({}), json!({"ab": 1}), json!({"a": 1, "b": 1, "c": 1})],
        ),
        (
            json!({"dependentRequired": {"a": ["b"]}}),
            vec![json!({"b": 1}), json!({"a": 1, "b": 1})],
            vec![json!({"a": 1})],
        ),
        (
            json!({"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}),
            vec![json!({})],
            vec![json!({"a": 1}), json!({"c": 1})],
        ),
        (
            json!({"dependentSchemas": {"a": {"maxProperties": 1}}}),
            vec![json!({"a": 1})],
            vec![json!({"a": 1, "b": 1})],
        ),
    ]
}

fn combined_cases() -> Vec<(Value, Vec<Value>, Vec<Value>)> {
    let list = json!({"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": false});
    let old = json!({"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a", "minimum": 9, "definitions": {"a": {"maximum": 5}}});
    vec![
        (json!({"allOf": [{"minimum": 1}, {"maximum": 3}]}), vec![json!(2)], vec![json!(0), json!(4)]),
        (json!({"anyOf": [{"type": "string"}, {"minimum": 3}]}), vec![json!("x"), json!(3)], vec![json!(2)]),
        (json!({"oneOf": [{"minimum": 1}, {"maximum": 3}]}), vec![json!(0), json!(4)], vec![json!(2)]),
        (json!({"not": {"type": "string"}}), vec![json!(1)], vec![json!("x")]),
        (
            json!({"if": {"minimum": 10}, "then": {"multipleOf": 10}, "else": {"multipleOf": 2}}),
            vec![json!(20), json!(4)],
            vec![json!(12), json!(3)],
        ),
        (
            json!({"$ref": "#/$defs/a~1b%25", "minimum": 1, "$defs": {"a/b%": {"maximum": 5}}}),
            vec![json!(3)],
            vec![json!(0), json!(6)],
        ),
        (json!({"$ref": "#/x-shared/a", "x-shared": {"a": {"pattern": "^a"}}}), vec![json!("a")], vec![json!("b")]),
        (list, vec![json!({"next": {"next": {}}})], vec![json!({"next": {"other": 1}})]),
        // Older drafts pay no heed to what stands beside a reference.
        (old, vec![json!(3)], vec![json!(6)]),
    ]
}

/// Every keyword, with what fits and what does not.
#[test]
fn what_fits_a_schema() {
    for (form, good, bad) in cases() {
        let schema = schema(&form);
        for value in good {
            assert_eq!(schema.check(&value), Ok(()), "{value} fits {form}");
        }
        for value in bad {
            assert!(schema.check(&value).is_err(), "{value} does not fit {form}");
        }
    }
}

/// A text that is no schema, or has something that is not looked at, is refused in words when it is read, and not passed over.
#[test]
fn what_is_no_schema() {
    for (text, named) in [
        ("{", "no JSON"),
        ("[]", "no schema"),
        (r#"{"type": "text"}"#, "#/type"),
        (r#"{"minimum": "1"}"#, "#/minimum"),
        (r#"{"required": "a"}"#, "#/required"),
        (r#"{"properties": {"a": 1}}"#, "#/properties/a"),
        (r#"{"pattern": "(?=x)"}"#, "#/pattern"),
        (r#"{"anyOf": []}"#, "#/anyOf"),
        (r#"{"multipleOf": 0}"#, "#/multipleOf"),
        (r#"{"items": {"$ref": "https://example.org/a.json"}}"#, "inside the schema"),
        (r#"{"$ref": "other.json#/a"}"#, "inside the schema"),
        (r##"{"$ref": "#/nowhere"}"##, "where no schema is"),
        (r#"{"unevaluatedProperties": false}"#, "unevaluatedProperties"),
        (r#"{"properties": {"a": {"$id": "x"}}}"#, "$id"),
        (r#"{"$schema": "http://json-schema.org/draft-04/schema#"}"#, "$schema"),
    ] {
        let refused = ResultSchema::read(text).expect_err(text);
        assert!(refused.contains(named), "{text}: {refused}");
    }
    let deep = format!("{}true{}", r#"{"not":"#.repeat(120), "}".repeat(120));
    assert!(ResultSchema::read(&deep).expect_err("it is too deep").contains("too large"));
}

/// The author reads at which places an answer does not fit, and of a long value only its beginning.
#[test]
fn places_are_named() {
    let schema = schema(&json!({
        "type": "object",
        "required": ["verdict"],
        "properties": { "score": { "maximum": 10 }, "notes": { "items": { "type": "string" } } },
    }));
    let long = vec![1; 200];
    let told = schema.check(&json!({"score": 11, "notes": ["x", long]})).expect_err("it does not fit");
    for words in ["the answer must have the field \"verdict\"", "/score must be at most 10", "/notes/1 must be string"]
    {
        assert!(told.contains(words), "{told}");
    }
    assert!(told.len() < 500, "{told}");
}

/// A schema that refers to itself, or tries more forms than anybody can wait for: there is an end.
#[test]
fn there_is_an_end() {
    assert!(schema(&json!({"$ref": "#"})).check(&json!(1)).expect_err("it has no end").contains("deep"));
    let mut forms = json!({"x0": {"type": "null"}});
    for number in 1..40 {
        let before = json!({ "$ref": format!("#/$defs/x{}", number - 1) });
        forms[format!("x{number}")] = json!({"anyOf": [before, before]});
    }
    let slow = schema(&json!({"$ref": "#/$defs/x39", "$defs": forms}));
    assert!(slow.check(&json!(1)).expect_err("it tries too much").contains("too long"));
    let same: Vec<Value> = (0..5_000).map(|number| json!([number, "x"])).collect();
    assert!(schema(&json!({"uniqueItems": true})).check(&Value::from(same)).is_err());
}
