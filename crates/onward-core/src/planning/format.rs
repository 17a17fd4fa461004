//! The format of plans, told to an agent that is to write one. The example and the keys are the program's own: a test reads the
//! example, and the keys come from the tables that the checker goes by.

use crate::plan::keys_in_short;

/// A plan with every kind of phase that an agent should think of.
const EXAMPLE: &str = r#"onward: 1
name: refresh-tokens
description: Login with refresh tokens, up to an open pull request.

defaults:
  timeout: 1h

phases:
  research:
    agent:
      prompt: |
        Find out how sessions are kept today and what refresh tokens have to change.
        Write what you found to docs/research.md, at most one page.
    writes: [docs/research.md]
    artifacts: { report: docs/research.md }

  build:
    needs: research
    agent:
      prompt: Build refresh tokens as docs/research.md says, with tests.
      context: ["artifacts:research.report"]
      allow: [Edit, Write, "Bash(npm test:*)"]
    writes: ["src/**", "tests/**"]
    verify: [npm test --silent]

  lint:
    needs: build
    run: npm run lint
    effects: none

  release:
    needs: [build, lint]
    approval: Open the pull request?

  pull-request:
    needs: release
    effects: external
    kind: commit
    run: |
      git switch -c refresh-tokens
      git add src tests docs && git commit -m "login: refresh tokens"
      git push -u origin HEAD && gh pr create --fill
    done-when: ['test "$(gh pr list --head refresh-tokens --json state -q ".[0].state")" = OPEN']
"#;

const ABOUT: &str = "\
A plan is a YAML file. It names phases; a phase starts when all the phases in its `needs` are done, and phases that do not need each \
other run side by side. Every phase is done in exactly one way: `run` (a shell script), `agent` (a coding agent with a prompt), \
`approval` (a person says yes), `external` (somebody else, who reports) or `uses` (another plan file).

What makes a plan good:
- A phase is a piece of work that can be done again alone after an interruption, and whose end can be seen. Between three and ten \
phases are usual; a small task has one or two.
- `artifacts` and `verify` prove that a phase is done. Give every agent phase at least one of them, with commands that exist in this \
project.
- `writes` names the files that a phase changes, so that two phases that change the same files never run side by side.
- A phase whose effect leaves this machine (an issue, a push, a deployment) has `effects: external` and a command `done-when` that \
tells whether the effect is there (0 yes, 1 no), and comes behind an approval where a person would want to look first.
- An agent sees its prompt and the files of the project, not what the others were told: its prompt says all that it needs.
- No secrets, and no `${{ }}` inside `run`: values come through `env`.
";

/// The format of plans in a few pages.
pub fn about_plans() -> String {
    format!("{ABOUT}\nAn example:\n\n```yaml\n{EXAMPLE}```\n\n{}", keys_in_short())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::parse;

    /// The example that agents are shown is a plan that the checker has nothing to say about, not even a warning.
    #[test]
    fn the_example_is_a_plan_without_fault() {
        let parsed = parse(EXAMPLE);
        assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
        assert_eq!(parsed.plan.expect("a plan").phases.len(), 5);
    }

    /// Agents are told of keys that the program acts on, and of no others.
    #[test]
    fn keys_are_those_of_the_tables() {
        let told = about_plans();
        for key in ["`needs`", "`done-when`", "`prompt`", "`max`"] {
            assert!(told.contains(&format!("- {key}: ")), "{key} is not told");
        }
        assert!(!told.contains("- `runs-on`: "), "this version does not act on it");
    }
}
