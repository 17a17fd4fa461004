//! The tools that a plan names in Claude Code's notation: `Bash`, `Bash(git push:*)`, `Edit(src/**)`, `mcp__server__tool`. Whether a call
//! is meant is judged so that a doubt counts as a yes: the worst of it is a question to a person that was not needed.

use serde_json::Value;

use super::shell_text::{self, UNKNOWN};

/// Names of tools that a rule for the first of them is about as well.
const FAMILIES: &[&[&str]] = &[
    &["Edit", "Write", "MultiEdit", "NotebookEdit"],
    &["Read", "Grep", "Glob", "LS", "NotebookRead"],
    &["Agent", "Task"],
    &["Task", "Agent"],
];
/// The tools whose input is text of a shell.
const SHELLS: &[&str] = &["Bash", "PowerShell"];

/// One entry of `ask`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolPattern {
    tool: String,
    calls: Calls,
}

/// The calls of a tool that are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Calls {
    All,
    /// Of a shell: those with one of these commands in them.
    Commands(Vec<Vec<String>>),
    /// Of files below these paths.
    Files(String),
    /// Of a host.
    Host(String),
}

/// The folder in which the client works, and the files that a path of the call really means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallPlace {
    pub folder: String,
    /// The path of the call without links, where it can be told.
    pub real_path: Option<String>,
}

impl ToolPattern {
    /// Reads an entry, or says why it is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (tool, rest) = text.split_once('(').map_or((text, None), |(tool, rest)| (tool.trim_end(), Some(rest)));
        let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '*' | ':' | '/' | '@');
        if tool.is_empty() || !tool.chars().all(letter) {
            return Err(format!("{text} does not begin with the name of a tool, as Bash or mcp__server__tool"));
        }
        let calls = match rest {
            None => Calls::All,
            Some(rest) => {
                let inner = rest.strip_suffix(')');
                let inner = inner.ok_or_else(|| format!("{text} has no ) at its end, as Bash(git push:*) has"))?;
                Self::calls(tool, inner.trim())
            }
        };
        Ok(Self { tool: tool.to_owned(), calls })
    }

    fn calls(tool: &str, inner: &str) -> Calls {
        let all = inner.is_empty() || inner.chars().all(|c| c == '*');
        let is_of = |family: usize| FAMILIES[family].contains(&tool);
        match inner.strip_prefix("domain:") {
            _ if all => Calls::All,
            Some(host) => Calls::Host(host.trim_start_matches("*.").to_ascii_lowercase()),
            None if SHELLS.contains(&tool) => commands(inner),
            None if is_of(0) || is_of(1) => Calls::Files(inner.to_owned()),
            // A notation that only the client knows: every call of the tool.
            None => Calls::All,
        }
    }

    /// Whether this call is one of those that the entry is about.
    pub fn matches(&self, tool: &str, input: &Value, place: &CallPlace) -> bool {
        self.is_about(tool)
            && match &self.calls {
                Calls::All => true,
                Calls::Commands(wanted) => input["command"].as_str().is_none_or(|text| runs_one_of(text, wanted)),
                Calls::Files(pattern) => files(input, place).is_none_or(|paths| is_below(pattern, &paths)),
                Calls::Host(host) => {
                    input["url"].as_str().is_none_or(|url| url.to_ascii_lowercase().contains(host.as_str()))
                }
            }
    }

    /// Whether it is about some calls of this tool.
    pub fn is_about(&self, tool: &str) -> bool {
        let named = |name: &str| glob(&self.tool, name) || (name.starts_with("mcp__") && self.is_its_server(name));
        let family = FAMILIES.iter().find(|family| family[0] == self.tool);
        named(tool) || family.is_some_and(|family| family.contains(&tool))
    }

    /// `mcp__server` stands for all tools of the server.
    fn is_its_server(&self, name: &str) -> bool {
        let server = self.tool.strip_prefix("mcp__").filter(|rest| !rest.contains("__"));
        server.is_some() && name.strip_prefix(self.tool.as_str()).is_some_and(|rest| rest.starts_with("__"))
    }

    /// The names of all tools that it is about; none where they cannot be listed.
    pub(super) fn tools(&self) -> Option<Vec<&str>> {
        if self.tool.contains('*') || self.tool.starts_with("mcp__") {
            return None;
        }
        let family = FAMILIES.iter().find(|family| family[0] == self.tool);
        Some(family.map_or_else(|| vec![self.tool.as_str()], |family| family.to_vec()))
    }
}

/// `git push:*`, `git push *` and `git push` are the same here: a call with more words is asked about too.
fn commands(inner: &str) -> Calls {
    let named = inner.strip_suffix(":*").or_else(|| inner.strip_suffix(" *")).unwrap_or(inner);
    // A star in the author's words is no pattern of files.
    let read = shell_text::read(&named.replace('*', "\\*"));
    let known = |words: Vec<String>| words.into_iter().map(|word| word.replace(UNKNOWN, "*")).collect();
    let named: Vec<Vec<String>> = read.commands.into_iter().map(known).collect();
    if named.is_empty() || read.unclear { Calls::All } else { Calls::Commands(named) }
}

