//! What depends on a turn is not taken from what a revision shares: every value of a turn, in every place of a section
//! that can use it.

use promptd_core::{
    budget::{BudgetUnit, PromptBudget},
    globs::{NameGlobs, SkillFilter},
    prompt::Prompt,
    turn::{
        Agent, Channel, Conversation, ConversationMessage, ResponseFormat, Role, Segment, Snippet, Stage, Turn,
        TurnFields, User, WorkingDirectory,
    },
};
use serde_json::{Map, Value, json};

use crate::support::{prompt, turn, workspace};

const FILES: [(&str, &str); 5] = [
    ("USERS.md", "Dana."),
    ("AGENTS.md", "Rules."),
    ("SOUL.md", "Tone."),
    ("skills/tide/SKILL.md", "---\nname: tide\ndescription: Tides.\n---\nBody of tide."),
    ("skills/dues/SKILL.md", "---\nname: dues\ndescription: Dues.\n---\nBody of dues."),
];

/// The inputs that a turn may set.
const DECLARATIONS: &str = r"
name: own
inputs:
  items: { type: list, of: int, default: [1] }
  active_skill: { type: string, default: null }
";

/// A value of a turn.
struct TurnValue {
    /// The field of [`Turn`] that it belongs to.
    field: &'static str,
    /// How a template reads it; empty: templates cannot.
    expression: &'static str,
    /// A condition that holds only where it is set; empty: it is neither text nor a flag.
    condition: &'static str,
    set: fn(&mut Turn),
}

/// The fields of [`Turn`]; one that is missing here does not compile.
macro_rules! turn_fields {
    ($($field:ident),* $(,)?) => {{
        let Turn { $($field: _),* } = turn();
        [$(stringify!($field)),*]
    }};
}

fn values() -> Vec<TurnValue> {
    let text = |field, expression, set| TurnValue { field, expression, condition: expression, set };
    let other = |field, set| TurnValue { field, expression: "", condition: "", set };
    vec![
        TurnValue {
            field: "agent",
            expression: "agent.id",
            condition: "agent.id == 'ann'",
            set: |t| t.agent = Some(Agent { id: "ann".into(), ..Agent::default() }),
        },
        TurnValue {
            field: "agent",
            expression: "agent.name",
            condition: "agent.name == 'Ann'",
            set: |t| t.agent = Some(Agent { name: "Ann".into(), ..Agent::default() }),
        },
        text("user", "user.id", |t| t.user = Some(User { id: "u7".into(), ..User::default() })),
        text("user", "user.name", |t| t.user = Some(User { name: "Dana".into(), ..User::default() })),
        text("channel", "channel.name", |t| t.channel = Some(Channel { name: "sms".into(), ..Channel::default() })),
        text("channel", "channel.user_id", |t| {
            t.channel = Some(Channel { user_id: "c7".into(), ..Channel::default() });
        }),
        text("channel", "channel.chat_type", |t| {
            t.channel = Some(Channel { chat_type: "group".into(), ..Channel::default() });
        }),
        text("channel", "channel.group_id", |t| {
            t.channel = Some(Channel { group_id: "g7".into(), ..Channel::default() });
        }),
        TurnValue {
            field: "now",
            expression: "now.utc",
            condition: "now.hour == '11'",
            set: |t| t.now = "2026-02-28T11:00:00Z".parse().unwrap(),
        },
        TurnValue {
            field: "time_zone",
            expression: "now.local",
            condition: "now.zone == 'Asia/Tokyo'",
            set: |t| t.time_zone = Some(jiff::tz::TimeZone::get("Asia/Tokyo").unwrap()),
        },
        text("heartbeat", "heartbeat", |t| t.heartbeat = true),
        text("persona", "persona", |t| t.persona = Some("Warm.".into())),
        TurnValue {
            field: "knowledge",
            expression: "knowledge|length",
            condition: "knowledge",
            set: |t| t.knowledge = vec![Snippet { content: "Dues rose.".into(), ..Snippet::default() }],
        },
        text("conversation_summary", "conversation_summary", |t| t.conversation_summary = "They met.".into()),
        TurnValue {
            field: "response_format",
            expression: "response_format",
            condition: "response_format == 'json_object'",
            set: |t| t.response_format = ResponseFormat::JsonObject,
        },
        text("ephemeral_system_prompt", "ephemeral_system_prompt", |t| {
            t.ephemeral_system_prompt = Some("Briefly.".into());
        }),
        text("skip_context_files", "skip_context_files", |t| t.skip_context_files = true),
        text("working_directory", "working_directory", |t| {
            t.working_directory = WorkingDirectory::parse("services/api").unwrap();
        }),
        other("budget", |t| t.budget = Some(PromptBudget { max: u32::MAX, unit: BudgetUnit::Chars })),
        TurnValue {
            field: "stage",
            expression: "stage",
            condition: "stage == 'synthesis'",
            set: |t| t.stage = Stage::Synthesis,
        },
        TurnValue {
            field: "skill_filter",
            expression: "skills|length",
            condition: "skills|length == 1",
            set: |t| t.skill_filter = Some(only("tide")),
        },
        TurnValue {
            field: "skill_access",
            expression: "skills|length",
            condition: "skills|length == 1",
            set: |t| t.skill_access = Some(only("tide")),
        },
        TurnValue {
            field: "inputs",
            expression: "items|length",
            condition: "items|length == 2",
            set: |t| t.inputs = object(json!({"items": [1, 2]})),
        },
        other("variables", |t| t.variables = vec![("Berth".into(), json!(7))]),
        other("context_files", |t| t.context_files = vec!["SOUL.md".into()]),
        other("conversation", |t| t.conversation.messages = vec![ConversationMessage::new(Role::User, "/tide now")]),
    ]
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("{other}"),
    }
}

