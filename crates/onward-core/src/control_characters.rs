//! Characters that do something other than to be read.

/// Control characters, marks that reorder or hide text so that what is shown is not what is there, and characters that nobody sees
/// and a program reads: instructions to an agent can be written in them.
pub fn is_control_or_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}')
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}')
        // Of these selectors only the last is in everyday use, behind an emoji.
        || matches!(character, '\u{fe00}'..='\u{fe0e}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}')
        || matches!(character, '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Colours and cursors, right-to-left marks, and a text written in tags, which only programs see.
    #[test]
    fn what_is_not_read_is_obeyed() {
        for hidden in
            ['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}', '\u{2066}', '\u{200d}', '\u{e0041}', '\u{e01ef}', '\u{3164}']
        {
            assert!(is_control_or_hidden(hidden), "{}", hidden.escape_unicode());
        }
        for read in "aé語🙂\u{fe0f} \"#*`".chars() {
            assert!(!is_control_or_hidden(read), "{}", read.escape_unicode());
        }
    }
}
