//! Phases that want another plan.

use onward_testkit::TestProject;

use crate::project;

const TOO_BIG: &str = "
    onward: 1
    name: demo
    replan: { run: cat next.yaml }
    phases:
      a: { run: step a }
      b: { needs: a, run: 'step b; echo far too big; exit 79' }
      c: { needs: b, run: step c }
";

const SPLIT: &str = "onward: 1
name: demo
phases:
  a: { run: step a }
  b1: { needs: a, run: step b1 }
  b2: { needs: b1, run: step b2 }
  c: { needs: b2, run: step c }
";

/// A phase finds itself too big, and the plan that the command makes waits for a person. The person agrees: the new plan is
/// carried out from where the old one stood, and what was done is not done again.
#[test]
fn a_person_agrees_to_another_plan() {
    let project = project();
    project.plan(TOO_BIG);
    project.write("next.yaml", SPLIT);
    project.command(["run"]).expect(15).err_names(["far too big", "added b1, b2; removed b"]);
    let status = project.command(["status"]).expect(0);
    assert!(status.out.contains("wants another plan (far too big)"), "{}", status.out);
    assert_eq!(project.command(["status", "--json"]).json()["status"], "waiting");
    project.command(["approve", "latest", "b"]).expect(0);
    project.command(["resume"]).expect(0);
    project.ran_once(["a", "b", "b1", "b2", "c"]);
    // The attempt at what is gone is on record.
    assert_eq!(project.command(["doctor", "--json"]).expect(0).json()["findings"], serde_json::json!([]));
}

/// There was no other plan, and later there is one. Whoever asks how it stands hears of the plan that waits for them, and nothing
/// of the refusal before; so does the question of the next start.
#[test]
fn a_refusal_is_over_when_a_plan_is_there() {
    let project = project();
    project.plan(TOO_BIG);
    project.command(["run"]).expect(14).err_names(["code 1"]);
    project.write("next.yaml", SPLIT);
    project.command(["resume"]).expect(15);
    let status = project.command(["status", "--json"]).json();
    assert_eq!(
        (&status["remaining"][0]["id"], &status["remaining"][0]["error"]),
        (&"b".into(), &serde_json::Value::Null)
    );
    let mut terminal = project.terminal(["run"]);
    terminal.expect("it wants another plan (far too big), which is there and waits");
    terminal.send("a\n");
    terminal.wait();
}

/// The new plan leaves out what is done. Whoever is asked about it is told that only the phase that asked goes: the other is kept.
#[test]
fn what_is_done_is_not_among_what_goes() {
    let project = project();
    project.plan(TOO_BIG);
    project.write("next.yaml", SPLIT.replace("  a: { run: step a }\n", "").replace("{ needs: a, ", "{ "));
    let asked = project.command(["run"]).expect(15);
    asked.err_names(["added b1, b2; removed b\n"]);
    project.command(["approve", "latest", "b"]).expect(0);
    project.command(["resume"]).expect(0);
    project.ran_once(["a", "b", "b1", "b2", "c"]);
}

/// The same, and the person does not agree. The plan stays, the phase is not begun again by itself, and a phase that is taken
/// as done lets the rest go on.
#[test]
fn a_person_does_not_agree() {
    let project = project();
    project.plan(TOO_BIG);
    project.write("next.yaml", SPLIT);
    project.command(["run"]).expect(15);
    project.command(["reject", "latest", "b"]).expect(0);
    project.command(["resume"]).expect(14).err_names(["tried before"]);
    project.ran_once(["a", "b"]);
    project.command(["resume", "--adopt", "b"]).expect(0);
    project.ran_once(["a", "b", "c"]);
}

/// Whoever does a phase brings another plan along. Where no approval is asked for it counts at once; the same plan a second
/// time is refused, and at the limit the exit code says so.
#[test]
fn a_plan_is_brought_along() {
    let project = project();
    let plan = |phases: &str| {
        format!(
            "onward: 1\nname: demo\nreplan: {{ approval: false, max: 1 }}\nphases:\n  a: {{ external: {{ instructions: do it }} }}\n{phases}"
        )
    };
    project.write("onward.yaml", plan("  b: { needs: a, run: step b }\n"));
    project.write("next.yaml", plan("  a2: { needs: a, run: step a2 }\n  b: { needs: a2, run: step b }\n"));
    project.write("third.yaml", plan("  b: { needs: a, run: step other }\n"));
    project.command(["run"]).expect(15);
    let report = |plan: &str, code: i32| {
        project.command(["report", "replan", "a", "--reason", "more to do", "--plan", plan, "--json"]).expect(code)
    };
    assert_eq!(report("onward.yaml", 1).json()["accepted"], false);
    report("next.yaml", 0);
    report("third.yaml", 16);
    project.command(["report", "done", "a", "--remaining", "none"]).expect(0);
    project.command(["resume"]).expect(0);
    project.ran_once(["a2", "b"]);
}

