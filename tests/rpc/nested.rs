//! Nested context files: `turn.working_directory`, and what shows which there are.

use promptd_contract::proto::{
    AssemblePromptRequest, AssemblePromptResponse, DiffPromptRequest, GetWorkspaceRequest, ProposedFile,
    ProposedWorkspace, ReadFileRequest, SectionChange, Turn, diff_prompt_request::After,
};
use promptd_core::workspace::MemoryTree;
use tonic::{Code, Status};

use crate::rig::{Rig, ask, harbor, refused};

const NESTED: &str = "context: {nested: [AGENTS.md]}\n";

fn site(manifest: &str) -> MemoryTree {
    harbor()
        .file("workspace.yaml", manifest)
        .file("services/AGENTS.md", "Rules of services.\n")
        .file("services/api/AGENTS.md", "Rules of the API.\n")
        .folder("services/api/src")
}

async fn assemble(rig: &Rig, directory: &str) -> Result<AssemblePromptResponse, Status> {
    let turn = Turn { working_directory: directory.into(), ..Turn::default() };
    let request = AssemblePromptRequest { turn: Some(turn), include_spans: true, ..ask() };
    rig.prompts().await.assemble_prompt(request).await.map(tonic::Response::into_inner)
}

fn codes(answer: &AssemblePromptResponse) -> Vec<&str> {
    answer.findings.iter().map(|finding| finding.code.as_str()).collect()
}

#[tokio::test]
async fn the_files_on_the_way_are_sections_with_their_place_and_spans() {
    let rig = Rig::start().await;
    rig.publish("harbor", site(NESTED));
    let answer = assemble(&rig, "./services/api/src/").await.unwrap();
    let files: Vec<_> = answer
        .sections
        .iter()
        .filter(|section| section.id.contains("/AGENTS.md") && section.included_size.is_some())
        .collect();
    let ids: Vec<_> = files.iter().map(|section| section.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "workspace_context/AGENTS.md",
            "workspace_context/services/AGENTS.md",
            "workspace_context/services/api/AGENTS.md"
        ]
    );
    let nearest = files[2];
    let message = &answer.messages[nearest.message_index.unwrap() as usize].content;
    let text = &message[nearest.byte_start as usize..nearest.byte_end as usize];
    assert!(text.starts_with("## services/api/AGENTS.md\n") && text.ends_with("\n\nRules of the API."), "{text}");
    assert_eq!(nearest.source.as_ref().unwrap().path, "services/api/AGENTS.md");
    let of_file: Vec<_> = nearest
        .spans
        .iter()
        .filter(|span| span.source.as_ref().is_some_and(|source| source.path == "services/api/AGENTS.md"))
        .map(|span| (&message[span.byte_start as usize..span.byte_end as usize], span.source_start, span.source_end))
        .collect();
    assert_eq!(of_file, [("Rules of the API.", 0, 17)]);
    assert!(codes(&answer).is_empty(), "{:?}", answer.findings);
    let elsewhere = assemble(&rig, "services/web").await.unwrap();
    assert!(!elsewhere.messages.iter().any(|message| message.content.contains("API")));
    assert_eq!(codes(&elsewhere), ["WORKING_DIRECTORY_UNKNOWN"]);
}

#[tokio::test]
async fn a_folder_outside_the_workspace_is_refused() {
    let rig = Rig::start().await;
    rig.publish("harbor", site(NESTED));
    for outside in ["/", "/srv/harbor", "..", "services/../..", "a\\b", "C:/Users", "a\0b", &"a/".repeat(4_000)] {
        let status = assemble(&rig, outside).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{outside:?}");
        assert!(status.message().contains("turn.working_directory"), "{outside:?}: {}", status.message());
    }
    rig.publish("harbor", site("context: {nested: [AGENTS.md]}\nlocked: [working_directory]\n"));
    refused(assemble(&rig, "services").await, Code::PermissionDenied, "FIELD_LOCKED");
    assemble(&rig, ".").await.unwrap();
}

