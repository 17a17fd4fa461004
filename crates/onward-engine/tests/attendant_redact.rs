//! Secrets in streams: whatever the pieces they come in, none comes out, and harmless text does.

use std::ffi::OsStr;
use std::sync::{Arc, LazyLock};

use onward_engine::redact::{MARK, Redactor, SecretNames, Secrets, names_a_secret, redact_text};

const SHAPES: [&str; 14] = [
    "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8",
    "gho_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8",
    "github_pat_11ABCDEFG0abcdefghijkl_MNOPQRSTUVWXYZ0123456789abcdefghij",
    "sk-proj-abcDEF0123456789abcDEF0123456789abcd",
    "sk-ant-api03-abcDEF0123456789abcDEF0123456789abcDEF01",
    "sk-AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGhIjKlMn",
    "AKIAIOSFODNN7EXAMPLQ",
    "AIzaSyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q",
    "xoxb-123456789012-abcdefABCDEF0123456789ab",
    "glpat-abcdefABCDEF01234567",
    "npm_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA7\nabc+/=\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\\nMIIEowIBAAKCAQEA7\\n-----END PRIVATE KEY-----",
];

const HARMLESS: [&str; 16] = [
    "risk-assessment-for-the-desk-task",
    "9fceb02d0ae598e95dc970b74767f19372d61af8",
    "e8d777e2-0000-4000-8000-000000000001",
    "AKIAS",
    "ghp_short",
    "KEYBOARD=qwerty-layout",
    "https://example.org:8080/a@b",
    "https://ada@example.org/x?y=a:b@c",
    "name",
    "sk-learn and sk-based-naming-of-things-in-a-project",
    "eyJhbGciOi is how a header begins",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----",
    "---------------------------------------------",
    "file:///etc/passwd: root:x@",
    "\u{1b}[32mgreen\u{1b}[0m, xoxo-kisses-to-all-of-you",
];

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

const VALUES: [&str; 5] = [
    "correct-horse-battery",
    "staple 4711/mango+ä",
    "correct-horse-battery-and-more",
    "aaaaaaaa",
    "back\"slash\\and\nline",
];

/// Beginnings and pieces of secrets and of the ways to write them.
const STARTS: [&str; 18] = [
    "://a:b",
    "sk-",
    "eyJ",
    "-----BEGIN ",
    "correct-horse",
    "%",
    "\\",
    "@",
    "\\u0063orrect-",
    "%63orrect-horse%2",
    "63 6f 72 72 65 63 74",
    "63:6f:72:72:65:63:74:2d:68:6f:72:73:65:2d:62:61:74:74:65:72:79",
    "  |correct-horse-ba|\n00000010  2d 68 6f",
    "Y29ycmVjdC1ob3JzZS1i\n",
    "YXR0ZXJ5",
    "\\n  ",
    "0x",
    "\\ud83d\\ud",
];

/// A generator of its own, so that a failing case can be repeated from its number.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).expect("smaller than the limit")
    }
}

fn values() -> Vec<Vec<u8>> {
    VALUES.iter().map(|value| value.as_bytes().to_vec()).collect()
}

fn in_pieces(text: &[u8], next_length: impl FnMut() -> usize) -> Vec<u8> {
    static KNOWN: LazyLock<Arc<Secrets>> = LazyLock::new(|| Arc::new(Secrets::new(&values())));
    in_pieces_of(&KNOWN, text, next_length)
}

fn in_pieces_of(secrets: &Arc<Secrets>, text: &[u8], mut next_length: impl FnMut() -> usize) -> Vec<u8> {
    let (mut redactor, mut out) = (Redactor::with(Arc::clone(secrets)), Vec::new());
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, later) = rest.split_at(next_length().clamp(1, rest.len()));
        redactor.push(piece, &mut out);
        rest = later;
    }
    redactor.finish(&mut out);
    out
}

