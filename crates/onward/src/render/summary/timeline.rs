//! The attempts of a run along its time, as SVG. Long times in which nothing was at work are drawn short.

use std::fmt::Write as _;

use jiff::Timestamp;
use onward_core::chronicle::{AttemptEndTold, AttemptTold};
use onward_core::drawing::xml_text;

use super::page::PhaseRow;
use crate::render::time;

const WIDTH: f64 = 860.0;
const NAMES_WIDTH: f64 = 180.0;
const ROW: f64 = 24.0;
const BAR: f64 = 14.0;
const BAR_WIDTH_MIN: f64 = 3.0;
/// The width of a time of rest.
const REST_WIDTH: f64 = 34.0;
/// A rest that is shorter than this part of the work is drawn as it is.
const REST_SHARE: i64 = 12;
const ROWS_MAX: usize = 400;
const NAME_CHARS_MAX: usize = 22;

const STYLE: &str = "\
.tl text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#1f2328}.tl .s{font-size:10px;fill:#59636e}\
.tl .row{stroke:#d1d9e0;stroke-width:1}.tl .well{fill:#2da44e}.tl .failed{fill:#cf222e}.tl .interrupted{fill:#8250df}\
.tl .limited{fill:#bf8700}.tl .unknown{fill:#818b98}.tl .atwork{fill:#218bff}.tl .rest{fill:#818b98;opacity:.12}\
@media (prefers-color-scheme:dark){.tl text{fill:#e6edf3}.tl .s{fill:#9198a1}.tl .row{stroke:#30363d}}";

/// The drawing; none where nothing was ever at work.
pub(super) fn timeline(rows: &[PhaseRow], attempts: &[AttemptTold], now: Timestamp) -> Option<String> {
    let scale = Scale::new(&busy(attempts, now))?;
    let shown: Vec<&PhaseRow> = rows.iter().filter(|row| row.attempts > 0).take(ROWS_MAX).collect();
    let height = ROW * as_number(shown.len()) + 40.0;
    let mut body = String::new();
    for (from, to, length) in scale.rests() {
        let _ = write!(
            body,
            "<rect class=\"rest\" x=\"{from:.1}\" y=\"0\" width=\"{:.1}\" height=\"{:.1}\"/>\
             <text class=\"s\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            to - from,
            height - 18.0,
            f64::midpoint(from, to),
            height - 4.0,
            xml_text(&length),
        );
    }
    for (number, row) in shown.iter().enumerate() {
        let y = ROW * as_number(number) + 8.0;
        let _ = write!(
            body,
            "<line class=\"row\" x1=\"0\" x2=\"{WIDTH}\" y1=\"{0:.1}\" y2=\"{0:.1}\"/><text x=\"4\" y=\"{1:.1}\">{2}</text>",
            y + ROW - 4.0,
            y + 12.0,
            xml_text(&cut(&row.id)),
        );
        for one in attempts.iter().filter(|one| one.phase == row.phase) {
            body.push_str(&bar(one, &scale, y, now));
        }
    }
    let (began, ended) = scale.ends();
    let _ = write!(
        body,
        "<text class=\"s\" x=\"{NAMES_WIDTH}\" y=\"{0:.1}\">{began}</text>\
         <text class=\"s\" x=\"{WIDTH}\" y=\"{0:.1}\" text-anchor=\"end\">{ended}</text>",
        height - 4.0,
    );
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tl\" width=\"{WIDTH}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\"><style>{STYLE}</style>{body}</svg>\n"
    ))
}

fn bar(one: &AttemptTold, scale: &Scale, y: f64, now: Timestamp) -> String {
    let (from, to) = span(one, now);
    let (left, right) = (scale.x(from), scale.x(to));
    let (class, word) = match one.end {
        AttemptEndTold::AtWork => ("atwork", "at work"),
        AttemptEndTold::Well => ("well", "ended well"),
        AttemptEndTold::Failed => ("failed", "failed"),
        AttemptEndTold::Interrupted => ("interrupted", "interrupted"),
        AttemptEndTold::Limited => ("limited", "rate-limited"),
        AttemptEndTold::Unknown => ("unknown", "left no record"),
    };
    let took = time::milliseconds(u64::try_from(to - from).unwrap_or_default());
    let title = xml_text(&format!("{}, attempt {}: {word}, {took}", one.phase, one.attempt));
    let width = (right - left).max(BAR_WIDTH_MIN);
    format!(
        "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR}\" rx=\"2\">\
         <title>{title}</title></rect>"
    )
}

