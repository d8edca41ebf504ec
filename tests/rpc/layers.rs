//! Layers: what callers are told of them, and which of it only those whose tokens admit the layer.

use promptd::grpc::{Access, Tokens};
use promptd_contract::proto::{
    self, AssemblePromptRequest, DiffPromptRequest, GetWorkspaceRequest, ListRevisionsRequest, ListSkillsRequest,
    ProposedFile, ProposedWorkspace, ReadFileRequest, ReadSkillRequest, WatchWorkspaceRequest,
    diff_prompt_request::After,
};
use promptd_core::workspace::MemoryTree;
use tonic::Code;

use crate::{
    auth::by,
    rig::{Rig, Setup, ask, refused},
};

const SEES_ALL: &str = "operator-token-0001";
const SEES_HEIR: &str = "harbour-token-00002";
const TOKENS: &str = "tokens:
  - {name: operator, token: operator-token-0001}
  - {name: harbour, token: harbour-token-00002, workspaces: [harbor]}
";

/// A word of the layer's id, of its paths and of its findings: of none of them a caller of the heir may learn.
const SECRETS: [&str; 3] = ["acme-base", "vault", "agents.md"];

fn layer() -> MemoryTree {
    MemoryTree::new()
        .file(
            "workspace.yaml",
            "extendable_by: [harbor]\nagent: {persona: Calm.}\ncontext: {files: [{path: docs/POLICY.md}]}\n",
        )
        .file("AGENTS.md", "Of the base.\n")
        .file("SOUL.md", "a\u{202e}b\n")
        .file("docs/POLICY.md", "The policy.\n")
        .file("agents.md", "a near miss")
        .file("skills/vault/tides/SKILL.md", "---\nname: tides\ndescription: Reads tides.\n---\nLook.\n")
        .file("skills/vault/tides/table.csv", "1,2\n")
        .file("skills/vault/broken/SKILL.md", "---\nname: broken\n---\n")
}

fn heir() -> MemoryTree {
    MemoryTree::new()
        .file("workspace.yaml", "extends: [acme-base]\ncontext: {append: [AGENTS.md]}\n")
        .file("AGENTS.md", "Of the harbour.\n")
}

async fn start() -> Rig {
    let tokens = Tokens::parse(TOKENS, "tokens.yaml").unwrap();
    let rig = Rig::start_with(Setup { access: Access::with(tokens), ..Setup::default() }).await;
    rig.publish("acme-base", layer());
    rig.publish("harbor", heir());
    rig
}

fn request() -> AssemblePromptRequest {
    AssemblePromptRequest { include_spans: true, ..ask() }
}

#[tokio::test]
async fn reports_and_spans_say_which_layer_each_byte_came_from() {
    let rig = start().await;
    let answer = rig.prompts().await.assemble_prompt(by(SEES_ALL, request())).await.unwrap().into_inner();
    let source = |id: &str| {
        let section = answer.sections.iter().find(|section| section.id == id).unwrap();
        section.source.clone().map(|source| format!("{} of {}", source.path, source.layer)).unwrap_or_default()
    };
    assert_eq!(source("workspace_context/AGENTS.md"), "AGENTS.md of ");
    assert_eq!(source("workspace_context/docs/POLICY.md"), "@layers/acme-base/docs/POLICY.md of acme-base");
    let said = |text: &str| {
        let spans = answer.sections.iter().flat_map(|section| section.spans.iter().map(move |span| (section, span)));
        let mut of_text = spans.filter(|(section, span)| {
            let message = &answer.messages[section.message_index.unwrap() as usize].content;
            message[span.byte_start as usize..span.byte_end as usize] == *text
        });
        let (_, span) = of_text.next().unwrap_or_else(|| panic!("no span of {text:?}"));
        span.source.clone().map(|source| source.path).unwrap_or_default()
    };
    for (text, path) in [
        ("Of the base.", "@layers/acme-base/AGENTS.md"),
        ("Of the harbour.", "AGENTS.md"),
        ("Calm.", "@layers/acme-base/workspace.yaml"),
        ("tides", "@layers/acme-base/skills/vault/tides/SKILL.md"),
    ] {
        assert_eq!(said(text), path, "{text}");
    }
    let findings: Vec<_> = answer.findings.iter().map(|f| format!("{} {}", f.code, f.path)).collect();
    assert!(findings.contains(&"HIDDEN_CHARACTERS @layers/acme-base/SOUL.md".to_owned()), "{findings:?}");
    assert!(
        findings.contains(&"SKILL_INVALID @layers/acme-base/skills/vault/broken/SKILL.md".to_owned()),
        "{findings:?}"
    );
}

