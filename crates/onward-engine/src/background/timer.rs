//! The user timer of a project: a unit of the user's systemd where that answers, else lines of the crontab.
//!
//! Everything it consists of carries the name of the project's folder, so that it can be found again and taken away exactly.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::error::{Error, Result};
use crate::project::Project;

/// Lines of a crontab, byte by byte.
type Lines<'a> = Vec<&'a [u8]>;

/// How often it looks.
pub const EVERY_MINUTES: u32 = 5;
const NAME_DIGITS: usize = 12;
/// The words of `crontab -l` for who has none.
const NO_CRONTAB: [&str; 2] = ["no crontab", "no such file"];

/// The timer as it is now, or the places that it was taken away from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimerReport {
    /// The places that it was put into or taken away from: files, and lines of the crontab.
    pub places: Vec<String>,
    /// It was there as it is.
    pub unchanged: bool,
    /// Things that somebody should know.
    pub notes: Vec<String>,
}

/// Sees to it that the timer of a project is there, once.
pub fn install(project: &Project) -> Result<TimerReport> {
    let timer = Timer::new(project)?;
    if has_systemd() {
        // One of them is enough.
        timer.out_of_the_crontab()?;
        return timer.put_into_systemd();
    }
    match crontab()? {
        Some(lines) => timer.put_into_the_crontab(&lines),
        None => Err(refused("neither the user's systemd (systemctl --user) nor crontab answers here")),
    }
}

/// Takes away what [`install`] has put there.
pub fn remove(project: &Project) -> Result<TimerReport> {
    let timer = Timer::new(project)?;
    let mut places = timer.out_of_systemd()?;
    places.extend(timer.out_of_the_crontab()?);
    Ok(TimerReport { unchanged: places.is_empty(), places, notes: Vec::new() })
}

struct Timer {
    name: String,
    top: String,
    exe: String,
    path: String,
}

impl Timer {
    fn new(project: &Project) -> Result<Self> {
        let top = project.top.canonicalize().map_err(Error::io("looking for the project"))?;
        let exe = std::env::current_exe().map_err(Error::io("looking for this program"))?;
        let digest = blake3::hash(top.as_os_str().as_encoded_bytes()).to_hex();
        let text = |path: &Path| {
            let text = path.to_str().filter(|text| !text.chars().any(char::is_control));
            text.map(str::to_owned)
                .ok_or_else(|| refused(&format!("{} has a name that no timer takes", path.display())))
        };
        Ok(Self {
            name: format!("onward-keep-{}", &digest[..NAME_DIGITS]),
            top: text(&top)?,
            exe: text(&exe)?,
            path: std::env::var("PATH").ok().filter(|path| !path.chars().any(char::is_control)).unwrap_or_default(),
        })
    }

    fn units(&self) -> [(PathBuf, String); 2] {
        let folder = unit_folder();
        let top = self.top.replace('%', "%%");
        let service = format!(
            "# Put there by `onward keep`; `onward keep --off` takes it away.\n\
             [Unit]\nDescription=onward: goes on with what waits in {top}\nConditionPathIsDirectory={top}/.onward\n\n\
             [Service]\nType=oneshot\n# The drivers that it starts live on.\nKillMode=process\nWorkingDirectory={top}\n\
             Environment={path_variable}\nExecStart={exe} keep --once\n",
            path_variable = quoted(&format!("PATH={}", self.path)),
            exe = quoted(&self.exe),
        );
        let timer = format!(
            "# Put there by `onward keep`; `onward keep --off` takes it away.\n\
             [Unit]\nDescription=onward: goes on with what waits in {top}\n\n\
             [Timer]\nOnStartupSec=30\nOnUnitInactiveSec={EVERY_MINUTES}min\n\n[Install]\nWantedBy=timers.target\n"
        );
        [(folder.join(format!("{}.service", self.name)), service), (folder.join(format!("{}.timer", self.name)), timer)]
    }

