//! The lines of the log, and what is never in them.

use std::time::Duration;

use promptd::grpc::api::{
    prompt_service_client::PromptServiceClient, workspace_service_client::WorkspaceServiceClient,
};
use promptd_contract::proto::{AssemblePromptRequest, KnowledgeSnippet, Turn, User, WatchWorkspaceRequest};

use super::{
    serve::{assemble, call, get},
    support::{Service, folder, write},
};

#[test]
fn no_text_of_a_prompt_is_logged_at_the_default_level() {
    let home = folder(&[
        ("ws/AGENTS.md", "SECRET-AGENTS"),
        ("ws/SOUL.md", &format!("SECRET-SOUL{}", " x".repeat(9_000))),
        ("ws/workspace.yaml", "agent: {persona: SECRET-WSPERSONA, ephemeral_system_prompt: SECRET-WSEPHEMERAL}\n"),
        ("ws/skills/a/SKILL.md", "---\nname: a\ndescription: SECRET-SKILL\n---\nBody.\n"),
    ]);
    for format in ["text", "json"] {
        let config = format!("listen: 127.0.0.1:0\nworkspaces: {{single: [ws]}}\nlog: {{format: {format}}}\n");
        write(&home.path().join("promptd.yaml"), &config);
        let service = Service::start(home.path(), &["serve", "--config", "promptd.yaml"]);
        let turn = Turn {
            user: Some(User { id: "SECRET-ID".into(), name: "SECRET-NAME".into() }),
            persona: Some("SECRET-PERSONA".into()),
            ephemeral_system_prompt: Some("SECRET-EPHEMERAL".into()),
            conversation_summary: "SECRET-SUMMARY".into(),
            knowledge: vec![KnowledgeSnippet { content: "SECRET-KNOWLEDGE".into(), ..Default::default() }],
            ..Default::default()
        };
        let request = AssemblePromptRequest { workspace_id: "ws".into(), turn: Some(turn), ..Default::default() };
        assert!(assemble(&service.address(), request.clone()).is_ok());
        let refused = Turn { time_zone: "SECRET-ZONE".into(), ..request.turn.unwrap() };
        let request = AssemblePromptRequest { turn: Some(refused), ..request };
        assert!(assemble(&service.address(), request).is_err());
        let log = service.stop();
        assert!(log.contains("serving") && !log.contains("SECRET"), "{log}");
        if format == "json" {
            for line in log.lines() {
                assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{line}");
            }
        }
    }
}

#[test]
fn the_line_of_a_call_has_its_method_caller_and_trace() {
    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    let home =
        folder(&[("ws/AGENTS.md", "A."), ("tokens.yaml", "tokens: [{name: front-end, token: 0123456789abcdef}]\n")]);
    let fields = [
        ("method", "promptd.v1.PromptService/AssemblePrompt"),
        ("request_id", "turn-17"),
        ("caller", "front-end"),
        ("trace_id", TRACE),
        ("parent_id", "00f067aa0ba902b7"),
        ("code", "NOT_FOUND"),
    ];
    for (format, level, between) in [("text", " INFO promptd::", "="), ("json", "\"level\":\"INFO\"", "\":")] {
        let config = format!(
            "listen: 127.0.0.1:0\nworkspaces: {{single: [ws]}}\nauth: {{tokens_file: tokens.yaml}}\n\
             log: {{format: {format}}}\n"
        );
        write(&home.path().join("promptd.yaml"), &config);
        let service = Service::start(home.path(), &["serve", "--config", "promptd.yaml"]);
        for (id, workspace) in [("turn-16", "ws"), ("turn-17", "other")] {
            let mut request =
                tonic::Request::new(AssemblePromptRequest { workspace_id: workspace.into(), ..Default::default() });
            let traced = format!("00-{TRACE}-00f067aa0ba902b7-01");
            for (name, value) in
                [("authorization", "Bearer 0123456789abcdef"), ("x-request-id", id), ("traceparent", &traced)]
            {
                request.metadata_mut().insert(name, value.parse().unwrap());
            }
            assert_eq!(call(&service.address(), request).is_ok(), workspace == "ws");
        }
        let log = service.stop();
        let line = log.lines().find(|line| line.contains("turn-17")).unwrap();
        assert!(line.contains(level), "{line}");
        for (name, value) in fields {
            assert!(line.contains(&format!("{name}{between}\"{value}\"")), "{name} is not in {line}");
        }
        // What ends well is for `debug` alone.
        assert!(!log.contains("turn-16"), "{log}");
    }
}

