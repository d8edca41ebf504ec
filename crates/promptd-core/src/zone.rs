//! Time zones by name, from the data compiled in: the host's `TZ` and tzdata never matter.

use std::fmt;

use jiff::tz::TimeZone;

/// The zone of an IANA name such as `Europe/Berlin`; links such as `US/Pacific` count.
pub fn parse(name: &str) -> Result<TimeZone, UnknownZone> {
    // jiff knows `Etc/Unknown` as a zone that acts like UTC; here it is what it says, unknown.
    TimeZone::get(name).ok().filter(|zone| !zone.is_unknown()).ok_or_else(|| UnknownZone(shown(name)))
}

/// At most the first 64 characters, so that an error stays short.
fn shown(name: &str) -> String {
    name.chars().take(64).flat_map(char::escape_debug).collect()
}

/// No zone has that name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownZone(String);

impl fmt::Display for UnknownZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a time zone; write an IANA name such as `Europe/Berlin` or `UTC`", self.0)
    }
}

impl std::error::Error for UnknownZone {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_iana_names_and_links_alone() {
        for good in ["UTC", "Europe/Berlin", "US/Pacific", "Asia/Kolkata", "EST5EDT"] {
            assert!(parse(good).is_ok(), "{good}");
        }
        for bad in
            ["", "Etc/Unknown", "etc/unknown", "America/New York", " Europe/Paris ", "UTC+5", "Mars/Olympus", "+02:00"]
        {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
