//! Providers of issues: `gh`, another program that is called like it, or a JSON file. Reads an issue and sets its labels.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use onward_core::input::LabelsSet;
use serde_json::{Map, Value, json};

use super::command;
use crate::redact;

/// The program that is asked where the plan names none.
const PROVIDER_DEFAULT: &str = "gh";
/// A file that is larger is no issue.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// Characters of what a program says when it fails.
const SAID_CHARS_MAX: usize = 200;

#[derive(Clone, Debug)]
pub(super) enum IssueProvider {
    Program { top: PathBuf, words: Vec<String>, number: String },
    File(PathBuf),
}

/// An issue as its provider tells it.
#[derive(Clone, Debug, Default)]
pub(super) struct IssueTold {
    pub(super) title: String,
    pub(super) body: String,
    pub(super) labels: Vec<String>,
    pub(super) assignees: Vec<String>,
}

impl IssueProvider {
    /// `{number}` in the name of a file stands for the number of the issue.
    pub(super) fn new(top: &Path, provider: Option<&str>, number: &str) -> Self {
        let provider = provider.unwrap_or(PROVIDER_DEFAULT).trim();
        let is_file = Path::new(provider).extension().is_some_and(|ending| ending == "json");
        if is_file && !provider.contains(char::is_whitespace) {
            return Self::File(top.join(provider.replace("{number}", number)));
        }
        let mut words: Vec<String> = provider.split_whitespace().map(str::to_owned).collect();
        if let Some(program) = words.first_mut().filter(|program| program.contains('/')) {
            *program = top.join(&*program).to_string_lossy().into_owned();
        }
        Self::Program { top: top.to_owned(), words, number: number.to_owned() }
    }

    /// The issue as it is now.
    pub(super) fn view(&self, time_max: Duration) -> Result<IssueTold, String> {
        let (text, whose) = match self {
            Self::Program { words, number, .. } => {
                let asked = ["issue", "view", number, "--json", "title,body,labels,assignees"];
                (self.called(&asked, time_max)?, words.join(" "))
            }
            Self::File(path) => (file_text(path)?, path.display().to_string()),
        };
        let told: Value = serde_json::from_slice(&text).map_err(|why| format!("{whose}: {why}"))?;
        let told = told.as_object().ok_or_else(|| format!("{whose}: that is no JSON object"))?;
        Ok(IssueTold {
            title: text_of(told, "title"),
            body: text_of(told, "body"),
            labels: names(told, "labels", "name"),
            assignees: names(told, "assignees", "login"),
        })
    }

    /// Sets labels and takes others away, in one call.
    pub(super) fn set_labels(&self, set: &LabelsSet, time_max: Duration) -> Result<(), String> {
        let number = match self {
            Self::Program { number, .. } => number,
            Self::File(path) => return write_labels(path, set),
        };
        let (added, removed) = (set.added.join(","), set.removed.join(","));
        let mut words = vec!["issue", "edit", number.as_str()];
        if !added.is_empty() {
            words.extend(["--add-label", &added]);
        }
        if !removed.is_empty() {
            words.extend(["--remove-label", &removed]);
        }
        self.called(&words, time_max).map(|_| ())
    }

    fn called(&self, arguments: &[&str], time_max: Duration) -> Result<Vec<u8>, String> {
        let Self::Program { top, words, number } = self else { return Ok(Vec::new()) };
        if number.starts_with('-') {
            return Err(format!("{number} is no number of an issue"));
        }
        let provider = words.join(" ");
        let (program, first) = words.split_first().ok_or("no provider is named")?;
        let mut command = Command::new(program);
        command.args(first).args(arguments).current_dir(top);
        let (ran, said) = command::program_heard_within(command, time_max);
        match ran.code {
            Some(0) => Ok(ran.output),
            Some(code) => {
                let said = redact::secrets().text(&String::from_utf8_lossy(&said)).into_owned();
                let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
                let last: String = last.chars().take(SAID_CHARS_MAX).collect();
                let said = if last.is_empty() { last } else { format!(": {last}") };
                Err(format!("{provider} ended with code {code}{said}"))
            }
            None => Err(format!("{provider}: {}", ran.why)),
        }
    }
}

fn text_of(told: &Map<String, Value>, key: &str) -> String {
    told.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Names as they are, or each as a field of an object.
fn names(told: &Map<String, Value>, key: &str, field: &str) -> Vec<String> {
    let all = told.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    all.iter().filter_map(|one| name_of(one, field)).map(str::to_owned).collect()
}

fn name_of<'a>(one: &'a Value, field: &str) -> Option<&'a str> {
    one.as_str().or_else(|| one.get(field)?.as_str())
}

