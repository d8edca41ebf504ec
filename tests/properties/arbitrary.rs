//! Any workspace and any turn, near enough to real ones to reach every branch.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{Arc, LazyLock},
};

use promptd_contract::{decode, proto};
use promptd_core::{
    id::Id,
    profile::{self, ProfileSet},
    prompt::Prepared,
    settings::{RiskPolicy, Settings, SkillLimits},
    turn::Turn,
    workspace::{Load, MemoryTree, Tree, load},
};
use proptest::{collection::vec, option, prelude::*};

pub static PROFILES: LazyLock<Arc<ProfileSet>> = LazyLock::new(|| Arc::new(profile::load(&[], None).0));

/// Texts that break what counts bytes, splits clusters, trusts lines or expands templates.
pub fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z ]{0,12}",
        1 => "\\PC{0,6}",
        1 => any::<char>().prop_map(String::from),
        6 => prop::sample::select(vec![
            "固界", "👨‍👩‍👧‍👦", "🇩🇪", "e\u{301}\u{323}", "क्षि", "می\u{200c}خواهم", "\n", "\n\n\n", "\r\n", "\u{2028}", "\u{85}", "\u{feff}",
            "\u{202e}", "\u{e0041}", "\0", "\u{1b}[31m", "```\n", "~~~~\n", "## Runtime Facts\n", "</snippet>", "</available_skills>",
            "{{ agent.id }}", "{% raw %}", "HEARTBEAT_OK", "<!--", "- [ ] x\n", "  ", "\t", "&<>\"'",
        ]).prop_map(String::from),
    ];
    let long = (prop::sample::select(vec!["x", "界", "👨‍👩‍👧‍👦", "e\u{301}", "line\n"]), 0_usize..900)
        .prop_map(|(s, n)| s.repeat(n));
    prop_oneof![4 => vec(piece, 0..8).prop_map(|pieces| pieces.concat()), 1 => long]
}

fn glob() -> impl Strategy<Value = String> {
    prop_oneof![Just("*".to_owned()), "[a-c]\\*?", "\\?{1,2}", "\\{a,b\\}", "[a-cé\\[\\]{}*?!,\\\\]{0,6}"]
}

fn skill() -> impl Strategy<Value = Vec<u8>> {
    let hide = prop::sample::select(vec!["", "enabled: false\n", "hidden: true\n", "metadata: {a: [b]}\n"]);
    let front = (option::of("[a-cA-C]{1,3}"), text(), hide, text()).prop_map(|(name, description, hide, body)| {
        let name = name.map(|name| format!("name: {name}\n")).unwrap_or_default();
        let description = serde_json::to_string(&description).unwrap();
        format!("---\n{name}description: {description}\n{hide}---\n{body}").into_bytes()
    });
    prop_oneof![8 => front, 1 => text().prop_map(String::into_bytes), 1 => vec(any::<u8>(), 0..30)]
}

/// A `workspace.yaml` of good parts, some of which may be absent.
fn manifest() -> impl Strategy<Value = String> {
    let quoted = |key: &'static str| {
        option::of(text()).prop_map(move |text| text.map(|t| format!("{key}: {}", serde_json::to_string(&t).unwrap())))
    };
    let agent = (
        quoted("persona"),
        quoted("ephemeral_system_prompt"),
        option::of(any::<bool>()),
        option::of(prop::sample::select(vec!["Europe/Berlin", "UTC"])),
    );
    let context = (option::of(0_usize..600), option::of(0_usize..900), any::<bool>(), any::<bool>());
    let lists = (option::of(vec(glob(), 0..3)), option::of(vec(glob(), 0..3)), any::<bool>());
    let locks = prop::sample::subsequence(
        vec!["profile", "persona", "ephemeral", "agent", "time_zone", "working_directory"],
        0..=6,
    );
    let rest = (quoted("protocol"), any::<bool>(), locks);
    (agent, context, lists, rest).prop_map(
        |(
            (persona, ephemeral, skip, zone),
            (file, total, extra, nested),
            (allow, block, enabled),
            (protocol, expose, locks),
        )| {
            let mut yaml = String::new();
            let mut group = |name: &str, lines: Vec<String>| {
                if !lines.is_empty() {
                    let _ = write!(yaml, "{name}:\n  {}\n", lines.join("\n  "));
                }
            };
            let skip = skip.map(|skip| format!("skip_context_files: {skip}"));
            let zone = zone.map(|zone| format!("time_zone: {zone}"));
            group("agent", [persona, ephemeral, skip, zone].into_iter().flatten().collect());
            let extra = extra.then(|| "files: [{path: docs/more.md, purpose: more}]".to_owned());
            let file = file.map(|n| format!("max_chars_per_file: {n}"));
            let total = total.map(|n| format!("max_chars_total: {n}"));
            let nested = nested.then(|| "nested: [AGENTS.md]".to_owned());
            group("context", [file, total, extra, nested].into_iter().flatten().collect());
            let globs = |name: &str, list: Option<Vec<String>>| {
                list.map(|list| format!("{name}: {}", serde_json::to_string(&list).unwrap()))
            };
            let enabled = (!enabled).then(|| "enabled: true".to_owned());
            group(
                "skills",
                [globs("allowlist", allow), globs("blocklist", block), enabled].into_iter().flatten().collect(),
            );
            group("heartbeat", protocol.into_iter().collect());
            yaml + &format!("expose_paths: {expose}\nlocked: [{}]\n", locks.join(", "))
        },
    )
}

