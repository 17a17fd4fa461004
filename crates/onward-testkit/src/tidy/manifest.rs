//! Rules for manifests.

use super::{Breach, TextFile};

/// Every crate takes the lints of the workspace.
pub fn check_lints(manifest: &TextFile) -> Vec<Breach> {
    let mut section = "";
    for line in manifest.text.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if section == "[lints]" && line.replace(' ', "") == "workspace=true" {
            return Vec::new();
        }
    }
    vec![Breach::in_file(&manifest.path, "takes no lints: add `[lints]` with `workspace = true`".to_owned())]
}
