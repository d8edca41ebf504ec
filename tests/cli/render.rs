use std::fs;

use promptd_contract::proto::{self, RenderFormat};

use super::{
    serve::assemble,
    support::{Service, command, folder, ran, repository, run, write},
};

const NOW: &str = "2026-02-28T18:30:00-08:00";

const FULL: &str = "user: {id: u1, name: O'Neil (ops)}
persona: Exact.
now: 2026-02-28T18:30:00-08:00
heartbeat: true
variables: {tide: 3, list: [1, x]}
knowledge: [{content: The mole is closed., source: log, title: Mole}]
conversation_summary: They spoke about berths.
response_format: RESPONSE_FORMAT_JSON_OBJECT
ephemeral_system_prompt: Answer in one line.
";

#[test]
fn a_piped_prompt_is_byte_for_byte_that_of_the_service() {
    let home = folder(&[("turn.yaml", FULL)]);
    let turn = home.path().join("turn.yaml");
    let rendered = run(&repository(), &["render", "workspace-example", "--turn", turn.to_str().unwrap()]);
    assert_eq!(rendered.code, 0, "{}", rendered.err);
    let json =
        run(&repository(), &["render", "workspace-example", "--format", "json", "--turn", turn.to_str().unwrap()]);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();

    let service = Service::start(&repository(), &["serve", "--listen", "127.0.0.1:0"]);
    let answer = assemble(
        &service.address(),
        proto::AssemblePromptRequest {
            workspace_id: "example".into(),
            turn: Some(full_turn()),
            render_format: RenderFormat::Text.into(),
            ..Default::default()
        },
    )
    .unwrap();
    assert_eq!(rendered.out, answer.rendered);
    assert_eq!(json["digest"], answer.digest);
    assert_eq!(json["revision"], answer.revision);
    assert_eq!(json["messages"].as_array().unwrap().len(), 5);
    service.stop();
}

/// [`FULL`] as a caller builds it.
fn full_turn() -> proto::Turn {
    let value = |kind| prost_types::Value { kind: Some(kind) };
    let (number, text) = (prost_types::value::Kind::NumberValue, prost_types::value::Kind::StringValue);
    let list = prost_types::ListValue { values: vec![value(number(1.0)), value(text("x".into()))] };
    let list = value(prost_types::value::Kind::ListValue(list));
    proto::Turn {
        user: Some(proto::User { id: "u1".into(), name: "O'Neil (ops)".into() }),
        persona: Some("Exact.".into()),
        now: Some(prost_types::Timestamp { seconds: 1_772_332_200, nanos: 0 }),
        heartbeat: true,
        variables: Some(prost_types::Struct {
            fields: [("tide".to_owned(), value(number(3.0))), ("list".to_owned(), list)].into(),
        }),
        knowledge: vec![proto::KnowledgeSnippet {
            content: "The mole is closed.".into(),
            source: "log".into(),
            title: "Mole".into(),
        }],
        conversation_summary: "They spoke about berths.".into(),
        response_format: proto::ResponseFormat::JsonObject.into(),
        ephemeral_system_prompt: Some("Answer in one line.".into()),
        ..Default::default()
    }
}

#[test]
fn an_empty_layer_is_left_out() {
    let home = folder(&[("ws/AGENTS.md", "Rules.")]);
    let plain = run(home.path(), &["render", "ws", "--now", NOW]);
    assert!(plain.out.starts_with("You are a conversational AI assistant.\n\n## Runtime Facts\n"), "{}", plain.out);
    assert!(plain.out.ends_with("Rules.") && !plain.out.contains("## Heartbeat"), "{}", plain.out);
    assert!(run(home.path(), &["render", "ws", "--heartbeat"]).out.contains("\n\n## Heartbeat"));
    let empty = folder(&[("ws/AGENTS.md", " \n")]);
    assert!(!run(empty.path(), &["render", "ws"]).out.contains("# Workspace Context"));
}

#[test]
fn losses_are_reported_only_on_standard_error() {
    let ran = run(&repository(), &["render", "workspace-example", "--explain", "--now", NOW]);
    assert_eq!(ran.code, 0);
    assert!(!ran.out.contains("CONTEXT_FILE_TRUNCATED") && ran.err.contains("CONTEXT_FILE_TRUNCATED"), "{}", ran.err);
    assert!(ran.err.contains("truncated  workspace_context/docs/RUNBOOK.md"), "{}", ran.err);
}