fn runs_one_of(text: &str, wanted: &[Vec<String>]) -> bool {
    let read = shell_text::read(text);
    read.unclear || read.commands.iter().any(|words| wanted.iter().any(|wanted| holds(words, wanted)))
}

/// Whether the words of a command can be the wanted ones, in their order, with others before, between and behind them: `sudo git -C x
/// push --force` is a `git push`. A word that only the shell knows can be any; where that is the program, nobody knows the command.
fn holds(words: &[String], wanted: &[String]) -> bool {
    let Some((program, rest)) = wanted.split_first() else { return true };
    let unknown = |word: &str| word.rsplit('/').next().is_some_and(|name| name.contains(UNKNOWN));
    // Only settings of variables come before the program.
    if words.iter().find(|word| !word.contains('=')).is_some_and(|word| unknown(word)) {
        return true;
    }
    let starts = words.iter().enumerate().filter_map(|(at, word)| {
        let known = is_program(word, program, WordPart::wanted_before(rest));
        (known || unknown(word)).then_some((at, known))
    });
    for (at, known) in starts {
        // One of the words has to be there as it is: else every command with two variables would be meant.
        let (mut left, mut literal) = (words[at + 1..].iter(), known);
        let all = rest.iter().enumerate().all(|(place, wanted)| {
            let part = WordPart::wanted_before(&rest[place + 1..]);
            left.by_ref().any(|word| {
                let same = is_word(word, wanted, part);
                literal |= same;
                same || word.contains(UNKNOWN)
            })
        });
        if all && literal {
            return true;
        }
    }
    false
}

/// How much of a word has to be there.
#[derive(Clone, Copy)]
enum WordPart {
    All,
    Beginning,
}

impl WordPart {
    /// The last word of an entry is the beginning of one: `Bash(npm run test:*)` means `npm run test:unit` as well.
    fn wanted_before(behind: &[String]) -> Self {
        if behind.is_empty() { Self::Beginning } else { Self::All }
    }
}

/// With the folder of the program, or without.
fn is_program(word: &str, program: &str, part: WordPart) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let named = program.rsplit('/').next().unwrap_or(program);
    is_word(word, program, part) || is_word(name, named, part)
}

fn is_word(word: &str, wanted: &str, part: WordPart) -> bool {
    match part {
        WordPart::All => glob(wanted, word),
        WordPart::Beginning => glob(&format!("{wanted}*"), word),
    }
}

/// All paths that a call may be about; none where it cannot be told.
fn files(input: &Value, place: &CallPlace) -> Option<Vec<String>> {
    let given = ["file_path", "notebook_path", "path"].iter().find_map(|key| input[*key].as_str())?;
    if given.starts_with('~') || given.contains('$') {
        return None;
    }
    let whole = if given.starts_with('/') { given.to_owned() } else { format!("{}/{given}", place.folder) };
    let paths = [Some(plain(&whole)), place.real_path.as_deref().map(plain)];
    Some(paths.into_iter().flatten().collect())
}

/// Without `.`, `..` and doubled slashes.
fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Whether one of the paths fits. Where a pattern begins is not certain (the folder, the project, the home), so it may begin at
/// any folder, unless it is a whole path by `//`.
fn is_below(pattern: &str, paths: &[String]) -> bool {
    let pattern = pattern.trim_end_matches('/');
    let patterns = if let Some(whole) = pattern.strip_prefix("//") {
        [format!("/{whole}"), format!("/{whole}/**")]
    } else {
        let inner = ["~/", "./", "/"].iter().find_map(|start| pattern.strip_prefix(start)).unwrap_or(pattern);
        [format!("**/{inner}"), format!("**/{inner}/**")]
    };
    paths.iter().any(|path| patterns.iter().any(|pattern| path_glob(pattern, path)))
}

