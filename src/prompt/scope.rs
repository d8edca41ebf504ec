//! The values that templates see of one turn.

use std::borrow::Cow;

use jiff::{
    Timestamp,
    fmt::temporal::DateTimePrinter,
    tz::{Offset, TimeZone},
};
use minijinja::Value;

use super::{
    ResponseFormat, Stage, Turn,
    conversation::Trimmed,
    turn::{Agent, Channel, Snippet, User},
};
use crate::{
    finding::{Code, Finding, Place},
    profile::{Profile, Scope},
    text::{inline::inline, thousands},
    workspace::{MANIFEST, Skill, Snapshot},
};

/// RFC 3339 without fractions of a second.
const WHOLE_SECONDS: DateTimePrinter = DateTimePrinter::new().precision(Some(0));

/// A turn before a snapshot: each value cleaned once, borrowed where it was clean.
pub struct TurnScope<'a> {
    /// The workspace.
    pub snapshot: &'a Snapshot,
    /// The turn.
    pub turn: &'a Turn,
    /// The recipe.
    pub profile: &'a Profile,
    /// Values of the profile's inputs, in declared order.
    pub inputs: Cow<'a, [Value]>,
    /// What the conversation leaves out at its front; set once the conversation is carried.
    pub trimmed: Option<Trimmed>,
    agent: [Cow<'a, str>; 2],
    user: [Cow<'a, str>; 2],
    channel: [Cow<'a, str>; 4],
}

impl<'a> TurnScope<'a> {
    /// Cleans the turn's one-line values; what was taken from them is told in `findings`.
    pub fn new(
        snapshot: &'a Snapshot,
        profile: &'a Profile,
        turn: &'a Turn,
        inputs: Cow<'a, [Value]>,
        findings: &mut Vec<Finding>,
    ) -> Self {
        let limit = snapshot.settings.max_value_chars;
        let own = &snapshot.manifest.agent;
        let (id, name) = turn.agent.as_ref().map_or(("", ""), |Agent { id, name }| (id, name));
        let fields =
            [("turn.agent.id", id, "`agent.id`", &own.id), ("turn.agent.name", name, "`agent.name`", &own.name)];
        let agent = fields.map(|(field, turns, key, own)| {
            if turns.is_empty() {
                one_line_of(own, limit, key, || Place::file(MANIFEST), findings)
            } else {
                one_line(turns, limit, field, findings)
            }
        });
        let mut line = |field: &str, value: &'a str| one_line(value, limit, field, findings);
        let user = turn
            .user
            .as_ref()
            .map_or(Default::default(), |User { id, name }| [line("turn.user.id", id), line("turn.user.name", name)]);
        let channel =
            turn.channel.as_ref().map_or(Default::default(), |Channel { name, user_id, chat_type, group_id }| {
                [
                    line("turn.channel.name", name),
                    line("turn.channel.user_id", user_id),
                    line("turn.channel.chat_type", chat_type),
                    line("turn.channel.group_id", group_id),
                ]
            });
        Self { snapshot, turn, profile, inputs, trimmed: None, agent, user, channel }
    }

    /// The turn's zone, else the workspace's.
    #[must_use]
    pub fn zone(&self) -> &TimeZone {
        self.turn.time_zone.as_ref().unwrap_or(&self.snapshot.manifest.agent.time_zone)
    }

    /// The zone's IANA name.
    #[must_use]
    pub fn zone_name(&self) -> &str {
        self.zone().iana_name().unwrap_or("UTC")
    }

    /// A moment in the turn's zone: RFC 3339 with offset, whole seconds.
    #[must_use]
    pub fn local(&self, moment: Timestamp) -> String {
        let offset = self.zone().to_offset(moment);
        // Where local time was the sun's, offsets had seconds, which RFC 3339 has not.
        let minutes = (offset.seconds() + 30).div_euclid(60);
        let offset = Offset::from_seconds(minutes * 60).unwrap_or(offset);
        WHOLE_SECONDS.timestamp_with_offset_to_string(&moment, offset)
    }

    /// The turn's persona, else the workspace's; trimmed.
    fn persona(&self) -> &str {
        let own = self.snapshot.manifest.agent.persona.as_deref();
        self.turn.persona.as_deref().or(own).unwrap_or_default().trim()
    }

    /// The turn's ephemeral prompt, else the workspace's; trimmed.
    fn ephemeral(&self) -> &str {
        let own = self.snapshot.manifest.agent.ephemeral_system_prompt.as_deref();
        self.turn.ephemeral_system_prompt.as_deref().or(own).unwrap_or_default().trim()
    }

    /// Whether neither the turn nor the workspace wants the context files.
    #[must_use]
    pub fn skips_context_files(&self) -> bool {
        self.turn.skip_context_files || self.snapshot.manifest.agent.skip_context_files
    }

    /// The snippets that have text.
    pub fn knowledge(&self) -> impl Iterator<Item = &'a Snippet> {
        self.turn.knowledge.iter().filter(|snippet| !snippet.content.trim().is_empty())
    }

    /// The skills that this turn may see, in order.
    pub fn skills(&self) -> impl Iterator<Item = &'a Skill> {
        let filters = [self.turn.skill_filter.as_ref(), self.turn.skill_wall.as_ref()];
        self.snapshot.skills.iter().filter(move |skill| {
            skill.is_shown() && filters.iter().flatten().all(|filter| filter.admits(&skill.name, &skill.folder_name))
        })
    }

    /// The value of a declared input.
    #[must_use]
    pub fn input(&self, name: &str) -> Option<&Value> {
        let index = self.profile.inputs.iter().position(|input| input.field.name == name)?;
        self.inputs.get(index)
    }

    fn now(&self, field: &str) -> Option<String> {
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

impl Scope for TurnScope<'_> {
    fn text(&self, name: &str, field: &str) -> Option<Cow<'_, str>> {
        let text = match (name, field) {
            ("agent", "id") => &*self.agent[0],
            ("agent", "name") => &self.agent[1],
            ("user", "id") => &self.user[0],
            ("user", "name") => &self.user[1],
            ("channel", "name") => &self.channel[0],
            ("channel", "user_id") => &self.channel[1],
            ("channel", "chat_type") => &self.channel[2],
            ("channel", "group_id") => &self.channel[3],
            ("now", field) => return self.now(field).map(Cow::Owned),
            ("workspace", "id") => self.snapshot.id.as_str(),
            ("workspace", "root") => return Some(inline(self.snapshot.shown_root(), usize::MAX).text),
            ("persona", "") => self.persona(),
            ("conversation_summary", "") => self.turn.conversation_summary.trim(),
            ("response_format", "") => match self.turn.response_format {
                ResponseFormat::Text => "text",
                ResponseFormat::JsonObject => "json_object",
            },
            ("ephemeral_system_prompt", "") => self.ephemeral(),
            ("heartbeat_protocol", "") => {
                self.snapshot.manifest.heartbeat_protocol.as_deref().unwrap_or_default().trim()
            }
            ("stage", "") => match self.turn.stage {
                Stage::First => "first",
                Stage::Synthesis => "synthesis",
            },
            (input, "") => self.input(input)?.as_str()?,
            _ => return None,
        };
        Some(Cow::Borrowed(text))
    }

    fn value(&self, name: &str) -> Value {
        let object = |fields: &[&str]| {
            let field = |field: &&str| {
                (field.to_string(), Value::from(self.text(name, field).unwrap_or_default().into_owned()))
            };
            Value::from_pairs(fields.iter().map(field))
        };
        match name {
            "agent" | "user" => object(&["id", "name"]),
            "channel" => object(&["name", "user_id", "chat_type", "group_id"]),
            "now" => object(&["local", "utc", "zone", "long", "hour"]),
            "workspace" => object(&["id", "root"]),
            "heartbeat" => self.turn.heartbeat.into(),
            "skip_context_files" => self.skips_context_files().into(),
            "knowledge" => self.knowledge().map(snippet_value).collect(),
            "skills" => self.skills().map(skill_value).collect(),
            _ => match self.input(name) {
                Some(value) => value.clone(),
                None => self.text(name, "").map_or(Value::UNDEFINED, |text| text.into_owned().into()),
            },
        }
    }
}

