//! `DiffPrompt`: two revisions, or proposed files.

use std::sync::Arc;

use promptd_contract::proto::{
    DiffPromptRequest, DiffPromptResponse, ProposedFile, ProposedWorkspace, SectionChange, Turn,
    diff_prompt_request::After,
};
use promptd_core::{
    id::Id,
    profile::ProfileSet,
    render::RenderFormat,
    workspace::{self, Load, MemoryTree},
};
use promptd_source::store::{Loaded, State};
use tonic::{Code, Request, Status};

use crate::{
    auth::{ALL, ONE, by, start},
    rig::{NOW, Rig, ask, harbor, refused},
};

const RULES: &str = "# Rules\nAnswer in one sentence.\n";

fn request(after: impl Into<Option<After>>) -> DiffPromptRequest {
    DiffPromptRequest { workspace_id: "harbor".into(), after: after.into(), ..Default::default() }
}

fn proposed(files: &[(&str, &str)]) -> After {
    let file = |(path, text): &(&str, &str)| ProposedFile { path: (*path).into(), content: text.as_bytes().to_vec() };
    After::Proposed(ProposedWorkspace { files: files.iter().map(file).collect() })
}

async fn diff(rig: &Rig, request: DiffPromptRequest) -> Result<DiffPromptResponse, Status> {
    rig.prompts().await.diff_prompt(request).await.map(tonic::Response::into_inner)
}

async fn revision(rig: &Rig) -> String {
    rig.prompts().await.assemble_prompt(ask()).await.unwrap().into_inner().revision
}

fn changes(diff: &DiffPromptResponse) -> Vec<(&str, SectionChange)> {
    diff.sections.iter().map(|section| (section.id.as_str(), section.change())).collect()
}

/// Every text of an answer.
fn text(diff: &DiffPromptResponse) -> String {
    format!("{diff:?}")
}

#[tokio::test]
async fn two_revisions_are_compared() {
    let rig = Rig::start().await;
    let first = revision(&rig).await;
    rig.publish("harbor", harbor().file("AGENTS.md", "# Rules\nAnswer in two sentences.\n").without("SOUL.md"));
    let second = revision(&rig).await;
    let asked = DiffPromptRequest {
        before_revision: first.clone(),
        token_encoding: "o200k_base".into(),
        ..request(Some(After::AfterRevision(second.clone())))
    };
    let found = diff(&rig, asked).await.unwrap();
    assert_eq!(
        changes(&found),
        [
            ("workspace_context/AGENTS.md", SectionChange::Changed),
            ("workspace_context/SOUL.md", SectionChange::Removed),
        ]
    );
    let (before, after) = (found.before.as_ref().unwrap(), found.after.as_ref().unwrap());
    assert_eq!((&before.revision, &after.revision), (&first, &second));
    assert!(before.size.unwrap().tokens.unwrap() > after.size.unwrap().tokens.unwrap());
    assert_eq!(found.caches.len(), RenderFormat::ALL.len() - 1, "one a format but plain text");
    assert!(found.caches.iter().all(|cache| cache.kept_bytes < cache.before_bytes && !cache.section.is_empty()));
    // The other way round, and against the newest, which is the default of both sides.
    let back = DiffPromptRequest { before_revision: second, ..request(Some(After::AfterRevision(first.clone()))) };
    let back = diff(&rig, back).await.unwrap();
    assert_eq!(changes(&back)[1].1, SectionChange::Added);
    let newest = diff(&rig, DiffPromptRequest { before_revision: first, ..request(None) }).await.unwrap();
    assert_eq!(changes(&newest), changes(&found));
    let same = diff(&rig, request(None)).await.unwrap();
    assert!(same.same && same.sections.is_empty() && !same.coarse);
}

