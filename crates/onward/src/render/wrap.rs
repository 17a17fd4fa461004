//! Text that fits the width of a terminal: broken between words, and never inside a command, which is to be copied as it stands.

use console::{measure_text_width, strip_ansi_codes};

/// How much further than its first line a line that is broken is indented.
const HANGING: usize = 2;

/// The text with no line wider than that, as far as words and commands are not.
pub(super) fn fit(text: &str, columns: usize) -> String {
    text.split_inclusive('\n').map(|line| fit_line(line, columns)).collect()
}

/// A word or a whole command, and the blanks before it.
struct TextPiece<'a> {
    gap: usize,
    text: &'a str,
}

fn fit_line(line: &str, columns: usize) -> String {
    let (body, end) = line.strip_suffix('\n').map_or((line, ""), |body| (body, "\n"));
    if measure_text_width(body) <= columns || is_source(body) {
        return line.to_owned();
    }
    let indent = body.len() - body.trim_start_matches(' ').len();
    let hanging = (indent + HANGING).min(columns / 2);
    let (mut out, mut used) = (String::new(), 0);
    for TextPiece { gap, text } in pieces(body) {
        let width = measure_text_width(text);
        let begins = used == 0;
        if !begins && used + gap + width > columns {
            out.push('\n');
            let room = if hanging + width > columns { 0 } else { hanging };
            out.push_str(&" ".repeat(room));
            used = room;
        } else {
            out.push_str(&" ".repeat(gap));
            used += gap;
        }
        out.push_str(text);
        used += width;
    }
    out.push_str(end);
    out
}

/// A line of a file that is shown with its number: what points at it below stands under the same column.
fn is_source(line: &str) -> bool {
    let plain = strip_ansi_codes(line);
    let rest = plain.trim_start().trim_start_matches(|character: char| character.is_ascii_digit()).trim_start();
    rest.starts_with('|') || rest.starts_with('│')
}

fn pieces(line: &str) -> Vec<TextPiece<'_>> {
    let mut pieces: Vec<TextPiece<'_>> = Vec::new();
    let (mut at, mut in_command) = (0, false);
    while at < line.len() {
        let gap = line[at..].len() - line[at..].trim_start_matches(' ').len();
        let begin = at + gap;
        let end = line[begin..].find(' ').map_or(line.len(), |length| begin + length);
        let word = &line[begin..end];
        let plain = strip_ansi_codes(word);
        let goes_on = in_command && gap == 1 && !matches!(&*plain, "or" | "and") && !plain.starts_with('(');
        match pieces.last_mut() {
            // The blanks at the end of a question belong to it.
            Some(last) if goes_on || word.is_empty() => last.text = widened(line, last.text, end),
            _ => {
                pieces.push(TextPiece { gap, text: word });
                in_command = plain.trim_start_matches(['`', '(', '\'', '"']) == "onward";
            }
        }
        in_command &= !plain.ends_with([',', ';', '`', ')', ':', '.']);
        at = end;
    }
    pieces
}

/// The part of the line from where `text`, a part of it, begins up to `end`.
fn widened<'a>(line: &'a str, text: &str, end: usize) -> &'a str {
    let begin = text.as_ptr() as usize - line.as_ptr() as usize;
    &line[begin..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_kept_together() {
        let text =
            "✗ the run has failed, and you can go on with  onward resume @ --from build   (what is done stays)\n";
        assert_eq!(
            fit(text, 50),
            "✗ the run has failed, and you can go on with\n  onward resume @ --from build   (what is done\n  stays)\n"
        );
        let next = "  next: onward resume implement_quarterly_billing_migration_20261115_101530\n";
        assert_eq!(fit(next, 60), "  next:\nonward resume implement_quarterly_billing_migration_20261115_101530\n");
    }

    #[test]
    fn words_are_broken_between_and_colours_have_no_width() {
        assert_eq!(fit("\u{1b}[31m✗\u{1b}[0m one two three\n", 9), "\u{1b}[31m✗\u{1b}[0m one two\n  three\n");
        assert_eq!(fit("日本 日本 日本", 9), "日本 日本\n  日本");
        assert_eq!(fit("(r)esume  (q)uit  [r]: ", 18), "(r)esume  (q)uit\n  [r]: ");
        assert_eq!(fit("short\n\nshort\n", 9), "short\n\nshort\n");
    }

    #[test]
    fn what_points_at_a_place_stands_below_it() {
        let source = "  12 | a line of a plan that is wider than the terminal\n     |   ^^^^ here\n";
        assert_eq!(fit(source, 20), source);
    }
}
