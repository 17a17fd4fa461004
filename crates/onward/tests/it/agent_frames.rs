//! The frames of an agent: it can write into the folder where they lie, and that changes nothing of what counts.

use super::agent_calls::{calls, with_agent};

const PLAN: &str = "
    onward: 1
    name: frames
    phases:
      build: { agent: { prompt: Ship it. } }
      after: { needs: build, run: step after }
";

/// The attempt has failed with words that say why and the client's own cost stands on record.
fn counts_for_nothing(step: &str) {
    let project = with_agent(PLAN, &[step]);
    let run = project.command(["run"]).expect(1);
    assert!(run.err.contains("changed or removed while it worked"), "{run}");
    assert_eq!(calls(&project).len(), 1, "it is not tried again");
    let status = project.command(["status", "--json"]).json();
    assert_eq!(status["cost_usd"], 0.1, "{status}");
}

/// The agent tells that a call was refused and what it cost, and takes both back where they were written down.
#[test]
fn what_an_agent_takes_back_was_said() {
    counts_for_nothing(
        "init s1; denied='{\"tool_name\":\"Bash\",\"tool_use_id\":\"t1\",\"tool_input\":{}}'; done_
         until grep -q '\"type\":\"result\"' .onward/attempts/*/build/*/frames 2> /dev/null; do sleep 0.02; done
         for f in .onward/attempts/*/build/*/frames; do
             denied=; done_ | sed 's/0\\.1/0.0/' > $f
         done\n",
    );
}

/// The agent deletes the folder of its own attempt at the end.
#[test]
fn an_agent_that_deletes_its_folder_has_failed() {
    counts_for_nothing("init s1; done_; rm -rf .onward/attempts/*/build/*\n");
}
