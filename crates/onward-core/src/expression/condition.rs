//! The grammar of `if`: comparisons, `&&`, `||`, `!`, brackets, and the three words about what went before.

use serde::{Deserialize, Serialize};

use super::{ExpressionError, Reference};

/// An `if` that was read: as it is written, and what that means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Condition {
    text: String,
    term: Term,
}

/// The outcome of everything before a phase, for `success()` and `failure()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// Nothing that the phase comes after has failed.
    Good,
    /// Something has, or can never run because of it.
    Failed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    Text(String),
    Value(Reference),
    Outcome(StatusWord),
    Not(Box<Term>),
    Same(Box<Term>, Box<Term>),
    Different(Box<Term>, Box<Term>),
    All(Vec<Term>),
    Any(Vec<Term>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StatusWord {
    Success,
    Failure,
    Always,
}

/// Brackets and `!` inside each other.
const DEPTH_MAX: usize = 32;

#[derive(Clone, Debug, PartialEq)]
enum ConditionToken {
    /// `==`, `!=`, `&&`, `||`, `!`, `(`, `)`.
    Mark(&'static str),
    /// Text in single quotes, a number, `true` or `false`.
    Literal(String),
    Value(Reference),
    /// `success()`, `failure()`, `always()`.
    Outcome(StatusWord),
}

const MARKS: &[&str] = &["==", "!=", "&&", "||", "!", "(", ")"];

/// Checks the text of an `if` and gives what it asks for. The outer `${{ }}` may be left out.
pub fn condition(text: &str) -> Result<Vec<Reference>, ExpressionError> {
    Condition::parse(text).map(|condition| condition.references())
}

impl Condition {
    /// Reads the text of an `if`. The outer `${{ }}` may be left out.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let inner = bare(text);
        let offset = inner.as_ptr().addr() - text.as_ptr().addr();
        let tokens = tokens(inner, offset)?;
        let mut reader = ConditionReader { tokens: &tokens, at: 0, end: offset + inner.len() };
        let term = reader.any_of(0)?;
        match reader.peek() {
            None => Ok(Self { text: text.to_owned(), term }),
            Some(_) => Err(reader.fault("nothing was expected after this")),
        }
    }

    /// Holds whatever went before, as long as `own` does.
    #[must_use]
    pub fn always(own: Option<&Self>) -> Self {
        let always = Term::Outcome(StatusWord::Always);
        match own {
            None => Self { text: "always()".to_owned(), term: always },
            Some(own) => Self {
                text: format!("always() && ({})", bare(&own.text)),
                term: Term::All(vec![always, own.term.clone()]),
            },
        }
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Everything it asks for, in order.
    pub fn references(&self) -> Vec<Reference> {
        let mut found = Vec::new();
        self.term.visit(&mut |term| {
            if let Term::Value(reference) = term {
                found.push(reference.clone());
            }
        });
        found
    }

    /// Whether it says by itself what a failure before it means. One that does not wants all to have gone well.
    pub fn judges_the_past(&self) -> bool {
        let mut judges = false;
        self.term.visit(&mut |term| judges |= matches!(term, Term::Outcome(_)));
        judges
    }

    /// Whether it holds. What has no value is an empty text. Texts are compared as they are, numbers by their value; an empty
    /// text, `false` and `0` do not hold.
    pub fn holds(&self, context: &dyn Fn(&Reference) -> Option<String>, past: Past) -> bool {
        let good = self.judges_the_past() || past == Past::Good;
        good && self.term.holds(context, past)
    }
}

impl TryFrom<String> for Condition {
    type Error = ExpressionError;

    fn try_from(text: String) -> Result<Self, ExpressionError> {
        Self::parse(&text)
    }
}

impl From<Condition> for String {
    fn from(condition: Condition) -> Self {
        condition.text
    }
}

/// A condition without its outer `${{ }}`.
fn bare(text: &str) -> &str {
    let trimmed = text.trim();
    trimmed.strip_prefix("${{").and_then(|rest| rest.strip_suffix("}}")).unwrap_or(trimmed)
}

impl Term {
    fn visit(&self, see: &mut dyn FnMut(&Term)) {
        see(self);
        match self {
            Term::Text(_) | Term::Value(_) | Term::Outcome(_) => {}
            Term::Not(inner) => inner.visit(see),
            Term::Same(left, right) | Term::Different(left, right) => {
                left.visit(see);
                right.visit(see);
            }
            Term::All(terms) | Term::Any(terms) => terms.iter().for_each(|term| term.visit(see)),
        }
    }

    fn holds(&self, context: &dyn Fn(&Reference) -> Option<String>, past: Past) -> bool {
        match self {
            Term::Text(_) | Term::Value(_) => !matches!(self.text(context, past).as_str(), "" | "false" | "0"),
            Term::Outcome(StatusWord::Success) => past == Past::Good,
            Term::Outcome(StatusWord::Failure) => past == Past::Failed,
            Term::Outcome(StatusWord::Always) => true,
            Term::Not(inner) => !inner.holds(context, past),
            Term::Same(left, right) => same(&left.text(context, past), &right.text(context, past)),
            Term::Different(left, right) => !same(&left.text(context, past), &right.text(context, past)),
            Term::All(terms) => terms.iter().all(|term| term.holds(context, past)),
            Term::Any(terms) => terms.iter().any(|term| term.holds(context, past)),
        }
    }

    fn text(&self, context: &dyn Fn(&Reference) -> Option<String>, past: Past) -> String {
        match self {
            Term::Text(text) => text.clone(),
            Term::Value(reference) => context(reference).unwrap_or_default(),
            Term::Outcome(_) | Term::Not(_) | Term::Same(..) | Term::Different(..) | Term::All(_) | Term::Any(_) => {
                self.holds(context, past).to_string()
            }
        }
    }
}

fn same(left: &str, right: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    left == right || number(left).zip(number(right)).is_some_and(|(left, right)| left.to_bits() == right.to_bits())
}

fn malformed(offset: usize, what: impl Into<String>) -> ExpressionError {
    ExpressionError::Malformed { offset, what: what.into() }
}

fn tokens(text: &str, base: usize) -> Result<Vec<(ConditionToken, usize)>, ExpressionError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let offset = base + at;
        if first.is_whitespace() {
            at += first.len_utf8();
        } else if let Some(mark) = MARKS.iter().find(|mark| rest.starts_with(**mark)) {
            tokens.push((ConditionToken::Mark(mark), offset));
            at += mark.len();
        } else if first == '\'' {
            let length = quoted(rest).ok_or_else(|| malformed(offset, "the text in single quotes has no end"))?;
            tokens.push((ConditionToken::Literal(rest[1..length - 1].replace("''", "'")), offset));
            at += length;
        } else if first.is_ascii_alphanumeric() || first == '-' || first == '_' {
            let length =
                rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))).unwrap_or(rest.len());
            let called = rest[length..].starts_with("()");
            let name = &rest[..length];
            tokens.push((if called { status(name, offset)? } else { word(name, offset)? }, offset));
            at += length + if called { 2 } else { 0 };
        } else if first == '"' {
            return Err(malformed(offset, "texts in conditions stand in single quotes"));
        } else {
            return Err(malformed(offset, format!("`{first}` has no meaning in a condition")));
        }
    }
    Ok(tokens)
}

