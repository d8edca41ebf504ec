//! Where the values of a turn came from, for spans.

use std::sync::Arc;

use minijinja::Value;
use serde_json::Value as Json;

use super::{
    TurnScope,
    inputs::{Given, tool_name},
};
use crate::{
    finding::member,
    profile::{Scope, Step, ToolAllowlist},
    prompt::{
        document,
        output::{How, Origin, OriginKind},
        trace::{Text, Trace, files},
    },
    text::cut::Cut,
    turn::Snippet,
};

/// A value that a template wrote.
pub(crate) struct Found {
    /// What it came from.
    pub origin: Arc<Origin>,
    /// Its text with its trace, if it is a text.
    pub text: Option<Text>,
}

/// Where a template finds its values, and where those came from.
pub(crate) trait Places: Scope {
    /// The value of a name, or of what is below it.
    fn found(&self, name: &str, steps: &[Step]) -> Found;
}

impl Found {
    /// A value that is not a text, or that the service works out.
    pub(crate) fn worked_out(origin: Origin) -> Self {
        Self { origin: Arc::new(origin), text: None }
    }

    /// A text as it came, and as templates see it.
    pub(crate) fn cleaned(origin: Origin, came: &str, text: &str) -> Self {
        let origin = Arc::new(origin);
        let trace = Trace::verbatim(came, &origin).through(came, text, How::Cleaned);
        Self { text: Some(Text::traced(text.to_owned(), trace)), origin }
    }

    /// A text with its trace.
    pub(crate) fn traced(origin: &Arc<Origin>, text: Text) -> Self {
        Self { origin: Arc::clone(origin), text: Some(text) }
    }
}

impl Places for TurnScope<'_> {
    fn found(&self, name: &str, steps: &[Step]) -> Found {
        if self.input(name).is_some() {
            return self.found_input(name, steps);
        }
        match (name, steps) {
            ("knowledge", [Step::Item(index), rest @ ..]) => self.found_knowledge(*index, rest),
            ("skills", [Step::Item(index), Step::Field(field)]) => {
                let skill = self.skills().nth(*index);
                skill.map_or_else(|| fact(name, steps), |skill| files::skill(skill, field))
            }
            ("actions" | "reply", _) => {
                let path = path(if name == "actions" { "reply.actions" } else { name }, steps);
                Found::worked_out(Origin::profile(self.profile.name.as_str(), path))
            }
            (_, [] | [Step::Field(_)]) => {
                let field = if let [Step::Field(field)] = steps { field.as_str() } else { "" };
                self.found_text(name, field).unwrap_or_else(|| fact(name, steps))
            }
            _ => fact(name, steps),
        }
    }
}

fn fact(name: &str, steps: &[Step]) -> Found {
    Found::worked_out(Origin::new(OriginKind::Fact, path(name, steps)))
}

/// A name with the steps below it, as messages write it.
pub(crate) fn path(name: &str, steps: &[Step]) -> String {
    steps.iter().fold(name.to_owned(), |path, step| match step {
        Step::Field(field) => member(&path, field),
        Step::Item(index) => format!("{path}[{index}]"),
    })
}

