//! "did you mean": the known word nearest to a mistyped one.

use crate::diagnostic::Diagnostic;

/// Beyond this many candidates nothing is suggested: a suggestion is a kindness, not worth a quadratic search.
const CANDIDATES_MAX: usize = 1_000;
/// After this many faults no word is looked up any more: nobody reads that far.
const FAULTS_MAX: usize = 200;
/// Longer words are no slips of the pen.
const WORD_CHARS_MAX: usize = 64;

/// Words people know from elsewhere, and ours for the same thing.
const ELSEWHERE: &[(&str, &str)] = &[
    ("depends", "needs"),
    ("deps", "needs"),
    ("dependencies", "needs"),
    ("depends_on", "needs"),
    ("depends-on", "needs"),
    ("dependsOn", "needs"),
    ("requires", "needs"),
    ("after", "needs"),
    ("command", "run"),
    ("cmd", "run"),
    ("cmds", "run"),
    ("script", "run"),
    ("exec", "run"),
    ("environment", "env"),
    ("vars", "env"),
    ("cwd", "working-directory"),
    ("dir", "working-directory"),
    ("workdir", "working-directory"),
    ("retries", "retry"),
    ("jobs", "phases"),
    ("tasks", "phases"),
    ("steps", "phases"),
    ("stages", "phases"),
    ("version", "onward"),
    ("parallel", "max-parallel"),
    ("timeout-minutes", "timeout"),
    ("sources", "reads"),
    ("generates", "writes"),
    ("status", "done-when"),
    ("when", "if"),
    ("condition", "if"),
    ("params", "inputs"),
    ("parameters", "inputs"),
    ("always", "finally"),
];

/// True as long as there are few enough faults for a suggestion to be read.
pub(crate) fn worth_it(faults: &[Diagnostic]) -> bool {
    faults.len() < FAULTS_MAX
}

/// The nearest candidate, if one is near enough to have been meant.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let candidates: Vec<&str> = candidates.into_iter().take(CANDIDATES_MAX + 1).collect();
    if candidates.len() > CANDIDATES_MAX || word.chars().count() > WORD_CHARS_MAX {
        return None;
    }
    let wanted = folded(word);
    let meant = ELSEWHERE.iter().find(|(other, _)| folded(other) == wanted).map(|(_, ours)| *ours);
    if let Some(ours) = meant.and_then(|ours| candidates.iter().find(|candidate| **candidate == ours)) {
        return Some(ours);
    }
    let limit = (wanted.len() / 3).min(3);
    let near = candidates.into_iter().map(|candidate| (distance(&wanted, &folded(candidate)), candidate));
    near.filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `did you mean ...?`, or nothing where no candidate is near.
pub(crate) fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, candidates).map(|near| format!("did you mean `{near}`?")).unwrap_or_default()
}

fn folded(word: &str) -> Vec<char> {
    word.chars().map(|c| if c == '_' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// Insertions, deletions, replacements and swaps of neighbours between the two words.
fn distance(a: &[char], b: &[char]) -> usize {
    if a.len().abs_diff(b.len()) > 3 {
        return usize::MAX;
    }
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}
