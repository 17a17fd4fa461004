//! Texts with `${{ }}` in them.

use super::{ExpressionError, Reference};

const OPEN: &str = "${{";
const CLOSE: &str = "}}";

/// A text in pieces.
enum TemplatePiece<'a> {
    Text(&'a str),
    Value(Reference),
}

/// True if there is anything to put in.
pub fn holds(template: &str) -> bool {
    template.contains(OPEN)
}

/// The text with every expression replaced by what `context` says it is. What is put in is not looked at again.
pub fn substitute(template: &str, context: &dyn Fn(&Reference) -> Option<String>) -> Result<String, ExpressionError> {
    let mut out = String::with_capacity(template.len());
    for piece in pieces(template)? {
        match piece {
            TemplatePiece::Text(text) => out.push_str(text),
            TemplatePiece::Value(reference) => match context(&reference) {
                Some(value) => out.push_str(&value),
                None => return Err(ExpressionError::NoValue { reference }),
            },
        }
    }
    Ok(out)
}

/// As [`substitute`], but what `context` does not know stays as it is written. Only for texts that are not filled in again:
/// a value could hold `${{` itself.
pub(crate) fn substitute_known(
    template: &str,
    context: &dyn Fn(&Reference) -> Option<String>,
) -> Result<String, ExpressionError> {
    substitute(template, &|reference| Some(context(reference).unwrap_or_else(|| format!("{OPEN} {reference} {CLOSE}"))))
}

/// Everything the text asks for, in order.
pub fn references(template: &str) -> Result<Vec<Reference>, ExpressionError> {
    let found = pieces(template)?.into_iter().filter_map(|piece| match piece {
        TemplatePiece::Text(_) => None,
        TemplatePiece::Value(reference) => Some(reference),
    });
    Ok(found.collect())
}

fn pieces(template: &str) -> Result<Vec<TemplatePiece<'_>>, ExpressionError> {
    let mut pieces = Vec::new();
    let mut offset = 0;
    while let Some(start) = template[offset..].find(OPEN).map(|found| offset + found) {
        let inside = start + OPEN.len();
        let Some(length) = template[inside..].find(CLOSE) else {
            return Err(ExpressionError::Unclosed { offset: start });
        };
        let text = template[inside..inside + length].trim();
        let reference = Reference::parse(text).map_err(|what| ExpressionError::Malformed { offset: start, what })?;
        pieces.push(TemplatePiece::Text(&template[offset..start]));
        pieces.push(TemplatePiece::Value(reference));
        offset = inside + length + CLOSE.len();
    }
    pieces.push(TemplatePiece::Text(&template[offset..]));
    Ok(pieces)
}