#[tokio::test]
async fn proposed_files_are_compared_and_change_nothing() {
    let rig = Rig::start().await;
    let before = revision(&rig).await;
    let files = [
        ("AGENTS.md", "# Rules\nAnswer in two sentences.\n"),
        ("SOUL.md", "Calm.\n"),
        ("skills/git/SKILL.md", "---\nname: git\ndescription: Uses git.\n---\nCommit often.\n"),
        ("skills/xurl/SKILL.md", "---\nname: xurl\ndescription: Fetches pages.\n---\n"),
    ];
    let found = diff(&rig, request(proposed(&files))).await.unwrap();
    assert_eq!(changes(&found), [("workspace_context/AGENTS.md", SectionChange::Changed)]);
    let hunk = &found.sections[0].text.as_ref().unwrap().hunks[0];
    let changed: Vec<_> = hunk.lines.iter().flat_map(|line| &line.pieces).filter(|piece| piece.changed).collect();
    assert_eq!(
        changed.iter().map(|piece| piece.text.as_str()).collect::<Vec<_>>(),
        ["one", "sentence", "two", "sentences"]
    );
    assert_eq!(revision(&rig).await, before, "nothing is published");
}

#[tokio::test]
async fn what_cannot_be_used_is_named() {
    let rig = Rig::start().await;
    let expired = DiffPromptRequest { before_revision: "a".repeat(64), ..request(None) };
    refused(diff(&rig, expired).await, Code::NotFound, "REVISION_EXPIRED");
    let expired = request(Some(After::AfterRevision("b".repeat(64))));
    refused(diff(&rig, expired).await, Code::NotFound, "REVISION_EXPIRED");
    let unknown = DiffPromptRequest { workspace_id: "nobody".into(), ..request(None) };
    refused(diff(&rig, unknown).await, Code::NotFound, "WORKSPACE_NOT_FOUND");
    for (asked, field) in [
        (DiffPromptRequest { before_revision: "x".into(), ..request(None) }, "before_revision"),
        (DiffPromptRequest { profile: "nothing".into(), ..request(None) }, "profile"),
        (request(proposed(&[("../AGENTS.md", "x")])), "proposed.files[0].path"),
        (request(proposed(&[("AGENTS.md", "x"), ("workspace.yaml", "a: [")])), "proposed.files[1].content"),
        (request(proposed(&[("workspace.yaml", "agent: {naem: x}\nskills: 3\n")])), "proposed.files[0].content"),
    ] {
        let status = refused(diff(&rig, asked).await, Code::InvalidArgument, "INVALID_REQUEST");
        assert!(format!("{:?}", tonic_types::StatusExt::get_error_details(&status)).contains(field), "{status:?}");
    }
}

#[tokio::test]
async fn locks_hold_for_both_sides() {
    let rig = Rig::start().await;
    let open = revision(&rig).await;
    rig.publish("harbor", harbor().file("workspace.yaml", "locked: [persona, profile]\n"));
    let turn = || Some(Turn { persona: Some("A pirate.".into()), ..Default::default() });
    let asked = DiffPromptRequest { turn: turn(), ..request(proposed(&[("AGENTS.md", RULES)])) };
    refused(diff(&rig, asked).await, Code::PermissionDenied, "FIELD_LOCKED");
    let asked = DiffPromptRequest { before_revision: open, ..request(None) };
    refused(diff(&rig, asked).await, Code::NotFound, "REVISION_EXPIRED");
    let asked = DiffPromptRequest { profile: "kern".into(), ..request(proposed(&[("AGENTS.md", RULES)])) };
    refused(diff(&rig, asked).await, Code::PermissionDenied, "FIELD_LOCKED");
}

#[tokio::test]
async fn a_proposal_opens_nothing_that_the_workspace_closes() {
    let rig = Rig::start().await;
    let closed = "expose_paths: false\nagent: {skip_context_files: true}\nskills: {blocklist: [\"*\"]}\n";
    rig.publish("harbor", harbor().file("workspace.yaml", closed).file("secret.md", "The safe's number."));
    let opens = "context: {files: [{path: secret.md, purpose: x.}]}\nexpose_paths: true\n";
    let files = [("workspace.yaml", opens), ("skills/own/SKILL.md", "---\nname: own\ndescription: Own.\n---\n")];
    let found = text(&diff(&rig, request(proposed(&files))).await.unwrap());
    for hidden in ["The safe's number", "Answer in one sentence", "Calm", "Uses git", "internal-x", "/srv/harbor"] {
        assert!(!found.contains(hidden), "{hidden} in {found}");
    }
    assert!(found.contains("Own."), "{found}");
}

