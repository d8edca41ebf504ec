//! The findings of a profile when it is loaded, and their lines.

use super::{Part, load};

/// The faults of a profile's text: `line:column message`.
fn faults(text: &str) -> Vec<String> {
    let (_, findings) = load(&[("p.yaml".into(), text.into())], None);
    findings
        .iter()
        .map(|finding| format!("{} {}", finding.place.to_string().replace("profiles/p.yaml", ""), finding.message))
        .collect()
}

/// A profile with one section of these lines; the first is line 8.
fn section(lines: &str) -> String {
    format!(
        "inputs:\n  on: bool\n  mode: {{ type: string, one_of: [none, full] }}\n  list: {{ type: list, of: string }}\n\
         messages:\n  - name: m\n    sections:\n      - id: a\n{lines}"
    )
}

#[test]
fn a_fault_in_a_block_is_reported_on_its_own_line() {
    let unknown = "`onn` is not known; did you mean `on`?";
    for (lines, at) in [
        ("        template: \"{{ onn }}\"\n", ":9:19"),
        ("        template: |\n          one\n          {{ onn }}\n", ":11"),
        ("        template: |-\n          {{ onn }}\n", ":10"),
        ("        template: |\n          {{ onn }}\n", ":10"),
        ("        template: |+\n\n\n          of onn\n          {{ onn }}\n\n", ":13"),
        ("        template: | # why\n          one\n\n          {{ onn }}\n", ":12"),
        // Folded and quoted texts have lines of their own: the fault is where they begin.
        ("        template: >-\n          one\n          two {{ onn }}\n", ":10:11"),
        ("        template: \"one\\n{{ onn }}\"\n", ":9:19"),
        ("        template: \"one\n\n          {{ onn }}\"\n", ":9:19"),
        ("        template: one\n          two\n\n          {{ onn }}\n", ":9:19"),
        ("        when: on and\n          onn\n        template: x\n", ":9:15"),
        ("        when: |-\n          on and\n          onn\n        template: x\n", ":11"),
        ("        each: list\n        entry: |\n          {{ item }}\n          {{ onn }}\n", ":12"),
    ] {
        assert_eq!(faults(&section(lines)), [format!("{at} {unknown}")], "{lines}");
    }
}

#[test]
fn unknown_filters_are_reported() {
    let lines = "        template: |\n          {{ mode }}\n          {{ mode|shout }}\n";
    assert_eq!(faults(&section(lines)), [":11 the filter `shout` is not known"]);
}

#[test]
fn sections_that_nothing_can_reach_are_reported() {
    for (lines, found) in [
        (
            "        when: \"false\"\n        template: x\n",
            ":9:15 `false` is never true, so this is never used; remove it",
        ),
        ("        when: 1 > 2\n        template: x\n", ":9:15 `1 > 2` is never true, so this is never used; remove it"),
        ("        stages: []\n        template: x\n", ":9:17 a section without stages is never used; remove it"),
        ("        when: off\n        template: x\n", ":9:15 `off` is not known; did you mean `on`?"),
        (
            "        when: mode == \"ful\"\n        template: x\n",
            ":9:15 `mode` is never `ful`: it is one of none, full; did you mean `full`?",
        ),
        (
            "        when: on and stage == \"second\"\n        template: x\n",
            ":9:15 `stage` is never `second`: it is one of first, synthesis",
        ),
        ("        template: x\n      - id: a\n        template: y\n", ":10:13 duplicate section `a`"),
        (
            "        template: x\n  - name: other\n    sections:\n      - { id: a, template: y }\n",
            ":12:15 duplicate section `a`",
        ),
        (
            "        template: x\n  - name: m\n    sections:\n      - { id: b, template: y }\n",
            ":10:11 duplicate message `m`",
        ),
    ] {
        assert_eq!(faults(&section(lines)), [found], "{lines}");
    }
    for lines in
        ["        when: \"true\"\n        template: x\n", "        when: mode == \"full\" or on\n        template: x\n"]
    {
        assert_eq!(faults(&section(lines)), Vec::<String>::new(), "{lines}");
    }
}

