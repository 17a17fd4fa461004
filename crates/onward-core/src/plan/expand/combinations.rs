//! The combinations of a matrix.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::expression::{self, Reference};
use crate::plan::block_checks::COMBINATIONS_MAX;
use crate::plan::{Axis, Matrix};

/// Whether all values are known when the run starts: they ask for inputs at most.
pub fn is_static(matrix: &Matrix) -> bool {
    let known = |text: &String| {
        expression::references(text).is_ok_and(|all| all.iter().all(|one| matches!(one, Reference::Input(_))))
    };
    matrix.axes.iter().all(|(_, axis)| match axis {
        Axis::Values(values) => values.iter().all(known),
        Axis::From(text) => known(text),
    })
}

/// Every combination once, in the order of the axes: the first one varies slowest. A value that stands twice counts once.
pub fn combinations(
    matrix: &Matrix,
    context: &dyn Fn(&Reference) -> Option<String>,
) -> Result<Vec<BTreeMap<String, String>>, String> {
    let mut all = vec![BTreeMap::new()];
    for (name, axis) in &matrix.axes {
        let values = distinct(values(name, axis, context)?);
        let count = all.len().saturating_mul(values.len());
        if count > COMBINATIONS_MAX {
            return Err(format!("there are more than {COMBINATIONS_MAX} combinations"));
        }
        let longer = all.iter().flat_map(|before| {
            values.iter().map(|value| {
                let mut after: BTreeMap<String, String> = before.clone();
                after.insert(name.clone(), value.clone());
                after
            })
        });
        all = longer.collect();
    }
    Ok(all)
}

fn values(name: &str, axis: &Axis, context: &dyn Fn(&Reference) -> Option<String>) -> Result<Vec<String>, String> {
    let fill = |text: &String| expression::substitute(text, context).map_err(|why| why.to_string());
    match axis {
        Axis::Values(values) => values.iter().map(fill).collect(),
        // A word that asks for nothing is itself.
        Axis::From(text) if !expression::holds(text) => Ok(vec![text.clone()]),
        Axis::From(text) => elements(&fill(text)?).ok_or_else(|| format!("`{name}` is no JSON array of single values")),
    }
}

/// Texts, numbers and booleans of a JSON array, as texts.
fn elements(json: &str) -> Option<Vec<String>> {
    let Ok(Value::Array(items)) = serde_json::from_str(json.trim()) else { return None };
    let text = |item: Value| match item {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    items.into_iter().map(text).collect()
}

fn distinct(values: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    values.into_iter().filter(|value| seen.insert(value.clone())).collect()
}
