//! The plan in an agent's last message: alone, or in a fenced block.

/// Shorter runs of backticks or tildes are no fence.
const FENCE_CHARS_MIN: usize = 3;
/// Blanks before a fence at most; a line that is indented further is text of its surroundings.
const FENCE_INDENT_MAX: usize = 3;
/// Words behind a fence that say that a plan may stand in it.
const PLAN_WORDS: [&str; 3] = ["yaml", "yml", "json"];

/// Why no text of a plan is found in a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPlanText {
    #[error("the last message is empty")]
    Empty,
    #[error("the last message has {0} fenced blocks, and more than one of them may be the plan")]
    Several(usize),
}

/// The text of the plan, with line feeds for all line breaks. Of several blocks the one that begins as a plan does, else the one
/// that says it is YAML or JSON, else the only one.
pub fn plan_text(message: &str) -> Result<String, NoPlanText> {
    let message = message.trim_start_matches('\u{feff}');
    if message.trim().is_empty() {
        return Err(NoPlanText::Empty);
    }
    let lines: Vec<&str> = message.lines().collect();
    let blocks = if is_alone(&lines) { Vec::new() } else { blocks(&lines) };
    if blocks.is_empty() {
        return Ok(joined(&lines));
    }
    let plans: Vec<&FencedBlock<'_>> = blocks.iter().filter(|block| block.is_plan()).collect();
    let named: Vec<&FencedBlock<'_>> = blocks.iter().filter(|block| block.says_plan()).collect();
    let all: Vec<&FencedBlock<'_>> = blocks.iter().collect();
    let found = [plans, named, all].into_iter().find(|candidates| !candidates.is_empty());
    match found.as_deref() {
        Some([one]) if one.lines.iter().all(|line| line.trim().is_empty()) => Err(NoPlanText::Empty),
        Some([one]) => Ok(joined(&one.lines)),
        Some(_) | None => Err(NoPlanText::Several(blocks.len())),
    }
}

fn joined(lines: &[&str]) -> String {
    let text = lines.join("\n");
    format!("{}\n", text.trim_matches('\n').trim_end())
}

/// Whether the message begins as a plan does. Fences in it are part of a prompt then.
fn is_alone(lines: &[&str]) -> bool {
    let mut said = lines.iter().filter(|line| !line.trim().is_empty() && !line.starts_with('#') && **line != "---");
    said.next().is_some_and(|line| begins_a_plan(line))
}

fn begins_a_plan(line: &str) -> bool {
    line.starts_with("onward:")
}

#[derive(Debug, PartialEq, Eq)]
struct FencedBlock<'a> {
    word: &'a str,
    lines: Vec<&'a str>,
}

impl FencedBlock<'_> {
    fn is_plan(&self) -> bool {
        self.lines
            .iter()
            .any(|line| begins_a_plan(line) || line.trim_start_matches(['{', ' ']).starts_with("\"onward\""))
    }

    fn says_plan(&self) -> bool {
        PLAN_WORDS.iter().any(|word| self.word.eq_ignore_ascii_case(word))
    }
}

/// The opening of a block.
#[derive(Clone, Copy)]
struct Fence<'a> {
    sign: char,
    length: usize,
    indent: usize,
    behind: &'a str,
}

impl<'a> Fence<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let text = line.trim_start_matches(' ');
        let sign = text.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
        let behind = text.trim_start_matches(sign);
        let (length, indent) = (text.len() - behind.len(), line.len() - text.len());
        let is_one = length >= FENCE_CHARS_MIN && indent <= FENCE_INDENT_MAX;
        // A word in backticks at the beginning of a line is no fence.
        let is_one = is_one && !(sign == '`' && behind.contains('`'));
        is_one.then_some(Self { sign, length, indent, behind: behind.trim() })
    }

    fn is_closed_by(self, line: &'a str) -> bool {
        Self::read(line).is_some_and(|end| end.sign == self.sign && end.length >= self.length && end.behind.is_empty())
    }
}

