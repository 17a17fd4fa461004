//! Remotes that are mirrors: a push to one of them publishes the snapshots, too.

use std::path::Path;

use super::code::DoctorCode;
use super::findings::FindingsSoFar;
use crate::vcs;

/// Says which remotes get the snapshots with every push.
pub(super) fn examine(top: &Path, found: &mut FindingsSoFar) {
    if !vcs::is_repository(top) {
        return;
    }
    let asked = ["config", "--get-regexp", r"^remote\..*\.mirror$"];
    for line in vcs::lines(top, &asked).unwrap_or_default() {
        let Some((key, "true" | "yes" | "on" | "1")) = line.split_once(' ') else { continue };
        let Some(name) = key.strip_prefix("remote.").and_then(|rest| rest.strip_suffix(".mirror")) else { continue };
        let push = format!("remote.{name}.push");
        let rules = vcs::lines(top, &["config", "--get-all", &push]).unwrap_or_default();
        if rules.iter().any(|rule| rule.starts_with("^refs/onward/")) {
            continue;
        }
        let message =
            "the remote is a mirror: a push publishes the snapshots under refs/onward, which are not redacted";
        let help = format!(
            "to leave them out: git config --add {push} '+refs/*:refs/*' && git config --add {push} '^refs/onward/*'"
        );
        found.info(DoctorCode::Mirror, format!("remote {name}"), message, &help);
    }
}
