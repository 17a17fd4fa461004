//! The screens that people see, in a real terminal: what stands there at one moment, with times masked, compared with the pictures in
//! the folder `screens`. `UPDATE_SCREENS=1` writes them anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use onward_testkit::{TestProject, wait_until};

use crate::project;

/// A window of a tmux server of its own.
struct Window<'a> {
    project: &'a TestProject,
    socket: PathBuf,
}

impl<'a> Window<'a> {
    /// None where there is no tmux.
    fn open(project: &'a TestProject, columns: u16, lines: u16, command: &str) -> Option<Self> {
        let window = Self { project, socket: project.root().join(format!("tmux-{columns}")) };
        let settings = project.write(
            ".tmux.conf",
            "set -g status off\nset -g remain-on-exit on\nset -g default-terminal screen-256color\n",
        );
        let size = [columns.to_string(), lines.to_string()];
        let words = ["-f", settings.to_str()?, "new-session", "-d", "-x", &size[0], "-y", &size[1], command];
        let opened = window.tmux(&words)?;
        assert!(opened.status.success(), "{}", String::from_utf8_lossy(&opened.stderr));
        Some(window)
    }

    fn tmux(&self, words: &[&str]) -> Option<Output> {
        let tmux = ["/usr/bin/tmux", "/usr/local/bin/tmux"].into_iter().find(|path| Path::new(path).exists())?;
        let socket = self.socket.to_str()?;
        let mut command = self.project.prepare_program(tmux, ["-S", socket].iter().chain(words));
        command.env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
        Some(command.output().expect("tmux can be started"))
    }

    fn text(&self) -> String {
        let shown = self.tmux(&["capture-pane", "-p"]).expect("it is there");
        String::from_utf8_lossy(&shown.stdout).trim_end().to_owned()
    }

    fn type_in(&self, keys: &str) {
        self.tmux(&["send-keys", keys, "Enter"]);
    }

    /// Opens each gate once the words of the one before stand there: what ends is told in this order.
    fn one_by_one(&self, gates: &[(&str, &str)]) {
        for (gate, words) in gates {
            self.project.open(gate);
            self.wait(&[words]);
        }
    }

    /// The screen once it holds all of these, and stays so.
    #[track_caller]
    fn wait(&self, words: &[&str]) -> String {
        let mut before = String::new();
        wait_until(&format!("a screen with {words:?}"), || {
            let now = self.text();
            let still = masked(&now) == masked(&before);
            before.clone_from(&now);
            (still && words.iter().all(|word| now.contains(word))).then_some(now)
        })
    }
}

impl Drop for Window<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            use std::io::Write as _;
            let _ = writeln!(std::io::stderr(), "the screen:\n{}", self.text());
        }
        self.tmux(&["kill-server"]);
    }
}

/// Times, ids and paths that are others each time, and the room that they take.
fn masked(screen: &str) -> String {
    let lines = screen.lines().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let mut out: Vec<String> = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let unit = words.get(at + 1).map(|next| next.trim_matches(|c: char| !c.is_ascii_alphabetic()));
            let digits = word.trim_start_matches(['(', '~']).chars().all(|c| c.is_ascii_digit()) && !word.is_empty();
            let is_span = digits && unit.is_some_and(|unit| ["ms", "s", "min", "h"].contains(&unit));
            let is_word_of_more = is_span && out.len() > 1 && out[out.len() - 1].starts_with("min");
            if is_word_of_more {
                out.push("#".to_owned());
            } else if is_span {
                out.push(word.replace(|c: char| c.is_ascii_digit(), "") + "#");
            } else if digits && at > 0 && words[at - 1] == "process" {
                out.push("#".to_owned());
            } else {
                out.push(without_the_time(word));
            }
        }
        let joined = out.join(" ").replace("# ms", "# s");
        let mut line = String::new();
        for character in joined.trim_end().chars() {
            if !(character == ' ' && line.ends_with("  ")) {
                line.push(character);
            }
        }
        without_the_host(line)
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// `driven by process 4711 on HOST since …`: the host is another one each time.
fn without_the_host(line: String) -> String {
    let Some((before, host)) = line.split_once(" on ").filter(|(before, _)| before.starts_with("driven by")) else {
        return line;
    };
    format!("{before} on HOST {}", host.split_once(' ').map_or("", |(_, rest)| rest))
}

