//! Runs that wait for others, and claims that are looked into.

use std::time::{Duration, Instant};

use onward_testkit::{Signal, wait_until};

use crate::project;

/// A phase says it is done, and its check takes for ever. Ctrl+C is heard at once, the check is ended, and the next start
/// checks again without doing the work again.
#[test]
fn a_long_check_is_in_nobodys_way() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          a: { run: step a, verify: [step check hold] }
          b: { run: step b }
    ",
    );
    let first = project.start(["run"]);
    project.wait_ledger("begin", "check", 1);
    project.wait_ledger("end", "b", 1);
    let asked = Instant::now();
    first.signal(Signal::SIGINT);
    first.wait_code(130);
    assert!(asked.elapsed() < Duration::from_secs(3), "{:?}", asked.elapsed());
    project.open("check");
    project.command(["run"]).expect(0);
    project.ran_once(["a", "b"]);
}

/// Everything dies while a check runs. The work counts as done once the check has passed, and is not done again.
#[test]
fn killed_in_a_check() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          a: { run: step a, verify: [step check hold] }
          b: { needs: a, run: step b }
    ",
    );
    let _first = project.start(["run"]);
    project.wait_ledger("begin", "check", 1);
    project.kill_everything();
    project.open("check");
    project.command(["run"]).expect(0);
    project.ran_once(["a", "b"]);
}

/// A phase tries to approve its own gate. It is refused, and the gate stays shut.
#[test]
fn nothing_approves_itself() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          gate: { approval: { message: Go? } }
          a: { run: \"step a; onward approve latest gate || echo $? > answer\" }
          b: { needs: gate, run: step b }
    ",
    );
    project.command(["run"]).expect(15);
    assert_eq!(project.read("answer").trim(), "2");
    assert_eq!(project.count("begin", "b"), 0);
}

/// A phase, its check and a process that it leaves behind try to approve the gate, each with an empty environment. All are
/// refused by where they come from, and the gate stays shut; a person opens it.
#[test]
fn nothing_approves_itself_by_forgetting_who_it_is() {
    let project = project();
    project.script(
        "forgetful",
        "
        #!/bin/sh
        name=$1; shift
        env -i PATH=\"$PATH\" onward \"$@\"
        echo $? > $name.part && mv $name.part $name.code
    ",
    );
    project.script(
        "late",
        "
        #!/bin/sh
        until test -e go; do sleep 0.02; done
        forgetful late approve latest gate
    ",
    );
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          gate: { approval: { message: Go? } }
          a:
            run: |
              forgetful plain approve latest gate
              forgetful skip skip latest gate
              setsid env -i PATH=\"$PATH\" late < /dev/null > /dev/null 2>&1 &
              step a
            verify: [forgetful check approve latest gate]
          b: { needs: gate, run: step b }
    ",
    );
    project.command(["run"]).expect(15);
    project.write("go", "");
    wait_until("the process that was left behind has tried", || project.exists("late.code").then_some(()));
    for tried in ["plain", "skip", "check", "late"] {
        assert_eq!(project.read(format!("{tried}.code")).trim(), "2", "{tried}");
    }
    assert_eq!(project.count("begin", "b"), 0);
    project.command(["approve", "latest", "gate"]).expect(0);
}

/// Somebody reports beside a driver that works on something else. Each report is answered and seen at once.
#[test]
fn reports_beside_a_driver() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          side: { run: step side hold }
          ext: { external: { instructions: do it }, artifacts: { doc: doc.md } }
          after: { needs: ext, run: step after }
    ",
    );
    let first = project.start(["run"]);
    project.wait_ledger("begin", "side", 1);
    project.command(["report", "start", "ext"]).expect(0);
    let status = project.command(["status", "--json"]).json();
    assert_eq!(status["status"], "waiting");
    project.command(["report", "done", "ext"]).expect(1).err_names(["doc.md"]);
    project.write("doc.md", "done\n");
    for _ in 0..2 {
        let reported = project.command(["report", "done", "ext", "--json"]).json();
        assert_eq!(reported["accepted"], true);
    }
    project.wait_ledger("end", "after", 1);
    project.open("side");
    first.wait_code(0);
    project.ran_once(["side", "after"]);
    let shown = project.command(["show", "@", "--json"]).json();
    assert_eq!((&shown["artifacts"][0]["path"], &shown["artifacts"][0]["bytes"]), (&"doc.md".into(), &5.into()));
}