#[test]
fn what_limits_has_the_range_of_a_limit() {
    let profile = |input: &str, conversation: &str| {
        format!(
            "inputs:\n  n: {input}\nbudgets:\n  b: {{ limit: 5 }}\nmessages:\n  - name: m\n    sections:\n\
             \x20     - {{ id: a, template: x }}\n  - conversation: {conversation}\n"
        )
    };
    for (input, conversation, expected) in [
        ("int", "{ window: n }", None),
        (
            "{ type: int, default: -1 }",
            "{ window: n }",
            Some(":9:29 the default of the input `n` must be 0 or more, not -1"),
        ),
        (
            "{ type: int, max: -1 }",
            "{ window: n }",
            Some(":9:29 the input `n` must be 0 or more, which its own range excludes"),
        ),
        (
            "{ type: number, default: 75 }",
            "{ max_tokens: 9, summary_budget: n }",
            Some(":9:52 the default of the input `n` must be from 0 to 1, not 75"),
        ),
    ] {
        let found = faults(&profile(input, conversation));
        assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected.as_slice(), "{input}");
    }
}

#[test]
fn actions_that_the_prompt_does_not_teach_are_reported() {
    let profile = |actions: &str, template: &str| {
        format!(
            "reply: {{ actions: {{ {actions} }} }}\nmessages: [{{ name: m, sections: [{{ id: s, template: '{template}' }}] }}]\n"
        )
    };
    for (actions, template, expected) in [
        (
            "SEND: {}, KEEP: {}",
            "x SEND",
            Some(":1:31 no template mentions the action `KEEP`: show it with `{{ actions }}`, or hide it"),
        ),
        ("SEND: {}", "[SEND:…]", None),
        ("SEND: {}", "{{ actions }}", None),
        ("SEND: {}", "{{ reply.schema }}", None),
        ("SEND: { hidden: true }", "x", None),
        (
            "send: {}",
            "send",
            Some(":1:21 invalid tag `send`: it must begin with a letter and have only A-Z, 0-9 and _"),
        ),
        (
            "A: { fields: { f: { type: txt } } }",
            "A",
            Some(":1:47 unknown type `txt`; known: string, bool, int, number, time, any, list, object"),
        ),
        ("A: {}", "{{ reply.forms.B }} A", Some(":2:53 `reply.forms.B` is not known; did you mean `A`?")),
    ] {
        let found = faults(&profile(actions, template));
        assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected.as_slice(), "{actions}");
    }
    let json =
        |rest: &str| format!("reply: {{ {rest} }}\nmessages: [{{ name: m, sections: [{{ id: s, template: a }}] }}]\n");
    for (reply, expected) in [
        ("json: lenient", ":1:16 `json: lenient` needs `form: json`: a tag that is cut off is text"),
        ("form: jsn", ":1:16 unknown form `jsn`; known: tags, json, team"),
        ("thoughts: [<think>]", ":1:20 `<think>` is not the name of a tag: write `think` for <think>"),
        (
            "form: json, actions: { a: { strip: true } }",
            ":1:45 `reply.actions.a.strip` needs `form: tags`: one object is the whole reply",
        ),
        ("form: team, actions: { a: {} }", ":1:33 `form: team` has no actions of its own"),
        (
            "form: json, actions: { a: { fields: { action: string } } }",
            ":1:33 the action `a` cannot have a field `action`, which every action has",
        ),
    ] {
        assert_eq!(faults(&json(reply)), [expected], "{reply}");
    }
}

#[test]
fn an_allowlist_of_tools_is_checked() {
    let rest = "messages:\n  - name: m\n    sections:\n      - { id: a, template: x }\n";
    let tools = "  tools: { type: list, of: { name: string } }\n";
    for (inputs, allowlist, expected) in [
        (tools, "[read, write]", None),
        ("  on: bool\n", "[read]", Some("`tool_allowlist` needs an input `tools`, a list of objects with a `name`")),
        (
            "  tools: string\n",
            "[read]",
            Some("`tool_allowlist` needs an input `tools`, a list of objects with a `name`"),
        ),
        (tools, "{ lists: [] }", Some("`tool_allowlist` must be a list of names, or have `by` and `lists`")),
        (tools, "{ by: scop, lists: [{ value: read, names: [read] }] }", Some("`scop` is not an input")),
        (tools, "{ by: tools, lists: [] }", Some("the input `tools` is list of {name: string}, not a string")),
        (tools, "{ by: tools, lists: [{ value: read }] }", Some("needs `value` and `names`")),
        (tools, "read", Some("`tool_allowlist` must be a list, not text")),
    ] {
        let found = faults(&format!("inputs:\n{inputs}tool_allowlist: {allowlist}\n{rest}"));
        match expected {
            Some(expected) => assert!(found.iter().any(|f| f.ends_with(expected)), "{allowlist}: {found:?}"),
            None => assert_eq!(found, Vec::<String>::new(), "{allowlist}"),
        }
    }
}

