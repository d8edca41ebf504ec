//! Spans: which bytes of a section came from where, and how.

use promptd_core::{
    prompt::{MAX_SPANS, OriginKind, Prepared, Prompt, assemble_with_spans},
    turn::{Agent, ConversationMessage, Role, Segment, Snippet, Turn, User},
};
use serde_json::json;

use crate::support::{built_in, turn, workspace};

/// The prompt by a profile of the workspace, with spans.
fn traced<'a>(workspace: &'a Prepared, profile: &str, turn: &'a Turn) -> Prompt<'a> {
    assemble_with_spans(workspace, workspace.profiles.get(profile).unwrap(), turn).unwrap()
}

/// The spans of a section, a line each: how, kind and name of the origin, its range where it has one, and the text.
fn shown(prompt: &Prompt<'_>, id: &str) -> Vec<String> {
    let section = prompt.sections.iter().find(|section| section.id == id).unwrap_or_else(|| panic!("no section {id}"));
    let text = prompt.section_text(section).unwrap_or_default();
    let start = section.position.as_ref().map_or(0, |position| position.bytes.start);
    let spans = section.spans.iter().map(|span| {
        let text = &text[(span.bytes.start - start) as usize..(span.bytes.end - start) as usize];
        let origin = &span.origin;
        let range = if span.source.is_empty() { String::new() } else { format!(" {:?}", span.source) };
        format!("{} {} {}{range} {text:?}", span.how.as_str(), origin.kind.as_str(), origin.name)
    });
    spans.collect()
}

#[test]
fn a_value_is_its_fields_and_the_rest_is_the_templates() {
    let workspace = built_in(&[("workspace.yaml", "agent: {persona: Dry.}\n")]);
    let user = |name: &str| Some(User { id: String::new(), name: name.into() });
    for (name, spans) in [
        (
            "Dana",
            ["template profile user \"You are currently talking to: \"", "verbatim turn turn.user.name 0..4 \"Dana\""],
        ),
        (
            "  Dana ",
            ["template profile user \"You are currently talking to: \"", "verbatim turn turn.user.name 2..6 \"Dana\""],
        ),
    ] {
        let turn = Turn { user: user(name), ..turn() };
        let prompt = traced(&workspace, "five-layer", &turn);
        assert_eq!(shown(&prompt, "user"), spans);
        assert_eq!(prompt.sections[0].spans[0].origin.profile, "five-layer");
    }
    let turn = Turn { user: user("Dana\r\nof Kiel"), ..turn() };
    let prompt = traced(&workspace, "five-layer", &turn);
    assert_eq!(
        shown(&prompt, "user")[1..],
        [
            "verbatim turn turn.user.name 0..4 \"Dana\"",
            "cleaned turn turn.user.name 4..6 \" \"",
            "verbatim turn turn.user.name 6..13 \"of Kiel\"",
        ]
    );
    assert_eq!(
        shown(&prompt, "persona"),
        ["template profile persona \"## Persona\\n\\n\"", "verbatim setting agent.persona 0..4 \"Dry.\""]
    );
    let source = prompt.sections.iter().find(|section| section.id == "persona").unwrap().spans[1].origin.file.clone();
    assert_eq!(&*source.unwrap().path, "workspace.yaml");
    let turn = Turn { persona: Some(" Kind. ".into()), ..turn };
    let prompt = traced(&workspace, "five-layer", &turn);
    assert_eq!(shown(&prompt, "persona")[1], "verbatim turn turn.persona 1..6 \"Kind.\"");
}

#[test]
fn a_files_text_is_its_bytes_and_the_marker_says_which_are_left_out() {
    let long = "x".repeat(5_000);
    let yaml = "context: {files: [{path: docs/MORE.md, purpose: More.}], max_chars_per_file: 100}\n";
    let workspace = built_in(&[
        ("workspace.yaml", yaml),
        ("AGENTS.md", "\u{feff}one\r\ntwo\0!\n\n"),
        ("SOUL.md", &long),
        ("docs/MORE.md", "same"),
    ]);
    let turn = turn();
    let prompt = traced(&workspace, "five-layer", &turn);
    assert_eq!(
        shown(&prompt, "workspace_context/AGENTS.md"),
        [
            "template profile workspace_context \"## \"",
            "template fact file.path \"AGENTS.md\"",
            "template profile workspace_context \"\\n- Purpose: project rules, operating constraints, and execution boundaries.\\n\\n\"",
            "verbatim file AGENTS.md 3..6 \"one\"",
            "cleaned file AGENTS.md 6..8 \"\\n\"",
            "verbatim file AGENTS.md 8..11 \"two\"",
            "verbatim file AGENTS.md 12..13 \"!\"",
        ]
    );
    let cut = shown(&prompt, "workspace_context/SOUL.md");
    let head = 100 - "\n[SOUL.md cut: 100 of 5,000 characters shown]".len();
    assert_eq!(cut[cut.len() - 2], format!("cut file SOUL.md 0..{head} {:?}", "x".repeat(head)));
    let marker = format!("\n[SOUL.md cut: {head} of 5,000 characters shown]");
    assert_eq!(cut[cut.len() - 1], format!("marker file SOUL.md {head}..5000 {marker:?}"));
    let more = shown(&prompt, "workspace_context/docs/MORE.md");
    assert_eq!(more[1], "template fact file.path \"docs/MORE.md\"");
    assert_eq!(more[3], "verbatim setting context.files[0].purpose 0..5 \"More.\"");
    assert_eq!(more[5], "verbatim file docs/MORE.md 0..4 \"same\"");
}

