use proptest::prelude::*;

use super::{search::search, *};
use crate::{
    settings::Settings,
    workspace::{
        MemoryTree, Snapshot,
        testing::{codes, load_tree, load_with, reload},
    },
};

const NESTED: &str = "context: {nested: [AGENTS.md, NOTES.md]}\n";

fn workspace() -> MemoryTree {
    MemoryTree::new().file("workspace.yaml", NESTED).file("AGENTS.md", "root")
}

fn paths(snapshot: &Snapshot, directory: &str) -> Vec<String> {
    let directory = WorkingDirectory::parse(directory).unwrap();
    snapshot.nested.paths_for(&directory).map(str::to_owned).collect()
}

fn not_found(snapshot: &Snapshot, directory: &str) -> String {
    let directory = WorkingDirectory::parse(directory).unwrap();
    snapshot.nested.not_found(&directory).map(|why| why.to_string()).unwrap_or_default()
}

#[test]
fn the_files_on_the_way_hold_the_roots_first() {
    let tree = workspace()
        .file("NOTES.md", "root notes")
        .file("services/AGENTS.md", "services")
        .file("services/api/NOTES.md", "api notes")
        .file("services/api/AGENTS.md", "api")
        .file("services/web/AGENTS.md", "web")
        .file("services/api/src/main.rs", "fn main() {}");
    let snapshot = load_tree(&tree).unwrap();
    assert_eq!(paths(&snapshot, ""), ["NOTES.md"], "AGENTS.md of the root is shown in any case");
    assert_eq!(
        paths(&snapshot, "services/api/src"),
        ["NOTES.md", "services/AGENTS.md", "services/api/AGENTS.md", "services/api/NOTES.md"]
    );
    assert_eq!(paths(&snapshot, "services/none/src"), ["NOTES.md", "services/AGENTS.md"]);
    assert_eq!(not_found(&snapshot, "services/api/src"), "");
    assert!(load_tree(&tree.file("workspace.yaml", "{}")).unwrap().nested.documents().next().is_none());
}

#[test]
fn a_file_that_context_files_names_is_not_nested() {
    let tree = MemoryTree::new()
        .file("workspace.yaml", "context: {nested: [AGENTS.md], files: [{path: docs/AGENTS.md}]}")
        .file("docs/AGENTS.md", "docs")
        .file("docs/deep/AGENTS.md", "deep");
    assert_eq!(paths(&load_tree(&tree).unwrap(), "docs/deep"), ["docs/deep/AGENTS.md"]);
}

#[test]
fn what_no_one_works_in_is_not_searched_and_says_why() {
    let skill = "---\nname: git\ndescription: Commits.\n---\n";
    let tree = workspace()
        .file(".github/AGENTS.md", "hidden")
        .file(".git/AGENTS.md", "no")
        .file("web/node_modules/x/AGENTS.md", "no")
        .file("target/CACHEDIR.TAG", "Signature")
        .file("target/debug/AGENTS.md", "no")
        .file("env/pyvenv.cfg", "home = /usr")
        .file("env/AGENTS.md", "no")
        .file("skills/git/SKILL.md", skill)
        .file("skills/git/AGENTS.md", "no")
        .file("docs/skills/AGENTS.md", "yes")
        .file(&format!("{}AGENTS.md", "d/".repeat(16)), "deepest")
        .file(&format!("{}AGENTS.md", "d/".repeat(17)), "no");
    let snapshot = load_tree(&tree).unwrap();
    let found: Vec<_> = snapshot.nested.documents().map(|document| &*document.text).collect();
    assert_eq!(found, ["hidden", "deepest", "yes"]);
    for (directory, why) in [
        (".github", ""),
        (".git/hooks", "`.git` is not searched for context files: folders of that name never are"),
        ("web/node_modules/x", "`web/node_modules` is not searched for context files: folders of that name never are"),
        (
            "target/debug",
            "`target` is not searched for context files: it has a CACHEDIR.TAG, so that a tool makes what is in it",
        ),
        ("env", "`env` is not searched for context files: it has a pyvenv.cfg, so that a tool makes what is in it"),
        ("skills/git", "`skills` is not searched for context files: skills have rules of their own"),
        ("web/src", "`web/src` is not a folder of the workspace"),
        ("wbe", "`wbe` is not a folder of the workspace; did you mean `web`?"),
        ("AGENTS.md", "`AGENTS.md` is not a folder of the workspace"),
    ] {
        assert_eq!(not_found(&snapshot, directory), why, "{directory}");
    }
    let deep = "d/".repeat(18);
    assert!(not_found(&snapshot, &deep).ends_with("is not searched for context files: it is deeper than 16 levels"));
    assert_eq!(paths(&snapshot, &deep), [format!("{}AGENTS.md", "d/".repeat(16))]);
    assert!(snapshot.active.is_empty(), "{:?}", snapshot.active);
}