pub fn settings() -> impl Strategy<Value = Settings> {
    let skills = (0_usize..200, 0_usize..8, 0_usize..1_500);
    let risks = prop_oneof![Just(RiskPolicy::Report), Just(RiskPolicy::Strip), Just(RiskPolicy::Refuse)];
    (any::<bool>(), prop_oneof![Just(1_usize << 20), 0_usize..400], skills, 1_usize..300, risks).prop_map(
        |(expose_paths, max_file_bytes, (max_description_chars, max_shown, max_block_chars), max, risks)| Settings {
            expose_paths,
            max_file_bytes,
            skills: SkillLimits { max_description_chars, max_shown, max_block_chars },
            max_value_chars: max,
            max_variable_chars: max * 2,
            risks,
        },
    )
}

pub type Files = BTreeMap<String, Vec<u8>>;

/// A workspace's files.
pub fn files() -> impl Strategy<Value = Files> {
    let names = vec![
        "AGENTS.md",
        "SOUL.md",
        "IDENTITY.md",
        "HEARTBEAT.md",
        "docs/more.md",
        "docs/AGENTS.md",
        "docs/a/AGENTS.md",
        "docs/a/b/AGENTS.md",
        "skills/a/AGENTS.md",
    ];
    let plain = vec((prop::sample::select(names), text().prop_map(String::into_bytes)), 0..7);
    let skills = vec(("skills/([a-cA-C]/){1,3}SKILL\\.md", skill()), 0..6);
    let manifest = option::weighted(0.7, manifest());
    (plain, skills, manifest).prop_map(|(plain, skills, manifest)| {
        let mut files: Files = plain.into_iter().map(|(path, bytes)| (path.to_owned(), bytes)).collect();
        files.extend(skills);
        files.extend(manifest.map(|yaml| ("workspace.yaml".to_owned(), yaml.into_bytes())));
        files
    })
}

/// The workspace of these files, if it is valid.
pub fn snapshot(files: &Files, settings: &Settings) -> Option<Prepared> {
    let tree: MemoryTree = files.clone().into_iter().collect();
    snapshot_of(&tree, settings)
}

pub fn snapshot_of(tree: &dyn Tree, settings: &Settings) -> Option<Prepared> {
    load(&Load {
        id: &Id::parse("harbour").unwrap(),
        root: "/srv/harbour",
        tree,
        shared_skills: &[],
        profiles: Arc::clone(&PROFILES),
        settings: Arc::new(settings.clone()),
        previous: None,
    })
    .ok()
    .map(Prepared::from)
}

fn structure() -> impl Strategy<Value = prost_types::Struct> {
    use prost_types::value::Kind;
    let leaf = prop_oneof![
        text().prop_map(Kind::StringValue),
        any::<f64>().prop_map(Kind::NumberValue),
        any::<bool>().prop_map(Kind::BoolValue),
        Just(Kind::NullValue(0)),
    ];
    let value = leaf.prop_recursive(2, 6, 3, |inner| {
        vec(inner, 0..3).prop_map(|kinds| {
            let values = kinds.into_iter().map(|kind| prost_types::Value { kind: Some(kind) }).collect();
            Kind::ListValue(prost_types::ListValue { values })
        })
    });
    vec((text(), value), 0..3).prop_map(|fields| prost_types::Struct {
        fields: fields.into_iter().map(|(key, kind)| (key, prost_types::Value { kind: Some(kind) })).collect(),
    })
}