#[test]
fn the_line_of_a_call_over_the_limit_has_its_caller() {
    let home =
        folder(&[("ws/AGENTS.md", "A."), ("tokens.yaml", "tokens: [{name: front-end, token: 0123456789abcdef}]\n")]);
    let config = "listen: 127.0.0.1:0\nworkspaces: {single: [ws]}\nauth: {tokens_file: tokens.yaml}\n\
                  limits: {max_streams: 1}\n";
    write(&home.path().join("promptd.yaml"), config);
    let service = Service::start(home.path(), &["serve", "--config", "promptd.yaml"]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut client = WorkspaceServiceClient::connect(format!("http://{}", service.address())).await.unwrap();
        let watch = || {
            let request = WatchWorkspaceRequest { workspace_id: "ws".into(), ..Default::default() };
            let mut request = tonic::Request::new(request);
            request.metadata_mut().insert("authorization", "Bearer 0123456789abcdef".parse().unwrap());
            request
        };
        let open = client.watch_workspace(watch()).await.unwrap();
        assert_eq!(client.watch_workspace(watch()).await.unwrap_err().code(), tonic::Code::Unavailable);
        drop(open);
    });
    let log = service.stop();
    let line = log.lines().find(|line| line.contains("UNAVAILABLE")).unwrap();
    assert!(line.contains("caller=\"front-end\""), "{line}");
}

#[test]
fn a_cut_file_is_logged_at_every_revision() {
    let home = folder(&[("ws/SOUL.md", &"x\n".repeat(9_000)), ("ws/HEARTBEAT.md", &"- Look.\n".repeat(2_000))]);
    let mut service = Service::start(home.path(), &["serve", "--workspace", "ws", "--listen", "127.0.0.1:0"]);
    for version in ["One.", "Two."] {
        let log = service.wait_for_log("place=HEARTBEAT.md");
        assert!(log.contains("errors=0 warnings=2"), "{log}");
        let log = service.wait_for_log("place=SOUL.md");
        assert!(log.contains("CONTEXT_FILE_TRUNCATED") && log.contains("workspace=ws"), "{log}");
        write(&home.path().join("ws/AGENTS.md"), version);
    }
    service.stop();
}

#[test]
fn a_fault_and_its_end_are_a_line_each_without_the_text_around_them() {
    let home = folder(&[
        ("promptd.yaml", "listen: 127.0.0.1:0\nworkspaces: {root: all}\nauth: {tokens_file: tokens.yaml}\n"),
        ("tokens.yaml", "tokens: [{name: a, token: SECRET-SECRET-SECRET}]\n"),
        ("all/ws/AGENTS.md", "SECRET-AGENTS"),
        ("all/ws/workspace.yaml", "agent: {persona: SECRET-PERSONA}\n"),
        ("all/ws/skills/a/SKILL.md", "---\nname: a\ndescription: SECRET-SKILL\n---\n"),
        ("profiles/own.yaml", "extends: five-layer\n"),
    ]);
    let mut service = Service::start(home.path(), &["serve", "--config", "promptd.yaml"]);
    let mut log = service.wait_for_log("serving");
    for (path, text, output) in [
        ("all/ws/workspace.yaml", "agent: {persona: [SECRET-PERSONA]}\n", "`agent.persona` must be text"),
        ("all/ws/workspace.yaml", "agent: {persona: SECRET-PERSONA, : [\n", "YAML_SYNTAX"),
        ("all/ws/workspace.yaml", "agent: {persona: SECRET-PERSONA}\n", "errors=0"),
        ("all/ws/skills/a/SKILL.md", "---\nname: a\ndescription: [SECRET-SKILL\n---\n", "SKILL_INVALID"),
        ("all/ws/skills/a/SKILL.md", "---\nname: a\ndescription: SECRET: x\n---\n", "SKILL_FRONT_MATTER_REPAIRED"),
        ("profiles/own.yaml", "extends: five-layer\nsektions: []\n", "invalid profile: profiles/own.yaml:2:1"),
        ("profiles/own.yaml", "extends: five-layer\n", "no longer: invalid profile: profiles/own.yaml:2:1"),
        ("tokens.yaml", "tokens: [{name: a, token: SECRET}]\n", "shorter than 16 characters"),
        ("tokens.yaml", "tokens: [{name: a, token: 'SECRET-SECRET-SECRET}]\n", "found unexpected end of stream"),
        ("tokens.yaml", "tokens: [{name: a, token: SECRET-SECRET-SECRE2}]\n", "reloaded"),
    ] {
        write(&home.path().join(path), text);
        let lines = service.wait_for_log(output);
        assert!(lines.lines().count() <= 3, "{lines}");
        log += &lines;
    }
    log += &service.stop();
    assert!(!log.contains("SECRET"), "{log}");
}

#[test]
fn the_name_of_a_file_or_a_key_cannot_forge_a_line_of_the_log() {
    const FORGED: &str = "x\n2026-01-01T00:00:00Z ERROR forged\r";
    let home = folder(&[
        (&format!("all/{FORGED}/AGENTS.md"), "A."),
        (&format!("all/ws/skills/{FORGED}/SKILL.md"), "---\nname: [\n---\n"),
        ("all/ws/workspace.yaml", "locked: [\"x\\n2026-01-01T00:00:00Z ERROR forged\"]\n"),
        ("all/other/workspace.yaml", "\"x\\n2026-01-01T00:00:00Z ERROR forged\": 1\n"),
    ]);
    let service = Service::start(home.path(), &["serve", "--workspaces", "all", "--listen", "127.0.0.1:0"]);
    let log = service.stop();
    assert!(log.matches("forged").count() >= 3, "{log}");
    for line in log.lines() {
        assert!(line.contains(" promptd::") && !line.starts_with("2026-01-01") && !line.contains('\r'), "{log}");
    }
}