#[test]
fn names_in_another_case_are_reported_a_few_times() {
    let tree = (0..20).fold(workspace(), |tree, n| tree.file(&format!("{n:02}/agents.MD"), "x"));
    let snapshot = load_tree(&tree).unwrap();
    assert_eq!(codes(&snapshot.active), ["FILE_NAME_CASE"; 10]);
    assert_eq!(snapshot.active[0].place.to_string(), "00/agents.MD");
}

#[test]
fn what_cannot_be_read_keeps_its_last_good_version() {
    let tree = workspace().file("api/AGENTS.md", "api").file("api/src/AGENTS.md", "src").file("web/AGENTS.md", "web");
    let first = load_tree(&tree).unwrap();
    let denied = tree.clone().failing("web/AGENTS.md", ReadError::Denied);
    let second = reload(&denied, &first).unwrap();
    assert_eq!(
        (paths(&second, "web"), codes(&second.active)),
        (vec!["web/AGENTS.md".to_owned()], vec!["FILE_UNREADABLE"])
    );
    let unlisted = tree.clone().failing("api", ReadError::Denied).failing("api/AGENTS.md", ReadError::Denied);
    let third = reload(&unlisted, &first).unwrap();
    assert_eq!(paths(&third, "api/src"), ["api/AGENTS.md", "api/src/AGENTS.md"]);
    assert_eq!(
        not_found(&third, "api/src"),
        "`api` is not searched for context files: it cannot be read by the service: permission denied"
    );
    let gone = reload(&tree.clone().failing("web/AGENTS.md", ReadError::LinkOutside), &first).unwrap();
    assert_eq!(paths(&gone, "web"), ["web/AGENTS.md"], "that it is there is known");
    assert!(gone.nested.document("web/AGENTS.md").is_none() && gone.nested.unusable("web/AGENTS.md").is_some());
    let back = reload(&tree, &third).unwrap();
    assert_eq!(back.revision, first.revision);
}

#[test]
fn revisions_share_what_has_not_changed_and_differ_where_it_has() {
    let tree = workspace().file("api/AGENTS.md", "api");
    let first = load_tree(&tree).unwrap();
    let same = reload(&tree.clone().file("AGENTS.md", "other"), &first).unwrap();
    assert!(Arc::ptr_eq(&first.nested, &same.nested));
    for changed in [
        tree.clone().file("api/AGENTS.md", "other"),
        tree.clone().without("api/AGENTS.md"),
        tree.clone().folder("api/src"),
        tree.clone().file("web/AGENTS.md", "web"),
    ] {
        assert_ne!(reload(&changed, &first).unwrap().revision, first.revision);
    }
    assert_eq!(reload(&tree.file("api/main.rs", "x"), &first).unwrap().revision, first.revision, "another file");
}

