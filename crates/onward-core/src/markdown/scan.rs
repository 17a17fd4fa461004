//! One walk over what a parser of `CommonMark` sees of a text: headings, boxes, dependency lines and links, in the order of the text.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::dependency::{self, KeyMeaning, NeedsSaid};
use super::inline::InlineText;
use super::link::{self, LinkedKind};

/// The tick that the extension of `CommonMark` for check boxes does not know.
const TICKED: &str = "[\u{2713}]";

#[derive(Debug, Default)]
pub(super) struct Scanned {
    /// Those that stand by themselves, not inside of a quote or a list.
    pub(super) headings: Vec<HeadingFound>,
    pub(super) boxes: Vec<BoxFound>,
    pub(super) needs: Vec<NeedsFound>,
    pub(super) links: Vec<LinkFound>,
}

#[derive(Debug)]
pub(super) struct HeadingFound {
    pub(super) level: u32,
    pub(super) start: usize,
    /// Behind the whole of it.
    pub(super) end: usize,
    /// Behind its text.
    pub(super) text_end: usize,
    pub(super) text: InlineText,
}

/// A check box: a list item that begins with `[ ]` or with a tick in brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BoxFound {
    /// Between the brackets.
    pub(super) inside: Range<usize>,
    pub(super) done: bool,
    pub(super) text: String,
}

/// A dependency line; spans are of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NeedsFound {
    pub(super) at: usize,
    pub(super) said: NeedsSaid,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LinkFound {
    pub(super) at: usize,
    pub(super) path: String,
    pub(super) kind: LinkedKind,
}

/// Reads a text. Takes time in proportion to its length.
pub(super) fn scan(source: &str) -> Scanned {
    let options = Options::ENABLE_TASKLISTS | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    // A mark of the byte order is no part of the first line.
    let skipped = source.len() - source.trim_start_matches('\u{feff}').len();
    let mut walk = Walk { source, ..Walk::default() };
    for (event, range) in Parser::new_ext(&source[skipped..], options).into_offset_iter() {
        walk.event(event, range.start + skipped..range.end + skipped);
    }
    walk.block_ends();
    walk.found
}

/// A list that stands behind `Dependencies:` and names phases.
#[derive(Clone, Copy)]
enum NeedsList {
    None,
    /// It may begin with the next block.
    Awaited,
    /// It is the list at this depth.
    Inside(usize),
}

struct Walk<'a> {
    source: &'a str,
    found: Scanned,
    quotes: u32,
    /// Lists around, each with whether the text of its present item is still to come.
    lists: Vec<bool>,
    /// Inside of a fence, a block of HTML or of metadata: all is text.
    raw: u32,
    heading: Option<HeadingFound>,
    /// The lines of the present block.
    lines: Vec<InlineText>,
    /// The box whose text comes next.
    open_box: Option<usize>,
    needs_list: NeedsList,
}

impl Default for Walk<'_> {
    fn default() -> Self {
        Self {
            source: "",
            found: Scanned::default(),
            quotes: 0,
            lists: Vec::new(),
            raw: 0,
            heading: None,
            lines: Vec::new(),
            open_box: None,
            needs_list: NeedsList::None,
        }
    }
}