#[tokio::test]
async fn a_token_sees_its_workspaces_and_skills_alone() {
    let rig = start().await;
    let first = harbor();
    let second = harbor().file("skills/xurl/SKILL.md", "---\nname: xurl\ndescription: Changed.\n---\n");
    rig.publish("harbor", first);
    let mut prompts = rig.prompts().await;
    let before = prompts.assemble_prompt(by(ONE, ask())).await.unwrap().into_inner().revision;
    rig.publish("harbor", second);
    let asked = DiffPromptRequest { before_revision: before, ..request(None) };
    let found = prompts.diff_prompt(by(ONE, asked)).await.unwrap().into_inner();
    assert!(found.sections.is_empty() && !text(&found).contains("xurl"), "{found:?}");
    let files = [("AGENTS.md", RULES), ("skills/xurl/SKILL.md", "---\nname: xurl\ndescription: Own.\n---\n")];
    let found = prompts.diff_prompt(by(ONE, request(proposed(&files)))).await.unwrap().into_inner();
    assert!(!text(&found).contains("xurl"), "{found:?}");
    let other = DiffPromptRequest { workspace_id: "secret".into(), ..request(None) };
    refused(prompts.diff_prompt(by(ONE, other)).await, Code::PermissionDenied, "WORKSPACE_FORBIDDEN");
    refused(prompts.diff_prompt(Request::new(request(None))).await, Code::Unauthenticated, "TOKEN_MISSING");
}

/// Shared skills are not files of the workspace, so that a proposal has those that its prompts show.
#[tokio::test]
async fn a_proposal_keeps_the_shared_skills_that_are_shown() {
    let rig = start().await;
    let skill = |name: &str| format!("---\nname: {name}\ndescription: The shared {name}.\n---\n");
    let shared = ["git", "xurl", "internal-y"].map(|name| (format!("{name}/SKILL.md"), skill(name)));
    let own =
        MemoryTree::new().file("AGENTS.md", RULES).file("workspace.yaml", "skills: {blocklist: [\"internal-*\"]}\n");
    let snapshot = workspace::load(&Load {
        id: &Id::parse("harbor").unwrap(),
        root: "/srv/harbor",
        tree: &own,
        shared_skills: &[("/srv/shared", &MemoryTree::from_iter(shared))],
        profiles: Arc::new(ProfileSet::built_in()),
        settings: Arc::default(),
        previous: None,
    });
    let at = jiff::Timestamp::new(NOW, 0).unwrap();
    let state =
        State::Ready(Arc::new(Loaded { snapshot: snapshot.unwrap().into(), at, origin: None, candidate: None }));
    rig.store.publish(&Id::parse("harbor").unwrap(), state);
    let asked = || request(proposed(&[("AGENTS.md", RULES)]));
    let all = rig.prompts().await.diff_prompt(by(ALL, asked())).await.unwrap().into_inner();
    assert!(all.sections.is_empty(), "as published, and nothing that its blocklist hides: {all:?}");
    let one = rig.prompts().await.diff_prompt(by(ONE, asked())).await.unwrap().into_inner();
    assert!(one.sections.is_empty() && !text(&one).contains("xurl"), "{one:?}");
}

#[tokio::test]
async fn hostile_proposals_are_answered() {
    let rig = Rig::start().await;
    let line = |word: &str, i: u32| [word.to_owned(), i.to_string(), "\n".to_owned()];
    let lines = |word: &str| (0..100_000).flat_map(|i| line(word, i)).collect::<String>();
    let limits = "context: {max_chars_per_file: 2000000, max_chars_total: 2000000}\n";
    rig.publish("harbor", MemoryTree::new().file("AGENTS.md", lines("a")).file("workspace.yaml", limits));
    let found = diff(&rig, request(proposed(&[("AGENTS.md", &lines("b")), ("workspace.yaml", limits)]))).await.unwrap();
    let diff = found.sections.iter().find(|section| section.id == "workspace_context/AGENTS.md").unwrap();
    let text = diff.text.as_ref().unwrap();
    assert!(found.coarse && text.coarse && text.lines_left_out > 100_000, "{}", text.lines_left_out);
    assert!(text.hunks.iter().map(|hunk| hunk.lines.len()).sum::<usize>() <= 5_000);
}