/// Bytes of the quoted text at the start; two quotes inside stand for one.
fn quoted(rest: &str) -> Option<usize> {
    let mut at = 1;
    loop {
        at += rest[at..].find('\'')? + 1;
        if !rest[at..].starts_with('\'') {
            return Some(at);
        }
        at += 1;
    }
}

/// A word with `()` behind it.
fn status(word: &str, offset: usize) -> Result<ConditionToken, ExpressionError> {
    match word {
        "success" => Ok(ConditionToken::Outcome(StatusWord::Success)),
        "failure" => Ok(ConditionToken::Outcome(StatusWord::Failure)),
        "always" => Ok(ConditionToken::Outcome(StatusWord::Always)),
        _ => Err(malformed(offset, format!("`{word}()` is not known; there are success(), failure() and always()"))),
    }
}

fn word(word: &str, offset: usize) -> Result<ConditionToken, ExpressionError> {
    match word {
        "success" | "failure" | "always" => Err(malformed(offset, format!("write `{word}()`"))),
        "true" | "false" => Ok(ConditionToken::Literal(word.to_owned())),
        _ if word.parse::<f64>().is_ok_and(f64::is_finite) => Ok(ConditionToken::Literal(word.to_owned())),
        _ => Reference::parse(word).map(ConditionToken::Value).map_err(|what| malformed(offset, what)),
    }
}

/// One level of the grammar per function; `depth` bounds the recursion.
struct ConditionReader<'a> {
    tokens: &'a [(ConditionToken, usize)],
    at: usize,
    end: usize,
}

impl ConditionReader<'_> {
    fn peek(&self) -> Option<&ConditionToken> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn fault(&self, what: &str) -> ExpressionError {
        malformed(self.tokens.get(self.at).map_or(self.end, |(_, offset)| *offset), what)
    }

    fn takes(&mut self, mark: &str) -> bool {
        let fits = matches!(self.peek(), Some(ConditionToken::Mark(found)) if *found == mark);
        self.at += usize::from(fits);
        fits
    }

    fn any_of(&mut self, depth: usize) -> Result<Term, ExpressionError> {
        let mut terms = vec![self.all_of(depth)?];
        while self.takes("||") {
            terms.push(self.all_of(depth)?);
        }
        Ok(one_or(terms, Term::Any))
    }

    fn all_of(&mut self, depth: usize) -> Result<Term, ExpressionError> {
        let mut terms = vec![self.comparison(depth)?];
        while self.takes("&&") {
            terms.push(self.comparison(depth)?);
        }
        Ok(one_or(terms, Term::All))
    }

    fn comparison(&mut self, depth: usize) -> Result<Term, ExpressionError> {
        let left = Box::new(self.operand(depth)?);
        if self.takes("==") {
            Ok(Term::Same(left, Box::new(self.operand(depth)?)))
        } else if self.takes("!=") {
            Ok(Term::Different(left, Box::new(self.operand(depth)?)))
        } else {
            Ok(*left)
        }
    }

    fn operand(&mut self, depth: usize) -> Result<Term, ExpressionError> {
        if depth > DEPTH_MAX {
            return Err(self.fault("brackets stand too deep inside each other"));
        }
        if self.takes("!") {
            return self.operand(depth + 1).map(|term| Term::Not(Box::new(term)));
        }
        if self.takes("(") {
            let inner = self.any_of(depth + 1)?;
            return if self.takes(")") { Ok(inner) } else { Err(self.fault("`)` is missing")) };
        }
        let term = match self.peek() {
            Some(ConditionToken::Literal(text)) => Term::Text(text.clone()),
            Some(ConditionToken::Value(reference)) => Term::Value(reference.clone()),
            Some(ConditionToken::Outcome(word)) => Term::Outcome(*word),
            Some(ConditionToken::Mark(_)) | None => return Err(self.fault("a value is missing here")),
        };
        self.at += 1;
        Ok(term)
    }
}

/// A term that stands alone is itself.
fn one_or(mut terms: Vec<Term>, many: impl FnOnce(Vec<Term>) -> Term) -> Term {
    if terms.len() == 1 { terms.remove(0) } else { many(terms) }
}