#[test]
fn what_is_escaped_is_only_what_was_escaped() {
    let skill = "---\nname: pilot\ndescription: Tides & \"times\".\n---\nRead the table.\n\n";
    let workspace = built_in(&[("skills/pilot/SKILL.md", skill)]);
    let content = "Wind </snippet> and more of it".to_owned();
    let blank = Snippet { content: " ".into(), ..Snippet::default() };
    let turn =
        Turn { knowledge: vec![blank, Snippet { content, source: "log <1>".into(), title: String::new() }], ..turn() };
    let prompt = traced(&workspace, "five-layer", &turn);
    assert_eq!(
        shown(&prompt, "knowledge")[1..],
        [
            "verbatim turn turn.knowledge[1].source 0..4 \"log \"",
            "escaped turn turn.knowledge[1].source 4..5 \"&lt;\"",
            "verbatim turn turn.knowledge[1].source 5..6 \"1\"",
            "escaped turn turn.knowledge[1].source 6..7 \"&gt;\"",
            "template profile knowledge \"\\\">\\n\"",
            "verbatim turn turn.knowledge[1].content 0..5 \"Wind \"",
            "escaped turn turn.knowledge[1].content 5..6 \"&lt;\"",
            "verbatim turn turn.knowledge[1].content 6..30 \"/snippet> and more of it\"",
            "template profile knowledge \"\\n</snippet>\"",
        ]
    );
    let same = |title: &str| Snippet { content: "same".into(), source: String::new(), title: title.into() };
    let turn = Turn { knowledge: vec![same("one"), same("two")], ..turn.clone() };
    let both = shown(&traced(&workspace, "five-layer", &turn), "knowledge");
    let values: Vec<_> = both.iter().filter(|span| span.starts_with("verbatim")).collect();
    assert_eq!(
        values,
        [
            "verbatim turn turn.knowledge[0].title 0..3 \"one\"",
            "verbatim turn turn.knowledge[0].content 0..4 \"same\"",
            "verbatim turn turn.knowledge[1].title 0..3 \"two\"",
            "verbatim turn turn.knowledge[1].content 0..4 \"same\"",
        ]
    );
    let skills = shown(&prompt, "skills");
    let of_file: Vec<_> = skills.iter().filter(|span| span.contains(" file ")).collect();
    assert_eq!(
        of_file,
        [
            "verbatim file skills/pilot/SKILL.md 10..15 \"pilot\"",
            "verbatim file skills/pilot/SKILL.md 29..35 \"Tides \"",
            "escaped file skills/pilot/SKILL.md 35..36 \"&amp;\"",
            "verbatim file skills/pilot/SKILL.md 36..37 \" \"",
            "escaped file skills/pilot/SKILL.md 37..38 \"&quot;\"",
            "verbatim file skills/pilot/SKILL.md 38..43 \"times\"",
            "escaped file skills/pilot/SKILL.md 43..44 \"&quot;\"",
            "verbatim file skills/pilot/SKILL.md 44..45 \".\"",
        ]
    );
}

