//! `WorkspaceService`.

use promptd_contract::proto;
use promptd_core::workspace::MemoryTree;
use tonic::{Code, Streaming};
use tonic_types::StatusExt as _;

use crate::rig::{PATIENCE, Rig, harbor, refused};

fn get(id: &str) -> proto::GetWorkspaceRequest {
    proto::GetWorkspaceRequest { workspace_id: id.into(), ..Default::default() }
}

fn watch(id: &str, known_revision: &str) -> proto::WatchWorkspaceRequest {
    proto::WatchWorkspaceRequest { workspace_id: id.into(), known_revision: known_revision.into() }
}

fn read(name: &str, file: &str) -> proto::ReadSkillRequest {
    proto::ReadSkillRequest {
        workspace_id: "harbor".into(),
        name: name.into(),
        file: file.into(),
        ..Default::default()
    }
}

async fn next(stream: &mut Streaming<proto::WatchWorkspaceResponse>) -> proto::WatchWorkspaceResponse {
    tokio::time::timeout(PATIENCE, stream.message()).await.unwrap().unwrap().expect("the stream is open")
}

#[tokio::test]
async fn workspaces_come_in_pages_in_id_order() {
    let rig = Rig::start().await;
    for id in ["b", "a", "c"] {
        rig.publish(id, MemoryTree::new());
    }
    let mut client = rig.workspaces().await;
    let (mut ids, mut token) = (Vec::new(), String::new());
    loop {
        let request = proto::ListWorkspacesRequest { page_size: 3, page_token: token, ..Default::default() };
        let page = client.list_workspaces(request).await.unwrap().into_inner();
        ids.extend(page.workspaces.into_iter().map(|workspace| workspace.id));
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(ids, ["a", "b", "c", "harbor"]);
    let bad = proto::ListWorkspacesRequest { page_size: -1, page_token: "x".into(), query: "q".repeat(257) };
    let status = refused(client.list_workspaces(bad).await, Code::InvalidArgument, "INVALID_REQUEST");
    let fields = status.get_details_bad_request().unwrap().field_violations;
    let fields: Vec<_> = fields.iter().map(|violation| violation.field.as_str()).collect();
    assert_eq!(fields, ["page_size", "page_token", "query"]);
}

#[tokio::test]
async fn a_query_finds_workspaces_by_id_and_by_the_agents_name() {
    let rig = Rig::start().await;
    for (id, name) in [("north-1", "Ägir"), ("north-2", "Njord"), ("south", "Skadi of the North")] {
        rig.publish(id, MemoryTree::new().file("workspace.yaml", format!("agent: {{name: {name}}}\n")));
    }
    rig.publish("North-broken", MemoryTree::new().file("workspace.yaml", "naem: x\n"));
    let mut client = rig.workspaces().await;
    for (query, found) in [
        ("", &["North-broken", "harbor", "north-1", "north-2", "south"][..]),
        ("NORTH", &["North-broken", "north-1", "north-2", "south"]),
        ("äGIR", &["north-1"]),
        ("of the", &["south"]),
        ("1", &["north-1"]),
        ("east", &[]),
        (&"q".repeat(256), &[]),
    ] {
        let (mut ids, mut token) = (Vec::new(), String::new());
        loop {
            let request = proto::ListWorkspacesRequest { page_size: 2, page_token: token, query: query.into() };
            let page = client.list_workspaces(request).await.unwrap().into_inner();
            ids.extend(page.workspaces.into_iter().map(|workspace| workspace.id));
            token = page.next_page_token;
            if token.is_empty() {
                break;
            }
        }
        assert_eq!(ids, found, "{query}");
    }
}

#[tokio::test]
async fn lists_count_findings_and_add_up_context_files() {
    let rig = Rig::start().await;
    let files = harbor()
        .file("AGENTS.md", "Zoë\n")
        .file("workspace.yaml", "context: {files: [{path: docs/MORE.md, purpose: More.}]}\n")
        .file("docs/MORE.md", "twelve chars")
        .file("HEARTBEAT.md", "- Not a context file.\n")
        .file("skills/bad/SKILL.md", "---\nname: [\n---\n");
    rig.publish("harbor", files);
    rig.publish("broken", MemoryTree::new().file("workspace.yaml", "naem: x\nlocked: 3\n"));
    let mut client = rig.workspaces().await;
    let listed = client.list_workspaces(proto::ListWorkspacesRequest::default()).await.unwrap().into_inner().workspaces;
    let whole = client.get_workspace(get("harbor")).await.unwrap().into_inner().workspace.unwrap();
    let count = |severity: proto::Severity| whole.findings.iter().filter(|found| found.severity() == severity).count();
    assert!(count(proto::Severity::Error) > 0, "{:?}", whole.findings);
    assert_eq!(whole.errors as usize, count(proto::Severity::Error));
    assert_eq!(whole.warnings as usize, count(proto::Severity::Warning));
    let texts = ["Zoë", "Calm.", "twelve chars"];
    let [bytes, chars] =
        [texts.map(str::len), texts.map(|text| text.chars().count())].map(|all| all.iter().sum::<usize>());
    let size = whole.context_size.unwrap();
    assert_eq!((size.bytes, size.chars, size.tokens), (bytes as u64, chars as u64, None));
    let summary = proto::Workspace { context_files: Vec::new(), findings: Vec::new(), ..whole };
    let broken = proto::Workspace { id: "broken".into(), errors: 2, ..Default::default() };
    assert_eq!(listed, [broken, summary]);
}

#[tokio::test]
async fn a_workspace_shows_its_files_and_skills() {
    let rig = Rig::start().await;
    let workspace = rig.workspaces().await.get_workspace(get("harbor")).await.unwrap().into_inner().workspace.unwrap();
    let paths: Vec<_> = workspace.context_files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["AGENTS.md", "SOUL.md"]);
    assert_eq!((workspace.skills_shown, workspace.skills_hidden), (2, 1));
    assert_eq!((workspace.profile.as_str(), workspace.agent_id.as_str()), ("five-layer", "harbor"));
    assert_eq!(workspace.loaded_at.unwrap().seconds, crate::rig::NOW);
}