fn snippet_value(snippet: &Snippet) -> Value {
    let Snippet { content, source, title } = snippet;
    Value::from_pairs([("content", &**content), ("source", source), ("title", title)])
}

fn skill_value(skill: &Skill) -> Value {
    Value::from_pairs([("name", &*skill.name), ("description", &skill.description), ("location", &skill.location)])
}

/// Puts a caller's value on one line, and tells what that took from it.
pub fn one_line<'v>(value: &'v str, limit: usize, field: &str, findings: &mut Vec<Finding>) -> Cow<'v, str> {
    one_line_of(value, limit, "the value", || Place::field(field), findings)
}

fn one_line_of<'v>(
    value: &'v str,
    limit: usize,
    what: &str,
    place: impl Fn() -> Place,
    findings: &mut Vec<Finding>,
) -> Cow<'v, str> {
    let line = inline(value, limit);
    if line.cut {
        let message = format!("{what} is longer than {} characters and was cut", thousands(limit as u64));
        findings.push(Finding::new(Code::ValueTruncated, place(), message));
    }
    if line.sanitized {
        let message = format!("line breaks, control or hidden characters were taken out of {what}");
        findings.push(Finding::new(Code::ValueSanitized, place(), message));
    }
    line.text
}

/// A scope with names of its own before those of another.
pub struct Locals<'s> {
    /// The names of one's own.
    pub own: &'s [(&'s str, Local<'s>)],
    /// Where all other names are.
    pub outer: &'s dyn Scope,
}

/// A local value.
pub enum Local<'s> {
    /// Text.
    Text(&'s str),
    /// Texts by field.
    Texts(&'s [(&'s str, &'s str)]),
    /// Any value.
    Value(Value),
}

impl Locals<'_> {
    fn find(&self, name: &str) -> Option<&Local<'_>> {
        self.own.iter().find(|(own, _)| *own == name).map(|(_, local)| local)
    }
}

impl Scope for Locals<'_> {
    fn text(&self, name: &str, field: &str) -> Option<Cow<'_, str>> {
        match (self.find(name), field) {
            (None, _) => self.outer.text(name, field),
            (Some(Local::Text(text)), "") => Some(Cow::Borrowed(text)),
            (Some(Local::Texts(fields)), _) => {
                fields.iter().find(|(own, _)| *own == field).map(|(_, text)| Cow::Borrowed(*text))
            }
            (Some(Local::Value(value)), "") => value.as_str().map(|text| Cow::Owned(text.to_owned())),
            _ => None,
        }
    }

    fn value(&self, name: &str) -> Value {
        match self.find(name) {
            None => self.outer.value(name),
            Some(Local::Text(text)) => Value::from(*text),
            Some(Local::Texts(fields)) => Value::from_pairs(fields.iter().copied()),
            Some(Local::Value(value)) => value.clone(),
        }
    }
}