/// `run_demo_20261119_131006` and `13:10`, without the figures.
fn without_the_time(word: &str) -> String {
    let figures = word.chars().filter(char::is_ascii_digit).count();
    let is_id = word.starts_with("run_") || word.starts_with("(run_") || word.starts_with("CP-");
    let is_clock = figures == 4 && word.contains(':') && word.len() < 9;
    if is_id || is_clock { word.replace(|c: char| c.is_ascii_digit(), "#") } else { word.to_owned() }
}

#[track_caller]
fn compare(name: &str, shown: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/screens").join(format!("{name}.txt"));
    let shown = masked(shown);
    if std::env::var_os("UPDATE_SCREENS").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder can be made");
        fs::write(&path, shown).expect("a picture can be written");
        return;
    }
    let known = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(shown, known, "{name} looks different: UPDATE_SCREENS=1 writes the new picture, look at it");
}

fn left_out(name: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{name} is left out: there is no tmux here");
}

/// Eight phases: a note, a matrix, a retry, an approval.
const EIGHT: &str = "
    onward: 1
    name: harvest
    description: Brings in the data of a week and publishes it
    max-parallel: 6
    phases:
      prepare: { run: step prepare }
      fetch:
        needs: prepare
        matrix: { day: [mon, tue, wed] }
        env: { DAY: \"${{ matrix.day }}\" }
        run: step fetch-$DAY \"hold $DAY\"
      schema:
        name: Move the schema
        needs: prepare
        run: step schema 'echo 3/10 >> \"$ONWARD_PROGRESS\"; echo moving orders; hold'
      lint: { needs: prepare, retry: { max: 1, backoff: { initial: 100ms, jitter: false } }, run: step lint 'echo no newline at the end of orders.sql; test -e ok || exit 3; hold' }
      merge: { needs: [fetch, schema], run: step merge }
      report: { needs: merge, run: step report }
      gate: { needs: [report, lint], approval: Publish the numbers of this week? }
      publish: { needs: gate, run: step publish }
";

const DAYS: [(&str, &str); 3] = [("mon", "fetch[mon] done"), ("tue", "fetch[tue] done"), ("wed", "fetch[wed] done")];

fn in_the_middle(columns: u16, lines: u16) {
    let name = format!("live-{columns}x{lines}");
    let project = project();
    project.plan(EIGHT);
    project.write("ok", "");
    project.open("mon");
    let Some(window) = Window::open(&project, columns, lines, "onward run") else { return left_out(&name) };
    project.wait_ledger("end", "fetch-mon", 1);
    compare(&name, &window.wait(&["3/10", "1/3  values", "moving orders", "no newline", "1 of 8 done"]));
}

/// A run in the middle of its work, in a wide window.
#[test]
fn live_wide() {
    in_the_middle(120, 40);
}

/// The same in a narrow one.
#[test]
fn live_narrow() {
    in_the_middle(60, 20);
}

/// A thousand phases, of which twelve are at work.
#[test]
fn live_thousand() {
    let project = project();
    let phases: String = (0..1000).map(|n| format!("  load-{n:03}: {{ run: exec sleep 600 }}\n")).collect();
    project.plan(&format!("onward: 1\nname: thousand\nmax-parallel: 12\nphases:\n{phases}"));
    let Some(window) = Window::open(&project, 60, 20, "onward run") else { return left_out("live-1000") };
    compare("live-1000", &window.wait(&["12 at work"]));
}

/// A phase fails while another one is at work; and the question when nothing else can be done.
#[test]
fn live_failure() {
    let project = project();
    project.plan(EIGHT);
    let Some(window) = Window::open(&project, 120, 40, "onward run") else { return left_out("failure") };
    window.wait(&["lint failed"]);
    window.one_by_one(&DAYS);
    compare("failure", &window.wait(&["1 failed", "moving orders", "2 of 8"]));
    project.open("schema");
    compare("failure-asked", &window.wait(&["(r)etry", "[q]:"]));
}

/// A run that another process drives is watched: in the middle of its work, with a retry behind it, in a wide window and in a low
/// one that has no room for all of it; and to its end, where a person is asked.
#[test]
fn status_watched() {
    let project = project();
    project.plan(EIGHT);
    project.write("ok", "");
    project.open("mon");
    let driver = project.start(["run"]);
    project.wait_ledger("end", "fetch-mon", 1);
    project.wait_ledger("begin", "lint", 1);
    // A pane whose command has ended is moved by a line.
    let Some(window) = Window::open(&project, 120, 40, "onward status --watch; exec sleep 600") else {
        return left_out("watch");
    };
    let middle = ["1/3 values", "3/10", "moving orders", "no newline", "1 of 8", "driven by"];
    compare("watch-120x40", &window.wait(&middle));
    let low = Window::open(&project, 60, 12, "onward status --watch").expect("it was there a moment ago");
    // The room that the times take decides where a line is cut.
    let picture = low.wait(&["still to come", "no newline", "driven by"]);
    let cut = |line: &str| if line.contains('→') { line.chars().take(46).collect() } else { line.to_owned() };
    let picture = masked(&picture).lines().map(cut).collect::<Vec<String>>().join("\n");
    compare("watch-60x12", &(picture + "\n"));
    for gate in ["tue", "wed", "lint", "schema"] {
        project.open(gate);
    }
    compare("watch-asked", &window.wait(&["waiting  harvest", "answer with", "go on with"]));
    assert_eq!(driver.wait_code(15).code, 15);
}

/// An approval is asked for on the terminal.
#[test]
fn approval_asked() {
    let project = project();
    project.plan(EIGHT);
    project.write("ok", "");
    let Some(window) = Window::open(&project, 60, 30, "onward run") else { return left_out("approval") };
    window.one_by_one(&DAYS);
    window.one_by_one(&[("lint", "lint done"), ("schema", "schema done")]);
    compare("approval", &window.wait(&["Publish the numbers of this week?", "later"]));
    window.type_in("approve");
    window.wait(&["is complete, 8 of 8"]);
}

/// A run was killed in the middle, and its plan edited. The next start shows where it stands, in a wide window and in a narrow one.
#[test]
fn question_after_a_kill_and_an_edit() {
    let project = project();
    project.plan(EIGHT);
    project.write("ok", "");
    project.open("mon");
    let driver = project.start(["run"]);
    project.wait_ledger("end", "fetch-mon", 1);
    project.wait_ledger("begin", "schema", 1);
    project.wait_ledger("begin", "lint", 1);
    wait_until("the record", || driver.err().contains("fetch[mon] done").then_some(()));
    driver.kill();
    let Some(window) = Window::open(&project, 120, 40, "onward run") else { return left_out("question") };
    compare("question", &window.wait(&["[r]:"]));
    let narrow = Window::open(&project, 60, 30, "onward run").expect("it was there a moment ago").wait(&["[r]:"]);
    // Where lines are broken there depends on how long the times are.
    let words = narrow.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("schema (Move the schema) was running") && words.contains("(q)uit [r]:"), "{narrow}");
    project.kill_everything();
    project.plan(&EIGHT.replace("run: step merge", "run: step merge again"));
    let Some(window) = Window::open(&project, 100, 40, "onward run") else { return left_out("question-edited") };
    compare("question-edited", &window.wait(&["[r]:"]));
}
