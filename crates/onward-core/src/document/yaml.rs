//! YAML 1.2 text to a tree.

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use crate::diagnostic::{Code, Diagnostic, Place};

use super::tree::{Builder, Fatal, NODES_MAX, Quoting, too_deep};

/// The reader keeps a whole `[ ]` or `{ }` in memory before it says anything, so what divides them is counted beforehand.
const COMMAS_MAX: usize = 2 * NODES_MAX;
/// How the reader says that brackets stand too deep inside each other for it.
const TOO_DEEP: &str = "recursion limit";

/// The ways in which the reader says what people do wrong most often, and the way out of each.
const HELP_BY_WORDS: [(&str, &str); 6] = [
    (
        "mapping values are not allowed",
        "a colon with a blank behind it makes a key: write the command as a block, `run: |` and the command on the next line, indented; or quote it",
    ),
    (
        "while parsing a flow mapping",
        "inside `{ }` a comma, a bracket or a colon with a blank behind it ends the value: quote it, `run: 'COMMAND'`, or write it as a block below its phase, `run: |`",
    ),
    (
        "while parsing a flow sequence",
        "inside `[ ]` a comma, a bracket or a colon with a blank behind it ends the value: quote it",
    ),
    ("tabs disallowed", "indent with blanks; YAML takes no tabs"),
    ("unknown anchor", "an asterisk in front makes it a name that stands elsewhere: quote the value"),
    ("unexpected character", "a value that begins with such a sign is quoted, `'…'`, or written as a block, `run: |`"),
];

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
            let help = HELP_BY_WORDS.iter().find(|(words, _)| error.info().contains(words)).map(|(_, help)| *help);
            help.map_or(fault.clone(), |help| fault.help(help))
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
