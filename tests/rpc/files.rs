//! `ReadFile`.

use promptd::grpc::{Access, Tokens};
use promptd_contract::proto;
use promptd_core::workspace::{MemoryTree, ReadError};
use tonic::Code;

use crate::{
    auth::by,
    rig::{PATIENCE, Rig, Setup, harbor, refused},
};

const MANIFEST: &str = "workspace.yaml";

fn file(path: &str) -> proto::ReadFileRequest {
    proto::ReadFileRequest { workspace_id: "harbor".into(), path: path.into() }
}

/// A workspace with a file of each kind.
fn site(manifest: &str) -> MemoryTree {
    harbor()
        .file(MANIFEST, manifest)
        .file("HEARTBEAT.md", "- [ ] Look at the tide.\n")
        .file("KERN.md", "Of kern.\n")
        .file("docs/MORE.md", "More.\n")
        .file("notes.txt", "Of nobody.\n")
}

const MORE: &str = "context: {files: [{path: docs/MORE.md, purpose: More.}]}\n";

#[tokio::test]
async fn files_of_prompts_are_read_as_they_are_on_the_disk_now() {
    let rig = Rig::start().await;
    rig.publish("harbor", site(MORE));
    let mut client = rig.workspaces().await;
    let get = proto::GetWorkspaceRequest { workspace_id: "harbor".into(), ..Default::default() };
    let workspace = client.get_workspace(get).await.unwrap().into_inner().workspace.unwrap();
    for (path, text) in [
        (MANIFEST, MORE),
        ("AGENTS.md", "# Rules\nAnswer in one sentence.\n"),
        ("HEARTBEAT.md", "- [ ] Look at the tide.\n"),
        ("docs/MORE.md", "More.\n"),
        ("KERN.md", "Of kern.\n"),
    ] {
        let read = client.read_file(file(path)).await.unwrap().into_inner();
        assert_eq!(String::from_utf8(read.content).unwrap(), text, "{path}");
        let known = workspace.context_files.iter().find(|file| file.path == path);
        assert!(known.is_none_or(|file| file.sha256 == read.sha256) && read.sha256.len() == 64, "{path}");
    }
    rig.save("harbor", site(MORE).file("AGENTS.md", "\u{feff}Saved,\r\nnot loaded.").without(MANIFEST));
    let read = client.read_file(file("AGENTS.md")).await.unwrap().into_inner();
    assert_eq!(read.content, "\u{feff}Saved,\r\nnot loaded.".as_bytes());
    refused(client.read_file(file(MANIFEST)).await, Code::NotFound, "FILE_NOT_FOUND");
}

#[tokio::test]
async fn nothing_else_can_be_read() {
    let rig = Rig::start().await;
    rig.publish("harbor", site(MORE));
    let mut client = rig.workspaces().await;
    for path in [
        "",
        ".",
        "..",
        "docs",
        "docs/",
        "notes.txt",
        "IDENTITY.md",
        "agents.md",
        "./AGENTS.md",
        "docs/../AGENTS.md",
        "../harbor/AGENTS.md",
        "/harbor/AGENTS.md",
        "/etc/passwd",
        "skills/git/SKILL.md",
        "skills/git/notes/branches.md",
        "@shared/git/SKILL.md",
        "AGENTS.md\0",
    ] {
        refused(client.read_file(file(path)).await, Code::NotFound, "FILE_NOT_FOUND");
    }
    assert_eq!(*rig.disk.reads.borrow(), 0, "the disk is not asked for them");
    let elsewhere = proto::ReadFileRequest { workspace_id: "none".into(), path: MANIFEST.into() };
    refused(client.read_file(elsewhere).await, Code::NotFound, "WORKSPACE_NOT_FOUND");
}

#[tokio::test]
async fn a_file_that_is_too_large_or_cannot_be_read_is_an_error() {
    let rig = Rig::start().await;
    rig.save("harbor", harbor().head_of("AGENTS.md", "text", (1 << 20) + 1).failing("SOUL.md", ReadError::Denied));
    let mut client = rig.workspaces().await;
    let status = refused(client.read_file(file("AGENTS.md")).await, Code::FailedPrecondition, "FILE_TOO_LARGE");
    assert!(status.message().contains("1048577"), "{status:?}");
    refused(client.read_file(file("SOUL.md")).await, Code::FailedPrecondition, "FILE_UNREADABLE");
}

