//! Requests whose text says something else than its values: numbers that no reader keeps, members that another of their name hides.
//! They are refused: their sender would be told that they were taken, and find something else.

use onward_core::data_limits::is_exact;
use rmcp::model::ErrorData;
use serde_json::Value;

/// The id and the refusal of such a request; none of any other text. A notification hands in nothing.
pub(super) fn inexact(text: &[u8]) -> Option<(Value, ErrorData)> {
    let why = is_exact(text).err()?;
    let value: Value = serde_json::from_slice(text).ok()?;
    let id = value.get("id").filter(|id| id.is_string() || id.is_number())?;
    Some((id.clone(), ErrorData::invalid_params(format!("the request cannot be taken as it is: {why}"), None)))
}
