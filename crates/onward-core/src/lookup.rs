//! Finding a thing by what people type: exactly, or by a prefix that fits only one.

use std::fmt::Display;

use crate::id::RunId;

/// How a run or a checkpoint was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// `latest`, `@`.
    Newest,
    /// `@-`: the one before.
    Before,
    /// An id or the beginning of one.
    Id(String),
}

impl Name {
    /// None for an empty name, which is never meant.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "" => None,
            "latest" | "@" => Some(Self::Newest),
            "@-" => Some(Self::Before),
            id => Some(Self::Id(id.to_owned())),
        }
    }
}

/// Whether a word means a run or a checkpoint by its place, so that none can have it for an id.
pub fn is_reserved(word: &str) -> bool {
    !matches!(Name::parse(word), Some(Name::Id(_)))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookedUp<T> {
    Found(T),
    NotThere,
    /// Several begin like this.
    Ambiguous(Vec<T>),
}

/// Digits of the time at the end of the id of a run.
const TIME_DIGITS: usize = 6;

/// Whether this may be the time at the end of the id of a run: `101530`.
pub fn is_time(text: &str) -> bool {
    text.len() == TIME_DIGITS && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether the id of a run ends in this time; a number that makes it the only one of its second may follow.
pub fn has_time(run: &RunId, time: &str) -> bool {
    let ends_in_time = |id: &str| id.strip_suffix(time).is_some_and(|rest| rest.ends_with('_'));
    let without_number = run.as_str().rsplit_once('_').filter(|(_, number)| number.len() < TIME_DIGITS);
    ends_in_time(run.as_str()) || without_number.is_some_and(|(id, _)| ends_in_time(id))
}

/// Chooses a checkpoint by its id, else by its name, else by the beginning of its id. `ids` are those that begin with `wanted`,
/// `named` has the ids of those that have it as their name: a name is never matched by its beginning.
pub fn choose_named<T: Display>(wanted: &str, ids: Vec<T>, mut named: Vec<T>) -> LookedUp<T> {
    match choose(wanted, ids) {
        LookedUp::Found(found) if found.to_string() == wanted => LookedUp::Found(found),
        by_id => match named.len() {
            0 => by_id,
            1 => LookedUp::Found(named.swap_remove(0)),
            _ => LookedUp::Ambiguous(named),
        },
    }
}

/// Chooses among candidates that all begin with `wanted`: an exact match wins over longer ones.
pub fn choose<T: Display>(wanted: &str, mut candidates: Vec<T>) -> LookedUp<T> {
    if let Some(exact) = candidates.iter().position(|candidate| candidate.to_string() == wanted) {
        return LookedUp::Found(candidates.swap_remove(exact));
    }
    candidates.retain(|candidate| candidate.to_string().starts_with(wanted));
    match candidates.len() {
        0 => LookedUp::NotThere,
        1 => LookedUp::Found(candidates.swap_remove(0)),
        _ => LookedUp::Ambiguous(candidates),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_name_is_found_though_others_begin_with_it() {
        assert_eq!(choose("auth", vec!["auth_system", "auth"]), LookedUp::Found("auth"));
    }

    #[test]
    fn a_prefix_that_fits_two_is_refused_with_both() {
        assert_eq!(choose("aut", vec!["auth_system", "auth"]), LookedUp::Ambiguous(vec!["auth_system", "auth"]));
        assert_eq!(choose("auth_", vec!["auth_system", "auth"]), LookedUp::Found("auth_system"));
        assert_eq!(choose("x", vec!["auth"]), LookedUp::NotThere);
    }

    #[test]
    fn a_name_is_found_before_the_beginning_of_an_id_and_after_a_whole_one() {
        assert_eq!(choose_named("CP-1", vec!["CP-1", "CP-12"], vec!["CP-3"]), LookedUp::Found("CP-1"));
        assert_eq!(choose_named("CP-1", vec!["CP-12"], vec!["CP-3"]), LookedUp::Found("CP-3"));
        assert_eq!(choose_named("CP-1", vec!["CP-12"], vec![]), LookedUp::Found("CP-12"));
        assert_eq!(choose_named("gold", vec![], vec!["CP-3", "CP-4"]), LookedUp::Ambiguous(vec!["CP-3", "CP-4"]));
        assert_eq!(choose_named::<&str>("gold", vec![], vec![]), LookedUp::NotThere);
    }

    #[test]
    fn an_empty_name_is_no_name() {
        assert_eq!(Name::parse(""), None);
        assert_eq!(Name::parse("@-"), Some(Name::Before));
    }
}
