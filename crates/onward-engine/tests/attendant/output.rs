//! Output and files of a phase that are kept.

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;

use onward_engine::attendant::{OutputsError, ProcessEnd};
use onward_engine::redact::{MARK, Secrets};

use crate::world::{Tests, World, hold, wait_for, wait_for_end};

pub(crate) const TESTS: Tests = &[
    ("endless_line_stays_bounded", endless_line_stays_bounded),
    ("beginning_and_end_are_kept", beginning_and_end_are_kept),
    ("bytes_are_kept_as_they_are", bytes_are_kept_as_they_are),
    ("part_of_a_line_is_not_kept_back_for_long", part_of_a_line_is_not_kept_back_for_long),
    ("disk_that_takes_nothing", disk_that_takes_nothing),
    ("secrets_are_cut_before_they_are_written", secrets_are_cut_before_they_are_written),
    ("own_files_of_the_phase_are_cleaned", own_files_of_the_phase_are_cleaned),
    ("one_planted_file_keeps_no_other_from_being_cleaned", one_planted_file_keeps_no_other_from_being_cleaned),
    ("words_are_clean_for_whoever_knows_all_secrets", words_are_clean_for_whoever_knows_all_secrets),
    ("outputs_are_checked", outputs_are_checked),
    ("planted_files_are_not_followed", planted_files_are_not_followed),
    ("late_words_of_a_helper_are_kept", late_words_of_a_helper_are_kept),
];

fn nothing_secret() -> Secrets {
    Secrets::new(&[])
}

/// A phase prints 50 MB without a line break. The phase is not held up, the attendant stays small, and the files stay within their
/// limits.
fn endless_line_stays_bounded() {
    let world = World::new(&format!("head -c 50000000 /dev/zero; echo ready > ready; {}", hold("gate")));
    let attending = world.start();
    world.wait_for_file("ready");
    let status = fs::read_to_string(format!("/proc/{}/status", attending.pid)).expect("a living attendant");
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().split(' ').next()?.parse::<u64>().ok());
    assert!(peak.expect("a peak") < 24 * 1024, "the attendant grew to {peak:?} KiB");
    world.open("gate");
    wait_for_end(attending.fd());
    let exit = world.exit();
    assert_eq!((exit.outcome, exit.output_bytes, exit.log_error), (ProcessEnd::Code(0), 50_000_000, None));
    let size = |name: &str| fs::metadata(world.folder.path().join(name)).map_or(0, |about| about.len());
    let kept = size("output") + size("tail.0") + size("tail.1");
    assert_eq!(kept + exit.output_dropped_bytes, 50_000_000);
    assert!(kept <= world.spec.output_head_bytes_max + world.spec.output_tail_bytes_max, "{kept} bytes were kept");
}

/// A phase prints more lines than are kept. The first and the last are there, with a line between that says how much is not.
fn beginning_and_end_are_kept() {
    let mut world = World::new("i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done");
    (world.spec.output_head_bytes_max, world.spec.output_tail_bytes_max) = (1_000, 2_000);
    let exit = world.run();
    let output = world.output();
    assert!(output.starts_with("line 0\nline 1\n") && output.ends_with("line 2998\nline 2999\n"), "{output}");
    assert!(output.contains(&format!("\n[… {} bytes left out …]\n", exit.output_dropped_bytes)), "{output}");
    assert!(exit.output_dropped_bytes > 20_000 && output.len() < 3_200);
    let end = world.folder.output_end(1_500).expect("readable output");
    assert_eq!((end.len(), output.as_bytes().ends_with(&end)), (1_500, true));
}

/// A phase prints bytes that are no text, with escapes and without an end of line. They are kept as they are.
fn bytes_are_kept_as_they_are() {
    let world = World::new(r"printf '\000\377\033[31mred\r\n\302\240\342'");
    world.run();
    let mut bytes = Vec::new();
    world.folder.read_output().expect("readable output").read_to_end(&mut bytes).expect("readable output");
    assert_eq!(bytes, b"\x00\xff\x1b[31mred\r\n\xc2\xa0\xe2");
}

