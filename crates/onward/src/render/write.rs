//! The way out of the program: secrets are cut out of all that is shown. Nobody is there to be told that a pipe was closed; an
//! answer that could not be written for another reason is remembered, since no success may be reported then.

use std::io::{self, ErrorKind, IsTerminal, Read, Write};
use std::sync::OnceLock;

use anstream::adapter::strip_str;
use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use clap::error::{ContextKind, ContextValue, ErrorKind as UsageKind};
use onward_engine::names::short_names_for;
use onward_engine::redact::{Redactor, secrets};
use serde::Serialize;
use serde_json::json;

use super::writer_thread::{self, OutputStream, Printout};
use super::{json, names, paint, safe, terminal_size, wrap};

/// Bytes that are copied at once.
const COPIED_BYTES: usize = 64 * 1024;

/// Why an answer, or a part of one, was not written.
static NOT_WRITTEN: OnceLock<String> = OnceLock::new();

/// Why an answer was not written, where one was not. All that was said has to be drained before.
pub(crate) fn not_written() -> Option<&'static str> {
    NOT_WRITTEN.get().map(String::as_str)
}

/// The answer to a command, on stdout. Colour is taken out where nobody would see it.
pub(crate) fn answer(text: &str) {
    answer_drawn(&for_people(text, terminal_size::stdout_columns()));
}

/// An answer that is laid out already, or that programs read as well: nothing in it is broken or called otherwise.
pub(crate) fn answer_drawn(text: &str) {
    let text = as_seen(text, &io::stdout());
    let_out(OutputStream::Out, text.as_bytes(), |bytes| remember(write_to(anstream::stdout().lock(), bytes)));
}

/// The content of a file or another text that somebody else wrote: to the byte for programs; a terminal obeys nothing of it.
pub(crate) fn answer_raw(bytes: &[u8]) {
    if io::stdout().is_terminal() {
        answer_drawn(&safe::block(&String::from_utf8_lossy(bytes)));
    } else {
        answer_bytes(bytes);
    }
}

/// A text as it will be read. Colours that nobody would see go before the secrets are looked for, since what they part would
/// grow together afterwards; and of whatever was overlooked a terminal obeys nothing but colours.
fn as_seen(text: &str, to: &impl RawStream) -> String {
    let text = if to.is_terminal() { safe::coloured(text) } else { text.to_owned() };
    match AutoStream::choice(to) {
        ColorChoice::Never => strip_str(&text).to_string(),
        ColorChoice::Auto | ColorChoice::Always | ColorChoice::AlwaysAnsi => text,
    }
}

/// Text for people: with the names that they use, and on a terminal in lines that fit.
fn for_people(text: &str, columns: Option<usize>) -> String {
    let text = names::named(text, &short_names_for(text));
    columns.map_or_else(|| text.clone(), |columns| wrap::fit(&text, columns))
}

/// The answer as a line of JSON.
pub(crate) fn answer_json(value: &impl Serialize) {
    answer_bytes(json::line(value).as_bytes());
}

/// The answer as it is, for programs.
pub(crate) fn answer_bytes(bytes: &[u8]) {
    let_out(OutputStream::Out, bytes, |bytes| remember(write_to(io::stdout().lock(), bytes)));
}

/// The answer byte by byte, with nothing cut out of it: what has a checksum was cut before it got one.
pub(crate) fn answer_exact(bytes: &[u8]) {
    let printout = Printout { text: bytes.to_vec(), write: |bytes| remember(write_to(io::stdout().lock(), bytes)) };
    if let Some(piece) = writer_thread::put(OutputStream::Out, printout) {
        (piece.write)(&piece.text);
    }
}

/// A line about a run that is being driven, for programs. The run is not over because nobody can take it down.
pub(super) fn line_json(value: &impl Serialize) {
    let_out(OutputStream::Out, json::line(value).as_bytes(), |bytes| ignore(write_to(io::stdout().lock(), bytes)));
}

/// All that is not the answer, on stderr. On a terminal it fits the width.
pub(crate) fn say(text: &str) {
    let text = as_seen(&for_people(text, terminal_size::stderr_columns()), &io::stderr());
    let_out(OutputStream::Err, text.as_bytes(), |bytes| ignore(write_to(anstream::stderr().lock(), bytes)));
}

/// A line of an answer that is redrawn in place, with the names that people use.
pub(super) fn named_line(line: &str) -> String {
    names::named(line, &short_names_for(line))
}

/// Writes an answer that is redrawn in place to the terminal, with its control sequences.
pub(super) fn redraw(text: &str) {
    let_out(OutputStream::Out, text.as_bytes(), |bytes| remember(write_to(io::stdout().lock(), bytes)));
}

/// Passes on what a phase prints, as it was made ready for whoever reads it.
pub(super) fn pass(bytes: &[u8]) -> Readership {
    let written = write_to(io::stdout().lock(), &secrets().bytes(bytes));
    let readership = if written.is_ok() { Readership::All } else { Readership::NobodyReads };
    remember(written);
    readership
}

