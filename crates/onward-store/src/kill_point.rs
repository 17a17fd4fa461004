//! Kill points: named places where a test ends the process as `kill -9` would, or steps in otherwise. Compiled in only with the
//! feature `kill-points`.

#[cfg(feature = "kill-points")]
pub use enabled::{reached, set_hook};

/// Passes a named place: nothing, without the feature.
#[cfg(not(feature = "kill-points"))]
pub fn reached(_: &'static str) {}

#[cfg(feature = "kill-points")]
mod enabled {
    use std::env;
    use std::fs;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{PoisonError, RwLock};
    use std::thread;
    use std::time::{Duration, Instant};

    use nix::sys::signal::{Signal, raise};

    const LOOK_EVERY: Duration = Duration::from_millis(5);
    const HOLD_TIME_MAX: Duration = Duration::from_mins(1);

    static HOOK: RwLock<Option<fn(&'static str)>> = RwLock::new(None);
    static PASSED: AtomicU32 = AtomicU32::new(0);

    /// Calls a function at every place from now on, in this process; `None` ends that.
    pub fn set_hook(hook: Option<fn(&'static str)>) {
        *HOOK.write().unwrap_or_else(PoisonError::into_inner) = hook;
    }

    /// Ends this process by SIGKILL if `ONWARD_KILL_POINT` names this place; `name:3` means the third time it is passed.
    ///
    /// `ONWARD_HOLD_POINT` names a place at which the process stands still instead: it makes the file `ONWARD_HOLD_FILE` and goes
    /// on when somebody has removed it.
    pub fn reached(name: &'static str) {
        let hook = *HOOK.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(hook) = hook {
            hook(name);
        }
        hold_at(name);
        let Ok(wanted) = env::var("ONWARD_KILL_POINT") else { return };
        let (place, times) = wanted.split_once(':').unwrap_or((&wanted, "1"));
        if place != name || PASSED.fetch_add(1, Ordering::SeqCst) + 1 != times.parse().unwrap_or(1) {
            return;
        }
        if let Ok(mark) = env::var("ONWARD_KILL_MARK") {
            // Only the first process that gets here dies: what it leaves behind passes the same place.
            if fs::OpenOptions::new().write(true).create_new(true).open(mark).is_err() {
                return;
            }
        }
        let _ = raise(Signal::SIGKILL);
    }

    fn hold_at(name: &str) {
        if env::var("ONWARD_HOLD_POINT").as_deref() != Ok(name) {
            return;
        }
        let Some(file) = env::var_os("ONWARD_HOLD_FILE").map(PathBuf::from) else { return };
        let begun = Instant::now();
        let _ = fs::write(&file, name);
        while file.exists() && begun.elapsed() < HOLD_TIME_MAX {
            thread::sleep(LOOK_EVERY);
        }
    }
}
