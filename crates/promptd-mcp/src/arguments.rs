//! The arguments of a prompt: the inputs of its profile by their names, and plain fields of the turn by their paths.

use promptd_contract::{decode::Limits, json, proto};
use rmcp::model::{JsonObject, PromptArgument};
use serde_json::{Map, Value};

use crate::Failure;

/// A field of the turn that an argument can set.
struct Field {
    /// Its path, as errors name it.
    path: &'static str,
    /// The lock of `workspace.yaml` that forbids it.
    lock: Option<&'static str>,
    kind: Kind<'static>,
    /// What it is for.
    description: &'static str,
}

/// How an argument's text becomes a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind<'a> {
    /// It is the value.
    Text,
    /// A word of an enum, whose names begin so.
    Word(&'a str),
    /// It is JSON, of this type.
    Json(&'a str),
}

const fn text(path: &'static str, lock: Option<&'static str>, description: &'static str) -> Field {
    Field { path, lock, kind: Kind::Text, description }
}

/// All fields of a turn that are not lists and hold no other message, except for those of `user`, `agent` and `channel`.
const FIELDS: &[Field] = &[
    text("turn.user.name", None, "The name of who is talking."),
    text("turn.user.id", None, "The id of who is talking."),
    text("turn.channel.name", None, "Where the turn came in: `telegram`, `slack`, `cli` …"),
    text("turn.channel.user_id", None, "The user's id on that channel."),
    text("turn.channel.chat_type", None, "The kind of chat: `direct`, `group` …"),
    text("turn.channel.group_id", None, "The group's id, in a group chat."),
    text("turn.now", None, "The turn's clock, such as `2026-11-29T09:30:00Z`; the server's if left out."),
    text("turn.time_zone", Some("time_zone"), "IANA zone, such as `Europe/Berlin`."),
    text(
        "turn.working_directory",
        Some("working_directory"),
        "The folder, in the workspace, whose AGENTS.md files hold too: `services/billing`.",
    ),
    text("turn.persona", Some("persona"), "Overrides the workspace's persona."),
    text("turn.conversation_summary", None, "Summary of earlier conversations."),
    text("turn.session_id", None, "The session whose messages are the conversation."),
    Field {
        path: "turn.session_position",
        lock: None,
        kind: Kind::Json("int"),
        description: "As the session was at this position.",
    },
    Field {
        path: "turn.session_held_cut",
        lock: None,
        kind: Kind::Json("int"),
        description: "Where the window of an earlier prompt of the session began.",
    },
    text("turn.ephemeral_system_prompt", Some("ephemeral"), "The last system message, for this turn alone."),
    text("turn.agent.name", Some("agent"), "Overrides the agent's name."),
    text("turn.agent.id", Some("agent"), "Overrides the agent's id."),
    Field {
        path: "turn.response_format",
        lock: None,
        kind: Kind::Word("RESPONSE_FORMAT_"),
        description: "What the reply must be: `text` or `json_object`.",
    },
    Field {
        path: "turn.stage",
        lock: None,
        kind: Kind::Word("STAGE_"),
        description: "`synthesis`: answering from tool results.",
    },
    Field {
        path: "turn.heartbeat",
        lock: None,
        kind: Kind::Json("bool"),
        description: "`true`: the heartbeat timer began it.",
    },
    Field {
        path: "turn.skip_context_files",
        lock: None,
        kind: Kind::Json("bool"),
        description: "`true`: without the context files.",
    },
];

/// The arguments of a profile's prompt in a workspace with these locks: what is required first.
pub(crate) fn of(profile: &proto::Profile, locked: &[String]) -> Vec<PromptArgument> {
    let is_open = |lock: &str| !locked.iter().any(|locked| locked == lock);
    let input = |input: &proto::ProfileInput| {
        let description = format!("{} ({})", input.description, input.r#type);
        PromptArgument::new(&input.name).with_description(description).with_required(input.required)
    };
    let mut inputs: Vec<_> = profile.inputs.iter().filter(|_| is_open("inputs")).collect();
    inputs.sort_by_key(|input| !input.required);
    let fields = FIELDS.iter().filter(|field| field.lock.is_none_or(is_open));
    let field =
        |field: &Field| PromptArgument::new(field.path).with_description(field.description).with_required(false);
    inputs.into_iter().map(input).chain(fields.map(field)).collect()
}

/// The encoded request that a prompt's arguments make; `is_own`: the profile is the workspace's own.
pub(crate) fn request(
    workspace: &str,
    profile: &proto::Profile,
    is_own: bool,
    arguments: Option<JsonObject>,
) -> Result<Vec<u8>, Failure> {
    let mut root = Map::new();
    root.insert("workspace_id".into(), workspace.into());
    if !is_own {
        root.insert("profile".into(), profile.name.as_str().into());
    }
    let mut root = Value::Object(root);
    for (name, value) in arguments.unwrap_or_default() {
        let Value::String(text) = value else {
            return Err(Failure::invalid(format!(
                "the argument `{name}` must be text; other values are given as JSON in it"
            )));
        };
        let input = profile.inputs.iter().find(|input| input.name == name);
        let field = FIELDS.iter().find(|field| field.path == name);
        let (path, kind) = match (input, field) {
            (Some(input), _) => (format!("turn.inputs.{name}"), kind_of(&input.r#type)),
            (None, Some(field)) => (name.clone(), field.kind),
            (None, None) => return Err(unknown(&name, profile)),
        };
        set(&mut root, &path, kind.read(&name, text)?);
    }
    encode(&root)
}

impl Kind<'_> {
    fn read(self, name: &str, text: String) -> Result<Value, Failure> {
        match self {
            Self::Text => Ok(text.into()),
            Self::Word(prefix) => {
                let word = text.to_uppercase();
                Ok(if word.starts_with(prefix) { word } else { format!("{prefix}{word}") }.into())
            }
            Self::Json(of) => serde_json::from_str(&text).map_err(|error| {
                let message = format!("must be JSON of the type {of}: {error}");
                Failure {
                    fields: vec![(name.into(), message.clone())],
                    ..Failure::invalid(format!("the argument `{name}` {message}"))
                }
            }),
        }
    }
}

/// How an input of this type is given.
fn kind_of(input: &str) -> Kind<'_> {
    let is_word = input.starts_with('`');
    if is_word || matches!(input, "string" | "time") { Kind::Text } else { Kind::Json(input) }
}

fn unknown(name: &str, profile: &proto::Profile) -> Failure {
    let inputs = profile.inputs.iter().map(|input| input.name.as_str());
    let known: Vec<_> = inputs.chain(FIELDS.iter().map(|field| field.path)).collect();
    Failure::invalid(format!("there is no argument `{name}`; there are {}", known.join(", ")))
}

/// Sets the value at a path of names. An input's name has no dots.
fn set(root: &mut Value, path: &str, value: Value) {
    let place = path.split('.').fold(root, |place, name| &mut place[name]);
    *place = value;
}

fn encode(request: &Value) -> Result<Vec<u8>, Failure> {
    let message = json::descriptors()
        .get_message_by_name("promptd.v1.AssemblePromptRequest")
        .ok_or_else(|| Failure::internal("the contract has no AssemblePromptRequest"))?;
    json::read(&message, request.to_string().as_bytes(), Limits::default().max_values).map_err(|violations| {
        let fields: Vec<_> = violations.into_iter().map(|violation| (violation.field, violation.message)).collect();
        Failure { fields, ..Failure::invalid("the arguments cannot be used") }
    })
}

#[cfg(test)]
mod tests {
    use prost::Message as _;
    use prost_reflect::{FieldDescriptor, Kind as FieldKind, MessageDescriptor};

    use super::*;
    use promptd_core::workspace::Lock;

    fn profile() -> proto::Profile {
        let input = |name: &str, r#type: &str, required| proto::ProfileInput {
            name: name.into(),
            r#type: r#type.into(),
            required,
            ..Default::default()
        };
        let inputs = vec![input("notes", "list of string", false), input("topic", "string", true)];
        proto::Profile { name: "brief".into(), inputs, ..Default::default() }
    }

    fn made(arguments: Value) -> Result<proto::AssemblePromptRequest, Failure> {
        let Value::Object(arguments) = arguments else { panic!("{arguments}") };
        let message = request("home", &profile(), false, Some(arguments))?;
        Ok(proto::AssemblePromptRequest::decode(message.as_slice()).unwrap())
    }

    #[test]
    fn arguments_become_the_turn() {
        let request = made(serde_json::json!({
            "topic": "[1]", "notes": "[\"a\", \"b\"]", "turn.user.name": "Ada", "turn.heartbeat": "true",
            "turn.now": "2026-11-29T09:30:00Z", "turn.response_format": "json_object", "turn.persona": "",
        }))
        .unwrap();
        assert_eq!((request.workspace_id.as_str(), request.profile.as_str()), ("home", "brief"));
        let turn = request.turn.unwrap();
        assert_eq!((turn.user.as_ref().unwrap().name.as_str(), turn.heartbeat), ("Ada", true));
        assert_eq!((turn.now.unwrap().seconds, turn.persona.as_deref()), (1_795_944_600, Some("")));
        assert_eq!(turn.response_format(), proto::ResponseFormat::JsonObject);
        let inputs = format!("{:?}", turn.inputs.unwrap());
        assert!(inputs.contains("\"[1]\"") && inputs.contains("\"b\""), "{inputs}");
        assert_eq!(made(serde_json::json!({})).unwrap().turn, None);
    }

    #[test]
    fn a_wrong_argument_is_named() {
        for (arguments, part) in [
            (serde_json::json!({"topik": "x"}), "no argument `topik`; there are notes, topic, turn.user.name"),
            (serde_json::json!({"topic": 7}), "`topic` must be text"),
            (serde_json::json!({"notes": "a, b"}), "`notes` must be JSON of the type list of string"),
            (serde_json::json!({"turn.now": "noon"}), "turn.now"),
            (serde_json::json!({"turn.stage": "last"}), "turn.stage"),
            (serde_json::json!({"turn.heartbeat": "7"}), "turn.heartbeat"),
        ] {
            let error = made(arguments).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn what_is_locked_is_not_offered() {
        let names = |locked: &[&str]| {
            let locked: Vec<_> = locked.iter().map(|lock| (*lock).to_owned()).collect();
            of(&profile(), &locked).into_iter().map(|argument| argument.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&[])[..3], ["topic", "notes", "turn.user.name"]);
        assert_eq!(names(&[]).len(), 2 + FIELDS.len());
        let narrowed = names(&Lock::NAMES.map(|(name, _)| name));
        let locked = |name: &String| {
            let parts = ["persona", "agent", "ephemeral", "zone", "directory"];
            parts.iter().any(|part| name.contains(part)) || !name.contains('.')
        };
        assert!(!narrowed.iter().any(locked), "{narrowed:?}");
        for lock in FIELDS.iter().filter_map(|field| field.lock) {
            assert!(Lock::NAMES.iter().any(|(name, _)| *name == lock), "{lock}");
        }
    }

    #[test]
    fn every_plain_field_of_a_turn_is_an_argument() {
        fn plain(message: &MessageDescriptor, path: &str, found: &mut Vec<String>) {
            for field in message.fields() {
                let path = format!("{path}.{}", field.name());
                match field.kind() {
                    _ if field.is_list() || field.is_map() => {}
                    FieldKind::Message(message) if message.full_name() == "google.protobuf.Timestamp" => {
                        found.push(path);
                    }
                    FieldKind::Message(message) if is_a_part(&field) => plain(&message, &path, found),
                    FieldKind::Message(_) => {}
                    _ => found.push(path),
                }
            }
        }
        fn is_a_part(field: &FieldDescriptor) -> bool {
            ["user", "agent", "channel"].contains(&field.name())
        }
        let (turn, mut found) = (json::descriptors().get_message_by_name("promptd.v1.Turn").unwrap(), Vec::new());
        plain(&turn, "turn", &mut found);
        found.sort_unstable();
        let mut known: Vec<_> = FIELDS.iter().map(|field| field.path).collect();
        known.sort_unstable();
        assert_eq!(known, found);
    }
}
