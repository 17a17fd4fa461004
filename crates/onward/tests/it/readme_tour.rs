//! The tour of the README, command by command, as a reader would type it, and the recording made of it.

use std::fmt::Write as _;
use std::path::Path;

use onward_testkit::tidy::console_commands;

use crate::project;

/// Behind a command that ends with another code than 0.
const EXIT: &str = "   # exit ";
const RECORDING: &str = "```text\n";
/// Set to have the recording written anew.
const UPDATE: &str = "UPDATE_RECORDING";

/// The first steps of a newcomer must work as printed: checked, killed, resumed, approved, with the output that is shown; and the
/// recording on top shows what they will see.
#[test]
fn the_tour_works_as_printed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(&path).expect("the README");
    let plan = readme.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a plan");
    let project = project();
    project.write("onward.yaml", plan);
    let programs = project.root().join("programs");
    std::fs::create_dir_all(&programs).expect("a folder");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_onward"), programs.join("onward")).expect("a link");
    let (mut told, mut recording) = (0, String::new());
    for step in console_commands(&readme) {
        if step.command.starts_with("cargo ") || ["scripts/test", "onward demo"].contains(&step.command.as_str()) {
            continue;
        }
        told += 1;
        let (command, code) = match step.command.split_once(EXIT) {
            Some((command, code)) => (command, code.trim().parse().expect("a number")),
            None => (step.command.as_str(), 0),
        };
        let line = format!("PATH={}:$PATH\n{command}", programs.display());
        let ran = project.spawn(project.prepare_program("bash", ["-c", &line]));
        let ran = ran.wait_within(std::time::Duration::from_mins(1));
        assert_eq!(ran.code, code, "README:{}: {command}\n{}", step.line, ran.err);
        if !step.output.is_empty() {
            assert_eq!(ran.out, step.output, "README:{}: {command}", step.line);
        }
        if !["onward check", "cat packed.txt | wc -l", "onward log"].contains(&command) {
            let _ = write!(recording, "$ {command}\n{}{}", ran.err, ran.out);
        }
    }
    assert!(told >= 7, "the tour is gone from the README: {told} commands");
    assert_eq!(project.command(["list", "--json"]).json()["runs"][0]["status"], "completed");
    let (before, rest) = readme.split_once(RECORDING).expect("a recording");
    let (kept, after) = rest.split_once("```").expect("its end");
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, format!("{before}{RECORDING}{recording}```{after}")).expect("the README can be written");
        return;
    }
    assert_eq!(timeless(kept), timeless(&recording), "the recording shows something else: {UPDATE}=1 writes it anew");
}

/// Times and ids are others each time, and so is how far the work was.
fn timeless(text: &str) -> String {
    let digits: String = text.chars().map(|one| if one.is_ascii_digit() { '0' } else { one }).collect();
    let words = digits.split_inclusive([' ', '\n']).map(|word| match word.trim_end() {
        number if number.contains('0') => format!("0{}", &word[number.len()..]),
        "ms" | "s" | "ms)" | "s)" | "ms," | "s," => word[word.trim_end().len()..].to_owned(),
        _ => word.to_owned(),
    });
    words.collect()
}

/// The README is read in one sitting.
#[test]
fn the_readme_is_short() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).expect("it");
    assert!(readme.lines().count() <= 200, "{} lines", readme.lines().count());
}