#[test]
fn limits_leave_the_deepest_out_and_say_so() {
    let many = (0..=MAX_NESTED_FILES).fold(workspace(), |tree, n| tree.file(&format!("{n:04}/AGENTS.md"), "x"));
    let snapshot = load_tree(&many.file("0000/deep/AGENTS.md", "x")).unwrap();
    assert_eq!(snapshot.nested.documents().count(), MAX_NESTED_FILES);
    assert!(snapshot.nested.document("0000/deep/AGENTS.md").is_none());
    assert_eq!(codes(&snapshot.active), ["NESTED_SEARCH_LIMITED"]);
    assert!(snapshot.active[0].message.contains("more than 1000 nested context files"), "{:?}", snapshot.active);

    let large = (0..20).fold(workspace(), |tree, n| tree.file(&format!("{n:02}/AGENTS.md"), vec![b'x'; 1 << 20]));
    let settings = Settings { max_file_bytes: 1 << 20, ..Settings::default() };
    let snapshot = load_with(&large, &[], settings, None).unwrap();
    assert_eq!(snapshot.nested.documents().map(|document| document.chars).sum::<usize>(), MAX_NESTED_BYTES);
    assert_eq!(codes(&snapshot.active), ["NESTED_SEARCH_LIMITED"]);

    let folders = (0..=MAX_NESTED_FOLDERS).fold(workspace(), |tree, n| tree.folder(&format!("f{n:05}")));
    let snapshot = load_tree(&folders).unwrap();
    assert_eq!(snapshot.nested.folders.len(), MAX_NESTED_FOLDERS);
    assert_eq!(codes(&snapshot.active), ["NESTED_SEARCH_LIMITED"]);
    assert_eq!(not_found(&snapshot, "f00000"), "");
    assert_eq!(
        not_found(&snapshot, "f10000"),
        "`f10000` is not among the 10000 folders that are searched for context files"
    );
}

/// A tree of a few names, some of them folders that are not searched, some that cannot be read.
fn tree() -> impl Strategy<Value = MemoryTree> {
    let name = prop_oneof![Just("a"), Just("b"), Just(".git"), Just("skills"), Just("AGENTS.md"), Just("NOTES.md")];
    let path = proptest::collection::vec(name, 1..20).prop_map(|names| names.join("/"));
    let kind =
        prop_oneof![4 => Just(None), 1 => Just(Some(ReadError::Denied)), 1 => Just(Some(ReadError::LinkOutside))];
    proptest::collection::vec((path, kind), 0..12).prop_map(|nodes| {
        nodes.into_iter().fold(workspace(), |tree, (path, kind)| match kind {
            None => tree.file(&path, path.as_str()),
            Some(error) => tree.failing(&path, error),
        })
    })
}

proptest! {
    #[test]
    fn only_files_of_the_folders_on_the_way_hold(tree in tree(), directory in "(a|b|\\.git|skills){1}(/(a|b)){0,18}") {
        let snapshot = load_tree(&tree).unwrap();
        let at = WorkingDirectory::parse(&directory).unwrap();
        let held: Vec<&str> = snapshot.nested.paths_for(&at).collect();
        prop_assert!(held.len() <= 2 * (MAX_NESTED_DEPTH + 1));
        prop_assert!(held.is_sorted_by_key(|path| path.matches('/').count()), "{held:?}");
        for path in held {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            prop_assert!(["AGENTS.md", "NOTES.md"].contains(&name), "{path}");
            prop_assert!(folder.is_empty() || directory == folder || directory.starts_with(&format!("{folder}/")), "{path}");
            prop_assert!(never_searched(folder).is_none() && !path.starts_with(".git/"), "{path}");
        }
    }

    #[test]
    fn a_search_is_the_same_whatever_is_asked_of_the_tree(tree in tree()) {
        let names = ["AGENTS.md".to_owned(), "NOTES.md".to_owned()];
        let capturing = crate::workspace::Capturing::new(&tree, None);
        let first = search(&capturing, &names);
        let captured = capturing.finish().unwrap();
        let again = search(&captured, &names);
        prop_assert_eq!(first.files, again.files);
        prop_assert_eq!(first.folders, again.folders);
    }
}
