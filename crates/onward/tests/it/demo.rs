//! `onward demo`, as a newcomer types it in an empty folder.

use std::time::Duration;

use crate::project;

/// The demonstration is killed twice, finishes all the same, and leaves neither a folder nor a process.
#[test]
fn the_tour_of_the_demo_leaves_nothing_behind() {
    let project = project();
    let ran = project.spawn(project.prepare(["demo"])).wait_within(Duration::from_mins(1));
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("4 parcels were packed by attempt 1"), "{}", ran.out);
    assert!(ran.out.contains("16 parcels were packed by attempt 2"), "{}", ran.out);
    assert!(ran.out.contains("→ pack  at work"), "the phase is over before it is shown: {}", ran.out);
    assert!(ran.out.contains("charges of the card: 1"), "{}", ran.out);
    let folder = ran.out.split("everything happens in ").nth(1).and_then(|rest| rest.split(',').next());
    let folder = std::path::Path::new(folder.expect("the folder is named"));
    assert!(folder.is_absolute() && !folder.exists(), "{} is still there", folder.display());
    let entries: Vec<_> = std::fs::read_dir(project.dir()).expect("the project").flatten().collect();
    assert!(entries.iter().all(|entry| entry.file_name() != ".onward"), "a project was made where the demo was typed");
}
