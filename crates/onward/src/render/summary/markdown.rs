//! The page as Markdown, for issues and wikis.

use std::fmt::Write as _;

use super::page::SummaryPage;

pub(crate) fn markdown(page: &SummaryPage) -> String {
    let mut out = format!("# {}\n\n**{}**: {}\n\n", plain(&page.title), page.status.as_str(), plain(&page.lead));
    out.push_str("| | |\n|---|---|\n");
    for (name, value) in &page.facts {
        let _ = writeln!(out, "| {name} | {} |", plain(value));
    }
    out.push_str("\n## Phases\n\n| phase | name | status | took | attempts | |\n|---|---|---|---|---|---|\n");
    for row in &page.phases {
        let cells =
            [&row.id, &row.name, &row.word, &row.took, &row.attempts.to_string(), &row.told].map(|cell| plain(cell));
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    let _ = write!(out, "\n## Graph\n\n```mermaid\n{}```\n", page.graph.mermaid().replace("```", "'''"));
    for section in &page.sections {
        let _ = writeln!(out, "\n## {}\n", section.heading);
        for line in &section.lines {
            let _ = writeln!(out, "- {}", plain(line));
        }
    }
    out
}

/// Text that Markdown and the HTML in it take as nothing but text.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '!' if is_marked(character, text) => {
                out.push('\\');
                out.push(character);
            }
            other => out.push(other),
        }
    }
    out
}

/// Underscores inside words are no marks, and ids are full of them.
fn is_marked(character: char, text: &str) -> bool {
    character != '_' || text.contains(" _") || text.starts_with('_')
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn marks_and_elements_are_text() {
        assert_eq!(plain("<b>|*x*[y](z)`w`"), "&lt;b&gt;\\|\\*x\\*\\[y\\](z)\\`w\\`");
        assert_eq!(plain("run_demo_20261118"), "run_demo_20261118");
        assert_eq!(plain("_x_"), "\\_x\\_");
    }
}
