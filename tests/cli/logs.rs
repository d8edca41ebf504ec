//! What is in the log, and what never is.

use promptd::proto::{AssemblePromptRequest, KnowledgeSnippet, Turn, User};

use super::{
    serve::assemble,
    support::{Service, folder},
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
        super::support::write(&home.path().join("promptd.yaml"), &config);
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
