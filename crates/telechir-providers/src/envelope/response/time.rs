//! The time of a response: seconds since 1970, or RFC 3339.

use serde_json::Value;

const DAY_SECONDS: u64 = 86_400;
/// 9999-12-31T23:59:59Z. RFC 3339 has no later year.
const MAX_SECONDS: u64 = 253_402_300_799;

/// When a response was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CreationTime {
    /// Since 1970.
    pub(super) seconds: u64,
    /// As the source writes it, without quotation marks.
    pub(super) text: String,
}

impl CreationTime {
    /// A time from a number or a text; none if it is written in another way, before 1970 or after
    /// the year 9999.
    pub(super) fn read(value: &Value) -> Option<Self> {
        let seconds = read(value)?;
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        Some(Self { seconds, text })
    }

    /// Whether it has a part of a second.
    pub(super) fn has_fraction(&self) -> bool {
        self.text.contains('.')
    }

    /// As RFC 3339 in UTC.
    pub(super) fn rfc3339(&self) -> String {
        match self.text.contains('T') {
            true => self.text.clone(),
            false => write(self.seconds),
        }
    }
}

fn read(value: &Value) -> Option<u64> {
    seconds(value).filter(|seconds| *seconds <= MAX_SECONDS)
}

fn seconds(value: &Value) -> Option<u64> {
    if let Some(seconds) = value.as_u64() {
        return Some(seconds);
    }
    if let Some(text) = value.as_str() {
        return parse(text);
    }
    // OpenAI's is a number with a fraction in some services.
    let text = value.as_f64()?.trunc().to_string();
    text.parse().ok()
}

/// `2026-10-21T08:30:00.25Z`; an offset other than UTC is not understood.
fn parse(text: &str) -> Option<u64> {
    let utc = text
        .strip_suffix('Z')
        .or_else(|| text.strip_suffix("+00:00"))?;
    let (date, clock) = utc.split_once('T')?;
    let clock = clock.split('.').next()?;
    let [year, month, day] = numbers(date, '-', 4)?;
    let [hour, minute, second] = numbers(clock, ':', 2)?;
    let is_time = (1970..10_000).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days_in(year, month)).contains(&day)
        && (hour < 24 && minute < 60 && second < 60);
    is_time.then(|| {
        let days = days_before(year, month) + day - 1;
        days * DAY_SECONDS + hour * 3600 + minute * 60 + second
    })
}

/// Three numbers, the first with a fixed count of digits and the others with two.
fn numbers(text: &str, separator: char, digits: usize) -> Option<[u64; 3]> {
    let number = |(at, part): (usize, &str)| {
        let count = if at == 0 { digits } else { 2 };
        let is_number = part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| part.parse().ok())?
    };
    let parts = text.split(separator).enumerate().take(4);
    let found: Option<Vec<u64>> = parts.map(number).collect();
    found?.try_into().ok()
}

/// Days from 1970 to the first of the month.
fn days_before(year: u64, month: u64) -> u64 {
    let years: u64 = (1970..year)
        .map(|year| 365 + u64::from(is_leap(year)))
        .sum();
    let months: u64 = (1..month).map(|month| days_in(year, month)).sum();
    years + months
}

fn is_leap(year: u64) -> bool {
    (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400)
}

fn days_in(year: u64, month: u64) -> u64 {
    match month {
        2 => 28 + u64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn write(seconds: u64) -> String {
    let (mut days, clock) = (seconds / DAY_SECONDS, seconds % DAY_SECONDS);
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 1;
    while days >= days_in(year, month) {
        days -= days_in(year, month);
        month += 1;
    }
    format!(
        "{year:04}-{month:02}-{:02}T{:02}:{:02}:{:02}Z",
        days + 1,
        clock / 3600,
        clock / 60 % 60,
        clock % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_survives_both_ways() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2024-02-29T23:59:59Z", 1_709_251_199),
            ("2026-10-21T08:30:00Z", 1_792_571_400),
        ] {
            assert_eq!(read(&text.into()), Some(seconds), "{text}");
            assert_eq!(write(seconds), text);
        }
        assert_eq!(read(&"2026-10-21T08:30:00.25Z".into()), Some(1_792_571_400));
        assert_eq!(read(&"2026-10-21T08:30:00+02:00".into()), None);
        assert_eq!(read(&"yesterday".into()), None);
    }

    #[test]
    fn a_time_that_no_calendar_has_is_not_read() {
        for text in [
            "99999999999999-01-01T00:00:00Z",
            "10000-01-01T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "2026-00-01T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-18446744073709551615-01T00:00:00Z",
            "2026-01-18446744073709551615T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-01T18446744073709551615:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:18446744073709551615Z",
            "2026-+1-01T00:00:00Z",
            "2026-01-01T00:00Z",
            "2026-01-01-01T00:00:00Z",
        ] {
            assert_eq!(read(&text.into()), None, "{text}");
        }
        let last = "9999-12-31T23:59:59Z";
        assert_eq!(read(&last.into()), Some(MAX_SECONDS));
        assert_eq!(write(MAX_SECONDS), last);
        assert_eq!(read(&MAX_SECONDS.into()), Some(MAX_SECONDS));
        for seconds in [MAX_SECONDS + 1, u64::MAX] {
            assert_eq!(read(&seconds.into()), None, "{seconds}");
        }
        assert_eq!(read(&1e300.into()), None);
    }
}
