//! Permissions that are taken away and given back: what was good stays, with an error, and edits go on.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, time::Duration};

use promptd_core::{finding::Finding, workspace::Snapshot};
use promptd_source::{Options, WatchMode, store::State};

use crate::{
    child::unprivileged,
    service::{Service, options},
    site::skill_text,
};

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn ready(check: impl Fn(&Snapshot) -> bool) -> impl Fn(&State) -> bool {
    move |state| matches!(state, State::Ready(loaded) if check(&loaded.snapshot))
}

/// What a prompt could show.
fn parts(snapshot: &Snapshot) -> Vec<String> {
    let documents = snapshot.documents.iter().map(|(path, document)| format!("{path}: {}", document.text.trim()));
    let skills = snapshot.skills.iter().filter(|skill| skill.is_shown());
    documents.chain(skills.map(|skill| format!("{}, {} files", skill.description, skill.files.len()))).collect()
}

fn has_error(snapshot: &Snapshot) -> bool {
    snapshot.active.iter().any(Finding::is_error)
}

fn check(options: impl Fn(&Path) -> Options) {
    for denied in ["skills", "skills/one", "skills/one/SKILL.md", "skills/group", "AGENTS.md", "workspace.yaml", ""] {
        let root = tempfile::tempdir().unwrap();
        let ws = root.path().join("ws");
        for (path, text) in [
            ("workspace.yaml", "skills: {blocklist: [hidden]}\n"),
            ("AGENTS.md", "Rules."),
            ("SOUL.md", "Calm."),
            ("skills/one/SKILL.md", &skill_text("one", 1)),
            ("skills/one/notes/extra.txt", "Bundled."),
            ("skills/group/two/SKILL.md", &skill_text("two", 1)),
            ("skills/hidden/SKILL.md", &skill_text("hidden", 1)),
        ] {
            fs::create_dir_all(ws.join(path).parent().unwrap()).unwrap();
            fs::write(ws.join(path), text).unwrap();
        }
        let service = Service::start(options(root.path()));
        let State::Ready(before) = &*service.store.get("ws").unwrap() else { panic!("not served") };
        let whole = parts(&before.snapshot);
        assert_eq!(whole.len(), 4);

        let path = ws.join(denied);
        let mode = if path.is_dir() { 0o755 } else { 0o644 };
        chmod(&path, 0);
        let what = format!("an error while `{denied}` may not be read");
        let (state, _) = service.wait("ws", &what, ready(has_error));
        let State::Ready(loaded) = &*state else { unreachable!() };
        assert_eq!(parts(&loaded.snapshot), whole, "{what}");
        if !denied.is_empty() {
            // An edit beside it is served, and the error stays.
            fs::write(ws.join("SOUL.md"), "Calmer.").unwrap();
            let edited: Vec<_> = whole.iter().map(|part| part.replace("Calm.", "Calmer.")).collect();
            service.wait("ws", &what, ready(|snapshot| has_error(snapshot) && parts(snapshot) == edited));
        }
        chmod(&path, mode);
        let healed = |snapshot: &Snapshot| !has_error(snapshot) && parts(snapshot).len() == 4;
        service.wait("ws", &format!("`{denied}` once it may be read"), ready(healed));
        assert!(service.source.status().problems().is_empty());
    }
}

#[test]
fn what_may_not_be_read_keeps_its_last_good_version() {
    unprivileged("denied::what_may_not_be_read_keeps_its_last_good_version", || check(options));
}

#[test]
fn polling_finds_that_it_may_be_read_again() {
    unprivileged("denied::polling_finds_that_it_may_be_read_again", || {
        check(|root| Options { watch: WatchMode::Poll, poll_interval: Duration::from_millis(100), ..options(root) });
    });
}

#[test]
fn a_root_or_workspace_that_may_not_be_read_is_not_taken_for_one_that_is_gone() {
    unprivileged("denied::a_root_or_workspace_that_may_not_be_read_is_not_taken_for_one_that_is_gone", || {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir_all(root.join("ws")).unwrap();
        fs::write(root.join("ws/AGENTS.md"), "Rules.").unwrap();
        let service = Service::of_root(&root);
        let mut ids = service.store.watch_ids();
        ids.borrow_and_update();
        chmod(&root, 0);
        let (state, _) = service.wait("ws", "an error", ready(has_error));
        let State::Ready(loaded) = &*state else { unreachable!() };
        let said: Vec<_> = loaded.snapshot.active.iter().map(|finding| finding.message.as_str()).collect();
        let denied = "the workspace's folder cannot be read by the service: permission denied";
        assert_eq!(said, [format!("{denied}; the last good version stays in use")]);
        // Longer than a folder must have been gone to be believed gone.
        std::thread::sleep(Duration::from_millis(400));
        assert!(!ids.has_changed().unwrap() && service.store.get("ws").is_some());
        chmod(&root, 0o755);
        service.wait("ws", "no error", ready(|snapshot| !has_error(snapshot)));
        fs::create_dir(root.join("new")).unwrap();
        service.wait("new", "a new workspace in the root", |_| true);
    });
}