#[test]
fn budgets_and_choices_are_checked() {
    let text = "inputs:\n  mode: { type: int, one_of: [a] }\n  none: { type: string, one_of: [] }\n\
                budgets:\n  b: { limit: 5, unit: words }\n  c: { limit: 5, on_overflow: stop }\n\
                messages:\n  - name: m\n    sections:\n      - { id: a, template: x }\n";
    assert_eq!(
        faults(text),
        [
            ":2:17 `inputs.mode` must be a string to be `one_of` some words",
            ":3:33 `inputs.none.one_of` must not be empty",
            ":5:24 unknown unit `words`; known: chars, utf16, bytes, tokens, estimate, entries",
            ":6:31 unknown `on_overflow` value `stop`; known: close, next_section",
        ]
    );
}

#[test]
fn a_section_is_no_more_stable_than_what_it_depends_on() {
    let profile = |stability: &str, body: &str| {
        format!(
            "inputs:\n  plain: string\n  own: {{ type: string, stability: stable }}\n\
             \x20 fast: {{ type: list, of: {{ user: string }}, stability: volatile }}\n  most: {{ type: int, default: 1 }}\n\
             budgets:\n  shared: {{ limit: 9 }}\n  given: {{ limit: most }}\n\
             messages:\n  - name: m\n    sections:\n      - id: a\n        stability: {stability}\n        {body}\n\
             \x20     - {{ id: b, each: knowledge, entry: x, budget: shared }}\n"
        )
    };
    let input = "or declare the input with `stability: stable` if that is what callers give";
    for (stability, body, expected) in [
        ("stable", "template: '{{ own }} {{ persona }} {{ workspace.id }}'", None),
        ("stable", "file: AGENTS.md\n        template: '{{ file.text }}'", None),
        ("stable", "kind: skills\n        template: '{{ available_skills }}'", None),
        ("session", "template: '{{ plain }} {{ user.name }} {{ channel.name }}'", None),
        ("volatile", "template: '{{ now.utc }} {{ fast|length }}'", None),
        (
            "stable",
            "template: '{{ user.name }}'",
            Some("`turn.user`, which differs between sessions; write `stability: session`".to_owned()),
        ),
        (
            "stable",
            "when: plain\n        template: x",
            Some(format!("the input `plain`, which differs between sessions; write `stability: session`, {input}")),
        ),
        (
            "session",
            "template: '{{ plain }} {{ fast|length }}'",
            Some(format!(
                "the input `fast`, which can change every turn; write `stability: volatile`, {}",
                input.replace("stable", "session")
            )),
        ),
        ("stable", "each: knowledge\n        entry: '{{ content }}'", Some(volatile("knowledge"))),
        ("session", "each: skills\n        header: '{{ now.utc }}'\n        entry: x", Some(volatile("now"))),
        ("session", "file: AGENTS.md\n        template: x\n        fallback: '{{ now.utc }}'", Some(volatile("now"))),
        ("session", "template: x\n        stages: [first]", Some(volatile("stage"))),
        ("stable", "kind: facts\n        facts: []", Some(volatile("variables"))),
        ("session", "kind: facts\n        facts: [{ label: L, value: heartbeat }]", Some(volatile("variables"))),
        ("session", "kind: active_skill\n        template: '{{ skill.id }}'", Some(volatile("conversation"))),
        ("session", "each: skills\n        entry: x\n        budget: shared", Some(volatile("knowledge"))),
        (
            "stable",
            "each: skills\n        entry: x\n        budget: given",
            Some("`turn.inputs`, which differs between sessions; write `stability: session`".to_owned()),
        ),
        // A name of an entry is the entry's.
        ("volatile", "each: fast\n        entry: '{{ user }}'", None),
        ("session", "each: [1, 2]|list\n        entry: x", None),
    ] {
        let Some(expected) = expected else {
            let found = faults(&profile(stability, body));
            assert!(found.iter().all(|fault| !fault.contains("depends")), "{body}: {found:?}");
            continue;
        };
        let expected = format!(":13:20 the section `a` is not {stability}: it depends on {expected}");
        assert_eq!(faults(&profile(stability, body)), [expected], "{body}");
    }
}

