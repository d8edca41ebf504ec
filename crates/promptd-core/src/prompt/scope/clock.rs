//! The times that templates see, in the turn's zone.

use jiff::{
    Timestamp,
    fmt::temporal::DateTimePrinter,
    tz::{Offset, TimeZone},
};

use super::TurnScope;

/// RFC 3339 without fractions of a second.
const WHOLE_SECONDS: DateTimePrinter = DateTimePrinter::new().precision(Some(0));

impl TurnScope<'_> {
    /// A moment in the turn's zone: RFC 3339 with offset, whole seconds.
    #[must_use]
    pub(crate) fn local(&self, moment: Timestamp) -> String {
        let offset = self.zone().to_offset(moment);
        // Offsets of local mean time have seconds, which RFC 3339 does not allow.
        let minutes = (offset.seconds() + 30).div_euclid(60);
        let offset = Offset::from_seconds(minutes * 60).unwrap_or(offset);
        WHOLE_SECONDS.timestamp_with_offset_to_string(&moment, offset)
    }

    /// The turn's zone, else the workspace's.
    #[must_use]
    pub(crate) fn zone(&self) -> &TimeZone {
        self.turn.time_zone.as_ref().unwrap_or(&self.snapshot.manifest.agent.time_zone)
    }

    /// The zone's IANA name.
    #[must_use]
    pub(crate) fn zone_name(&self) -> &str {
        self.zone().iana_name().unwrap_or("UTC")
    }

    /// A field of `now`; `None`: no such field.
    pub(super) fn now(&self, field: &str) -> Option<String> {
        let zoned = || self.turn.now.to_zoned_datetime(self.zone().clone());
        Some(match field {
            "local" => self.local(self.turn.now),
            "utc" => WHOLE_SECONDS.timestamp_to_string(&self.turn.now),
            "zone" => self.zone_name().to_owned(),
            "long" => zoned().strftime("%A, %B %-d, %Y at %-I:%M %p").to_string(),
            "hour" => zoned().hour().to_string(),
            _ => return None,
        })
    }
}