fn file_text(path: &Path) -> Result<Vec<u8>, String> {
    let trouble = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    let size = fs::metadata(path).map_err(|why| trouble(&why))?.len();
    if size > FILE_BYTES_MAX {
        return Err(trouble(&"it is too large for an issue"));
    }
    fs::read(path).map_err(|why| trouble(&why))
}

/// The file with other labels, all else in it as it was. Written beside it and renamed: nobody reads half of it.
fn write_labels(path: &Path, set: &LabelsSet) -> Result<(), String> {
    let trouble = |why: &dyn std::fmt::Display| format!("{} cannot be written: {why}", path.display());
    let mut issue: Value = serde_json::from_slice(&file_text(path)?).map_err(|why| trouble(&why))?;
    let fields = issue.as_object_mut().ok_or_else(|| trouble(&"it holds no JSON object"))?;
    let labels = fields.entry("labels").or_insert_with(|| json!([]));
    let labels = labels.as_array_mut().ok_or_else(|| trouble(&"its labels are no list"))?;
    let plain = labels.first().is_some_and(Value::is_string);
    labels.retain(|label| !name_of(label, "name").is_some_and(|name| set.removed.iter().any(|gone| gone == name)));
    labels.extend(set.added.iter().map(|name| if plain { json!(name) } else { json!({ "name": name }) }));
    let mut beside = path.as_os_str().to_owned();
    beside.push(".onward-new");
    let mut text = serde_json::to_string_pretty(&issue).map_err(|why| trouble(&why))?;
    text.push('\n');
    let _ = fs::remove_file(&beside);
    let written = fs::metadata(path).and_then(|old| {
        // Made anew, so that nothing is written through a link that somebody put there.
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&beside)?;
        file.write_all(text.as_bytes())?;
        file.set_permissions(old.permissions())?;
        fs::rename(&beside, path)
    });
    written.map_err(|why| trouble(&why))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The issue is a file, with labels as plain words or as objects. It is read, and labels are set in it; everything else in the
    /// file stays.
    #[test]
    fn a_file_is_an_issue() {
        let folder = tempfile::tempdir().expect("a folder");
        let soon = Duration::from_secs(1);
        let set = LabelsSet { added: vec!["b".to_owned()], removed: vec!["a".to_owned()], labels: Vec::new() };
        for labels in [r#"["a","z"]"#, r#"[{"name":"a"},{"name":"z","color":"red"}]"#] {
            let text =
                format!(r#"{{"title":"T","body":null,"labels":{labels},"assignees":[{{"login":"ana"}}],"x":[1.50]}}"#);
            fs::write(folder.path().join("issue-7.json"), text).expect("it can be written");
            let file = IssueProvider::new(folder.path(), Some("issue-{number}.json"), "7");
            let told = file.view(soon).expect("it is an issue");
            assert_eq!(
                (told.title.as_str(), told.labels, told.assignees),
                ("T", vec!["a".to_owned(), "z".into()], vec!["ana".to_owned()])
            );
            file.set_labels(&set, soon).expect("it can be written");
            assert_eq!(file.view(soon).expect("it is an issue").labels, ["z", "b"]);
            let kept = fs::read_to_string(folder.path().join("issue-7.json")).expect("it is there");
            assert!(kept.contains("\"x\"") && (kept.contains("red") || !labels.contains("red")), "{kept}");
        }
        let missing =
            IssueProvider::new(folder.path(), Some("none.json"), "7").view(soon).expect_err("it is not there");
        assert!(missing.contains("none.json"), "{missing}");
    }

    /// A provider is a program with its words; one with a path is found from the top of the project.
    #[test]
    fn a_program_may_have_words_of_its_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let soon = Duration::from_secs(5);
        let echo = IssueProvider::new(folder.path(), Some("sh -c 'x'"), "-7").view(soon).expect_err("no number");
        assert!(echo.contains("-7 is no number"), "{echo}");
        fs::write(folder.path().join("issue.sh"), "echo '{\"title\": \"'$3'\", \"labels\": []}'\n")
            .expect("it can be written");
        let told = IssueProvider::new(folder.path(), Some("sh issue.sh"), "9").view(soon).expect("it answers");
        assert_eq!(told.title, "9");
    }
}