/// A worker says how hard its phase is. Beyond what the plan allows another plan is asked for, and the command makes it.
#[test]
fn too_hard_for_one_phase() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        replan: { approval: false, run: cat next.yaml, when: [too-complex], complexity-max: 5 }
        phases:
          a: { external: { instructions: do it } }
    ",
    );
    project.write("next.yaml", "onward: 1\nname: demo\nphases:\n  a1: { run: step a1 }\n  a2: { run: step a2 }\n");
    project.command(["run"]).expect(15);
    project.command(["report", "start", "a", "--complexity", "5"]).expect(0);
    assert!(!project.command(["log", "--events"]).expect(0).out.contains("replan_asked"));
    project.command(["report", "progress", "a", "--complexity", "6"]).expect(0);
    project.command(["resume"]).expect(0);
    project.ran_once(["a1", "a2"]);
}

/// The command that makes plans prints without end. It is ended when it has printed more than a plan can have, and a person is
/// asked.
#[test]
fn a_plan_without_end() {
    let project = project();
    project.plan(&TOO_BIG.replace("cat next.yaml", "yes"));
    project.command(["run"]).expect(14).err_names(["without end", "--retry b", "--skip b"]);
    project.ran_once(["a", "b"]);
}

/// The command that makes plans leaves something at work behind that has its output open. What it printed is the plan all the
/// same.
#[test]
fn a_plan_and_somebody_in_the_background() {
    let project = project();
    project.plan(&TOO_BIG.replace("{ run: cat next.yaml }", "{ approval: false, run: 'sleep 3 & cat next.yaml' }"));
    project.write("next.yaml", SPLIT);
    project.command(["run"]).expect(0);
    project.ran_once(["a", "b", "b1", "b2", "c"]);
}

/// A worker reports beside a driver, and what it says asks for a plan that nobody can make. The report is taken all the same; that
/// there is no plan is the run's affair, not the worker's.
#[test]
fn a_report_that_asks_in_vain() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        on-failure: continue
        replan: { when: [too-complex, failed] }
        phases:
          side: { run: step side hold }
          hard: { external: { instructions: do it } }
          gone: { external: { instructions: do it } }
    ",
    );
    let first = project.start(["run"]);
    project.wait_ledger("begin", "side", 1);
    let told = project.command(["report", "start", "hard", "--complexity", "9", "--json"]).expect(0).json();
    assert_eq!(told["accepted"], true);
    let told = project.command(["report", "fail", "gone", "--reason", "no way", "--json"]).expect(0).json();
    assert_eq!(told["accepted"], true);
    project.command(["checkpoint"]).expect(0);
    project.open("side");
    first.wait_code(14);
}

/// The command that makes plans is told why one is wanted. What it prints counts only if it ends well, and if the run was given
/// what the new plan asks for.
#[test]
fn a_plan_that_does_not_count() {
    for (command, next, says) in [
        ("cat next.yaml; exit 3", SPLIT.to_owned(), "ended with code 3"),
        ("cat next.yaml", SPLIT.replace("phases:", "inputs: { where: { required: true } }\nphases:"), "inputs"),
    ] {
        let project = project();
        let told = format!("{{ approval: false, run: 'echo \"$ONWARD_REPLAN_REASON\" > why; {command}' }}");
        project.plan(&TOO_BIG.replace("{ run: cat next.yaml }", &told));
        project.write("next.yaml", next);
        project.command(["run"]).expect(14).err_names([says]);
        assert_eq!(project.read("why").trim(), "far too big");
        project.ran_once(["a", "b"]);
        assert_eq!(project.count("begin", "b1"), 0);
    }
}

