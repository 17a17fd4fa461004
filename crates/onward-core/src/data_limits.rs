//! Limits of data that is handed in to be kept: depth, length, number range. One set of limits for every verb that
//! takes data; what is within them can be read by every reader.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::data_size::{Growth, Size};
use crate::mutant::{self, Defect};
use crate::patch::Op;

/// Lists and objects that stand inside each other, the outermost one included. What is kept around the data adds a few
/// more, and readers give up at 128.
pub const DEPTH_LEVELS_MAX: usize = 64;
/// One value of a store: a record, a checkpoint, a message.
pub const VALUE_BYTES_MAX: usize = 64 << 20;
/// The free-form state of a run as JSON. The rest of [`VALUE_BYTES_MAX`] is for what a checkpoint holds beside it.
pub const STATE_BYTES_MAX: u64 = 48 << 20;
/// Values of one document, and of the free-form state of a run: numbers, texts, lists, objects and what they hold, each for one.
/// One of them may take two bytes as text and takes a few hundred in memory, so the length alone is no limit.
pub const VALUES_MAX: u64 = 1_000_000;
/// Text that is handed in as one: an input, a name, a reason.
pub const TEXT_BYTES_MAX: usize = 1 << 20;
/// Digits of a decimal number that count. More than that tell no two doubles apart, and would not come back.
const DIGITS_MAX: usize = 17;
/// Of a number or a key that is refused as much is shown.
const SHOWN_CHARS_MAX: usize = 40;

/// Why data is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    #[error("it is nested deeper than {DEPTH_LEVELS_MAX} levels")]
    TooDeep,
    #[error("the number {0} would not come back as it is: write it as text")]
    Number(String),
    #[error("the state would have {bytes} bytes, and {STATE_BYTES_MAX} is the most that is kept")]
    StateTooLarge { bytes: u64 },
    #[error("it holds more than {VALUES_MAX} values, and no more are kept")]
    TooManyValues,
    #[error("the state would hold {values} values, and {VALUES_MAX} are the most that are kept")]
    StateOfTooMany { values: u64 },
    #[error("{what} has {bytes} bytes, and {TEXT_BYTES_MAX} is the most that is kept")]
    TextTooLong { what: &'static str, bytes: usize },
    #[error("it is JSON, but not an object")]
    NotAnObject,
    #[error("{0}")]
    NotJson(String),
}

/// A JSON object that can be kept, from its text.
pub fn read_object(text: &[u8]) -> Result<Map<String, Value>, Unfit> {
    // First, since a reader that gives up at some depth says less about it.
    demand_readable(text, DEPTH_LEVELS_MAX)?;
    match read_value(text, VALUES_MAX)? {
        Value::Object(map) => Ok(map),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Err(Unfit::NotAnObject),
    }
}

/// Whether a JSON text says what its values say: no number that would come back as another one, no member that another one of its name
/// hides. For texts around data, which may nest a little deeper than the data itself.
pub fn is_exact(text: &[u8]) -> Result<(), Unfit> {
    demand_readable(text, usize::MAX)?;
    read_value(text, VALUES_MAX).map(drop)
}

/// The same for one member of the object that a text is; what stands beside it is not looked at.
pub fn member_is_exact(text: &[u8], name: &str) -> Result<(), Unfit> {
    let (mut depth, mut at, mut began) = (0_usize, 0, None);
    let (mut key, mut seen) = (None::<String>, false);
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                let start = at;
                at = end_of_string(text, at);
                if depth == 1 && began.is_none() {
                    key = text.get(start..=at).and_then(|quoted| serde_json::from_slice(quoted).ok());
                }
            }
            b'{' | b'[' => depth += 1,
            b':' if depth == 1 && key.as_deref() == Some(name) && began.is_none() => {
                if std::mem::replace(&mut seen, true) {
                    return Err(Unfit::NotJson(format!("the key \"{name}\" stands twice in one object")));
                }
                began = Some(at + 1);
            }
            b',' | b'}' if depth == 1 => {
                let member = began.take().and_then(|start| text.get(start..at));
                member.map_or(Ok(()), is_exact)?;
                key = None;
                depth -= usize::from(*byte == b'}');
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

fn read_value(text: &[u8], most: u64) -> Result<Value, Unfit> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let values = Cell::new(0);
    let read = Unambiguous { values: &values, most }.deserialize(&mut reader);
    let read = read.and_then(|value| reader.end().map(|()| value));
    if values.get() > most {
        return Err(Unfit::TooManyValues);
    }
    read.map_err(|why| Unfit::NotJson(why.to_string()))
}

