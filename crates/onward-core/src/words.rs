//! Values as people read them.

use std::time::Duration;

/// `850 ms`, `12 s`, `3 min`, `2 h 5 min`, `4 d 3 h`: the two largest units at most.
pub fn duration(span: Duration) -> String {
    let seconds = span.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    let two = |a: u64, unit: &str, b: u64, small: &str| {
        if b == 0 { format!("{a} {unit}") } else { format!("{a} {unit} {b} {small}") }
    };
    match seconds {
        0 => format!("{} ms", span.as_millis()),
        1..60 => format!("{seconds} s"),
        60..3600 => two(minutes, "min", if minutes < 10 { seconds % 60 } else { 0 }, "s"),
        3600..86_400 => two(hours, "h", minutes, "min"),
        _ => two(days, "d", hours, "h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_told_in_two_units_at_most() {
        let told: Vec<String> =
            [850, 12_000, 61_000, 700_000, 7_500_000, 360_000_000].map(|ms| duration(Duration::from_millis(ms))).into();
        assert_eq!(told, ["850 ms", "12 s", "1 min 1 s", "11 min", "2 h 5 min", "4 d 4 h"]);
    }
}
