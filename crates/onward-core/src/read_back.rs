//! Whether bytes say what they were made from. They are read as any reader reads them, and compared on the way: nothing of what
//! is read is kept, so that a large document is not in memory once more.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::patch::{Below, Op};

/// A part of a document as it ought to be.
pub enum Part<'a> {
    Value(&'a Value),
    Values(&'a [Value]),
    /// A text in two pieces.
    Text(&'a str, &'a str),
    Number(u64),
    Changes(Vec<Below<'a>>),
    /// These members in this order, and no others.
    Object(Vec<(&'static str, Part<'a>)>),
    /// Others look at it.
    Anything,
}

impl<'a> Part<'a> {
    /// Changes as a record of the journal holds them.
    pub fn changes(ops: &'a [Op]) -> Self {
        Part::Changes(ops.iter().map(|op| Below { parent: "", op }).collect())
    }

    /// A change as it is written.
    fn change(Below { parent, op }: &Below<'a>) -> Self {
        let members = |name, path: &'a str| vec![("op", Part::Text(name, "")), ("path", Part::Text(parent, path))];
        let count = |count: usize| Part::Number(count as u64);
        Part::Object(match op {
            Op::Set { path, value } => {
                let mut all = members("set", path);
                all.push(("value", Part::Value(value)));
                all
            }
            Op::Remove { path } => members("remove", path),
            Op::Splice { path, at, remove, insert } => {
                let mut all = members("splice", path);
                all.extend([("at", count(*at)), ("remove", count(*remove)), ("insert", Part::Values(insert))]);
                all
            }
            Op::Extend { path, text } => {
                let mut all = members("extend", path);
                all.push(("text", Part::Text(text, "")));
                all
            }
        })
    }
}

/// Whether these bytes are read as this; or why not.
pub fn demand(bytes: &[u8], part: &Part<'_>) -> Result<(), String> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let read = part.deserialize(&mut reader).and_then(|()| reader.end());
    read.map_err(|why| why.to_string())
}

fn other<E: Error>() -> E {
    E::custom("it would be read as something else")
}

fn demand_same<T: PartialEq + ?Sized, E: Error>(read: &T, wanted: &T) -> Result<(), E> {
    if read == wanted { Ok(()) } else { Err(other()) }
}

/// The end of a list, or of the members of an object.
fn demand_end<E: Error>(more: Option<IgnoredAny>) -> Result<(), E> {
    more.map_or(Ok(()), |_| Err(other()))
}

impl<'de> DeserializeSeed<'de> for &Part<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        match self {
            Part::Anything => reader.deserialize_ignored_any(IgnoredAny).map(drop),
            Part::Value(value) => Same(value).deserialize(reader),
            Part::Values(_) | Part::Text(..) | Part::Number(_) | Part::Changes(_) | Part::Object(_) => {
                reader.deserialize_any(self)
            }
        }
    }
}

impl<'de> Visitor<'de> for &Part<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what it was made from")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        match self {
            Part::Number(wanted) => demand_same(&number, wanted),
            Part::Value(_) | Part::Values(_) | Part::Text(..) | Part::Changes(_) | Part::Object(_) | Part::Anything => {
                Err(other())
            }
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        match self {
            Part::Text(first, rest) => demand_same(&text.strip_prefix(first), &Some(*rest)),
            Part::Value(_)
            | Part::Values(_)
            | Part::Number(_)
            | Part::Changes(_)
            | Part::Object(_)
            | Part::Anything => Err(other()),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        match self {
            Part::Values(all) => same_items(items, all),
            Part::Changes(all) => {
                for one in all {
                    items.next_element_seed(&Part::change(one))?.ok_or_else(other)?;
                }
                demand_end(items.next_element()?)
            }
            Part::Value(_) | Part::Text(..) | Part::Number(_) | Part::Object(_) | Part::Anything => Err(other()),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let Part::Object(all) = self else { return Err(other()) };
        for (name, part) in all {
            members.next_key_seed(&Part::Text(name, ""))?.ok_or_else(other)?;
            members.next_value_seed(part)?;
        }
        demand_end(members.next_key()?)
    }
}

/// A value that is read and must be this one to the last bit, its members in this order.
struct Same<'a>(&'a Value);

