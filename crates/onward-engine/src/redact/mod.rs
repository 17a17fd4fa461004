//! Cuts secrets out of everything before it is first written down.
//!
//! Two things are looked for: values that are known to be secret (from the environment, also in their encoded forms) and tokens that
//! are known by their shape. `redactor` goes through the bytes, `secret_forms` knows the forms of a value, `shapes` the tokens;
//! `known` holds the secrets of this process.

pub(crate) mod collisions;
mod digests;
mod digit_gaps;
pub(crate) mod distinct_marks;
mod escapes;
pub(crate) mod file_names;
mod first_bytes;
pub(crate) mod input_key;
pub(crate) mod inputs;
mod key_material;
mod known;
mod names;
mod redactor;
mod secret_forms;
mod shapes;
pub(crate) mod uncuttable;
mod wide_text;

pub use digests::Digests;
pub use known::secrets;
pub(crate) use known::{given, go_by, learn_inputs, names, secret_in, whole_input, whole_text};
pub use names::{SecretNames, names_a_secret};
pub use onward_core::run::MARK;
use redactor::{BEHIND_BYTES, Follow, More, PlaceMatch, values_of};
pub use redactor::{Redactor, SECRET_BYTES_MIN, Secrets, redact_text};
