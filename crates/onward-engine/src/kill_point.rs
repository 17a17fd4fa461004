//! Places where a test can end the process as `kill -9` would. Compiled in only with the feature `kill-points`.

/// Ends this process by SIGKILL if `ONWARD_KILL_POINT` names this place; `name:3` means the third time it is passed.
///
/// `ONWARD_HOLD_POINT` names a place at which the process stands still instead: it makes the file `ONWARD_HOLD_FILE` and goes on
/// when somebody has removed it.
#[cfg(feature = "kill-points")]
pub fn reached(name: &'static str) {
    use std::sync::atomic::{AtomicU32, Ordering};

    static PASSED: AtomicU32 = AtomicU32::new(0);
    hold_at(name);
    let Ok(wanted) = std::env::var("ONWARD_KILL_POINT") else { return };
    let (place, times) = wanted.split_once(':').unwrap_or((&wanted, "1"));
    if place != name || PASSED.fetch_add(1, Ordering::SeqCst) + 1 != times.parse().unwrap_or(1) {
        return;
    }
    if let Ok(mark) = std::env::var("ONWARD_KILL_MARK") {
        // Only the first process that gets here dies: what it leaves behind passes the same place.
        if std::fs::OpenOptions::new().write(true).create_new(true).open(mark).is_err() {
            return;
        }
    }
    let _ = nix::sys::signal::kill(nix::unistd::Pid::this(), nix::sys::signal::Signal::SIGKILL);
}

#[cfg(feature = "kill-points")]
fn hold_at(name: &str) {
    use std::time::{Duration, Instant};

    const LOOK_EVERY: Duration = Duration::from_millis(5);
    const HOLD_TIME_MAX: Duration = Duration::from_mins(1);
    if std::env::var("ONWARD_HOLD_POINT").as_deref() != Ok(name) {
        return;
    }
    let Some(file) = std::env::var_os("ONWARD_HOLD_FILE").map(std::path::PathBuf::from) else { return };
    let begun = Instant::now();
    let _ = std::fs::write(&file, name);
    while file.exists() && begun.elapsed() < HOLD_TIME_MAX {
        std::thread::sleep(LOOK_EVERY);
    }
}

#[cfg(not(feature = "kill-points"))]
pub fn reached(_: &'static str) {}

/// Lets the parts that know nothing of tests call [`reached`] at their own places.
pub fn install() {
    if cfg!(feature = "kill-points") {
        let file_system = std::env::var("ONWARD_FILE_SYSTEM").ok().and_then(|number| number.parse().ok());
        onward_store::pretend_file_system(file_system.unwrap_or(0));
        onward_store::set_probe(Some(reached));
        crate::attendant::set_probe(Some(reached));
    }
}
