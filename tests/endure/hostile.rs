//! Hostile workspaces next to good ones: only the callers of the hostile ones may notice.

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    time::{Duration, Instant},
};

use promptd::grpc::api::{
    prompt_service_client::PromptServiceClient, workspace_service_client::WorkspaceServiceClient,
};
use promptd_contract::proto::{AssemblePromptRequest, GetWorkspaceRequest, Turn};
use tonic::{Code, transport::Channel};

use super::site::{Site, WORKSPACES, resident, write};

/// The longest that one call may take meanwhile, also on a busy machine.
const LONGEST: Duration = Duration::from_secs(5);
/// The most bytes that serving all this may take: far less than any of the bombs would expand to.
const MEMORY: u64 = 256 << 20;

/// An attack on a hostile workspace.
type Attack = fn(&Path);

/// Run one after the other.
const ATTACKS: [(&str, Attack); 12] = [
    ("a FIFO for a context file", |ws| fifo(&ws.join("AGENTS.md"))),
    ("20 GiB of nothing", |ws| fs::File::create(ws.join("SOUL.md")).unwrap().set_len(20 << 30).unwrap()),
    ("a link to the host", |ws| symlink("/etc/passwd", ws.join("IDENTITY.md")).unwrap()),
    ("a device", |ws| symlink("/dev/zero", ws.join("HEARTBEAT.md")).unwrap()),
    ("a FIFO for a skill", |ws| fifo(&folder(ws, "skills/pipe").join("SKILL.md"))),
    ("a circle of folders", |ws| symlink("..", folder(ws, "skills/round").join("again")).unwrap()),
    ("tag characters", |ws| skill(ws, "tags", "description: Formats.\u{e0049}\u{e0067}\u{202e}\n")),
    ("a bomb of aliases", |ws| {
        let level = |n: u8| {
            format!("  {0}: &{0} [{1}]\n", char::from(b'b' + n), format!("*{},", char::from(b'a' + n)).repeat(9))
        };
        let bomb: String = (0..9).map(level).collect();
        skill(ws, "bomb", &format!("description: x\nmetadata:\n  a: &a [x,x]\n{bomb}"));
        write(&ws.join("workspace.yaml"), &format!("inputs:\n  a: &a [x,x]\n{bomb}"));
    }),
    ("a megabyte in a line", |ws| {
        skill(ws, "long", &format!("description: {}\n", "y".repeat(1 << 20)));
        write(&ws.join("workspace.yaml"), &format!("agent: {{persona: \"{}\"}}\n", "z".repeat(1 << 20)));
    }),
    ("a thousand brackets", |ws| write(&ws.join("workspace.yaml"), &"[".repeat(1_000))),
    ("10,000 folders of skills", |ws| (0..10_000).for_each(|n| drop(folder(ws, &format!("skills/s{n}"))))),
    ("a FIFO for the settings", |ws| {
        fs::remove_file(ws.join("workspace.yaml")).unwrap();
        fifo(&ws.join("workspace.yaml"));
    }),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_workspace_does_not_affect_others() {
    let _alone = super::ALONE.lock().await;
    let root = tempfile::tempdir().unwrap();
    let site = Site::start(root.path()).await;
    let channel = Channel::from_shared(format!("http://{}", site.address)).unwrap().connect().await.unwrap();
    let (before, memory) = (good(&channel).await, resident());
    let hostile = root.path().join("hostile");
    fs::create_dir(&hostile).unwrap();
    for (what, attack) in ATTACKS {
        // Calls must be answered meanwhile too.
        let at_once = tokio::task::spawn_blocking({
            let hostile = hostile.clone();
            move || attack(&hostile)
        });
        assert_eq!(good(&channel).await, before, "while: {what}");
        at_once.await.unwrap();
        assert_eq!(good(&channel).await, before, "after: {what}");
        settled(&channel, what).await;
        assert_eq!(good(&channel).await, before, "with: {what}");
    }
    let grown = resident().saturating_sub(memory);
    assert!(grown < MEMORY, "{grown} bytes");
}

/// Revision and digest that each good workspace answers to the same turn.
async fn good(channel: &Channel) -> Vec<(String, String)> {
    let mut answers = Vec::new();
    for id in WORKSPACES {
        let began = Instant::now();
        let turn = Turn { now: Some(prost_types::Timestamp::default()), ..Turn::default() };
        let request = AssemblePromptRequest { workspace_id: id.into(), turn: Some(turn), ..Default::default() };
        let prompt = PromptServiceClient::new(channel.clone()).assemble_prompt(request).await.unwrap().into_inner();
        assert!(began.elapsed() < LONGEST, "{id} took {:?}", began.elapsed());
        answers.push((prompt.revision, prompt.digest));
    }
    answers
}

/// Waits until the hostile workspace is served or refused as invalid, in a bounded answer.
async fn settled(channel: &Channel, what: &str) {
    let mut client = WorkspaceServiceClient::new(channel.clone());
    let began = Instant::now();
    loop {
        match client.get_workspace(GetWorkspaceRequest { workspace_id: "hostile".into(), ..Default::default() }).await {
            Ok(workspace) => {
                let shown = workspace.into_inner().workspace.unwrap();
                assert!(shown.findings.len() <= 101, "{what}: {}", shown.findings.len());
                assert!(!format!("{shown:?}").contains("root:"), "{what}: a file of the host");
                return;
            }
            Err(status) if status.code() == Code::FailedPrecondition => return,
            Err(status) => assert_eq!(status.code(), Code::NotFound, "{what}: {status:?}"),
        }
        assert!(began.elapsed() < 6 * LONGEST, "{what}: it was never answered");
        tokio::task::yield_now().await;
    }
}

fn folder(ws: &Path, path: &str) -> std::path::PathBuf {
    let folder = ws.join(path);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn skill(ws: &Path, name: &str, front_matter: &str) {
    write(&ws.join("skills").join(name).join("SKILL.md"), &format!("---\nname: {name}\n{front_matter}---\n"));
}

fn fifo(path: &Path) {
    rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::from(0o600)).unwrap();
}
