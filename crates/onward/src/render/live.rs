//! The one line at the bottom of a terminal that is rewritten while a run waits.

use std::io::IsTerminal;

use super::safe;
use super::write::rewrite;

/// Takes back what stands in the line of the cursor.
const BLANK: &str = "\r\u{1b}[K";
/// Long lines are cut by the terminal: a wrapped line could not be taken back.
const CUT: (&str, &str) = ("\u{1b}[?7l", "\u{1b}[?7h");

/// A line that is shown until something else is said.
#[derive(Debug)]
pub(super) struct Live {
    terminal: bool,
    shown: String,
}

impl Live {
    /// Only where stderr is a terminal that can take a line back.
    pub(super) fn new() -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        Self { terminal: std::io::stderr().is_terminal() && !dumb, shown: String::new() }
    }

    pub(super) fn is_possible(&self) -> bool {
        self.terminal
    }

    /// Shows the line, in place of the one that is shown.
    pub(super) fn show(&mut self, text: &str) {
        let line = safe::line(text);
        if line != self.shown {
            rewrite(&format!("{BLANK}{}{line}{}", CUT.0, CUT.1));
            self.shown = line;
        }
    }

    /// Takes the line away, so that something else can be said.
    pub(super) fn clear(&mut self) {
        if !self.shown.is_empty() {
            rewrite(BLANK);
            self.shown.clear();
        }
    }
}