/// `*` and `?` in a name.
fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut place) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while place < text.len() {
        match pattern.get(at) {
            Some('*') => {
                back = Some((at + 1, place));
                at += 1;
            }
            Some(&c) if c == '?' || c == text[place] => (at, place) = (at + 1, place + 1),
            Some(_) | None => {
                let Some((star, from)) = back else { return false };
                back = Some((star, from + 1));
                (at, place) = (star, from + 1);
            }
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

/// The same for paths: `**` stands for folders, and a name with brackets or braces for any.
fn path_glob(pattern: &str, path: &str) -> bool {
    fn fits(pattern: &[&str], path: &[&str]) -> bool {
        match (pattern.split_first(), path.split_first()) {
            (None, None) => true,
            (Some((&"**", rest)), _) => (0..=path.len()).any(|skip| fits(rest, &path[skip..])),
            (Some((name, rest)), Some((part, below))) => {
                (name.contains(['[', '{', '\\']) || glob(name, part)) && fits(rest, below)
            }
            (None, Some(_)) | (Some(_), None) => false,
        }
    }
    // More than a few would take time for nothing.
    if pattern.matches("**").count() > 5 {
        return true;
    }
    let parts = |text: &str| text.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let (pattern, path) = (parts(pattern), parts(path));
    fits(&pattern.iter().map(String::as_str).collect::<Vec<_>>(), &path.iter().map(String::as_str).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asks(pattern: &str, tool: &str, input: &Value) -> bool {
        let place = CallPlace { folder: "/p".to_owned(), real_path: None };
        ToolPattern::parse(pattern).expect("a pattern").matches(tool, input, &place)
    }

    fn bash(pattern: &str, command: &str) -> bool {
        asks(pattern, "Bash", &json!({ "command": command }))
    }

    /// However a push is written, as far as text can tell, a person is asked.
    #[test]
    fn a_command_is_found_in_its_disguises() {
        for command in [
            "git push",
            "git push origin main",
            "git  push",
            "make && git push",
            "make; git push",
            "make | git push",
            "make & git push",
            "make\ngit push",
            "make || git push --force",
            "(cd x; git push)",
            "echo $(git push)",
            "echo `git push`",
            "sh -c \"git push\"",
            "bash -lc 'cd x && git push'",
            "eval 'git push'",
            "A=b git push",
            "env -i git push",
            "sudo git push",
            "git -C . push",
            "git --no-pager push",
            "/usr/bin/git push",
            "g\"i\"t pu'sh'",
            "git \\\n push",
            "if true; then git push; fi",
            "find . -exec git push \\;",
            "git $VERB origin",
            "$GIT push",
            "$COMMAND",
            "`which git` push",
            "git {push,x}",
            "git pus?",
            "cat <<EOF | sh\ngit push\nEOF",
            "echo 'not closed",
            "git push>out",
        ] {
            assert!(bash("Bash(git push:*)", command), "{command}");
            assert!(bash("Bash(git push *)", command), "{command}");
            assert!(bash("Bash(git push)", command), "{command}");
        }
        for command in [
            "git pull",
            "git status && make",
            "git commit -m done",
            "npm run push",
            "ls *.rs",
            "cp $A $B",
            "[ -f x ] && make",
            "$HOME/bin/tool push",
            "grep -r push . # git push",
            "for f in *.rs; do cat \"$f\"; done",
        ] {
            assert!(!bash("Bash(git push:*)", command), "{command}");
        }
    }

    #[test]
    fn tools_are_named_as_the_client_names_them() {
        let none = json!({});
        for (pattern, tool, wanted) in [
            ("Bash", "Bash", true),
            ("Bash", "BashOutput", false),
            ("Bash(*)", "Bash", true),
            ("*", "Anything", true),
            ("Edit", "Write", true),
            ("Write", "Edit", false),
            ("Task", "Agent", true),
            ("Agent(Explore)", "Task", true),
            ("mcp__tracker", "mcp__tracker__close", true),
            ("mcp__tracker", "mcp__tracker_2__close", false),
            ("mcp__tracker__close", "mcp__tracker__close", true),
            ("mcp__tracker__close", "mcp__tracker__open", false),
            ("mcp__*__close", "mcp__tracker__close", true),
            // Nobody can tell what these are about.
            ("Bash(git push:*)", "Bash", true),
            ("Edit(src/**)", "Edit", true),
        ] {
            assert_eq!(asks(pattern, tool, &none), wanted, "{pattern} and {tool}");
        }
    }

    #[test]
    fn files_are_told_apart_by_their_paths() {
        for (pattern, path, wanted) in [
            ("Edit(src/**)", "/p/src/a/b.rs", true),
            ("Edit(src/**)", "src/b.rs", true),
            ("Edit(src/**)", "/p/docs/../src/b.rs", true),
            ("Edit(src)", "/p/src/b.rs", true),
            ("Edit(src/**)", "/p/docs/b.md", false),
            ("Edit(*.env)", "/p/deep/x.env", true),
            ("Edit(/src/*.rs)", "/p/src/b.rs", true),
            ("Edit(//etc/**)", "/etc/passwd", true),
            ("Edit(//etc/**)", "/p/etc/passwd", false),
            ("Edit(~/.ssh/**)", "/u/.ssh/id", true),
            ("Edit(src/[ab].rs)", "/p/src/c.rs", true),
            ("Edit(docs/**)", "~/x", true),
        ] {
            assert_eq!(asks(pattern, "Edit", &json!({ "file_path": path })), wanted, "{pattern} and {path}");
        }
        let place = CallPlace { folder: "/p".to_owned(), real_path: Some("/p/src/x".to_owned()) };
        let pattern = ToolPattern::parse("Edit(src/**)").expect("a pattern");
        assert!(pattern.matches("Edit", &json!({ "file_path": "link" }), &place), "a link into the folder");
        let fetch = |url: &str| asks("WebFetch(domain:example.com)", "WebFetch", &json!({ "url": url }));
        assert!(fetch("https://API.Example.com/x") && !fetch("https://example.org"));
    }

    #[test]
    fn what_is_no_notation_is_refused() {
        for text in ["", "(git push)", "Bash(git push:*", "git push"] {
            assert!(ToolPattern::parse(text).is_err(), "{text}");
        }
    }
}