/// Reads a value in which no object has two members of one name: readers differ about which of them counts. Stops where
/// there are more values than are kept.
#[derive(Clone, Copy)]
struct Unambiguous<'a> {
    /// How many were read so far.
    values: &'a Cell<u64>,
    most: u64,
}

impl<'de> DeserializeSeed<'de> for Unambiguous<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        self.values.set(self.values.get() + 1);
        if self.values.get() > self.most {
            return Err(D::Error::custom(Unfit::TooManyValues));
        }
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unambiguous<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, yes: bool) -> Result<Value, E> {
        Ok(Value::Bool(yes))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        // What grew by doubling may have room for four times as much as it holds.
        list.shrink_to_fit();
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!("the key \"{}\" stands twice in one object", shown(&key))));
            }
            map.insert(key, members.next_value_seed(self)?);
        }
        Ok(map.into())
    }
}

/// The beginning of a text, with a mark where more follows.
fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Whether the members of an object can be kept, as far as that can be told from them alone.
pub fn object_fits(map: &Map<String, Value>) -> Result<(), Unfit> {
    map.values().try_for_each(|value| value_fits(value, 1))
}

/// Whether a value can be kept below so many levels.
fn value_fits(value: &Value, above: usize) -> Result<(), Unfit> {
    let inside = above + 1;
    match value {
        Value::Array(list) if inside <= DEPTH_LEVELS_MAX => list.iter().try_for_each(|one| value_fits(one, inside)),
        Value::Object(map) if inside <= DEPTH_LEVELS_MAX => map.values().try_for_each(|one| value_fits(one, inside)),
        Value::Array(_) | Value::Object(_) => Err(Unfit::TooDeep),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// Whether the state can be kept as it is after these changes. What was there before and stays is not looked at.
pub fn changes_fit(ops: &[Op]) -> Result<(), Unfit> {
    ops.iter().try_for_each(|op| {
        // The whole state is the outermost object, and stands on no path.
        let above = op.path().bytes().filter(|byte| *byte == b'/').count();
        match op {
            Op::Set { value, .. } => value_fits(value, above),
            Op::Splice { insert, .. } => insert.iter().try_for_each(|value| value_fits(value, above + 1)),
            Op::Remove { .. } | Op::Extend { .. } => Ok(()),
        }
    })
}

/// Whether a state can be kept that has become so large by growing like this. What is too large already may become smaller.
pub fn state_fits(size: Size, grown: Growth) -> Result<(), Unfit> {
    let Size { bytes, values } = size;
    if grown.bytes > 0 && bytes > STATE_BYTES_MAX {
        return Err(Unfit::StateTooLarge { bytes });
    }
    if grown.values > 0 && values > VALUES_MAX {
        return Err(Unfit::StateOfTooMany { values });
    }
    Ok(())
}

/// Whether a text can be kept.
pub fn text_fits(what: &'static str, text: &str) -> Result<(), Unfit> {
    if text.len() <= TEXT_BYTES_MAX { Ok(()) } else { Err(Unfit::TextTooLong { what, bytes: text.len() }) }
}

/// Looks at depth and numbers in a text that ought to be JSON; whether it is, others say.
fn demand_readable(text: &[u8], levels_max: usize) -> Result<(), Unfit> {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => at = end_of_string(text, at),
            b'{' | b'[' => {
                depth += 1;
                if depth > levels_max && !mutant::has(Defect::TakeAnyDepth) {
                    return Err(Unfit::TooDeep);
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'-' | b'0'..=b'9' => {
                let rest = &text[at..];
                let is_part = |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                let length = rest.iter().take_while(|byte| is_part(byte)).count();
                demand_it_comes_back(&String::from_utf8_lossy(&rest[..length]))?;
                at += length - 1;
            }
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

/// Where the closing quote stands, or the end of the text.
fn end_of_string(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

/// Numbers are kept as integers of 64 bits, with or without a sign, or as doubles: whatever else a text says is lost.
fn demand_it_comes_back(text: &str) -> Result<(), Unfit> {
    let whole = !text.contains(['.', 'e', 'E']);
    let comes_back = if whole {
        // There is no such integer: it would come back as the double `-0.0`.
        !is_minus_nothing(text) && (text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok())
    } else {
        // Not a number at all: the reader of the whole text says so, and where.
        text.parse::<f64>().is_ok_and(|double| is_said_by(double, text)) || text.parse::<f64>().is_err()
    };
    if comes_back || mutant::has(Defect::TakeAnyNumber) {
        return Ok(());
    }
    Err(Unfit::Number(shown(text)))
}

fn is_minus_nothing(whole: &str) -> bool {
    whole.strip_prefix('-').is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|digit| digit == b'0'))
}

/// Whether a double, written with as many digits as the text has or in its shortest form, is that text. The two differ where it
/// lies in the middle between two texts.
fn is_said_by(double: f64, text: &str) -> bool {
    let Some((digits, exponent)) = decimal(text) else { return false };
    if digits.is_empty() {
        return double == 0.0;
    }
    if !double.is_finite() || digits.len() > DIGITS_MAX {
        return false;
    }
    let written = [format!("{double:.*e}", digits.len() - 1), format!("{double:e}")];
    let said = Some((digits, exponent));
    written.iter().any(|text| decimal(text) == said)
}

/// The digits that count, and the power of ten of the first of them; none where that is beyond all numbers.
fn decimal(text: &str) -> Option<(String, i64)> {
    let (mantissa, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let mantissa = mantissa.trim_start_matches(['-', '+']);
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = [whole, part].concat();
    let first = all.find(|digit| digit != '0').unwrap_or(all.len());
    let digits = all[first..].trim_end_matches('0').to_owned();
    let place = i64::try_from(whole.len()).ok()? - i64::try_from(first).ok()?;
    let power = if digits.is_empty() { 0 } else { power.parse::<i64>().ok()?.checked_add(place)? };
    Some((digits, power))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn nested(levels: usize) -> String {
        format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels))
    }

    #[test]
    fn what_is_nested_too_deep_is_refused_and_the_deepest_that_is_not_is_read() {
        assert!(read_object(nested(DEPTH_LEVELS_MAX).as_bytes()).is_ok());
        for levels in [DEPTH_LEVELS_MAX + 1, 125, 127, 200, 100_000] {
            assert_eq!(read_object(nested(levels).as_bytes()), Err(Unfit::TooDeep), "{levels}");
        }
        let at_the_edge = read_object(nested(DEPTH_LEVELS_MAX).as_bytes()).expect("it fits");
        assert_eq!(object_fits(&at_the_edge), Ok(()));
        let mut too_deep = Map::new();
        too_deep.insert("b".to_owned(), Value::Object(at_the_edge.clone()));
        assert_eq!(object_fits(&too_deep), Err(Unfit::TooDeep));
        let below = |path: &str| [Op::Set { path: path.to_owned(), value: Value::Object(at_the_edge.clone()) }];
        assert_eq!(changes_fit(&below("")), Ok(()));
        assert_eq!(changes_fit(&below("/b")), Err(Unfit::TooDeep), "the result counts, not the value alone");
    }

    #[test]
    fn numbers_that_would_change_are_refused() {
        let good = [
            "0",
            "-0.0",
            "-0e5",
            "1",
            "-1",
            "9223372036854775807",
            "-9223372036854775808",
            "18446744073709551615",
            "0.1",
            "1.0",
            "1E5",
            "1e-5",
            "0.10000000000000001",
            "1.7976931348623157e308",
            "5e-324",
            "2.2250738585072014E-308",
            "123456789012345.67",
            "0.30000000000000004",
            "100000000000000000000.0",
            "1e22",
            "0e999",
            "0.000",
        ];
        for text in good {
            let read = read_object(format!("{{\"n\":{text}}}").as_bytes());
            assert!(read.is_ok(), "{text}: {read:?}");
        }
        let bad = [
            "18446744073709551616",
            "-9223372036854775809",
            "-0",
            "123456789012345678901234567890",
            "1e400",
            "-1e400",
            "1e-400",
            "3e-324",
            "0.12345678901234567890",
            "9007199254740993.5",
            "1e99999999999999999999",
            "1.6e-323",
            "12345678901234567.8",
            // What a double is to its last digit; it would come back with 17 of them at most.
            "0.1000000000000000055511151231257827",
            "3.141592653589793115997963468544185162",
            "8.67361737988403547205962240695953369140625e-19",
            "18446744073709551616.0",
        ];
        for text in bad {
            let read = read_object(format!("{{\"n\":{text}}}").as_bytes());
            assert!(matches!(read, Err(Unfit::Number(_))), "{text}: {read:?}");
        }
        for text in ["1.", "--1", "1e", "01", "+1", ".5"] {
            assert!(read_object(format!("{{\"n\":{text}}}").as_bytes()).is_err(), "{text}");
        }
    }

    /// A list has as many values as are allowed, and then one more; so has an object, and a list of lists. One too many is refused
    /// while it is read, before all of it is in memory.
    #[test]
    fn a_document_of_too_many_values_is_refused() {
        let read = |text: &str| read_value(text.as_bytes(), 6).map(drop);
        // The object around it and the list itself count, too.
        for text in
            [r#"{"a":[0,0,0,0]}"#, r#"{"a":0,"b":0,"c":0,"d":0,"e":0}"#, r#"{"a":[[0],[0]]}"#, "[[],[],[],{},{}]"]
        {
            assert_eq!(read(text), Ok(()), "{text}");
        }
        for text in [
            r#"{"a":[0,0,0,0,0]}"#,
            r#"{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0}"#,
            r#"{"a":[[0],[0,0"#,
            "[[],[],[],{},{},0",
        ] {
            assert_eq!(read(text), Err(Unfit::TooManyValues), "{text}");
        }
        let state = |values| Size { bytes: 1, values };
        let grown = |values| Growth { bytes: 0, values };
        assert_eq!(state_fits(state(VALUES_MAX), grown(1)), Ok(()));
        let values = VALUES_MAX + 1;
        assert_eq!(state_fits(state(values), grown(1)), Err(Unfit::StateOfTooMany { values }));
        assert_eq!(state_fits(state(values), grown(0)), Ok(()), "what is too large already may become smaller");
    }

    /// Readers differ about which of two members of one name counts, so nobody could say what was kept.
    #[test]
    fn two_members_of_one_name_are_refused_by_that_name() {
        let twice = [
            (r#"{"a": 1, "a": 1}"#, "a"),
            (r#"{"x": [{"y": {"deep": 1, "b": 2, "deep": null}}]}"#, "deep"),
            (r#"{"caf\u00e9": 1, "café": 2}"#, "café"),
            (r#"{"": {}, "": {}}"#, ""),
        ];
        for (text, key) in twice {
            let why = read_object(text.as_bytes()).expect_err(text);
            assert!(matches!(&why, Unfit::NotJson(_)), "{why:?}");
            assert!(why.to_string().contains(&format!("the key \"{key}\" stands twice")), "{why}");
        }
        let long = format!(r#"{{"{0}": 1, "{0}": 2}}"#, "k".repeat(10_000));
        let why = read_object(long.as_bytes()).expect_err("it stands twice").to_string();
        assert!(why.len() < 200, "{why}");
        let once = read_object(br#"{"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}], "A": null}"#).expect("each is another");
        assert_eq!(Value::Object(once), json!({"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}], "A": null}));
    }

    /// The double is 1260860289039984.25, in the middle between the two.
    #[test]
    fn both_shortest_forms_of_a_double_are_taken() {
        for text in ["1260860289039984.3", "1260860289039984.2"] {
            assert!(read_object(format!("{{\"n\": {text}}}").as_bytes()).is_ok(), "{text}");
        }
        assert!(read_object(br#"{"n": 1260860289039984.37}"#).is_err());
    }

    #[test]
    fn digits_in_texts_are_texts() {
        assert!(read_object(br#"{"1e400": "99999999999999999999 \" 1e400 [[[["}"#).is_ok());
    }

    proptest! {
        /// Any double that a program writes, in its shortest form or with 17 digits, is taken and is the same afterwards.
        #[test]
        fn every_double_comes_back(bits in any::<u64>()) {
            let double = f64::from_bits(bits);
            prop_assume!(double.is_finite());
            for text in [format!("{double:?}"), format!("{double:.16e}"), format!("{double:e}")] {
                let read = read_object(format!("{{\"n\":{text}}}").as_bytes());
                // What has neither a point nor an exponent is an integer, and has its own limits.
                if text.contains(['.', 'e']) {
                    prop_assert!(read.is_ok(), "{text}: {read:?}");
                }
                let Ok(map) = read else { continue };
                let stored = serde_json::to_vec(&map).expect("it is JSON");
                let again: Value = serde_json::from_slice(&stored).expect("our own bytes");
                let packed: Value = rmp_serde::from_slice(&rmp_serde::to_vec(&map).expect("plain")).expect("our own bytes");
                for back in [&again, &packed] {
                    let back = back["n"].as_f64().expect("a number");
                    prop_assert_eq!(back.to_bits(), double.to_bits(), "{} became {}", text, back);
                }
            }
        }
    }
}