/// From when to when an attempt was at work, in milliseconds; of one whose end nobody knows the beginning alone is known.
fn span(one: &AttemptTold, now: Timestamp) -> (i64, i64) {
    let from = one.began_at.as_millisecond();
    let to = match (one.ended_at, one.end) {
        (Some(at), _) => at.as_millisecond(),
        (None, AttemptEndTold::AtWork) => now.as_millisecond(),
        (None, _) => from,
    };
    (from, to.max(from))
}

/// The times in which something was at work, one after the other.
pub(super) fn busy(attempts: &[AttemptTold], now: Timestamp) -> Vec<(i64, i64)> {
    let mut all: Vec<(i64, i64)> = attempts.iter().map(|one| span(one, now)).collect();
    all.sort_unstable();
    let mut out: Vec<(i64, i64)> = Vec::new();
    for (from, to) in all {
        match out.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => out.push((from, to)),
        }
    }
    out
}

/// Times and their places: pieces of work, joined where the rest between them is short.
struct Scale {
    pieces: Vec<(i64, i64)>,
    per_millisecond: f64,
}

impl Scale {
    fn new(busy: &[(i64, i64)]) -> Option<Self> {
        let (first, last) = (busy.first()?, busy.last()?);
        let total: i64 = busy.iter().map(|(from, to)| to - from).sum();
        let short = (total / REST_SHARE).max(1);
        let mut pieces = vec![*first];
        for (from, to) in busy.iter().skip(1) {
            match pieces.last_mut() {
                Some(piece) if from - piece.1 <= short => piece.1 = *to,
                _ => pieces.push((*from, *to)),
            }
        }
        // So many rests would leave no room for the work.
        if as_number(pieces.len()) * REST_WIDTH > (WIDTH - NAMES_WIDTH) / 2.0 {
            pieces = vec![(first.0, last.1)];
        }
        let drawn: i64 = pieces.iter().map(|(from, to)| (to - from).max(1)).sum();
        let room = WIDTH - NAMES_WIDTH - as_number(pieces.len() - 1) * REST_WIDTH;
        Some(Self { per_millisecond: room / as_float(drawn), pieces })
    }

    fn x(&self, at: i64) -> f64 {
        let mut x = NAMES_WIDTH;
        for (number, (from, to)) in self.pieces.iter().enumerate() {
            if at <= *to || number + 1 == self.pieces.len() {
                return x + as_float((at - from).max(0)) * self.per_millisecond;
            }
            x += as_float((to - from).max(1)) * self.per_millisecond + REST_WIDTH;
        }
        x
    }

    /// Where each rest is drawn, and how long it was.
    fn rests(&self) -> Vec<(f64, f64, String)> {
        let pairs = self.pieces.iter().zip(self.pieces.iter().skip(1));
        pairs
            .map(|(before, after)| {
                let left = self.x(before.1);
                (left, left + REST_WIDTH, time::milliseconds(u64::try_from(after.0 - before.1).unwrap_or_default()))
            })
            .collect()
    }

    fn ends(&self) -> (String, String) {
        let clock = |at: Option<i64>| {
            let at = at.and_then(|at| Timestamp::from_millisecond(at).ok()).unwrap_or_default();
            at.to_zoned(jiff::tz::TimeZone::system()).strftime("%m-%d %H:%M:%S").to_string()
        };
        (clock(self.pieces.first().map(|piece| piece.0)), clock(self.pieces.last().map(|piece| piece.1)))
    }
}

fn cut(text: &str) -> String {
    if text.chars().count() <= NAME_CHARS_MAX {
        return text.to_owned();
    }
    format!("{}…", text.chars().take(NAME_CHARS_MAX - 1).collect::<String>())
}

fn as_number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[expect(clippy::cast_precision_loss, reason = "places in a drawing need no more digits than they have")]
fn as_float(milliseconds: i64) -> f64 {
    milliseconds as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two hours of work with a night between them: the night takes no room, and what comes later stands further right.
    #[test]
    fn a_night_of_rest_is_drawn_short() {
        let hour = 3_600_000;
        let scale = Scale::new(&[(0, hour), (10 * hour, 11 * hour)]).expect("something was at work");
        assert!((scale.x(10 * hour) - scale.x(hour) - REST_WIDTH).abs() < 0.01);
        assert!((scale.x(11 * hour) - WIDTH).abs() < 0.01 && (scale.x(0) - NAMES_WIDTH).abs() < 0.01);
        assert_eq!(scale.rests().len(), 1);
        let joined = Scale::new(&[(0, hour), (hour + 60_000, 2 * hour)]).expect("something was at work");
        assert!(joined.rests().is_empty(), "a minute between them is no rest");
    }
}
