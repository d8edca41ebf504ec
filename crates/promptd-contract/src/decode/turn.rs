//! One turn.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{
    Limits, Violation, Violations, choice,
    conversation::conversation,
    request::encoding,
    skill_filter,
    values::{object, timestamp},
};
use crate::proto;
use promptd_core::{
    budget::{BudgetUnit, PromptBudget},
    finding::member,
    text,
    tokens::Encoding,
    turn::{Agent, Channel, RUNTIME_LABELS, ResponseFormat, Snippet, Stage, Turn, User, WorkingDirectory},
    zone,
};

/// Checks a turn. `now` is the clock of a turn without one.
pub fn turn(raw: proto::Turn, limits: &Limits, now: Timestamp) -> Result<Turn, Vec<Violation>> {
    let mut violations = Violations::default();
    check_no_session(&raw, &mut violations);
    let made = Turn {
        agent: raw.agent.map(|agent| Agent { id: agent.id, name: agent.name }),
        user: raw.user.map(|user| User { id: user.id, name: user.name }),
        channel: raw.channel.map(channel),
        now: timestamp(raw.now, || "turn.now".into(), &mut violations).unwrap_or_else(|| now.into()),
        time_zone: time_zone(&raw.time_zone, &mut violations),
        heartbeat: raw.heartbeat,
        variables: variables(raw.variables.unwrap_or_default(), limits, &mut violations),
        persona: raw.persona,
        knowledge: knowledge(raw.knowledge, limits, &mut violations),
        conversation_summary: raw.conversation_summary,
        response_format: response_format(raw.response_format, &mut violations),
        ephemeral_system_prompt: raw.ephemeral_system_prompt,
        skip_context_files: raw.skip_context_files,
        skill_filter: skill_filter(raw.skill_filter, "turn.skill_filter", &mut violations),
        skill_access: None,
        context_files: context_files(raw.context_files, limits, &mut violations),
        conversation: conversation(raw.conversation.unwrap_or_default(), limits, &mut violations),
        inputs: inputs(raw.inputs.unwrap_or_default(), "turn.inputs", limits, &mut violations),
        stage: stage(raw.stage, &mut violations),
        budget: raw.budget.and_then(|budget| self::budget(&budget, &mut violations)),
        working_directory: working_directory(&raw.working_directory, &mut violations),
    };
    violations.into_result(made)
}

/// Only `AssemblePrompt` reads a session, and takes it out of the turn before.
fn check_no_session(raw: &proto::Turn, violations: &mut Violations) {
    if !raw.session_id.is_empty() {
        violations.add("turn.session_id", "only AssemblePrompt reads a session: give the turn its `conversation`");
    }
    let needs = "belongs to a session: set `turn.session_id` too";
    for (field, value) in
        [("turn.session_position", raw.session_position), ("turn.session_held_cut", raw.session_held_cut)]
    {
        if value.is_some() && raw.session_id.is_empty() {
            violations.add(field, needs);
        }
    }
}

fn channel(raw: proto::Channel) -> Channel {
    Channel { name: raw.name, user_id: raw.user_id, chat_type: raw.chat_type, group_id: raw.group_id }
}

fn time_zone(name: &str, violations: &mut Violations) -> Option<jiff::tz::TimeZone> {
    if name.is_empty() {
        return None;
    }
    zone::parse(name).map_err(|e| violations.add("turn.time_zone", e.to_string())).ok()
}

fn variables(raw: prost_types::Struct, limits: &Limits, violations: &mut Violations) -> Vec<(String, Value)> {
    const PATH: &str = "turn.variables";
    /// Longer than every label.
    const MAX_KEY_CHARS: usize = 256;
    if !violations.within(PATH, raw.fields.len(), limits.max_variables) {
        return Vec::new();
    }
    for key in raw.fields.keys() {
        let name = text::inline::inline(key, MAX_KEY_CHARS).text;
        if name.is_empty() {
            violations.add(member(PATH, key), "a variable needs a name");
        }
        let seen = as_seen(&name);
        if let Some(label) = RUNTIME_LABELS.iter().find(|label| as_seen(label) == seen) {
            violations.add(member(PATH, key), format!("`{label}` is a label of a built-in fact"));
        }
    }
    object(raw, PATH, violations).into_iter().collect()
}

/// A key as it looks in the prompt, up to where a value would start: case and invisible characters make it no different
/// from a label, and `Heartbeat run: yes` is not different from `Heartbeat run`.
fn as_seen(key: &str) -> String {
    let unseen = |c: &char| matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{200c}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}');
    let label = key.split(':').next().unwrap_or_default().trim();
    label.chars().filter(|c| !unseen(c)).collect::<String>().to_uppercase().to_lowercase()
}

fn knowledge(raw: Vec<proto::KnowledgeSnippet>, limits: &Limits, violations: &mut Violations) -> Vec<Snippet> {
    violations.within("turn.knowledge", raw.len(), limits.max_knowledge);
    let snippet = |raw: proto::KnowledgeSnippet| Snippet { content: raw.content, source: raw.source, title: raw.title };
    raw.into_iter().map(snippet).collect()
}

fn response_format(number: i32, violations: &mut Violations) -> ResponseFormat {
    match choice(number, || "turn.response_format".into(), violations) {
        Some(proto::ResponseFormat::JsonObject) => ResponseFormat::JsonObject,
        Some(proto::ResponseFormat::Text | proto::ResponseFormat::Unspecified) | None => ResponseFormat::Text,
    }
}

