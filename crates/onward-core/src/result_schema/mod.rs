//! The form of an agent's answer: a JSON Schema that the author of a plan writes, and whether an answer fits it. Nothing is
//! fetched, and there is an end to it: steps and depth have limits.

mod equal;
mod fit;
mod read;
mod schema;

pub use schema::ResultSchema;