/// Every shape stands in a line of text. It is cut out, and the text around it stays.
#[test]
fn shapes_are_cut_out() {
    for shape in SHAPES {
        for (before, after) in
            [("value ", " end"), ("token=", ""), ("\"", "\","), ("\u{1b}[32m", "\u{1b}[0m"), ("x%3D", "&y")]
        {
            let text = format!("{before}{shape}{after}");
            assert_eq!(redact_text(&text), format!("{before}{MARK}{after}"), "{text}");
        }
    }
}

/// Text that looks a little like a secret is printed. It stays as it is.
#[test]
fn harmless_text_stays() {
    for text in HARMLESS {
        let line = format!("value {text} end");
        assert_eq!(redact_text(&line), line);
    }
}

/// A URL has a password in it. The password is cut, the rest stays, and cutting twice changes nothing more.
#[test]
fn passwords_in_urls_are_cut() {
    let once = redact_text("to postgres://ada:tulip-rain-99@db.example.org/x now").into_owned();
    assert_eq!(once, format!("to postgres://ada:{MARK}@db.example.org/x now"));
    assert_eq!(redact_text(&once), once);
    let token = redact_text("https://ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8:x-oauth-basic@github.com/a").into_owned();
    assert_eq!(token, format!("https{MARK}@github.com/a").replace("https", "https://"));
}