/// A phase asks a question and waits. The question can be read although its line has not ended.
fn part_of_a_line_is_not_kept_back_for_long() {
    let world = World::new(&format!("printf 'go on? '; {}", hold("gate")));
    let attending = world.start();
    wait_for(|| world.output() == "go on? ", "the question");
    world.open("gate");
    wait_for_end(attending.fd());
}

/// The place for the output cannot be written to. The phase is not held up and ends well, and the record says what was lost and why.
fn disk_that_takes_nothing() {
    let world = World::new("head -c 300000 /dev/zero");
    fs::create_dir(world.folder.path().join("output")).expect("a new folder");
    let exit = world.run();
    assert_eq!((exit.outcome, exit.output_bytes, exit.output_dropped_bytes), (ProcessEnd::Code(0), 300_000, 300_000));
    assert!(exit.log_error.is_some());
}

/// A phase prints a secret in two pieces, a token of a known shape, and the secret in base64. None of them reaches the disk.
fn secrets_are_cut_before_they_are_written() {
    let mut world = World::new(
        "printf 'a correct-horse'; sleep 0.3; echo '-battery b'; echo ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8 >&2
         printf 'user:%s' \"$DEPLOY_TOKEN\" | base64; echo \"named $PLAIN\"",
    );
    world.set("DEPLOY_TOKEN", "correct-horse-battery");
    world.set("PLAIN", "not-so-plain-after-all");
    world.spec.secret_names.more = vec!["PLAIN".to_owned()];
    let exit = world.run();
    let output = world.output();
    assert_eq!(exit.redacted, 4, "{output}");
    assert!(output.contains(&format!("a {MARK} b\n")) && output.contains(&format!("named {MARK}\n")), "{output}");
    for word in ["horse", "ghp_", "plain-after", "Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5", "dXNlcjpjb3JyZWN0LWhvcnNlLWJhdHRlcnk"]
    {
        assert!(!output.contains(word), "{word} is in {output}");
    }
}

/// A phase writes secrets into its outputs, its note and its summary. When it has ended they are gone from these files.
fn own_files_of_the_phase_are_cleaned() {
    let mut world = World::new(
        "echo plain=visible > $ONWARD_OUTPUT; echo t=$DEPLOY_TOKEN >> $ONWARD_OUTPUT
         echo \"with $DEPLOY_TOKEN\" | tee $ONWARD_SUMMARY > $ONWARD_PROGRESS",
    );
    world.set("DEPLOY_TOKEN", "correct-horse-battery");
    world.run();
    let secrets = nothing_secret();
    let outputs = world.folder.read_outputs(&secrets).expect("well-formed outputs");
    assert_eq!(outputs["plain"], "visible");
    assert_eq!(outputs["t"], MARK);
    assert_eq!(world.folder.read_summary(&secrets).expect("readable"), Some(format!("with {MARK}")));
    assert_eq!(world.folder.read_note(&secrets).expect("readable"), Some(format!("with {MARK}")));
}

/// A phase puts a pipe in the place of its note and a secret into its summary. The summary is cleaned, and the record says that not
/// everything was.
fn one_planted_file_keeps_no_other_from_being_cleaned() {
    let mut world =
        World::new("rm $ONWARD_PROGRESS; mkfifo $ONWARD_PROGRESS; echo \"with $DEPLOY_TOKEN\" > $ONWARD_SUMMARY");
    world.set("DEPLOY_TOKEN", "correct-horse-battery");
    assert!(world.run().uncleaned);
    let summary = fs::read_to_string(world.folder.summary_path()).expect("readable");
    assert_eq!(summary, format!("with {MARK}\n"));
    assert!(!world.folder.is_clean_with(&nothing_secret()));
    assert!(world.folder.is_clean_with(&Secrets::new(&[b"correct-horse-battery".to_vec()])));
}

