//! Stories about `.claude/checkpoint-config.yaml`, the configuration that another tool left: each of its keys has its effect.

use std::fs;
use std::path::Path;

use onward_testkit::TestProject;
use serde_json::Value;

use crate::project;

const TWO: &str = "
onward: 1
name: demo
phases:
  a: { run: step a }
  b: { needs: a, run: step b }
  c: { needs: b, external: { instructions: do c } }
";

/// A project with these lines below `checkpoint:`.
fn configured(lines: &str) -> TestProject {
    let project = project();
    project.plan(TWO);
    project.write(".claude/checkpoint-config.yaml", format!("checkpoint:\n{lines}"));
    project
}

/// The first triggers of the checkpoints of the newest run.
fn triggers(project: &TestProject) -> Vec<String> {
    let log = project.command(["log", "--json"]).expect(0).json();
    let all = log["checkpoints"].as_array().into_iter().flatten();
    all.flat_map(|one| one["triggers"].as_array().cloned().unwrap_or_default())
        .filter_map(|trigger| trigger.as_str().map(str::to_owned))
        .collect()
}

/// The reasons for which a prune would delete checkpoints.
fn pruned(project: &TestProject) -> Vec<String> {
    let plan = project.command(["prune", "--dry-run", "--json"]).expect(0).json();
    let all: &Vec<Value> = plan["delete"].as_array().expect("a list");
    all.iter().map(|one| one["reason"].as_str().expect("a reason").to_owned()).collect()
}

/// Checkpoints that are taken by themselves are switched off, as a whole and by their trigger.
#[test]
fn brought_switches_switch() {
    for lines in ["  enabled: false\n", "  auto_checkpoint: false\n"] {
        let project = configured(lines);
        project.command(["run"]).expect(15);
        assert_eq!(triggers(&project), Vec::<String>::new(), "{lines}");
        project.command(["checkpoint"]).expect(0);
        assert_eq!(triggers(&project), ["manual"], "{lines}");
    }
    for (off, on) in [("phase_transition", "batch_complete"), ("batch_complete", "phase_transition")] {
        let project = configured(&format!("  checkpoint_triggers:\n    {off}: false\n"));
        project.command(["run"]).expect(15);
        let taken = triggers(&project);
        assert!(!taken.iter().any(|one| one == off) && taken.iter().any(|one| one == on), "{off}: {taken:?}");
    }
}

/// Each count of the retention is gone by.
#[test]
fn brought_counts_count() {
    for trigger in ["phase_transition", "batch_complete", "manual"] {
        let project = configured(&format!(
            "  checkpoint_triggers:\n    phase_transition: {}\n    batch_complete: {}\n  retention:\n    {trigger}: 0\n",
            trigger != "batch_complete",
            trigger != "phase_transition",
        ));
        project.command(["run"]).expect(15);
        project.command(["checkpoint"]).expect(0);
        project.command(["checkpoint"]).expect(0);
        let gone = pruned(&project);
        assert!(!gone.is_empty() && gone.iter().all(|why| why.contains(trigger)), "{trigger}: {gone:?}");
    }
}

/// A folder brings checkpoints of agents and conflicts. They are kept by their own counts.
#[test]
fn brought_counts_of_agents_and_conflicts_count() {
    for trigger in ["agent_complete", "conflict_resolved", "user_interrupt"] {
        let project = configured(&format!("  retention:\n    {trigger}: 1\n"));
        for number in 1..=4 {
            let id = format!("CP-enrich-2025011{number}-a{number}");
            let text = format!(
                "checkpoint_id: {id}\nversion: \"1.0\"\ncreated_at: \"2025-01-1{number}T10:00:00Z\"\ntrigger: {trigger}\n\
                 workflow_state:\n  current_phase: enrich\nrecovery_info:\n  can_resume: true\n"
            );
            project.write(format!("in/{id}.yaml"), &text);
        }
        project.command(["import", "in"]).expect(0);
        let gone = pruned(&project);
        assert_eq!(gone.len(), 3, "{trigger}: {gone:?}");
    }
}

/// Storage is compressed or not, and the oldest go above the limit of size.
#[test]
fn brought_storage_is_gone_by() {
    let state = format!("{{\"text\": \"{}\"}}", "plain-as-it-is ".repeat(2_000));
    for (lines, is_plain) in [("  storage:\n    compress: false\n", true), ("  enabled: true\n", false)] {
        let project = configured(lines);
        project.write("state.json", &state);
        project.command(["save", "implement", "shop", "--state", "state.json"]).expect(0);
        assert_eq!(holds(&project.path(".onward"), &"plain-as-it-is ".repeat(200)), is_plain, "{lines}");
    }
    let project = configured("  storage:\n    max_size_mb: 1\n    compress: false\n");
    for number in 0..5 {
        let noise: String = (0..30_000_u64).map(|at| format!("{:x}", at.wrapping_mul(0x9e37_79b9 + number))).collect();
        project.write("state.json", format!("{{\"n\": {number}, \"noise\": \"{noise}\"}}"));
        project.command(["save", "implement", "shop", "--state", "state.json"]).expect(0);
    }
    let gone = pruned(&project);
    assert!(!gone.is_empty() && gone.iter().all(|why| why.contains("is the limit")), "{gone:?}");
}

/// A plan says whether what its runs store is compressed. That goes before the configuration, whichever way round.
#[test]
fn a_plan_says_whether_it_is_compressed() {
    let words = "plain-as-it-is ".repeat(200);
    for (configured, planned) in [(false, true), (true, false)] {
        let project = project();
        project.command(["init"]).expect(0);
        project.write(".onward/config.yaml", format!("checkpoint: {{ storage: {{ compress: {configured} }} }}\n"));
        project.plan(&format!(
            "onward: 1\nname: demo\ncheckpoint: {{ compress: {planned} }}\nphases:\n  a: {{ run: 'true', description: {words} }}\n"
        ));
        project.command(["run"]).expect(0);
        // The database cuts long values into pages.
        assert_eq!(holds(&project.path(".onward"), &words[..300]), !planned, "{configured} {planned}");
    }
}

fn holds(folder: &Path, words: &str) -> bool {
    fs::read_dir(folder).expect("a folder").flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return holds(&path, words);
        }
        let bytes = fs::read(&path).unwrap_or_default();
        bytes.windows(words.len()).any(|window| window == words.as_bytes())
    })
}
