//! The sight that a person has of a run while it is driven, on a real terminal and elsewhere.

use std::num::NonZeroU16;
use std::time::Duration;

use onward_testkit::{Signal, Terminal, TestProject, wait_until};
use serde_json::Value;

use crate::project;

/// The terminal of `TestProject::terminal`, as a person sees it.
struct Screen {
    terminal: Terminal,
    seen: usize,
    parser: vt100::Parser,
}

impl Screen {
    fn of(terminal: Terminal) -> Self {
        let count = |count| NonZeroU16::new(count).expect("a screen has some");
        Self { terminal, seen: 0, parser: vt100::Parser::new(count(40), count(120), 1000) }
    }

    fn text(&mut self) -> String {
        self.parser.process(&self.terminal.shown()[self.seen..]);
        self.seen = self.terminal.shown().len();
        self.parser.screen().contents()
    }

    /// Takes what comes until the screen is like this.
    #[track_caller]
    fn wait(&mut self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        for _ in 0..200 {
            let text = self.text();
            if holds(&text) {
                return text;
            }
            let count = self.seen;
            self.terminal.wait_until("something new", |terminal| terminal.shown().len() > count);
        }
        panic!("{what}\n{}", self.text());
    }

    fn resize(&mut self, lines: u16, columns: u16) {
        self.text();
        let count = |count| NonZeroU16::new(count).expect("a screen has some");
        self.parser.screen_mut().set_size(count(lines), count(columns));
        self.terminal.resize(lines, columns);
    }
}

const BUSY: &str = "
    onward: 1
    name: demo
    phases:
      fetch: { run: step fetch }
      build:
        name: Build the parser
        needs: fetch
        run: |
          step build 'echo 3/10 modules >> \"$ONWARD_PROGRESS\"; printf \"\\\\033[32mcompiling\\\\033[0m 日本 seven\\\\n\"; hold'
      ship: { needs: build, run: step ship }
";

fn row(screen: &str, begins: &str) -> Option<String> {
    screen.lines().find(|line| line.starts_with(begins)).map(str::to_owned)
}

/// A phase notes how far it is, prints a line and goes on working. One line has all of it, in a narrow window and in one that was
/// made wider meanwhile, and the time moves on. In the end the screen has what was said, and the summary, and no line of the view.
#[test]
fn one_line_for_each_phase_at_work() {
    let project = project();
    project.plan(BUSY);
    let mut screen = Screen::of(project.terminal(["run"]));
    screen.resize(20, 60);
    let narrow =
        screen.wait("the narrow view", |text| row(text, "→ Build").is_some_and(|row| row.contains("compiling")));
    let line = row(&narrow, "→ Build").expect("it was seen");
    assert!(line.contains("█░░░░░ 3/10") && !line.contains("modules"), "{narrow}");
    screen.resize(40, 120);
    let text = screen.wait("the wide view", |text| row(text, "→ Build").is_some_and(|row| row.contains("modules")));
    let line = row(&text, "→ Build").expect("it was seen");
    assert!(line.contains("███░░░░░░░ 3/10  modules  compiling 日本 seven"), "{text}");
    assert!(text.contains("✓ fetch done") && text.contains("1 of 3 done · 1 at work · 1 to come"), "{text}");
    assert_eq!(text.matches("→ Build").count(), 1, "nothing is left of the narrow one: {text}");
    screen.wait("the time to move on", |text| row(text, "→ Build").is_some_and(|row| row.contains("  2 s  ")));
    project.open("build");
    let text = screen.wait("the end", |text| text.contains("is complete"));
    let said: Vec<&str> = text.lines().skip_while(|line| !line.starts_with('✓')).collect();
    let [fetch, build, ship, end] = said.as_slice() else { panic!("four lines stay: {text}") };
    assert!(fetch.starts_with("✓ fetch done") && build.starts_with("✓ build done"), "{text}");
    assert!(ship.starts_with("✓ ship done") && end.starts_with("✓ run run_demo_"), "{text}");
    screen.terminal.wait_code(0);
}

/// The driver is killed while it shows the view. The terminal is as it was: the cursor is there, lines are broken, and what the
/// shell writes next stands below.
#[test]
fn killed_while_it_shows_the_view() {
    let project = project();
    project.plan(BUSY);
    let mut screen = Screen::of(project.terminal(["run"]));
    screen.wait("the view", |text| row(text, "→ Build").is_some());
    screen.terminal.signal(Signal::SIGKILL);
    wait_until("its end", || {
        screen.terminal.wait_until("anything", |_| true);
        (project.command(["status", "--json"]).json()["status"] == "interrupted").then_some(())
    });
    let before = screen.text();
    assert!(!screen.parser.screen().hide_cursor());
    let (line, column) = screen.parser.screen().cursor_position();
    assert_eq!((usize::from(line), column), (before.lines().count(), 0), "{before}");
    screen.parser.process("$ a prompt that is wider than all of the columns ".repeat(4).as_bytes());
    assert!(screen.parser.screen().contents().starts_with(&before), "nothing is written over");
    project.open("build");
}

const LOUD: &str = "
    onward: 1
    name: demo
    phases:
      loud:
        retry: { max: 1, backoff: { initial: 10ms } }
        run: step loud 'for n in $(seq 1 30); do printf \"\\033[31mattempt $ONWARD_ATTEMPT\\033[0m line $n\\n\"; done; exit 3'
      proven: { needs: loud, run: step proven, verify: ['echo the file is not there; false'] }
";

