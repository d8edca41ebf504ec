//! Moments of the years 1 to 9999, which protobuf and RFC 3339 can write.
//!
//! [`jiff::Timestamp`] ends some hours before the year 9999 does, and begins long before the year 1.

use std::{fmt, str::FromStr};

use jiff::{
    SignedDuration, Timestamp,
    civil::{DateTime, date},
    fmt::temporal::{Pieces, PiecesOffset},
    tz::{Offset, TimeZone},
};

const NANOS_PER_SECOND: i128 = 1_000_000_000;
const NANOS_PER_MILLISECOND: i128 = 1_000_000;
const EPOCH: DateTime = date(1970, 1, 1).at(0, 0, 0, 0);

/// A moment from 0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999999999Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment {
    /// Since 1970-01-01T00:00:00Z, rounded down.
    seconds: i64,
    nanoseconds: u32,
}

/// What is not a moment: out of range, or not RFC 3339.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAMoment;

impl fmt::Display for NotAMoment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "must be a time from {} to {}", Moment::MIN.utc_seconds(), Moment::MAX.utc_seconds())
    }
}

impl std::error::Error for NotAMoment {}

impl Moment {
    /// 0001-01-01T00:00:00Z.
    pub const MIN: Self = Self { seconds: -62_135_596_800, nanoseconds: 0 };
    /// 9999-12-31T23:59:59.999999999Z.
    pub const MAX: Self = Self { seconds: 253_402_300_799, nanoseconds: 999_999_999 };
    /// 1970-01-01T00:00:00Z.
    pub const EPOCH: Self = Self { seconds: 0, nanoseconds: 0 };

    /// The moment of so many seconds and nanoseconds since 1970-01-01T00:00:00Z.
    ///
    /// # Errors
    ///
    /// It is outside the years 1 to 9999, or has 1,000,000,000 nanoseconds or more.
    pub fn new(seconds: i64, nanoseconds: u32) -> Result<Self, NotAMoment> {
        let moment = Self { seconds, nanoseconds };
        let is_valid = nanoseconds <= Self::MAX.nanoseconds && (Self::MIN..=Self::MAX).contains(&moment);
        is_valid.then_some(moment).ok_or(NotAMoment)
    }

    /// The moment of so many milliseconds since 1970-01-01T00:00:00Z.
    ///
    /// # Errors
    ///
    /// It is outside the years 1 to 9999.
    pub fn from_milliseconds(milliseconds: i64) -> Result<Self, NotAMoment> {
        Self::from_nanoseconds(i128::from(milliseconds) * NANOS_PER_MILLISECOND)
    }

    fn from_nanoseconds(nanoseconds: i128) -> Result<Self, NotAMoment> {
        let seconds = i64::try_from(nanoseconds.div_euclid(NANOS_PER_SECOND)).map_err(|_| NotAMoment)?;
        let rest = u32::try_from(nanoseconds.rem_euclid(NANOS_PER_SECOND)).map_err(|_| NotAMoment)?;
        Self::new(seconds, rest)
    }

    /// Milliseconds since 1970-01-01T00:00:00Z, rounded towards it.
    #[must_use]
    pub fn as_milliseconds(self) -> i64 {
        let nanoseconds = i128::from(self.seconds) * NANOS_PER_SECOND + i128::from(self.nanoseconds);
        i64::try_from(nanoseconds / NANOS_PER_MILLISECOND).unwrap_or(i64::MAX)
    }

    /// Whole seconds since 1970-01-01T00:00:00Z, rounded down, and the nanoseconds after them.
    #[must_use]
    pub fn as_parts(self) -> (i64, u32) {
        (self.seconds, self.nanoseconds)
    }