impl Walk<'_> {
    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(&tag, &range),
            Event::End(tag) => self.end(tag),
            _ if self.raw > 0 => {}
            Event::Text(text) => self.text(&text, range),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                let inner = self.source.get(range.clone()).and_then(|code| code.find(text.as_ref()));
                let inner = inner.map(|at| range.start + at..range.start + at + text.len());
                self.text(&text, inner.unwrap_or(range));
            }
            Event::SoftBreak | Event::HardBreak if self.heading.is_some() => self.text(" ", range),
            Event::SoftBreak | Event::HardBreak => self.lines.push(InlineText::default()),
            Event::TaskListMarker(done) => {
                if let Some(found) = self.task(range) {
                    found.done = done;
                }
            }
            Event::Rule => self.block_ends(),
            Event::Html(_) | Event::InlineHtml(_) | Event::FootnoteReference(_) => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: &Range<usize>) {
        match tag {
            Tag::Paragraph => self.block_ends(),
            Tag::Heading { level, .. } => {
                self.block_ends();
                let (start, end, text) = (range.start, range.end, InlineText::default());
                self.heading = Some(HeadingFound { level: *level as u32, start, end, text_end: start, text });
            }
            Tag::BlockQuote(_) => {
                self.block_ends();
                self.quotes += 1;
            }
            Tag::List(_) => {
                self.block_ends();
                self.lists.push(false);
                if matches!(self.needs_list, NeedsList::Awaited) {
                    self.needs_list = NeedsList::Inside(self.lists.len());
                }
            }
            Tag::Item => {
                self.block_ends();
                if let Some(fresh) = self.lists.last_mut() {
                    *fresh = true;
                }
            }
            Tag::CodeBlock(_) | Tag::HtmlBlock | Tag::MetadataBlock(_) => {
                self.block_ends();
                self.raw += 1;
            }
            Tag::Link { dest_url, .. } => {
                if let Some((path, kind)) = link::linked(dest_url).filter(|_| self.quotes == 0) {
                    self.found.links.push(LinkFound { at: range.start, path, kind });
                }
                self.goes_to(range.end);
            }
            _ => self.goes_to(range.end),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => self.heading_ends(),
            TagEnd::BlockQuote(_) => {
                self.block_ends();
                self.quotes = self.quotes.saturating_sub(1);
            }
            TagEnd::List(_) => {
                self.block_ends();
                if matches!(self.needs_list, NeedsList::Inside(depth) if depth == self.lists.len()) {
                    self.needs_list = NeedsList::None;
                }
                self.lists.pop();
            }
            TagEnd::CodeBlock | TagEnd::HtmlBlock | TagEnd::MetadataBlock(_) => self.raw = self.raw.saturating_sub(1),
            TagEnd::Paragraph | TagEnd::Item => self.block_ends(),
            _ => {}
        }
    }

    /// The text of a heading goes on to here, with the marks of what is strong and the like.
    fn goes_to(&mut self, end: usize) {
        if let Some(heading) = &mut self.heading {
            heading.text_end = heading.text_end.max(end);
        }
    }

    fn text(&mut self, text: &str, range: Range<usize>) {
        self.goes_to(range.end);
        if let Some(heading) = &mut self.heading {
            heading.text.push(text, range);
            return;
        }
        if self.lines.is_empty() {
            self.lines.push(InlineText::default());
        }
        if let Some(line) = self.lines.last_mut() {
            line.push(text, range);
        }
    }

    /// The box that begins here, as yet open.
    fn task(&mut self, range: Range<usize>) -> Option<&mut BoxFound> {
        let marked = self.source.get(range.clone()).unwrap_or_default();
        let (open, close) = (marked.find('[')?, marked.find(']')?);
        if self.quotes > 0 || self.heading.is_some() || open >= close {
            return None;
        }
        let inside = range.start + open + 1..range.start + close;
        self.open_box = Some(self.found.boxes.len());
        self.found.boxes.push(BoxFound { inside, done: false, text: String::new() });
        self.found.boxes.last_mut()
    }

    fn heading_ends(&mut self) {
        let Some(mut heading) = self.heading.take() else { return };
        let text = self.source.get(..heading.text_end).unwrap_or_default();
        heading.text_end = text.trim_end().len().max(heading.start);
        if self.quotes == 0 && self.lists.is_empty() {
            self.found.headings.push(heading);
        }
        self.needs_list = NeedsList::None;
    }

    /// The lines that were gathered are the whole of a block of text, if there are any.
    fn block_ends(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        let open_box = self.open_box.take();
        let fresh = self.lists.last_mut().is_some_and(|fresh| std::mem::replace(fresh, false) && !lines.is_empty());
        if lines.is_empty() {
            if let (Some(fresh), Some(_)) = (self.lists.last_mut(), open_box) {
                *fresh = false;
            }
            return;
        }
        if self.quotes > 0 {
            return;
        }
        if let Some(text) = lines.first().map(|line| line.text.trim().to_owned()) {
            match open_box {
                Some(at) => self.found.boxes[at].text = text,
                None if fresh => self.ticked_otherwise(&lines[0]),
                None => {}
            }
        }
        self.needs_of(&lines);
    }

    /// A box with a tick that the parser takes for text.
    fn ticked_otherwise(&mut self, line: &InlineText) {
        let Some(text) = line.text.strip_prefix(TICKED) else { return };
        let span = line.span(self.source, 0..TICKED.len());
        if let Some(span) = span.filter(|_| text.is_empty() || text.starts_with(char::is_whitespace)) {
            let text = text.trim().to_owned();
            self.found.boxes.push(BoxFound { inside: span.start + 1..span.end - 1, done: true, text });
        }
    }

    fn needs_of(&mut self, lines: &[InlineText]) {
        if let NeedsList::Inside(depth) = self.needs_list {
            if let (true, Some(line)) = (depth == self.lists.len(), lines.first()) {
                self.need(line, 0, KeyMeaning::Phases);
            }
            return;
        }
        self.needs_list = NeedsList::None;
        for (number, line) in lines.iter().enumerate() {
            let Some((start, meaning)) = dependency::value_at(&line.text) else { continue };
            if line.text[start..].trim().is_empty() {
                if number + 1 == lines.len() && meaning == KeyMeaning::Phases {
                    self.needs_list = NeedsList::Awaited;
                }
                continue;
            }
            self.need(line, start, meaning);
        }
    }

    fn need(&mut self, line: &InlineText, start: usize, meaning: KeyMeaning) {
        let mut said = dependency::read(&line.text, start);
        match (&mut said, meaning) {
            (NeedsSaid::Open, _) | (NeedsSaid::Unclear | NeedsSaid::Nothing, KeyMeaning::Anything) => return,
            (NeedsSaid::Phases { named, unclear }, _) => {
                let source = |span: &Range<usize>| line.source_of(span.start)..line.source_of(span.end);
                for one in named {
                    one.span = source(&one.span);
                }
                for (_, span) in unclear.iter_mut() {
                    *span = source(span);
                }
                if meaning == KeyMeaning::Anything {
                    unclear.clear();
                }
            }
            (NeedsSaid::Unclear | NeedsSaid::Nothing, KeyMeaning::Phases) => {}
        }
        self.found.needs.push(NeedsFound { at: line.source_of(start), said });
    }
}