/// Known values come out plain, in base64 at every shift, in URLs and in JSON. None of these forms passes.
#[test]
fn encoded_values_are_cut_out() {
    let secrets = Secrets::new(&values());
    let forms = [
        ("Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5", "Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5"),
        ("eDpjb3JyZWN0LWhvcnNlLWJhdHRlcnk=", "jb3JyZWN0LWhvcnNlLWJhdHRlcn"),
        ("staple%204711%2Fmango%2B%C3%A4", "4711%2Fmango"),
        ("staple%204711%2fmango%2b%c3%a4", "4711%2fmango"),
        ("staple+4711%2Fmango%2B%C3%A4", "4711%2Fmango"),
        (r#"{"a":"back\"slash\\and\nline"}"#, "slash"),
    ];
    for (text, secret) in forms {
        assert!(text.contains(secret), "the test is wrong about {text}");
        assert!(!secrets.text(text).contains(secret), "{}", secrets.text(text));
    }
}

/// `correct-horse-battery` behind 50 bytes, as programs write it that break lines, put something between bytes, or escape letters.
fn encoded_otherwise() -> Vec<(&'static str, String)> {
    let text =
        format!("{}correct-horse-battery and more of it behind the secret, so that lines are full\n", "x:".repeat(25));
    let digits = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>();
    let lines = |text: &str, width: usize, between: &str| {
        text.as_bytes().chunks(width).map(String::from_utf8_lossy).collect::<Vec<_>>().join(between)
    };
    let (hex, base64) = (digits(text.as_bytes()), base64(text.as_bytes()));
    let dump = |place: fn(usize) -> String, group: usize, bars: &str| {
        let line = |(number, part): (usize, &[u8])| {
            let bytes = digits(part).chunks(group).map(|group| group.join("")).collect::<Vec<_>>().join(" ");
            let shown = String::from_utf8_lossy(part).replace('\n', ".");
            format!("{}{bytes:<40}  {bars}{shown}{bars}\n", place(number * 16))
        };
        text.as_bytes().chunks(16).enumerate().map(line).collect::<String>()
    };
    let escaped = joined(text.chars(), |letter| format!("\\u{:04x}", u32::from(letter)));
    vec![
        ("base64", lines(&base64, 76, "\n")),
        ("base64 of openssl, indented", lines(&base64, 64, "\r\n    ")),
        ("base64 in JSON", lines(&base64, 64, "\\n")),
        ("base64 in narrow lines", lines(&base64, 20, "\n")),
        ("xxd -p", lines(&hex.concat(), 60, "\n")),
        ("od -An -tx1", joined(hex.chunks(16), |line| format!(" {}\n", line.join(" ")))),
        ("od -tx1", dump(|at| format!("{at:07o} "), 1, "")),
        ("colons", hex.join(":").to_uppercase()),
        ("xxd -i", joined(hex.chunks(12), |line| format!("  0x{},\n", line.join(", 0x")))),
        ("xxd", dump(|at| format!("{at:08x}: "), 2, "")),
        ("hexdump -C", dump(|at| format!("{at:08x}  "), 1, "|")),
        ("JSON, every letter", escaped),
        ("JSON, the first letter", text.replace('c', "\\u0063")),
        ("JSON, a letter within", text.replace('-', "\\u002D")),
        ("a URL, every letter", joined(&hex, |byte| format!("%{byte}"))),
        ("a URL, a letter within", text.replace('-', "%2d")),
        ("bytes of Python", text.replace('-', "\\x2d")),
    ]
}

fn joined<T>(all: impl IntoIterator<Item = T>, word: impl Fn(T) -> String) -> String {
    all.into_iter().map(word).collect::<Vec<_>>().concat()
}

fn base64(bytes: &[u8]) -> String {
    let four = |part: &[u8]| {
        let bits = (0..3).fold(0_u32, |bits, at| bits << 8 | part.get(at).copied().map_or(0, u32::from));
        let digit =
            |at: usize| if at > part.len() { '=' } else { char::from(BASE64[(bits >> (18 - 6 * at) & 63) as usize]) };
        (0..4).map(digit).collect::<String>()
    };
    bytes.chunks(3).map(four).collect()
}

/// A text as whoever wants the secret would read it: without blanks and margins, decoded.
fn read_again(text: &str) -> String {
    let decoded = |digits: &str, bits: u32, value: fn(u8) -> Option<u32>| {
        let (mut sum, mut have, mut out) = (0_u32, 0, Vec::new());
        for value in digits.bytes().filter_map(value) {
            (sum, have) = (sum << bits | value, have + bits);
            if have >= 8 {
                have -= 8;
                out.push(u8::try_from(sum >> have & 255).expect("eight bits"));
            }
        }
        String::from_utf8_lossy(&out).into_owned()
    };
    let hex = |text: &str| decoded(text, 4, |byte| char::from(byte).to_digit(16));
    let base64 = |text: &str| {
        decoded(text, 6, |byte| BASE64.iter().position(|&letter| letter == byte).and_then(|at| u32::try_from(at).ok()))
    };
    let columns = text.lines().map(|line| line.split_once("  ").map_or(line, |(left, _)| left));
    let bytes: String = columns.map(|line| line.split_once([' ', ':']).map_or(line, |(_, bytes)| bytes)).collect();
    let plain = text.replace("\\n", "");
    let unescaped = text.replace("\\u00", "").replace("\\x", "").replace('%', "").replace("0x", "");
    let pieces: String = text
        .lines()
        .filter_map(|line| line.split_once("  "))
        .map(|(_, shown)| shown.trim_matches(['|', ' ']))
        .collect();
    [base64(&plain), hex(text), hex(&bytes), hex(&unescaped), pieces, text.to_owned()].join(" ")
}

/// Programs break the lines of what they encode, put blanks, colons and margins between the bytes, and escape whatever they like. The
/// secret is in none of what comes out, however it is read, and what stands around it is.
#[test]
fn encoded_values_are_found_over_lines_and_in_dumps() {
    let secrets = Arc::new(Secrets::new(&[b"correct-horse-battery".to_vec()]));
    for (name, text) in encoded_otherwise() {
        let clean = secrets.text(&text).into_owned();
        assert_eq!(clean.matches(MARK).count(), 1, "{name}: {clean}");
        let read = read_again(&clean.replace(MARK, "\n"));
        for piece in ["correct", "orse-ba", "battery", "rrect-ho", "attery"] {
            assert!(!read.contains(piece), "{name}: {piece} in {clean}");
        }
        assert!(clean.len() + 400 > text.len(), "{name}: {clean}");
        let pieces = in_pieces_of(&secrets, text.as_bytes(), || 1);
        assert_eq!(String::from_utf8_lossy(&pieces), clean, "{name}");
    }
}

/// A value begins at every place of a line of 76 digits of base64, 60 of hex and 16 bytes of a dump. At most its first two letters are
/// left before the break.
#[test]
fn the_place_of_a_line_break_does_not_matter() {
    let secrets = Secrets::new(&[b"correct-horse-battery".to_vec()]);
    for before in 0..80 {
        let text = format!("{}correct-horse-battery{}", "~".repeat(before), "~".repeat(40));
        let hex: Vec<String> = text.bytes().map(|byte| format!("{byte:02x}")).collect();
        let wrapped = |digits: &str, width: usize| {
            digits.as_bytes().chunks(width).map(String::from_utf8_lossy).collect::<Vec<_>>().join("\n")
        };
        let dump = joined(hex.chunks(16), |line| format!("0000 {}\n", line.join(" ")));
        for text in [wrapped(&base64(text.as_bytes()), 76), wrapped(&hex.concat(), 60), dump] {
            let clean = secrets.text(&text);
            assert_eq!(clean.matches(MARK).count(), 1, "{before}: {clean}");
            assert!(clean.len() < text.len() - 14, "{before}: {clean}");
        }
    }
}

/// The seeming beginning of an encoded value goes on for megabytes, or is followed by blanks without end. What is held back
/// stays small.
#[test]
fn gaps_without_end_are_not_held_back() {
    let value = "0123456789abcdef".repeat(1024);
    let hex = joined(value.bytes(), |byte| format!("{byte:02x}"));
    let gap = format!("\n{}", " ".repeat(60));
    let wide: String = hex.as_bytes().chunks(2).map(|two| String::from_utf8_lossy(two).into_owned() + &gap).collect();
    let wide = wide.replacen(&gap, " ", 2);
    for text in [wide, format!("{}{}", &hex[..40], " ".repeat(1 << 20))] {
        let (mut redactor, mut out) = (Redactor::new(&[value.as_bytes().to_vec()]), Vec::new());
        let (mut fed, mut held_most) = (0, 0);
        for part in text.as_bytes().chunks(4096) {
            redactor.push(part, &mut out);
            fed += part.len();
            held_most = held_most.max(fed - out.len());
        }
        assert!(held_most < 256 * 1024, "{held_most} bytes were held");
    }
}

/// A secret is printed with colours, a title, a link, and characters that only a terminal obeys between its letters. It is cut out,
/// whatever the pieces it comes in, and the colours around it stay.
#[test]
fn values_are_found_across_what_only_a_terminal_obeys() {
    let secrets = Arc::new(Secrets::new(&[b"correct-horse-battery".to_vec()]));
    let link = format!("\u{1b}]8;;https://example.org/{}\u{1b}\\", "x".repeat(600));
    let between = [
        "\u{1b}[0m",
        "\u{1b}[38;2;10;20;30m",
        "\u{1b}]0;title\u{7}",
        "\u{1b}(B",
        "\u{1b}7",
        "\u{9b}31m",
        "\u{9d}0;t\u{9c}",
        "\u{1b}Pq\u{1b}\\",
        "\u{85}",
        "\u{8}",
        "\r",
        "\0",
        "\u{7f}",
        "\u{1b}[1m\u{1b}[4m",
        link.as_str(),
    ];
    for gap in between {
        for place in [1, 2, 3, 6, 20] {
            let (left, right) = "correct-horse-battery".split_at(place);
            let text = format!("key: \u{1b}[1m{left}{gap}{right}\u{1b}[0m end");
            let clean = secrets.text(&text).into_owned();
            assert_eq!(clean, format!("key: \u{1b}[1m{MARK}\u{1b}[0m end"), "{text:?}");
            let pieces = in_pieces_of(&secrets, text.as_bytes(), || 1);
            assert_eq!(String::from_utf8_lossy(&pieces), clean, "{text:?}");
        }
    }
    let each = joined("correct-horse-battery".chars(), |letter| format!("\u{1b}[38;2;255;255;255m{letter}\u{1b}[39m"));
    assert_eq!(secrets.text(&each), format!("\u{1b}[38;2;255;255;255m{MARK}\u{1b}[39m"));
}

/// The seeming beginning of a value is followed by sequences without end. What is held back stays small.
#[test]
fn sequences_without_end_are_not_held_back() {
    for gap in ["\u{1b}[0m".repeat(1 << 18), format!("\u{1b}]0;{}", "t".repeat(1 << 20))] {
        let (mut redactor, mut out) = (Redactor::new(&[b"correct-horse-battery".to_vec()]), Vec::new());
        let (mut fed, mut held_most) = (0, 0);
        for part in format!("correct{gap}").as_bytes().chunks(4096) {
            redactor.push(part, &mut out);
            fed += part.len();
            held_most = held_most.max(fed - out.len());
        }
        assert!(held_most < 16 * 1024, "{held_most} bytes were held");
    }
}

/// `xxd -p -c1`, `od -An -tx1 -w1`, `xxd -c1`, and base64 in lines of three digits and more, wherever the value begins in them.
#[test]
fn values_in_very_short_lines_are_found() {
    let secrets = Arc::new(Secrets::new(&[b"correct-horse-battery".to_vec(), b"8-bytes!".to_vec()]));
    let shut = |name: &str, text: &str| {
        let clean = secrets.text(text).into_owned();
        assert_eq!(clean.matches(MARK).count(), 1, "{name}: {clean}");
        let pieces = in_pieces_of(&secrets, text.as_bytes(), || 1);
        assert_eq!(String::from_utf8_lossy(&pieces), clean, "{name}");
        clean.replace(MARK, "").trim_end().len()
    };
    for value in ["correct-horse-battery", "8-bytes!"] {
        let hex = |line: &dyn Fn(usize, u8) -> String| -> String {
            value.bytes().enumerate().map(|(place, byte)| line(place, byte)).collect()
        };
        assert_eq!(shut("xxd -p -c1", &hex(&|_, byte| format!("{byte:02x}\n"))), 0);
        assert_eq!(shut("od -An", &hex(&|_, byte| format!(" {byte:02X}\n"))), 0);
        let dump = hex(&|place, byte| format!("{place:08x}: {byte:02x}  {}\n", char::from(byte)));
        assert_eq!(shut("xxd -c1", &dump), "00000000:".len());
        for (before, width) in (0..4).flat_map(|before| (3..9).map(move |width| (before, width))) {
            let digits = base64(format!("{}{value}", &"~~~~"[..before]).as_bytes());
            let lines = joined(digits.as_bytes().chunks(width), |line| format!("{}\n", String::from_utf8_lossy(line)));
            let left = shut(&format!("base64 -w{width} behind {before}"), &lines);
            // What is before the value, three digits of it at most, and the digits that are not its own.
            assert!(left <= before * 2 + 3 + 5, "{before}, {width}: {left} of {lines} is left");
        }
    }
}

/// Values overlap, one is the beginning of another, one repeats itself. No part of any of them is left.
#[test]
fn overlapping_values_leave_nothing() {
    let secrets = Secrets::new(&[b"abcdefgh".to_vec(), b"efghijkl".to_vec(), b"aaaaaaaa".to_vec()]);
    assert_eq!(secrets.text("x abcdefghijkl y"), format!("x {MARK} y"));
    assert_eq!(secrets.text(&format!("x {} y", "a".repeat(1003))), format!("x {MARK} y"));
    let longest = Secrets::new(&values());
    assert_eq!(longest.text("x correct-horse-battery-and-more y"), format!("x {MARK} y"));
}

/// Text with secrets and without comes in pieces of every size, thousands of times. It is the same as if it had come at once, and
/// nothing secret is in it.
#[test]
fn pieces_make_no_difference() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for case in 0..4_000 {
        let mut text = String::new();
        for _ in 0..=random.below(8) {
            let part = match random.below(4) {
                0 => SHAPES[random.below(SHAPES.len())],
                1 => VALUES[random.below(VALUES.len())],
                2 => HARMLESS[random.below(HARMLESS.len())],
                _ => STARTS[random.below(STARTS.len())],
            };
            text.push_str(part);
            text.push_str([" ", "\n", "\"", ""][random.below(4)]);
        }
        let whole = in_pieces(text.as_bytes(), || usize::MAX);
        let limit = [1, 2, 7, 40][random.below(4)];
        let pieces = in_pieces(text.as_bytes(), || random.below(limit) + 1);
        assert_eq!(pieces.escape_ascii().to_string(), whole.escape_ascii().to_string(), "case {case}: {text:?}");
        for value in VALUES {
            assert!(!String::from_utf8_lossy(&whole).contains(value), "case {case}: {text:?}");
        }
    }
}

