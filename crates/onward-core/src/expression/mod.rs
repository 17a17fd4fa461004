//! `${{ }}`: values put into texts as data. Nothing here runs, and what was put in is never read again.

mod condition;
mod error;
mod reference;
mod template;

pub use condition::{Condition, Past, condition};
pub use error::ExpressionError;
pub use reference::{PATHS, Reference};
pub(crate) use template::substitute_known;
pub use template::{holds, references, substitute};