fn only(name: &str) -> SkillFilter {
    SkillFilter { allow: Some(NameGlobs::compile([name]).unwrap()), block: NameGlobs::default() }
}

/// Where a section can use an expression: YAML of one section, with `EXPRESSION` and `CONDITION` in it.
const PLACES: [(&str, &str); 13] = [
    ("template", "template: 'now [{{ EXPRESSION }}]'"),
    ("when", "template: seen\n        when: CONDITION"),
    ("a loop in a template", "template: '{% for i in items %}[{{ EXPRESSION }}]{% endfor %}'"),
    ("each header", "each: items\n        header: '[{{ EXPRESSION }}]'\n        entry: x"),
    ("each entry", "each: items\n        entry: '[{{ EXPRESSION }}]'"),
    ("each footer", "each: items\n        entry: x\n        footer: '[{{ EXPRESSION }}]'"),
    ("file", "file: USERS.md\n        template: '{{ file.text }} [{{ EXPRESSION }}]'"),
    ("file when", "file: USERS.md\n        when: CONDITION\n        template: seen"),
    ("fallback", "file: GONE.md\n        template: x\n        fallback: '[{{ EXPRESSION }}]'"),
    (
        "heading",
        "kind: context_files\n        template: '[{{ EXPRESSION }}]'\n        entry: x\n        files: [{ path: AGENTS.md, purpose: '' }]",
    ),
    (
        "context file",
        "kind: context_files\n        template: x\n        entry: '[{{ EXPRESSION }}]'\n        files: [{ path: AGENTS.md, purpose: '' }]",
    ),
    ("skills", "kind: skills\n        template: '{{ available_skills }} [{{ EXPRESSION }}]'"),
    ("active skill", "kind: active_skill\n        template: '{{ skill.body }} [{{ EXPRESSION }}]'"),
];

/// A profile with one section besides one that never changes.
fn profile(section: &str) -> String {
    format!(
        "{DECLARATIONS}messages:\n  - name: m\n    sections:\n      - id: s\n        {section}\n      - {{ id: fixed, stability: stable, template: fixed }}\n"
    )
}

fn texts(prompt: &Prompt<'_>) -> Vec<String> {
    prompt.messages.iter().map(|message| message.content.to_string()).collect()
}

/// Asserts that a turn with the value gets another prompt than one without, also after the shared parts were made.
fn assert_seen(section: &str, base: &Turn, set: fn(&mut Turn), why: &str) {
    let workspace = workspace(&FILES, &profile(section));
    let mut with = base.clone();
    set(&mut with);
    let before = texts(&prompt(&workspace, "own", base));
    assert_ne!(texts(&prompt(&workspace, "own", &with)), before, "{why}: not seen by\n{section}");
    assert_eq!(texts(&prompt(&workspace, "own", base)), before, "{why}: changes what other turns see");
}

