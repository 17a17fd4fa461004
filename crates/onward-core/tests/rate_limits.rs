//! Limits as people really meet them: what is recognised, what is not, and until when it stands.

use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use onward_core::plan::{Detect, Limit, WhenLimited};
use onward_core::rate_limit::{
    FailureEvidence, GUESS_FIRST, GUESS_MAX, RESET_AWAY_MAX, RecognisedLimit, Response, Speaker, WaitPolicy, guess,
    recognise, respond,
};
use onward_core::run::transient::is_transient;
use proptest::prelude::*;

fn now() -> Timestamp {
    "2026-11-15T10:00:00Z".parse().expect("a time")
}

fn agent(text: &str) -> Option<RecognisedLimit> {
    let evidence = FailureEvidence {
        speaker: Speaker::Agent,
        exit_code: Some(1),
        text: text.as_bytes(),
        hits_before: 0,
        local: &TimeZone::UTC,
    };
    recognise(&evidence, [], now())
}

fn program(code: i32, text: &str, limits: &[(&str, &Limit)]) -> Option<RecognisedLimit> {
    let evidence = FailureEvidence {
        speaker: Speaker::Program,
        exit_code: Some(code),
        text: text.as_bytes(),
        hits_before: 0,
        local: &TimeZone::UTC,
    };
    recognise(&evidence, limits.iter().copied(), now())
}

/// Seconds from now that were told; none if it is a guess.
fn told(hit: &RecognisedLimit) -> Option<i64> {
    hit.told.then(|| hit.until.duration_since(now()).as_secs())
}

const HOUR: i64 = 3600;

/// The page shows how a transient failure is said. Each of its examples is one, as it would stand at the end of an output.
#[test]
fn every_example_of_a_transient_failure_is_one() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/limits.md");
    #[expect(clippy::disallowed_methods, reason = "the test reads a page of the repository; core itself reads none")]
    let page = std::fs::read_to_string(path).expect("the page is there");
    let table = page.split("## Transient failures").nth(1).expect("a section").split("\n## ").next().expect("its text");
    let rows = table.lines().filter(|line| line.starts_with("| ") && line.contains('`'));
    let examples: Vec<&str> = rows.flat_map(|row| row.split('`').skip(1).step_by(2)).collect();
    assert!(examples.len() > 20, "{examples:?}");
    for example in examples {
        let output = format!("fetching\nerror: {example}\nmake: *** [fetch] Error 1\n");
        assert!(is_transient(output.as_bytes()), "{example}");
    }
}

