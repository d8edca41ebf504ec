//! The values that templates see of one turn.

use std::borrow::Cow;

use minijinja::Value;

use super::{
    conversation::TrimmedHistory,
    one_line::{one_line, one_line_of},
};
use crate::{
    finding::{Finding, Place},
    profile::{Profile, Scope},
    text::inline::inline,
    turn::{Agent, Channel, ResponseFormat, Snippet, Stage, Turn, User},
    workspace::{MANIFEST, Skill, Snapshot},
};

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
    pub trimmed: Option<TrimmedHistory>,
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
        let filters = [self.turn.skill_filter.as_ref(), self.turn.skill_access.as_ref()];
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