#[tokio::test]
async fn files_of_layers_are_read_by_the_names_that_reports_have() {
    let rig = start().await;
    let mut workspaces = rig.workspaces().await;
    let read = |path: &str| ReadFileRequest { workspace_id: "harbor".into(), path: path.into() };
    for (path, text) in [
        ("AGENTS.md", "Of the base.\n\n\nOf the harbour.\n"),
        ("docs/POLICY.md", "The policy.\n"),
        ("@layers/acme-base/AGENTS.md", "Of the base.\n"),
        ("@layers/acme-base/docs/POLICY.md", "The policy.\n"),
    ] {
        let answer = workspaces.read_file(by(SEES_ALL, read(path))).await.unwrap().into_inner();
        assert_eq!(String::from_utf8(answer.content).unwrap(), text, "{path}");
    }
    let manifest = workspaces.read_file(by(SEES_ALL, read("@layers/acme-base/workspace.yaml"))).await.unwrap();
    assert!(manifest.into_inner().content.starts_with(b"extendable_by"));
    for path in
        ["@layers/acme-base/agents.md", "@layers/acme-base/../x", "@layers/acme-base", "@layers/other/AGENTS.md"]
    {
        refused(workspaces.read_file(by(SEES_ALL, read(path))).await, Code::NotFound, "FILE_NOT_FOUND");
    }

    let skills = ListSkillsRequest { workspace_id: "harbor".into(), include_files: true, ..Default::default() };
    let skills = workspaces.list_skills(by(SEES_ALL, skills)).await.unwrap().into_inner().skills;
    let tides = skills.iter().find(|skill| skill.name == "tides").unwrap();
    assert_eq!(tides.location, "skill://harbor/tides/SKILL.md");
    for (file, path) in [("", "SKILL.md"), ("table.csv", "table.csv")] {
        let request = ReadSkillRequest {
            workspace_id: "harbor".into(),
            name: "tides".into(),
            file: file.into(),
            ..Default::default()
        };
        let answer = workspaces.read_skill(by(SEES_ALL, request)).await.unwrap().into_inner();
        let listed = tides.files.iter().find(|file| file.path == path).unwrap();
        assert_eq!(
            (answer.sha256, answer.path),
            (listed.sha256.clone(), format!("@layers/acme-base/skills/vault/tides/{path}"))
        );
    }
}

