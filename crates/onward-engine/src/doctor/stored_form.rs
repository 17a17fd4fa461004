//! Stored documents, held against what the journal gives today.
//!
//! A document of format 1 may lack fields that came later, and may have fields of a version that is later still. Neither is damage:
//! what both know must be the same.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Whether a stored document says what this value says, as far as both know it.
pub(super) fn says<T: Serialize + DeserializeOwned>(stored: &Value, now: &T) -> bool {
    let Ok(now) = serde_json::to_value(now) else { return false };
    let read = serde_json::from_value::<T>(stored.clone()).ok().and_then(|read| serde_json::to_value(read).ok());
    read.is_some_and(|read| agrees(stored, &read, &now))
}

/// `read` is `stored` as this version understands it: without what it does not know, and with defaults for what is not there.
fn agrees(stored: &Value, read: &Value, now: &Value) -> bool {
    match (stored, read, now) {
        (Value::Object(stored), Value::Object(read), Value::Object(now)) => {
            // Each key once: what is nested would be compared twice on every level.
            let only_now = now.keys().filter(|key| !read.contains_key(*key));
            read.keys().chain(only_now).all(|key| match (stored.get(key), read.get(key), now.get(key)) {
                (None, _, _) => true,
                (Some(stored), Some(read), Some(now)) => agrees(stored, read, now),
                (Some(_), _, _) => false,
            })
        }
        (Value::Array(stored), Value::Array(read), Value::Array(now)) => {
            stored.len() == now.len()
                && read.len() == now.len()
                && stored.iter().zip(read).zip(now).all(|((stored, read), now)| agrees(stored, read, now))
        }
        (_, read, now) => read == now,
    }
}

#[cfg(test)]
mod tests {
    use onward_core::data_limits;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Document {
        name: String,
        rows: Vec<Row>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    }

    #[derive(Serialize, Deserialize)]
    struct Row {
        id: u32,
        #[serde(default)]
        report: bool,
    }

    fn document() -> Document {
        Document { name: "x".to_owned(), rows: vec![Row { id: 1, report: true }], note: Some("n".to_owned()) }
    }

    /// An earlier version wrote it, which had no notes and no reports, or a later one, which has more. Both are as good as one
    /// that this version wrote.
    #[test]
    fn documents_of_other_versions_are_no_damage() {
        for stored in [
            json!({ "name": "x", "rows": [{ "id": 1, "report": true }], "note": "n" }),
            json!({ "name": "x", "rows": [{ "id": 1 }] }),
            json!({ "name": "x", "rows": [{ "id": 1, "report": true, "of": "y" }], "note": "n", "more": [1] }),
        ] {
            assert!(says(&stored, &document()), "{stored}");
        }
    }

    /// The time that it takes grows with the length of a document, not with each level of it.
    #[test]
    fn documents_that_are_nested_deep_are_compared_once() {
        let deep = (0..data_limits::DEPTH_LEVELS_MAX).fold(json!(1), |inner, _| json!({ "a": inner }));
        assert!(says(&deep, &deep));
        let other = (0..data_limits::DEPTH_LEVELS_MAX).fold(json!(2), |inner, _| json!({ "a": inner }));
        assert!(!says(&deep, &other));
    }

    #[test]
    fn a_document_that_says_something_else_is_noticed() {
        for stored in [
            json!({ "name": "y", "rows": [{ "id": 1, "report": true }], "note": "n" }),
            json!({ "name": "x", "rows": [{ "id": 2, "report": true }], "note": "n" }),
            json!({ "name": "x", "rows": [{ "id": 1, "report": false }], "note": "n" }),
            json!({ "name": "x", "rows": [{ "id": 1, "report": true }], "note": null }),
            json!({ "name": "x", "rows": [], "note": "n" }),
            json!({ "name": "x", "rows": [{ "id": 1 }, { "id": 1 }], "note": "n" }),
            json!({ "name": "x" }),
            json!(["x"]),
            json!(null),
        ] {
            assert!(!says(&stored, &document()), "{stored}");
        }
    }
}