#[test]
fn agents_say_when_to_come_back() {
    // It is ten o'clock in the morning, UTC. Each message is one that people have seen; the time must be right.
    for (text, seconds) in [
        ("Claude AI usage limit reached|1794740400", HOUR),
        ("Claude AI usage limit reached|1794740400000", HOUR),
        ("Claude usage limit reached. Your limit will reset at 9pm (America/Chicago).", 17 * HOUR),
        ("You've hit your session limit · resets 5:30pm (Asia/Calcutta)", 2 * HOUR),
        ("You’ve hit your session limit · resets 5:30pm (Asia/Kolkata)", 2 * HOUR),
        ("You've hit your limit · resets 1:30am (Asia/Dhaka)", 9 * HOUR + 1800),
        ("You've hit your session limit · resets 12:50am (Asia/Dhaka)", 8 * HOUR + 3000),
        ("You've hit your session limit · resets 12:50pm (UTC)", 2 * HOUR + 3000),
        ("You've hit your usage limit. Try again in 1 week 2 hours.", 7 * 24 * HOUR + 2 * HOUR),
        ("You've hit your weekly limit · resets Nov 20 at 9pm (America/New_York)", 5 * 24 * HOUR + 16 * HOUR),
        ("You've hit your weekly limit · resets Nov 20, 9pm (America/New_York)", 5 * 24 * HOUR + 16 * HOUR),
        ("Weekly limit reached ∙ resets Thu 3:00 PM (UTC)", 4 * 24 * HOUR + 5 * HOUR),
        ("You've hit your weekly limit · resets Sunday at 9am (UTC)", 7 * 24 * HOUR - HOUR),
        ("You're out of extra usage · resets 11pm (Asia/Colombo)", 7 * HOUR + 1800),
        ("5-hour limit reached - resets 4:15pm (Asia/Kolkata)", 2700),
        ("5-hour limit reached ∙ resets 3pm (Europe/Berlin)", 4 * HOUR),
        ("You've hit your limit for Claude messages. Limits will reset at 11:30 AM.  View your usage details.", 5400),
        ("Opus weekly limit reached ∙ resets Oct 6, 2027, 1pm (Europe/Berlin)", -1),
        (
            "■ You've hit your usage limit. Upgrade to Pro (https://openai.com/chatgpt/pricing) or try again in 2 days 17 hours 14 minutes.",
            2 * 24 * HOUR + 17 * HOUR + 14 * 60,
        ),
        (
            "You've hit your usage limit. Upgrade to Pro (https://x.y) or try again in 5 days 22 hours 11\nminutes.",
            5 * 24 * HOUR + 22 * HOUR + 11 * 60,
        ),
        (
            "You’ve hit your usage limit. Visit https://chatgpt.com/codex/settings/usage to purchase more credits or try again at 2:51\u{202f}PM.",
            4 * HOUR + 51 * 60,
        ),
        (
            "You've hit your usage limit. To get more access now, send a request to your admin or try again at Nov 17th, 2026 3:14 PM.",
            2 * 24 * HOUR + 5 * HOUR + 14 * 60,
        ),
        (
            r#"{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"plus","resets_in_seconds":3451}}"#,
            3451,
        ),
        (r#"{"error":{"type":"usage_limit_reached","resets_at":1794740400,"resets_in_seconds":7}}"#, HOUR),
        (
            "Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 14567, Requested 24754. Please try again in 18.642s. Visit https://platform.openai.com/account/rate-limits to learn more.",
            18,
        ),
        (
            "Rate limit reached for 10KTPM-200RPM in organization org-x on tokens per min. Limit: 10000 / min. Please try again in 6ms.",
            0,
        ),
        (
            "[API Error: You have exhausted your capacity on this model. Your quota will reset after 3h20m10s.]",
            3 * HOUR + 1210,
        ),
        (
            "{\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\",\"details\":[{\"@type\":\"x/google.rpc.RetryInfo\",\"retryDelay\":\"34s\"}]}}",
            34,
        ),
        ("You exceeded your current quota. Please retry in 34.07s. {\\\"code\\\": 429}", 34),
        ("API Error: 429 {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\"}} retry-after: 12", 12),
        (
            "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
            15 * 24 * HOUR + 14 * HOUR,
        ),
    ] {
        let hit = agent(text).unwrap_or_else(|| panic!("not recognised: {text}"));
        assert_eq!(told(&hit), (seconds >= 0).then_some(seconds), "{text}");
        assert!(!hit.said.is_empty() && hit.limits.is_empty(), "{text}");
    }
}

#[test]
fn agents_that_do_not_say_when() {
    // A refusal without a time, or with one that is over or beyond belief, is a limit all the same: a minute, to begin with.
    for text in [
        "Error: 429 {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"This request would exceed your account's rate limit. Please try again later.\"}}",
        "API Error (529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}) · Retrying in 24 seconds… (attempt 10/10)",
        "API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment.",
        "[API Error: Resource has been exhausted (e.g. check quota).]",
        "Resource exhausted. Please try again later. Please refer to https://cloud.google.com/vertex-ai for more details.",
        "Quota exceeded for quota metric 'Gemini 2.5 Pro Requests' and limit 'Gemini 2.5 Pro Requests per day per user per tier'",
        "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
        "gh: API rate limit exceeded for user ID 12345.",
        "You've hit your usage limit. Try again later.",
        "Claude AI usage limit reached|1600000000",
        "You've hit your session limit · resets 9:59am (UTC)",
        "You've hit your session limit · resets 5:30am (Mars/Base)",
        "OpenAI error: Error code: 429 - {'error': {'code': 'rate_limit_exceeded'}}",
    ] {
        let hit = agent(text).unwrap_or_else(|| panic!("not recognised: {text}"));
        assert_eq!((hit.told, hit.until), (false, now() + GUESS_FIRST), "{text}");
    }
}

#[test]
fn text_about_limits_is_no_limit() {
    // An agent failed for another reason and talks about limits all the same. It must not be taken for one.
    for text in [
        "",
        "I could not finish: the test `rate_limit_exceeded_is_retried` fails with an assertion",
        "test rate_limit_error ... FAILED",
        "I added rate limit handling: on a 429 the client waits for retry-after: 30 seconds",
        "The limit of 100 lines was reached, see docs/limits.md",
        "the file has 429 lines",
        "line 429: expected `;`",
        "error[E0429]: `self` imports are only available within a { } list",
        "This function resets the counter at 3pm every day",
        "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 31538. {'code': 'rate_limit_exceeded'}",
        "You exceeded your current quota, please check your plan and billing details. {'type': 'insufficient_quota', 'code': 429}",
        "You've hit your context limit",
        "You've reached your monthly spend limit",
        "Credit balance is too low",
        "usage limit reached for the connection pool in module x",
        "please try again in 5 minutes, the build server restarts",
    ] {
        assert_eq!(agent(text), None, "{text}");
    }
}

#[test]
fn programs_are_believed_by_their_exit_code() {
    // A program that draws on no limit says 75 and a time, or only 75. Any other end is an ordinary failure, whatever it prints.
    for (output, seconds) in [
        ("retry-after: 1", Some(1)),
        ("Retry-After: 120\n", Some(120)),
        ("retry-after: Sun, 15 Nov 2026 10:00:30 GMT", Some(30)),
        ("retry-after: 2026-11-15T12:00:00+01:00", Some(HOUR)),
        ("x-ratelimit-reset: 1794736830", Some(30)),
        ("< x-ratelimit-reset: 1794740400\n< retry-after: 60\n", Some(60)),
        ("x-ratelimit-reset-tokens: 6m0s", Some(360)),
        ("anthropic-ratelimit-requests-reset: 2026-11-15T10:00:09Z", Some(9)),
        ("retry-after-ms: 1500", Some(1)),
        ("resets at 3pm (Europe/Berlin)", Some(4 * HOUR)),
        ("try again in 4h 12m", Some(4 * HOUR + 720)),
        ("Please try again in 20s", Some(20)),
        ("rate limited until 2026-11-15 12:00:00 UTC", Some(2 * HOUR)),
        ("try again at 6:30 AM PT", Some(4 * HOUR + 1800)),
        ("available again 16:30 UTC+05:30, 429 so far", Some(HOUR)),
        ("come back later", None),
        ("retry-after: yesterday", None),
        ("retry-after: -5", None),
        ("retry-after: 99999999999999999999", None),
        ("retry-after: Sun, 15 Nov 1994 10:00:30 GMT", None),
        ("", None),
    ] {
        let hit = program(75, output, &[]).unwrap_or_else(|| panic!("{output}"));
        assert_eq!(told(&hit), seconds, "{output}");
        assert!(hit.until > now());
        assert_eq!(program(1, output, &[]), None, "{output}");
        assert_eq!(program(0, output, &[]), None, "{output}");
    }
}

#[test]
fn a_program_is_listened_to_where_it_draws_on_a_limit() {
    // The same words, once from a program that draws on a limit and once from one that does not: only the first was turned away.
    let limit = Limit::default();
    for words in ["gh: API rate limit exceeded for user ID 12345.", "curl: (22) The requested URL returned error: 429"]
    {
        assert!(program(1, words, &[("github", &limit)]).is_some_and(|hit| hit.limits.contains("github")), "{words}");
        assert_eq!(program(1, words, &[]), None, "{words}");
    }
}

fn detecting(detect: Detect) -> Limit {
    Limit { detect: Some(detect), ..Limit::default() }
}

#[test]
fn a_plan_can_say_how_its_limits_look() {
    // Two limits, one of which knows the output. Only that one is closed; a code that neither knows closes both.
    let vendor = detecting(Detect { output_matches: Some("HTTP 429".into()), ..Detect::default() });
    let other = Limit::default();
    let both = [("vendor", &vendor), ("other", &other)];
    let hit = program(1, "HTTP 429 too many requests", &both).expect("a hit");
    assert_eq!(hit.limits.into_iter().collect::<Vec<_>>(), ["vendor"]);
    let hit = program(75, "", &both).expect("a hit");
    assert_eq!(hit.limits.len(), 2);
    assert_eq!(program(1, "HTTP 500", &both), None);

    let own =
        detecting(Detect { exit_codes: vec![9], output_matches: None, reset_at: Some("frei ab ([0-9]+)".into()) });
    let hit = program(9, "frei ab 1794736810\nfrei ab 1794736820", &[("own", &own)]).expect("a hit");
    assert_eq!(told(&hit), Some(20));
    let feature = detecting(Detect {
        exit_codes: Vec::new(),
        output_matches: Some("(usage|rate) limit|overloaded_error|429".into()),
        reset_at: Some("resets (?:at )?([0-9:apm ]+\\([^)]+\\))".into()),
    });
    let hit = program(1, "rate limit: resets at 3pm (Europe/Berlin)", &[("claude", &feature)]).expect("a hit");
    assert_eq!(told(&hit), Some(4 * HOUR));
}

#[test]
fn a_pattern_that_does_not_compile_matches_nothing() {
    let broken = detecting(Detect { output_matches: Some("(".into()), reset_at: Some("[".into()), exit_codes: vec![] });
    assert_eq!(program(1, "(", &[("broken", &broken)]), None);
}

#[test]
fn clocks_that_are_put_forward_and_back() {
    // In Berlin 02:30 does not exist on one night and exists twice on another. The wait ends after the gap; of the two moments
    // the first one ahead counts.
    let at = |now: &str, text: &str| {
        let now: Timestamp = now.parse().expect("a time");
        let evidence = FailureEvidence {
            speaker: Speaker::Agent,
            exit_code: Some(1),
            text: text.as_bytes(),
            hits_before: 0,
            local: &TimeZone::UTC,
        };
        recognise(&evidence, [], now).expect("a hit").until.to_string()
    };
    let text = "You've hit your limit · resets 2:30am (Europe/Berlin)";
    assert_eq!(at("2026-03-29T00:00:00Z", text), "2026-03-29T01:30:00Z", "the gap: 02:30 is 03:30 there");
    assert_eq!(at("2026-10-25T00:00:00Z", text), "2026-10-25T00:30:00Z", "the first 02:30");
    assert_eq!(at("2026-10-25T00:45:00Z", text), "2026-10-25T01:30:00Z", "the second 02:30");
    assert_eq!(at("2026-10-25T02:00:00Z", text), "2026-10-26T01:30:00Z", "the next day");
    assert_eq!(at("2026-12-31T23:30:00Z", "You've hit your limit · resets Jan 2, 4am (UTC)"), "2027-01-02T04:00:00Z");
}

#[test]
fn a_clock_without_a_zone_is_the_one_on_the_wall() {
    // The machine stands in Tokyo, where it is seven in the evening. Only times without a zone are Tokyo's.
    let tokyo = TimeZone::fixed(jiff::tz::offset(9));
    for (text, hours) in [
        ("try again at 9:00 PM.", 2),
        ("try again at 9:00 PM today", 2),
        ("resets 21:00", 2),
        ("resets 12:00 UTC", 2),
        ("resets 12:00:00 UTC.", 2),
        ("resets 1pm (Europe/Berlin)", 2),
        ("resets 13:00 UTC+1", 2),
        ("resets 5:00 GMT-07:00", 2),
        ("resets 4 am PT", 2),
        ("regain access on 2026-11-16 at 00:00 UTC", 14),
        ("regain access on 2026-11-16 at 00:00", 5),
        ("resets 21:00 on 16 November", 26),
    ] {
        let evidence = FailureEvidence {
            speaker: Speaker::Program,
            exit_code: Some(75),
            text: text.as_bytes(),
            hits_before: 0,
            local: &tokyo,
        };
        let hit = recognise(&evidence, [], now()).expect("75 is a limit");
        assert_eq!(told(&hit), Some(hours * HOUR), "{text}");
    }
}

#[test]
fn of_several_times_the_right_one() {
    // The last time that was said counts, a time far in front of the refusal belongs to something else, and a part of a
    // millisecond is waited for as well. What ended well was not turned away.
    let refusal = "HTTP 429 Too Many Requests\n";
    let api = Limit::default();
    let hit = |text: &str| program(1, text, &[("api", &api)]).expect("a limit");
    assert_eq!(told(&hit(&format!("{refusal}retry-after: 30\n{refusal}retry-after: 60\n"))), Some(60));
    let between = |bytes: usize| hit(&format!("retry-after: 30\n{}\n{refusal}", "x".repeat(bytes)));
    assert_eq!((told(&between(500)), told(&between(1500))), (Some(30), None));
    let waits = hit(&format!("{refusal}retry-after-ms: 1.2\n")).until.duration_since(now());
    assert_eq!(waits.as_millis(), 2);
    assert_eq!(program(0, refusal, &[("api", &api)]), None);
}

#[test]
fn a_time_that_passed_before_midnight() {
    // It is one past midnight, and the message says one minute to twelve: that was just now, and not tonight.
    let now: Timestamp = "2026-11-15T00:01:00Z".parse().expect("a time");
    let text = "You've hit your session limit · resets 11:59pm (UTC)";
    let evidence = FailureEvidence {
        speaker: Speaker::Agent,
        exit_code: Some(1),
        text: text.as_bytes(),
        hits_before: 0,
        local: &TimeZone::UTC,
    };
    let hit = recognise(&evidence, [], now).expect("a limit");
    assert_eq!((hit.told, hit.until), (false, now + GUESS_FIRST));
    // Seven minutes later nobody means a moment ago.
    let later = now + SignedDuration::from_mins(7);
    let hit = recognise(&evidence, [], later).expect("a limit");
    assert_eq!((hit.told, hit.until.to_string()), (true, "2026-11-15T23:59:00Z".to_owned()));
}

#[test]
fn waits_that_nobody_told_grow() {
    let minutes: Vec<u64> = [0, 1, 2, 3, 4, 5, 40, u32::MAX].map(|hits| guess(hits).as_secs() / 60).into();
    assert_eq!(minutes, [1, 2, 4, 8, 15, 15, 15, 15]);
    assert_eq!(GUESS_MAX, Duration::from_mins(15));
}

#[test]
fn waiting_leaving_failing() {
    let hit = |seconds: i64| RecognisedLimit {
        limits: std::collections::BTreeSet::new(),
        until: now() + SignedDuration::from_secs(seconds),
        told: true,
        said: String::new(),
    };
    let limit = |when_limited, hours| Limit { when_limited, max_wait: Duration::from_hours(hours), ..Limit::default() };
    let (waits, pauses, fails) =
        (limit(WhenLimited::Wait, 1), limit(WhenLimited::Pause, 1), limit(WhenLimited::Fail, 1));
    let near = now() + SignedDuration::from_secs(30);
    let far = now() + SignedDuration::from_hours(2);
    let ask = |hit: &RecognisedLimit, limits: &[&Limit], patience| {
        respond(hit, limits.iter().copied(), patience, now(), now())
    };
    assert_eq!(ask(&hit(30), &[&waits], WaitPolicy::Plan), Response::Wait { until: near });
    assert_eq!(ask(&hit(30), &[], WaitPolicy::Plan), Response::Wait { until: near });
    assert_eq!(ask(&hit(7200), &[&waits], WaitPolicy::Plan), Response::Pause { until: far });
    assert_eq!(ask(&hit(7200), &[], WaitPolicy::Plan), Response::Wait { until: far });
    assert_eq!(ask(&hit(30), &[&waits, &pauses], WaitPolicy::Plan), Response::Pause { until: near });
    assert_eq!(ask(&hit(30), &[&waits, &fails], WaitPolicy::Plan), Response::Fail);
    assert_eq!(ask(&hit(30), &[&waits], WaitPolicy::AtMost(Duration::ZERO)), Response::Pause { until: near });
    // As long as may be is not too long, and one limit that is not waited for is enough.
    let hour = now() + SignedDuration::from_hours(1);
    assert_eq!(ask(&hit(3600), &[&waits], WaitPolicy::Plan), Response::Wait { until: hour });
    let at_most = WaitPolicy::AtMost(Duration::from_hours(1));
    assert_eq!(ask(&hit(3600), &[&waits], at_most), Response::Wait { until: hour });
    assert_eq!(
        ask(&hit(7200), &[&waits, &limit(WhenLimited::Wait, 3)], WaitPolicy::Plan),
        Response::Pause { until: far }
    );
    let since = now() - SignedDuration::from_hours(1);
    assert_eq!(
        respond(&hit(30), [&waits], WaitPolicy::Plan, since, now()),
        Response::Pause { until: near },
        "an hour was waited"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..6000), code in -1..256_i32) {
        let limit = detecting(Detect { exit_codes: vec![75], output_matches: Some(".".into()), reset_at: Some("(.*)".into()) });
        let evidence = FailureEvidence { speaker: Speaker::Agent, exit_code: Some(code), text: &bytes, hits_before: 3, local: &TimeZone::UTC };
        if let Some(hit) = recognise(&evidence, [("x", &limit)], now()) {
            prop_assert!(hit.until > now() && hit.until.duration_since(now()) <= RESET_AWAY_MAX);
        }
    }

    #[test]
    fn no_time_is_in_the_past_or_absurd(
        text in "(retry-after: |resets (at )?|try again (in|at) |x-ratelimit-reset: |limit reached\\|)[0-9]{0,14}[:. ]{0,2}[0-9]{0,4} ?(am|pm|h|ms|days|Jan|Nov 31|Feb 29|T|Z|GMT|UTC\\+99|\\(Europe/Berlin\\)|\\(\\)|[^a]){0,4}",
        seconds in -30_000_000_000_i64..250_000_000_000,
    ) {
        let now = Timestamp::from_second(seconds).expect("a time");
        let evidence = FailureEvidence { speaker: Speaker::Program, exit_code: Some(75), text: text.as_bytes(), hits_before: 0, local: &TimeZone::UTC };
        let hit = recognise(&evidence, [], now).expect("75 is a limit");
        prop_assert!(hit.until > now && hit.until.duration_since(now) <= RESET_AWAY_MAX);
    }
}