fn volatile(field: &str) -> String {
    format!("`turn.{field}`, which can change every turn; write `stability: volatile`")
}

/// What an extending profile changes is at fault there, and not in the file that it extends.
#[test]
fn a_stability_that_an_extension_breaks_is_reported_in_the_extension() {
    let text = "extends: five-layer\nmessages:\n  - name: skeleton\n    sections:\n\
                \x20     - { id: identity, template: 'Hello {{ user.name }}' }\n";
    let expected = ":5:15 the section `identity` is not stable: it depends on `turn.user`, which differs between sessions; \
                    write `stability: session`";
    assert_eq!(faults(text), [expected]);
}

/// The tools that are shown follow from the input that selects their list.
#[test]
fn tools_are_no_more_stable_than_what_selects_them() {
    let profile = |scope: &str| {
        format!(
            "inputs:\n  scope: {{ type: string, stability: {scope} }}\n  has_tools: {{ type: bool, stability: stable }}\n\
             \x20 tools: {{ type: list, of: {{ name: string }}, stability: stable }}\n\
             tool_allowlist: {{ by: scope, lists: [{{ value: read, names: [read] }}] }}\n\
             messages:\n  - name: m\n    sections:\n      - {{ id: a, stability: stable, when: has_tools, template: x }}\n"
        )
    };
    assert_eq!(faults(&profile("stable")), Vec::<String>::new());
    let found = faults(&profile("volatile"));
    assert!(
        matches!(&found[..], [one] if one.contains("the input `has_tools`, which can change every turn")),
        "{found:?}"
    );
}

#[test]
fn an_extension_moves_sections_and_orders_messages() {
    let base = "messages:\n  - name: a\n    sections:\n      - { id: one, template: One }\n      - { id: two, template: Two }\n\
                \x20 - name: b\n    sections:\n      - { id: three, template: Three }\n  - conversation: {}\n";
    let load_both = |top: &str| {
        let files =
            [("base.yaml".to_owned(), base.into()), ("p.yaml".to_owned(), format!("extends: base\n{top}").into())];
        load(&files, None)
    };
    let layout = |top: &str| {
        let (profiles, findings) = load_both(top);
        assert!(findings.is_empty(), "{findings:?}");
        let profile = profiles.get("p").unwrap();
        let message = |part: &Part| match part {
            Part::Message(spec) => {
                let ids: Vec<_> = spec.sections.iter().map(|section| section.id.as_str()).collect();
                format!("{}: {}", spec.name, ids.join(" "))
            }
            Part::Conversation(_) => "conversation".to_owned(),
        };
        profile.parts.iter().map(message).collect::<Vec<_>>()
    };
    let moved =
        "messages:\n  - name: c\n    sections:\n      - { id: three, move: true }\n      - { id: one, move: true }\n";
    assert_eq!(layout(moved), ["a: two", "conversation", "c: three one"]);
    assert_eq!(layout(&format!("order: [conversation, c]\n{moved}")), ["conversation", "c: three one", "a: two"]);
    let within =
        "messages:\n  - name: b\n    sections:\n      - { id: two, move: true, after: three, template: New }\n";
    assert_eq!(layout(within), ["a: one", "b: three two", "conversation"]);

    for (top, expected) in [
        (
            "messages:\n  - name: c\n    sections:\n      - { id: onne, move: true }\n",
            "moves the section `onne`, which does not exist; did you mean `one`?",
        ),
        ("order: [a, bb]\n", "`order` names the message `bb`, which does not exist; did you mean `b`?"),
    ] {
        let (_, findings) = load_both(top);
        assert!(findings.iter().any(|finding| finding.message == expected), "{findings:?}");
    }
    let alone = faults("order: [m]\nmessages: [{ name: m, sections: [{ id: a, move: true, template: x }] }]\n");
    assert_eq!(alone, [":1:8 `order` needs `extends`", ":2:40 `move` needs `extends`"]);
}
