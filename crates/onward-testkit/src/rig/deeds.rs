//! The plan that has everything, with phases that behave as badly as real ones do.

use crate::TestProject;
use crate::sim::dice::Dice;

const DEED: &str = include_str!("deed.sh");
const SEEN: &str = include_str!("seen.sh");
const EVERYTHING: &str = include_str!("everything.yaml");
const INNER: &str = "onward: 1\nphases:\n  one:\n    run: DEED\n  two:\n    needs: one\n    run: DEED\n";

/// Phases whose effect nobody may see twice, whatever was killed: a person who looks at the world answers for them. Two have no
/// retries; one has some, which must not count where it was cut short.
pub(super) const OUTWARD: [&str; 3] = ["pay", "post", "charge"];

/// How the work of a phase is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manners {
    /// With children, closed descriptors, sessions and emptied environments, as the dice say.
    Bad,
    /// Short, by itself: for rigs in which every call is slow.
    Plain,
}

/// A project with the tools of the rig on its PATH and an empty ledger.
pub(super) fn project(binary: &std::path::Path) -> TestProject {
    let mut project = TestProject::new(binary);
    for (name, text) in [("deed", DEED), ("seen", SEEN)] {
        project.script(name, text);
    }
    let rig = project.root().join("rig");
    for folder in ["live", "once"] {
        std::fs::create_dir_all(rig.join(folder)).expect("the folder is ours");
    }
    std::fs::File::create(rig.join("ledger")).expect("the folder is ours");
    project.set_env("RIG", &rig);
    project
}

/// Writes the plan `NAME.yaml`, the plan it uses, and the one that a replan brings.
pub(super) fn write_plan(project: &TestProject, name: &str, manners: Manners, dice: &mut Dice) {
    let text = filled(EVERYTHING, name, manners, dice);
    let more = filled("  more:\n    needs: list\n    run: DEED\n", name, manners, dice);
    let (head, finally) = text.split_once("finally:").expect("the plan has a last part");
    project.write(format!("{name}-next.yaml"), format!("{head}{more}finally:{finally}"));
    project.write(format!("{name}.yaml"), &text);
    project.write(format!("{name}-inner.yaml"), filled(INNER, name, manners, dice));
}

/// A plan with its name and a deed in every place for one.
fn filled(text: &str, name: &str, manners: Manners, dice: &mut Dice) -> String {
    let text = text.replace("NAME", name);
    // A limit opens after a second at the earliest, which is long where every call is counted.
    let text = if manners == Manners::Plain { text.replace(" limited", "") } else { text };
    let text = text.replace("CHARGE", &charge(manners, dice));
    let mut parts = text.split("DEED");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |so_far, part| so_far + &words(manners, dice) + part)
}

/// A deed whose own word can be trusted: it fails only where its effect did not happen, or says that a signal ended its child.
fn charge(manners: Manners, dice: &mut Dice) -> String {
    match manners {
        Manners::Plain => "exec deed for=3".to_owned(),
        Manners::Bad => {
            // Long enough that it is met between its effect and its end.
            format!("exec deed for={} {}", 450 + dice.below(600), dice.pick(&["", "child", "session", "deaf"]))
        }
    }
}

/// The command of one deed. What closes its descriptors keeps its environment: something must be left to be known by.
fn words(manners: Manners, dice: &mut Dice) -> String {
    if manners == Manners::Plain {
        return "exec deed for=3".to_owned();
    }
    // Some long enough to be met by the next attempt, if nobody ends what is left of them.
    let millis = if dice.percent(20) { 1500 + dice.below(1500) } else { 30 + dice.below(400) };
    let mut words = vec![format!("{}deed for={millis}", dice.pick(&["", "exec ", "exec "]))];
    let by = *dice.pick(&["self", "child", "session", "orphan", "bare"]);
    if by != "self" {
        words.push(by.to_owned());
    }
    if by != "bare" && dice.percent(30) {
        words.push("closes".to_owned());
    }
    for (word, chance) in [("deaf", 20), ("leaves", 15), ("posts", 10)] {
        if dice.percent(chance) {
            words.push(word.to_owned());
        }
    }
    words.join(" ")
}
