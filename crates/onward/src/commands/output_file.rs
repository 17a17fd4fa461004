//! The file that `--output` names: written beside it and renamed, so that there is never half a file under that name. It is for its
//! owner alone.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Folders that are git's or ours: what is exported into them would take the place of what they need.
const RESERVED: [&str; 2] = [".git", ".onward"];

/// Writes a file for its owner alone.
pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    demand_outside(path)?;
    if is_passed_on(path) {
        return OpenOptions::new().write(true).open(path)?.write_all(bytes);
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".new-{}", std::process::id()));
    let new = Path::new(&name);
    let written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(new).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(new, path)).inspect_err(|_| drop(fs::remove_file(new)))
}

/// Pipes, terminals and devices pass on what is written; nothing takes their place. Links of the system lead to such.
fn is_passed_on(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir())
        || path.starts_with("/dev")
        || path.starts_with("/proc")
}

fn demand_outside(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize()?;
    if folder.components().any(|part| RESERVED.iter().any(|reserved| part.as_os_str() == *reserved)) {
        return Err(io::Error::other("it would lie among the files of git or of the store"));
    }
    Ok(())
}
