//! Workspaces that appear, go, move, and are not what they should be.

use std::{fs, os::unix::fs::symlink, path::Path, time::Duration};

use jiff::Timestamp;
use promptd_core::{finding::Code, id::Id, workspace::ReadError};
use promptd_source::{Options, WatchMode, store::State};
use tokio::time::timeout;

use crate::{
    service::{NEVER, Service, options, waiting},
    site::skill_text,
};

fn make(folder: &Path, text: &str) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("AGENTS.md"), text).unwrap();
}

fn has(text: &str) -> impl Fn(&State) -> bool {
    move |state| {
        matches!(state, State::Ready(loaded)
            if loaded.snapshot.documents.get("AGENTS.md").is_some_and(|document| &*document.text == text))
    }
}

#[test]
fn a_revision_has_the_time_of_its_publication_and_so_have_the_metrics() {
    let folder = tempfile::tempdir().unwrap();
    make(&folder.path().join("one"), "one");
    let service = Service::of_root(folder.path());
    let before = Timestamp::now();
    make(&folder.path().join("one"), "two");
    let (state, _) = service.wait("one", "the edit", has("two"));
    let State::Ready(loaded) = &*state else { panic!("{state:?}") };
    assert!(before <= loaded.at && loaded.at <= Timestamp::now(), "{}", loaded.at);
    let published = service.source.status().last_published.get();
    let (since, until) = (before.as_duration().as_secs_f64(), Timestamp::now().as_duration().as_secs_f64());
    assert!(since <= published && published <= until, "{since} {published} {until}");
}

#[test]
fn workspaces_come_go_move_and_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    make(&root.join("one"), "one");
    let service = Service::of_root(&root);
    assert_eq!(service.store.list().len(), 1);

    make(&root.join("two"), "two");
    service.wait("two", "a new workspace", has("two"));

    fs::rename(root.join("two"), root.join("three")).unwrap();
    service.wait_gone("two");
    service.wait("three", "the workspace under its new name", has("two"));

    fs::rename(root.join("three"), folder.path().join("away")).unwrap();
    service.wait_gone("three");
    fs::write(folder.path().join("away/AGENTS.md"), "edited away").unwrap();
    fs::rename(folder.path().join("away"), root.join("three")).unwrap();
    service.wait("three", "the workspace that came back", has("edited away"));
    fs::write(root.join("three/AGENTS.md"), "edited again").unwrap();
    service.wait("three", "an edit after it came back", has("edited again"));

    make(&folder.path().join("elsewhere"), "linked");
    symlink(folder.path().join("elsewhere"), root.join("link")).unwrap();
    service.wait("link", "a workspace that is a link", has("linked"));
    fs::write(folder.path().join("elsewhere/AGENTS.md"), "edited through").unwrap();
    service.wait("link", "an edit at the link's end", has("edited through"));

    fs::remove_dir_all(&root).unwrap();
    for id in ["one", "three", "link"] {
        service.wait_gone(id);
    }
    make(&root.join("one"), "again");
    service.wait("one", "a workspace in a root that was created again", has("again"));
}

#[test]
fn a_watcher_sees_that_its_workspace_is_gone() {
    let root = tempfile::tempdir().unwrap();
    make(&root.path().join("ws"), "text");
    let service = Service::of_root(root.path());
    let mut states = service.store.watch("ws").unwrap();
    fs::remove_dir_all(root.path().join("ws")).unwrap();
    let gone = waiting()
        .block_on(async { timeout(NEVER, states.wait_for(|state| matches!(**state, State::Gone))).await.is_ok() });
    assert!(gone);
    assert!(service.store.get("ws").is_none());
}

#[test]
fn folders_whose_names_are_not_ids_are_reported_once_and_not_served() {
    let root = tempfile::tempdir().unwrap();
    make(&root.path().join("good"), "text");
    make(&root.path().join("not an id"), "text");
    make(&root.path().join(".hidden"), "text");
    fs::write(root.path().join("file.txt"), "no folder").unwrap();
    symlink("nowhere", root.path().join("broken")).unwrap();
    let service = Service::of_root(root.path());
    let ids: Vec<String> = service.store.list().into_iter().map(|(id, _)| id.to_string()).collect();
    assert_eq!(ids, ["good"]);
    let problems = service.source.status().problems();
    assert_eq!(problems.len(), 2, "{problems:?}");
    let [broken, misnamed] = [0, 1].map(|i| problems[i].as_str());
    assert!(broken.ends_with("broken does not lead to a folder"), "{broken}");
    assert!(misnamed.contains("not an id") && misnamed.contains("A-Z a-z 0-9"), "{misnamed}");
    // Listed again, they are the same.
    make(&root.path().join("new"), "text");
    service.wait("new", "a new workspace", has("text"));
    assert_eq!(service.source.status().problems(), problems);
}

