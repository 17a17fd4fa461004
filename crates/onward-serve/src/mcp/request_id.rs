//! The id of a request that is too long to be kept.

use serde_json::{Map, Value};

/// Bytes of one entry that may be the id.
const ENTRY_BYTES_MAX: usize = 512;

/// Finds the `id` of an object among its bytes as they come, and keeps nothing else of them.
#[derive(Default)]
pub(super) struct RequestIdFinder {
    depth: usize,
    inside_text: bool,
    is_escaped: bool,
    /// The entry of the object that is being read, without what lies deeper; a little more than the most, where it is longer.
    entry: Vec<u8>,
    id: Option<Value>,
}

impl RequestIdFinder {
    pub(super) fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.read_byte(*byte);
        }
    }

    /// The id; null where there is none.
    pub(super) fn found(self) -> Value {
        self.id.unwrap_or_default()
    }

    fn read_byte(&mut self, byte: u8) {
        if self.inside_text {
            self.keep(byte);
            let ends = byte == b'"' && !self.is_escaped;
            self.is_escaped = byte == b'\\' && !self.is_escaped;
            self.inside_text = !ends;
            return;
        }
        match byte {
            b'{' | b'[' => {
                self.keep(byte);
                self.depth += 1;
            }
            b'}' | b']' => {
                self.end_entry();
                self.depth = self.depth.saturating_sub(1);
            }
            b',' => self.end_entry(),
            _ => {
                self.inside_text = byte == b'"';
                self.keep(byte);
            }
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.entry.len() <= ENTRY_BYTES_MAX {
            self.entry.push(byte);
        }
    }

    fn end_entry(&mut self) {
        if self.depth != 1 {
            return;
        }
        let entry = std::mem::take(&mut self.entry);
        if self.id.is_some() || entry.len() > ENTRY_BYTES_MAX {
            return;
        }
        let object = [b"{", entry.as_slice(), b"}"].concat();
        let object: Map<String, Value> = serde_json::from_slice(&object).unwrap_or_default();
        self.id = object.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The id stands before what is long, behind it, or not at all; ids of other things, and words in texts, are none.
    #[test]
    fn the_id_of_the_request_is_found_wherever_it_stands() {
        let found = |text: &str| {
            let mut finder = RequestIdFinder::default();
            text.as_bytes().chunks(3).for_each(|part| finder.read(part));
            finder.found()
        };
        assert_eq!(found(r#"{"jsonrpc":"2.0","id":7,"params":{"id":8}}"#), json!(7));
        assert_eq!(found(r#"{"params":{"id":8,"x":["id",{"id":9}]},"text":"\"id\":1,","id" : "a\"b"}"#), json!("a\"b"));
        assert_eq!(found(&format!(r#"{{"params":"{}","id":3}}"#, "x\\\\".repeat(1_000))), json!(3));
        for none in [r#"{"params":{"id":8}}"#, r#"{"id":{"id":1}}"#, r#"[{"id":1}]"#, r#"{"id":null}"#, "}}}]]", ""] {
            assert_eq!(found(none), Value::Null, "{none}");
        }
        assert_eq!(found(&format!(r#"{{"id":"{}"}}"#, "x".repeat(1_000))), Value::Null);
    }
}