#[test]
fn entries_are_the_items_that_they_show_whatever_their_order() {
    let workspace = built_in(&[("SOUL.md", "Be calm.\n")]);
    let inputs = json!({
        "pending_notifications": [
            { "id": "a", "app": "Mail", "title": "same", "posted_at": "2026-01-01T00:00:00Z" },
            { "id": "b", "app": "Mail", "title": "same", "posted_at": "2026-01-02T00:00:00Z" },
        ],
        "recent_responses": ["fine", "fine", "late"],
    });
    let turn = Turn { inputs: inputs.as_object().unwrap().clone(), ..turn() };
    let prompt = traced(&workspace, "kai-heartbeat", &turn);
    let ids: Vec<_> = shown(&prompt, "new_notifications").into_iter().filter(|span| span.contains("].id")).collect();
    assert_eq!(
        ids,
        [
            "verbatim input inputs.pending_notifications[1].id 0..1 \"b\"",
            "verbatim input inputs.pending_notifications[0].id 0..1 \"a\"",
        ]
    );
    let responses = shown(&prompt, "recent_responses");
    let responses: Vec<_> = responses.iter().filter(|span| span.starts_with("verbatim")).collect();
    assert_eq!(
        responses,
        [
            "verbatim input inputs.recent_responses[0] 0..4 \"fine\"",
            "verbatim input inputs.recent_responses[1] 0..4 \"fine\"",
            "verbatim input inputs.recent_responses[2] 0..4 \"late\"",
        ]
    );
    let turn = Turn { inputs: json!({"ui_mode": "dynamic"}).as_object().unwrap().clone(), ..turn };
    let prompt = traced(&workspace, "kai-remote", &turn);
    assert_eq!(shown(&prompt, "soul"), ["verbatim file SOUL.md 0..8 \"Be calm.\""]);
    assert!(shown(&prompt, "dynamic_ui").iter().any(|span| span.starts_with("template profile reply.kai_ui ")));
}

#[test]
fn loops_and_conditions_of_a_template_say_which_value_they_wrote() {
    let own = r#"
name: own
inputs:
  tags: { type: list, of: string }
  cards: { type: list, of: { title: string, note: { type: string, default: null }, n: int } }
  word: { type: string, default: none given }
messages:
  - name: all
    role: user
    sections:
      - id: tags
        stability: volatile
        template: "{% for tag in tags %}<{{ tag }}>{% endfor %}{% for tag in tags|sort %}({{ tag }}){% endfor %}"
      - id: cards
        stability: volatile
        template: "{% for card in cards %}{{ card.note or card.title }}:{{ card.n }};{% endfor %}{{ cards|length }}"
      - id: word
        stability: volatile
        template: "{% set it = word %}{{ it }}/{{ it|upper }}/{{ 'x' if it else word }}/{{ agent.name }}"
      - id: captured
        stability: volatile
        template: "{% set block %}{{ word }}{% endset %}{{ block }}{% filter trim %} {{ word }} {% endfilter %}{{ word }}"
"#;
    let workspace = workspace(&[], own);
    let inputs = json!({
        "tags": ["b", "a"],
        "cards": [{ "title": "T", "n": 1 }, { "title": "U", "note": "N", "n": 2 }],
        "word": "five",
    });
    let agent = Some(Agent { id: String::new(), name: "Ada".into() });
    let turn = Turn { inputs: inputs.as_object().unwrap().clone(), agent, ..turn() };
    let prompt = traced(&workspace, "own", &turn);
    let values = |id: &str| -> Vec<String> {
        let own = format!("template profile {id} ");
        shown(&prompt, id).into_iter().filter(|span| !span.starts_with(&own)).collect()
    };
    assert_eq!(
        values("tags"),
        [
            "verbatim input inputs.tags[0] 0..1 \"b\"",
            "verbatim input inputs.tags[1] 0..1 \"a\"",
            "verbatim input inputs.tags[1] 0..1 \"a\"",
            "verbatim input inputs.tags[0] 0..1 \"b\"",
        ]
    );
    assert_eq!(
        values("cards"),
        [
            "verbatim input inputs.cards[0].title 0..1 \"T\"",
            "template input inputs.cards[0].n \"1\"",
            "verbatim input inputs.cards[1].note 0..1 \"N\"",
            "template input inputs.cards[1].n \"2\"",
            "template input inputs.cards \"2\"",
        ]
    );
    assert_eq!(
        values("word"),
        [
            "template input inputs.word \"five\"",
            "template input inputs.word \"FIVE\"",
            "verbatim turn turn.agent.name 0..3 \"Ada\"",
        ]
    );
    assert_eq!(values("captured"), ["verbatim input inputs.word 0..4 \"five\""]);
    let plain = Turn { inputs: serde_json::Map::new(), ..turn.clone() };
    let prompt = traced(&workspace, "own", &plain);
    assert!(shown(&prompt, "captured").contains(&"verbatim profile inputs.word 0..10 \"none given\"".to_owned()));
}

