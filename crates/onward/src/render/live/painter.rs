//! Lines at the bottom of the screen that are written over, and text that goes above them.
//!
//! Nothing of the terminal is changed for longer than one write: no mode, no hidden cursor. So it is as it was however this process
//! ends. Moves are relative to the cursor; the terminal is never asked where that is.

use std::fmt::Write as _;
use std::io::Write as _;

use jiff::Timestamp;
use onward_core::view::live::LiveView;
use onward_engine::redact::secrets;

use super::super::writer_thread::Printout;
use super::{lines, terminal};
use crate::render::terminal_size::stderr_size;

/// The terminal shows all of it at once, or none, where it knows how; the cursor does not jump about meanwhile.
const BEGIN: &str = "\u{1b}[?2026h\u{1b}[?25l";
const END: &str = "\u{1b}[?25h\u{1b}[?2026l";
/// A character that is wider than we think is cut off and breaks no line.
const CUT: (&str, &str) = ("\u{1b}[?7l", "\u{1b}[?7h");
const ERASE_LINE_END: &str = "\u{1b}[K";
const ERASE_BELOW: &str = "\u{1b}[J";

/// The lines on the screen, as far as this process wrote them; the cursor stands below the last of them.
#[derive(Debug, Default)]
pub(in crate::render) struct Painter {
    lines: Vec<String>,
}

impl Painter {
    pub(in crate::render) fn shows_something(&self) -> bool {
        !self.lines.is_empty()
    }

    /// Writes the pieces above the view, which is the last thing on the screen then. The terminal of another process group is
    /// written to, as by any program in the background, but has no view.
    pub(in crate::render) fn show(&mut self, pieces: &[Printout], view: Option<&LiveView>) {
        if terminal::was_continued() {
            // Somebody else had the terminal meanwhile: what was drawn is somewhere above.
            self.lines.clear();
        }
        let size = stderr_size();
        let view = view.filter(|_| terminal::is_in_foreground());
        let mut lines = view.map(|view| lines::frame(view, size, Timestamp::now())).unwrap_or_default();
        let mut above: String = pieces.iter().map(|piece| String::from_utf8_lossy(&piece.text)).collect();
        if !terminal::has_colours() {
            lines = lines.iter().map(|line| console::strip_ansi_codes(line).into_owned()).collect();
            // What colours had parted is one piece now.
            above = secrets().text(&console::strip_ansi_codes(&above)).into_owned();
        }
        lines = lines.iter().map(|line| secrets().text(line).into_owned()).collect();
        let out = self.paint(&above, lines, size.columns);
        let mut stderr = std::io::stderr().lock();
        // Words that nobody has to get.
        drop(stderr.write_all(out.as_bytes()).and_then(|()| stderr.flush()));
    }

    /// The bytes to write so that `above` stands above these lines, in place of those that were shown; nothing where nothing changes.
    pub(super) fn paint(&mut self, above: &str, lines: Vec<String>, columns: usize) -> String {
        if above.is_empty() && lines == self.lines {
            return String::new();
        }
        let mut out = String::from(BEGIN);
        let rows: usize = self.lines.iter().map(|line| rows(line, columns)).sum();
        if rows > 0 {
            let _ = write!(out, "\r\u{1b}[{rows}A");
        }
        if !above.is_empty() {
            if rows > 0 {
                out.push_str(ERASE_BELOW);
            }
            out.push_str(above);
            if !lines.is_empty() && !above.ends_with('\n') {
                out.push('\n');
            }
        }
        if !lines.is_empty() {
            out.push_str(CUT.0);
            for line in &lines {
                let _ = write!(out, "{line}{ERASE_LINE_END}\r\n");
            }
            out.push_str(CUT.1);
        }
        if lines.len() < rows && above.is_empty() {
            out.push_str(ERASE_BELOW);
        }
        out.push_str(END);
        self.lines = lines;
        out
    }
}

/// How many rows a line takes on a screen that may have become narrower since it was written: terminals break such lines anew.
fn rows(line: &str, columns: usize) -> usize {
    console::measure_text_width(line).div_ceil(columns.max(1)).max(1)
}
