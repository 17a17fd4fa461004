//! Commands that tell a run something beside its driver, and what they were answered.

use std::time::Duration;

use super::patience::Patience;
use crate::TestProject;
use crate::running::Running;
use crate::sim::dice::Dice;

/// How long a post may take.
pub(super) const POST_MAX: Duration = Duration::from_secs(30);

/// The item that is posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PostedWhat {
    /// A word of its own in the state of the run.
    Merge(String),
    /// A checkpoint of this name.
    Checkpoint(String),
    Progress,
    /// The phase that somebody else does is done.
    Done,
    Approve,
}

/// A post under way.
pub(super) struct Post {
    pub(super) what: PostedWhat,
    pub(super) run: String,
    pub(super) running: Running,
    pub(super) patience: Patience,
}

/// Something to post, as the dice say.
pub(super) fn any(word: String, dice: &mut Dice) -> PostedWhat {
    match dice.below(10) {
        0..=4 => PostedWhat::Merge(word),
        5..=6 => PostedWhat::Checkpoint(word),
        7 => PostedWhat::Progress,
        8 => PostedWhat::Done,
        _ => PostedWhat::Approve,
    }
}

/// Starts the command.
pub(super) fn start(project: &TestProject, run: &str, what: PostedWhat) -> Post {
    let mut args: Vec<String> = match &what {
        PostedWhat::Merge(word) => {
            let file = project.root().join("rig").join(format!("{word}.json"));
            std::fs::write(&file, format!("{{\"posts\":{{\"{word}\":\"{word}\"}}}}")).expect("the folder is ours");
            vec!["state".into(), "merge".into(), file.to_string_lossy().into_owned(), "--run".into()]
        }
        PostedWhat::Checkpoint(name) => vec!["checkpoint".into(), "--name".into(), name.clone()],
        PostedWhat::Progress => {
            ["report", "progress", "hand", "--note", "1/3", "--run"].into_iter().map(str::to_owned).collect()
        }
        PostedWhat::Done => ["report", "done", "hand", "--run"].into_iter().map(str::to_owned).collect(),
        PostedWhat::Approve => vec!["approve".into()],
    };
    args.push(run.to_owned());
    if what == PostedWhat::Approve {
        args.push("agree".to_owned());
    }
    Post { what, run: run.to_owned(), running: project.start(args), patience: Patience::new(POST_MAX) }
}
