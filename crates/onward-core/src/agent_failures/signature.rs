//! The common part of failures of one kind: their words, but for numbers, times, ids, and the names of temporary files.

use crate::event::PhaseError;

const SIGNATURE_CHARS: usize = 16;
/// So many letters from `a` to `f` and digits, with a digit among them, are an id.
const ID_CHARS_MIN: usize = 6;
/// The same without a digit: no word is so long.
const ID_LETTERS_MIN: usize = 12;
/// The groups of a UUID.
const UUID_GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
/// Words of a date, beside a number.
const DATE_WORDS: &[&str] = &[
    "mon", "tue", "wed", "thu", "fri", "sat", "sun", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep",
    "oct", "nov", "dec", "am", "pm", "utc", "gmt",
];
/// Stands for everything that differs from one time to the next.
const ANY: char = '#';

/// The signature of a failure, and of the last line that it printed.
pub(crate) fn signature(error: &PhaseError, said: Option<&str>) -> String {
    let message = plain(&error.message);
    let said = said.map(plain).unwrap_or_default();
    let text = format!("{}\n{message}\n{said}", error.code.as_str());
    blake3::hash(text.as_bytes()).to_hex()[..SIGNATURE_CHARS].to_owned()
}

fn plain(text: &str) -> String {
    let mut words: Vec<String> = text.split_whitespace().map(word).collect();
    // `Thu Nov 19`: the month is beside the number, and the day beside the month.
    for _ in 0..2 {
        words = without_dates(&words);
    }
    words.dedup_by(|later, earlier| later == "#" && earlier == "#");
    words.join(" ")
}

fn without_dates(words: &[String]) -> Vec<String> {
    let is_number = |at: usize| words.get(at).is_some_and(|word| word.starts_with(ANY));
    let plain = words.iter().enumerate().map(|(at, word)| {
        let bare = word.trim_matches(|letter: char| !letter.is_alphanumeric());
        let beside = at.checked_sub(1).is_some_and(is_number) || is_number(at + 1);
        if beside && DATE_WORDS.contains(&bare) { ANY.to_string() } else { word.clone() }
    });
    plain.collect()
}

/// One word, with what varies taken out of it.
fn word(word: &str) -> String {
    let parts: Vec<&str> = word.split('/').collect();
    let plain = parts.iter().enumerate().map(|(at, part)| {
        let in_temporary = at > 0 && parts[at - 1] == "tmp";
        let bare = part.trim_start_matches('.');
        let temporary = bare.len() > 3 && bare.starts_with("tmp");
        if (in_temporary || temporary) && parts.len() > 1 { ANY.to_string() } else { runs(part) }
    });
    collapsed(&plain.collect::<Vec<_>>().join("/"))
}

/// Runs of letters and digits, each for itself.
fn runs(part: &str) -> String {
    let mut out = String::with_capacity(part.len());
    for chunk in part.split_inclusive(|letter: char| !letter.is_alphanumeric() && letter != '-') {
        let end = chunk.trim_end_matches(|letter: char| !letter.is_alphanumeric() && letter != '-');
        if is_uuid(end) {
            out.push(ANY);
        } else {
            out.push_str(&end.split('-').map(run).collect::<Vec<_>>().join("-"));
        }
        out.push_str(&chunk[end.len()..]);
    }
    out
}

fn run(run: &str) -> String {
    let has_digit = run.contains(|letter: char| letter.is_ascii_digit());
    let hex = run.chars().all(|letter| letter.is_ascii_hexdigit());
    let is_id = hex && ((has_digit && run.len() >= ID_CHARS_MIN) || run.len() >= ID_LETTERS_MIN);
    // A number with its unit: `3s`, `41ms`, `0x1f`.
    if is_id || run.starts_with(|letter: char| letter.is_ascii_digit()) {
        return ANY.to_string();
    }
    let lower = run.to_lowercase();
    let digits = |letter: char| if letter.is_ascii_digit() { ANY } else { letter };
    lower.chars().map(digits).collect::<String>()
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let fits =
        |(group, length): (&&str, &usize)| group.len() == *length && group.chars().all(|c| c.is_ascii_hexdigit());
    groups.len() == UUID_GROUPS.len() && groups.iter().zip(&UUID_GROUPS).all(fits)
}

/// Several of them with only points, dashes or colons between them are one.
fn collapsed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        let between = out.trim_end_matches(['.', '-', ':', ',', '+', '_', '/']);
        if letter == ANY && between.ends_with(ANY) {
            out.truncate(between.len());
        } else {
            out.push(letter);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::FailureCode;

    fn of(message: &str) -> String {
        signature(&PhaseError { code: FailureCode::AgentFailed, message: message.to_owned() }, None)
    }

    /// The same mistake in another line, after another time, with another id or in another temporary file is the same.
    #[test]
    fn what_varies_does_not_make_another_failure() {
        for (one, other) in [
            ("error E0308 in login.rs:12 after 3s", "Error e0308  in login.rs:7 after 41s"),
            ("took 900ms", "took 1.2s"),
            ("at 2026-11-19T12:44:27Z", "at 2025-01-02T03:04:05.678+01:00"),
            ("Thu Nov 19 12:46:27 UTC 2026: no", "Mon Jan 5 01:02:03 GMT 2027: no"),
            ("commit 3229dfc is gone", "commit 2cddcf8 is gone"),
            ("no object deadbeefdeadbeef", "no object 0123456789abcdef"),
            ("job 3f2504e0-4f89-41d3-9a0c-0305e82c3301", "job a1b2c3d4-aaaa-bbbb-cccc-ddddeeeeffff"),
            ("cannot read /tmp/xK3jd/out.txt", "cannot read /tmp/Qpa9e/out.txt"),
            ("cannot read build/tmpab12x/a", "cannot read build/tmp.zzQ1/a"),
            ("127.0.0.1:8080 refused", "10.0.0.12:91 refused"),
            ("pointer 0x7ffe12", "pointer 0x55aa"),
        ] {
            assert_eq!(of(one), of(other), "{one} | {other}");
        }
    }

    /// Another word, another file or another last line is another failure.
    #[test]
    fn what_is_another_failure() {
        for (one, other) in [
            ("error in the parser", "error in the linker"),
            ("cannot read src/a.rs", "cannot read src/b.rs"),
            ("cannot read /tmp/xK3jd/a", "cannot read /tmp/xK3jd/b"),
            ("the effaced face", "the defaced face"),
            ("mars is far", "may is near"),
        ] {
            assert_ne!(of(one), of(other), "{one} | {other}");
        }
        let error = PhaseError { code: FailureCode::ExitCode, message: "exited with code 1".to_owned() };
        assert_ne!(signature(&error, Some("no such file")), signature(&error, Some("no such user")));
        assert_eq!(signature(&error, Some("line 3: no")), signature(&error, Some("line 14: no")));
    }
}
