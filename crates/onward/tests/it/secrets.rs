//! Stories about secrets: whatever way they take, none of them is kept or shown.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;

use onward_testkit::{Ran, Running, Signal, TestProject, kept};

use crate::processes::{attendant_of, send};
use crate::project;

/// Planted in every test; `ONWARD_CANARIES` plants more.
const CANARIES: usize = 200;

/// Of a canary as many bytes are looked for first.
const BEGINNING_BYTES: usize = 8;

/// Ends of names that say that a value is secret.
const NAMES: [&str; 11] =
    ["TOKEN", "SECRET", "KEY", "PASSWORD", "PASSWD", "_PASS", "_PWD", "_PAT", "_AUTH", "DSN", "CREDENTIALS"];

/// A project whose environment is full of secrets, and all that it has printed.
struct Cage {
    project: TestProject,
    canaries: Vec<String>,
    /// The first of them, each with a variable of its own; the others are lines of longer values.
    variables: usize,
    next: usize,
    printed: String,
}

impl Cage {
    fn new() -> Self {
        let count = std::env::var("ONWARD_CANARIES").ok().and_then(|count| count.parse().ok()).unwrap_or(CANARIES);
        let mut project = project();
        let mut canaries = Vec::new();
        let mut random: u64 = 0x9e37_79b9_7f4a_7c15;
        for number in 0..count + count.div_ceil(10) * 3 {
            let letters = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
            let canary: String = std::iter::repeat_with(|| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                char::from(letters[usize::try_from(random >> 33).expect("small") % letters.len()])
            })
            .take(24)
            .collect();
            if number < count {
                project.set_env(&format!("C{number}{}", NAMES[number % NAMES.len()]), &canary);
            }
            canaries.push(canary);
        }
        for (number, lines) in canaries[count..].chunks(3).enumerate() {
            project.set_env(&format!("LINES{number}_KEY"), lines.join("\n"));
        }
        Self { project, canaries, variables: count, next: 0, printed: String::new() }
    }

    /// Another canary each time, as long as there are some; every other one is a line of a longer value.
    fn canary(&mut self) -> String {
        self.next += 1;
        let lines = self.canaries.len() - self.variables;
        let number =
            if self.next.is_multiple_of(2) { self.next % self.variables } else { self.variables + self.next % lines };
        self.canaries[number].clone()
    }

    /// The variable that holds the canary which comes next.
    fn variable(&mut self) -> String {
        self.next += 1;
        let number = self.next % self.variables;
        format!("C{number}{}", NAMES[number % NAMES.len()])
    }

    fn command<A: AsRef<OsStr>>(&mut self, args: impl IntoIterator<Item = A>) -> Ran {
        let ran = self.project.command(args);
        self.printed.extend([ran.out.as_str(), ran.err.as_str()]);
        ran
    }

    /// No byte of what is kept, shown or told to git holds a canary, in none of its forms.
    fn is_shut(&mut self) {
        for look in [&["status"][..], &["log", "--events"], &["list"], &["logs"], &["show", "@"], &["graph", "@"]] {
            self.command(look.iter().chain(&["--json"]));
            self.command(look);
        }
        let mut all = kept::everything(&self.project.dir());
        all.push(("what was printed".to_owned(), self.printed.clone().into_bytes()));
        if self.project.exists(".git") {
            let told = self.project.git(["log", "--all", "--format=%B%an%ae"]);
            all.push(("messages of commits".to_owned(), told.into_bytes()));
        }
        // By how they begin, so that everything is gone through once.
        let mut forms: HashMap<Vec<u8>, Vec<String>> = HashMap::new();
        for form in self.canaries.iter().flat_map(|canary| [canary.clone(), hex(canary), base64(canary)]) {
            forms.entry(form.as_bytes()[..BEGINNING_BYTES].to_vec()).or_default().push(form);
        }
        let mut found = BTreeSet::new();
        for (name, bytes) in &all {
            for (at, beginning) in bytes.windows(BEGINNING_BYTES).enumerate() {
                let here = forms.get(beginning).into_iter().flatten();
                let here = here.filter(|form| bytes[at..].starts_with(form.as_bytes()));
                found.extend(here.map(|form| format!("{form} in {name}")));
            }
        }
        let found: Vec<String> = found.into_iter().collect();
        assert!(found.is_empty(), "{} of {} got out:\n{}", found.len(), self.canaries.len(), found.join("\n"));
    }
}

