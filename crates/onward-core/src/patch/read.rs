//! Reading a change. By hand, because what is derived for a tagged enum keeps all of a value aside before it reads it:
//! that takes as long again, and changes may be large.

use std::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::Op;

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OpKind {
    Set,
    Remove,
    Splice,
    Extend,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum OpField {
    Op,
    Path,
    Value,
    At,
    Remove,
    Insert,
    Text,
    #[serde(other)]
    Unknown,
}

/// The fields that were read so far; the kind may come last.
#[derive(Default)]
struct OpParts {
    kind: Option<OpKind>,
    path: Option<String>,
    value: Option<Value>,
    at: Option<usize>,
    remove: Option<usize>,
    insert: Option<Vec<Value>>,
    text: Option<String>,
}

impl OpParts {
    fn op<E: Error>(self) -> Result<Op, E> {
        fn need<T, E: Error>(part: Option<T>, name: &'static str) -> Result<T, E> {
            part.ok_or_else(|| E::missing_field(name))
        }
        let path = need(self.path, "path")?;
        Ok(match need(self.kind, "op")? {
            OpKind::Set => Op::Set { path, value: need(self.value, "value")? },
            OpKind::Remove => Op::Remove { path },
            OpKind::Splice => Op::Splice {
                path,
                at: need(self.at, "at")?,
                remove: need(self.remove, "remove")?,
                insert: need(self.insert, "insert")?,
            },
            OpKind::Extend => Op::Extend { path, text: need(self.text, "text")? },
        })
    }
}

struct OpVisitor;

impl<'de> Visitor<'de> for OpVisitor {
    type Value = Op;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a change by path")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Op, A::Error> {
        fn once<T, E: Error>(part: &mut Option<T>, value: T, name: &'static str) -> Result<(), E> {
            if part.replace(value).is_some() { Err(E::duplicate_field(name)) } else { Ok(()) }
        }
        let mut parts = OpParts::default();
        while let Some(field) = map.next_key()? {
            match field {
                OpField::Op => once(&mut parts.kind, map.next_value()?, "op")?,
                OpField::Path => once(&mut parts.path, map.next_value()?, "path")?,
                OpField::Value => once(&mut parts.value, map.next_value()?, "value")?,
                OpField::At => once(&mut parts.at, map.next_value()?, "at")?,
                OpField::Remove => once(&mut parts.remove, map.next_value()?, "remove")?,
                OpField::Insert => once(&mut parts.insert, map.next_value()?, "insert")?,
                OpField::Text => once(&mut parts.text, map.next_value()?, "text")?,
                OpField::Unknown => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        parts.op()
    }

    /// In the fold cache there are no names: the kind comes first, and then its parts in the order of [`Op`].
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Op, A::Error> {
        let kind: OpKind = seq.next_element()?.ok_or_else(|| A::Error::missing_field("op"))?;
        let mut parts = OpParts { kind: Some(kind), path: seq.next_element()?, ..OpParts::default() };
        match kind {
            OpKind::Set => parts.value = seq.next_element()?,
            OpKind::Remove => {}
            OpKind::Splice => {
                parts.at = seq.next_element()?;
                parts.remove = seq.next_element()?;
                parts.insert = seq.next_element()?;
            }
            OpKind::Extend => parts.text = seq.next_element()?,
        }
        parts.op()
    }
}

impl<'de> Deserialize<'de> for Op {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OpVisitor)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Changes of every kind were written, by name and without names. They are read as they were, whatever the order of
    /// their parts; what lacks a part or says it twice is refused.
    #[test]
    fn a_change_is_read_as_it_was_written() {
        let path = || "/a".to_owned();
        let ops = [
            Op::Set { path: path(), value: json!({"op": [null, 1.5, "x"]}) },
            Op::Set { path: path(), value: Value::Null },
            Op::Remove { path: path() },
            Op::Splice { path: path(), at: 3, remove: 1, insert: vec![json!({}), json!("y")] },
            Op::Extend { path: path(), text: "more".to_owned() },
        ];
        for op in ops {
            let text = serde_json::to_vec(&op).expect("it is JSON");
            assert_eq!(serde_json::from_slice::<Op>(&text).expect("our own bytes"), op);
            let value: Value = serde_json::from_slice(&text).expect("it is JSON");
            assert_eq!(serde_json::from_value::<Op>(value).expect("our own bytes"), op);
            let packed = rmp_serde::to_vec(&op).expect("plain data");
            assert_eq!(rmp_serde::from_slice::<Op>(&packed).expect("our own bytes"), op);
        }
        let late = r#"{"value": 1, "later": {"x": []}, "path": "/a", "op": "set"}"#;
        assert_eq!(serde_json::from_str::<Op>(late).expect("a change"), Op::Set { path: path(), value: json!(1) });
        for bad in [
            r#"{"op": "set", "path": "/a"}"#,
            r#"{"path": "/a"}"#,
            r#"{"op": "move", "path": "/a"}"#,
            "1",
            r#"{"op": "remove", "path": "/a", "path": "/b"}"#,
        ] {
            assert!(serde_json::from_str::<Op>(bad).is_err(), "{bad}");
        }
    }
}