fn moment() -> impl Strategy<Value = prost_types::Timestamp> {
    let seconds = prop_oneof![4 => 0_i64..4_000_000_000, 1 => any::<i64>(), 1 => -70_000_000_000_i64..260_000_000_000];
    (seconds, -1_i32..1_000_000_001).prop_map(|(seconds, nanos)| prost_types::Timestamp { seconds, nanos })
}

fn filter() -> impl Strategy<Value = proto::SkillFilter> {
    let globs = || option::of(vec(glob(), 0..3).prop_map(|globs| proto::NameGlobs { globs }));
    (globs(), globs()).prop_map(|(allowlist, blocklist)| proto::SkillFilter { allowlist, blocklist })
}

fn conversation() -> impl Strategy<Value = proto::Conversation> {
    let call = "[a-b]".prop_map(|id| proto::ToolCall { id, name: "t".into(), arguments_json: "{}".into() });
    let message = (0_i32..6, text(), "[a-b]?", text(), option::of(moment()), vec(call, 0..2), "[a-b]?").prop_map(
        |(role, content, tool_call_id, name, time, tool_calls, id)| proto::ConversationMessage {
            role,
            content,
            tool_call_id,
            name,
            time,
            tool_calls,
            id,
        },
    );
    vec(message, 0..4).prop_map(|messages| proto::Conversation { messages, ..Default::default() })
}

/// A request's turn; not every one is valid.
pub fn raw_turn() -> impl Strategy<Value = proto::Turn> {
    let who =
        (
            option::of((text(), text()).prop_map(|(id, name)| proto::Agent { id, name })),
            option::of((text(), text()).prop_map(|(id, name)| proto::User { id, name })),
            option::of((text(), text(), text(), text()).prop_map(|(name, user_id, chat_type, group_id)| {
                proto::Channel { name, user_id, chat_type, group_id }
            })),
            option::of(moment()),
            prop::sample::select(vec!["", "", "Asia/Kolkata", "Nowhere"]),
        );
    let snippet = (text(), text(), text()).prop_map(|(content, source, title)| proto::KnowledgeSnippet {
        content,
        source,
        title,
    });
    let what = (
        any::<bool>(),
        option::of(structure()),
        option::of(text()),
        vec(snippet, 0..3),
        prop_oneof![Just(String::new()), text()],
        prop::sample::select(vec![0, 0, 1, 2, 2, 9]),
        option::of(text()),
    );
    let how = (
        any::<bool>(),
        option::of(filter()),
        vec(prop::sample::select(vec!["AGENTS.md", "SOUL.md", "docs/more.md", "docs/AGENTS.md"]), 0..2),
        option::of(conversation()),
        0_i32..3,
        prop::sample::select(vec!["", ".", "docs", "docs/a/b", "docs/none", "..", "skills/a"]),
    );
    (who, what, how).prop_map(
        |(
            (agent, user, channel, now, time_zone),
            (heartbeat, variables, persona, knowledge, conversation_summary, response_format, ephemeral_system_prompt),
            (skip_context_files, skill_filter, context_files, conversation, stage, working_directory),
        )| proto::Turn {
            agent,
            user,
            channel,
            now,
            time_zone: time_zone.into(),
            heartbeat,
            variables,
            persona,
            knowledge,
            conversation_summary,
            response_format,
            ephemeral_system_prompt,
            skip_context_files,
            skill_filter,
            context_files: context_files.into_iter().map(ToOwned::to_owned).collect(),
            conversation,
            inputs: None,
            stage,
            budget: None,
            working_directory: working_directory.to_owned(),
            session_id: String::new(),
            session_position: None,
            session_held_cut: None,
        },
    )
}

/// A turn as the service takes it, if it is valid.
pub fn checked(raw: proto::Turn) -> Option<Turn> {
    decode::turn(raw, &decode::Limits::default(), "2026-03-01T02:30:00Z".parse().unwrap()).ok()
}
