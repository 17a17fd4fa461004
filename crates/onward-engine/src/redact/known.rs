//! The secrets that this process knows: those of its environment, by the names that the configuration adds or takes out, and
//! those that it was given as inputs. And the texts that it knows whole although they are kept with a secret cut out.
//!
//! Nothing of this is ever written down. A process that was not given a secret cannot put it back.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::sync::{Arc, PoisonError, RwLock};

use super::distinct_marks::DistinctMarks;
use super::{MARK, SECRET_BYTES_MIN, SecretNames, Secrets, redact_text, values_of};

static KNOWN: RwLock<Option<KnownSecrets>> = RwLock::new(None);

struct KnownSecrets {
    names: SecretNames,
    /// Values that are no variables of ours.
    given: BTreeSet<Vec<u8>>,
    /// Where they were given: names of inputs and of variables of a plan, each with its last secret value.
    sources: BTreeMap<String, String>,
    secrets: Arc<Secrets>,
    /// The inputs by name, uncut.
    inputs: BTreeMap<String, String>,
    /// Texts of plans as they are, by what is kept of them; none where two of them are the same once they are cut.
    texts: BTreeMap<String, Option<String>>,
}

impl KnownSecrets {
    fn new(names: SecretNames) -> Self {
        let secrets = Arc::new(Secrets::new(&[]));
        let (sources, inputs, texts) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut known = Self { names, given: BTreeSet::new(), sources, secrets, inputs, texts };
        known.look_again();
        known
    }

    fn look_again(&mut self) {
        let variables: Vec<_> = std::env::vars_os().collect();
        let pairs = variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        let mut values = values_of(pairs, &self.names);
        values.extend(self.given.iter().cloned());
        self.secrets = Arc::new(Secrets::new(&values.into_iter().collect::<Vec<_>>()));
    }

    fn remember(&mut self, kept: &str, whole: &str) {
        let known = self.texts.entry(kept.to_owned()).or_insert_with(|| Some(whole.to_owned()));
        if known.as_deref() != Some(whole) {
            *known = None;
        }
    }

    fn learn(&mut self, name: &str, value: &str) {
        let found = values_of([(OsStr::new(name), OsStr::new(value))], &self.names);
        let new: Vec<Vec<u8>> = found.into_iter().filter(|value| value.len() >= SECRET_BYTES_MIN).collect();
        if !new.is_empty() {
            self.sources.insert(name.to_owned(), value.to_owned());
        }
        if new.iter().any(|value| !self.given.contains(value)) {
            self.given.extend(new);
            self.look_again();
        }
    }
}

fn with<T>(work: impl FnOnce(&mut KnownSecrets) -> T) -> T {
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    work(known.get_or_insert_with(|| KnownSecrets::new(SecretNames::default())))
}

/// The secrets that are cut out of everything this process writes and shows.
pub fn secrets() -> Arc<Secrets> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = &*known {
        return Arc::clone(&known.secrets);
    }
    drop(known);
    with(|known| Arc::clone(&known.secrets))
}

/// The names that the configuration adds and takes out.
pub(crate) fn names() -> SecretNames {
    with(|known| known.names.clone())
}

/// Values that are secret and no variables of ours: an attendant cannot know them by itself.
pub(crate) fn given() -> Vec<Vec<u8>> {
    with(|known| known.given.iter().cloned().collect())
}

/// From now on the configuration has its say.
pub(crate) fn go_by(names: &SecretNames) {
    with(|known| {
        if known.names != *names {
            known.names = names.clone();
            known.look_again();
        }
    });
}

/// The secret in a text, in words that do not tell it; none where nothing is.
pub(crate) fn secret_in(text: &str) -> Option<String> {
    let is_cut = |secrets: &Secrets| matches!(secrets.text(text), Cow::Owned(_));
    if !is_cut(&secrets()) {
        return None;
    }
    if matches!(redact_text(text), Cow::Owned(_)) {
        return Some("what has the shape of a token".to_owned());
    }
    let names = names();
    let holds = |name: &OsStr, value: &OsStr| {
        let values = values_of([(name, value)], &names);
        !values.is_empty() && is_cut(&Secrets::new(&values.into_iter().collect::<Vec<_>>()))
    };
    if let Some((name, _)) = std::env::vars_os().find(|(name, value)| holds(name, value)) {
        return Some(format!("the value of the variable {}", name.to_string_lossy()));
    }
    let sources = with(|known| known.sources.clone());
    let given = sources.iter().find(|(name, value)| holds(OsStr::new(name), OsStr::new(value)));
    Some(given.map_or_else(
        || "a secret that was given".to_owned(),
        |(name, _)| format!("the value of {name}, which is given"),
    ))
}

/// Takes note of a value under a name that may say that it is secret.
pub(crate) fn learn(name: &str, value: &str) {
    with(|known| known.learn(name, value));
}

/// Takes note of inputs that somebody gave, and gives what is kept of them: an input whose name says that it is secret is cut
/// as a whole.
pub(crate) fn learn_inputs(inputs: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    with(|known| {
        for (name, value) in inputs {
            known.learn(name, value);
            known.inputs.insert(name.clone(), value.clone());
        }
        let cut = |(name, value): (&String, &String)| {
            let secret = known.names.mean(name.as_bytes()) && value.trim().len() >= SECRET_BYTES_MIN;
            let kept = if secret { MARK.to_owned() } else { known.secrets.text(value).into_owned() };
            (name.clone(), kept)
        };
        inputs.iter().map(cut).collect()
    })
}

/// An input as it was given, where this process was given it; else what is kept of it.
pub(crate) fn whole_input(name: &str, kept: &str) -> String {
    if !kept.contains(MARK) {
        return kept.to_owned();
    }
    with(|known| known.inputs.get(name).cloned()).unwrap_or_else(|| kept.to_owned())
}

/// Cuts a text of a plan, and remembers the whole of it. One that is another's twin once it is cut is kept with what tells them apart.
pub(super) fn cut_text(text: &str, twins: &DistinctMarks) -> String {
    with(|known| {
        let Cow::Owned(cut) = known.secrets.text(text) else {
            if text.contains(MARK) {
                known.remember(text, text);
            }
            return text.to_owned();
        };
        let kept = twins.told_apart(cut, text);
        known.remember(&kept, text);
        kept
    })
}

/// A text of a plan as its author wrote it; or why nobody knows it any more.
pub(crate) fn whole_text(kept: &str) -> Result<String, String> {
    if !kept.contains(MARK) {
        return Ok(kept.to_owned());
    }
    let known = with(|known| known.texts.get(kept).cloned());
    match known {
        Some(Some(whole)) => Ok(whole),
        Some(None) => Err("secrets were cut out of texts of two plans that are the same without them".to_owned()),
        None => {
            Err("a secret was cut out of it in the plan that is kept, and its file does not have it any more"
                .to_owned())
        }
    }
}