/// From now on nobody stands still because nobody reads.
pub(crate) fn write_beside() {
    writer_thread::begin(
        |count| Printout {
            text: json::line(&json!({ "type": "left_out", "lines": count })).into_bytes(),
            write: |bytes| ignore(write_to(io::stdout().lock(), bytes)),
        },
        |count| Printout {
            text: format!("[… {count} lines left out, nobody read them …]\n").into_bytes(),
            write: |bytes| ignore(write_to(anstream::stderr().lock(), bytes)),
        },
    );
}

fn let_out(way: OutputStream, bytes: &[u8], write: fn(&[u8])) {
    let text = secrets().bytes(bytes).into_owned();
    if let Some(piece) = writer_thread::put(way, Printout { text, write }) {
        (piece.write)(&piece.text);
    }
}

fn write_to(mut out: impl Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(bytes).and_then(|()| out.flush())
}

/// A reader who went away wants no more of it; whatever else went wrong must not pass for an answer.
fn remember(written: io::Result<()>) {
    if let Err(why) = written
        && why.kind() != ErrorKind::BrokenPipe
    {
        NOT_WRITTEN.get_or_init(|| why.to_string());
    }
}

/// For words that nobody has to get.
fn ignore(written: io::Result<()>) {
    drop(written);
}

/// A command line that was not understood, or the help that was asked for.
pub(crate) fn usage(error: &clap::Error) {
    let mut text = error.render().ansi().to_string();
    if let Some(missing) = missing(error) {
        let usage = text.split_once("\n\n").map_or("", |(_, usage)| usage);
        let tip = tip(&missing).map(|tip| format!("\n  {} {tip}\n", paint::good("tip:"))).unwrap_or_default();
        text = format!("{} {}\n{tip}\n{usage}", paint::bad("error:"), is_missing(&missing));
    }
    if error.use_stderr() { say(&text) } else { answer(&text) }
}

/// The first words about a command line that was not understood.
pub(crate) fn usage_words(error: &clap::Error) -> String {
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first).to_owned();
    missing(error).map_or(first, |missing| is_missing(&missing))
}

/// The arguments that a verb cannot do without and that were not typed.
fn missing(error: &clap::Error) -> Option<Vec<String>> {
    match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (UsageKind::MissingRequiredArgument, Some(ContextValue::Strings(missing))) => Some(missing.clone()),
        _ => None,
    }
}

fn is_missing(missing: &[String]) -> String {
    match missing {
        [one] => format!("{one} is missing"),
        [most @ .., last] => format!("{} and {last} are missing", most.join(", ")),
        [] => "something is missing".to_owned(),
    }
}

/// The verb that names what could have been typed.
fn tip(missing: &[String]) -> Option<&'static str> {
    let has = |words: &[&str]| missing.iter().any(|one| words.contains(&one.trim_matches(['<', '>'])));
    if has(&["PHASE"]) {
        Some("onward status names the phases of the newest run")
    } else if has(&["CHECKPOINT", "FROM", "TO", "ID"]) {
        Some("onward log names the checkpoints of the newest run, onward list the runs")
    } else if has(&["RUN"]) {
        Some("onward list --all names the runs")
    } else {
        None
    }
}

/// Whether anybody still reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readership {
    All,
    NobodyReads,
}

/// Copies what a phase printed to stdout: as it is for programs; a terminal is given colours, and nothing else that it would obey.
pub(crate) fn copy(mut from: impl Read) -> io::Result<Readership> {
    let mut out = io::stdout().lock();
    let terminal = out.is_terminal();
    let mut buffer = vec![0; COPIED_BYTES];
    let mut text = safe::OutputText::default();
    // A secret that colours had parted would be one piece without them.
    let mut redactor = Redactor::with(secrets());
    let colours = !matches!(AutoStream::choice(&out), ColorChoice::Never);
    let mut shown = |text: String| {
        if colours {
            return text.into_bytes();
        }
        let mut clean = Vec::new();
        redactor.push(console::strip_ansi_codes(&text).as_bytes(), &mut clean);
        clean
    };
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(why) if why.kind() == ErrorKind::Interrupted => continue,
            Err(why) => return Err(why),
        };
        let written =
            if terminal { out.write_all(&shown(text.next(&buffer[..count]))) } else { out.write_all(&buffer[..count]) };
        if written.is_err() {
            remember(written);
            return Ok(Readership::NobodyReads);
        }
    }
    let mut end = if terminal { shown(text.end()) } else { Vec::new() };
    redactor.finish(&mut end);
    let ended = write_to(&mut out, &end);
    let copied = if ended.is_ok() { Readership::All } else { Readership::NobodyReads };
    remember(ended);
    Ok(copied)
}
