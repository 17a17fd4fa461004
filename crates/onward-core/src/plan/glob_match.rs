//! Which paths a glob means: `*` and `?` within one name, `**` across names, `[a-z]`, `{a,b}`. A path that is named without
//! any of these means the file, or all that lies below the folder.

/// More ways to read the braces of one glob are not tried.
const WAYS_MAX: usize = 256;

/// Whether a glob means a path. Both are relative to the same folder, with `/` between names.
pub fn matches(glob: &str, path: &str) -> bool {
    let path: Vec<&str> = names(path);
    ways(glob).iter().any(|way| reaches(&names(way), &path))
}

/// The part of a glob before its first wildcard: whatever it means lies below this folder, or is it. None where the glob
/// leads out of the folder that it is relative to.
pub fn fixed_part(glob: &str) -> Option<String> {
    if glob.starts_with(['/', '~']) || glob.split('/').any(|name| name == "..") {
        return None;
    }
    let plain = names(glob).into_iter().take_while(|name| !name.contains(['*', '?', '[', '{']));
    Some(plain.collect::<Vec<_>>().join("/"))
}

fn names(path: &str) -> Vec<&str> {
    path.split('/').filter(|name| !name.is_empty() && *name != ".").collect()
}

/// The glob with its braces written out.
fn ways(glob: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut open = vec![glob.to_owned()];
    while let Some(next) = open.pop() {
        let braces = next.find('{').and_then(|start| next[start..].find('}').map(|end| (start, start + end)));
        match braces {
            Some((start, end)) if done.len() + open.len() < WAYS_MAX => {
                for choice in next[start + 1..end].split(',') {
                    open.push(format!("{}{choice}{}", &next[..start], &next[end + 1..]));
                }
            }
            Some(_) | None => done.push(next),
        }
    }
    done
}

/// Name by name. A glob that is used up means all that lies below as well.
fn reaches(glob: &[&str], path: &[&str]) -> bool {
    match (glob.split_first(), path.split_first()) {
        (None, _) => true,
        (Some((&"**", rest)), Some((_, below))) => {
            reaches_here(rest, path) || reaches(glob, below) || (rest.is_empty() && !path.is_empty())
        }
        (Some((&"**", rest)), None) => rest.is_empty(),
        (Some(_), None) => false,
        (Some((name, rest)), Some((first, below))) => {
            let (name, first): (Vec<char>, Vec<char>) = (name.chars().collect(), first.chars().collect());
            one_name(&name, &first) && reaches(rest, below)
        }
    }
}

fn reaches_here(rest: &[&str], path: &[&str]) -> bool {
    !rest.is_empty() && reaches(rest, path)
}

fn one_name(glob: &[char], name: &[char]) -> bool {
    match glob.split_first() {
        None => name.is_empty(),
        Some(('*', rest)) => (0..=name.len()).any(|skipped| one_name(rest, &name[skipped..])),
        Some(('?', rest)) => !name.is_empty() && one_name(rest, &name[1..]),
        Some(('[', rest)) => match (rest.iter().skip(1).position(|c| *c == ']'), name.split_first()) {
            (Some(end), Some((first, below))) => in_class(&rest[..=end], *first) && one_name(&rest[end + 2..], below),
            (_, _) => name.first() == Some(&'[') && one_name(rest, &name[1..]),
        },
        Some((plain, rest)) => name.first() == Some(plain) && one_name(rest, &name[1..]),
    }
}

/// `a-z`, `!a-z`, `abc`.
fn in_class(class: &[char], character: char) -> bool {
    let (not, class) = match class.split_first() {
        Some(('!' | '^', rest)) => (true, rest),
        _ => (false, class),
    };
    let mut found = false;
    let mut at = 0;
    while at < class.len() {
        if at + 2 < class.len() && class[at + 1] == '-' {
            found |= (class[at]..=class[at + 2]).contains(&character);
            at += 3;
        } else {
            found |= class[at] == character;
            at += 1;
        }
    }
    found != not
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_means_what_people_expect() {
        for (glob, path) in [
            ("a.txt", "a.txt"),
            ("./a.txt", "a.txt"),
            ("src", "src/a/b.rs"),
            ("src/", "src/a.rs"),
            ("src/**", "src/a/b.rs"),
            ("src/**/*.rs", "src/a.rs"),
            ("src/**/*.rs", "src/a/b/c.rs"),
            ("**/*.md", "a.md"),
            ("*.t?t", "a.txt"),
            ("{a,b}/*.rs", "b/x.rs"),
            ("[a-c]x", "bx"),
            ("[!a]x", "bx"),
        ] {
            assert!(matches(glob, path), "{glob} {path}");
        }
        for (glob, path) in [
            ("a.txt", "b/a.txt"),
            ("*.rs", "src/a.rs"),
            ("src/**/*.rs", "src/a.md"),
            ("src/*", "srcs/a"),
            ("[a-c]x", "dx"),
            ("a/b/c", "a/b"),
        ] {
            assert!(!matches(glob, path), "{glob} {path}");
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
