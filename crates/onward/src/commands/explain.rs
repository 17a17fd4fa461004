//! `onward help CODE`: the entry of a code in the reference.

use std::ffi::OsString;

use crate::args;
use crate::render::codes;

/// The entry that `help CODE` asks for. Words that are no code are for the command line to judge.
pub(super) fn asked_for(words: &[OsString]) -> Option<String> {
    let [_, help, code] = words else { return None };
    let code = (help == "help").then(|| code.to_str())??;
    // A finding of the doctor may be called as a verb is: `help error[CODE]` shows that one.
    if args::is_verb(code) {
        return None;
    }
    codes::entries(code.trim_start_matches("error[").trim_end_matches(']')).or_else(|| codes::exit_code(code))
}
