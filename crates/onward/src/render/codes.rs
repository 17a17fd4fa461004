//! The reference of codes, as it stands in the book.

const REFERENCE: &str = include_str!("../../../../docs/reference/errors.md");
/// The table of the numbers that commands end with.
const EXIT_CODES: &str = include_str!("../../../../docs/reference/exit-codes.md");

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

/// The meaning of a number that a command ended with.
pub(crate) fn exit_code(number: &str) -> Option<String> {
    let number: u8 = number.parse().ok()?;
    let row = |number: u8| {
        let cells =
            EXIT_CODES.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
        cells.into_iter().find(|(code, _)| *code == number.to_string()).map(|(_, means)| means.to_owned())
    };
    let signal = || (number > 128).then(|| format!("Ended by signal {}, after a checkpoint.", number - 128));
    let means = row(number).or_else(signal)?;
    Some(format!("{number}  (Exit codes of onward)\n\n{means} `onward status` says how far the run is.\n"))
}

/// The entries of a code; it may stand in several groups.
pub(crate) fn entries(code: &str) -> Option<String> {
    let entries = all().into_iter().filter(|entry| entry.code == code);
    let texts: Vec<String> =
        entries.map(|entry| format!("{}  ({})\n\n{}\n", entry.code, entry.group, unwrapped(entry.text))).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// Paragraphs as one line each: the terminal that shows them has a width of its own.
fn unwrapped(text: &str) -> String {
    let is_prose =
        |paragraph: &&str| !paragraph.lines().any(|line| ["- ", "| ", "```"].iter().any(|sign| line.starts_with(sign)));
    let paragraphs = text.split("\n\n").map(|paragraph| match Some(paragraph).filter(is_prose) {
        Some(prose) => prose.replace('\n', " "),
        None => paragraph.to_owned(),
    });
    paragraphs.collect::<Vec<_>>().join("\n\n")
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

    /// Codes that are variants of an enum, in its source: the words of `as_str`, or the names themselves.
    #[test]
    fn every_code_of_a_failed_phase_and_of_the_doctor_has_an_entry() {
        let source = include_str!("../../../onward-core/src/failure.rs");
        let failures: Vec<&str> = source.split("=> \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert!(failures.len() > 20, "{failures:?}");
        for code in failures {
            assert!(has("Why a phase failed", code), "{code} has no entry");
        }
        let source = include_str!("../../../onward-engine/src/doctor/code.rs");
        let body = source.split("pub enum DoctorCode {").nth(1).and_then(|rest| rest.split("\n}").next());
        let names = body.expect("the enum").lines().map(str::trim).filter(|line| !line.starts_with("//"));
        let codes: Vec<String> = names.filter_map(|line| Some(kebab(line.strip_suffix(',')?))).collect();
        assert!(codes.len() > 40, "{codes:?}");
        for code in codes {
            assert!(has("What the doctor finds", &code), "{code} has no entry");
        }
    }

    fn kebab(name: &str) -> String {
        let dashed =
            name.chars().map(|c| if c.is_uppercase() { format!("-{}", c.to_lowercase()) } else { c.to_string() });
        dashed.collect::<String>().trim_start_matches('-').to_owned()
    }

    /// The book breaks its lines at another width than the terminal. Broken twice, a sentence could hardly be read.
    #[test]
    fn an_entry_is_not_broken_where_the_book_is() {
        let text = entries("at-work").expect("an entry");
        assert!(text.contains("Wait for its end, or begin with `--orphan wait`"), "{text}");
    }

    #[test]
    fn a_number_is_explained_too() {
        assert!(exit_code("15").expect("an entry").contains("An approval or a report is waited for."));
        assert!(exit_code("143").expect("an entry").contains("SIGTERM"));
        assert!(exit_code("137").expect("an entry").contains("signal 9"));
        assert_eq!((exit_code("99"), exit_code("128"), exit_code("x")), (None, None, None));
    }

    #[test]
    fn a_code_in_two_groups_has_both_entries() {
        let text = entries("too-large").expect("an entry");
        assert!(text.contains("Errors of commands") && text.contains("Faults in plans"), "{text}");
        assert_eq!(entries("no-such-code"), None);
    }
}