    /// RFC 3339 in UTC, in whole seconds: `2026-02-28T17:30:00Z`.
    #[must_use]
    pub fn utc_seconds(self) -> String {
        self.utc().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// RFC 3339 in UTC, in milliseconds: `2026-02-28T17:30:00.000Z`.
    #[must_use]
    pub fn utc_milliseconds(self) -> String {
        self.utc().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
    }

    /// RFC 3339 in UTC: a fraction only where it is not zero, in groups of three digits.
    #[must_use]
    pub fn utc_exact(self) -> String {
        let form = match self.nanoseconds {
            0 => "%Y-%m-%dT%H:%M:%SZ",
            n if n % 1_000_000 == 0 => "%Y-%m-%dT%H:%M:%S.%3fZ",
            n if n % 1_000 == 0 => "%Y-%m-%dT%H:%M:%S.%6fZ",
            _ => "%Y-%m-%dT%H:%M:%S.%9fZ",
        };
        self.utc().strftime(form).to_string()
    }

    /// RFC 3339 in a zone, in whole seconds with the offset in minutes: `2026-02-28T18:30:00+01:00`. Where the local year
    /// would be 10000, which RFC 3339 cannot write, in UTC.
    #[must_use]
    pub fn local_seconds(self, zone: &TimeZone) -> String {
        // Offsets of local mean time have seconds, which RFC 3339 does not allow.
        let minutes = (self.offset(zone).seconds() + 30).div_euclid(60);
        let (local, minutes) = match self.civil(minutes * 60) {
            Some(local) => (local, minutes),
            None => (self.utc(), 0),
        };
        // Every prompt has one: written digit by digit it takes a tenth of what formatting it does.
        let mut text = String::with_capacity("2026-02-28T18:30:00+01:00".len());
        let [century, year] = [local.year() / 100, local.year() % 100].map(i16::unsigned_abs);
        let [month, day] = [local.month(), local.day()].map(i8::unsigned_abs);
        let [hour, minute, second] = [local.hour(), local.minute(), local.second()].map(i8::unsigned_abs);
        let sign = if minutes < 0 { "-" } else { "+" };
        let offset = minutes.unsigned_abs();
        for (before, number) in [
            ("", century.into()),
            ("", year.into()),
            ("-", month.into()),
            ("-", day.into()),
            ("T", hour.into()),
            (":", minute.into()),
            (":", second.into()),
            (sign, offset / 60),
            (":", offset % 60),
        ] {
            text.push_str(before);
            let digit = |number: u32| char::from_digit(number % 10, 10).unwrap_or('0');
            text.extend([digit(number / 10), digit(number)]);
        }
        text
    }

    /// Date and time in a zone; in UTC where the local year would be 10000.
    #[must_use]
    pub fn local(self, zone: &TimeZone) -> DateTime {
        self.civil(self.offset(zone).seconds()).unwrap_or_else(|| self.utc())
    }

    fn utc(self) -> DateTime {
        self.civil(0).unwrap_or(EPOCH)
    }

    /// Date and time at an offset in seconds; `None`: the year would be 10000.
    fn civil(self, offset: i32) -> Option<DateTime> {
        let since = SignedDuration::from_secs(self.seconds.saturating_add(offset.into()));
        let seconds = EPOCH.checked_add(since).ok()?;
        if self.nanoseconds == 0 {
            return Some(seconds);
        }
        seconds.checked_add(SignedDuration::from_nanos(self.nanoseconds.into())).ok()
    }

    /// The zone's offset; beyond jiff's range, that of the last moment within.
    fn offset(self, zone: &TimeZone) -> Offset {
        let nanoseconds = i32::try_from(self.nanoseconds).unwrap_or_default();
        zone.to_offset(Timestamp::new(self.seconds, nanoseconds).unwrap_or(Timestamp::MAX))
    }
}

/// A moment before the year 1 becomes the first one.
impl From<Timestamp> for Moment {
    fn from(timestamp: Timestamp) -> Self {
        Self::from_nanoseconds(timestamp.as_nanosecond()).unwrap_or(Self::MIN)
    }
}

/// Reads RFC 3339, and what else ISO 8601 has for a date, a time and an offset.
impl FromStr for Moment {
    type Err = NotAMoment;

