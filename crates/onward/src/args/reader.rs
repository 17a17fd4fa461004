//! For whom an answer is, known before the command line is understood.

use std::ffi::OsString;

/// The reader of a command's answer: a person or a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    Person,
    /// One object.
    Program,
    /// The lines of a run, one object each.
    ProgramOfLines,
}

/// Asked of the bare words, because it must be known even of a command line that cannot be understood.
pub(crate) fn reader(words: &[OsString]) -> Audience {
    if !words.iter().any(|word| word == "--json") {
        Audience::Person
    } else if verb(words).is_some_and(|verb| verb == "run" || verb == "resume") {
        Audience::ProgramOfLines
    } else {
        Audience::Program
    }
}

/// The verb of a command line that may make no sense.
pub(crate) fn verb(words: &[OsString]) -> Option<&OsString> {
    let mut before = words.iter();
    let mut pairs = words.iter().skip(1).map(|word| (before.next(), word));
    let verb = pairs.find(|(before, word)| {
        let value_of_a_flag = before.is_some_and(|before| before == "--color");
        !value_of_a_flag && !word.to_string_lossy().starts_with('-')
    });
    verb.map(|(_, verb)| verb)
}

/// Whether our own log is asked for on a command line that may make no sense.
pub(crate) fn is_verbose(words: &[OsString]) -> bool {
    let flag = |word: &str| word.strip_prefix('-').is_some_and(|letters| letters.trim_matches('v').is_empty());
    words.iter().any(|word| word == "--verbose" || word.to_str().is_some_and(|word| word.len() > 1 && flag(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_reads_is_known_even_from_a_command_line_that_makes_no_sense() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(reader(&words("onward run --frobnicate --json")), Audience::ProgramOfLines);
        assert_eq!(reader(&words("onward --color never resume --json")), Audience::ProgramOfLines);
        assert_eq!(reader(&words("onward status --frobnicate --json")), Audience::Program);
        assert_eq!(reader(&words("onward run")), Audience::Person);
    }
}
