//! Transient failures: the network, or a service that is overloaded, is to blame, and the same may work in a moment. What counts is
//! what the attempt says at its end, in the forms that the programs of today use.

use std::sync::LazyLock;

use regex_lite::Regex;

use crate::plan::{Phase, RetryWhen};
use crate::tail;

/// Each kind with the forms in which it is said. `docs/limits.md` shows an example of every one.
const FORMS: &[&str] = &[
    // A connection that was reset, refused or lost.
    r"\bconnection (?:was )?(?:reset|refused|aborted)\b",
    r"\bconnection (?:was )?(?:closed|lost|terminated) (?:unexpectedly|prematurely|by (?:the )?(?:remote|peer|server|foreign))",
    r"\be?conn(?:reset|refused|aborted)\b",
    r"\bsocket hang up\b",
    r"\bremote end (?:hung up unexpectedly|closed connection)",
    r"\b(?:network is unreachable|no route to host|enetunreach|ehostunreach|enetdown)\b",
    // A name that could not be resolved.
    r"\b(?:could not|couldn't|cannot|unable to|failed to) resolve (?:host|proxy|the host)",
    r"\b(?:temporary failure (?:in name resolution|resolving)|name or service not known)\b",
    r"\b(?:nodename nor servname provided|failed to lookup address information|name resolution (?:failed|error))",
    r"\b(?:eai_again|enotfound|getaddrinfo (?:failed|eai_again|enotfound))\b",
    r"\blookup [^\s]+(?: on [^\s]+)?: (?:no such host|i/o timeout|server misbehaving)",
    // An answer that did not come in time.
    r"\b(?:connection|connect|operation|request|read|write|gateway|handshake|i/o|network|socket|server|response|upstream)(?: has| was)? ?time(?:d[ -]?|[ -]?)out\b",
    r"\b(?:etimedout|esockettimedout|err_timed_out|und_err_connect_timeout)\b",
    r"\b(?:context deadline exceeded|deadline_exceeded)\b",
    // HTTP, as curl, wget, fetch, Python, npm and git print it.
    r"\bhttp(?:/[0-9.]+)?[ :]+(?:status[ :]+|error[ :]+|code[ :]+)?(?:429|502|503|504|529)\b",
    r#"\b(?:status(?:[ _-]?code)?|api error|error(?: code)?|code|response)["']?\s*[:=(]?\s*\(?(?:429|502|503|504|529)\b(?:[^0-9]|$)"#,
    r"\b(?:429|502|503|504|529)[ :,-]+(?:too many requests|bad gateway|service (?:temporarily )?unavailable|gateway time-?out|overloaded)",
    r#"["'](?:overloaded_error|service_unavailable|unavailable)["']"#,
];

static TRANSIENT: LazyLock<Regex> = LazyLock::new(|| {
    let whole = format!("(?i){}", FORMS.join("|"));
    Regex::new(&whole).expect("the forms are constants and a test compiles them")
});

/// Whether the end of an output blames the network or an overloaded service. Only the last 4 KiB count: what was said long before
/// the end was not the end.
pub fn is_transient(output: &[u8]) -> bool {
    TRANSIENT.is_match(&tail::readable(output))
}

/// The kind of a failure after what was said about it: transient, where the plan asks for that class and not for all failures.
pub(in crate::run) fn kind(phase: &Phase, when: RetryWhen, said: &str) -> RetryWhen {
    let asked = when == RetryWhen::Failed
        && !phase.retry.when.contains(&RetryWhen::Failed)
        && phase.retry.when.contains(&RetryWhen::Transient);
    if asked && is_transient(said.as_bytes()) { RetryWhen::Transient } else { when }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Programs talk of the network and of numbers without having failed because of them.
    #[test]
    fn ordinary_failures_are_not_transient() {
        for text in [
            "syntax error in line 3",
            "test resets_connection ... FAILED",
            "line 503: expected `}`",
            "502 tests passed, 1 failed",
            "error[E0429]: `self` imports are only available within a list",
            "HTTP/1.1 404 Not Found",
            "HTTP/1.1 500 Internal Server Error",
            "status code: 5030",
            "assertion failed: timeout == 30",
            "timed out after 5 failing tests",
            "",
        ] {
            assert!(!is_transient(text.as_bytes()), "{text}");
        }
    }
}
