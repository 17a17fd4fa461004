//! Durations, sizes and rates, as people write them. A number without a unit is never guessed at.

use std::time::Duration;

const UNITS: &[(&str, u64)] =
    &[("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("w", 604_800_000)];
const SIZES: &[(&str, u64)] = &[
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];
/// A century; what is longer is a slip of the pen.
const DURATION_MS_MAX: u64 = 100 * 366 * 86_400_000;

/// Why a duration was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DurationFault {
    NoUnit,
    UnknownUnit,
    NotADuration,
    TooLong,
}

/// `30m`, `1h 30m`, `300ms`, `12h`, `7d`, `1.5h`.
pub fn duration(text: &str) -> Result<Duration, DurationFault> {
    let mut rest = text.trim();
    let mut total: u64 = 0;
    if rest.is_empty() {
        return Err(DurationFault::NotADuration);
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let tail = tail.trim_start();
        let letters = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        if number.is_empty() {
            return Err(DurationFault::NotADuration);
        }
        if unit.is_empty() {
            return Err(if tail.is_empty() { DurationFault::NoUnit } else { DurationFault::NotADuration });
        }
        let factor = UNITS.iter().find(|(name, _)| *name == unit).ok_or(DurationFault::UnknownUnit)?.1;
        let part = scaled(number, factor)
            .map_err(|overflow| if overflow { DurationFault::TooLong } else { DurationFault::NotADuration })?;
        total = total.saturating_add(part);
        rest = tail.trim_start();
    }
    if total > DURATION_MS_MAX { Err(DurationFault::TooLong) } else { Ok(Duration::from_millis(total)) }
}

/// `2GB`, `512MiB`, `64 MB`: bytes.
pub fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(digits);
    let factor = SIZES.iter().find(|(name, _)| *name == unit.trim_start())?.1;
    scaled(number, factor).ok()
}

/// `60/1m`: how many in which window.
pub fn rate(text: &str) -> Option<(u32, Duration)> {
    let (count, window) = text.split_once('/')?;
    let count = count.trim().parse().ok().filter(|count| *count > 0)?;
    let window = duration(window).ok().filter(|window| !window.is_zero())?;
    Some((count, window))
}

/// The number, which may have decimals, times the factor, without the error of floating point. `Err(true)` is an overflow.
fn scaled(number: &str, factor: u64) -> Result<u64, bool> {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || decimals.len() > 6 || decimals.contains('.') || number.ends_with('.') {
        return Err(false);
    }
    let whole: u64 = whole.parse().map_err(|_| true)?;
    let fraction: u64 = if decimals.is_empty() { 0 } else { decimals.parse().map_err(|_| false)? };
    let places = u32::try_from(decimals.len()).map_err(|_| false)?;
    let part = u128::from(fraction) * u128::from(factor) / 10_u128.pow(places);
    let whole = whole.checked_mul(factor).ok_or(true)?;
    whole.checked_add(u64::try_from(part).map_err(|_| true)?).ok_or(true)
}
