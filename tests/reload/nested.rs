//! Nested context files: whatever comes, changes or goes in any folder is served by events alone, and nothing else is loaded.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};

use promptd_core::{turn::WorkingDirectory, workspace::Snapshot};
use promptd_source::{Options, WatchMode, store::State};

use crate::{
    child::unprivileged,
    service::{Service, options},
};

fn save(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The texts that hold in a folder.
fn held(snapshot: &Snapshot, directory: &str) -> Vec<String> {
    let directory = WorkingDirectory::parse(directory).unwrap();
    let paths = snapshot.nested.paths_for(&directory);
    paths.map(|path| snapshot.file(path).map_or_else(|| "unusable".to_owned(), |file| file.text.to_string())).collect()
}

fn is_known(snapshot: &Snapshot, directory: &str) -> bool {
    snapshot.nested.not_found(&WorkingDirectory::parse(directory).unwrap()).is_none()
}

fn holds(directory: &str, texts: &[&str]) -> impl Fn(&State) -> bool {
    move |state| matches!(state, State::Ready(loaded) if held(&loaded.snapshot, directory) == *texts)
}

fn check(options: impl Fn(&Path) -> Options) {
    let folder = tempfile::tempdir().unwrap();
    let (root, ws) = (folder.path().join("root"), folder.path().join("root/ws"));
    save(&ws.join("workspace.yaml"), "context: {nested: [AGENTS.md, NOTES.md]}\n");
    save(&ws.join("a/AGENTS.md"), "a 1");
    save(&ws.join("a/b/main.rs"), "fn main() {}");
    save(&folder.path().join("aside/AGENTS.md"), "aside 1");
    let service = Service::start(options(&root));
    let wait = |what: &str, directory: &str, texts: &[&str]| {
        service.wait("ws", &format!("{what}: {directory} {texts:?}"), holds(directory, texts));
    };
    wait("the start", "a/b", &["a 1"]);

    fs::write(ws.join("a/AGENTS.md"), "a 2").unwrap();
    wait("an edit", "a/b", &["a 2"]);
    fs::write(ws.join("a/b/AGENTS.md"), "b 1").unwrap();
    wait("a file in a folder that had none", "a/b", &["a 2", "b 1"]);
    fs::write(ws.join("a/b/.swap"), "b 2").unwrap();
    fs::rename(ws.join("a/b/.swap"), ws.join("a/b/AGENTS.md")).unwrap();
    wait("a rename over it", "a/b", &["a 2", "b 2"]);
    fs::write(ws.join("a/NOTES.md"), "notes").unwrap();
    wait("a file of another name", "a/b", &["a 2", "notes", "b 2"]);
    fs::remove_file(ws.join("a/NOTES.md")).unwrap();
    wait("a file that is removed", "a/b", &["a 2", "b 2"]);

    save(&ws.join(".ci/deep/er/AGENTS.md"), "hidden");
    wait("a file in new hidden folders", ".ci/deep/er", &["hidden"]);
    fs::write(ws.join(".ci/deep/er/AGENTS.md"), "hidden 2").unwrap();
    wait("an edit there", ".ci/deep/er", &["hidden 2"]);
    fs::rename(ws.join(".ci"), ws.join("ci")).unwrap();
    wait("a folder that is renamed", "ci/deep/er", &["hidden 2"]);
    wait("its old name", ".ci/deep/er", &[]);
    fs::remove_dir_all(ws.join("ci")).unwrap();
    wait("a folder that is removed", "ci/deep/er", &[]);

    symlink("a/b", ws.join("inside")).unwrap();
    wait("a link inside", "inside", &["b 2"]);
    fs::write(ws.join("a/b/AGENTS.md"), "b 3").unwrap();
    wait("an edit at a link's end", "inside", &["b 3"]);
    fs::create_dir(ws.join("a/c")).unwrap();
    save(&ws.join("a/c/AGENTS.md"), "c 1");
    symlink("a/c", ws.join("..next")).unwrap();
    fs::rename(ws.join("..next"), ws.join("inside")).unwrap();
    wait("a link that is turned", "inside", &["c 1"]);
    symlink(folder.path().join("aside"), ws.join("outside")).unwrap();
    symlink("..", ws.join("a/up")).unwrap();
    fs::write(ws.join("a/AGENTS.md"), "a 3").unwrap();
    wait("an edit beside links that lead out or back", "a", &["a 3"]);
    wait("a link out of the workspace", "outside", &[]);
    wait("a link to a folder above", "a/up/a", &["a 3"]);

    fs::write(ws.join("a/CACHEDIR.TAG"), "Signature").unwrap();
    wait("a folder that a tool marks", "a/b", &[]);
    fs::remove_file(ws.join("a/CACHEDIR.TAG")).unwrap();
    wait("one that is marked no more", "a/b", &["a 3", "b 3"]);
    fs::write(ws.join("workspace.yaml"), "context: {nested: [NOTES.md]}\n").unwrap();
    wait("other names", "a/b", &[]);
    fs::write(ws.join("a/NOTES.md"), "notes 2").unwrap();
    wait("a file of the other names", "a/b", &["notes 2"]);

    fs::create_dir(ws.join("empty")).unwrap();
    service.wait(
        "ws",
        "a folder without files",
        |state| matches!(state, State::Ready(loaded) if is_known(&loaded.snapshot, "empty")),
    );
    fs::remove_dir(ws.join("empty")).unwrap();
    service.wait(
        "ws",
        "that it is gone",
        |state| matches!(state, State::Ready(loaded) if !is_known(&loaded.snapshot, "empty")),
    );
    let State::Ready(loaded) = &*service.store.get("ws").unwrap() else { panic!() };
    assert!(!is_known(&loaded.snapshot, "outside/x"));
}

#[test]
fn whatever_comes_changes_or_goes_in_any_folder_is_served() {
    check(options);
}

#[test]
fn it_is_served_without_events_too() {
    check(|root| Options { watch: WatchMode::Poll, ..options(root) });
}

/// Programs write files where an agent works; they must not have the workspace loaded again and again. Edits of another workspace
/// follow each of them: events are taken in order, so a load that one of them causes is before that of the edit.
#[test]
fn other_files_cause_no_load() {
    const EDITS: u64 = 20;
    let root = tempfile::tempdir().unwrap();
    let (ws, other) = (root.path().join("ws"), root.path().join("other"));
    save(&ws.join("workspace.yaml"), "context: {nested: [AGENTS.md]}\n");
    save(&ws.join("src/AGENTS.md"), "one");
    save(&other.join("AGENTS.md"), "one");
    let service = Service::of_root(root.path());
    let loads_of =
        |act: &dyn Fn(u64)| {
            let before = service.source.status().loads.get();
            for edit in 0..EDITS {
                act(edit);
                let text = format!("edit {edit} after {before} loads");
                save(&other.join("AGENTS.md"), &text);
                service.wait("other", &text, |state| {
                matches!(state, State::Ready(loaded) if *loaded.snapshot.documents["AGENTS.md"].text == *text)
            });
            }
            service.source.status().loads.get() - before
        };
    let edits_alone = loads_of(&|_| {});
    let with_others = loads_of(&|edit| {
        let path = ws.join(format!("src/out-{edit}.o"));
        fs::write(&path, "object").unwrap();
        fs::rename(&path, ws.join("src/out.o")).unwrap();
        fs::remove_file(ws.join("src/out.o")).unwrap();
    });
    assert!(with_others < edits_alone + EDITS / 2, "{with_others} loads, {edits_alone} without other files");
    let with_folders = loads_of(&|edit| fs::create_dir(ws.join(format!("src/new-{edit}"))).unwrap());
    assert!(with_folders >= edits_alone + EDITS / 2, "{with_folders} loads, {edits_alone} without folders");
    fs::write(ws.join("src/AGENTS.md"), "two").unwrap();
    service.wait("ws", "an edit after all of them", holds("src", &["two"]));
}

#[test]
fn a_folder_that_may_not_be_listed_keeps_its_files() {
    unprivileged("nested::a_folder_that_may_not_be_listed_keeps_its_files", check_unlisted);
}

fn check_unlisted() {
    let root = tempfile::tempdir().unwrap();
    let ws = root.path().join("ws");
    save(&ws.join("workspace.yaml"), "context: {nested: [AGENTS.md]}\n");
    save(&ws.join("a/b/AGENTS.md"), "kept");
    let service = Service::of_root(root.path());
    let chmod = |mode| fs::set_permissions(ws.join("a"), fs::Permissions::from_mode(mode)).unwrap();
    chmod(0);
    let (state, _) = service.wait(
        "ws",
        "that a folder may not be listed",
        |state| matches!(state, State::Ready(loaded) if !is_known(&loaded.snapshot, "a")),
    );
    let State::Ready(loaded) = &*state else { unreachable!() };
    assert_eq!(held(&loaded.snapshot, "a/b"), ["kept"]);
    chmod(0o755);
    fs::write(ws.join("a/b/AGENTS.md"), "edited").unwrap();
    service.wait("ws", "an edit once it may", |state| {
        matches!(state, State::Ready(loaded) if is_known(&loaded.snapshot, "a") && held(&loaded.snapshot, "a/b") == ["edited"])
    });
}
