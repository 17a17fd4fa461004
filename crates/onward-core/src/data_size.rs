//! How large data is: as the text that is stored of it, and as values, which is what it takes in memory.

use std::ops::{Add, AddAssign, Sub};

use serde_json::Value;

/// The length of a value as JSON, with a comma behind every member, and the number of values in it, itself included. Both are
/// the sum of those of its parts, so they can be kept up to date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    pub bytes: u64,
    pub values: u64,
}

/// By how much a document becomes larger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Growth {
    pub bytes: i64,
    pub values: i64,
}

impl Add for Size {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { bytes: self.bytes + other.bytes, values: self.values + other.values }
    }
}

impl std::iter::Sum for Size {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

/// The values that came, without those that went.
impl Sub for Size {
    type Output = Growth;

    fn sub(self, gone: Self) -> Growth {
        Growth {
            bytes: self.bytes.cast_signed() - gone.bytes.cast_signed(),
            values: self.values.cast_signed() - gone.values.cast_signed(),
        }
    }
}

impl AddAssign for Growth {
    fn add_assign(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.values += other.values;
    }
}

impl Size {
    /// As large as it is after it grew.
    #[must_use]
    pub fn grown(self, by: Growth) -> Self {
        Self { bytes: self.bytes.saturating_add_signed(by.bytes), values: self.values.saturating_add_signed(by.values) }
    }

    /// So many bytes that are no value of their own.
    const fn text(bytes: u64) -> Self {
        Self { bytes, values: 0 }
    }

    const fn one(bytes: u64) -> Self {
        Self { bytes, values: 1 }
    }
}

/// The size of a value.
pub fn size(value: &Value) -> Size {
    match value {
        Value::Null | Value::Bool(true) => Size::one(4),
        Value::Bool(false) => Size::one(5),
        Value::Number(number) => Size::one(number.to_string().len() as u64),
        Value::String(text) => Size::one(text_bytes(text)),
        Value::Array(list) => Size::one(2) + list.iter().map(item_size).sum(),
        Value::Object(map) => Size::one(2) + map.iter().map(|(key, value)| member_size(key, value)).sum(),
    }
}

/// The length of a value as JSON, with a comma behind every member.
pub fn json_bytes(value: &Value) -> u64 {
    size(value).bytes
}

/// The size of a member of an object.
pub(crate) fn member_size(key: &str, value: &Value) -> Size {
    Size::text(text_bytes(key) + 1) + item_size(value)
}

/// The size of an item of a list.
pub(crate) fn item_size(value: &Value) -> Size {
    size(value) + Size::text(1)
}

fn text_bytes(text: &str) -> u64 {
    2 + inner_text_bytes(text)
}

/// The size of what a text goes on with.
pub(crate) fn more_text(text: &str) -> Size {
    Size::text(inner_text_bytes(text))
}

/// A text without its quotes.
fn inner_text_bytes(text: &str) -> u64 {
    let more = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 1,
        0..0x20 => 5,
        _ => 0,
    };
    text.len() as u64 + text.bytes().map(more).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_length_of_a_value_is_at_least_that_of_its_text() {
        for value in [json!({}), json!([]), json!({"a\n": [1, -2.5, true, false, null, "\u{1}\"é"]}), json!("x")] {
            let text = value.to_string().len() as u64;
            assert!((text..=text + 4).contains(&json_bytes(&value)), "{value}: {} {text}", json_bytes(&value));
        }
    }

    #[test]
    fn every_value_counts_for_one() {
        for (value, values) in [(json!({}), 1), (json!([0, [], null]), 4), (json!({"a": {"b": [1, "x"]}}), 5)] {
            assert_eq!(size(&value).values, values, "{value}");
        }
    }
}
