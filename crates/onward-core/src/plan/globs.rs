//! Whether two globs can mean the same file. Wrong only in one direction: when unsure, they can.

/// Longer globs are not compared character by character.
pub(super) const GLOB_CHARS_MAX: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token {
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
    match (tokens(a), tokens(b)) {
        (Some(a), Some(b)) => !starts_apart(&a, &b) && meet(&a, &b),
        (None, _) | (_, None) => true,
    }
}

/// The common case, cheaply: both begin with plain characters, and these differ.
fn starts_apart(a: &[Token], b: &[Token]) -> bool {
    let plain = |(x, y): &(&Token, &Token)| matches!((x, y), (Token::Is(_), Token::Is(_)));
    a.iter().zip(b).take_while(plain).any(|(x, y)| x != y)
}

/// The glob in tokens; none if it cannot be understood well enough to rule anything out.
fn tokens(glob: &str) -> Option<Vec<Token>> {
    // File systems that fold case make `Src` and `src` one folder.
    let lower = glob.trim().to_lowercase();
    let unclear = lower.is_empty() || lower.starts_with(['/', '!', '~']) || lower.contains('\\');
    if unclear || lower.chars().count() > GLOB_CHARS_MAX {
        return None;
    }
    let mut tokens = Vec::new();
    let mut rest = lower.as_str();
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '$' if rest.starts_with("${{") => (Token::Any, rest.find("}}")? + 2),
            '{' => (Token::Any, braces(rest)?),
            '[' => (Token::One, rest.get(2..)?.find(']')? + 3),
            '*' if rest.starts_with("**") => {
                let stars = rest.len() - rest.trim_start_matches('*').len();
                (Token::Any, stars + usize::from(rest[stars..].starts_with('/')))
            }
            '*' => (Token::Some, 1),
            '?' => (Token::One, 1),
            // One name has several spellings in Unicode, and file systems disagree on which.
            _ if !first.is_ascii() => (Token::Any, first.len_utf8()),
            _ => (Token::Is(first), first.len_utf8()),
        };
        tokens.push(token);
        rest = rest.get(length..)?;
    }
    tidy(&tokens)
}

/// Bytes of `{a,b}` at the start; none where braces stand inside braces.
fn braces(rest: &str) -> Option<usize> {
    let end = rest.find('}')?;
    if rest[1..end].contains('{') { None } else { Some(end + 1) }
}

/// Takes out `.` parts, doubled and closing slashes. A `..` part makes everything possible.
fn tidy(tokens: &[Token]) -> Option<Vec<Token>> {
    let slash = Token::Is('/');
    let mut parts: Vec<&[Token]> = Vec::new();
    for part in tokens.split(|token| *token == slash) {
        match part {
            [Token::Is('.'), Token::Is('.')] => return None,
            [] | [Token::Is('.')] => {}
            _ => parts.push(part),
        }
    }
    let joined = parts.join(&slash);
    if joined.is_empty() { None } else { Some(joined) }
}

/// True if a path fits both, or lies below one that fits one and fits the other: position by position, every way of
/// reading the two side by side.
fn meet(a: &[Token], b: &[Token]) -> bool {
    let deep = [Token::Is('/'), Token::Any];
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

fn many(token: Token) -> bool {
    matches!(token, Token::Some | Token::Any)
}

/// True if what stands for many characters can stand for this token, and go on.
fn swallows(many: Token, other: Token) -> bool {
    many == Token::Any || other != Token::Is('/')
}

fn same(x: Token, y: Token) -> bool {
    match (x, y) {
        (Token::Is(x), Token::Is(y)) => x == y,
        (Token::Is(character), Token::One) | (Token::One, Token::Is(character)) => character != '/',
        (Token::One, Token::One) => true,
        (Token::Some | Token::Any, _) | (_, Token::Some | Token::Any) => false,
    }
}
