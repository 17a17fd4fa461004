//! Matching of paths. What it decides may be removed, so unlike the comparison of two globs it never guesses; and it takes no
//! longer than the lengths of glob and path multiplied, whatever somebody writes.

use super::tokens::{GlobReading, GlobToken, SLASH, WILDCARDS, names, tokens};

/// Globs relative to the top of the project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Globs(Vec<Vec<GlobToken>>);

/// A glob that is not understood well enough to act on it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the glob {0} is not understood well enough to act on it")]
pub struct NoGlob(pub String);

impl Globs {
    pub fn new<S: AsRef<str>>(globs: &[S]) -> Result<Self, NoGlob> {
        let mut all = Vec::new();
        for glob in globs {
            let glob = glob.as_ref();
            all.extend(tokens(glob, GlobReading::Exact).ok_or_else(|| NoGlob(glob.to_owned()))?);
        }
        Ok(Self(all))
    }

    /// The meaning of a glob where it removes nothing: without wildcards it is a file name, however odd or long. None
    /// where it is not understood or leads out of the project.
    pub fn meant(glob: &str) -> Option<Self> {
        let fixed = fixed_part(glob)?;
        let plain = !glob.contains(WILDCARDS) && !fixed.is_empty();
        Self::new(&[glob]).ok().or_else(|| plain.then(|| Self::below(&fixed)))
    }

    /// The same, but a glob that is not understood is taken to mean all that could be meant: what lies below its part without
    /// wildcards.
    pub fn at_least(glob: &str) -> Option<Self> {
        let fixed = fixed_part(glob)?;
        Some(Self::meant(glob).unwrap_or_else(|| Self::below(&fixed)))
    }

    /// A path to the letter, and all that lies below it.
    fn below(path: &str) -> Self {
        let letters: Vec<GlobToken> = path.chars().map(|letter| GlobToken::Is(u32::from(letter))).collect();
        Self(vec![if letters.is_empty() { vec![GlobToken::Any] } else { letters }])
    }

    /// Whether one of the globs means this path or a folder above it. Names need not be text.
    pub fn mean(&self, path: impl AsRef<[u8]>) -> bool {
        let letters = letters(path.as_ref());
        let ends = letters.iter().enumerate().filter(|(_, letter)| **letter == SLASH).map(|(at, _)| at);
        let ends: Vec<usize> = ends.chain([letters.len()]).collect();
        self.0.iter().any(|glob| {
            let reached = reach(glob, &letters);
            ends.iter().any(|&end| reached[end])
        })
    }
}

/// The part of a glob before its first wildcard: whatever it means lies below this folder, or is it. None where the glob
/// leads out of the folder that it is relative to.
pub fn fixed_part(glob: &str) -> Option<String> {
    if glob.starts_with(['/', '~']) || glob.split('/').any(|name| name == "..") {
        return None;
    }
    let plain = names(glob).into_iter().take_while(|name| !name.contains(WILDCARDS));
    Some(plain.collect::<Vec<_>>().join("/"))
}

/// One number for each character; bytes that are no text get numbers that no character has.
fn letters(path: &[u8]) -> Vec<u32> {
    const NO_CHARACTER: u32 = 0x0011_0000;
    if let Ok(text) = std::str::from_utf8(path) {
        return text.chars().map(u32::from).collect();
    }
    let number = |byte: &u8| if byte.is_ascii() { u32::from(*byte) } else { NO_CHARACTER + u32::from(*byte) };
    path.iter().map(number).collect()
}

/// For every length of the beginning of the path, whether the whole glob means it.
fn reach(glob: &[GlobToken], path: &[u32]) -> Vec<bool> {
    let mut at = vec![false; path.len() + 1];
    at[0] = true;
    for token in glob {
        let mut next = vec![false; path.len() + 1];
        for from in (0..=path.len()).filter(|&from| at[from]) {
            let rest = &path[from..];
            match token {
                GlobToken::Is(_) | GlobToken::One | GlobToken::Class { .. } => {
                    if rest.first().is_some_and(|&letter| means_letter(token, letter)) {
                        next[from + 1] = true;
                    }
                }
                GlobToken::Some => {
                    let length = rest.iter().take_while(|&&letter| letter != SLASH).count();
                    next[from..=from + length].fill(true);
                }
                GlobToken::Any => next[from..].fill(true),
                GlobToken::Folders => {
                    next[from] = true;
                    for (index, _) in rest.iter().enumerate().filter(|(_, letter)| **letter == SLASH) {
                        next[from + index + 1] = true;
                    }
                }
            }
        }
        at = next;
    }
    at
}