impl TurnScope<'_> {
    /// A text of the turn's, or of the workspace where the turn has none.
    fn found_text(&self, name: &str, field: &str) -> Option<Found> {
        let text = self.text(name, field)?;
        if (name, field) == ("working_directory", "") {
            let origin = Origin::new(OriginKind::Turn, "turn.working_directory");
            return Some(Found::cleaned(origin, self.turn.working_directory.as_str(), &text));
        }
        let (turn, own) = (self.turn, &self.snapshot.manifest.agent);
        let agent =
            |of: fn(&crate::turn::Agent) -> &String| turn.agent.as_ref().map(of).filter(|text| !text.is_empty());
        let of_user = |of: fn(&crate::turn::User) -> &String| turn.user.as_ref().map(of);
        let of_channel = |of: fn(&crate::turn::Channel) -> &String| turn.channel.as_ref().map(of);
        let (of_turn, of_workspace) = match (name, field) {
            ("agent", "id") => (agent(|agent| &agent.id), Some(&own.id)),
            ("agent", "name") => (agent(|agent| &agent.name), Some(&own.name)),
            ("user", "id") => (of_user(|user| &user.id), None),
            ("user", "name") => (of_user(|user| &user.name), None),
            ("channel", "name") => (of_channel(|channel| &channel.name), None),
            ("channel", "user_id") => (of_channel(|channel| &channel.user_id), None),
            ("channel", "chat_type") => (of_channel(|channel| &channel.chat_type), None),
            ("channel", "group_id") => (of_channel(|channel| &channel.group_id), None),
            ("persona", "") => (turn.persona.as_ref(), own.persona.as_ref()),
            ("ephemeral_system_prompt", "") => {
                (turn.ephemeral_system_prompt.as_ref(), own.ephemeral_system_prompt.as_ref())
            }
            ("conversation_summary", "") => (Some(&turn.conversation_summary), None),
            ("heartbeat_protocol", "") => (None, self.snapshot.manifest.heartbeat_protocol.as_ref()),
            _ => return None,
        };
        let dot = if field.is_empty() { "" } else { "." };
        if let Some(came) = of_turn {
            let origin = Origin::new(OriginKind::Turn, format!("turn.{name}{dot}{field}"));
            return Some(Found::cleaned(origin, came, &text));
        }
        let key = match name {
            "agent" => format!("agent.{field}"),
            "heartbeat_protocol" => "heartbeat.protocol".to_owned(),
            _ => format!("agent.{name}"),
        };
        // Without the file it is what the service makes of the folder's name.
        let is_written = !self.snapshot.manifest_sha256.is_empty();
        let file = self.snapshot.file_of_setting(&key);
        of_workspace.filter(|_| is_written).map(|came| Found::cleaned(Origin::setting(key, file), came, &text))
    }

    /// A field of a snippet, by its place among those that are shown.
    fn found_knowledge(&self, index: usize, steps: &[Step]) -> Found {
        let mut shown =
            self.turn.knowledge.iter().enumerate().filter(|(_, snippet)| !snippet.content.trim().is_empty());
        let Some((sent, Snippet { content, source, title })) = shown.nth(index) else {
            return fact("knowledge", steps);
        };
        let origin = Origin::new(OriginKind::Turn, path(&format!("turn.knowledge[{sent}]"), steps));
        match steps {
            [Step::Field(field)] => {
                let text = match field.as_str() {
                    "content" => content,
                    "source" => source,
                    _ => title,
                };
                Found::cleaned(origin, text, text)
            }
            _ => Found::worked_out(origin),
        }
    }

    /// An input's value, or what is below it.
    fn found_input(&self, name: &str, steps: &[Step]) -> Found {
        let input = self.profile.inputs.iter().find(|input| input.field.name == name);
        let given = input.map_or(Given::Absent, |input| Given::of(input, self.snapshot, self.turn, self.files));
        let value = self.input(name).and_then(|value| below(value, steps));
        let text = value.as_ref().and_then(Value::as_str);
        let json = match given {
            Given::Turn(json) | Given::Workspace(json) => Some(json),
            Given::File(file) => {
                let limit = self.files.limit(&file.path);
                let held = if file.chars <= limit {
                    Cut::Whole(&file.text)
                } else {
                    document::cut(file, limit, &self.snapshot.manifest.context)
                };
                let text = document::traced(file, &held);
                return Found::traced(&files::origin(document::source(file)), text);
            }
            Given::Absent => None,
        };
        let (shown, steps) = (steps.len(), &self.as_given(name, steps, json));
        let path = path(&format!("inputs.{name}"), steps);
        let origin = match given {
            Given::Turn(_) => Origin::new(OriginKind::Input, path),
            Given::Workspace(_) => Origin::setting(path, self.snapshot.file_of_setting(&format!("inputs.{name}"))),
            _ => Origin::profile(self.profile.name.as_str(), path),
        };
        let came = json.and_then(|json| json_below(json, steps)).and_then(Json::as_str);
        match (text, came) {
            (Some(text), Some(came)) if steps.len() == shown => Found::cleaned(origin, came, text),
            (Some(text), None) if json.is_none() => Found::cleaned(origin, text, text),
            _ => Found::worked_out(origin),
        }
    }

    /// The steps to a value in an input as it was given: of tools, only those that are allowed are left, and a part of a text is
    /// in the text.
    fn as_given(&self, name: &str, steps: &[Step], given: Option<&Json>) -> Vec<Step> {
        let mut steps = steps.to_vec();
        if let (ToolAllowlist::INPUT, Some(Step::Item(index)), Some(Json::Array(all))) =
            (name, steps.first_mut(), given)
        {
            let tool = self.input(name).and_then(|tools| tools.get_item_by_index(*index).ok());
            let tool = tool.as_ref().and_then(tool_name);
            let same = |one: &Json| one.get("name").and_then(Json::as_str) == tool.as_deref();
            *index = all.iter().position(same).unwrap_or(*index);
        }
        let is_text = |steps: &[Step]| given.and_then(|json| json_below(json, steps)).is_some_and(Json::is_string);
        if let Some(end) = (0..steps.len()).find(|end| is_text(&steps[..*end])) {
            steps.truncate(end);
        }
        steps
    }
}

fn below(value: &Value, steps: &[Step]) -> Option<Value> {
    steps.iter().try_fold(value.clone(), |value, step| match step {
        Step::Field(field) => value.get_attr(field).ok(),
        Step::Item(index) => value.get_item_by_index(*index).ok(),
    })
}

fn json_below<'j>(value: &'j Json, steps: &[Step]) -> Option<&'j Json> {
    steps.iter().try_fold(value, |value, step| match step {
        Step::Field(field) => value.get(field),
        Step::Item(index) => value.get(index),
    })
}