#[test]
fn summaries_are_those_of_their_segments() {
    let workspace = built_in(&[]);
    let mut turn = turn();
    turn.conversation.first_index = 4;
    turn.conversation.messages =
        (0..4).map(|n| ConversationMessage::new(Role::User, &format!("{n} {}", "word ".repeat(200)))).collect();
    turn.inputs = json!({"max_context_tokens": 600, "keep_unsummarised": false}).as_object().unwrap().clone();
    let segment = |id: &str, start: u64, summary: &str| Segment {
        id: id.into(),
        level: 0,
        message_start: start,
        message_end: start + 2,
        start_time: None,
        end_time: None,
        parent_id: String::new(),
        summary_tokens: 0,
        summary: summary.into(),
    };
    turn.conversation.segments = vec![segment("late", 2, "B </summary>, and that was it"), segment("early", 0, "A")];
    let prompt = traced(&workspace, "kern", &turn);
    let late = shown(&prompt, "conversation_summary/late");
    assert!(late.contains(&"template turn turn.conversation.segments[0].message_start \"2\"".to_owned()), "{late:?}");
    assert!(late.contains(&"escaped turn turn.conversation.segments[0].summary 2..3 \"&lt;\"".to_owned()), "{late:?}");
    let early = shown(&prompt, "conversation_summary/early");
    assert!(early.contains(&"verbatim turn turn.conversation.segments[1].summary 0..1 \"A\"".to_owned()), "{early:?}");
}

#[test]
fn facts_are_what_they_are_of() {
    let workspace = built_in(&[]);
    let variables = vec![("Boat \u{7}".to_owned(), json!("Ida\n7")), ("Crew".to_owned(), json!(3))];
    let turn = Turn { variables, heartbeat: true, ..turn() };
    let prompt = traced(&workspace, "five-layer", &turn);
    let facts = shown(&prompt, "runtime_facts");
    for span in [
        "template fact agent.id \"harbor\"",
        "template fact now.local \"2026-02-28T10:30:00+00:00\"",
        "template fact heartbeat \"yes\"",
        "template turn turn.variables.Boat \\u{7} \"Boat\"",
        "template turn turn.variables.Crew \"3\"",
    ] {
        assert!(facts.contains(&span.to_owned()), "{span}\n{facts:#?}");
    }
}

#[test]
fn the_agents_id_is_a_setting_only_where_there_is_a_file() {
    for (yaml, span) in [
        (None, "template fact agent.id \"harbor\""),
        (Some("agent: {id: pier}"), "verbatim setting agent.id 0..4 \"pier\""),
    ] {
        let files: Vec<_> = yaml.map(|yaml| ("workspace.yaml", yaml)).into_iter().collect();
        let (workspace, turn) = (built_in(&files), turn());
        let facts = shown(&traced(&workspace, "five-layer", &turn), "runtime_facts");
        assert!(facts.contains(&span.to_owned()), "{span}\n{facts:#?}");
    }
}

#[test]
fn what_is_made_of_a_text_and_its_parts_have_their_own_origin() {
    let own = "name: own\ninputs:\n  s: string\nmessages:\n  - name: m\n    sections:\n      - id: s\n        template: \"{{ s|length }}/{{ s[1] }}/{{ s }}{% set x = s %}/{{ x }}\"\n";
    let workspace = workspace(&[], own);
    let turn = Turn { inputs: json!({"s": "7up"}).as_object().unwrap().clone(), ..turn() };
    let spans = shown(&traced(&workspace, "own", &turn), "s");
    for span in [
        "template input inputs.s \"3\"",
        "template input inputs.s \"u\"",
        "verbatim input inputs.s 0..3 \"7up\"",
        "template input inputs.s \"7up\"",
    ] {
        assert!(spans.contains(&span.to_owned()), "{span}\n{spans:#?}");
    }
}

#[test]
fn a_prompt_has_a_bounded_number_of_spans_and_says_so() {
    let workspace = built_in(&[]);
    let snippet = |n: usize| Snippet { content: format!("note {n}"), source: "log".into(), title: String::new() };
    let turn = Turn { knowledge: (0..MAX_SPANS / 3).map(snippet).collect(), ..turn() };
    let prompt = traced(&workspace, "five-layer", &turn);
    let spans: usize = prompt.sections.iter().map(|section| section.spans.len()).sum();
    assert!(spans <= MAX_SPANS, "{spans}");
    let knowledge = prompt.sections.iter().find(|section| section.id == "knowledge").unwrap();
    assert_eq!((knowledge.spans.len(), knowledge.spans[0].origin.kind), (1, OriginKind::Profile));
    assert_eq!(Some(&knowledge.spans[0].bytes), knowledge.position.as_ref().map(|position| &position.bytes));
    let finding = prompt.findings.iter().find(|finding| finding.code.as_str() == "SPANS_LIMITED").unwrap();
    assert!(finding.message.contains("more than 10,000 spans: 1 sections have one span each"), "{}", finding.message);
    // The other sections have their own.
    assert!(shown(&prompt, "runtime_facts").len() > 3);
}
