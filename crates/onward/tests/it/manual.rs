//! Help that a person looks up: codes, manual pages, and what a shell offers.

use crate::project;

/// A code from an error page is explained, in brackets or without; a word that is no code is still a mistake.
#[test]
fn a_code_is_explained() {
    let project = project();
    let page = project.command(["status"]).expect(10).err;
    let code = page.split("error[").nth(1).and_then(|rest| rest.split(']').next()).expect("a code on the page");
    for typed in [code.to_owned(), format!("error[{code}]")] {
        let told = project.command(["help", &typed]).expect(0).out;
        assert!(told.contains("onward init"), "{told}");
    }
    assert!(project.command(["help", "effect-without-probe"]).expect(0).out.contains("done-when"));
    assert!(project.command(["help", "15"]).expect(0).out.contains("An approval or a report is waited for."));
    project.command(["help", "no-such-word"]).expect(2);
    project.command(["help", "99"]).expect(2);
}

/// The page of a verb is a manual page and names its flags; a verb that is not there has none.
#[test]
fn verbs_have_manual_pages() {
    let project = project();
    let page = project.command(["man", "run"]).expect(0).out;
    assert!(page.contains(".TH") && page.contains("fresh"), "{page}");
    assert!(project.command(["man"]).expect(0).out.contains("resume"));
    project.command(["man", "frobnicate"]).expect(2);
}

/// A shell asks what could come next: verbs, and the phases and checkpoints that are there. Where there is no project it is
/// offered nothing, and hears no error.
#[test]
fn a_shell_is_offered_what_is_there() {
    let project = project();
    let offered = |words: &[&str]| {
        let index = (words.len() - 1).to_string();
        let mut command = project.prepare(["--"].iter().chain(words));
        command.env("ONWARD_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", index);
        let ran = project.spawn(command).wait_within(std::time::Duration::from_secs(10));
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        ran.out
    };
    assert_eq!(offered(&["onward", "logs", ""]).lines().find(|line| line.contains("fetch")), None);
    project.plan(
        "{ onward: 1, name: demo, phases: { fetch: { run: step fetch }, load: { needs: fetch, run: step load }, day: { matrix: { day: [mon] }, run: 'true' } } }",
    );
    project.command(["run"]).expect(0);
    assert!(offered(&["onward", "sta"]).contains("status"));
    assert!(offered(&["onward", "logs", "fe"]).contains("fetch"));
    assert!(offered(&["onward", "retry", "lo"]).contains("load"));
    assert!(offered(&["onward", "logs", "day"]).contains("day[mon]"), "as people know it, not as it is stored");
    assert!(offered(&["onward", "rewind", "CP-f"]).contains("CP-fetch"));
    let script = project.command(["completions", "bash"]).expect(0).out;
    assert!(script.contains("ONWARD_COMPLETE"), "{script}");
}