/// A phase is at work. What it writes itself is clean for those who know all its secrets, and for everybody once it has ended; where
/// the records of an attempt are lost, for nobody.
fn words_are_clean_for_whoever_knows_all_secrets() {
    let mut world = World::new(&format!("echo ready > ready; {}", hold("gate")));
    world.set("DEPLOY_TOKEN", "correct-horse-battery");
    world.spec.secret_values = vec![b"given-as-an-input".to_vec()];
    let attending = world.start();
    world.wait_for_file("ready");
    let clean = |values: &[&str]| {
        let values: Vec<_> = values.iter().map(|value| value.as_bytes().to_vec()).collect();
        world.folder.is_clean_with(&Secrets::new(&values))
    };
    assert!(clean(&["correct-horse-battery", "given-as-an-input", "something-else"]));
    assert!(!clean(&["correct-horse-battery"]) && !clean(&["given-as-an-input"]) && !clean(&[]));
    let started = fs::read_to_string(world.folder.path().join("STARTED")).expect("readable");
    assert!(!started.contains("correct") && !started.contains("DEPLOY"), "{started}");
    world.open("gate");
    wait_for_end(attending.fd());
    assert!(clean(&[]));
    for name in ["EXIT", "STARTED"] {
        fs::remove_file(world.folder.path().join(name)).expect("it is there");
    }
    assert!(!clean(&["correct-horse-battery", "given-as-an-input"]));
}

/// Outputs, notes and summaries of all kinds are read. Values are taken as they stand, and what is malformed is named by its line.
fn outputs_are_checked() {
    let world = World::new("true");
    let (folder, secrets) = (&world.folder, nothing_secret());
    let outputs = |text: &[u8]| {
        fs::write(folder.result_path(), text).expect("a writable folder");
        folder.read_outputs(&secrets)
    };
    let taken = outputs(b"a=1\n\nb= x=$(rm) `y` \na=2").expect("well-formed outputs");
    assert_eq!(taken.into_iter().collect::<Vec<_>>(), [("a".into(), "2".into()), ("b".into(), " x=$(rm) `y` ".into())]);
    for text in
        [&b"a=1\nno value\n"[..], b"a=1\n1b=2\n", b"a=1\na b=2\n", b"a=1\nb=\xff\n", b"a=1\nb=\0\n", b"a=1\n=2\n"]
    {
        assert!(matches!(outputs(text), Err(OutputsError::Malformed { line: 2 })), "{}", text.escape_ascii());
    }
    assert!(matches!(outputs(&vec![b'a'; 70_000]), Err(OutputsError::TooLong)));

    fs::write(folder.progress_path(), "1/10\nsecond \x1b[1mnote\n\n  \n").expect("a writable folder");
    assert_eq!(folder.read_note(&secrets).expect("readable"), Some("second \x1b[1mnote".to_owned()));
    fs::write(folder.progress_path(), [b"first\n".as_slice(), &vec![b'x'; 9_000], b"\nlast"].concat())
        .expect("writable");
    assert_eq!(folder.read_note(&secrets).expect("readable"), Some("last".to_owned()));

    fs::write(folder.summary_path(), "word ".repeat(80)).expect("a writable folder");
    let summary = folder.read_summary(&secrets).expect("readable").expect("a summary");
    assert_eq!(summary.split(' ').count(), 50);
}

/// A phase puts a link, a pipe and a hard link in the places of its own files. None is read, and nobody waits for the pipe.
fn planted_files_are_not_followed() {
    let world =
        World::new("rm $ONWARD_OUTPUT $ONWARD_PROGRESS; mkfifo $ONWARD_PROGRESS; ln -f foreign $ONWARD_SUMMARY");
    fs::write(world.path("foreign"), "a=foreign\n").expect("a writable folder");
    let exit = world.run();
    assert!(exit.log_error.is_some(), "the cleaning went through");
    symlink(world.path("foreign"), world.folder.result_path()).expect("a new link");
    let secrets = nothing_secret();
    assert!(matches!(world.folder.read_outputs(&secrets), Err(OutputsError::Unreadable(_))));
    assert!(world.folder.read_note(&secrets).is_err() && world.folder.read_summary(&secrets).is_err());
    assert_eq!(fs::read_to_string(world.path("foreign")).expect("it is ours"), "a=foreign\n");
}

/// The main process has ended, but a helper that got its output has more to say than a pipe holds. All of it is kept.
fn late_words_of_a_helper_are_kept() {
    let world = World::new("head -c 500000 /dev/zero &");
    let exit = world.run();
    assert_eq!((exit.outcome, exit.output_bytes), (ProcessEnd::Code(0), 500_000));
}