#[tokio::test]
async fn skills_are_listed_with_why_they_are_hidden() {
    let rig = Rig::start().await;
    let mut client = rig.workspaces().await;
    let filter =
        proto::SkillFilter { blocklist: Some(proto::NameGlobs { globs: vec!["XURL".into()] }), ..Default::default() };
    let request =
        proto::ListSkillsRequest { workspace_id: "harbor".into(), skill_filter: Some(filter), ..Default::default() };
    let skills = client.list_skills(request).await.unwrap().into_inner().skills;
    let seen: Vec<_> = skills.iter().map(|skill| (skill.name.as_str(), skill.shown)).collect();
    assert_eq!(seen, [("git", true), ("internal-x", false), ("xurl", false)]);
    assert!(skills[0].hidden_reason.is_empty() && skills[1..].iter().all(|skill| !skill.hidden_reason.is_empty()));
}

#[tokio::test]
async fn the_files_of_shown_skills_are_listed_when_asked_for() {
    let rig = Rig::start().await;
    let mut client = rig.workspaces().await;
    let request = proto::ListSkillsRequest { workspace_id: "harbor".into(), include_files: true, ..Default::default() };
    let skills = client.list_skills(request.clone()).await.unwrap().into_inner().skills;
    for skill in &skills {
        assert_eq!(skill.files.is_empty() && skill.front_matter.is_empty(), !skill.shown, "{}", skill.name);
    }
    let git = skills.iter().find(|skill| skill.name == "git").unwrap();
    assert!(git.front_matter.starts_with("name: git\n") && !git.front_matter.contains("---"), "{}", git.front_matter);
    assert_eq!((git.files[0].path.as_str(), git.files[0].sha256.as_str()), ("SKILL.md", git.sha256.as_str()));
    for file in &git.files {
        let read = client.read_skill(read("git", &file.path)).await.unwrap().into_inner();
        assert_eq!((file.bytes, &file.sha256), (read.content.len() as u64, &read.sha256), "{}", file.path);
    }

    let one = proto::ListSkillsRequest { name: "git".into(), ..request.clone() };
    assert_eq!(client.list_skills(one).await.unwrap().into_inner().skills, std::slice::from_ref(git));

    let shown = proto::ListSkillsRequest { only_shown: true, ..request.clone() };
    let shown = client.list_skills(shown).await.unwrap().into_inner().skills;
    assert_eq!(shown.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>(), ["git", "xurl"]);

    let many = (0..30).fold(harbor(), |tree, skill| {
        let text = format!("---\nname: s{skill}\ndescription: Many files.\n---\n");
        let tree = tree.file(&format!("skills/s{skill}/SKILL.md"), text.as_bytes());
        (0..400).fold(tree, |tree, file| tree.file(&format!("skills/s{skill}/{file}.txt"), ""))
    });
    rig.publish("harbor", many.head_of("skills/s0/399.txt", vec![0; 16], 5 << 20));
    let (mut pages, mut request) = (Vec::new(), request);
    loop {
        let page = client.list_skills(request.clone()).await.unwrap().into_inner();
        pages.push(page.skills);
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    let files = |page: &Vec<proto::Skill>| page.iter().map(|skill| skill.files.len()).sum::<usize>();
    assert!(pages.iter().all(|page| files(page) <= 5_000 && !page.is_empty()), "{}", pages.len());
    assert_eq!(pages.iter().map(files).sum::<usize>(), 30 * 401 + 3);
    let large = pages.iter().flatten().flat_map(|skill| &skill.files).find(|file| file.bytes == 5 << 20).unwrap();
    assert_eq!((large.path.as_str(), large.sha256.as_str()), ("399.txt", ""));
}

#[tokio::test]
async fn nothing_is_said_of_hidden_skills_where_only_shown_ones_are_asked_for() {
    let rig = Rig::start().await;
    let tree = ["shown", "hidden"].into_iter().fold(harbor(), |tree, name| {
        let odd = format!("---\nname: {}\ndescription: x\n---\n", name.to_uppercase());
        let tree = tree.file(&format!("skills/{name}/SKILL.md"), odd);
        tree.file(&format!("skills/{name}-broken/SKILL.md"), "---\nno end\n")
    });
    rig.publish("harbor", tree.file("workspace.yaml", "skills: {blocklist: [hidden*]}\n"));
    let mut client = rig.workspaces().await;
    let mut paths = async |only_shown| {
        let request = proto::GetWorkspaceRequest { only_shown, ..get("harbor") };
        let found = client.get_workspace(request).await.unwrap().into_inner().workspace.unwrap().findings;
        found.into_iter().map(|finding| finding.path).filter(|path| path.starts_with("skills/")).collect::<Vec<_>>()
    };
    let (all, shown) = (paths(false).await, paths(true).await);
    for (path, is_shown) in [
        ("skills/shown/SKILL.md", true),
        ("skills/shown-broken/SKILL.md", true),
        ("skills/hidden/SKILL.md", false),
        ("skills/hidden-broken/SKILL.md", false),
    ] {
        assert!(all.iter().any(|found| found == path), "{path}: {all:?}");
        assert_eq!(shown.iter().any(|found| found == path), is_shown, "{path}: {shown:?}");
    }
}

#[tokio::test]
async fn only_shown_skills_can_be_read() {
    let rig = Rig::start().await;
    let mut client = rig.workspaces().await;
    let skill = client.read_skill(read("git", "")).await.unwrap().into_inner();
    assert!(skill.content.starts_with(b"---\nname: git") && skill.path == "skills/git/SKILL.md");
    assert_eq!(skill.files, ["notes/branches.md"]);
    let file = client.read_skill(read("git", "notes/branches.md")).await.unwrap().into_inner();
    assert_eq!((file.content.as_slice(), file.sha256.len()), (&b"main\n"[..], 64));

    for file in ["./notes/branches.md", "././notes/branches.md"] {
        assert_eq!(client.read_skill(read("git", file)).await.unwrap().into_inner().content, b"main\n", "{file}");
    }
    assert_eq!(client.read_skill(read("git", "./SKILL.md")).await.unwrap().into_inner().path, "skills/git/SKILL.md");
    for (name, file) in [("none", ""), ("internal-x", ""), ("", "")] {
        refused(client.read_skill(read(name, file)).await, Code::NotFound, "SKILL_NOT_FOUND");
    }
    for file in [
        "../../AGENTS.md",
        "./../git/SKILL.md",
        "./",
        "../git/notes/branches.md",
        "/etc/passwd",
        "notes",
        "notes/../notes/branches.md",
    ] {
        refused(client.read_skill(read("git", file)).await, Code::NotFound, "SKILL_FILE_NOT_FOUND");
    }
    let narrowed = proto::ReadSkillRequest { skill_filter: Some(nothing()), ..read("git", "") };
    refused(client.read_skill(narrowed).await, Code::NotFound, "SKILL_NOT_FOUND");
}

fn nothing() -> proto::SkillFilter {
    proto::SkillFilter { allowlist: Some(proto::NameGlobs::default()), ..Default::default() }
}

#[tokio::test]
async fn a_skill_file_over_the_limit_is_refused_whole() {
    let rig = Rig::start().await;
    rig.publish("harbor", harbor().head_of("skills/git/big.bin", vec![0; 16], 5 << 20));
    let status = refused(
        rig.workspaces().await.read_skill(read("git", "big.bin")).await,
        Code::FailedPrecondition,
        "FILE_TOO_LARGE",
    );
    assert!(status.message().contains("1048576"), "{status:?}");
}

#[tokio::test]
async fn a_watch_sends_the_state_then_changes_then_the_end() {
    let rig = Rig::start().await;
    let mut client = rig.workspaces().await;
    let mut stream = client.watch_workspace(watch("harbor", "")).await.unwrap().into_inner();
    let first = next(&mut stream).await;
    let revision = first.workspace.unwrap().revision;
    assert!(first.changed_paths.is_empty() && !first.deleted);

    // A caller that holds the current revision gets only the next one, and what differs.
    let mut informed = client.watch_workspace(watch("harbor", &revision)).await.unwrap().into_inner();
    rig.publish("harbor", harbor().file("SOUL.md", "Stern.\n"));
    for stream in [&mut stream, &mut informed] {
        let news = next(stream).await;
        assert_eq!(news.changed_paths, ["SOUL.md"]);
        assert_ne!(news.workspace.unwrap().revision, revision);
    }
    rig.remove("harbor");
    let last = next(&mut stream).await;
    assert!(last.deleted && last.workspace.unwrap().id == "harbor");
    assert_eq!(stream.message().await.unwrap(), None);
    assert_eq!(rig.seen.has_ended("WatchWorkspace").await, "OK");
    refused(client.watch_workspace(watch("harbor", "")).await, Code::NotFound, "WORKSPACE_NOT_FOUND");
}

#[tokio::test]
async fn a_watch_follows_a_workspace_that_is_fixed() {
    let rig = Rig::start().await;
    rig.publish("new", MemoryTree::new().file("workspace.yaml", "naem: x\n"));
    let mut client = rig.workspaces().await;
    refused(client.get_workspace(get("new")).await, Code::FailedPrecondition, "WORKSPACE_INVALID");
    let mut stream = client.watch_workspace(watch("new", "")).await.unwrap().into_inner();
    let broken = next(&mut stream).await.workspace.unwrap();
    assert!(broken.revision.is_empty() && broken.findings[0].line == 1);
    rig.publish("new", MemoryTree::new());
    assert!(!next(&mut stream).await.workspace.unwrap().revision.is_empty());
}

fn revisions_of(id: &str) -> proto::ListRevisionsRequest {
    proto::ListRevisionsRequest { workspace_id: id.into() }
}

/// The paths that changed with each revision of `harbor`, the newest first.
async fn changes(rig: &Rig) -> Vec<Vec<String>> {
    let answer = rig.workspaces().await.list_revisions(revisions_of("harbor")).await.unwrap().into_inner();
    answer.revisions.into_iter().map(|revision| revision.changed_paths).collect()
}

#[tokio::test]
async fn revisions_are_listed_with_what_changed_the_newest_first() {
    let rig = Rig::start().await;
    let mut client = rig.workspaces().await;
    assert_eq!(changes(&rig).await, [[""; 0]]);
    rig.publish("harbor", harbor().file("SOUL.md", "Stern.\n").file("skills/git/notes/more.md", "x"));
    rig.publish("harbor", harbor().file("workspace.yaml", "profile: kern\n").file("skills/bad/SKILL.md", "x"));
    let revisions = client.list_revisions(revisions_of("harbor")).await.unwrap().into_inner().revisions;
    let newest = client.get_workspace(get("harbor")).await.unwrap().into_inner().workspace.unwrap();
    let first = &revisions[0];
    assert_eq!((&first.revision, first.loaded_at), (&newest.revision, newest.loaded_at));
    assert_eq!((first.errors, first.warnings, &first.profile), (newest.errors, newest.warnings, &newest.profile));
    assert!(first.errors > 0 && revisions[1].errors == 0 && revisions[1].profile == "five-layer", "{revisions:?}");
    assert_eq!(first.changed_paths, ["SOUL.md", "skills/bad/SKILL.md", "skills/git/notes/more.md", "workspace.yaml"]);
    assert_eq!(revisions[1].changed_paths, ["SOUL.md", "skills/git/notes/more.md"]);
    assert_eq!((revisions.len(), &*revisions[2].changed_paths), (3, &[][..]));
    // Each of them can be pinned, and is what it was.
    for revision in &revisions {
        let pinned = proto::AssemblePromptRequest { revision: revision.revision.clone(), ..crate::rig::ask() };
        let answer = rig.prompts().await.assemble_prompt(pinned).await.unwrap().into_inner();
        assert_eq!((&answer.revision, &answer.profile), (&revision.revision, &revision.profile));
    }
    // What a new revision forbids is in no older one that is listed.
    rig.publish("harbor", harbor().file("workspace.yaml", "locked: [persona]\n"));
    assert_eq!(changes(&rig).await, [[""; 0]]);

    rig.publish("new", MemoryTree::new().file("workspace.yaml", "naem: x\n"));
    refused(client.list_revisions(revisions_of("new")).await, Code::FailedPrecondition, "WORKSPACE_INVALID");
    refused(client.list_revisions(revisions_of("none")).await, Code::NotFound, "WORKSPACE_NOT_FOUND");
    refused(client.list_revisions(revisions_of("../x")).await, Code::InvalidArgument, "INVALID_REQUEST");
}
