//! Output that is shown while it is printed.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};

use anstream::{AutoStream, ColorChoice};
use onward_core::id::PhaseId;
use onward_engine::Printed;
use serde_json::json;

use super::write::{Readership, named_line, pass};
use super::{json as json_line, paint, safe};

/// Names are filled up to this, so that most lines begin in one column.
const NAME_CHARS: usize = 12;
/// A longer line is shown in parts.
const LINE_BYTES_MAX: usize = 64 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FollowedForm {
    Text(Names),
    /// An object for each piece.
    Json,
}

/// Whether each line begins with the name of its phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    InFront,
    LeftOut,
}

/// Lines of several phases, each put out when it is whole.
#[derive(Debug)]
pub(crate) struct FollowedLines {
    form: FollowedForm,
    terminal: bool,
    colours: bool,
    parts: BTreeMap<PhaseId, Vec<u8>>,
}

impl FollowedLines {
    pub(crate) fn new(form: FollowedForm) -> Self {
        let colours = !matches!(AutoStream::choice(&io::stdout()), ColorChoice::Never);
        Self { form, terminal: io::stdout().is_terminal(), colours, parts: BTreeMap::new() }
    }

    pub(crate) fn show(&mut self, printed: &[Printed]) -> Readership {
        for piece in printed {
            let out = match self.form {
                FollowedForm::Json => as_json(piece),
                FollowedForm::Text(names) => {
                    let part = self.parts.entry(piece.phase.clone()).or_default();
                    part.extend_from_slice(&piece.bytes);
                    let whole = part.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
                    // One phase alone is shown as it comes, and so is a line without an end.
                    let whole = if names == Names::LeftOut || part.len() > LINE_BYTES_MAX { part.len() } else { whole };
                    let lines: Vec<u8> = part.drain(..whole).collect();
                    self.text(&piece.phase, &lines, names)
                }
            };
            if pass(&out) == Readership::NobodyReads {
                return Readership::NobodyReads;
            }
        }
        Readership::All
    }

    /// Puts out what has no end of a line and will not get one.
    pub(crate) fn end(&mut self) {
        let FollowedForm::Text(names) = self.form else { return };
        for (phase, mut rest) in std::mem::take(&mut self.parts) {
            if !rest.is_empty() {
                rest.push(b'\n');
                pass(&self.text(&phase, &rest, names));
            }
        }
    }

    /// With its colours, where those are wanted, and nothing else that a terminal would obey.
    fn coloured(&self, text: &str) -> String {
        let shown = safe::coloured(text);
        if self.colours { shown } else { console::strip_ansi_codes(&shown).into_owned() }
    }

    /// For a terminal harmless, for a program as it is.
    fn text(&self, phase: &PhaseId, lines: &[u8], names: Names) -> Vec<u8> {
        let shown = |bytes: &[u8]| -> Vec<u8> {
            if self.terminal { self.coloured(&String::from_utf8_lossy(bytes)).into_bytes() } else { bytes.to_vec() }
        };
        match names {
            Names::LeftOut => shown(lines),
            Names::InFront => {
                let name = format!("{:<NAME_CHARS$} |", named_line(&safe::line(phase.as_str())));
                let name = if self.terminal { paint::dim(&name) } else { name };
                lines
                    .split_inclusive(|&byte| byte == b'\n')
                    .flat_map(|line| {
                        let mut out = format!("{name} ").into_bytes();
                        out.extend(shown(line));
                        if self.terminal && self.colours && line.contains(&0x1b) {
                            out.extend(paint::RESET.as_bytes());
                        }
                        out
                    })
                    .collect()
            }
        }
    }
}

fn as_json(piece: &Printed) -> Vec<u8> {
    let Printed { phase, attempt, bytes } = piece;
    let text = String::from_utf8_lossy(bytes);
    json_line::line(&json!({ "type": "output", "phase": phase, "attempt": attempt, "text": text })).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two phases print parts of lines in turn; each line stands whole behind its name.
    #[test]
    fn lines_of_several_phases_do_not_mix() {
        let lines = FollowedLines { form: FollowedForm::Json, terminal: false, colours: false, parts: BTreeMap::new() };
        let text = lines.text(&PhaseId::new("build"), b"one\ntwo\n", Names::InFront);
        assert_eq!(String::from_utf8(text).expect("text"), "build        | one\nbuild        | two\n");
        assert_eq!(lines.text(&PhaseId::new("build"), b"one", Names::LeftOut), b"one");
    }
}