    fn put_into_systemd(&self) -> Result<TimerReport> {
        let units = self.units();
        let unchanged = units.iter().all(|(path, text)| fs::read_to_string(path).is_ok_and(|there| there == *text));
        if !unchanged {
            fs::create_dir_all(unit_folder()).map_err(Error::io(format!("making {}", unit_folder().display())))?;
            for (path, text) in &units {
                fs::write(path, text).map_err(Error::io(format!("writing {}", path.display())))?;
            }
            systemctl(&["daemon-reload"])?;
        }
        let timer = format!("{}.timer", self.name);
        if let Err(why) = systemctl(&["enable", "--now", &timer]) {
            // Half of it is no timer.
            let _ = self.out_of_systemd();
            return Err(why);
        }
        let places = units.iter().map(|(path, _)| path.display().to_string()).collect();
        Ok(TimerReport { places, unchanged, notes: lingering().into_iter().collect() })
    }

    fn out_of_systemd(&self) -> Result<Vec<String>> {
        let units = self.units();
        if !units.iter().any(|(path, _)| path.exists()) {
            return Ok(Vec::new());
        }
        // Where systemd does not answer there is nothing to be switched off.
        let _ = systemctl(&["disable", "--now", &format!("{}.timer", self.name)]);
        let mut gone = Vec::new();
        for (path, _) in units {
            match fs::remove_file(&path) {
                Ok(()) => gone.push(path.display().to_string()),
                Err(why) if why.kind() == io::ErrorKind::NotFound => {}
                Err(why) => return Err(Error::Io { what: format!("removing {}", path.display()), why }),
            }
        }
        let _ = systemctl(&["daemon-reload"]);
        Ok(gone)
    }

    fn marks(&self) -> [String; 2] {
        [format!("# {} begins: {}", self.name, self.top), format!("# {} ends", self.name)]
    }

    fn lines(&self) -> Vec<String> {
        let command = format!(
            "cd {} && PATH={} {} keep --once >/dev/null 2>&1",
            shell_quoted(&self.top),
            shell_quoted(&self.path),
            shell_quoted(&self.exe)
        );
        // A percent sign ends a command of cron.
        let command = command.replace('%', "\\%");
        let [begin, end] = self.marks();
        vec![begin, format!("@reboot {command}"), format!("*/{EVERY_MINUTES} * * * * {command}"), end]
    }

    fn put_into_the_crontab(&self, now: &[u8]) -> Result<TimerReport> {
        let (others, mine) = self.parted(now)?;
        let lines = self.lines();
        let unchanged = mine.iter().copied().eq(lines.iter().map(String::as_bytes));
        if !unchanged {
            put_crontab(others.into_iter().chain(lines.iter().map(String::as_bytes)))?;
        }
        let places =
            vec![format!("crontab of this user: {} lines between \"{}\" and \"{}\"", lines.len(), lines[0], lines[3])];
        Ok(TimerReport { places, unchanged, notes: Vec::new() })
    }

    fn out_of_the_crontab(&self) -> Result<Option<String>> {
        let Some(now) = crontab()? else { return Ok(None) };
        let (others, mine) = self.parted(&now)?;
        if mine.is_empty() {
            return Ok(None);
        }
        let count = mine.len();
        put_crontab(others.into_iter())?;
        Ok(Some(format!("{count} lines of the crontab of this user")))
    }

    /// The lines of others, and those of this timer. Lines are bytes: those of others come back as they were.
    fn parted<'a>(&self, crontab: &'a [u8]) -> Result<(Lines<'a>, Lines<'a>)> {
        let [begin, end] = self.marks();
        let (mut others, mut mine, mut inside) = (Vec::new(), Vec::new(), false);
        let text = crontab.strip_suffix(b"\n").unwrap_or(crontab);
        for line in text.split(|byte| *byte == b'\n').filter(|_| !text.is_empty()) {
            inside |= line == begin.as_bytes();
            if inside {
                mine.push(line);
            } else {
                others.push(line);
            }
            inside &= line != end.as_bytes();
        }
        if inside {
            // What follows may be anybody's.
            return Err(refused(&format!(
                "the crontab has a line \"{begin}\" and none \"{end}\" behind it; see  crontab -e"
            )));
        }
        Ok((others, mine))
    }
}

