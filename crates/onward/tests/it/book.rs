//! The book, page by page: what it tells a reader to write is written, what it tells them to type is typed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use onward_testkit::TestProject;
use onward_testkit::tidy::console_commands;

use crate::project;

/// In front of a block that is the content of a file.
const WRITE: &str = "rite this to `";

/// Behind a command that ends with another code than 0.
const EXIT: &str = "   # exit ";

fn book() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The files that a page tells its reader to write.
fn files_of(page: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for piece in page.split(WRITE).skip(1) {
        let (name, rest) = piece.split_once('`').expect("a name in backticks");
        let content = rest.split_once("```yaml\n").and_then(|(_, rest)| rest.split_once("```")).expect("a block");
        files.push((name.to_owned(), content.0.to_owned()));
    }
    files
}

/// Types a page in an empty folder; gives how many commands it has.
fn typed(page: &str) -> usize {
    typed_in(&project(), page)
}

fn typed_in(project: &TestProject, page: &str) -> usize {
    let text = std::fs::read_to_string(book().join(page)).expect("the page");
    let programs = project.root().join("programs");
    std::fs::create_dir_all(&programs).expect("a folder");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_onward"), programs.join("onward")).expect("a link");
    for (name, content) in files_of(&text) {
        project.write(&name, content);
    }
    let commands = console_commands(&text);
    for step in &commands {
        let (command, code) = match step.command.split_once(EXIT) {
            Some((command, code)) => (command, code.trim().parse().expect("a number")),
            None => (step.command.as_str(), 0),
        };
        let line = format!("PATH={}:$PATH\n{command}", programs.display());
        let ran = project.spawn(project.prepare_program("bash", ["-c", &line])).wait_within(Duration::from_mins(1));
        assert_eq!(ran.code, code, "{page}:{}: {command}\n{}{}", step.line, ran.out, ran.err);
    }
    commands.len()
}

#[test]
fn the_tour_of_the_tutorial_can_be_typed() {
    assert!(typed("tutorial.md") > 20);
}

#[test]
fn the_guides_can_be_typed() {
    let pages = [
        "guides/data-jobs.md",
        "guides/ci-and-cron.md",
        "guides/notices.md",
        "guides/moving-in.md",
        "guides/laptop-to-team.md",
    ];
    for page in pages {
        assert!(typed(page) > 1, "{page} shows no commands");
    }
}

/// Does what the page asks of Claude Code.
const CLIENT: &str = r#"#!/bin/sh
cat > /dev/null
echo '{"type":"system","subtype":"init","session_id":"s1"}'
echo Hello. > hello.txt; echo Friendly. > review.md
echo '{"type":"result","subtype":"success","is_error":false,"session_id":"s1","result":"Done.","num_turns":2}'
"#;

#[test]
fn the_page_of_agents_can_be_typed() {
    let project = project();
    project.script("claude", CLIENT);
    assert!(typed_in(&project, "agents.md") > 5);
    assert!(project.exists("review.md") && project.exists(".claude/plugins/onward"));
}

/// A link of the book leads to a page that is there.
#[test]
fn links_of_the_book_lead_somewhere() {
    let mut pages: Vec<PathBuf> = vec![book().join("../README.md"), book().join("../ARCHITECTURE.md")];
    for folder in ["", "guides", "reference", "design"] {
        let entries = std::fs::read_dir(book().join(folder)).expect("a folder of the book").flatten();
        pages.extend(entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "md")));
    }
    let mut looked_at = 0;
    for page in pages {
        let text = std::fs::read_to_string(&page).expect("a page");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link) {
            let target = link.split('#').next().unwrap_or_default();
            if target.is_empty() || target.contains("://") || target.contains(' ') {
                continue;
            }
            looked_at += 1;
            let there = page.parent().expect("a folder").join(target);
            assert!(there.exists(), "{} leads to {target}, which is not there", page.display());
        }
    }
    assert!(looked_at > 50, "only {looked_at} links were found");
}

/// The page about files of other tools names a test for almost every statement. Each of them is there.
#[test]
fn tests_that_the_page_of_formats_names_exist() {
    let page = std::fs::read_to_string(book().join("seeds.md")).expect("the page");
    let rows = page.lines().filter(|line| line.starts_with("| ") && line.matches(" | ").count() == 2);
    let last = rows.filter_map(|row| row.rsplit(" | ").next());
    let named: Vec<&str> = last.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    assert!(named.len() > 100, "the tables are not found any more: {named:?}");
    let (mut sources, mut folders) = (String::new(), vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("..")]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder of sources").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                sources.push_str(&std::fs::read_to_string(path).expect("a source"));
            }
        }
    }
    for name in named {
        let there = sources.contains(&format!("fn {name}(")) || sources.contains(&format!("    {name}: \""));
        assert!(there, "docs/seeds.md names a test {name}, which is not there");
    }
}
