//! Reading what people wrote: plans and configuration.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use onward_core::config::{self, Config, ConfigValue, Layer};
use onward_core::diagnostic::Severity;
use onward_core::plan::{self, MarkdownSettings, Parsed, Plan, TEXT_BYTES_MAX};
use onward_store::{StoreError, Unsafe, listing, private};

use crate::error::{Error, Result};
use crate::markdown_file;
use crate::project::Project;
use crate::redact;
use crate::secret_names;
use crate::start::prepared_plan;
use crate::trust;

/// Where other tools keep the configuration of their checkpoints, by folder and name. Its keys are among ours.
const OTHERS: (&str, &str) = (".claude", "checkpoint-config.yaml");

/// Endings of files that may be plans, and how many of them are named where another one is not there.
const PLAN_ENDINGS: [&str; 2] = ["yaml", "yml"];
const BESIDE_MAX: usize = 5;

/// A plan file, read and checked.
#[derive(Debug)]
pub struct Checked {
    pub file: String,
    pub text: String,
    pub parsed: Parsed,
}

/// Reads and checks a plan, the one that `run` would take where none is named. That it cannot be read is an error; what is wrong
/// with it is in [`Checked`].
pub fn check(from: &Path, named: Option<&Path>, agent: Option<&str>) -> Result<Checked> {
    let path = if let Some(path) = named {
        path.to_owned()
    } else {
        let found = Project::find_or_new(from, None)?.default_plan(from)?;
        found.strip_prefix(from).unwrap_or(&found).to_owned()
    };
    demand_text(&path)?;
    let text = read(&from.join(&path)).map_err(|why| unreadable(from, &path, why))?;
    let project = Project::find_or_new(from, None).ok();
    // What is wrong with the configuration is told by whoever goes by it.
    let config = project.as_ref().and_then(|project| config(project).ok()).map(|(config, _)| config);
    let settings = config.as_ref().map(Config::markdown).unwrap_or_default();
    let parsed = parsed(&from.join(&path), &text, &with_agent(settings, agent));
    let mut checked = Checked { file: path.display().to_string(), text, parsed };
    prepared_plan::look_at_used(project.as_ref(), &mut checked);
    if let Some(config) = &config {
        redact::go_by(&secret_names(config));
    }
    prepared_plan::look_for_secrets(project.as_ref(), &mut checked);
    Ok(checked)
}

/// The text of a plan file, as far as a plan may be long.
pub(crate) fn plan_text(path: &Path) -> Result<String> {
    read(path).map_err(|why| unreadable(Path::new(""), path, why))
}

/// Refuses a path that would be kept as another one than it is.
pub(crate) fn demand_text(path: &Path) -> Result<()> {
    let real = path.canonicalize();
    let is_text = path.to_str().is_some() && real.is_ok_and(|real| real.to_str().is_some()) || !path.exists();
    if is_text { Ok(()) } else { Err(Error::PlanNotText { path: path.to_owned() }) }
}

/// A plan that cannot be read, with those that lie where it was looked for.
fn unreadable(from: &Path, path: &Path, why: String) -> Error {
    let folder = path.parent().unwrap_or(Path::new(""));
    let is_plan = |name: &String| {
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        PLAN_ENDINGS.contains(&ending) && !name.starts_with('.')
    };
    let entries = listing::readable(from.join(if folder == Path::new("") { Path::new(".") } else { folder }));
    let names = entries.into_iter().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut beside: Vec<String> = names.filter(is_plan).collect();
    beside.sort();
    beside.truncate(BESIDE_MAX);
    let beside = beside.into_iter().map(|name| folder.join(name).display().to_string()).collect();
    Error::PlanUnreadable { path: path.to_owned(), why, beside }
}

/// The settings with the agent that was named for this start.
pub(crate) fn with_agent(settings: MarkdownSettings, named: Option<&str>) -> MarkdownSettings {
    MarkdownSettings { agent: named.map(str::to_owned).or(settings.agent), ..settings }
}

/// A plan's text by its form: the ending of the file's name tells Markdown from the others.
pub(crate) fn parsed(path: &Path, text: &str, settings: &MarkdownSettings) -> Parsed {
    if markdown_file::is_markdown(path) {
        plan::parse_markdown(text, settings, &mut |part| markdown_file::read_part(path, part))
    } else {
        plan::parse(text)
    }
}

/// A plan that this version can carry out, or all that stands in the way.
pub(crate) fn plan_from_text(
    project: &Project,
    path: &Path,
    text: String,
    settings: &MarkdownSettings,
) -> Result<Plan> {
    let parsed = parsed(path, &text, settings);
    let file = project.relative(path);
    let diagnostics = parsed.diagnostics.clone();
    if parsed.newer() {
        return Err(Error::PlanNewer { file, text, diagnostics });
    }
    let unsupported = parsed.unsupported();
    match parsed.plan {
        None => Err(Error::PlanInvalid { file, text, diagnostics }),
        Some(_) if unsupported => Err(Error::PlanUnsupported { file, text, diagnostics }),
        Some(plan) => Ok(plan),
    }
}

/// The text of a file, or why it is not read.
pub(crate) fn bounded_text(file: File) -> std::result::Result<String, String> {
    read_from(file)
}

/// Reads a text of bounded size. One byte above the limit is enough for the reader to say that it is too long.
fn read(path: &Path) -> std::result::Result<String, String> {
    // A pipe in the place of a file must not make anybody wait.
    tracing::info!(file = %path.display(), "reading");
    let opened = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    read_from(opened.map_err(|why| why.to_string())?)
}