fn hex(text: &str) -> String {
    text.bytes()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

/// Of 24 characters: no padding.
fn base64(text: &str) -> String {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let three = |part: &[u8]| {
        let bits = part.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        (0..4).map(|at| char::from(letters[(bits >> (18 - 6 * at) & 63) as usize])).collect::<String>()
    };
    text.as_bytes().chunks(3).map(three).collect()
}

/// A phase prints every secret it can find: plain, in two pieces, in base64 and in hex; and writes one into each of its files.
#[test]
fn soak_no_canary_in_what_phases_print_and_write() {
    let mut cage = Cage::new();
    let (note, output, summary) = (cage.variable(), cage.variable(), cage.variable());
    cage.project.plan(&format!(
        r#"
onward: 1
name: demo
on-failure: continue
phases:
  print:
    run: |
      env
      for value in $(env | grep -E '^C[0-9]+' | cut -d= -f2); do
        printf '%s' "$(printf '%.11s' "$value")"; printf '%s\n' "${{value#???????????}}" >&1
        printf '%s' "$value" | base64 -w0; echo
        printf '%s' "$value" | od -An -tx1 | tr -d ' \n'; echo
      done
      env >&2
      env | sed 's/^/line by line: /'
      echo "half-way with ${note}" > "$ONWARD_PROGRESS"
      echo "given=${output}" > "$ONWARD_OUTPUT"
      echo "found ${summary}" > "$ONWARD_SUMMARY"
  fails: {{ run: 'echo "no luck with ${note}"; exit 3' }}
  checks: {{ run: 'true', verify: 'echo "not with ${output}"; exit 1' }}
  uses: {{ needs: print, env: {{ GIVEN: "${{{{ phases.print.outputs.given }}}}" }}, run: 'true' }}
"#
    ));
    cage.command(["run"]).expect(1);
    cage.is_shut();
}

/// Secrets stand in the plan itself and in its inputs. The phases get them as they are, and nothing of them is kept; the next
/// start knows the work again, and a phase that was not given its input is not started.
#[test]
fn soak_no_canary_of_plans_and_inputs() {
    let mut cage = Cage::new();
    cage.project.git_init();
    let literal = cage.canary();
    let (named, known, message, about) = ("open-sesame-4711-open", cage.canary(), cage.canary(), cage.canary());
    cage.canaries.push("literal-password-of-the-plan".to_owned());
    cage.canaries.push(named.to_owned());
    cage.project.plan(&format!(
        r#"
onward: 1
name: demo
description: about {about}
inputs: {{ token: {{}}, other: {{}} }}
env: {{ DB_PASSWORD: literal-password-of-the-plan }}
checkpoint: {{ git-commit: {{ every: 1, message: "with {message}" }} }}
phases:
  a:
    name: calls with {literal}
    env: {{ API: "${{{{ inputs.token }}}}", OTHER: "${{{{ inputs.other }}}}" }}
    run: |
      echo "$API" "$OTHER" "$DB_PASSWORD" {literal}
      test "$API" = open-$(echo sesame)-4711-open
      test "$OTHER" = "{known}"
      test "$DB_PASSWORD" = literal-$(echo password)-of-the-plan
      test {literal} != "[redacted]"
      echo 1 > made.txt
      test -e go-on
  b: {{ needs: a, env: {{ API: "${{{{ inputs.token }}}}" }}, run: 'echo "$API"' }}
"#
    ));
    let (token, other) = (format!("token={named}"), format!("other={known}"));
    let run = ["run", "--input", &token, "--input", &other];
    cage.command(run).expect(1);
    cage.command(["status", "--json"]).expect(0);
    cage.project.write("go-on", "");
    // The same work, known again although nothing of its inputs is kept.
    let asked = cage.command(run).expect(14);
    assert!(asked.err.contains("onward"), "{}", asked.err);
    let without = cage.command(["resume", "@"]).expect(1);
    assert!(without.err.contains("--input"), "{}", without.err);
    cage.command(["resume", "@", "--input", &token, "--input", &other]).expect(0);
    cage.is_shut();
}

const PLAN: &str = r"
onward: 1
name: demo
replan: { approval: false }
phases:
  ext: { external: { instructions: do it }, retry: { max: 3 } }
  gate: { needs: ext, approval: { message: sure? } }
";

/// Whoever speaks to a run tells a secret in everything that can be told: names, reasons, notes, states with their keys, plans.
#[test]
fn soak_no_canary_of_what_is_told() {
    let mut cage = Cage::new();
    cage.project.plan(PLAN);
    cage.command(["run"]).expect(15);
    let value = cage.canary();
    cage.command(["checkpoint", "--name", &value]).expect(0);
    let (key, value, inner) = (cage.canary(), cage.canary(), cage.canary());
    cage.project.write("state.json", format!(r#"{{"{key}": {{"{inner}": "is {value}"}}, "plain": 1}}"#));
    cage.command(["state", "merge", "state.json"]).expect(0);
    cage.command(["state", "get"]).expect(0);
    cage.command(["save", "kind", "mine", "--state", "state.json"]).expect(0);
    cage.project.write("state.json", format!(r#"{{"{key}": {{"{inner}": "is now {value}"}}, "plain": 2}}"#));
    cage.command(["save", "kind", "mine", "--state", "state.json"]).expect(0);
    cage.command(["save", "kind", &inner, "--state", "state.json"]).expect(2);
    let run =
        cage.command(["list", "--json", "--type", "run"]).json()["runs"][0]["run"].as_str().expect("a run").to_owned();
    cage.project.write("good.yaml", PLAN.replace("do it", &format!("do it with {key}")));
    let mut told = |args: &[&str]| {
        let canary = cage.canary();
        let words: Vec<String> = args.iter().map(|word| word.replace("CANARY", &canary)).collect();
        cage.command(words.iter().map(String::as_str).chain(["--run", &run]))
    };
    told(&["report", "start", "ext"]).expect(0);
    told(&["report", "progress", "ext", "--note", "at CANARY"]).expect(0);
    told(&["report", "fail", "ext", "--reason", "no CANARY"]).expect(0);
    told(&["report", "done", "ext", "--remaining", "the rest of CANARY"]).expect(1);
    told(&["report", "replan", "ext", "--reason", "with CANARY"]).expect(1);
    told(&["report", "replan", "ext", "--reason", "with CANARY", "--plan", "good.yaml"]).expect(0);
    told(&["report", "done", "ext", "--commit", "CANARY"]).expect(1);
    told(&["report", "done", "ext", "--summary", "by CANARY", "--output", "given=CANARY"]).expect(0);
    for (args, code) in [
        (&["report", "replan", "ext", "--reason", "r", "--plan", "next.yaml", "--run", &run][..], 2),
        (&["check", "next.yaml"], 2),
        (&["show", "CANARY"], 10),
        (&["status", "CANARY"], 10),
        (&["run", "--nonsense=CANARY"], 2),
        (&["run", "CANARY.yaml"], 2),
        (&["approve", &run, "gate", "--choice", "CANARY"], 2),
    ] {
        let canary = cage.canary();
        if args.contains(&"next.yaml") {
            let text = format!(
                "onward: 1\nname: demo\nphases:\n  ext: {{ external: {{ instructions: {canary} }}, nonsense: {canary} }}\n"
            );
            cage.project.write("next.yaml", text);
        }
        cage.command(args.iter().map(|word| word.replace("CANARY", &canary))).expect(code);
    }
    for look in [&["status", &run][..], &["log", &run, "--events"], &["show", &run], &["graph", &run]] {
        cage.command(look).expect(0);
    }
    cage.is_shut();
}

const SECRET: &str = "correct-horse-battery";

/// A phase has written a secret into each of its files, and is at work. Its driver knows the secret.
fn with_secret_words() -> (TestProject, Running, u32) {
    let mut project = project();
    project.set_env("DEPLOY_TOKEN", SECRET);
    project.plan(
        r#"
onward: 1
name: demo
phases:
  a:
    done-when: test -e ../there
    run: |
      echo "half-way with $DEPLOY_TOKEN" > "$ONWARD_PROGRESS"
      echo "given=$DEPLOY_TOKEN" > "$ONWARD_OUTPUT"
      echo "found $DEPLOY_TOKEN" > "$ONWARD_SUMMARY"
      step a hold
"#,
    );
    let first = project.start(["run"]);
    let attendant = attendant_of(project.wait_ledger("begin", "a", 1).pid);
    (project, first, attendant)
}

/// The phase ends with nobody to see it; only its probe can tell that it is done.
fn end_unseen(project: &TestProject) {
    project.open("a");
    project.wait_ledger("end", "a", 1);
    project.write("../there", "");
}

fn holds_the_secret(bytes: &[u8]) -> bool {
    bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes())
}

/// The attendant of a phase is killed before it could clean what the phase wrote itself. A shell that does not know the secret in
/// it shows nothing of it, before and after the kill, and its resume keeps nothing of it; and both say why.
#[test]
fn words_of_a_phase_are_not_read_by_a_shell_that_cannot_clean_them() {
    let (mut project, first, attendant) = with_secret_words();
    let known = project.command(["status"]).expect(0);
    assert!(known.out.contains("half-way with [redacted]"), "{}", known.out);
    project.remove_env("DEPLOY_TOKEN");
    let shown = |project: &TestProject, why: &str| {
        for words in [&["status"][..], &["status", "--json"], &["logs"]] {
            let ran = project.command(words).expect(0);
            assert!(!ran.out.contains(SECRET) && !ran.err.contains(SECRET), "{ran:?}");
            assert!(words == ["logs"] || ran.out.contains(why), "{ran:?}");
        }
    };
    shown(&project, "not shown while it runs: this shell does not know all of its secrets");
    first.kill();
    send(attendant, Signal::SIGKILL);
    shown(&project, "not shown: its attendant died, and this shell does not know all of its secrets");
    end_unseen(&project);
    project.command(["resume", "@"]).expect(0);
    shown(&project, "not shown: its attendant died, and this shell does not know all of its secrets");
    // The files themselves stay as the phase left them: nobody here could clean them.
    let own = ["result", "progress", "summary"];
    let (own, others): (Vec<_>, Vec<_>) = kept::everything(&project.dir())
        .into_iter()
        .partition(|(name, _)| own.iter().any(|own| name.ends_with(&format!("/a/1/{own}"))));
    assert!(own.len() == 3 && own.iter().all(|(_, bytes)| holds_the_secret(bytes)));
    let found: Vec<_> = others.iter().filter(|(_, bytes)| holds_the_secret(bytes)).map(|(name, _)| name).collect();
    assert!(found.is_empty(), "the secret is in {found:?}");
}

/// The same, and the shell that resumes knows the secret: what the phase wrote is taken with the secret cut out, and its files are
/// cleaned.
#[test]
fn words_of_a_phase_are_cleaned_by_the_next_driver_that_can() {
    let (project, first, attendant) = with_secret_words();
    first.kill();
    send(attendant, Signal::SIGKILL);
    end_unseen(&project);
    project.command(["resume", "@"]).expect(0);
    let status = project.command(["status", "--json"]).json();
    let done = &status["completed"][0];
    assert_eq!((&done["summary"], &done["note"]), (&"found [redacted]".into(), &"half-way with [redacted]".into()));
    let events = project.command(["log", "--events", "--json"]).expect(0);
    assert!(events.out.contains(r#""given":"[redacted]""#), "{}", events.out);
    let all = kept::everything(&project.dir());
    let found: Vec<_> = all.iter().filter(|(_, bytes)| holds_the_secret(bytes)).map(|(name, _)| name).collect();
    assert!(found.is_empty(), "the secret is in {found:?}");
}

/// A phase writes more outputs than can be cleaned. They are gone, and the phase has failed for it: it is not done without them.
#[test]
fn outputs_too_long_to_be_cleaned_fail_their_phase() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: 'truncate -s 80M \"$ONWARD_OUTPUT\"' }\n");
    project.command(["run"]).expect(1);
    let status = project.command(["status", "--json"]).expect(0);
    assert!(status.out.contains("bad-outputs") && status.out.contains("the outputs are longer than"), "{}", status.out);
}

/// Two runs differ only in a secret. They are two: the second does not go on with the first one's run, and each is found again by
/// its own secret. What they are known by says nothing without the key of the store, which only its owner can read.
#[test]
fn another_secret_is_other_work() {
    use std::os::unix::fs::PermissionsExt;

    let project = project();
    project.plan(
        "onward: 1\ninputs: { api_token: {}, day: { default: mon } }\nphases:\n  a: { run: 'test -e go' }\n  b: { needs: a, run: \"true\" }\n",
    );
    let with = |token: &str| project.command(["run", "--json", "--input", &format!("api_token={token}")]);
    let first = with("first-token-of-two").expect(1).exit()["run"].clone();
    assert!(project.exists(".onward/inputs.key"));
    let mode = std::fs::metadata(project.path(".onward/inputs.key")).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let second = with("second-token-of-two").expect(1).exit()["run"].clone();
    assert_ne!(first, second);
    for (token, run) in [("first-token-of-two", &first), ("second-token-of-two", &second)] {
        let asked = with(token).expect(14);
        assert_eq!(asked.exit()["run"], *run, "{}", asked.out);
    }
    let all: Vec<u8> = kept::everything(&project.dir()).into_iter().flat_map(|(_, bytes)| bytes).collect();
    assert!(!all.windows(18).any(|part| part == b"first-token-of-two"));
    // Without the key nobody can tell, and a new one is made.
    std::fs::remove_file(project.path(".onward/inputs.key")).expect("it goes");
    project.command(["status"]).expect(0);
    assert!(!project.exists(".onward/inputs.key"), "looking makes none");
    project.write("go", "");
    assert_ne!(with("first-token-of-two").expect(0).exit()["run"], first);
    let first = first.as_str().expect("a run");
    project.command(["resume", first, "--input", "api_token=first-token-of-two"]).expect(0);
}

/// Two phases of a plan differ only in the secrets that are written in it, in commands and in variables, and one more is the same as
/// another. Each runs as it is written, also when the run goes on in another process, and none of the secrets is kept.
#[test]
fn texts_that_differ_only_in_secrets_are_told_apart() {
    let project = project();
    let plan = r#"
onward: 1
name: demo
phases:
  a: { run: 'test "$API_TOKEN" = first-of-four-99', env: { API_TOKEN: first-of-four-99 } }
  b: { needs: a, run: 'test "$API_TOKEN" = second-of-four-99', env: { API_TOKEN: second-of-four-99 } }
  c: { needs: b, run: 'test -e go && printf %s third-of-four-99 | wc -c > c.txt', env: { C_TOKEN: third-of-four-99 } }
  d: { needs: c, run: 'test -e go && printf %s fourth-of-four-longer-99 | wc -c > d.txt', env: { D_TOKEN: fourth-of-four-longer-99 } }
  e: { needs: d, run: 'test "$API_TOKEN" = first-of-four-99', env: { API_TOKEN: first-of-four-99 } }
"#;
    project.plan(plan);
    project.command(["run", "--no-input"]).expect(1);
    project.write("go", "");
    project.command(["resume", "--no-input"]).expect(0);
    assert_eq!((project.read("c.txt").trim(), project.read("d.txt").trim()), ("16", "24"));
    for (name, bytes) in kept::everything(&project.dir()) {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("of-four-99") && !text.contains("of-four-longer"), "{name}");
    }
    assert!(project.exists(".onward/inputs.key"), "the next start could not know them again");
}

/// A path of a plan holds the value of a secret. Cut, it would be another path, so the plan is refused before anything is made,
/// with the phase, the key and the name, and never with the value. The configuration may take the name out.
#[test]
fn a_path_that_holds_a_secret_is_refused() {
    let mut project = project();
    project.set_env("DB_PASSWORD", "postgres");
    project.write("used.yaml", "onward: 1\nname: used\nphases:\n  inner: { run: 'true', reads: [in/postgres/a] }\n");
    project.write("postgres.yaml", "onward: 1\nname: used\nphases:\n  inner: { run: 'true' }\n");
    let refused = [
        ("writes", "  a: { run: 'true', writes: [out/postgres] }"),
        ("reads", "  a: { run: 'true', reads: ['in/postgres*'] }"),
        ("artifacts", "  a: { run: 'true', artifacts: [out/postgres.tar] }"),
        ("working-directory", "  a: { run: 'true', working-directory: postgres }"),
        ("locks", "  a: { run: 'true', locks: [postgres] }"),
        ("uses", "  a: { uses: ./postgres.yaml }"),
        ("reads", "  a: { uses: ./used.yaml }"),
        ("writes", "  b: { run: 'true' }\nfinally:\n  a: { run: 'true', writes: [postgres] }"),
    ];
    for (key, phases) in refused {
        project.plan(&format!("onward: 1\nname: demo\nphases:\n{phases}\n"));
        let before = project.tree();
        let ran = project.command(["run", "--no-input"]);
        assert_eq!(ran.code, 2, "{phases}: {ran}");
        assert!(!ran.err.contains("postgres"), "{ran}");
        ran.err_names([if phases.contains("used.yaml") { "inner" } else { "a" }, key, "DB_PASSWORD", "redact.except"]);
        assert_eq!(project.tree(), before, "{phases}: something was made");
        let checked = project.command(["check"]).expect(0);
        assert!(!checked.out.contains("holds the value of the variable postgres"), "{checked}");
        for word in ["warning", key, "DB_PASSWORD", "redact.except"] {
            assert!(checked.out.contains(word), "{word}: {checked}");
        }
    }
    project.plan("onward: 1\nname: to postgres\nphases:\n  postgres: { run: 'true' }\n");
    let checked = project.command(["check"]).expect(0).out;
    assert!(checked.contains("the name of the plan") && checked.contains("the id of a phase"), "{checked}");
    project.plan(
        "onward: 1\nname: demo\ninputs: { api_token: { type: string } }\nphases:\n  a: { run: 'true', writes: [out/hunter22] }\n",
    );
    let ran = project.command(["run", "--no-input", "--input", "api_token=hunter22"]).expect(2);
    ran.err_names(["api_token", "writes"]);
    project.plan(
        "onward: 1\nname: demo\ninputs: { place: { type: string } }\nphases:\n  a: { run: 'true', reads: ['out/${{ inputs.place }}'] }\n",
    );
    project.command(["run", "--no-input", "--input", "place=postgres"]).expect(2).err_names(["place", "reads"]);
    project.write(".onward/config.yaml", "redact: { except: [DB_PASSWORD] }\n");
    project.command(["trust"]).expect(0);
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: 'mkdir -p out/postgres', writes: [out/postgres] }\n");
    project.command(["run", "--no-input"]).expect(0);
}

/// Nothing that is kept, and nothing that git is told in messages or keeps of the journal, holds the secret.
fn nothing_kept_holds_the_secret(project: &TestProject) {
    let mut all = kept::everything(&project.dir());
    if project.exists(".git") {
        let journal = project.git(["for-each-ref", "--format=%(refname)", "refs/onward"]);
        all.push(("messages of commits".to_owned(), project.git(["log", "--all", "--format=%B"]).into_bytes()));
        for name in journal.lines().filter(|name| name.contains("journal")) {
            all.push((name.to_owned(), project.git(["log", "-p", "--text", name]).into_bytes()));
        }
    }
    let told: Vec<&String> = all.iter().filter(|(_, bytes)| holds_the_secret(bytes)).map(|(name, _)| name).collect();
    assert!(told.is_empty(), "{told:?}");
}

/// Somebody reports artifacts with a secret in their names: one that is there, one that is not, and one outside of the project.
#[test]
fn artifacts_that_are_reported_by_a_secret_name_are_cut() {
    let mut project = project();
    project.set_env("DEPLOY_TOKEN", SECRET);
    project.plan(
        "onward: 1\nname: demo\nphases:\n  b: { external: { instructions: do it } }\n  c: { external: { instructions: do it } }\n",
    );
    project.git_init();
    project.command(["run"]).expect(15);
    let there = format!("out-{SECRET}.txt");
    project.write(&there, "1\n");
    for (artifact, code) in [(format!("gone-{SECRET}"), 1), (format!("../{SECRET}"), 1), (there, 0)] {
        let ran = project.command(["report", "done", "b", "--artifact", &artifact]).expect(code);
        assert!(!holds_the_secret(format!("{}{}", ran.out, ran.err).as_bytes()), "{ran}");
    }
    nothing_kept_holds_the_secret(&project);
    let checked = project.command(["status", "--json"]).expect(0);
    assert!(!checked.out.contains("no longer there"), "{checked}");
    project.command(["resume", "--no-input"]).expect(15);
    nothing_kept_holds_the_secret(&project);
}

/// Files have a secret in their names: what a phase reads and writes, and what was changed before the run. No name is kept, and each
/// is known again: by a shell that has the secret, and by one that has it no more.
#[test]
fn names_of_files_that_hold_a_secret_are_cut_and_known_again() {
    let mut project = project();
    project.set_env("DEPLOY_TOKEN", SECRET);
    project.plan(
        r#"
onward: 1
name: demo
checkpoint: { git-commit: { every: 1 } }
phases:
  a:
    reads: ['in/**']
    writes: ['out/**']
    run: mkdir -p out; for n in 1 2; do echo $n > "out/$n-$DEPLOY_TOKEN.c"; done
  b: { needs: a, external: { instructions: do it } }
  c: { needs: b, run: echo 1 > new.txt }
"#,
    );
    project.git_init();
    let mine = format!("mine-{SECRET}.txt");
    project.write(&mine, "1\n");
    project.write(format!("in/x-{SECRET}.h"), "1\n");
    project.command(["run"]).expect(15);
    nothing_kept_holds_the_secret(&project);
    let stale = |project: &TestProject, code| {
        let ran = project.command(["resume", "--no-input"]);
        assert_eq!(ran.code, code, "{ran}");
        assert!(!holds_the_secret(format!("{}{}", ran.out, ran.err).as_bytes()), "{ran}");
    };
    stale(&project, 15);
    project.remove_env("DEPLOY_TOKEN");
    stale(&project, 15);
    project.set_env("DEPLOY_TOKEN", SECRET);
    project.write(format!("in/x-{SECRET}.h"), "2\n");
    stale(&project, 14);
    project.command(["resume", "--no-input", "--accept-stale"]).expect(15);
    stale(&project, 15);
    nothing_kept_holds_the_secret(&project);
    // What was the user's before the run stays theirs, also for a shell without the secret.
    project.remove_env("DEPLOY_TOKEN");
    project.command(["report", "done", "b"]).expect(0);
    project.command(["resume", "--no-input"]).expect(0);
    let committed = project.git(["log", "--name-only", "--format="]);
    assert!(committed.contains("new.txt") && !committed.contains(&mine), "{committed}");
}

/// Files with a secret in their names are named as changed at a start. They are named without it.
#[test]
fn changed_files_are_told_without_the_secret_in_their_names() {
    let mut project = project();
    project.set_env("DEPLOY_TOKEN", SECRET);
    project.plan(
        "onward: 1\nname: demo\nfreshness: { git: { if-dirty: warn } }\nphases:\n  \
         a: { external: { instructions: do it }, writes: ['out/**'] }\n  b: { needs: a, external: { instructions: do it } }\n",
    );
    project.git_init();
    let out = format!("out/x-{SECRET}.c");
    project.write(&out, "1\n");
    project.command(["run"]).expect(15);
    project.command(["report", "done", "a"]).expect(0);
    project.write(&out, "2\n");
    let ran = project.command(["resume", "--no-input"]).expect(15).err_names(["not committed", "out/x-[redacted]"]);
    assert!(!holds_the_secret(format!("{}{}", ran.out, ran.err).as_bytes()), "{ran}");
    nothing_kept_holds_the_secret(&project);
}
