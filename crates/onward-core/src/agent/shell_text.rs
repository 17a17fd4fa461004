//! Text of a shell taken apart into the words of its simple commands, as far as that can be done without running it. What cannot
//! be told beforehand is marked, and never left out.

/// Stands in a word for a part that only the shell knows: a variable, a pattern of file names, the output of a command.
pub(super) const UNKNOWN: char = '\u{1}';
/// Texts inside of texts, as in `sh -c "sh -c 'git push'"`.
const DEPTH_MAX: usize = 6;
/// Of all texts together. A longer one is not looked into.
const CHARS_MAX: usize = 100_000;

/// The words of every simple command in a text, those in quotes, substitutions and subshells included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ShellText {
    pub commands: Vec<Vec<String>>,
    /// It was not understood to its end.
    pub unclear: bool,
}

pub(super) fn read(text: &str) -> ShellText {
    let mut found = ShellText::default();
    if text.chars().count() > CHARS_MAX {
        found.unclear = true;
        return found;
    }
    Reader::read(text, 0, &mut found);
    found
}

struct Reader<'t> {
    chars: std::iter::Peekable<std::str::Chars<'t>>,
    depth: usize,
    /// `# …` is a comment only where nothing else can be behind it: not in a text in quotes, nor beside a here-document.
    comments: Comments,
    words: Vec<String>,
    word: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Comments {
    Skipped,
    Read,
}

impl Reader<'_> {
    fn read(text: &str, depth: usize, found: &mut ShellText) {
        let comments = if depth == 0 && !text.contains("<<") { Comments::Skipped } else { Comments::Read };
        let mut reader = Reader { chars: text.chars().peekable(), depth, comments, words: Vec::new(), word: None };
        reader.until(None, found);
    }

    /// Reads commands up to this character, or to the end.
    fn until(&mut self, end: Option<char>, found: &mut ShellText) {
        while let Some(c) = self.chars.next() {
            match c {
                c if Some(c) == end => {
                    self.end_command(found);
                    return;
                }
                ';' | '&' | '|' | '\n' | ')' => self.end_command(found),
                '(' => {
                    self.end_command(found);
                    self.nested(')', found);
                }
                ' ' | '\t' | '\r' | '<' | '>' => self.end_word(found),
                '#' if self.word.is_none() && self.comments == Comments::Skipped => {
                    while self.chars.next_if(|c| *c != '\n').is_some() {}
                }
                '\\' => self.escaped(),
                '\'' => self.single_quoted(found),
                '"' => self.double_quoted(found),
                '`' => {
                    self.unknown();
                    self.nested('`', found);
                }
                '$' => self.dollar(found),
                // `[ -f x ]` and `{ a; }` are no patterns.
                '[' | '{' if self.word.is_none() && matches!(self.chars.peek(), Some(' ' | '[' | '\n')) => {
                    self.word().push(c);
                }
                '*' | '?' | '[' | '{' => self.unknown(),
                other => self.word().push(other),
            }
        }
        if end.is_some() {
            found.unclear = true;
        }
        self.end_command(found);
    }

    fn word(&mut self) -> &mut String {
        self.word.get_or_insert_default()
    }

    fn unknown(&mut self) {
        self.word().push(UNKNOWN);
    }

    /// A text inside of this one; the command around it goes on behind it.
    fn nested(&mut self, end: char, found: &mut ShellText) {
        let (words, word) = (std::mem::take(&mut self.words), self.word.take());
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            found.unclear = true;
            self.chars.by_ref().for_each(drop);
        } else {
            self.until(Some(end), found);
        }
        self.depth -= 1;
        (self.words, self.word) = (words, word);
    }

    fn escaped(&mut self) {
        match self.chars.next() {
            // The line goes on.
            Some('\n') | None => {}
            Some(c) => self.word().push(c),
        }
    }

    fn single_quoted(&mut self, found: &mut ShellText) {
        self.word();
        loop {
            match self.chars.next() {
                Some('\'') => return,
                Some(c) => self.word().push(c),
                None => {
                    found.unclear = true;
                    return;
                }
            }
        }
    }

    fn double_quoted(&mut self, found: &mut ShellText) {
        self.word();
        loop {
            match self.chars.next() {
                Some('"') => return,
                Some('\\') => self.escaped(),
                Some('`') => {
                    self.unknown();
                    self.nested('`', found);
                }
                Some('$') => self.dollar(found),
                Some(c) => self.word().push(c),
                None => {
                    found.unclear = true;
                    return;
                }
            }
        }
    }

    fn dollar(&mut self, found: &mut ShellText) {
        self.unknown();
        match self.chars.peek() {
            Some('(') => {
                self.chars.next();
                self.nested(')', found);
            }
            // Letters may be written as numbers in it.
            Some('\'') => {
                found.unclear = true;
            }
            Some(_) | None => while self.chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '_').is_some() {},
        }
    }

    fn end_word(&mut self, found: &mut ShellText) {
        let Some(word) = self.word.take() else { return };
        let is_a_text = word.contains([' ', '\t', '\n', ';', '&', '|', '(', ')', '`']);
        if is_a_text && self.depth < DEPTH_MAX {
            Reader::read(&word.replace(UNKNOWN, "$_"), self.depth + 1, found);
        } else if is_a_text {
            found.unclear = true;
        }
        self.words.push(word);
    }

    fn end_command(&mut self, found: &mut ShellText) {
        self.end_word(found);
        if !self.words.is_empty() {
            found.commands.push(std::mem::take(&mut self.words));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(text: &str) -> Vec<String> {
        read(text).commands.iter().map(|words| words.join("·").replace(UNKNOWN, "?")).collect()
    }

    /// Everything that a shell would start is a command of its own, however it is put together.
    #[test]
    fn compound_commands_are_taken_apart() {
        assert_eq!(commands("git  push   origin"), ["git·push·origin"]);
        assert_eq!(commands("a && b || c; d | e & f\ng"), ["a", "b", "c", "d", "e", "f", "g"]);
        assert_eq!(commands("(cd x; git push)"), ["cd·x", "git·push"]);
        assert_eq!(commands("echo $(git push) end"), ["git·push", "echo·?·end"]);
        assert_eq!(commands("echo \"x `git push` y\""), ["git·push", "x·?·y", "echo·x ? y"]);
        assert_eq!(commands("echo \"$(git push)\""), ["git·push", "echo·?"]);
        assert_eq!(commands("sh -c 'cd x && git push'"), ["cd·x", "git·push", "sh·-c·cd x && git push"]);
        assert_eq!(commands("git \\\n push>out 2>&1"), ["git·push·out·2", "1"]);
        assert_eq!(commands("gi't' \"pu\"sh g\\it"), ["git·push·git"]);
        assert_eq!(commands("ls # don't; git push\ngit pull"), ["ls", "git·pull"]);
    }

    /// A text that is not understood is said to be so.
    #[test]
    fn what_is_not_understood_is_unclear() {
        for text in ["echo 'x", "echo \"x", "echo $(git push", "echo `x", "$'\\x67it' push"] {
            assert!(read(text).unclear, "{text}");
        }
        let deep = (0..10).fold("git push".to_owned(), |text, _| format!("$({text})"));
        assert!(read(&deep).unclear, "{deep}");
        assert!(!read("cat <<EOF\n# x\nEOF").unclear);
        assert_eq!(commands("cat <<EOF\n# $(git push)\nEOF"), ["cat·EOF", "git·push", "#·?", "EOF"]);
    }
}
