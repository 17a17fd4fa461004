//! YAML 1.2 text to a tree.

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use crate::diagnostic::{Code, Diagnostic, Place};

use super::tree::{Builder, Fatal, NODES_MAX, Quoting, too_deep};

/// The reader keeps a whole `[ ]` or `{ }` in memory before it says anything, so what divides them is counted beforehand.
const COMMAS_MAX: usize = 2 * NODES_MAX;
/// How the reader says that brackets stand too deep inside each other for it.
const TOO_DEEP: &str = "recursion limit";

/// How the reader says that a value has a colon with a blank behind it.
const COLON_IN_A_VALUE: &str = "mapping values are not allowed";
const COLON_HELP: &str = "a colon with a blank behind it makes a key: write the command as a block, `run: |` and the command on the next line, indented; or quote it";

pub(crate) fn read(text: &str, builder: &mut Builder) -> Result<(), Fatal> {
    if text.bytes().filter(|byte| *byte == b',').count() > COMMAS_MAX {
        let fault = Diagnostic::error(Code::TooManyNodes, format!("more than {COMMAS_MAX} commas"));
        return Err(fault.help("split the plan"));
    }
    let mut documents = 0;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let place = Place::new(error.marker().line(), error.marker().col() + 1);
            if error.info().contains(TOO_DEEP) {
                return too_deep(place);
            }
            let fault = Diagnostic::error(Code::Syntax, format!("this is not YAML: {}", error.info())).at(place);
            if error.info().contains(COLON_IN_A_VALUE) { fault.help(COLON_HELP) } else { fault }
        })?;
        let place = start(span);
        match event {
            Event::DocumentStart(_) => {
                documents += 1;
                if documents > 1 {
                    let fault = Diagnostic::error(Code::MultipleDocuments, "a second document starts here");
                    return Err(fault.at(place).help("one file holds one plan: leave out the line `---`"));
                }
            }
            Event::Alias(anchor) => builder.alias(anchor, place)?,
            Event::Scalar(text, style, anchor, tag) => {
                refuse_tag(builder, tag.as_ref(), place);
                let quoting = if style == ScalarStyle::Plain { Quoting::Plain } else { Quoting::Quoted };
                builder.scalar(text.into_owned(), quoting, anchor, place)?;
            }
            Event::SequenceStart(anchor, tag) => {
                refuse_tag(builder, tag.as_ref(), place);
                builder.open_sequence(anchor, place)?;
            }
            Event::MappingStart(anchor, tag) => {
                refuse_tag(builder, tag.as_ref(), place);
                builder.open_mapping(anchor, place)?;
            }
            Event::SequenceEnd | Event::MappingEnd => builder.close()?,
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
    }
    Ok(())
}

fn start(span: Span) -> Place {
    Place::new(span.start.line(), span.start.col() + 1)
}

fn refuse_tag<T>(builder: &mut Builder, tag: Option<&T>, place: Place) {
    if tag.is_some() {
        let fault = Diagnostic::error(Code::TagRefused, "a tag (`!...`) stands here; plans have none");
        builder.diagnostics.push(fault.at(place).help("leave the tag out; quote the value if it must stay text"));
    }
}