/// A run waits for a report and its driver is gone. The last report completes it, with nobody driving.
#[test]
fn the_last_report_ends_the_run() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          a: { run: step a }
          ext: { needs: a, external: { instructions: do it } }
    ",
    );
    project.command(["run"]).expect(15);
    assert_eq!(project.command(["next", "--json"]).json()["phase"]["id"], "ext");
    project.command(["report", "done", "ext", "--summary", "all of it"]).expect(0);
    assert_eq!(project.command(["status", "--json"]).json()["status"], "completed");
    project.ran_once(["a"]);
}

/// A phase tries to get around the gate: it skips it, takes it as done, and does the same by the flags of a start. Each time
/// it is refused, and the gate stays shut; for a person it opens.
#[test]
fn nothing_gets_around_an_approval() {
    let project = project();
    project.script(
        "around",
        "
        #!/bin/sh
        onward skip latest gate; echo $?
        onward adopt latest gate; echo $?
        onward resume latest --skip gate; echo $?
        onward run --adopt gate; echo $?
    ",
    );
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          gate: { approval: { message: Go? } }
          a: { run: step a; test -e answers || around > answers }
          b: { needs: gate, run: step b }
    ",
    );
    project.command(["run"]).expect(15);
    let answers = project.read("answers");
    assert_eq!(answers.lines().collect::<Vec<_>>(), ["2"; 4], "{answers}");
    assert_eq!(project.count("begin", "b"), 0);
    let status = project.command(["status", "--json"]).json();
    assert_eq!((&status["status"], &status["remaining"][0]["status"]), (&"waiting".into(), &"waiting".into()));
    project.command(["skip", "latest", "gate"]).expect(0);
}

/// Whoever does a phase is not heard any more, and the plan says pause. The phase at work comes to its end, no other is started,
/// and the driver says 75; started again, the run waits for somebody who takes it in hand.
#[test]
fn silence_pauses_the_run() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          ext: { external: { instructions: do it, heartbeat: 300ms, if-silent: pause } }
          side: { run: step side hold }
          after: { needs: side, run: step after }
    ",
    );
    let first = project.start(["run"]);
    project.wait_ledger("begin", "side", 1);
    project.command(["report", "start", "ext"]).expect(0);
    wait_until("the silence to be noticed", || first.err().contains("was not heard of").then_some(()));
    project.open("side");
    first.wait_code(75);
    assert_eq!(project.command(["status", "--json"]).json()["status"], "paused");
    assert_eq!(project.count("begin", "after"), 0);
    project.command(["run"]).expect(15);
    project.ran_once(["side", "after"]);
    project.command(["report", "done", "ext"]).expect(0);
    assert_eq!(project.command(["status", "--json"]).json()["status"], "completed");
}

/// A person says no, and the run goes on in vain. What is told then is how to be asked again, and not where to look for what a
/// person printed; the same for a matrix, of which the part that printed something is named.
#[test]
fn what_helps_after_a_failure() {
    let asked = project();
    asked.plan("onward: 1\nname: demo\nphases:\n  ok: { approval: { message: go? } }\n");
    asked.command(["run"]).expect(15);
    asked.command(["reject", "latest", "ok"]).expect(0);
    let told = asked.command(["resume"]).expect(1).err;
    assert!(told.contains("onward retry @ ") && !told.contains("onward logs"), "{told}");
    let parts = project();
    parts.plan("onward: 1\nname: demo\nphases:\n  m: { matrix: { k: [1] }, run: step m false }\n");
    let told = parts.command(["run"]).expect(1).err;
    assert!(told.lines().any(|line| line.contains("onward logs @ 'm[1]'")), "{told}");
}

/// Whoever does a phase says which commit it came to. One that is not in the repository is refused; one that is named
/// by its branch is recorded by its full name.
#[test]
fn a_commit_is_looked_up() {
    let project = project();
    project.git_init();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          a: { external: { instructions: do it } }
    ",
    );
    project.command(["run"]).expect(15);
    let refused = project.command(["report", "done", "a", "--commit", "c0ffee", "--json"]).expect(1);
    assert_eq!(refused.json()["reason"], "it names the commit c0ffee, which is not in this repository");
    project.command(["report", "done", "a", "--commit=--help"]).expect(1);
    project.command(["report", "done", "a", "--commit", "HEAD"]).expect(0);
    let head = project.git(["rev-parse", "HEAD"]);
    assert_eq!(project.command(["show", "latest", "--json"]).json()["phases"][0]["commit_sha"], head.trim());
}

