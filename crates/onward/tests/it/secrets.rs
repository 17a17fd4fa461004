//! Stories about secrets: whatever way they take, none of them is kept or shown.

use std::ffi::OsStr;

use onward_testkit::{Ran, TestProject, kept};

use crate::project;

/// Planted in every test; `ONWARD_CANARIES` plants more.
const CANARIES: usize = 200;

/// Ends of names that say that a value is secret.
const NAMES: [&str; 11] =
    ["TOKEN", "SECRET", "KEY", "PASSWORD", "PASSWD", "_PASS", "_PWD", "_PAT", "_AUTH", "DSN", "CREDENTIALS"];

/// A project whose environment is full of secrets, and all that it has printed.
struct Cage {
    project: TestProject,
    canaries: Vec<String>,
    next: usize,
    printed: String,
}

impl Cage {
    fn new() -> Self {
        let count = std::env::var("ONWARD_CANARIES").ok().and_then(|count| count.parse().ok()).unwrap_or(CANARIES);
        let mut project = project();
        let mut canaries = Vec::new();
        let mut random: u64 = 0x9e37_79b9_7f4a_7c15;
        for number in 0..count {
            let letters = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
            let canary: String = std::iter::repeat_with(|| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                char::from(letters[usize::try_from(random >> 33).expect("small") % letters.len()])
            })
            .take(24)
            .collect();
            project.set_env(&format!("C{number}{}", NAMES[number % NAMES.len()]), &canary);
            canaries.push(canary);
        }
        Self { project, canaries, next: 0, printed: String::new() }
    }

    /// Another canary each time, as long as there are some.
    fn canary(&mut self) -> String {
        self.next += 1;
        self.canaries[self.next % self.canaries.len()].clone()
    }

    /// The variable that holds the canary which comes next.
    fn variable(&mut self) -> String {
        self.next += 1;
        let number = self.next % self.canaries.len();
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
        let mut found = Vec::new();
        for canary in &self.canaries {
            for form in [canary.clone(), hex(canary), base64(canary)] {
                let holds = |bytes: &[u8]| bytes.windows(form.len()).any(|part| part == form.as_bytes());
                let places = all.iter().filter(|(_, bytes)| holds(bytes)).map(|(name, _)| name.clone());
                found.extend(places.map(|place| format!("{canary} as {form} in {place}")));
            }
        }
        assert!(found.is_empty(), "{} of {} got out:\n{}", found.len(), self.canaries.len(), found.join("\n"));
    }
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
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

/// Whoever speaks to a run tells a secret in everything that can be told: names, reasons, notes, states with their keys, plans.
#[test]
fn soak_no_canary_of_what_is_told() {
    let mut cage = Cage::new();
    cage.project.plan(
        "onward: 1\nname: demo\nreplan: { approval: false }\nphases:\n  ext: { external: { instructions: do it }, retry: { max: 3 } }\n  gate: { needs: ext, approval: { message: sure? } }\n",
    );
    cage.command(["run"]).expect(15);
    let value = cage.canary();
    cage.command(["checkpoint", "--name", &value]).expect(0);
    let (key, value, inner) = (cage.canary(), cage.canary(), cage.canary());
    cage.project.write("state.json", format!(r#"{{"{key}": {{"{inner}": "is {value}"}}, "plain": 1}}"#));
    cage.command(["state", "merge", "state.json"]).expect(0);
    cage.command(["state", "get"]).expect(0);
    cage.command(["save", "kind", &inner, "--state", "state.json"]).expect(0);
    cage.project.write("state.json", format!(r#"{{"{key}": {{"{inner}": "is now {value}"}}, "plain": 2}}"#));
    cage.command(["save", "kind", &inner, "--state", "state.json"]).expect(0);
    let run =
        cage.command(["list", "--json", "--type", "run"]).json()["runs"][0]["run"].as_str().expect("a run").to_owned();
    let mut told = |args: &[&str]| {
        let canary = cage.canary();
        let words: Vec<String> = args.iter().map(|word| word.replace("CANARY", &canary)).collect();
        cage.command(words.iter().map(String::as_str).chain(["--run", &run]))
    };
    told(&["report", "start", "ext"]).expect(0);
    told(&["report", "progress", "ext", "--note", "at CANARY"]).expect(0);
    told(&["report", "fail", "ext", "--reason", "no CANARY"]).expect(0);
    told(&["report", "done", "ext", "--remaining", "the rest of CANARY"]).expect(1);
    told(&["report", "replan", "ext", "--reason", "with CANARY"]);
    told(&["report", "done", "ext", "--summary", "by CANARY", "--output", "given=CANARY", "--commit", "CANARY"]);
    for (args, plan) in [
        (&["report", "replan", "ext", "--reason", "r", "--plan", "next.yaml"][..], true),
        (&["check", "next.yaml"], true),
        (&["show", "CANARY"], false),
        (&["status", "CANARY"], false),
        (&["run", "--nonsense=CANARY"], false),
        (&["run", "CANARY.yaml"], false),
        (&["approve", "@", "gate", "--choice", "CANARY"], false),
    ] {
        let canary = cage.canary();
        if plan {
            let text = format!(
                "onward: 1\nname: demo\nphases:\n  ext: {{ external: {{ instructions: {canary} }}, nonsense: {canary} }}\n"
            );
            cage.project.write("next.yaml", text);
        }
        cage.command(args.iter().map(|word| word.replace("CANARY", &canary)));
    }
    cage.is_shut();
}
