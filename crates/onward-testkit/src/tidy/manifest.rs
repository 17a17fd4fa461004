//! What every manifest must say.

use super::{Finding, TextFile};

/// Every crate takes the lints of the workspace.
pub fn check_lints(manifest: &TextFile) -> Vec<Finding> {
    let mut section = "";
    for line in manifest.text.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if section == "[lints]" && line.replace(' ', "") == "workspace=true" {
            return Vec::new();
        }
    }
    vec![Finding::of(&manifest.path, "takes no lints: add `[lints]` with `workspace = true`".to_owned())]
}
