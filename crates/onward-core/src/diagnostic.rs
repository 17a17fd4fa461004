//! Diagnostics: a fault in a text that somebody wrote, its place, and how to fix it.

use std::fmt::Write as _;

use serde::{Serialize, Serializer};

use crate::control_characters::is_control_or_hidden;

/// Characters of a source line that are shown; a longer line is cut around the caret.
const SHOWN_CHARS_MAX: usize = 160;

/// A position in a text, as editors count: both numbers start at 1, columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    pub line: u32,
    pub column: u32,
}

impl Place {
    /// Takes the counts of a parser; a number that does not fit is shown as the largest one.
    pub fn new(line: usize, column: usize) -> Self {
        let fit = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).max(1);
        Self { line: fit(line), column: fit(column) }
    }
}

/// Only an error makes a text unusable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    Error,
    Warning,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// The kind of fault. The text of a code is a promise: scripts filter by it, pages are named after it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// Every code there is, for pages and tests that go through them.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            pub fn as_str(self) -> &'static str {
                match self {
                    $(Code::$name => $text,)*
                }
            }
        }
    };
}

codes! {
    /// The text is neither YAML nor JSON.
    Syntax = "syntax",
    TooLarge = "too-large",
    TooDeep = "too-deep",
    TooManyNodes = "too-many-nodes",
    /// More faults than are worth listing; the rest is left out.
    MoreFaults = "more-faults",
    MultipleDocuments = "multiple-documents",
    TagRefused = "tag-refused",
    MergeKey = "merge-key",
    DuplicateKey = "duplicate-key",
    MissingFormat = "missing-format",
    /// Written for a later onward. The caller answers with its own exit code.
    NewerFormat = "newer-format",
    MissingKey = "missing-key",
    UnknownKey = "unknown-key",
    WrongType = "wrong-type",
    BadValue = "bad-value",
    BadId = "bad-id",
    BadName = "bad-name",
    BadDuration = "bad-duration",
    BadSize = "bad-size",
    BadRate = "bad-rate",
    PathOutside = "path-outside",
    NoKind = "no-kind",
    TwoKinds = "two-kinds",
    UnknownNeed = "unknown-need",
    SelfNeed = "self-need",
    DuplicateNeed = "duplicate-need",
    Cycle = "cycle",
    ExpressionInRun = "expression-in-run",
    BadExpression = "bad-expression",
    UnknownInput = "unknown-input",
    UnknownPhase = "unknown-phase",
    UnknownOutput = "unknown-output",
    UnknownMatrix = "unknown-matrix",
    NotAnAncestor = "not-an-ancestor",
    MatrixNotAncestor = "matrix-not-ancestor",
    ScriptTooLong = "script-too-long",
    UnknownLimit = "unknown-limit",
    NotYetSupported = "not-yet-supported",
    /// A key that nobody acts on in a phase that is done this way.
    NoEffect = "no-effect",
    WritesOverlap = "writes-overlap",
    TwoCommitters = "two-committers",
    EffectWithoutProbe = "effect-without-probe",
    LowBeforeHigh = "low-before-high",
    ChoiceWithoutEffect = "choice-without-effect",
    BadInput = "bad-input",
    MissingInput = "missing-input",
    /// A plan in Markdown without a heading of a phase.
    NoPhases = "no-phases",
    DuplicatePhase = "duplicate-phase",
    UnknownMarker = "unknown-marker",
    /// A heading of a plan in Markdown that may have been meant to begin a phase.
    UnclearHeading = "unclear-heading",
    /// A dependency line that names something that is no phase.
    UnclearDependency = "unclear-dependency",
    /// A link to a part of the plan that cannot be followed.
    LinkedFile = "linked-file",
    DoneBeforeNeed = "done-before-need",
    DoneWithOpenTasks = "done-with-open-tasks",
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// One fault of one text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    pub code: Code,
    pub severity: Severity,
    pub message: String,
    /// How to fix it; empty where the message says it all.
    pub help: String,
    pub place: Option<Place>,
}

impl Diagnostic {
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self { code, severity: Severity::Error, message: message.into(), help: String::new(), place: None }
    }

    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message) }
    }

    #[must_use]
    pub fn at(self, place: Place) -> Self {
        Self { place: Some(place), ..self }
    }

    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        Self { help: help.into(), ..self }
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// One diagnostic in one line: `FILE:LINE:COLUMN`, what, the way out.
pub fn line(file: &str, diagnostic: &Diagnostic) -> String {
    let place = diagnostic.place.map(|place| format!(":{}:{}", place.line, place.column)).unwrap_or_default();
    let help = diagnostic.help.lines().next().map(|help| format!(" ({help})")).unwrap_or_default();
    harmless(&format!("{file}{place}: {}{help}", diagnostic.message))
}

/// All diagnostics as people read them: `FILE:LINE:COLUMN`, what, the line with a caret, the way out.
pub fn render(file: &str, text: &str, diagnostics: &[Diagnostic]) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut out = String::new();
    for diagnostic in diagnostics {
        let place = diagnostic.place.map(|place| format!(":{}:{}", place.line, place.column)).unwrap_or_default();
        let (severity, code) = (diagnostic.severity.as_str(), diagnostic.code.as_str());
        let message = harmless(&diagnostic.message);
        let _ = writeln!(out, "{}{place}: {severity}[{code}]: {message}", harmless(file));
        if let Some(place) = diagnostic.place {
            let index = usize::try_from(place.line).unwrap_or(usize::MAX) - 1;
            if let Some(line) = lines.get(index) {
                out.push_str(&excerpt(line, place));
            }
        }
        for line in diagnostic.help.lines().enumerate() {
            let lead = if line.0 == 0 { "help: " } else { "      " };
            let _ = writeln!(out, "  {lead}{}", harmless(line.1));
        }
    }
    out
}

/// The source line with its number, and a caret under the place.
fn excerpt(line: &str, place: Place) -> String {
    let column = usize::try_from(place.column).unwrap_or(usize::MAX) - 1;
    let first = column.saturating_sub(SHOWN_CHARS_MAX / 2);
    let mut shown = String::new();
    let mut before = 0;
    for (index, character) in line.chars().enumerate().skip(first).take(SHOWN_CHARS_MAX) {
        if index == column {
            before = shown.chars().count();
        }
        push_harmless(&mut shown, character);
    }
    if line.chars().nth(column).is_none() {
        before = shown.chars().count();
    }
    let number = place.line.to_string();
    let gutter = " ".repeat(number.len());
    format!("  {number} | {shown}\n  {gutter} | {}^\n", " ".repeat(before))
}

/// The text without anything a terminal would obey.
fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        push_harmless(&mut out, character);
    }
    out
}

fn push_harmless(out: &mut String, character: char) {
    match character {
        '\t' => out.push(' '),
        _ if character.is_control() => {
            let _ = write!(out, "{}", character.escape_default());
        }
        // Marks that reorder or hide could make the shown text differ from what is read.
        _ if is_control_or_hidden(character) => {
            let _ = write!(out, "{}", character.escape_unicode());
        }
        _ => out.push(character),
    }
}