fn tails(lines: &[Value], kind: &str) -> Vec<Vec<String>> {
    let of_kind = lines.iter().filter(|line| line["type"] == kind && line["tail"].is_array());
    of_kind.map(|line| serde_json::from_value(line["tail"].clone()).expect("texts")).collect()
}

/// A phase prints thirty lines and fails, twice. Of the first failure the last line is shown, of the second the last twenty in a
/// frame, and where all of it is. A phase that its check refutes shows what the check said.
#[test]
fn a_failure_shows_its_reason() {
    let project = project();
    project.plan(LOUD);
    let told = project.command(["run"]).expect(1).err;
    let lines: Vec<&str> = told.lines().collect();
    let at = |text: &str| lines.iter().position(|line| line.contains(text)).unwrap_or_else(|| panic!("{text}: {told}"));
    assert_eq!(lines[at("is tried again") + 1], "  │ attempt 1 line 30");
    let frame = at("its last 20 lines");
    assert_eq!((lines[frame + 1], lines[frame + 20]), ("  │ attempt 2 line 11", "  │ attempt 2 line 30"));
    assert_eq!(lines[frame + 21], "  └ all of it:  onward logs @ loud");
    assert!(told.contains("leave it out with  onward skip @ loud") && told.contains("  ✗ loud  exited"), "{told}");
    let quiet = project.command(["run", "--quiet", "--fresh"]).expect(1).err;
    assert!(
        quiet.contains("attempt 2 line 30") && !quiet.contains("attempt 1") && !quiet.contains("started"),
        "{quiet}"
    );

    let ran = project.command(["run", "--fresh", "--json"]).expect(1);
    let json: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(tails(&json, "retry_scheduled"), [["attempt 1 line 30"]]);
    let [last] = tails(&json, "phase_failed").try_into().expect("one");
    assert_eq!((last.len(), last[0].as_str(), last[19].as_str()), (20, "attempt 2 line 11", "attempt 2 line 30"));
    assert_eq!(tails(&json, "attempt_ended").len(), 2);

    project.command(["adopt", "loud"]).expect(0);
    let told = project.command(["resume"]).expect(1).err;
    assert!(told.contains("  │ the file is not there\n"), "{told}");
}

/// All goes well, and nothing is said, with and without a terminal.
#[test]
fn quiet_is_quiet() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a 'echo chatter' }\n");
    assert_eq!(project.command(["run", "--quiet"]).expect(0).err, "");
    assert_eq!(project.terminal(["run", "--quiet"]).wait_code(0).out, "");
}

/// The output of a phase is shown on a terminal in its colours, and nothing else that a terminal would obey; without colours where
/// they are not wanted, and as it is for a program.
#[test]
fn logs_have_their_colours() {
    let mut project = project();
    project.remove_env("NO_COLOR");
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: \"printf '\\\\033[31mred\\\\033[0m\\\\033]0;t\\\\007\\\\r\\\\n'\" }\n");
    project.command(["run"]).expect(0);
    let shown = |project: &TestProject| {
        let mut terminal = project.terminal(["logs", "a"]);
        terminal.wait_until("its end", |terminal| terminal.text().contains("red"));
        String::from_utf8_lossy(terminal.shown()).into_owned()
    };
    let colours = shown(&project);
    assert!(colours.contains("\u{1b}[31mred\u{1b}[0m\\u{1b}]0;t\\u{7}\r\n"), "{colours:?}");
    assert_eq!(project.command(["logs", "a"]).expect(0).out, "\u{1b}[31mred\u{1b}[0m\u{1b}]0;t\u{7}\r\n");
    project.set_env("NO_COLOR", "1");
    let plain = shown(&project);
    assert!(plain.contains("red") && !plain.contains("\u{1b}[31m"), "{plain:?}");
}

/// A person watches. Something is there to be seen a moment after the command was typed.
#[test]
fn the_first_word_comes_at_once() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a }\n");
    project.terminal(["run"]).wait_code(0);
    let begun = std::time::Instant::now();
    let mut terminal = project.terminal(["run"]);
    terminal.expect("run run_demo_");
    // The machine of a test may be busy with others; the benchmark measures the 100 ms.
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    terminal.wait_code(0);
}

/// A phase was done three times. From then on it is said how long it takes: to whoever watches the fourth run, and by `show`. What is
/// kept of that is what the journals say.
#[test]
fn what_is_expected_comes_from_earlier_runs() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a 'test -e quick || hold' }\n  b: { needs: a, run: step b }\n");
    project.write("quick", "");
    let newest = || {
        let runs = project.command(["list", "--json"]).json()["runs"].clone();
        runs[0]["run"].as_str().expect("a run").to_owned()
    };
    let durations = || project.command(["show", &newest(), "--json"]).json()["durations"].clone();
    for done in 1..=3 {
        project.command(["run"]).expect(0);
        assert_eq!(durations().is_null(), done < 3, "after {done}: {}", durations());
    }
    let took = durations();
    assert_eq!((&took[0]["phase"], &took[0]["ends"]["done"]["runs"]), (&"a".into(), &3.into()), "{took}");
    assert!(project.command(["show", &newest()]).expect(0).out.contains("b takes "), "also for people");
    std::fs::remove_file(project.path("quick")).expect("it was there");
    let mut screen = Screen::of(project.terminal(["run"]));
    let text = screen.wait("what is expected", |text| row(text, "→ a").is_some_and(|row| row.contains(" s of ~1 s")));
    assert!(text.contains(" left"), "the rest is expected, too: {text}");
    project.open("a");
    screen.terminal.wait_code(0);
    project.command(["doctor"]).expect(0);
}
