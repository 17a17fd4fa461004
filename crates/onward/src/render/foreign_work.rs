//! Work that other tools keep in the project.

use super::safe;

/// Places that are named; the rest is counted.
const PLACES_SHOWN_MAX: usize = 3;

/// One line where something lies there. Nobody has to answer anything.
pub(crate) fn line(places: &[String]) -> String {
    if places.is_empty() {
        return String::new();
    }
    let shown: Vec<String> = places.iter().take(PLACES_SHOWN_MAX).map(|place| safe::line(place)).collect();
    let more = places.len().saturating_sub(PLACES_SHOWN_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let (shown, is) = (shown.join(", "), if places.len() == 1 { "is" } else { "are" });
    format!("note: {shown}{more} {is} of another tool, with work that could be moved in: onward import PATH\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_whatever_lies_there() {
        assert_eq!(line(&[]), "");
        let places: Vec<String> = (0..5).map(|number| format!("place-{number}")).collect();
        let text = line(&places);
        assert!(text.lines().count() == 1 && text.contains("place-2 and 2 more are"), "{text}");
        assert!(line(&places[..1]).contains("place-0 is"));
        let text = line(&["two\nlines \u{1b}[31m".to_owned()]);
        assert!(text.lines().count() == 1 && !text.contains('\u{1b}'), "{text:?}");
    }
}