fn blocks<'a>(lines: &[&'a str]) -> Vec<FencedBlock<'a>> {
    let mut found = Vec::new();
    let mut rest = lines.iter().copied();
    while let Some(line) = rest.next() {
        let Some(fence) = Fence::read(line) else { continue };
        // One that is never closed goes to the end.
        let inside = rest.by_ref().take_while(|line| !fence.is_closed_by(line));
        let lines = inside.map(|line| without_indent(line, fence.indent)).collect();
        found.push(FencedBlock { word: fence.behind.split_whitespace().next().unwrap_or_default(), lines });
    }
    found
}

fn without_indent(line: &str, indent: usize) -> &str {
    let own = line.len() - line.trim_start_matches(' ').len();
    &line[own.min(indent)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "onward: 1\nphases:\n  a: { run: make }\n";

    fn found(message: &str) -> Result<String, NoPlanText> {
        plan_text(message)
    }

    #[test]
    fn a_plan_stands_alone_or_in_one_block() {
        for message in [
            PLAN.to_owned(),
            format!("\u{feff}\n{PLAN}\n\n"),
            format!("# A comment of the author.\n---\n{PLAN}").replace("---\n", ""),
            format!("```yaml\n{PLAN}```"),
            format!("Here it is:\n\n```\n{PLAN}```\n\nSay yes if it is right.\n"),
            format!("~~~~ yml\n{PLAN}~~~~\n"),
            format!("   ```yaml\n{}   ```\n", PLAN.lines().map(|line| format!("   {line}\n")).collect::<String>()),
            format!("```yaml\n{PLAN}"),
        ] {
            let text = found(&message).expect("there is one");
            assert_eq!(text.trim_start_matches("# A comment of the author.\n"), PLAN, "{message:?}");
        }
    }

    #[test]
    fn line_breaks_of_other_systems_are_line_feeds_in_it() {
        let message = format!("Plan:\n```yaml\n{PLAN}```\n").replace('\n', "\r\n");
        assert_eq!(found(&message), Ok(PLAN.to_owned()));
        assert_eq!(found(&PLAN.replace('\n', "\r\n")), Ok(PLAN.to_owned()));
    }

    /// Of several blocks the one counts that is a plan, then the one that says so by its word.
    #[test]
    fn of_several_blocks_the_plan_is_found() {
        let shell = "```sh\nonward run\n```\n";
        assert_eq!(found(&format!("{shell}```yaml\n{PLAN}```\n{shell}")), Ok(PLAN.to_owned()));
        assert_eq!(found(&format!("{shell}```\n{PLAN}```\n{shell}")), Ok(PLAN.to_owned()));
        // It is wrong, and the agent is told what is wrong with it.
        assert_eq!(found(&format!("{shell}```YAML\nphases: {{}}\n```\n")), Ok("phases: {}\n".to_owned()));
        assert_eq!(
            found("```yaml\na: 1\n```\n```json\n{ \"onward\": 1 }\n```\n"),
            Ok("{ \"onward\": 1 }\n".to_owned())
        );
        assert_eq!(found(&format!("```yaml\n{PLAN}```\n```yaml\n{PLAN}```\n")), Err(NoPlanText::Several(2)));
        assert_eq!(found(&format!("{shell}{shell}{shell}")), Err(NoPlanText::Several(3)));
    }

    #[test]
    fn nothing_is_no_plan() {
        for message in ["", "  \n\r\n", "\u{feff}", "```yaml\n```\n", "Here:\n```\n\n```\n"] {
            assert_eq!(found(message), Err(NoPlanText::Empty), "{message:?}");
        }
        assert_eq!(found("I cannot plan this."), Ok("I cannot plan this.\n".to_owned()), "the checker says what it is");
    }

    /// A prompt in the plan has a block of its own. It stays in the prompt.
    #[test]
    fn blocks_in_a_prompt_are_text_of_the_plan() {
        let plan = "onward: 1\nphases:\n  a:\n    agent:\n      prompt: |\n        Write this:\n        ```yaml\n        x: 1\n        ```\n";
        assert_eq!(found(plan), Ok(plan.to_owned()));
        assert_eq!(found(&format!("The plan:\n```yaml\n{plan}```\n")), Ok(plan.to_owned()));
    }

    #[test]
    fn words_in_backticks_are_no_fence() {
        let message = format!("```onward.yaml``` comes now:\n```yaml\n{PLAN}```\n");
        assert_eq!(found(&message), Ok(PLAN.to_owned()));
    }
}