#[tokio::test]
async fn the_files_are_listed_and_read() {
    let rig = Rig::start().await;
    rig.publish("harbor", site(NESTED));
    let mut client = rig.workspaces().await;
    let get = || GetWorkspaceRequest { workspace_id: "harbor".into(), ..Default::default() };
    let file = |path: &str| ReadFileRequest { workspace_id: "harbor".into(), path: path.into() };
    let workspace = client.get_workspace(get()).await.unwrap().into_inner().workspace.unwrap();
    let paths: Vec<_> = workspace.context_files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["AGENTS.md", "SOUL.md", "services/AGENTS.md", "services/api/AGENTS.md"]);
    let total: u64 = workspace.context_files.iter().map(|file| file.size.unwrap().bytes).sum();
    assert_eq!(workspace.context_size.unwrap().bytes, total);
    let read = client.read_file(file("services/api/AGENTS.md")).await.unwrap().into_inner();
    assert_eq!(read.content, b"Rules of the API.\n");
    refused(client.read_file(file("services/api")).await, Code::NotFound, "FILE_NOT_FOUND");
    for (manifest, code, reason) in [
        ("{}\n", Code::NotFound, "FILE_NOT_FOUND"),
        ("context: {nested: [AGENTS.md]}\nagent: {skip_context_files: true}\n", Code::PermissionDenied, "FILE_HIDDEN"),
        ("context: {nested: [AGENTS.md]}\nlocked: [working_directory]\n", Code::PermissionDenied, "FILE_HIDDEN"),
        ("context: {nested: [AGENTS.md]}\nprofile: kai\nlocked: [profile]\n", Code::PermissionDenied, "FILE_HIDDEN"),
    ] {
        rig.publish("harbor", site(manifest));
        refused(client.read_file(file("services/api/AGENTS.md")).await, code, reason);
    }
}

#[tokio::test]
async fn proposed_nested_files_are_compared_in_the_folders_that_there_are() {
    let rig = Rig::start().await;
    rig.publish("harbor", site(NESTED));
    let files = [
        ("workspace.yaml", NESTED),
        ("AGENTS.md", "# Rules\nAnswer in one sentence.\n"),
        ("SOUL.md", "Calm.\n"),
        ("services/AGENTS.md", "Rules of services.\n"),
        ("services/api/AGENTS.md", "Other rules.\n"),
        ("services/api/src/AGENTS.md", "New rules.\n"),
        ("services/web/AGENTS.md", "Rules of the web.\n"),
    ];
    let file = |(path, text): &(&str, &str)| ProposedFile { path: (*path).into(), content: text.as_bytes().to_vec() };
    let diff = async |directory: &str, files: &[(&str, &str)]| {
        let turn = Turn { working_directory: directory.into(), ..Turn::default() };
        let request = DiffPromptRequest {
            workspace_id: "harbor".into(),
            turn: Some(turn),
            after: Some(After::Proposed(ProposedWorkspace { files: files.iter().map(file).collect() })),
            ..Default::default()
        };
        rig.prompts().await.diff_prompt(request).await.unwrap().into_inner()
    };
    let found = diff("services/api/src", &files).await;
    let changes: Vec<_> = found
        .sections
        .iter()
        .filter(|section| section.id.starts_with("workspace_context/"))
        .map(|section| (section.id.as_str(), section.change()))
        .collect();
    assert_eq!(
        changes,
        [
            ("workspace_context/services/api/AGENTS.md", SectionChange::Changed),
            ("workspace_context/services/api/src/AGENTS.md", SectionChange::Added),
        ]
    );
    // The folder `services/api/src` is there, whatever files of it are proposed.
    let fewer = diff("services/api/src", &files[..5]).await;
    assert!(!format!("{fewer:?}").contains("WORKING_DIRECTORY_UNKNOWN"));
}
