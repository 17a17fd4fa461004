//! A run that is watched: redrawn in place on a terminal, told anew after every change elsewhere.

use std::io::IsTerminal;

use anstream::adapter::strip_str;
use jiff::Timestamp;
use onward_core::run::PhaseStatus;
use onward_core::view::{PhaseRecord, StatusView};
use serde_json::json;

use super::terminal_size::{ScreenSize, stdout_size};
use super::write::{named_line, redraw};
use super::{answer, answer_json, status};
use crate::args::AnswerForm;

/// Long lines are cut by the terminal, so that every line takes one row.
const CUT: (&str, &str) = ("\u{1b}[?7l", "\u{1b}[?7h");

/// Ends colours and takes away what stood behind.
const END_OF_LINE: &str = "\u{1b}[0m\u{1b}[K\n";

/// The place where a run is shown while it is watched.
#[derive(Debug)]
pub(crate) struct Watch {
    form: WatchForm,
    /// Of what was shown last.
    rows: usize,
    size: ScreenSize,
    told: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WatchForm {
    Screen,
    Blocks,
    Json,
}

impl Watch {
    pub(crate) fn new(form: AnswerForm) -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        let form = match (form, std::io::stdout().is_terminal() && !dumb) {
            (AnswerForm::Json, _) => WatchForm::Json,
            (AnswerForm::Text, true) => WatchForm::Screen,
            (AnswerForm::Text, false) => WatchForm::Blocks,
        };
        Self { form, rows: 0, size: stdout_size(), told: String::new() }
    }

    pub(crate) fn show(&mut self, view: &StatusView, now: Timestamp) {
        let news = self.is_news(view);
        match self.form {
            WatchForm::Screen => self.draw(&lines(view, now, stdout_size().lines.saturating_sub(1))),
            WatchForm::Blocks | WatchForm::Json if !news => {}
            WatchForm::Blocks => answer(&format!("{}\n", status::status(view, status::Detail::AtAGlance, now))),
            WatchForm::Json => answer_json(&json!({ "type": "status", "at": now, "status": view })),
        }
    }

    /// The last look stays, all of it.
    pub(crate) fn end(&mut self, view: &StatusView, now: Timestamp) {
        if self.form == WatchForm::Screen {
            let text = status::status(view, status::Detail::AtAGlance, now);
            self.draw(&text.lines().map(str::to_owned).collect::<Vec<_>>());
        }
    }

    /// Whether more than the time has changed.
    fn is_news(&mut self, view: &StatusView) -> bool {
        let phases = view.completed.iter().chain(&view.running).chain(&view.remaining);
        let phases: Vec<_> = phases.map(|one| (one.status, one.attempts, one.orphan, &one.note)).collect();
        let told = format!("{:?} {:?} {} {phases:?}", view.status, view.updated_at, view.driver.is_some());
        let news = told != self.told;
        self.told = told;
        news
    }

    fn draw(&mut self, lines: &[String]) {
        let now = stdout_size();
        let back = if now == self.size {
            if self.rows == 0 { String::new() } else { format!("\r\u{1b}[{}A", self.rows) }
        } else {
            // Lines may have been broken anew: nobody knows how many rows they take.
            "\u{1b}[H\u{1b}[2J".to_owned()
        };
        let coloured = anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
        let lines: Vec<String> = lines.iter().map(|line| named_line(line)).collect();
        let plain = |line: &String| if coloured { line.clone() } else { strip_str(line).to_string() };
        let body: String = lines.iter().flat_map(|line| [plain(line), END_OF_LINE.to_owned()]).collect();
        redraw(&format!("{}{back}{body}\u{1b}[J{}", CUT.0, CUT.1));
        (self.rows, self.size) = (lines.len(), now);
    }
}

/// The run in so many rows: all of it where there is room, else what is at work and what needs somebody.
fn lines(view: &StatusView, now: Timestamp, rows: usize) -> Vec<String> {
    let all: Vec<String> = status::status(view, status::Detail::AtAGlance, now).lines().map(str::to_owned).collect();
    if all.len() <= rows {
        return all;
    }
    let of = |text: String| text.lines().map(str::to_owned).collect::<Vec<String>>();
    let mut out = of(status::heading(view, now));
    let footer = of(status::footer(view, now));
    let calm = |record: &&PhaseRecord| record.status == PhaseStatus::Pending;
    // What needs somebody comes first: it must not be what is cut off.
    let told = view.remaining.iter().filter(|record| !calm(record)).chain(&view.running);
    let told: Vec<String> = told.map(|record| status::phase(record, now).trim_end().to_owned()).collect();
    let is_written = |record: &&PhaseRecord| record.part_of.is_none();
    let count = view.remaining.iter().filter(calm).filter(is_written).count();
    let done = view.completed.iter().filter(is_written).count();
    let room = rows.saturating_sub(out.len() + footer.len() + 1);
    if told.len() > room {
        out.extend(told.iter().take(room).cloned());
        out.push(format!("  … and {} more; onward status shows them", told.len() - room));
    } else {
        out.extend(told);
        out.push(format!("  … {done} done and {count} still to come; onward status shows them"));
    }
    out.extend(footer);
    out.truncate(rows);
    out
}
