//! Whether two globs can mean the same file. Wrong only in one direction: when unsure, they can.

use super::tokens::{GlobReading, GlobToken as Exact, SLASH, tokens};

/// Alternatives of two globs that are compared with each other.
const PAIRS_MAX: usize = 64;

/// A token as far as two globs are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rough {
    /// This character, or `/`.
    Is(char),
    /// Any one character but `/`.
    One,
    /// Any characters but `/`, or none.
    Some,
    /// Anything, or nothing.
    Any,
}

/// True if some path is meant by both globs, or if that cannot be ruled out. A path stands for all that is below it.
pub fn may_overlap(a: &str, b: &str) -> bool {
    let (Some(all), Some(others)) = (rough(a), rough(b)) else { return true };
    if all.len() * others.len() > PAIRS_MAX {
        return true;
    }
    all.iter().any(|a| others.iter().any(|b| !starts_apart(a, b) && meet(a, b)))
}

/// The common case, cheaply: both begin with plain characters, and these differ.
fn starts_apart(a: &[Rough], b: &[Rough]) -> bool {
    let plain = |(x, y): &(&Rough, &Rough)| matches!((x, y), (Rough::Is(_), Rough::Is(_)));
    a.iter().zip(b).take_while(plain).any(|(x, y)| x != y)
}

/// The alternatives of a glob; none if it cannot be understood well enough to rule anything out.
fn rough(glob: &str) -> Option<Vec<Vec<Rough>>> {
    let all = tokens(glob, GlobReading::Rough)?;
    Some(all.iter().map(|one| one.iter().map(roughly).collect()).collect())
}

fn roughly(token: &Exact) -> Rough {
    match token {
        Exact::Is(SLASH) => Rough::Is('/'),
        // File systems that fold case make `Src` and `src` one folder. One name has several spellings in Unicode, and file
        // systems disagree on which.
        Exact::Is(letter) => match char::from_u32(*letter) {
            Some(letter) if letter.is_ascii() => Rough::Is(letter.to_ascii_lowercase()),
            Some(_) | None => Rough::Any,
        },
        Exact::One | Exact::Class { .. } => Rough::One,
        Exact::Some => Rough::Some,
        Exact::Any | Exact::Folders => Rough::Any,
    }
}

/// True if a path fits both, or lies below one that fits one and fits the other: position by position, every way of
/// reading the two side by side.
fn meet(a: &[Rough], b: &[Rough]) -> bool {
    let deep = [Rough::Is('/'), Rough::Any];
    let (a_deep, b_deep) = ([a, &deep].concat(), [b, &deep].concat());
    let width = b_deep.len() + 1;
    let mut reached = vec![false; (a_deep.len() + 1) * width];
    reached[0] = true;
    for i in 0..=a_deep.len() {
        for j in 0..=b_deep.len() {
            if !reached[i * width + j] {
                continue;
            }
            let (x, y) = (a_deep.get(i).copied(), b_deep.get(j).copied());
            let both = x.zip(y);
            if x.is_some_and(many) || both.is_some_and(|(x, y)| many(y) && swallows(y, x)) {
                reached[(i + 1) * width + j] = true;
            }
            if y.is_some_and(many) || both.is_some_and(|(x, y)| many(x) && swallows(x, y)) {
                reached[i * width + j + 1] = true;
            }
            if both.is_some_and(|(x, y)| same(x, y)) {
                reached[(i + 1) * width + j + 1] = true;
            }
        }
    }
    let at = |i: usize, j: usize| reached[i * width + j];
    at(a.len(), b.len()) || at(a_deep.len(), b.len()) || at(a.len(), b_deep.len())
}

fn many(token: Rough) -> bool {
    matches!(token, Rough::Some | Rough::Any)
}

/// True if what stands for many characters can stand for this token, and go on.
fn swallows(many: Rough, other: Rough) -> bool {
    many == Rough::Any || other != Rough::Is('/')
}

fn same(x: Rough, y: Rough) -> bool {
    match (x, y) {
        (Rough::Is(x), Rough::Is(y)) => x == y,
        (Rough::Is(character), Rough::One) | (Rough::One, Rough::Is(character)) => character != '/',
        (Rough::One, Rough::One) => true,
        (Rough::Some | Rough::Any, _) | (_, Rough::Some | Rough::Any) => false,
    }
}
