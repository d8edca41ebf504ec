//! Walks of folders and links, and what of them is recorded.

use std::{fs, os::unix::fs::symlink};

use super::*;

/// What a walk of `path` below `ws` has recorded, by path below `home`.
fn recorded(walk: &Walk, home: &Path) -> Vec<(String, &'static str)> {
    let word = |probe: &Probe| match probe.seen {
        Seen::Absent => "absent",
        Seen::Failed => "failed",
        Seen::Folder(_) => "folder",
        Seen::Listing(..) => "listing",
        Seen::Part(..) => "part",
        Seen::Link(_) => "link",
        Seen::File(_) => "file",
    };
    let below = |path: &Path| path.strip_prefix(home).unwrap().to_str().unwrap().to_owned();
    let mut recorded: Vec<_> = walk.probes.iter().map(|(path, probe)| (below(Path::new(path)), word(probe))).collect();
    recorded.sort_unstable();
    recorded
}

/// A canonical folder.
fn home() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = fs::canonicalize(folder.path()).unwrap();
    (folder, path)
}

fn make(home: &Path, folders: &[&str], files: &[&str], links: &[(&str, &str)]) {
    for folder in folders {
        fs::create_dir_all(home.join(folder)).unwrap();
    }
    for file in files {
        fs::write(home.join(file), "text").unwrap();
    }
    for (at, to) in links {
        symlink(to, home.join(at)).unwrap();
    }
}

#[test]
fn what_a_walk_depends_on_is_recorded_and_nothing_else() {
    let (_folder, home) = home();
    make(
        &home,
        &["ws/docs/deep", "away", "outside"],
        &["ws/docs/deep/FILE", "outside/FILE"],
        &[
            ("ws/link", "docs"),
            ("ws/out-and-in", "../ws/docs/deep/FILE"),
            ("ws/allowed", "../outside/../away/late"),
            ("ws/below-late", "../away/late/FILE"),
            ("ws/outside", "../outside/FILE"),
            ("ws/absent-outside", "../outside/none"),
        ],
    );
    let bases = [home.join("ws"), home.join("away/late")];
    for (path, expected, seen) in [
        (
            "docs/deep/FILE",
            None,
            &[("ws/docs", "folder"), ("ws/docs/deep", "folder"), ("ws/docs/deep/FILE", "file")][..],
        ),
        ("docs/deep", None, &[("ws/docs", "folder"), ("ws/docs/deep", "folder")]),
        (
            "docs/deep/FILE/x",
            Some(ReadError::Missing),
            &[("ws/docs", "folder"), ("ws/docs/deep", "folder"), ("ws/docs/deep/FILE", "file")],
        ),
        ("docs/none/x", Some(ReadError::Missing), &[("ws/docs", "folder"), ("ws/docs/none", "absent")]),
        ("link/deep", None, &[("ws/docs", "folder"), ("ws/docs/deep", "folder"), ("ws/link", "link")]),
        (
            "link/none",
            Some(ReadError::LinkDangling),
            &[("ws/docs", "folder"), ("ws/docs/none", "absent"), ("ws/link", "link")],
        ),
        (
            "out-and-in",
            None,
            &[
                ("ws", "folder"),
                ("ws/docs", "folder"),
                ("ws/docs/deep", "folder"),
                ("ws/docs/deep/FILE", "file"),
                ("ws/out-and-in", "link"),
            ],
        ),
        ("allowed", Some(ReadError::LinkDangling), &[("away/late", "absent"), ("ws/allowed", "link")]),
        ("below-late", Some(ReadError::LinkDangling), &[("away/late", "absent"), ("ws/below-late", "link")]),
        ("outside", Some(ReadError::LinkOutside), &[("ws/outside", "link")]),
        ("absent-outside", Some(ReadError::LinkOutside), &[("ws/absent-outside", "link")]),
    ] {
        let mut walk = Walk::default();
        let found = walk.resolve(&home.join("ws"), Path::new(path), Some(&bases));
        assert_eq!(found.err(), expected, "{path}");
        let seen: Vec<_> = seen.iter().map(|(path, word)| ((*path).to_owned(), *word)).collect();
        assert_eq!(recorded(&walk, &home), seen, "{path}");
    }
    // A folder that is missing hides the allowed place beyond it.
    fs::remove_dir(home.join("away")).unwrap();
    let mut walk = Walk::default();
    let found = walk.resolve(&home.join("ws"), Path::new("below-late"), Some(&bases));
    assert_eq!(found.err(), Some(ReadError::LinkDangling));
    assert_eq!(recorded(&walk, &home), [("away".to_owned(), "absent"), ("ws/below-late".to_owned(), "link")]);
}

