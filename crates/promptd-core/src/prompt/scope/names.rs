//! The names that templates see of a turn.

use std::borrow::Cow;

use minijinja::Value;

use super::TurnScope;
use crate::{
    profile::Scope,
    text::inline::inline,
    turn::{ResponseFormat, Snippet, Stage},
    workspace::Skill,
};

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
            ("working_directory", "") => {
                return Some(inline(self.turn.working_directory.as_str(), usize::MAX).text);
            }
            ("heartbeat_protocol", "") => {
                self.snapshot.manifest.heartbeat_protocol.as_deref().unwrap_or_default().trim()
            }
            ("stage", "") => match self.turn.stage {
                Stage::First => "first",
                Stage::Synthesis => "synthesis",
            },
            (input, "") => match self.input(input) {
                Some(value) => value.as_str()?,
                None if input == "actions" => &self.profile.taught.actions,
                None => return None,
            },
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
            "trimmed_messages" => self.trimmed.messages.into(),
            "heartbeat" => self.turn.heartbeat.into(),
            "skip_context_files" => self.files.skips_context_files().into(),
            "knowledge" => self.knowledge().map(snippet_value).collect(),
            "skills" => self.skills().map(skill_value).collect(),
            _ => {
                match self.input(name) {
                    Some(value) => value.clone(),
                    None => self.profile.taught.value(name).unwrap_or_else(|| {
                        self.text(name, "").map_or(Value::UNDEFINED, |text| text.into_owned().into())
                    }),
                }
            }
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