#[test]
fn a_single_workspace_wins_over_a_root_and_may_come_late() {
    let folder = tempfile::tempdir().unwrap();
    let (root, single, late) = (folder.path().join("root"), folder.path().join("single"), folder.path().join("late"));
    make(&root.join("same"), "of the root");
    make(&single, "single");
    let id = |text| Id::parse(text).unwrap();
    let service = Service::start(Options {
        workspaces: vec![(id("same"), single), (id("late"), late.clone())],
        ..options(&root)
    });
    service.wait("same", "the single one", has("single"));
    assert!(service.source.status().problems().iter().any(|problem| problem.contains("has its id")));
    let State::Invalid(findings) = &*service.store.get("late").unwrap() else { panic!("served before it is there") };
    assert_eq!(findings[0].code, Code::FileUnreadable);
    assert_eq!(service.source.status().failing.get(), 1);
    for text in ["came late", "came back"] {
        make(&late, text);
        service.wait("late", text, has(text));
        assert_eq!(service.source.status().failing.get(), 0);
        fs::remove_dir_all(&late).unwrap();
        service.wait_gone("late");
    }
}

#[test]
fn files_that_are_not_regular_affect_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let (root, shared) = (folder.path().join("root"), folder.path().join("shared"));
    let (odd, fine) = (root.join("odd"), root.join("fine"));
    make(&fine, "fine");
    fs::create_dir_all(&odd).unwrap();
    make(&shared, "shared");
    rustix::fs::mkfifoat(rustix::fs::CWD, odd.join("AGENTS.md"), rustix::fs::Mode::from(0o600)).unwrap();
    symlink("/dev/zero", odd.join("SOUL.md")).unwrap();
    fs::create_dir(odd.join("IDENTITY.md")).unwrap();
    let service = Service::of_root(&root);
    service.wait("fine", "the workspace beside it", has("fine"));
    let State::Ready(loaded) = &*service.store.get("odd").unwrap() else { panic!("not served") };
    let codes: Vec<_> = loaded.snapshot.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes.iter().filter(|code| **code == Code::FileUnreadable).count(), 2, "{codes:?}");
    assert!(codes.contains(&Code::LinkOutside));

    // Fixed, and broken again while it runs.
    fs::remove_file(odd.join("AGENTS.md")).unwrap();
    make(&odd, "fixed");
    service.wait("odd", "the fixed file", has("fixed"));
    fs::remove_file(odd.join("AGENTS.md")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, odd.join("AGENTS.md"), rustix::fs::Mode::from(0o600)).unwrap();
    service.wait("odd", "a finding for the new FIFO", |state| {
        matches!(state, State::Ready(loaded) if loaded.snapshot.findings.iter().filter(|f| f.code == Code::FileUnreadable).count() == 2)
    });
}

#[test]
fn links_lead_where_the_config_allows_and_are_followed_by_events() {
    let folder = tempfile::tempdir().unwrap();
    let (root, common) = (folder.path().join("root"), folder.path().join("common"));
    make(&common, "common");
    fs::create_dir_all(root.join("ws")).unwrap();
    symlink("../../common/AGENTS.md", root.join("ws/AGENTS.md")).unwrap();
    let service = Service::start(Options { allowed_link_targets: vec![common.clone()], ..options(&root) });
    service.wait("ws", "the link's target", has("common"));
    fs::write(common.join("AGENTS.md"), "edited").unwrap();
    service.wait("ws", "an edit of the link's target", has("edited"));
    drop(service);
    let service = Service::of_root(&root);
    let State::Ready(loaded) = &*service.store.get("ws").unwrap() else { panic!("not served") };
    assert!(loaded.snapshot.documents.is_empty());
    assert!(loaded.snapshot.findings.iter().any(|finding| finding.code == Code::LinkOutside));
}