/// Two phases ask, and the same plan is proposed for both. A person agrees to the first; the second would change nothing any more,
/// and whoever agrees to it is told so.
#[test]
fn an_approval_that_comes_too_late() {
    let project = project();
    let plan = "
        onward: 1
        name: demo
        on-failure: continue
        replan: { run: cat next.yaml, may-edit: pending }
        phases:
          a: { run: step a 'exit 79' }
          b: { run: step b 'exit 79' }
    ";
    project.plan(plan);
    project.plan_at("next.yaml", &plan.replace("step a 'exit 79'", "step a2"));
    project.command(["run"]).expect(15);
    project.command(["approve", "latest", "a"]).expect(0);
    project.command(["approve", "latest", "b"]).expect(2).err_names(["tried before"]);
    project.command(["resume"]).expect(14);
    assert_eq!(project.count("begin", "a2"), 0, "b has to be spoken about first");
}

const BIG: &str = "
    onward: 1
    name: demo
    replan: { approval: false, run: 'step maker hold; cat next.yaml', tasks-max: 2 }
    phases:
      a: { run: step a }
      big: { needs: a, tasks: [one, two, three, four], run: step big hold }
      c: { needs: big, run: step c }
";

fn counted(project: &TestProject, event: &str) -> usize {
    let log = project.command(["log", "--events"]).expect(0).out;
    log.lines().filter(|line| line.contains(event)).count()
}

/// A phase has more open tasks than one should have. Everything is killed while the command makes another plan, and killed again
/// while the phase of the new plan works: it had asked once, it was counted once, and what is small enough now is not asked about.
#[test]
fn too_many_tasks_and_killed_while_the_plan_is_made() {
    let project = project();
    project.plan(BIG);
    project.write("next.yaml", BIG.replace("three, four", "").replace("two, ]", "two]"));
    for (killed_in, plans_begun) in [("maker", 1), ("big", 2)] {
        let first = project.start(["run"]);
        project.wait_ledger("begin", "maker", plans_begun);
        if killed_in == "big" {
            project.open("maker");
            project.wait_ledger("begin", "big", 1);
        }
        project.kill_everything();
        first.wait_code(137);
        assert_eq!(counted(&project, "replan_asked"), 1);
    }
    project.open("big");
    project.command(["resume"]).expect(0);
    project.ran_once(["a", "c"]);
    assert_eq!((counted(&project, "replan_asked"), counted(&project, "replanned")), (1, 1));
    let shown = project.command(["show", "@", "--json"]).expect(0).json();
    assert_eq!(shown["replans"]["counts"], serde_json::json!({ "big": 1 }), "{shown}");
}

/// Each new plan leaves the phase too large. After two of them there is no third, however often somebody goes on; done as it is the
/// phase is asked about no more, also when it was killed and failed in between.
#[test]
fn too_many_tasks_in_every_plan() {
    let project = project();
    let plan = |tasks: &str| {
        BIG.replace("step maker hold; cat next.yaml", "sh make.sh").replace("one, two, three, four", tasks)
    };
    project.plan(&plan("one, two, three, four"));
    project.write("1.yaml", plan("a1, a2, a3"));
    project.write("2.yaml", plan("b1, b2, b3"));
    project.write("3.yaml", plan("c1, c2, c3"));
    project.write("make.sh", "echo made >> made; cat $(wc -l < made).yaml\n");
    project.command(["run"]).expect(16).err_names(["big", "2"]);
    for _ in 0..2 {
        project.command(["resume"]).expect(16);
    }
    assert_eq!((project.read("made").lines().count(), counted(&project, "replanned")), (2, 2));
    assert_eq!(counted(&project, "replan_asked"), 3);
    project.command(["checkpoint"]).expect(0);
    let shown = project.command(["show", "@", "--json"]).expect(0).json();
    assert_eq!(shown["replans"]["counts"], serde_json::json!({ "big": 2 }), "{shown}");
    let exported = project.command(["export", "@", "--format", "workflow"]).expect(0).json();
    assert_eq!(exported["replan_count"], serde_json::json!({ "2": 2 }), "{exported}");
    let as_it_is = project.start(["resume", "--retry", "big"]);
    project.wait_ledger("begin", "big", 1);
    project.kill_everything();
    as_it_is.wait_code(137);
    project.open("big");
    project.command(["resume"]).expect(0);
    project.ran_once(["a", "c"]);
    assert_eq!((counted(&project, "replan_asked"), project.read("made").lines().count()), (3, 2));
}