fn read_from(file: File) -> std::result::Result<String, String> {
    let kind = file.metadata().map_err(|why| why.to_string())?.file_type();
    if !kind.is_file() {
        return Err(if kind.is_dir() { "it is a folder" } else { "it is not a plain file" }.to_owned());
    }
    let mut bytes = Vec::new();
    file.take(TEXT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(|why| why.to_string())?;
    String::from_utf8(bytes).or_else(|why| match why.utf8_error().error_len() {
        // The cut at the limit may go through a character; the text is refused for its length in any case.
        None => Ok(String::from_utf8_lossy(why.as_bytes()).into_owned()),
        Some(_) => Err(format!("it is not UTF-8 text: byte {} does not fit", why.utf8_error().valid_up_to())),
    })
}

/// The project's configuration over the user's over the defaults. What only a person may set is left out of the project's, until
/// that person has trusted it.
pub(crate) fn config(project: &Project) -> Result<(Config, Vec<String>)> {
    let (mut layers, mut notices, mut left_out) = (Vec::new(), Vec::new(), None);
    for (path, text) in project_configs(project)? {
        let (mut layer, unheeded) = layer(&path, text)?;
        let file = path.display().to_string();
        notices.extend(unheeded.into_iter().map(|what| format!("{file}: {what}")));
        let cautious = layer.take_what_needs_trust();
        if !path.starts_with(project.store_folder()) {
            let keys = cautious.settings().map(|(key, _)| key);
            notices.extend(keys.map(|key| format!("{file}: {key} has an effect in .onward/config.yaml alone")));
        } else if trust::allows(project, &cautious) {
            layer.put_back(cautious);
        } else {
            left_out = Some((file.clone(), cautious));
        }
        layers.push((file, layer));
    }
    if let Some(path) = user_config().filter(|path| path.is_file()) {
        let text = read(&path).map_err(|why| Error::ConfigUnreadable { path: path.clone(), why })?;
        let (layer, unheeded) = layer(&path, text)?;
        notices.extend(unheeded.into_iter().map(|what| format!("{}: {what}", path.display())));
        layers.push((path.display().to_string(), layer));
    }
    let mut config = config::merge(&layers);
    if let Some((file, cautious)) = left_out {
        config = config.without(&file, &cautious);
    }
    notices.extend(config.not_in_force().iter().map(not_in_force));
    Ok((config, notices))
}

fn not_in_force(value: &ConfigValue) -> String {
    format!(
        "{}: {} is not in force, since the file may have come from elsewhere; if it is yours:  onward trust",
        value.origin, value.key
    )
}

/// Why there is no agent of this name.
pub(crate) fn no_such_agent(project: &Project, name: &str) -> String {
    let own = [format!("agents.{name}"), "agents".to_owned()];
    let is_its = |key: &str| own.iter().any(|own| key == own || key.starts_with(&format!("agents.{name}.")));
    let left_out = config(project).ok().and_then(|(config, _)| {
        config.not_in_force().iter().find(|value| is_its(&value.key)).map(|value| value.origin.clone())
    });
    match left_out {
        Some(origin) => format!(
            "the agent {name} of {origin} is not in force, since the file may have come from elsewhere; if it is yours:  onward trust"
        ),
        None => {
            format!("there is no agent {name}: it is neither built in nor an entry of `agents` in the configuration")
        }
    }
}

/// Settings in the configuration of a project that only a person may put in force.
pub(crate) fn needing_trust(project: &Project) -> Result<Option<(PathBuf, Layer)>> {
    let Some((path, text)) = project_config(project)? else { return Ok(None) };
    let (mut layer, _) = layer(&path, text)?;
    Ok(Some((path, layer.take_what_needs_trust())).filter(|(_, cautious)| !cautious.is_empty()))
}

/// The files that configure a project, what counts most first: its own, and the one that other tools keep.
fn project_configs(project: &Project) -> Result<Vec<(PathBuf, String)>> {
    let own = project_config(project)?;
    let others = configuration_in(&project.top.join(OTHERS.0), OTHERS.1)?;
    Ok(own.into_iter().chain(others).collect())
}

/// The project's own configuration, if it has one. It may come from elsewhere: through a link in its place, or in the place of its
/// folder, a page about what is wrong in it would tell lines of any file of the user's.
fn project_config(project: &Project) -> Result<Option<(PathBuf, String)>> {
    configuration_in(&project.store_folder(), "config.yaml")
}

fn configuration_in(folder: &Path, name: &str) -> Result<Option<(PathBuf, String)>> {
    let path = folder.join(name);
    let Ok(about) = path.symlink_metadata() else { return Ok(None) };
    let refused = |path: &Path, why| Err(StoreError::Unsafe { path: path.to_owned(), why }.into());
    if folder.is_symlink() {
        return refused(folder, Unsafe::Link);
    }
    let why = match private::open(&path) {
        Ok(file) => match read_from(file) {
            Ok(text) => return Ok(Some((path, text))),
            Err(why) => why,
        },
        Err(_) if about.is_symlink() => return refused(&path, Unsafe::Link),
        Err(_) if !about.is_file() => return refused(&path, Unsafe::Kind),
        Err(_) if about.nlink() > 1 => return refused(&path, Unsafe::SecondName),
        Err(why) => why.to_string(),
    };
    Err(Error::ConfigUnreadable { path, why })
}

/// One file, and what it says without effect.
fn layer(path: &Path, text: String) -> Result<(Layer, Vec<String>)> {
    let parsed = config::parse(&text);
    if parsed.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
        let file = path.display().to_string();
        return Err(Error::Config { file, text, diagnostics: parsed.diagnostics });
    }
    let unheeded = parsed.diagnostics.into_iter().map(|diagnostic| diagnostic.message).collect();
    Ok((parsed.layer, unheeded))
}

fn user_config() -> Option<PathBuf> {
    let base = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let base = base.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config")))?;
    Some(base.join("onward").join("config.yaml"))
}