/// A link's target may come late, or go and come back: it is served by events alone, and by polling.
#[test]
fn an_allowed_link_target_may_come_late_and_go_and_come_back() {
    for watch in [WatchMode::Auto, WatchMode::Poll] {
        let folder = tempfile::tempdir().unwrap();
        let (root, common, away) =
            (folder.path().join("root"), folder.path().join("deep/common"), folder.path().join("away"));
        fs::create_dir_all(root.join("ws/skills")).unwrap();
        symlink("../../deep/common/AGENTS.md", root.join("ws/AGENTS.md")).unwrap();
        symlink("../../../deep/common/linked", root.join("ws/skills/linked")).unwrap();
        let options = Options {
            watch,
            poll_interval: Duration::from_millis(50),
            allowed_link_targets: vec![common.clone()],
            ..options(&root)
        };
        let service = Service::start(options);
        let broken = |state: &State| {
            matches!(state, State::Ready(loaded) if loaded.snapshot.documents.is_empty()
                && loaded.snapshot.active.iter().map(|f| f.code).eq([Code::LinkBroken; 2]))
        };
        let whole = |text: &'static str| {
            move |state: &State| {
                has(text)(state)
                    && matches!(state, State::Ready(loaded) if loaded.snapshot.skills.len() == 1
                        && loaded.snapshot.active.is_empty())
            }
        };
        service.wait("ws", "broken links", broken);
        make(&common, "late");
        fs::create_dir(common.join("linked")).unwrap();
        fs::write(common.join("linked/SKILL.md"), skill_text("linked", 1)).unwrap();
        service.wait("ws", "a target that came late", whole("late"));
        for text in ["first", "second"] {
            fs::rename(&common, &away).unwrap();
            service.wait("ws", "broken links again", broken);
            fs::write(away.join("AGENTS.md"), text).unwrap();
            fs::rename(&away, &common).unwrap();
            service.wait("ws", "a target that came back", whole(text));
        }
        fs::rename(folder.path().join("deep"), &away).unwrap();
        service.wait("ws", "broken links, the folder above gone", broken);
        fs::rename(&away, folder.path().join("deep")).unwrap();
        service.wait("ws", "a target whose folder above came back", whole("second"));
    }
}

#[test]
fn a_file_is_read_as_it_is_and_never_outside_the_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    make(&root.join("ws"), "loaded");
    fs::write(folder.path().join("secret"), "secret").unwrap();
    let service = Service::of_root(&root);
    let State::Ready(loaded) = &*service.store.get("ws").unwrap() else { panic!() };
    let options = options(&root);
    let read = |path: &str| promptd_source::read_workspace_file(&loaded.snapshot, path, &options);
    assert_eq!(read("workspace.yaml"), Err(ReadError::Missing));
    fs::write(root.join("ws/workspace.yaml"), "saved").unwrap();
    fs::write(root.join("ws/SOUL.md"), "no document of the snapshot").unwrap();
    fs::write(root.join("ws/AGENTS.md"), "a".repeat((1 << 20) + 1)).unwrap();
    assert_eq!(read("workspace.yaml").unwrap().bytes, b"saved");
    let long = read("AGENTS.md").unwrap();
    assert_eq!((long.bytes.len(), long.total), (1 << 20, (1 << 20) + 1));
    for path in ["SOUL.md", "../../secret", "AGENTS.md/", "./AGENTS.md", "@shared/AGENTS.md", ""] {
        assert_eq!(read(path), Err(ReadError::Missing), "{path}");
    }
    fs::remove_file(root.join("ws/AGENTS.md")).unwrap();
    symlink(folder.path().join("secret"), root.join("ws/AGENTS.md")).unwrap();
    assert_eq!(read("AGENTS.md"), Err(ReadError::LinkOutside));
}

#[test]
fn shared_skills_reach_every_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let (root, shared) = (folder.path().join("root"), folder.path().join("shared"));
    for i in 0..3 {
        make(&root.join(format!("ws-{i}")), "text");
    }
    let skill = |text: &str| format!("---\nname: common\ndescription: {text}\n---\n");
    let service = Service::start(Options { shared_skills: vec![shared.clone()], ..options(&root) });
    let described = |text: &'static str| move |state: &State| matches!(state, State::Ready(loaded) if loaded.snapshot.skills.iter().any(|skill| &*skill.description == text));
    for text in ["Appeared.", "Edited."] {
        fs::create_dir_all(shared.join("common")).unwrap();
        fs::write(shared.join("common/SKILL.md"), skill(text)).unwrap();
        for i in 0..3 {
            service.wait(&format!("ws-{i}"), text, described(text));
        }
    }
    let State::Ready(loaded) = &*service.store.get("ws-0").unwrap() else { panic!() };
    let all = Options { shared_skills: vec![shared.clone()], ..options(&root) };
    let read = |path: &str| promptd_source::read_workspace_file(&loaded.snapshot, path, &all);
    assert!(String::from_utf8(read("@shared/common/SKILL.md").unwrap().bytes).unwrap().contains("Edited."));
    assert!(read("@shared/common/../../root/ws-0/AGENTS.md").is_err());

    fs::remove_dir_all(shared.join("common")).unwrap();
    service.wait(
        "ws-2",
        "no shared skill",
        |state| matches!(state, State::Ready(loaded) if loaded.snapshot.skills.is_empty()),
    );
}
