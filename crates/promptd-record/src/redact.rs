//! Fields of a turn that are not recorded.

use promptd_contract::{json::descriptors, proto};
use promptd_core::yaml::nearest;
use prost_reflect::{DynamicMessage, MessageDescriptor};

/// The ephemeral prompt of a turn is never recorded.
pub(crate) const EPHEMERAL: &str = "ephemeral_system_prompt";
/// Every record has its turn's time: without it there would be no prompt.
const NOW: &str = "now";

/// The names of turn fields that are removed before a turn is recorded, in addition to `ephemeral_system_prompt`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Redaction(Vec<String>);

impl Redaction {
    /// The names that there are.
    #[must_use]
    pub fn names() -> Vec<String> {
        let fields = turn().map(|turn| turn.fields().map(|field| field.name().to_owned()).collect::<Vec<_>>());
        fields.unwrap_or_default().into_iter().filter(|field| field != NOW).collect()
    }

    /// Checks a name; an error is what it must be.
    pub fn parse(name: &str) -> Result<String, String> {
        let known = Self::names();
        if known.iter().any(|field| field == name) {
            return Ok(name.to_owned());
        }
        let hint = match nearest(name, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("they are {}", known.join(", ")),
        };
        Err(format!("names of turn fields that can be left out, not `{name}`; {hint}"))
    }

    /// The redaction of these names, which were checked.
    #[must_use]
    pub fn new(names: Vec<String>) -> Self {
        Self(names)
    }

    /// Removes the fields; the names of those that were set.
    pub(crate) fn apply(&self, turn: &mut proto::Turn) -> Option<Vec<String>> {
        if self.0.is_empty() {
            return Some(Vec::new());
        }
        let mut message = DynamicMessage::new(self::turn()?);
        message.transcode_from(&*turn).ok()?;
        let mut removed = Vec::new();
        for name in &self.0 {
            if message.get_field_by_name(name).is_some() && message.has_field_by_name(name) {
                message.clear_field_by_name(name);
                removed.push(name.clone());
            }
        }
        if !removed.is_empty() {
            *turn = message.transcode_to().ok()?;
        }
        Some(removed)
    }
}

/// The contract's description of a turn.
fn turn() -> Option<MessageDescriptor> {
    descriptors().get_message_by_name("promptd.v1.Turn")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_a_turn_but_its_time_can_be_left_out() {
        for field in turn().unwrap().fields().filter(|field| field.name() != NOW) {
            assert_eq!(Redaction::parse(field.name()).as_deref(), Ok(field.name()));
        }
        assert!(Redaction::parse(NOW).is_err());
        assert!(Redaction::parse("usr").unwrap_err().ends_with("did you mean `user`?"));
        assert!(Redaction::parse("x.y.z").unwrap_err().contains("conversation"), "it lists them");
    }

    #[test]
    fn a_field_is_removed_whole_and_named_where_it_was_set() {
        let user = Some(proto::User { id: "u-1".into(), name: "Ada".into() });
        let mut turn = proto::Turn { user, heartbeat: true, ..Default::default() };
        let redaction = Redaction::new(vec!["user".into(), "conversation".into()]);
        assert_eq!(redaction.apply(&mut turn), Some(vec!["user".to_owned()]));
        assert_eq!(turn, proto::Turn { heartbeat: true, ..Default::default() });
        assert_eq!(redaction.apply(&mut turn), Some(Vec::new()));
    }
}
