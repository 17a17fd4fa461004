//! Verbs and flags of the contract that this version does not have yet. They are known, so that the answer is a plain "not
//! yet" and not "no such verb".

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use onward_engine::Error;

const VERBS: &[&str] = &["serve", "worker"];

/// Whether a flag takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
}

/// Flags of verbs that are here.
const FLAGS: &[(&[&str], &str, Takes)] =
    &[(&["show"], "format", Takes::Value), (&["list"], "all-projects", Takes::Nothing)];

const WORDS: &str = "words";

/// Something that was typed and is not here yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotYet {
    Verb { verb: &'static str },
    Flag { verb: String, flag: &'static str },
}

/// Whether this is a verb of a later version.
pub(crate) fn is_verb(word: &str) -> bool {
    VERBS.contains(&word)
}

/// Makes the verbs and flags of later versions known, hidden from the help.
pub(crate) fn add_to(mut command: Command) -> Command {
    for verb in VERBS {
        let words = Arg::new(WORDS).num_args(0..).trailing_var_arg(true).allow_hyphen_values(true);
        let words = words.value_parser(clap::value_parser!(std::ffi::OsString));
        command = command.subcommand(Command::new(verb).hide(true).disable_help_flag(true).arg(words));
    }
    for (verbs, flag, takes) in FLAGS {
        for verb in *verbs {
            let action = match takes {
                Takes::Nothing => ArgAction::SetTrue,
                Takes::Value => ArgAction::Append,
            };
            let mut arg = Arg::new(flag).long(flag).hide(true).action(action);
            if *takes == Takes::Value {
                arg = arg.allow_hyphen_values(true);
            }
            command = command.mut_subcommand(verb, |command| command.arg(arg.clone()));
        }
    }
    command
}

/// The verb or flag of a later version among the arguments.
pub(crate) fn find(matches: &ArgMatches) -> Option<NotYet> {
    let (verb, inner) = matches.subcommand()?;
    if let Some(verb) = VERBS.iter().find(|known| **known == verb) {
        return Some(NotYet::Verb { verb });
    }
    let typed = |flag: &str| inner.value_source(flag) == Some(ValueSource::CommandLine);
    let mut flags = FLAGS.iter().filter(|(verbs, _, _)| verbs.contains(&verb));
    flags.find(|(_, flag, _)| typed(flag)).map(|(_, flag, _)| NotYet::Flag { verb: verb.to_owned(), flag })
}

/// The refusal of such a verb or flag.
pub(crate) fn refuse(later: &NotYet) -> Error {
    match later {
        NotYet::Flag { verb, flag } => Error::NotYet(format!("this version has no `onward {verb} --{flag}` yet")),
        NotYet::Verb { verb } => Error::NotYet(format!("this version has no `onward {verb}` yet")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::command;

    fn found(words: &str) -> Option<NotYet> {
        find(&command().try_get_matches_from(words.split(' ')).expect("it can be understood"))
    }

    #[test]
    fn a_verb_of_a_later_version_takes_whatever_stands_behind_it() {
        let later = found("onward worker run-1 phase --choice yes");
        assert_eq!(later, Some(NotYet::Verb { verb: "worker" }));
    }

    #[test]
    fn a_flag_of_a_later_version_is_found_wherever_it_stands() {
        let later = found("onward show --json --format checkpoint run-1");
        assert_eq!(later, Some(NotYet::Flag { verb: "show".to_owned(), flag: "format" }));
        assert_eq!(found("onward run --json plan.yaml"), None);
        assert_eq!(found("onward"), None);
    }

    #[test]
    fn no_verb_stands_in_both_lists() {
        let mut names: Vec<String> = command().get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