#[tokio::test]
async fn a_slow_disk_keeps_no_other_call_waiting() {
    let rig = Rig::start().await;
    let client = rig.workspaces().await;
    let disk = rig.disk.slow.lock().await;
    let mut waiting = client.clone();
    let read = tokio::spawn(async move { waiting.read_file(file(MANIFEST)).await.map(drop) });
    let mut reads = rig.disk.reads.subscribe();
    tokio::time::timeout(PATIENCE, reads.wait_for(|reads| *reads == 1)).await.unwrap().unwrap();
    client.clone().list_workspaces(proto::ListWorkspacesRequest::default()).await.unwrap();
    assert!(!read.is_finished());
    drop(disk);
    tokio::time::timeout(PATIENCE, read).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn a_token_that_hides_skills_hides_the_file_that_can_name_them() {
    const TOKEN: &str = "caller-token-0000001";
    let rig = Rig::start_with(Setup { access: Access::with(Tokens::default()), ..Setup::default() }).await;
    rig.publish(
        "harbor",
        site("context: {files: [{path: skills/xurl/MORE.md, purpose: More.}]}\n")
            .file("skills/xurl/MORE.md", "More.\n"),
    );
    let mut client = rig.workspaces().await;
    for (skills, hides_manifest, hides_xurl) in [
        ("", false, false),
        (", skills: ['*']", false, false),
        (", skills: [git, '*']", false, false),
        (", skills: [git]", true, true),
        (", skills: ['x*', git]", true, false),
        (", skills: []", true, true),
    ] {
        let tokens = format!("tokens: [{{name: caller, token: {TOKEN}{skills}}}]");
        rig.access.replace(Tokens::parse(&tokens, "tokens.yaml").unwrap());
        let read = client.read_file(by(TOKEN, file(MANIFEST))).await;
        if hides_manifest {
            let status = refused(read, Code::PermissionDenied, "FILE_HIDDEN");
            assert!(status.message().contains("skills that the token does not admit"), "{status:?}");
        } else {
            read.unwrap();
        }
        client.read_file(by(TOKEN, file("AGENTS.md"))).await.unwrap();
        let of_skill = client.read_file(by(TOKEN, file("skills/xurl/MORE.md"))).await;
        if hides_xurl {
            refused(of_skill, Code::NotFound, "FILE_NOT_FOUND");
        } else {
            of_skill.unwrap();
        }
    }
}

#[tokio::test]
async fn what_no_prompt_of_the_workspace_shows_is_hidden() {
    const PATHS: [&str; 6] = [MANIFEST, "AGENTS.md", "SOUL.md", "docs/MORE.md", "HEARTBEAT.md", "KERN.md"];
    let rig = Rig::start().await;
    let mut client = rig.workspaces().await;
    let more = "files: [{path: docs/MORE.md, purpose: More.}";
    for (settings, hidden) in [
        (format!("context: {{{more}]}}"), &[][..]),
        (
            format!("agent: {{skip_context_files: true}}\ncontext: {{{more}]}}"),
            &["AGENTS.md", "SOUL.md", "docs/MORE.md"],
        ),
        (format!("context: {{{more}], max_chars_total: 0}}"), &PATHS[1..]),
        (format!("context: {{{more}], max_chars_per_file: 0}}"), &PATHS[1..]),
        (format!("context: {{{more}, {{path: SOUL.md, max_chars: 0}}]}}"), &["SOUL.md"]),
        (format!("locked: [profile]\ncontext: {{{more}]}}"), &["KERN.md"]),
        (
            format!("locked: [profile]\nprofile: kern\ncontext: {{{more}]}}"),
            &["SOUL.md", "docs/MORE.md", "HEARTBEAT.md"],
        ),
        (format!("locked: [persona, ephemeral, agent, time_zone, inputs]\ncontext: {{{more}]}}"), &[]),
    ] {
        rig.publish("harbor", site(&settings));
        for path in PATHS {
            let read = client.read_file(file(path)).await;
            if hidden.contains(&path) {
                refused(read, Code::PermissionDenied, "FILE_HIDDEN");
            } else {
                read.unwrap_or_else(|status| panic!("{settings}: {path}: {status:?}"));
            }
        }
    }
}