/// A key block begins and never ends, or a token runs on for megabytes. What is held back stays small, and what follows comes out.
#[test]
fn nothing_is_held_back_for_ever() {
    let (mut redactor, mut out) = (Redactor::new(&values()), Vec::new());
    redactor.push(b"-----BEGIN PRIVATE KEY-----\n", &mut out);
    for _ in 0..100 {
        redactor.push(&[b'x'; 1024], &mut out);
    }
    assert!(out.len() > 50 * 1024, "{} bytes came out", out.len());

    let (mut redactor, mut out) = (Redactor::new(&values()), Vec::new());
    redactor.push(b"ghp_", &mut out);
    for _ in 0..100 {
        redactor.push(&[b'x'; 1024], &mut out);
    }
    redactor.push(b" end", &mut out);
    redactor.finish(&mut out);
    assert_eq!(String::from_utf8_lossy(&out), format!("{MARK} end"));
    assert_eq!(redactor.count(), 1);
}

/// A key is printed whose end was cut off, plain and behind the time of each line, and a log goes on behind it. Of the key nothing is
/// left, and of the log all but a few lines is.
#[test]
fn a_key_without_an_end_takes_no_log_with_it() {
    let digits = base64(&(0..1200_u32).map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[1]).collect::<Vec<_>>());
    let log =
        "2026-01-02T03:04:05Z info  read /usr/local/share/onward/plans at 9fceb02d0ae598e95dc970b74767f19372d61af8\n";
    for (before, width) in [("", 64), ("2026-01-02T03:04:05Z deploy | ", 64), ("    ", 64), ("", 16)] {
        let lines = digits.as_bytes().chunks(width).map(|line| format!("{before}{}\n", String::from_utf8_lossy(line)));
        let key = format!(
            "{before}-----BEGIN RSA PRIVATE KEY-----\n{before}Proc-Type: 4,ENCRYPTED\n{}",
            lines.collect::<String>()
        );
        let text = format!("{key}{}", log.repeat(100));
        let clean = redact_text(&text);
        let left = digits.as_bytes().windows(12).filter(|part| clean.contains(&*String::from_utf8_lossy(part))).count();
        assert_eq!(left, 0, "{clean}");
        assert!(clean.matches(log).count() >= 88, "{} lines of 100 are left", clean.matches(log).count());
    }
}