#[test]
fn every_value_of_a_turn_is_seen_wherever_a_section_uses_it() {
    for TurnValue { field, expression, condition, set } in
        values().into_iter().filter(|value| !value.expression.is_empty())
    {
        for (place, section) in PLACES {
            let mut base = turn();
            if place == "active skill" {
                base.inputs = object(json!({"active_skill": "tide"}));
                if field == "inputs" {
                    continue; // It would take away the skill itself.
                }
            }
            let section = section.replace("EXPRESSION", expression).replace("CONDITION", condition);
            assert_seen(&section, &base, set, &format!("{field} in {place}"));
        }
    }
}

#[test]
fn every_value_of_a_turn_is_seen_by_the_kinds_that_use_it() {
    let facts = |value: &str| format!("kind: facts\n        facts: [{{ label: L, value: {value} }}]");
    for value in values().iter().filter(|value| !value.expression.is_empty() && !value.expression.contains('|')) {
        assert_seen(&facts(value.expression), &turn(), value.set, &format!("{} as a fact", value.field));
    }
    let context = "kind: context_files\n        template: x\n        entry: '{{ path }}'\n        files: [{ path: AGENTS.md, purpose: '' }, { path: SOUL.md, purpose: '' }]";
    let active = "kind: active_skill\n        template: '{{ skill.body }}'";
    for (field, section) in [
        ("variables", "kind: facts\n        header: facts\n        facts: []"),
        ("context_files", context),
        ("conversation", active),
        ("skill_filter", "kind: skills\n        template: '{{ available_skills }}'"),
        ("skill_access", "kind: skills\n        template: '{{ available_skills }}'"),
        ("skill_filter", "each: skills\n        entry: '{{ name }}'"),
        ("knowledge", "each: knowledge\n        entry: '{{ content }}'"),
        ("inputs", "each: items\n        entry: '{{ item }}'"),
        ("stage", "template: x\n        stages: [synthesis]"),
    ] {
        for value in values().iter().filter(|value| value.field == field) {
            assert_seen(section, &turn(), value.set, field);
        }
    }
    assert_seen(active, &turn(), |t| t.inputs = object(json!({"active_skill": "tide"})), "the input active_skill");
}

/// A change of a history.
type Change = fn(&mut Conversation);

#[test]
fn the_history_is_seen_by_a_tree_of_summaries() {
    let own = format!(
        "{DECLARATIONS}messages:\n  - name: m\n    sections:\n      - id: s\n        kind: summary_tree\n        entry: '{{{{ summary }}}}'\n  - conversation: {{ max_tokens: 40, summary_budget: 0.5 }}\n"
    );
    let workspace = workspace(&FILES, &own);
    let said = |n: usize| ConversationMessage::new(Role::User, &format!("{n} {}", "word ".repeat(20)));
    let segment = |summary: &str, end| Segment { summary: summary.into(), message_end: end, ..Segment::default() };
    let base = Turn {
        conversation: Conversation {
            messages: (0..3).map(said).collect(),
            segments: vec![segment("They met.", 2)],
            ..Conversation::default()
        },
        ..turn()
    };
    let before = texts(&prompt(&workspace, "own", &base));
    assert_eq!(before[0], "They met.");
    let changes: [(&str, Change); 3] = [
        ("messages", |c| c.messages.truncate(1)),
        ("segments", |c| c.segments[0].summary = "They parted.".into()),
        ("first_index", |c| {
            c.segments[0].message_start = 3;
            c.segments[0].message_end = 9;
        }),
    ];
    for (what, change) in changes {
        let mut other = base.clone();
        change(&mut other.conversation);
        assert_ne!(texts(&prompt(&workspace, "own", &other))[0], before[0], "{what}");
    }
}

#[test]
fn what_was_trimmed_is_seen_wherever_a_section_uses_it() {
    for (place, section) in PLACES {
        let section = section.replace("EXPRESSION", "trimmed_messages").replace("CONDITION", "trimmed_messages > 0");
        let own = profile(&section) + "  - conversation: { window: 1 }\n";
        let workspace = workspace(&FILES, &own);
        let said = |text: &str| ConversationMessage::new(Role::User, text);
        let mut base = turn();
        base.conversation.messages = vec![said("one")];
        if place == "active skill" {
            base.inputs = object(json!({"active_skill": "tide"}));
        }
        let mut trimmed = base.clone();
        trimmed.conversation.messages.insert(0, said("none"));
        let before = texts(&prompt(&workspace, "own", &base));
        let after = texts(&prompt(&workspace, "own", &trimmed));
        assert_ne!(before[0], after[0], "{place}");
        assert_eq!(before.last(), after.last(), "{place}: the window");
    }
}

