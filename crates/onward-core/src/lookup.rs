//! Finding a thing by what people type: exactly, or by a prefix that fits only one.

use std::fmt::Display;

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

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Looked<T> {
    Found(T),
    NotThere,
    /// Several begin like this.
    Ambiguous(Vec<T>),
}

/// Chooses among candidates that all begin with `wanted`: an exact match wins over longer ones.
pub fn choose<T: Display>(wanted: &str, mut candidates: Vec<T>) -> Looked<T> {
    if let Some(exact) = candidates.iter().position(|candidate| candidate.to_string() == wanted) {
        return Looked::Found(candidates.swap_remove(exact));
    }
    candidates.retain(|candidate| candidate.to_string().starts_with(wanted));
    match candidates.len() {
        0 => Looked::NotThere,
        1 => Looked::Found(candidates.swap_remove(0)),
        _ => Looked::Ambiguous(candidates),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_name_is_found_though_others_begin_with_it() {
        assert_eq!(choose("auth", vec!["auth_system", "auth"]), Looked::Found("auth"));
    }

    #[test]
    fn a_prefix_that_fits_two_is_refused_with_both() {
        assert_eq!(choose("aut", vec!["auth_system", "auth"]), Looked::Ambiguous(vec!["auth_system", "auth"]));
        assert_eq!(choose("auth_", vec!["auth_system", "auth"]), Looked::Found("auth_system"));
        assert_eq!(choose("x", vec!["auth"]), Looked::NotThere);
    }

    #[test]
    fn an_empty_name_is_no_name() {
        assert_eq!(Name::parse(""), None);
        assert_eq!(Name::parse("@-"), Some(Name::Before));
    }
}