/// Programs have their own customs in naming secrets. A name that is one of the words, or ends in one, is enough; a name that only
/// begins like one is not.
#[test]
fn names_that_say_it() {
    let secret = "PGPASSWORD GITHUB_PAT DB_PASS TOKEN PASSWORD MYSQL_PWD APIKEY api_key SECRET OPENAI_API_KEY SENTRY_DSN \
                  DSN REGISTRY_AUTH PASSWD SMTP_PASSWD AWS_CREDENTIALS githubtoken CLIENT_SECRET";
    for name in secret.split_whitespace() {
        assert!(names_a_secret(name.as_bytes()), "{name}");
    }
    let plain = "ONWARD_KEY SSH_AUTH_SOCK KEYBOARD TOKENS PATH PWD OLDPWD COMPASS BYPASS AUTHOR PATTERN TOKENIZER_PATH \
                 PASSWORD_FILE XAUTHORITY OAUTH";
    for name in plain.split_whitespace() {
        assert!(!names_a_secret(name.as_bytes()), "{name}");
    }
}

/// The configuration adds a name and takes out another. Both count in any case, and what is taken out is taken out whole.
#[test]
fn the_configuration_has_its_say() {
    let env = [("Harmless_Name", "listed-by-name"), ("SORT_KEY", "created_at"), ("page_key", "https://a:tulip-99@h")];
    let env = env.map(|(name, value)| (OsStr::new(name), OsStr::new(value)));
    let names = SecretNames {
        more: vec!["HARMLESS_NAME".to_owned()],
        except: vec!["sort_key".to_owned(), "PAGE_KEY".to_owned()],
    };
    let text = Secrets::from_env(env, &names).text("listed-by-name created_at tulip-99").into_owned();
    assert_eq!(text, format!("{MARK} created_at tulip-99"));
}

