//! The secrets that this process knows: those of its environment, by the names that the configuration adds or takes out.

use std::sync::{Arc, PoisonError, RwLock};

use super::{Names, Secrets};

static KNOWN: RwLock<Option<Known>> = RwLock::new(None);

struct Known {
    names: Names,
    secrets: Arc<Secrets>,
}

impl Known {
    fn new(names: Names) -> Self {
        let variables: Vec<_> = std::env::vars_os().collect();
        let pairs = variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        let secrets = Arc::new(Secrets::from_env(pairs, &names));
        Self { names, secrets }
    }
}

/// The secrets that are cut out of everything this process writes and shows.
pub fn secrets() -> Arc<Secrets> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = &*known {
        return Arc::clone(&known.secrets);
    }
    drop(known);
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(&known.get_or_insert_with(|| Known::new(Names::default())).secrets)
}

/// The names that the configuration adds and takes out.
pub(crate) fn names() -> Names {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    known.as_ref().map(|known| known.names.clone()).unwrap_or_default()
}

/// From now on the configuration has its say.
pub(crate) fn go_by(names: &Names) {
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    if known.as_ref().is_none_or(|known| known.names != *names) {
        *known = Some(Known::new(names.clone()));
    }
}