/// Everything that a caller of the heir can ask for, as text.
async fn all_answers(rig: &Rig, token: &str) -> String {
    let (mut prompts, mut workspaces) = (rig.prompts().await, rig.workspaces().await);
    let id = || "harbor".to_owned();
    let mut told = String::new();
    let mut tell = |answer: String| told += &answer;
    tell(format!("{:?}", prompts.assemble_prompt(by(token, request())).await));
    for only_shown in [false, true] {
        let request = GetWorkspaceRequest { workspace_id: id(), only_shown };
        tell(format!("{:?}", workspaces.get_workspace(by(token, request)).await));
    }
    tell(format!("{:?}", workspaces.list_workspaces(by(token, proto::ListWorkspacesRequest::default())).await));
    tell(format!("{:?}", workspaces.list_revisions(by(token, ListRevisionsRequest { workspace_id: id() })).await));
    let skills = ListSkillsRequest { workspace_id: id(), include_files: true, ..Default::default() };
    tell(format!("{:?}", workspaces.list_skills(by(token, skills)).await));
    let skill = ReadSkillRequest { workspace_id: id(), name: "tides".into(), ..Default::default() };
    tell(format!("{:?}", workspaces.read_skill(by(token, skill)).await));
    for path in ["workspace.yaml", "AGENTS.md", "docs/POLICY.md"] {
        let request = ReadFileRequest { workspace_id: id(), path: path.into() };
        tell(format!("{:?}", workspaces.read_file(by(token, request)).await));
    }
    let held = rig.store.revisions("harbor").unwrap();
    let known = held.last().unwrap().snapshot.revision.to_string();
    let watch = WatchWorkspaceRequest { workspace_id: id(), known_revision: known.clone() };
    let mut news = workspaces.watch_workspace(by(token, watch)).await.unwrap().into_inner();
    tell(format!("{:?}", news.message().await));
    let diff = DiffPromptRequest {
        workspace_id: id(),
        before_revision: known,
        after: Some(After::AfterRevision(String::new())),
        ..Default::default()
    };
    tell(format!("{:?}", prompts.diff_prompt(by(token, diff)).await));
    told
}

#[tokio::test]
async fn a_caller_of_the_heir_learns_no_id_path_or_finding_of_a_layer() {
    let rig = start().await;
    rig.publish("acme-base", layer().file("docs/POLICY.md", "Another policy.\n"));
    rig.publish("harbor", heir());
    let told = all_answers(&rig, SEES_HEIR).await;
    for secret in SECRETS {
        assert!(!told.contains(secret), "{secret}: {told}");
    }
    for shown in ["Another policy.", "Of the base.", "@1", "LAYER_FAULTY", "@layers/@1"] {
        assert!(told.contains(shown), "{shown}: {told}");
    }
    let operator = all_answers(&rig, SEES_ALL).await;
    for secret in SECRETS {
        assert!(operator.contains(secret), "{secret}: {operator}");
    }
    let mut workspaces = rig.workspaces().await;
    for path in ["@layers/acme-base/AGENTS.md", "@layers/@1/AGENTS.md"] {
        let request = ReadFileRequest { workspace_id: "harbor".into(), path: path.into() };
        refused(workspaces.read_file(by(SEES_HEIR, request)).await, Code::NotFound, "FILE_NOT_FOUND");
    }
}

#[tokio::test]
async fn a_workspace_without_its_layers_says_so_and_no_more() {
    let rig = start().await;
    rig.publish("new", MemoryTree::new().file("workspace.yaml", "extends: [acme-base]\n"));
    let request = AssemblePromptRequest { workspace_id: "new".into(), ..Default::default() };
    let status = refused(
        rig.prompts().await.assemble_prompt(by(SEES_ALL, request)).await,
        Code::FailedPrecondition,
        "WORKSPACE_INVALID",
    );
    assert!(!format!("{status:?}").contains("acme-base"), "{status:?}");
    assert!(status.message().contains("workspace.yaml:1:11"), "{status:?}");
}

#[tokio::test]
async fn a_proposal_has_the_layers_of_the_published_workspace_and_no_others() {
    let rig = start().await;
    rig.publish("open", MemoryTree::new().file("workspace.yaml", "extendable_by: ['*']\n").file("SOUL.md", "Open."));
    let propose = |manifest: &str| DiffPromptRequest {
        workspace_id: "harbor".into(),
        after: Some(After::Proposed(ProposedWorkspace {
            files: vec![ProposedFile { path: "workspace.yaml".into(), content: manifest.into() }],
        })),
        ..Default::default()
    };
    let mut prompts = rig.prompts().await;
    let answer = prompts.diff_prompt(by(SEES_HEIR, propose("extends: [acme-base]\n"))).await.unwrap().into_inner();
    let changed: Vec<_> = answer.sections.iter().map(|section| section.id.as_str()).collect();
    assert!(changed.contains(&"workspace_context/AGENTS.md"), "{changed:?}");
    let status = prompts.diff_prompt(by(SEES_ALL, propose("extends: [open]\n"))).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
}