/// Questions and instructions are written with values that the plan gets later. They read the values, the place of what
/// they are to look at, and no expressions; an artifact may lie where a variable says.
#[test]
fn people_read_values_and_no_expressions() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        inputs: { who: { default: ada } }
        env: { PLACE: \"out-${{ inputs.who }}\" }
        phases:
          a: { matrix: { k: [red] }, run: step a 'mkdir -p $PLACE; echo > $PLACE/red', artifacts: { it: \"${{ env.PLACE }}/${{ matrix.k }}\" } }
          gate: { needs: a, approval: { message: \"Ship it for ${{ inputs.who }}?\", show: [\"artifacts:a.it\", \"the ${{ env.PLACE }}\"] } }
          ext:
            needs: a
            matrix: { k: [blue] }
            external: { instructions: \"paint ${{ matrix.k }} for ${{ inputs.who }} in ${{ env.PLACE }}\" }
            artifacts: { it: \"${{ matrix.k }}.txt\" }
    ",
    );
    let waits = project.command(["run"]).expect(15);
    waits.err_names(["Ship it for ada?", "look at out-ada/red", "look at the out-ada"]);
    let next = project.command(["next", "--json"]).json();
    assert_eq!(next["phase"]["instructions"], "paint blue for ada in out-ada");
    assert_eq!(next["context"]["artifacts"]["it"], "blue.txt");
}

/// A person says no and names a yes, or says yes and names the no. Neither is taken for an answer.
#[test]
fn an_answer_that_contradicts_itself() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  gate: { approval: { message: go?, choices: [ship, hold] } }\n");
    project.command(["run"]).expect(15);
    project.command(["reject", "latest", "gate", "--choice", "ship"]).expect(2).err_names(["onward approve"]);
    project.command(["approve", "latest", "gate", "--choice", "reject"]).expect(2).err_names(["onward reject"]);
    assert_eq!(project.command(["status", "--json"]).json()["status"], "waiting");
    project.command(["approve", "latest", "gate", "--choice", "hold"]).expect(0).err_names(["hold"]);
}

/// Whoever reports says more than there is room for, and gives names that no phase could give. What is too long is cut, a blank
/// note leaves the last one as it is, and a claim with such outputs is not accepted.
#[test]
fn reports_have_limits() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { external: { instructions: do it } }\n");
    project.command(["run"]).expect(15);
    let note = "x".repeat(100_000);
    project.command(["report", "progress", "a", "--note", &note]).expect(0);
    project.command(["report", "progress", "a", "--note", " "]).expect(0);
    let kept = project.command(["next", "--json"]).json()["phase"]["note"].as_str().map(str::len);
    assert_eq!(kept, Some(4096));
    let long = format!("x={note}");
    for (output, why) in [("bad name=1", "bad name"), ("=1", "KEY=VALUE"), (long.as_str(), "longer than")] {
        let code = if why == "KEY=VALUE" { 2 } else { 1 };
        project.command(["report", "done", "a", "--output", output]).expect(code).err_names([why]);
    }
    project.command(["report", "done", "a", "--output", "good-name=1"]).expect(0);
    assert_eq!(project.command(["status", "--json"]).json()["completed"][0]["outputs"]["good-name"], "1");
}

/// Somebody else did a phase, and what it read is changed afterwards. That is asked about as if the run had done it itself.
#[test]
fn what_others_did_gets_stale_too() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          a: { external: { instructions: do it }, reads: in.txt, writes: out.txt }
          b: { needs: a, run: step b 'exit 1' }
    ",
    );
    project.write("in.txt", "one");
    project.command(["run"]).expect(15);
    project.write("out.txt", "one");
    project.command(["report", "done", "a"]).expect(0);
    project.command(["resume"]).expect(1);
    project.write("in.txt", "two");
    project.command(["resume"]).expect(14).err_names(["phase a", "in.txt"]);
    project.command(["resume", "--accept-stale"]).expect(1);
    project.write("out.txt", "two");
    project.command(["resume"]).expect(1).err_names(["out.txt"]);
}

/// A run waits for somebody, then for a person. `status` says what is wanted of each of them, as far as it fits on a line; a claim
/// that names the books as what was left behind is refused.
#[test]
fn status_says_what_is_wanted() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          ext: { external: { instructions: \"Look at it.\\nThen write it down.\" } }
          gate: { needs: ext, approval: { message: Go on? } }
    ",
    );
    project.command(["run"]).expect(15);
    let told = project.command(["status"]).expect(0).out;
    assert!(told.contains("waits for somebody to do it: Look at it. …\n"), "{told}");
    for place in [".", "./", ".onward", ".onward/onward.db", ".git/config"] {
        project.command(["report", "done", "ext", "--artifact", place]).expect(1);
    }
    project.command(["report", "done", "ext"]).expect(0);
    let told = project.command(["status"]).expect(0).out;
    assert!(
        told.contains("waits for a person to decide: Go on?\n") && told.contains("answer with  onward approve"),
        "{told}"
    );
}

/// A phase was interrupted, is an approval in the edited plan, and the run goes back to when it was interrupted. The question is
/// asked again, and its answer lets the run go on.
#[test]
fn an_approval_that_was_other_work_once() {
    let project = project();
    let plan = |gate: &str| {
        project.plan(&format!(
            "onward: 1\nname: demo\nphases:\n  gate: {{ {gate} }}\n  b: {{ needs: gate, run: step b }}\n"
        ));
    };
    plan("run: step gate hold");
    let first = project.start(["run"]);
    project.wait_ledger("begin", "gate", 1);
    first.signal(Signal::SIGINT);
    first.wait_code(130);
    let log = project.command(["log", "--json"]).json();
    let then = log["checkpoints"][0]["id"].as_str().expect("a checkpoint of the interruption");
    plan("approval: { message: go? }");
    project.command(["run", "--resume"]).expect(15);
    project.command(["rewind", then, "--state-only", "--yes"]).expect(0);
    assert_eq!(project.command(["status", "--json"]).json()["remaining"][0]["status"], "interrupted");
    project.command(["resume"]).expect(15).err_names(["go?"]);
    assert_eq!(project.command(["status", "--json"]).json()["remaining"][0]["status"], "waiting");
    project.command(["approve", "latest", "gate"]).expect(0);
    project.command(["resume"]).expect(0);
    assert_eq!(project.order("end"), ["b"]);
}

/// An approval is given and the run goes on at once; the exit code is that of the run. Beside a driver it is only given.
#[test]
fn approve_and_go_on_at_once() {
    let plan = "
onward: 1
phases:
  gate: { approval: 'Ship it?' }
  b: { needs: gate, run: step b hold }
";
    let project = project();
    project.plan(plan);
    project.command(["run"]).expect(15);
    project.open("b");
    let ran = project.command(["approve", "gate", "--resume", "--json"]).expect(0);
    assert_eq!(ran.exit()["code"], 0, "{}", ran.out);
    project.ran_once(["b"]);
    let project = crate::project();
    project.plan("onward: 1\nphases:\n  a: { run: step a hold }\n  gate: { approval: 'Ship it?' }\n");
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    project.command(["reject", "gate", "--resume"]).expect(0);
    project.open("a");
    driver.wait_code(1);
}

/// A person wants a phase retried that is at work. It would go on as it is, so that is said, with what to do instead; the run is not
/// disturbed by it, whether somebody drives it or not.
#[test]
fn a_retry_is_for_what_has_ended() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a hold }\n");
    let first = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    project.command(["retry", "a"]).expect(2).err_names(["at work", "wait", "onward resume --retry a"]);
    first.kill();
    project.command(["retry", "a"]).expect(2).err_names(["still at work", "onward resume", "--orphan"]);
    // The answer would count for an end that nobody has seen yet.
    project.command(["resume", "--retry", "a"]).expect(2).err_names(["still at work", "--orphan kill"]);
    project.open("a");
    project.command(["resume"]).expect(0);
    project.ran_once(["a"]);
    project.command(["retry", "a"]).expect(2).err_names(["the run is complete", "--retry a"]);
}

/// An outward effect is at work and nobody drives its run. Whoever says that it is to be ended and done once more is not asked
/// whether it is to be done once more.
#[test]
fn an_answer_that_was_given_is_not_asked_for_again() {
    for flag in ["--retry", "--from"] {
        let project = project();
        project.plan("onward: 1\nname: demo\nphases:\n  pay: { effects: external, run: step pay hold }\n");
        let first = project.start(["run"]);
        project.wait_ledger("begin", "pay", 1);
        first.kill();
        let second = project.start(["resume", flag, "pay", "--orphan", "kill"]);
        let again = wait_until("the second attempt, or a question", || {
            let begun = project.count("begin", "pay") == 2;
            (begun || !second.is_running()).then_some(begun)
        });
        assert!(again, "{flag}: {}", second.wait());
        project.open("pay");
        second.wait_code(0);
        assert_eq!(project.order("overlap"), Vec::<String>::new(), "{:?}", project.ledger());
    }
}