/// Whether a token that stands for one letter stands for this one.
fn means_letter(token: &GlobToken, letter: u32) -> bool {
    match token {
        GlobToken::Is(only) => letter == *only,
        GlobToken::One => letter != SLASH,
        GlobToken::Class { ranges, inverted } => {
            let has = ranges.iter().any(|&(first, last)| (first..=last).contains(&letter));
            letter != SLASH && has != *inverted
        }
        GlobToken::Some | GlobToken::Any | GlobToken::Folders => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths that a glob means and paths that it does not. Each is told apart exactly, letter case included.
    #[test]
    fn a_glob_means_these_and_not_those() {
        let cases: [(&str, &[&str], &[&str]); 9] = [
            ("list.txt", &["list.txt", "list.txt/below"], &["List.txt", "list.txt2", "a/list.txt"]),
            ("src/*.rs", &["src/a.rs", "src/.rs"], &["src/a/b.rs", "src/a.rsx", "src"]),
            ("src/**", &["src/a", "src/a/b"], &["src", "srcs/a"]),
            ("src/**/*.rs", &["src/a.rs", "src/a/b/c.rs"], &["src/a.c", "a.rs"]),
            ("**/made", &["made", "a/made", "a/b/made/c"], &["unmade", "a/made2"]),
            ("./dir/", &["dir/a", "dir"], &["dirt"]),
            ("{a,b}.txt", &["a.txt", "b.txt"], &["c.txt", "{a,b}.txt"]),
            ("f[0-9]?", &["f1x", "f9ü"], &["fax", "f1", "f1/"]),
            ("[!a]b", &["cb"], &["ab", "/b"]),
        ];
        for (glob, meant, not_meant) in cases {
            let globs = Globs::new(&[glob]).expect("it is understood");
            for path in meant {
                assert!(globs.mean(path), "{glob} means {path}");
            }
            for path in not_meant {
                assert!(!globs.mean(path), "{glob} does not mean {path}");
            }
        }
    }

    /// Globs that lead out of the project, that negate, or that are not resolved yet. All are refused.
    #[test]
    fn what_is_not_understood_is_refused() {
        for glob in ["", "/etc", "../up", "a/../b", "!a", "~/x", "a\\*", "${{ inputs.x }}", "{a,{b,c}}", "[", "a}"] {
            assert!(Globs::new(&[glob]).is_err(), "{glob:?}");
        }
    }

    /// A glob whose wildcards could be read in more ways than anybody can try. The answer is there at once.
    #[test]
    fn many_wildcards_take_no_time() {
        let path = "a".repeat(200);
        assert!(!Globs::new(&["*a".repeat(60) + "b"]).expect("it is understood").mean(&path));
        let path = "a/".repeat(100);
        assert!(!Globs::new(&["**/a/".repeat(50) + "b"]).expect("it is understood").mean(&path));
    }

    #[test]
    fn what_is_not_understood_means_rather_too_much() {
        let odd = Globs::at_least("src/{a,{b,c}}").expect("it stays inside");
        assert!(odd.mean("src/b") && odd.mean("src/other") && !odd.mean("docs/b"));
        assert!(Globs::at_least("[").expect("it stays inside").mean("anything/below"));
        assert_eq!(Globs::at_least("../up"), None);
        let many = "{a}".repeat(100_000);
        assert!(Globs::meant(&many).is_none() && Globs::at_least(&many).expect("it stays inside").mean("x"));
    }

    /// Names that would not be acted on as globs, and are names all the same. Each means itself and what lies below it.
    #[test]
    fn odd_names_mean_themselves() {
        let long = "long/".repeat(80) + "name";
        for name in ["price$list", "a\\b", "!important", "a}", long.as_str()] {
            let globs = Globs::at_least(name).expect("it stays inside");
            assert!(globs.mean(name) && globs.mean(format!("{name}/below")), "{name}");
            assert!(!globs.mean("other") && !globs.mean(format!("{name}2")), "{name}");
            assert_eq!(Globs::meant(name), Some(globs), "{name}");
        }
    }

    #[test]
    fn nothing_outside_is_looked_for() {
        assert_eq!(fixed_part("src/a/*.rs").as_deref(), Some("src/a"));
        assert_eq!(fixed_part("**").as_deref(), Some(""));
        for outside in ["/etc/passwd", "../x", "a/../../x", "~/x"] {
            assert_eq!(fixed_part(outside), None, "{outside}");
        }
    }
}
