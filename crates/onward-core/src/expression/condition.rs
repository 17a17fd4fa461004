//! The grammar of `if`: comparisons, `&&`, `||`, `!`, brackets, and the three words about what went before.

use super::{ExpressionError, Reference};

/// Brackets and `!` inside each other.
const DEPTH_MAX: usize = 32;

#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// `==`, `!=`, `&&`, `||`, `!`, `(`, `)`.
    Mark(&'static str),
    /// Text in single quotes, a number, `true` or `false`.
    Literal,
    Value(Reference),
    /// `success()`, `failure()`, `always()`.
    Outcome,
}

const MARKS: &[&str] = &["==", "!=", "&&", "||", "!", "(", ")"];

/// Checks the text of an `if` and gives what it asks for. The outer `${{ }}` may be left out.
pub fn condition(text: &str) -> Result<Vec<Reference>, ExpressionError> {
    let trimmed = text.trim();
    let inner = trimmed.strip_prefix("${{").and_then(|rest| rest.strip_suffix("}}")).unwrap_or(trimmed);
    let offset = inner.as_ptr().addr() - text.as_ptr().addr();
    let tokens = tokens(inner, offset)?;
    let mut reader = Reader { tokens: &tokens, at: 0, end: offset + inner.len() };
    reader.any_of(0)?;
    match reader.peek() {
        None => Ok(tokens
            .into_iter()
            .filter_map(|(token, _)| if let Token::Value(value) = token { Some(value) } else { None })
            .collect()),
        Some(_) => Err(reader.fault("nothing was expected after this")),
    }
}

fn malformed(offset: usize, what: impl Into<String>) -> ExpressionError {
    ExpressionError::Malformed { offset, what: what.into() }
}

fn tokens(text: &str, base: usize) -> Result<Vec<(Token, usize)>, ExpressionError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let offset = base + at;
        if first.is_whitespace() {
            at += first.len_utf8();
        } else if let Some(mark) = MARKS.iter().find(|mark| rest.starts_with(**mark)) {
            tokens.push((Token::Mark(mark), offset));
            at += mark.len();
        } else if first == '\'' {
            at += quoted(rest).ok_or_else(|| malformed(offset, "the text in single quotes has no end"))?;
            tokens.push((Token::Literal, offset));
        } else if first.is_ascii_alphanumeric() || first == '-' || first == '_' {
            let length =
                rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))).unwrap_or(rest.len());
            let called = rest[length..].starts_with("()");
            tokens.push((word(&rest[..length], called, offset)?, offset));
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

fn word(word: &str, called: bool, offset: usize) -> Result<Token, ExpressionError> {
    match word {
        "success" | "failure" | "always" if called => Ok(Token::Outcome),
        "success" | "failure" | "always" => Err(malformed(offset, format!("write `{word}()`"))),
        _ if called => {
            Err(malformed(offset, format!("`{word}()` is not known; there are success(), failure() and always()")))
        }
        "true" | "false" => Ok(Token::Literal),
        _ if word.parse::<f64>().is_ok_and(f64::is_finite) => Ok(Token::Literal),
        _ => Reference::parse(word).map(Token::Value).map_err(|what| malformed(offset, what)),
    }
}

/// One level of the grammar per function; `depth` bounds the recursion.
struct Reader<'a> {
    tokens: &'a [(Token, usize)],
    at: usize,
    end: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn fault(&self, what: &str) -> ExpressionError {
        malformed(self.tokens.get(self.at).map_or(self.end, |(_, offset)| *offset), what)
    }

    fn takes(&mut self, mark: &str) -> bool {
        let fits = matches!(self.peek(), Some(Token::Mark(found)) if *found == mark);
        self.at += usize::from(fits);
        fits
    }

    fn any_of(&mut self, depth: usize) -> Result<(), ExpressionError> {
        self.all_of(depth)?;
        while self.takes("||") {
            self.all_of(depth)?;
        }
        Ok(())
    }

    fn all_of(&mut self, depth: usize) -> Result<(), ExpressionError> {
        self.comparison(depth)?;
        while self.takes("&&") {
            self.comparison(depth)?;
        }
        Ok(())
    }

    fn comparison(&mut self, depth: usize) -> Result<(), ExpressionError> {
        self.operand(depth)?;
        if self.takes("==") || self.takes("!=") {
            self.operand(depth)?;
        }
        Ok(())
    }

    fn operand(&mut self, depth: usize) -> Result<(), ExpressionError> {
        if depth > DEPTH_MAX {
            return Err(self.fault("brackets stand too deep inside each other"));
        }
        if self.takes("!") {
            return self.operand(depth + 1);
        }
        if self.takes("(") {
            self.any_of(depth + 1)?;
            return if self.takes(")") { Ok(()) } else { Err(self.fault("`)` is missing")) };
        }
        match self.peek() {
            Some(Token::Literal | Token::Value(_) | Token::Outcome) => {
                self.at += 1;
                Ok(())
            }
            Some(Token::Mark(_)) | None => Err(self.fault("a value is missing here")),
        }
    }
}