#[test]
fn every_fault_of_a_turn_is_reported_with_its_line() {
    let home = folder(&[("ws/AGENTS.md", "A."), ("turn.yaml", "user:\n  nmae: Ada\nheartbeat: yes\n")]);
    let output = run(home.path(), &["render", "ws", "--turn", "turn.yaml"]);
    assert_eq!((output.code, output.out.as_str()), (1, ""));
    insta::assert_snapshot!(output.err);
    write(&home.path().join("zone.json"), r#"{"timeZone": "Europe/Berln"}"#);
    let zone = run(home.path(), &["render", "ws", "--turn", "zone.json"]);
    assert_eq!(zone.code, 1);
    assert!(zone.err.contains("turn.time_zone"), "{}", zone.err);
    assert_eq!(run(home.path(), &["render", "ws", "--turn", "nowhere.yaml"]).code, 2);
}

#[test]
fn an_invalid_workspace_has_no_prompt() {
    let home = folder(&[("ws/workspace.yaml", "skills: {blocklists: [x]}\n")]);
    let output = run(home.path(), &["render", "ws"]);
    assert_eq!((output.code, output.out.as_str()), (1, ""));
    assert!(output.err.contains("ws/workspace.yaml:1:10") && output.err.contains("`blocklist`"), "{}", output.err);
}

#[test]
fn a_turn_can_come_from_standard_input_and_a_profile_by_name() {
    let home = folder(&[("ws/AGENTS.md", "A."), ("turn.yaml", "user: {name: Ada}\n")]);
    let mut piped = command(home.path(), &["render", "ws", "--turn", "-"]);
    let output = ran(piped.stdin(fs::File::open(home.path().join("turn.yaml")).unwrap()));
    assert!(output.out.contains("You are currently talking to: Ada"), "{output:?}");
    let missing = run(home.path(), &["render", "ws", "--profile", "five-layr"]);
    assert_eq!(missing.code, 1);
    assert!(missing.err.contains("did you mean `five-layer`?"), "{}", missing.err);
}

#[test]
fn relative_and_linked_folders_show_locations_that_open() {
    let home = folder(&[("real & true/skills/git/SKILL.md", "---\nname: git\ndescription: Git.\n---\nUse it.\n")]);
    std::os::unix::fs::symlink(home.path().join("real & true"), home.path().join("linked")).unwrap();
    for named in ["./real & true", "linked", "ws=./linked/."] {
        let out = run(home.path(), &["render", named]).out;
        let location = out.split("<location>").nth(1).unwrap().split("</location>").next().unwrap();
        let path = location.replace("&amp;", "&");
        assert!(path.starts_with('/') && fs::read(&path).is_ok(), "{named}: {location}");
    }
}

#[test]
fn each_example_turn_names_its_profile() {
    let turns = repository().join("examples/turns");
    let mut count = 0;
    for turn in fs::read_dir(turns).unwrap() {
        let path = turn.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let profile = text.lines().find_map(|line| line.strip_prefix("profile: ")).unwrap();
        let turn = path.to_str().unwrap();
        let render = ["render", "workspace-example", "--format", "json", "--turn", turn];
        let named = run(&repository(), &render);
        let flag = run(&repository(), &[&render[..], &["--profile", profile]].concat());
        assert_eq!((named.code, &named.out), (0, &flag.out), "{turn}: {}", named.err);
        let other = run(&repository(), &[&render[..], &["--profile", "five-layer"]].concat());
        assert_ne!(other.out, named.out, "{turn}");
        count += 1;
    }
    assert!(count >= 6, "{count}");
}

#[test]
fn an_unknown_profile_is_reported_beside_the_faults_of_the_turn() {
    let home = folder(&[("ws/AGENTS.md", "A."), ("turn.yaml", "heartbeat: 1\nprofile: five-layers\n")]);
    let output = run(home.path(), &["render", "ws", "--turn", "turn.yaml", "--profile", "kerm"]);
    assert_eq!((output.code, output.out.as_str()), (1, ""));
    for message in ["`turn.heartbeat` must be", "turn.yaml:2:10", "did you mean `five-layer`?", "did you mean `kern`?"]
    {
        assert!(output.err.contains(message), "{message}: {}", output.err);
    }
}

#[test]
fn explain_counts_tokens() {
    let output = run(&repository(), &["render", "workspace-example", "--explain", "--now", "2026-02-27T18:30:00Z"]);
    let total = output.err.lines().find(|line| line.contains(" messages, ")).unwrap();
    assert!(total.contains(" tokens, digest "), "{}", output.err);
    let skills = output.err.lines().find(|line| line.starts_with("included   skills ")).unwrap();
    assert!(skills.ends_with(" tokens"), "{}", output.err);
}

#[test]
fn who_said_a_part_of_the_prompt_is_said_with_file_line_and_column() {
    let turn = "user: {name: Dana}\nnow: 2026-02-28T18:30:00Z\nknowledge: [{content: The mole is closed.}]\n";
    let home = folder(&[
        ("harbor/AGENTS.md", "\u{feff}# Rules\r\n\r\nNever promise a berth.\r\nSay the \u{e9}tat.\n"),
        ("harbor/workspace.yaml", "agent: {persona: Dry.}\n"),
        ("turn.yaml", turn),
    ]);
    let explain = |more: &[&str]| {
        let arguments = [&["render", "harbor", "--turn", "turn.yaml", "--explain"], more].concat();
        run(home.path(), &arguments)
    };
    let prompt = run(home.path(), &["render", "harbor", "--turn", "turn.yaml"]).out;
    let line = |text: &str| prompt.lines().position(|line| line.contains(text)).unwrap() + 1;
    let persona = line("Dry.");
    for (arguments, said) in [
        (
            ["--at", "3"],
            "3:1  user  template  profile five-layer `user`  \"You are currently talking to: \"\n\
             3:31  user  verbatim  turn.user.name, byte 0  \"Dana\"\n"
                .to_owned(),
        ),
        (["--at", "3:32"], "3:32  user  verbatim  turn.user.name, byte 1  \"a\"\n".to_owned()),
        (["--at", "2"], "2:1  the separator between sections, of the profile  \"\"\n".to_owned()),
        (
            ["--at", &persona.to_string()],
            format!("{persona}:1  persona  verbatim  harbor/workspace.yaml `agent.persona`, byte 0  \"Dry.\"\n"),
        ),
        (
            ["--find", "promise a"],
            format!(
                "{}:7  workspace_context/AGENTS.md  verbatim  harbor/AGENTS.md:3:7  \"promise a\"\n",
                line("Never promise")
            ),
        ),
        (
            ["--find", "\u{e9}tat"],
            format!(
                "{}:9  workspace_context/AGENTS.md  verbatim  harbor/AGENTS.md:4:9  \"\u{e9}tat\"\n",
                line("\u{e9}tat")
            ),
        ),
        (
            ["--find", "berth.\nSay"],
            format!(
                "{0}:17  workspace_context/AGENTS.md  verbatim  harbor/AGENTS.md:3:17  \"berth.\"\n\
                 {0}:23  workspace_context/AGENTS.md  cleaned  harbor/AGENTS.md:3:23  \"\\n\"\n\
                 {1}:1  workspace_context/AGENTS.md  verbatim  harbor/AGENTS.md:4:1  \"Say\"\n",
                line("Never promise"),
                line("\u{e9}tat")
            ),
        ),
        (
            ["--find", "mole"],
            format!("{}:5  knowledge  verbatim  turn.knowledge[0].content, byte 4  \"mole\"\n", line("mole")),
        ),
        (
            ["--find", "2026-02-28"],
            format!("{}:17  runtime_facts  template  fact now.local  \"2026-02-28\"\n", line("2026-02-28")),
        ),
    ] {
        let ran = explain(&arguments);
        assert_eq!((ran.code, &*ran.out), (0, &*said), "{arguments:?} {}", ran.err);
    }
    let many = explain(&["--find", "e"]);
    assert!(many.out.lines().count() == 21 && many.out.contains("\nand "), "{}", many.out);
}

#[test]
fn one_message_is_one() {
    let home = folder(&[("harbor/AGENTS.md", "Rules.\n")]);
    let ran = run(home.path(), &["render", "harbor", "--profile", "kern", "--explain"]);
    assert!(format!("{}{}", ran.out, ran.err).contains("\n1 message, "), "{ran:?}");
}

#[test]
fn a_place_that_the_prompt_does_not_have_is_refused_with_what_it_has() {
    let home = folder(&[("harbor/AGENTS.md", "Rules.\n")]);
    for (arguments, code, message) in [
        (&["--explain", "--at", "900"][..], 1, "lines and no line 900; give one from 1 to "),
        (&["--explain", "--at", "1:900"], 1, "line 1 has 38 characters and no column 900; leave the column out"),
        (&["--explain", "--at", "2:1"], 1, "line 2 is empty and no column 1"),
        (
            &["--explain", "--find", "nowhere to be seen"],
            1,
            "the prompt does not have this text; it is compared exactly",
        ),
        (&["--explain", "--find", ""], 1, "the prompt does not have this text"),
        (&["--explain", "--at", "0"], 2, "must be LINE or LINE:COLUMN, both counted from 1"),
        (&["--at", "1"], 2, "--explain"),
        (&["--explain", "--at", "1", "--find", "x"], 2, "cannot be used with"),
        (&["--explain", "--find", "x", "--format", "json"], 2, "cannot be used with"),
    ] {
        let ran = run(home.path(), &[&["render", "harbor", "--now", NOW], arguments].concat());
        assert_eq!((ran.code, &*ran.out), (code, ""), "{arguments:?} {}", ran.err);
        assert!(ran.err.contains(message), "{arguments:?} {}", ran.err);
    }
}