fn unit_folder() -> PathBuf {
    let configured = std::env::var_os("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default().join(".config");
    configured.unwrap_or_else(home).join("systemd/user")
}

fn has_systemd() -> bool {
    run("systemctl", &["--user", "show-environment"], None).is_ok_and(|done| done.status.success())
}

fn systemctl(words: &[&str]) -> Result<()> {
    let all: Vec<&str> = ["--user"].iter().chain(words).copied().collect();
    let done = run("systemctl", &all, None).map_err(Error::io("calling systemctl --user"))?;
    if done.status.success() {
        return Ok(());
    }
    Err(refused(&format!("systemctl --user {}: {}", words.join(" "), first_line(&done.stderr))))
}

/// User units end with the last session unless somebody said otherwise.
fn lingering() -> Option<String> {
    let user = std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).ok()?;
    let lingers = Path::new("/var/lib/systemd/linger").join(&user).exists();
    (!lingers)
        .then(|| "it works while you are logged in; `loginctl enable-linger` lets it work after that, too".to_owned())
}

/// This user's crontab; none where there is no such program. One that cannot be read now is not taken for an empty one.
fn crontab() -> Result<Option<Vec<u8>>> {
    let Ok(done) = run("crontab", &["-l"], None) else { return Ok(None) };
    if done.status.success() {
        return Ok(Some(done.stdout));
    }
    let said = String::from_utf8_lossy(&done.stderr).to_ascii_lowercase();
    // Who has none is told so, with another code.
    if NO_CRONTAB.iter().any(|words| said.contains(words)) {
        return Ok(Some(Vec::new()));
    }
    Err(refused(&format!("crontab -l: {}", first_line(&done.stderr))))
}

fn put_crontab<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Result<()> {
    let text: Vec<u8> = lines.flat_map(|line| [line, b"\n"]).flatten().copied().collect();
    let done = run("crontab", &["-"], Some(&text)).map_err(Error::io("calling crontab"))?;
    if done.status.success() { Ok(()) } else { Err(refused(&format!("crontab -: {}", first_line(&done.stderr)))) }
}

fn run(program: &str, words: &[&str], input: Option<&[u8]>) -> io::Result<Output> {
    let mut command = Command::new(program);
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    let mut child = command.args(words).stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let (Some(text), Some(mut stdin)) = (input, child.stdin.take()) {
        stdin.write_all(text)?;
    }
    child.wait_with_output()
}

fn first_line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).lines().next().unwrap_or("it says nothing").trim().to_owned()
}

fn refused(why: &str) -> Error {
    Error::NoTimer { why: why.to_owned() }
}

/// One word of a unit file.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$"))
}

fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timer() -> Timer {
        let text = str::to_owned;
        Timer { name: text("onward-keep-abc"), top: text("/w/it's 100%"), exe: text("/bin/onward"), path: text("/bin") }
    }

    /// Lines of others stay where they are; those of this timer are found by their marks, whatever stands between them.
    #[test]
    fn lines_of_others_are_told_apart() {
        let [begin, end] = timer().marks();
        let text = format!("MAILTO=x\n{begin}\n@reboot old\n{end}\n0 1 * * * theirs\n");
        let timer = timer();
        let (others, mine) = timer.parted(text.as_bytes()).expect("both marks");
        assert_eq!(others, [&b"MAILTO=x"[..], b"0 1 * * * theirs"]);
        assert_eq!(mine.len(), 3);
        assert!(timer.parted(text.replace(&end, "").as_bytes()).is_err(), "what follows may be anybody's");
    }

    #[test]
    fn names_with_signs_are_quoted() {
        assert!(timer().lines()[1].contains("cd '/w/it'\\''s 100\\%' && "), "{:?}", timer().lines());
        let [(_, service), _] = timer().units();
        assert!(service.contains("WorkingDirectory=/w/it's 100%%\n"), "{service}");
    }
}