fn stage(number: i32, violations: &mut Violations) -> Stage {
    match choice(number, || "turn.stage".into(), violations) {
        Some(proto::Stage::Synthesis) => Stage::Synthesis,
        Some(proto::Stage::Unspecified) | None => Stage::First,
    }
}

fn budget(raw: &proto::Budget, violations: &mut Violations) -> Option<PromptBudget> {
    if raw.max == 0 {
        violations.add("turn.budget.max", "must be 1 or more; leave the budget out for none");
    }
    let encoding = encoding(&raw.encoding, "turn.budget.encoding", violations).unwrap_or(Encoding::DEFAULT);
    let unit = match choice(raw.unit, || "turn.budget.unit".into(), violations)? {
        proto::BudgetUnit::Unspecified | proto::BudgetUnit::Tokens => BudgetUnit::Tokens(encoding),
        proto::BudgetUnit::Chars => BudgetUnit::Chars,
    };
    Some(PromptBudget { max: raw.max, unit })
}

fn context_files(raw: Vec<String>, limits: &Limits, violations: &mut Violations) -> Vec<String> {
    violations.within("turn.context_files", raw.len(), limits.max_context_files);
    for (index, _) in raw.iter().enumerate().filter(|(_, path)| path.is_empty()) {
        violations.add(format!("turn.context_files[{index}]"), "an empty path names no file");
    }
    raw
}

fn working_directory(path: &str, violations: &mut Violations) -> WorkingDirectory {
    WorkingDirectory::parse(path).unwrap_or_else(|why| {
        violations.add("turn.working_directory", why.to_string());
        WorkingDirectory::default()
    })
}

/// The inputs of a request, whose path is `path`.
pub fn inputs(
    raw: prost_types::Struct,
    path: &str,
    limits: &Limits,
    violations: &mut Violations,
) -> Map<String, Value> {
    if violations.within(path, raw.fields.len(), limits.max_inputs) {
        object(raw, path, violations)
    } else {
        Map::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(raw: proto::Turn) -> Result<Turn, Vec<String>> {
        turn(raw, &Limits::default(), Timestamp::UNIX_EPOCH)
            .map_err(|violations| violations.into_iter().map(|v| v.field).collect())
    }

    fn variable(key: &str) -> prost_types::Struct {
        prost_types::Struct { fields: [(key.to_owned(), prost_types::Value { kind: None })].into() }
    }

    #[test]
    fn an_empty_turn_has_the_servers_clock_and_nothing_else() {
        let turn = check(proto::Turn::default()).unwrap();
        assert_eq!(
            (turn.now, turn.stage, turn.response_format),
            (Timestamp::UNIX_EPOCH.into(), Stage::First, ResponseFormat::Text)
        );
        assert!(turn.time_zone.is_none() && turn.skill_filter.is_none() && turn.persona.is_none());
    }

    #[test]
    fn every_fault_is_reported_at_once_with_its_path() {
        let glob = |glob: &str| Some(proto::NameGlobs { globs: vec!["ok".into(), glob.into()] });
        let message = |role| proto::ConversationMessage { role, ..Default::default() };
        let raw = proto::Turn {
            now: Some(prost_types::Timestamp { seconds: 0, nanos: -1 }),
            time_zone: "Etc/Unknown".into(),
            variables: Some(variable("Agent ID")),
            response_format: 9,
            stage: 9,
            budget: Some(proto::Budget { max: 0, unit: 9, encoding: "p50k".into() }),
            skill_filter: Some(proto::SkillFilter { allowlist: glob("["), blocklist: glob("") }),
            context_files: vec![String::new()],
            working_directory: "../other".into(),
            conversation: Some(proto::Conversation {
                messages: vec![message(2), message(0), message(7)],
                ..Default::default()
            }),
            ..Default::default()
        };
        let mut found = check(raw).unwrap_err();
        found.sort();
        assert_eq!(
            found,
            [
                "turn.budget.encoding",
                "turn.budget.max",
                "turn.budget.unit",
                "turn.context_files[0]",
                "turn.conversation.messages[1].role",
                "turn.conversation.messages[2].role",
                "turn.now",
                "turn.response_format",
                "turn.skill_filter.allowlist.globs[1]",
                "turn.skill_filter.blocklist.globs[1]",
                "turn.stage",
                "turn.time_zone",
                "turn.variables.Agent ID",
                "turn.working_directory",
            ]
        );
    }

    #[test]
    fn a_variable_cannot_look_like_a_built_in_fact() {
        for key in [
            "agent id",
            "AGENT  ID",
            " Agent\nID ",
            "Heartbeat run",
            "Age\u{200b}nt ID",
            "Workspace\u{e0041}",
            "",
            " ",
            "Heartbeat run: yes",
            "Time\u{200d} zone",
            "Group\u{ad} ID",
            "Wor\u{212a}\u{17f}pace : x",
        ] {
            assert_eq!(
                check(proto::Turn { variables: Some(variable(key)), ..Default::default() }).unwrap_err().len(),
                1,
                "{key:?}"
            );
        }
        assert!(check(proto::Turn { variables: Some(variable("Agent IDs")), ..Default::default() }).is_ok());
    }

    #[test]
    fn lists_over_their_bounds_name_the_bound() {
        let limits = Limits { max_knowledge: 1, ..Limits::default() };
        let raw = proto::Turn { knowledge: vec![proto::KnowledgeSnippet::default(); 2], ..Default::default() };
        let found = turn(raw, &limits, Timestamp::UNIX_EPOCH).unwrap_err();
        assert_eq!(found[0].to_string(), "turn.knowledge: has 2 items; at most 1 are allowed");
    }
}
