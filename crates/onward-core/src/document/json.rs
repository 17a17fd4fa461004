//! JSON text to the same tree as YAML. A reader of our own: YAML readers know neither surrogate pairs nor tabs everywhere.

use std::iter::Peekable;
use std::str::Chars;

use crate::diagnostic::{Code, Diagnostic, Place};

use super::tree::{Builder, Fatal, Quoting};

/// The tokens that may come next.
#[derive(Clone, Copy, PartialEq)]
enum Expected {
    Value,
    /// After an opening bracket: a value or the end.
    ValueOrEnd,
    Key,
    /// After an opening brace: a key or the end.
    KeyOrEnd,
    Colon,
    CommaOrEnd,
    Nothing,
}

#[derive(Clone, Copy, PartialEq)]
enum Open {
    List,
    Object,
}

struct JsonReader<'a> {
    rest: Peekable<Chars<'a>>,
    line: usize,
    column: usize,
}

pub(crate) fn read(text: &str, builder: &mut Builder) -> Result<(), Fatal> {
    let mut reader = JsonReader { rest: text.chars().peekable(), line: 1, column: 1 };
    let mut open: Vec<Open> = Vec::new();
    let mut next = Expected::Value;
    loop {
        reader.skip_blanks();
        let place = reader.place();
        let Some(character) = reader.rest.peek().copied() else {
            return if next == Expected::Nothing { Ok(()) } else { Err(fault(place, "the text ends too early")) };
        };
        next = match (next, character) {
            (Expected::Value | Expected::ValueOrEnd, '{') => {
                reader.take();
                open.push(Open::Object);
                builder.open_mapping(0, place)?;
                Expected::KeyOrEnd
            }
            (Expected::Value | Expected::ValueOrEnd, '[') => {
                reader.take();
                open.push(Open::List);
                builder.open_sequence(0, place)?;
                Expected::ValueOrEnd
            }
            (Expected::ValueOrEnd | Expected::CommaOrEnd, ']') if open.last() == Some(&Open::List) => {
                close(&mut reader, &mut open, builder)?
            }
            (Expected::KeyOrEnd | Expected::CommaOrEnd, '}') if open.last() == Some(&Open::Object) => {
                close(&mut reader, &mut open, builder)?
            }
            (Expected::CommaOrEnd, ',') => {
                reader.take();
                if open.last() == Some(&Open::Object) { Expected::Key } else { Expected::Value }
            }
            (Expected::Colon, ':') => {
                reader.take();
                Expected::Value
            }
            (Expected::Key | Expected::KeyOrEnd, '"') => {
                builder.scalar(reader.string()?, Quoting::Quoted, 0, place)?;
                Expected::Colon
            }
            (Expected::Value | Expected::ValueOrEnd, _) => {
                let (text, quoting) = match character {
                    '"' => (reader.string()?, Quoting::Quoted),
                    _ => (reader.word(place)?, Quoting::Plain),
                };
                builder.scalar(text, quoting, 0, place)?;
                after_value(&open)
            }
            (Expected::Key | Expected::KeyOrEnd | Expected::Colon | Expected::CommaOrEnd | Expected::Nothing, _) => {
                return Err(fault(place, &format!("`{character}` cannot stand here")));
            }
        };
    }
}

fn close(reader: &mut JsonReader<'_>, open: &mut Vec<Open>, builder: &mut Builder) -> Result<Expected, Fatal> {
    reader.take();
    open.pop();
    builder.close()?;
    Ok(after_value(open))
}

fn after_value(open: &[Open]) -> Expected {
    if open.is_empty() { Expected::Nothing } else { Expected::CommaOrEnd }
}

fn fault(place: Place, what: &str) -> Fatal {
    Diagnostic::error(Code::Syntax, format!("this is not JSON: {what}")).at(place)
}

impl JsonReader<'_> {
    fn place(&self) -> Place {
        Place::new(self.line, self.column)
    }

    fn take(&mut self) -> Option<char> {
        let character = self.rest.next()?;
        if character == '\n' {
            self.line += 1;
            self.column = 1;
        } else {
            self.column += 1;
        }
        Some(character)
    }

    fn skip_blanks(&mut self) {
        while self.rest.peek().is_some_and(|character| matches!(character, ' ' | '\t' | '\n' | '\r')) {
            self.take();
        }
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self, place: Place) -> Result<String, Fatal> {
        let mut word = String::new();
        while let Some(character) = self.rest.peek().copied() {
            if !(character.is_ascii_alphanumeric() || matches!(character, '+' | '-' | '.')) {
                break;
            }
            word.push(character);
            self.take();
        }
        let known = matches!(word.as_str(), "true" | "false" | "null");
        let number =
            word.starts_with(|first: char| first == '-' || first.is_ascii_digit()) && word.parse::<f64>().is_ok();
        if known || number {
            Ok(word)
        } else {
            Err(fault(place, "a value is a text in double quotes, a number, true, false or null"))
        }
    }

    fn string(&mut self) -> Result<String, Fatal> {
        let mut text = String::new();
        let start = self.place();
        self.take();
        loop {
            let place = self.place();
            match self.take() {
                None => return Err(fault(start, "the text that starts here has no end")),
                Some('"') => return Ok(text),
                Some('\\') => text.push(self.escape(place)?),
                Some(character) if u32::from(character) < 0x20 => {
                    return Err(fault(
                        place,
                        "a line break or control character inside a text; write it as \\n or \\u000a",
                    ));
                }
                Some(character) => text.push(character),
            }
        }
    }

    fn escape(&mut self, place: Place) -> Result<char, Fatal> {
        Ok(match self.take() {
            Some('"') => '"',
            Some('\\') => '\\',
            Some('/') => '/',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => return self.unicode(place),
            Some(_) | None => return Err(fault(place, "there is no such escape")),
        })
    }

    /// Four hex digits, or twice four where the first four are half a character.
    fn unicode(&mut self, place: Place) -> Result<char, Fatal> {
        let high = self.four_digits(place)?;
        let code = if (0xd800..0xdc00).contains(&high) {
            if self.take() != Some('\\') || self.take() != Some('u') {
                return Err(fault(place, "half a character: the second escape is missing"));
            }
            let low = self.four_digits(place)?;
            if !(0xdc00..0xe000).contains(&low) {
                return Err(fault(place, "half a character: the second escape does not fit"));
            }
            0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)
        } else {
            high
        };
        char::from_u32(code).ok_or_else(|| fault(place, "half a character"))
    }

    fn four_digits(&mut self, place: Place) -> Result<u32, Fatal> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.take().and_then(|character| character.to_digit(16));
            code = code * 16 + digit.ok_or_else(|| fault(place, "\\u wants four hex digits"))?;
        }
        Ok(code)
    }
}
