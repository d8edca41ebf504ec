//! The times that templates see, in the turn's zone.

use jiff::tz::TimeZone;

use super::{Inputs, TurnScope};
use crate::{
    profile::{Profile, Type},
    time::Moment,
    turn::Turn,
};

/// The input that says how exact the clock is: a word of [`STEPS`]. An input of that name which takes other words is like any other.
const INPUT: &str = "clock";
const STEPS: [&str; 4] = ["second", "minute", "hour", "day"];

/// The moment that templates see: the turn's, or what was there last of the minute, the hour or the day that the input `clock`
/// names, in the turn's zone.
pub(super) fn now(profile: &Profile, inputs: &Inputs, turn: &Turn, zone: &TimeZone) -> Moment {
    let index = profile.inputs.iter().position(|input| {
        matches!(&input.field.ty, Type::Choice(words) if input.field.name == INPUT && words.iter().all(|word| STEPS.contains(&word.as_str())))
    });
    let value = index.and_then(|index| inputs.values.get(index));
    value.and_then(|value| begun(turn.now, value.as_str()?, zone)).unwrap_or(turn.now)
}

/// When the step began that a moment is in; `None`: the step is a second, which is what is shown anyway.
fn begun(moment: Moment, step: &str, zone: &TimeZone) -> Option<Moment> {
    let (seconds, _) = moment.as_parts();
    let local = jiff::ZonedDateTime::new(jiff::Timestamp::from_second(seconds).ok()?, zone.clone());
    let begun = match step {
        "minute" => local.with().second(0).build().ok()?,
        "hour" => local.with().minute(0).second(0).build().ok()?,
        "day" => local.start_of_day().ok()?,
        _ => return None,
    };
    Moment::new(begun.timestamp().as_second(), 0).ok()
}

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
        let now = self.now;
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
