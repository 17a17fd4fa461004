//! Files made from the tables, which must not drift from them: the file that new projects get, and the JSON Schema.

use std::path::Path;

use onward_core::config::{self, Config, ConfigValue, DEFAULT_FILE, Layer};
use onward_core::diagnostic::Diagnostic;
use serde_json::Value;

/// Lines with one comment sign are settings, those with two are words about them.
fn without_comment_signs(text: &str) -> String {
    text.lines().map(|line| line.strip_prefix('#').unwrap_or(line)).fold(String::new(), |all, line| all + line + "\n")
}

fn keys_and_values(config: &Config) -> Vec<(String, Value)> {
    config.values().into_iter().map(|value| (value.key, value.value)).collect()
}

/// A new project gets a file that changes nothing, so that it is not tied to the defaults of one day.
#[test]
fn the_default_file_sets_nothing() {
    let parsed = config::parse(DEFAULT_FILE);
    assert_eq!(parsed.diagnostics, []);
    assert_eq!(parsed.layer, Layer::default());
}

/// The values that it shows are true: with the comment signs removed it says exactly the defaults, all that there are.
#[test]
fn the_default_file_shows_the_defaults() {
    let parsed = config::parse(&without_comment_signs(DEFAULT_FILE));
    assert!(!parsed.diagnostics.iter().any(Diagnostic::is_error), "{:#?}", parsed.diagnostics);
    let config = config::merge(&[("config.yaml".to_owned(), parsed.layer)]);
    assert_eq!(keys_and_values(&config), keys_and_values(&Config::default()));
    let worth_nothing = |value: &ConfigValue| value.value.is_null() || value.value == serde_json::json!({});
    let not_shown = config.values().into_iter().filter(|value| value.origin == "default" && !worth_nothing(value));
    assert_eq!(
        not_shown.map(|value| value.key).collect::<Vec<_>>(),
        ["checkpoint.git-commit.trailers", "checkpoint.git-commit.hooks"]
    );
}

/// A key without a default is shown as an example, by its own name.
#[test]
fn the_default_file_names_every_key() {
    for value in Config::default().values() {
        let name = value.key.rsplit('.').next().unwrap_or(&value.key).to_owned();
        assert!(DEFAULT_FILE.contains(&name), "{}", value.key);
    }
    assert!(DEFAULT_FILE.lines().all(|line| line.is_empty() || line.starts_with('#')));
}

/// The schema in the repository is what editors use. `UPDATE_SCHEMAS=1` writes it anew.
#[test]
#[expect(clippy::disallowed_methods, reason = "the test compares with a file of the repository")]
fn the_schema_in_the_repository_is_the_one_of_the_tables() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/config.json");
    let schema = serde_json::to_string_pretty(&config::json_schema()).expect("a value can be written") + "\n";
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(&path, &schema).expect("the schema can be written");
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == schema, "schemas/config.json is not what the tables say: run the test with UPDATE_SCHEMAS=1");
}

#[test]
fn the_schema_has_every_key_with_its_default() {
    let schema = config::json_schema();
    for ConfigValue { key, value, .. } in Config::default().values() {
        let mut at = &schema;
        for name in key.split('.') {
            let direct = &at["properties"][name];
            at = if direct.is_null() { &at["anyOf"][1]["properties"][name] } else { direct };
        }
        assert!(at["description"].is_string(), "{key} is not in the schema");
        assert_eq!(at["default"], value, "{key}");
    }
}

/// Nobody asks for commits: none are made, also with the file that a new project gets.
#[test]
fn commits_are_off_until_somebody_asks() {
    let parsed = config::parse(config::DEFAULT_FILE);
    let merged = config::merge(&[("config.yaml".to_owned(), parsed.layer)]);
    assert_eq!(merged.commit_rule(None), None);
    assert_eq!(Config::default().commit_rule(None), None);
}
