//! The reference of codes, as it stands in the book.

const REFERENCE: &str = include_str!("../../../../docs/reference/errors.md");

/// An entry of the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodeEntry<'a> {
    /// The group it stands in.
    pub(crate) group: &'a str,
    pub(crate) code: &'a str,
    pub(crate) text: &'a str,
}

/// All entries, in the order of the book.
pub(crate) fn all() -> Vec<CodeEntry<'static>> {
    let mut entries = Vec::new();
    for group in REFERENCE.split("\n## ").skip(1) {
        let (title, rest) = group.split_once('\n').unwrap_or((group, ""));
        for entry in rest.split("\n### ").skip(1) {
            let (code, text) = entry.split_once('\n').unwrap_or((entry, ""));
            entries.push(CodeEntry { group: title.trim(), code: code.trim(), text: text.trim() });
        }
    }
    entries
}

/// The entries of a code; it may stand in several groups.
pub(crate) fn entries(code: &str) -> Option<String> {
    let entries = all().into_iter().filter(|entry| entry.code == code);
    let texts: Vec<String> =
        entries.map(|entry| format!("{}  ({})\n\n{}\n", entry.code, entry.group, entry.text)).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

#[cfg(test)]
mod tests {
    use onward_core::diagnostic::Code;
    use onward_core::resume::FindingKind;

    use super::*;

    fn has(group: &str, code: &str) -> bool {
        all().iter().any(|entry| entry.group == group && entry.code == code && !entry.text.is_empty())
    }

    /// Every code that a person can meet stands in the book.
    #[test]
    fn every_code_has_an_entry() {
        for code in Code::ALL {
            assert!(has("Faults in plans and configurations", code.as_str()), "{} has no entry", code.as_str());
        }
        for kind in FindingKind::ALL {
            assert!(has("What is found before a run goes on", &kind.as_str()), "{} has no entry", kind.as_str());
        }
    }

    /// Words in quotes behind the place where a failure is made are its codes; each of them has an entry.
    #[test]
    fn every_error_of_a_command_has_an_entry() {
        let sources = [
            include_str!("../failure.rs"),
            include_str!("../failure/pages.rs"),
            include_str!("../failure/planning.rs"),
        ];
        let mut found = 0;
        for source in sources {
            for made in source.split("exit::").skip(1) {
                let Some(rest) = made.split_once(", \"") else { continue };
                if rest.0.contains(|c: char| !c.is_ascii_uppercase() && c != '_') {
                    continue;
                }
                let code = rest.1.split('"').next().unwrap_or_default();
                assert!(has("Errors of commands", code), "{code} has no entry");
                found += 1;
            }
        }
        assert!(found > 40, "only {found} codes were found: the way they are written has changed");
    }

    #[test]
    fn a_code_in_two_groups_has_both_entries() {
        let text = entries("too-large").expect("an entry");
        assert!(text.contains("Errors of commands") && text.contains("Faults in plans"), "{text}");
        assert_eq!(entries("no-such-code"), None);
    }
}
