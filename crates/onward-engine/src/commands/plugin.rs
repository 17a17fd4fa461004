//! The plugin for agent clients: its files, and how they come into a project.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::Onward;
use crate::commands::init_and_delete::{InitReport, write_new};
use crate::error::{Error, Result};

/// Where the plugin lies in a project.
pub const PLUGIN_FOLDER: &str = ".claude/plugins/onward";

/// Every file of the plugin, by its path in it.
const FILES: [(&str, &str); 10] = [
    (".claude-plugin/plugin.json", include_str!("../../../../integrations/claude-code/.claude-plugin/plugin.json")),
    (
        ".claude-plugin/marketplace.json",
        include_str!("../../../../integrations/claude-code/.claude-plugin/marketplace.json"),
    ),
    // Where a manifest names hooks, Codex reads no others.
    (".codex-plugin/plugin.json", include_str!("../../../../integrations/claude-code/.codex-plugin/plugin.json")),
    (".mcp.json", include_str!("../../../../integrations/claude-code/.mcp.json")),
    ("README.md", include_str!("../../../../integrations/claude-code/README.md")),
    (
        "commands/onward-checkpoint.md",
        include_str!("../../../../integrations/claude-code/commands/onward-checkpoint.md"),
    ),
    ("commands/onward-resume.md", include_str!("../../../../integrations/claude-code/commands/onward-resume.md")),
    ("hooks/hooks.json", include_str!("../../../../integrations/claude-code/hooks/hooks.json")),
    ("hooks/newer.json", include_str!("../../../../integrations/claude-code/hooks/newer.json")),
    ("skills/onward/SKILL.md", include_str!("../../../../integrations/claude-code/skills/onward/SKILL.md")),
];

impl Onward {
    /// Puts the plugin into the project; what is there stays as it is, and no link is written through.
    pub fn install_plugin(from: &Path) -> Result<InitReport> {
        let onward = Self::work_or_new(from)?;
        let mut report = InitReport::default();
        for (path, text) in FILES {
            let path = Path::new(PLUGIN_FOLDER).join(path);
            make_folders(&onward.project.top, path.parent().expect("it lies in the folder of the plugin"))?;
            write_new(&onward.project.top.join(path), text, 0o644, &mut report)?;
        }
        Ok(report)
    }
}

/// Makes the folders from the top of the project down to one below it; each that is there must be a folder, and no link.
fn make_folders(top: &Path, below: &Path) -> Result<()> {
    let mut path = top.to_owned();
    for part in below.components() {
        path.push(part);
        let made = match fs::create_dir(&path) {
            Err(why) if why.kind() == ErrorKind::AlreadyExists => match fs::symlink_metadata(&path) {
                Ok(about) if about.is_dir() => Ok(()),
                Ok(_) => Err(std::io::Error::new(ErrorKind::NotADirectory, "it is a link or a file")),
                Err(why) => Err(why),
            },
            other => other,
        };
        made.map_err(Error::io(format!("making the folder {}", path.display())))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use onward_store::listing;

    use super::*;

    fn files(folder: &Path, top: &Path, into: &mut BTreeSet<String>) {
        for entry in listing::all(folder).expect("a folder") {
            let path = entry.path();
            if path.is_dir() {
                files(&path, top, into);
            } else {
                into.insert(path.strip_prefix(top).expect("inside").to_string_lossy().into_owned());
            }
        }
    }

    /// A file is added to the plugin. It is among those that are installed.
    #[test]
    fn every_file_of_the_plugin_is_installed() {
        let top = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../integrations/claude-code");
        let mut there = BTreeSet::new();
        files(&top, &top, &mut there);
        assert_eq!(FILES.iter().map(|(path, _)| (*path).to_owned()).collect::<BTreeSet<_>>(), there);
    }
}