/// Makes calls for a workspace that does not exist, one after the other; each must be answered in time.
fn make_failing_calls(service: &Service, count: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut client = PromptServiceClient::connect(format!("http://{}", service.address())).await.unwrap();
        for _ in 0..count {
            let mut request =
                tonic::Request::new(AssemblePromptRequest { workspace_id: "other".into(), ..Default::default() });
            request.set_timeout(Duration::from_secs(10));
            assert_eq!(client.assemble_prompt(request).await.unwrap_err().code(), tonic::Code::NotFound);
        }
    });
}

/// A pipe holds 64 KiB, so 400 lines of calls do not fit; at `trace` a call has thousands.
#[test]
fn a_log_that_nobody_reads_delays_neither_calls_nor_the_end() {
    for level in ["info", "trace"] {
        let home = folder(&[("ws/AGENTS.md", "A.")]);
        let arguments = ["serve", "--workspace", "ws", "--listen", "127.0.0.1:0", "--log", level];
        let service = Service::start(home.path(), &arguments);
        make_failing_calls(&service, 400);
        service.signal("-TERM");
        assert_eq!(service.ended_unread().code(), Some(0), "{level}");
    }
}

#[test]
fn dropped_lines_of_the_log_are_counted_and_reported_when_it_is_read_again() {
    let home = folder(&[("ws/AGENTS.md", "A.")]);
    let arguments =
        ["serve", "--workspace", "ws", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--log", "trace"];
    let mut service = Service::start(home.path(), &arguments);
    let log = service.wait_for_log("serving");
    let admin = log.split("admin=").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    let dropped = || {
        let (_, metrics) = get(&admin, "/metrics");
        let line =
            metrics.lines().find(|line| line.starts_with("promptd_log_lines_dropped_total ")).unwrap().to_owned();
        line.split(' ').nth(1).unwrap().parse::<u64>().unwrap()
    };
    assert_eq!(dropped(), 0);
    while dropped() == 0 {
        make_failing_calls(&service, 100);
    }
    service.wait_for_log("log lines were dropped");
    service.signal("-KILL");
}

#[test]
fn the_line_of_a_failed_call_has_workspace_reason_and_field_and_no_content() {
    let home = folder(&[
        ("ws/workspace.yaml", "locked: [persona]\n"),
        ("bad/workspace.yaml", "agent: [\n"),
        ("promptd.yaml", "listen: 127.0.0.1:0\nworkspaces: {single: [ws, bad]}\n"),
    ]);
    let service = Service::start(home.path(), &["serve", "--config", "promptd.yaml"]);
    let variables = prost_types::Struct { fields: [("SECRET\n".to_owned(), prost_types::Value::default())].into() };
    let not_finite = prost_types::Value { kind: Some(prost_types::value::Kind::NumberValue(f64::NAN)) };
    let inputs = prost_types::Struct { fields: [("SECRET".to_owned(), not_finite)].into() };
    let calls = [
        ("ws", Turn { time_zone: "SECRET".into(), ..Default::default() }),
        ("ws", Turn { variables: Some(variables), ..Default::default() }),
        ("ws", Turn { inputs: Some(inputs), ..Default::default() }),
        ("ws", Turn { persona: Some("SECRET".into()), ..Default::default() }),
        ("other", Turn::default()),
        ("bad", Turn::default()),
        ("SECRET/../x", Turn::default()),
    ];
    for (workspace, turn) in calls {
        let request = AssemblePromptRequest { workspace_id: workspace.into(), turn: Some(turn), ..Default::default() };
        let _ = assemble(&service.address(), request);
    }
    let log = service.stop();
    for fields in [
        "workspace=\"ws\" reason=\"INVALID_REQUEST\" field=\"turn.time_zone\" code=\"INVALID_ARGUMENT\"",
        "workspace=\"ws\" reason=\"INVALID_REQUEST\" field=\"turn.inputs\"",
        "workspace=\"ws\" reason=\"FIELD_LOCKED\" field=\"turn.persona\" code=\"PERMISSION_DENIED\"",
        "workspace=\"other\" reason=\"WORKSPACE_NOT_FOUND\" code=\"NOT_FOUND\"",
        "workspace=\"bad\" reason=\"WORKSPACE_INVALID\" code=\"FAILED_PRECONDITION\"",
        "reason=\"INVALID_REQUEST\" field=\"workspace_id\"",
    ] {
        assert!(log.contains(fields), "{fields} is not in\n{log}");
    }
    assert!(!log.contains("SECRET"), "{log}");
}