    fn from_str(text: &str) -> Result<Self, NotAMoment> {
        let pieces = Pieces::parse(text).map_err(|_| NotAMoment)?;
        let time = pieces.time().ok_or(NotAMoment)?;
        let offset = match pieces.offset().ok_or(NotAMoment)? {
            PiecesOffset::Numeric(offset) => offset.offset().seconds(),
            _ => 0,
        };
        let since = pieces.date().to_datetime(time).duration_since(EPOCH);
        Self::from_nanoseconds(since.as_nanos() - i128::from(offset) * NANOS_PER_SECOND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(name: &str) -> TimeZone {
        TimeZone::get(name).unwrap()
    }

    #[test]
    fn exactly_the_years_1_to_9999() {
        for (seconds, nanoseconds, text) in [
            (-62_135_596_801, 999_999_999, None),
            (-62_135_596_800, 0, Some("0001-01-01T00:00:00Z")),
            (-1, 0, Some("1969-12-31T23:59:59Z")),
            (-1, 500_000_000, Some("1969-12-31T23:59:59.500Z")),
            (0, 0, Some("1970-01-01T00:00:00Z")),
            (253_402_214_400, 0, Some("9999-12-31T00:00:00Z")),
            (253_402_300_799, 999_999_999, Some("9999-12-31T23:59:59.999999999Z")),
            (253_402_300_800, 0, None),
            (0, 1_000_000_000, None),
            (-200_000_000_000, 0, None),
            (i64::MAX, 0, None),
            (i64::MIN, 0, None),
        ] {
            let moment = Moment::new(seconds, nanoseconds).ok();
            assert_eq!(moment.map(Moment::utc_exact).as_deref(), text, "{seconds}.{nanoseconds}");
        }
    }

    #[test]
    fn the_same_range_as_text_and_as_milliseconds() {
        for (text, exact) in [
            ("0001-01-01T00:00:00Z", Some("0001-01-01T00:00:00Z")),
            ("0000-12-31T23:59:59Z", None),
            ("0000-12-31T20:00:00-04:00", Some("0001-01-01T00:00:00Z")),
            ("0001-01-01T03:59:59+04:00", None),
            ("9999-12-31T23:59:59.999999999Z", Some("9999-12-31T23:59:59.999999999Z")),
            ("9999-12-31T23:59:59-00:01", None),
            ("2026-02-28T18:30:00.5+01:00", Some("2026-02-28T17:30:00.500Z")),
            ("2026-02-28T18:30:00", None),
            ("2026-02-28", None),
            ("-000001-01-01T00:00:00Z", None),
            ("tomorrow", None),
        ] {
            assert_eq!(text.parse().ok().map(Moment::utc_exact).as_deref(), exact, "{text}");
        }
        for (milliseconds, text) in [
            (-62_135_596_800_001, None),
            (-62_135_596_800_000, Some("0001-01-01T00:00:00Z")),
            (-1, Some("1969-12-31T23:59:59.999Z")),
            (253_402_300_799_999, Some("9999-12-31T23:59:59.999Z")),
            (253_402_300_800_000, None),
            (i64::MAX, None),
        ] {
            let moment = Moment::from_milliseconds(milliseconds).ok();
            assert_eq!(moment.map(Moment::utc_exact).as_deref(), text, "{milliseconds}");
            assert!(moment.is_none_or(|moment| moment.as_milliseconds() == milliseconds), "{milliseconds}");
        }
    }

    #[test]
    fn local_times_are_always_rfc_3339() {
        for (moment, name, text) in [
            ("2026-02-28T17:30:00.9Z", "Europe/Berlin", "2026-02-28T18:30:00+01:00"),
            ("2026-02-28T17:30:00Z", "America/St_Johns", "2026-02-28T14:00:00-03:30"),
            ("2026-02-28T17:30:00Z", "UTC", "2026-02-28T17:30:00+00:00"),
            ("0001-01-01T00:00:00Z", "America/New_York", "0000-12-31T19:04:00-04:56"),
            ("9999-12-31T23:00:00Z", "America/New_York", "9999-12-31T18:00:00-05:00"),
            ("9999-12-31T23:00:00Z", "Asia/Tokyo", "9999-12-31T23:00:00+00:00"),
            ("9999-12-31T22:59:59Z", "Europe/Berlin", "9999-12-31T23:59:59+01:00"),
            ("9999-12-31T23:59:59.999999999Z", "UTC", "9999-12-31T23:59:59+00:00"),
        ] {
            let moment: Moment = moment.parse().unwrap();
            assert_eq!(moment.local_seconds(&zone(name)), text, "{name}");
        }
        assert_eq!(Moment::MAX.local(&zone("Asia/Tokyo")).hour(), 23);
        assert_eq!(Moment::MIN.local(&zone("Asia/Tokyo")).to_string(), "0001-01-01T09:18:59");
    }

    #[test]
    fn jiffs_moments_before_the_year_1_become_the_first() {
        assert_eq!(Moment::from(Timestamp::MIN), Moment::MIN);
        assert_eq!(Moment::from(Timestamp::UNIX_EPOCH), Moment::EPOCH);
    }
}
