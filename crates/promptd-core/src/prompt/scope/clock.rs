//! The times that templates see, in the turn's zone.

use jiff::tz::TimeZone;

use super::TurnScope;
use crate::time::Moment;

impl TurnScope<'_> {
    /// A moment in the turn's zone: RFC 3339 with offset, whole seconds.
    #[must_use]
    pub(crate) fn local(&self, moment: Moment) -> String {
        moment.local_seconds(self.zone())
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
        let now = self.turn.now;
        Some(match field {
            "local" => self.local(now),
            "utc" => now.utc_seconds(),
            "zone" => self.zone_name().to_owned(),
            "long" => now.local(self.zone()).strftime("%A, %B %-d, %Y at %-I:%M %p").to_string(),
            "hour" => now.local(self.zone()).hour().to_string(),
            _ => return None,
        })
    }
}
