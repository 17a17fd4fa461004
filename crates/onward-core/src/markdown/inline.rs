//! The text of a heading or a line without its markup, in which every character knows where it stands in the source.

use std::ops::Range;

/// Plain text put together from pieces of the source.
#[derive(Clone, Debug, Default)]
pub(super) struct InlineText {
    pub(super) text: String,
    pieces: Vec<InlinePiece>,
}

#[derive(Clone, Debug)]
struct InlinePiece {
    /// Where it begins in `text`.
    start: usize,
    len: usize,
    source: Range<usize>,
}

impl InlineText {
    pub(super) fn push(&mut self, text: &str, source: Range<usize>) {
        self.pieces.push(InlinePiece { start: self.text.len(), len: text.len(), source });
        self.text.push_str(text);
    }

    /// Where the character at an offset of `text` stands in the source. A piece that is written otherwise there, such as an
    /// entity, is known as a whole only.
    pub(super) fn source_of(&self, offset: usize) -> usize {
        let behind = self.pieces.partition_point(|piece| piece.start <= offset);
        let Some(piece) = behind.checked_sub(1).map(|at| &self.pieces[at]) else { return 0 };
        let same = piece.len == piece.source.len();
        if same { piece.source.start + (offset - piece.start).min(piece.len) } else { piece.source.start }
    }

    /// The span of the source behind a span of `text`, if the same characters stand there.
    pub(super) fn span(&self, source: &str, span: Range<usize>) -> Option<Range<usize>> {
        let last = self.text.get(span.clone())?.chars().next_back()?.len_utf8();
        let found = self.source_of(span.start)..self.source_of(span.end - last) + last;
        (source.get(found.clone())? == &self.text[span]).then_some(found)
    }
}
