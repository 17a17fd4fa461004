//! A run told as one page.

use crate::project;

const PLAN: &str = "
onward: 1
name: demo
run-name: '<b>night</b> load'
description: loads things
inputs: { day: { default: monday } }
phases:
  fetch: { name: 'Fetch | *it* <img src=x onerror=alert(1)>', run: step fetch }
  load:
    needs: fetch
    retry: { max: 1, backoff: { initial: 10ms } }
    run: step load 'echo \"</script><script>alert(2)\"; test -e fixed'
  by-hand: { needs: fetch, run: 'false' }
  end: { needs: [load, by-hand], run: step end, artifacts: { page: out.txt } }
";

/// A phase fails twice, another is taken as done, the run goes on and ends. All of it stands on the page, in each form, as text.
#[test]
fn summary_tells_the_whole_run() {
    let project = project();
    project.plan(PLAN);
    project.command(["run"]).expect(1);
    project.write("fixed", "");
    project.write("out.txt", "done");
    project.command(["resume", "--adopt", "by-hand"]).expect(0);
    let text = project.command(["summary"]).expect(0).out;
    for words in [
        "4 of 4 phases done",
        "failed attempts: 2",
        "taken as done by",
        "2 attempts",
        "day = monday",
        "Failures",
        "out.txt",
    ] {
        assert!(text.contains(words), "{words:?} in {text}");
    }
    let markdown = project.command(["summary", "@", "--format", "markdown"]).expect(0).out;
    assert!(markdown.contains("| fetch | Fetch \\| \\*it\\* &lt;img") && markdown.contains("```mermaid"), "{markdown}");
    let html = project.command(["summary", "--format", "html"]).expect(0).out;
    assert!(html.contains("Content-Security-Policy") && html.matches("<svg").count() == 2, "{html}");
    assert!(!html.contains("<img") && !html.contains("<script") && !html.contains("<b>night"), "{html}");
    let json = project.command(["summary", "--json"]).expect(0).json();
    assert_eq!(json["course"]["ended"]["result"], "completed");
    assert_eq!(json["course"]["starts"].as_array().map(Vec::len), Some(2));
}

/// A page about a run that is at work is made without writing anything.
#[test]
fn summary_of_a_run_at_work_writes_nothing() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases: { a: { run: step a }, b: { needs: a, run: step b hold } }\n");
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "b", 1);
    driver.kill();
    let before = project.tree();
    let text = project.command(["summary"]).expect(0).out;
    assert!(text.contains("interrupted") && text.contains("1 of 2 phases done"), "{text}");
    project.command(["summary", "--format", "html"]).expect(0);
    assert_eq!(project.tree(), before);
    project.command(["summary", "nosuch"]).expect(10);
    project.open("b");
}