fn same_items<'de, A: SeqAccess<'de>>(mut items: A, all: &[Value]) -> Result<(), A::Error> {
    for one in all {
        items.next_element_seed(Same(one))?.ok_or_else(other)?;
    }
    demand_end(items.next_element()?)
}

impl<'de> DeserializeSeed<'de> for Same<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Same<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what it was made from")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        demand_same(&Value::Null, self.0)
    }

    fn visit_bool<E: Error>(self, yes: bool) -> Result<(), E> {
        demand_same(&Value::Bool(yes), self.0)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        demand_same(&Some(number), &self.0.as_i64())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        demand_same(&Some(number), &self.0.as_u64())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        let wanted = self.0.as_number().filter(|wanted| wanted.is_f64()).and_then(serde_json::Number::as_f64);
        demand_same(&Some(number.to_bits()), &wanted.map(f64::to_bits))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        demand_same(&Some(text), &self.0.as_str())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<(), A::Error> {
        same_items(items, self.0.as_array().ok_or_else(other)?)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        for (key, value) in self.0.as_object().ok_or_else(other)? {
            members.next_key_seed(&Part::Text(key, ""))?.ok_or_else(other)?;
            members.next_value_seed(Same(value))?;
        }
        demand_end(members.next_key()?)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_what_it_was_written_as_and_nothing_else() {
        let all = [
            json!({"a": [1, -1, 0, 0.0, -0.0, 1.5e300, "é\n\"", null, true, false], "b": {"": {}, "c": []}}),
            json!(u64::MAX),
            json!(i64::MIN),
            json!(["", []]),
        ];
        for value in &all {
            let text = serde_json::to_vec(value).expect("it is JSON");
            assert_eq!(demand(&text, &Part::Value(value)), Ok(()), "{value}");
        }
        let others = [
            ("[1]", json!([1, 2])),
            ("[1,2]", json!([1])),
            ("0.0", json!(-0.0)),
            ("0", json!(0.0)),
            ("1.0", json!(1)),
            ("null", json!(false)),
            (r#"{"a":1,"b":2}"#, json!({"b": 2, "a": 1})),
            (r#"{"a":1,"b":2}"#, json!({"a": 1})),
            (r#"{"a":1}"#, json!({"a": 1, "b": 2})),
            (r#"{"a":{"b":"x"}}"#, json!({"a": {"b": "y"}})),
            ("[]", json!({})),
            ("1 2", json!(1)),
            ("[1", json!([1])),
        ];
        for (text, value) in others {
            assert!(demand(text.as_bytes(), &Part::Value(&value)).is_err(), "{text} {value}");
        }
    }

    /// Changes of every kind are read as what they were written from; with anything of them changed, they are not.
    #[test]
    fn changes_are_what_they_were_written_as_and_nothing_else() {
        let path = || "/a~1b".to_owned();
        let ops = [
            Op::Set { path: path(), value: json!({"x": [1.5]}) },
            Op::Remove { path: path() },
            Op::Splice { path: path(), at: 3, remove: 1, insert: vec![json!({}), json!("y")] },
            Op::Extend { path: path(), text: "more".to_owned() },
        ];
        let text = serde_json::to_string(&ops).expect("it is JSON");
        assert_eq!(demand(text.as_bytes(), &Part::changes(&ops)), Ok(()));
        for (from, to) in [
            ("1.5", "1.25"),
            ("remove\"", "set\""),
            ("/a~1b", "/a~1c"),
            (":3", ":4"),
            ("y", "z"),
            ("more", "mor"),
            ("{}", "[]"),
        ] {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text, "{from}");
            assert!(demand(changed.as_bytes(), &Part::changes(&ops)).is_err(), "{changed}");
        }
        assert!(demand(text.as_bytes(), &Part::changes(&ops[..3])).is_err());
        assert!(demand(b"[]", &Part::changes(&ops)).is_err());
        let below: Vec<Below<'_>> = ops.iter().map(|op| Below { parent: "/state", op }).collect();
        let text = serde_json::to_vec(&below).expect("it is JSON");
        assert_eq!(demand(&text, &Part::Changes(below)), Ok(()));
        assert!(demand(&text, &Part::changes(&ops)).is_err());
    }
}
