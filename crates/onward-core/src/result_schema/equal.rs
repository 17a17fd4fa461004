//! When two JSON values are the same: numbers by what they are, not by how they are written.

use serde_json::{Number, Value};

pub(super) fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => same_number(one, other),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let has = |(name, value): (&String, &Value)| other.get(name).is_some_and(|other| equal(value, other));
            one.len() == other.len() && one.iter().all(has)
        }
        (one, other) => one == other,
    }
}

fn same_number(one: &Number, other: &Number) -> bool {
    if one == other {
        return true;
    }
    // Two integers of the same kind would have been the same already.
    let both_whole = !one.is_f64() && !other.is_f64();
    !both_whole && one.as_f64() == other.as_f64()
}

/// A number without a fraction, however it is written.
pub(super) fn is_whole(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|value| value.fract() == 0.0)
}