/// A dump shows a known value in hex, a browser and a path writer leave other characters plain in a URL. None of it passes.
#[test]
fn hex_and_the_customs_of_urls_are_known() {
    let secrets = Secrets::new(&[b"pa/ss (w)ord!".to_vec()]);
    for form in [
        "70612f7373202877296f726421",
        "70612F7373202877296F726421",
        "pa%2Fss%20(w)ord!",
        "pa%2fss%20(w)ord!",
        "pa/ss%20%28w%29ord%21",
        "pa%2Fss+%28w%29ord%21",
        "pa%2fss+%28w%29ord%21",
    ] {
        assert_eq!(secrets.text(&format!("x {form} y")), format!("x {MARK} y"), "{form}");
    }
}

/// The environment has secrets by name, a short value, a key that is none, and a URL with a password.
#[test]
fn secrets_of_an_environment() {
    assert!(names_a_secret(b"APP_SECRET") && names_a_secret(b"Db_Password") && names_a_secret(b"REPORT_DSN"));
    assert!(!names_a_secret(b"ONWARD_KEY") && !names_a_secret(b"KEYBOARD") && !names_a_secret(b"TOKENS"));
    let env = [
        ("APP_SECRET", "staple-4711-mango"),
        ("SORT_KEY", "name"),
        ("ONWARD_KEY", "idempotency-1"),
        ("HOME_PAGE", "https://ada:tulip-rain-99@example.org"),
        ("EXTRA", "listed-by-name"),
    ];
    let env = env.map(|(name, value)| (OsStr::new(name), OsStr::new(value)));
    let secrets = Secrets::from_env(env, &SecretNames { more: vec!["EXTRA".to_owned()], except: Vec::new() });
    let text = secrets.text("staple-4711-mango name idempotency-1 tulip-rain-99 listed-by-name");
    assert_eq!(text, format!("{MARK} name idempotency-1 {MARK} {MARK}"));
    assert!(!format!("{secrets:?}").contains("mango"));
}

/// A hundred megabytes of plain text and of zeros pass by. They come out unchanged, fast enough not to slow down a phase.
#[test]
fn plain_data_passes_unchanged() {
    let line = b"2026-01-02T03:04:05Z info  compiled module src/parser/expression.rs in 123 ms (https://ci.example.org/build/42)\n";
    let text: Vec<u8> = line.iter().copied().cycle().take(1 << 20).collect();
    for piece in [text, vec![0; 1 << 20]] {
        let (mut redactor, mut out) = (Redactor::new(&values()), Vec::new());
        let start = std::time::Instant::now();
        for part in piece.chunks(64 * 1024) {
            redactor.push(part, &mut out);
        }
        redactor.finish(&mut out);
        let took = start.elapsed();
        assert!(out == piece, "plain data was changed");
        // A debug build on a busy machine is some thirty times slower than what is shipped.
        assert!(took < std::time::Duration::from_secs(2), "1 MiB took {took:?}");
    }
}