/// The list need not depend on a turn for its budget to do so.
#[test]
fn the_limit_of_a_budget_is_seen_by_the_sections_under_it() {
    let own = "name: own\ninputs:\n  most: { type: int, min: 0, default: 2 }\nbudgets:\n  few: { limit: most, unit: entries }\nmessages:\n  - name: m\n    sections:\n      - { id: s, each: skills, entry: '{{ name }} ', budget: few }\n";
    let workspace = workspace(&FILES, own);
    let base = turn();
    let one = Turn { inputs: object(json!({"most": 1})), ..turn() };
    assert_eq!(texts(&prompt(&workspace, "own", &base)), ["dues tide "]);
    assert_eq!(texts(&prompt(&workspace, "own", &one)), ["dues "]);
}

/// Inputs of each stability, alone and through what follows from them: only sections that show what was given are made anew.
#[test]
fn inputs_of_every_stability_are_seen_by_the_sections_that_show_them_alone() {
    let own = "name: own\ninputs:\n  tools: { type: list, of: { name: string }, stability: stable, default: [{ name: read }, { name: write }] }\n  has_tools: { type: bool, stability: session }\n  scope: { type: string, stability: stable, default: all }\n  fast: { type: string, stability: volatile }\n\
        tool_allowlist: { by: scope, lists: [{ value: none, names: [] }, { value: read, names: [read] }] }\nmessages:\n  - name: m\n    sections:\n\
        \x20     - { id: tools, each: tools, stability: stable, entry: '{{ name }} ' }\n      - { id: any, when: has_tools, template: any }\n      - { id: fast, template: 'fast {{ fast }}' }\n";
    let workspace = workspace(&FILES, own);
    let base = turn();
    let before = prompt(&workspace, "own", &base);
    assert_eq!(texts(&before), ["read write \n\nany\n\nfast "]);
    for (inputs, expected, shared) in [
        (json!({"scope": "read"}), "read \n\nany\n\nfast ", [false, false, true]),
        (json!({"scope": "none"}), "fast ", [false, false, true]),
        (json!({"tools": []}), "fast ", [false, false, true]),
        (json!({"fast": "7"}), "read write \n\nany\n\nfast 7", [true, true, false]),
        (json!({"has_tools": false}), "read write \n\nany\n\nfast ", [true, false, true]),
    ] {
        let turn = Turn { inputs: object(inputs.clone()), ..turn() };
        let prompt = prompt(&workspace, "own", &turn);
        assert_eq!(prompt.messages[0].content, expected, "{inputs}");
        let found: Vec<_> = prompt.sections.iter().map(|section| section.shared.is_some()).collect();
        assert_eq!(found, shared, "{inputs}");
    }
}

/// A field without a value in the tests above is not tested.
#[test]
fn every_field_of_a_turn_has_a_value_here() {
    let fields = turn_fields![
        agent,
        user,
        channel,
        now,
        time_zone,
        heartbeat,
        variables,
        persona,
        knowledge,
        conversation_summary,
        response_format,
        ephemeral_system_prompt,
        skip_context_files,
        skill_filter,
        skill_access,
        context_files,
        conversation,
        inputs,
        stage,
        budget,
        working_directory,
    ];
    let values = values();
    for field in fields {
        assert!(values.iter().any(|value| value.field == field), "{field}");
    }
    for value in values {
        let mut turn = turn();
        (value.set)(&mut turn);
        let set = TurnFields::set_by(&turn);
        assert_eq!(set | TurnFields::ALL, TurnFields::ALL, "{}: its field is not in ALL", value.field);
    }
}

/// Otherwise the tests above would hold whatever a section depends on.
#[test]
fn what_depends_on_no_field_that_is_set_is_shared() {
    for (section, shared) in [("template: '[{{ persona }}]'", true), ("template: '[{{ now.utc }}]'", false)] {
        let workspace = workspace(&FILES, &profile(section));
        let turn = turn();
        assert_eq!(prompt(&workspace, "own", &turn).messages[0].memo.is_some(), shared, "{section}");
    }
}