#[test]
fn on_the_way_to_a_workspace_links_and_the_end_are_recorded() {
    let (_folder, home) = home();
    make(&home, &["a/b/ws"], &[], &[("a/link", "b")]);
    let mut walk = Walk::default();
    let found = walk.resolve(Path::new("/"), &home.join("a/link/ws"), None).unwrap();
    assert_eq!(found.path, home.join("a/b/ws"));
    assert_eq!(recorded(&walk, &home), [("a/b/ws".to_owned(), "folder"), ("a/link".to_owned(), "link")]);
    assert!(walk.probes.values().all(|probe| probe.route.outer));
    assert_eq!(walk.destination(&home.join("a/link/../b/none/x")), home.join("a/b/none/x"));
}

#[test]
fn a_route_is_swapped_where_a_link_begins_with_two_dots() {
    let (_folder, home) = home();
    make(
        &home,
        &["real"],
        &["real/FILE"],
        &[
            ("..data", "real"),
            (".data", "real"),
            ("data", "real"),
            ("..twice", "..data"),
            ("..then", "data"),
            ("then", "..data"),
        ],
    );
    for (path, swapped, linked) in [
        ("real/FILE", false, false),
        ("..data/FILE", true, true),
        (".data/FILE", false, true),
        ("data/FILE", false, true),
        ("..twice/FILE", true, true),
        ("..then/FILE", true, true),
        ("then/FILE", true, true),
    ] {
        let found = Walk::default().resolve(&home, Path::new(path), Some(std::slice::from_ref(&home))).unwrap();
        assert_eq!(found.route, Route { swapped, linked, outer: false }, "{path}");
    }
}

#[test]
fn forty_links_are_followed_and_no_more() {
    let (_folder, home) = home();
    make(&home, &[], &["0"], &[]);
    (1..=MAX_LINKS + 1).for_each(|n| symlink((n - 1).to_string(), home.join(n.to_string())).unwrap());
    let follow = |n: usize| {
        let found = Walk::default().resolve(&home, Path::new(&n.to_string()), None);
        found.map(|found| found.path)
    };
    assert_eq!(follow(MAX_LINKS), Ok(home.join("0")));
    assert_eq!(follow(MAX_LINKS + 1), Err(ReadError::LinkLoop));
}

#[test]
fn what_has_failed_or_was_listed_stays_so_when_it_is_walked_through_again() {
    let (_folder, home) = home();
    make(&home, &["listed", "failed"], &["FILE"], &[]);
    let mut walk = Walk::default();
    let find =
        |walk: &mut Walk, path: &str| walk.resolve(&home, Path::new(path), Some(std::slice::from_ref(&home))).unwrap();
    for path in ["failed", "FILE"] {
        let found = find(&mut walk, path);
        assert_eq!(walk.read_failed(&found, &io::ErrorKind::PermissionDenied.into()), ReadError::Denied);
    }
    let listed = find(&mut walk, "listed");
    let signature = walk.signature(&listed.path).unwrap();
    walk.probe(&listed.path, Seen::Listing(signature, 0), listed.route);
    let before =
        [("FILE", "failed"), ("failed", "failed"), ("listed", "listing")].map(|(path, word)| (path.to_owned(), word));
    assert_eq!(recorded(&walk, &home), before);
    for path in ["FILE", "failed", "listed"] {
        find(&mut walk, path);
    }
    assert_eq!(recorded(&walk, &home), before);
    let failed = find(&mut walk, "failed");
    walk.probe(&failed.path, Seen::Listing(signature, 0), failed.route);
    assert_eq!(recorded(&walk, &home), before, "listed at the second try");
    walk.read_failed(&listed, &io::ErrorKind::PermissionDenied.into());
    assert!(recorded(&walk, &home).iter().all(|(_, word)| *word == "failed"), "failed at the second try");
}

#[test]
fn what_is_gone_by_the_time_it_is_read_has_not_failed() {
    let (_folder, home) = home();
    make(&home, &[], &["FILE"], &[]);
    for (error, expected, seen) in [
        (io::ErrorKind::NotFound, ReadError::Missing, "file"),
        (io::ErrorKind::NotADirectory, ReadError::Missing, "file"),
        (io::ErrorKind::PermissionDenied, ReadError::Denied, "failed"),
        (io::ErrorKind::TimedOut, ReadError::Failed(io::ErrorKind::TimedOut), "failed"),
    ] {
        let mut walk = Walk::default();
        let found = walk.resolve(&home, Path::new("FILE"), Some(std::slice::from_ref(&home))).unwrap();
        assert_eq!(walk.read_failed(&found, &error.into()), expected);
        assert_eq!(recorded(&walk, &home), [("FILE".to_owned(), seen)], "{error:?}");
    }
}

#[test]
fn a_device_is_no_file() {
    let found = Walk::default().resolve(Path::new("/"), Path::new("/dev/null"), None).unwrap();
    assert!(matches!(found.kind, Kind::Other("a device")));
}
