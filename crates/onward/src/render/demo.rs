//! The words of `onward demo`.

use std::fmt::Write as _;
use std::path::Path;

use super::safe;

pub(crate) const PLAN_FILE: &str = "parcels.yaml";

/// A plan that takes some seconds, with a long phase and an effect that must not happen twice.
pub(crate) const PLAN: &str = r#"onward: 1
name: parcels
phases:
  pick: { run: echo "20 orders picked" }
  pack:
    needs: pick
    run: |
      packed=$(cat packed.txt 2>/dev/null | wc -l)
      while [ "$packed" -lt 20 ]; do
        sleep 0.4
        packed=$((packed + 1))
        echo "parcel $packed, by attempt $ONWARD_ATTEMPT" >> packed.txt
        echo "$packed/20" >> "$ONWARD_PROGRESS"
      done
  charge:
    needs: pack
    effects: external
    done-when: test -s charges.txt
    run: echo "charged under key $ONWARD_KEY" >> charges.txt
  report: { needs: charge, run: echo "all parcels are on their way" }
"#;

pub(crate) const EVERYTHING_DIED: &str = "
Everything was killed with `kill -9`: the program, and the phase it ran. A power cut looks like this.
";

pub(crate) const GOES_ON: &str = "
The same command finds the unfinished run and resumes it. `pick` is done and does not run again. \
`pack` was cut off, so it is tried again; it counts the parcels that are there and goes on after them.
";

pub(crate) const DRIVER_DIED: &str = "
This time only the program was killed. The phase does not notice: a small process stays with it and keeps its result.
";

pub(crate) const STILL_AT_WORK: &str = "
`pack` is at work without the program. The next start waits for it instead of starting a second one beside it.
";

/// The first page: what will happen, and the plan.
pub(crate) fn beginning(folder: &Path, parcels: usize) -> String {
    let mut text = format!(
        "A run of four phases packs {parcels} parcels and charges a card. It is killed twice and finishes all the same.\n\
         It takes about fifteen seconds; everything happens in {}, which is removed at the end.\n\n$ cat {PLAN_FILE}\n",
        safe::line(&folder.display().to_string())
    );
    for line in PLAN.lines() {
        text.push_str(&said(line));
    }
    text
}

/// A command as it would be typed.
pub(crate) fn typed(words: &[&str]) -> String {
    format!("\n$ onward {}\n", words.join(" "))
}

/// A line of a command's output.
pub(crate) fn said(line: &str) -> String {
    format!("  │ {}\n", safe::line(line))
}

/// The last page: what was done, and by which attempt.
pub(crate) fn end(packed: &str, charges: usize) -> String {
    let mut text = String::from("\nEvery parcel is packed once, and the card was charged once:\n");
    for attempt in 1..=3 {
        let by = packed.lines().filter(|line| line.ends_with(&format!("by attempt {attempt}"))).count();
        if by > 0 {
            let _ = writeln!(text, "  {by} parcels were packed by attempt {attempt}");
        }
    }
    let _ = writeln!(text, "  charges of the card: {charges}");
    text.push_str("\nYour turn:  onward init --plan  writes a first plan,  onward run  runs it.\n");
    text
}
