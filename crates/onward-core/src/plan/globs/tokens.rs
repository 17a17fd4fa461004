//! The language of globs: `*` and `?` within one name, `**` across names, `[a-z]`, `{a,b}`. A path that is named without any of
//! these means the file, or all that lies below the folder.

/// Longer globs, and more alternatives in braces, are refused.
pub(in crate::plan) const GLOB_CHARS_MAX: usize = 256;
const ALTERNATIVES_MAX: usize = 64;

pub(super) const WILDCARDS: [char; 4] = ['*', '?', '[', '{'];
pub(super) const SLASH: u32 = '/' as u32;
/// Stands for `${{ }}`: no path has it.
const EXPRESSION: char = '\0';

#[derive(Clone, Debug, PartialEq)]
pub(super) enum GlobToken {
    /// This character, or `/`.
    Is(u32),
    /// Any one character but `/`.
    One,
    /// One of these, or none of them; never `/`.
    Class { ranges: Vec<(u32, u32)>, inverted: bool },
    /// Any characters but `/`, or none.
    Some,
    /// Anything, or nothing.
    Any,
    /// Nothing, or anything that ends with `/`.
    Folders,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GlobReading {
    /// To the letter: an expression that is not resolved yet is refused.
    Exact,
    /// All that could be meant: an expression stands for anything.
    Rough,
}

/// The tokens of a glob, once for each alternative in its braces; none if it is not understood.
pub(super) fn tokens(glob: &str, reading: GlobReading) -> Option<Vec<Vec<GlobToken>>> {
    let glob = glob.trim();
    if glob.chars().count() > GLOB_CHARS_MAX || glob.contains(EXPRESSION) {
        return None;
    }
    let glob = without_expressions(glob)?;
    alternatives(&glob)?.iter().map(|one| alternative_tokens(one, reading)).collect()
}

/// The names of a path from the top down.
pub(super) fn names(path: &str) -> Vec<&str> {
    path.split('/').filter(|name| !name.is_empty() && *name != ".").collect()
}

fn without_expressions(glob: &str) -> Option<String> {
    let mut parts = glob.split("${{");
    let mut plain = parts.next()?.to_owned();
    for part in parts {
        plain.push(EXPRESSION);
        plain.push_str(part.split_once("}}")?.1);
    }
    Some(plain)
}

/// The glob once for each alternative in its braces.
fn alternatives(glob: &str) -> Option<Vec<String>> {
    let Some(open) = glob.find('{') else {
        return (!glob.contains('}')).then(|| vec![glob.to_owned()]);
    };
    let close = open + glob[open..].find('}')?;
    let inside = &glob[open + 1..close];
    if inside.contains('{') || glob[..open].contains('}') {
        return None;
    }
    let mut all = Vec::new();
    for rest in alternatives(&glob[close + 1..])? {
        all.extend(inside.split(',').map(|part| format!("{}{part}{rest}", &glob[..open])));
    }
    (all.len() <= ALTERNATIVES_MAX).then_some(all)
}

fn alternative_tokens(glob: &str, reading: GlobReading) -> Option<Vec<GlobToken>> {
    let parts = names(glob);
    let unclear = glob.starts_with(['/', '!', '~']) || glob.contains('\\') || parts.contains(&"..");
    let unresolved = reading == GlobReading::Exact && glob.contains(['$', EXPRESSION]);
    if unclear || unresolved || parts.is_empty() {
        return None;
    }
    let mut tokens = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let last = at + 1 == parts.len();
        match *part {
            "**" if last => tokens.push(GlobToken::Any),
            "**" => tokens.push(GlobToken::Folders),
            part => {
                part_tokens(part, reading, &mut tokens)?;
                if !last {
                    tokens.push(GlobToken::Is(SLASH));
                }
            }
        }
    }
    Some(tokens)
}

fn part_tokens(part: &str, reading: GlobReading, tokens: &mut Vec<GlobToken>) -> Option<()> {
    let mut rest = part;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '*' => {
                let stars = rest.len() - rest.trim_start_matches('*').len();
                tokens.push(if stars > 1 && reading == GlobReading::Rough { GlobToken::Any } else { GlobToken::Some });
                stars
            }
            EXPRESSION if reading == GlobReading::Rough => {
                tokens.push(GlobToken::Any);
                first.len_utf8()
            }
            '?' => {
                tokens.push(GlobToken::One);
                1
            }
            '[' => {
                let end = rest.char_indices().skip(2).find(|(_, letter)| *letter == ']')?.0;
                tokens.push(class(&rest[1..end])?);
                end + 1
            }
            other => {
                tokens.push(GlobToken::Is(u32::from(other)));
                other.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    Some(())
}

fn class(inside: &str) -> Option<GlobToken> {
    let (inverted, inside) = match inside.strip_prefix(['!', '^']) {
        Some(rest) => (true, rest),
        None => (false, inside),
    };
    let letters: Vec<u32> = inside.chars().map(u32::from).collect();
    let mut ranges = Vec::new();
    let mut rest = letters.as_slice();
    while let [first, behind @ ..] = rest {
        match behind {
            [dash, last, behind @ ..] if *dash == u32::from('-') => {
                ranges.push((*first, *last));
                rest = behind;
            }
            behind => {
                ranges.push((*first, *first));
                rest = behind;
            }
        }
    }
    (!ranges.is_empty()).then_some(GlobToken::Class { ranges, inverted })
}
