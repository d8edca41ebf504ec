//! What a load has looked at, compared with the disk and with other loads.

use std::{fs, os::unix::fs::symlink};

use super::{super::probe::Route, *};

const INNER: Route = Route { swapped: false, linked: false, outer: false };
const OUTER: Route = Route { outer: true, ..INNER };
const LINKED: Route = Route { linked: true, ..INNER };
const SWAPPED: Route = Route { swapped: true, ..LINKED };

/// A folder with the files `full` and `empty` and the folders `sub` and `other`, each with the file `full`.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    for folder in ["sub", "other"] {
        fs::create_dir(home.path().join(folder)).unwrap();
        fs::write(home.path().join(folder).join("full"), "text").unwrap();
    }
    fs::write(home.path().join("full"), "text").unwrap();
    fs::write(home.path().join("empty"), "").unwrap();
    home
}

fn signature(path: &Path) -> Signature {
    Signature::of(&fs::symlink_metadata(path).unwrap())
}

fn file(path: &Path) -> Seen {
    Seen::File(signature(path))
}

fn folder(path: &Path) -> Seen {
    Seen::Folder(signature(path).inode)
}

fn listing(path: &Path) -> Seen {
    Seen::Listing(signature(path), 0)
}

fn set(root: &Path, probes: &[(&Path, Seen, Route)]) -> ReadSet {
    let probes = probes.iter().map(|(path, seen, route)| (path.into(), Probe { seen: *seen, route: *route }));
    let named = ["named".into()].into();
    ReadSet::new(Walk { probes: probes.collect(), named, ..Walk::default() }, Some(signature(root).inode))
}

#[test]
fn of_several_trees_each_path_has_the_probe_that_says_most() {
    let home = home();
    let [at, sub, other] = ["", "sub", "other"].map(|name| home.path().join(name));
    let one = || set(&at, &[(&sub, folder(&sub), OUTER), (&other, listing(&other), INNER)]);
    let two = || set(&sub, &[(&sub, folder(&sub), INNER), (&other, folder(&other), INNER), (&at, listing(&at), OUTER)]);
    for joined in [ReadSet::join([one(), two()]), ReadSet::join([one(), two(), one()])] {
        let of = |path: &Path| joined.get(path).map(|probe| (probe.is_listing(), probe.route));
        assert_eq!(of(&at), Some((true, OUTER)));
        assert_eq!(of(&sub), Some((false, INNER)));
        assert_eq!(of(&other), Some((true, INNER)));
        assert_eq!(joined.probes.iter().count(), 3);
        assert!(joined.probes.iter().is_sorted_by(|(a, _), (b, _)| a.as_os_str() < b.as_os_str()) && !joined.torn);
        assert_eq!(joined.root, Some(signature(&at).inode), "the workspace's");
    }
    assert_eq!(ReadSet::join([two(), one()]).root, Some(signature(&sub).inode));
    let failed = || set(&sub, &[(&other, Seen::Failed, INNER)]);
    assert!(ReadSet::join([one(), failed()]).has_failures() && ReadSet::join([failed(), one()]).has_failures());
    let torn = || ReadSet { torn: true, ..ReadSet::default() };
    for (sets, is_torn) in [
        (vec![torn()], true),
        (vec![one(), torn(), torn()], true),
        (vec![torn(), one()], true),
        (vec![one()], false),
        (vec![], false),
    ] {
        assert_eq!(ReadSet::join(sets).torn, is_torn);
    }
}

#[test]
fn an_older_load_counts_where_the_newer_one_failed_or_did_not_look() {
    let home = home();
    let [at, full, empty, sub] = ["", "full", "empty", "sub"].map(|name| home.path().join(name));
    let older = || set(&at, &[(&full, file(&full), INNER), (&empty, file(&empty), INNER)]);
    let newer =
        |root| set(root, &[(&full, Seen::Failed, INNER), (&empty, Seen::Absent, INNER), (&sub, Seen::Failed, INNER)]);
    let of = |set: &ReadSet, path: &Path| set.get(path).map(|probe| probe.seen);
    let both = newer(&at).over(&older());
    assert_eq!(of(&both, &full), Some(file(&full)), "failed");
    assert_eq!(of(&both, &empty), Some(Seen::Absent), "looked at");
    assert_eq!(of(&both, &sub), Some(Seen::Failed), "never read");
    let none = set(&at, &[]).over(&older());
    assert_eq!((of(&none, &full), none.root), (Some(file(&full)), Some(signature(&at).inode)), "did not look");
    let another = newer(&sub).over(&older());
    assert_eq!(
        (of(&another, &full), another.root),
        (Some(Seen::Failed), Some(signature(&sub).inode)),
        "another folder"
    );
    // Where the folder itself could not be opened, it may be the same.
    let unopened = ReadSet { root: None, ..newer(&at) }.over(&older());
    assert_eq!((of(&unopened, &full), unopened.root), (Some(file(&full)), Some(signature(&at).inode)));
}

#[test]
fn what_was_torn_is_never_current() {
    let home = home();
    let full = home.path().join("full");
    let read = || set(home.path(), &[(&full, file(&full), INNER)]);
    assert!(read().is_current());
    assert!(!ReadSet { torn: true, ..read() }.is_current());
    let before =
        [read(), set(home.path(), &[(&full, file(&full), INNER), (&home.path().join("none"), Seen::Failed, INNER)])];
    assert_eq!(before.each_ref().map(ReadSet::has_failures), [false, true]);
    assert!(!before[1].is_current(), "one of two has changed");
    fs::write(&full, "longer text").unwrap();
    assert!(!before[0].is_current());
}

#[test]
fn rest_is_of_loose_files_and_is_measured_as_they_were_or_as_they_are() {
    let home = home();
    let at = |name: &str| home.path().join(name);
    let (full, sub) = (at("full"), at("sub"));
    for (seen, route, is_loose) in [
        (file(&full), INNER, true),
        (file(&full), LINKED, true),
        (file(&full), OUTER, true),
        (file(&full), SWAPPED, false),
        (Seen::Link(signature(&full)), INNER, false),
        (listing(&sub), INNER, false),
        (folder(&sub), INNER, false),
        (Seen::Failed, INNER, false),
        (Seen::Absent, INNER, false),
    ] {
        let read = set(home.path(), &[(&full, seen, route)]);
        assert_eq!((read.quiet_for().is_some(), read.quiet_for_now().is_some()), (is_loose, is_loose), "{seen:?}");
    }
    let read = set(home.path(), &[(&full, file(&full), INNER), (&at("empty"), file(&at("empty")), INNER)]);
    let before = read.quiet_for().unwrap();
    fs::write(&full, "newer").unwrap();
    fs::remove_file(at("empty")).unwrap();
    let (as_read, now) = (read.quiet_for().unwrap(), read.quiet_for_now().unwrap());
    assert!(as_read > before && now < as_read, "{before:?} {as_read:?} {now:?}");
    fs::remove_file(&full).unwrap();
    assert_eq!(read.quiet_for_now(), None);
}

/// What `before` saw of the file `full`, and what a load sees after a change of the disk.
#[test]
fn a_file_is_lost_where_it_had_content_and_is_missing_or_empty_in_the_same_folder() {
    #[derive(Debug, PartialEq)]
    enum Is {
        Kept,
        Missing,
        Empty,
    }
    use Is::{Empty, Kept, Missing};
    type Load = fn(&Path) -> Option<Seen>;
    const UNREAD: Load = |_| None;
    const SEEN: Load = |path| Some(if path.is_symlink() { Seen::Link(signature(path)) } else { file(path) });
    const ABSENT: Load = |_| Some(Seen::Absent);
    let truncate = |path: &Path| fs::write(path, "").unwrap();
    let remove = |path: &Path| fs::remove_file(path).unwrap();
    let replace_folder = |path: &Path| {
        let folder = path.parent().unwrap();
        fs::rename(folder, folder.with_file_name("away")).unwrap();
        fs::create_dir(folder).unwrap();
    };
    let remove_folder = |path: &Path| fs::remove_dir_all(path.parent().unwrap()).unwrap();
    let link = |path: &Path| {
        fs::remove_file(path).unwrap();
        symlink("x", path).unwrap();
    };
    let into_folder = |path: &Path| {
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
    };
    for (name, route, change, load, expected) in [
        ("unchanged", INNER, &(|_: &Path| ()) as &dyn Fn(&Path), SEEN, Kept),
        ("written", INNER, &|path: &Path| fs::write(path, "more").unwrap(), SEEN, Kept),
        ("truncated", INNER, &truncate, SEEN, Empty),
        ("truncated, linked", LINKED, &truncate, SEEN, Empty),
        ("truncated, swapped", SWAPPED, &truncate, SEEN, Kept),
        ("truncated, on the way", OUTER, &truncate, SEEN, Kept),
        ("truncated and not read", INNER, &truncate, UNREAD, Empty),
        ("truncated and not read, linked", LINKED, &truncate, UNREAD, Kept),
        ("removed", INNER, &remove, ABSENT, Missing),
        ("removed, linked", LINKED, &remove, ABSENT, Missing),
        ("removed and not read", INNER, &remove, UNREAD, Missing),
        ("removed and not read, linked", LINKED, &remove, UNREAD, Kept),
        ("not read any more", INNER, &|_: &Path| (), UNREAD, Kept),
        ("now a link", INNER, &link, SEEN, Kept),
        ("now a link and not read", INNER, &link, UNREAD, Kept),
        ("now a folder and not read", INNER, &into_folder, UNREAD, Kept),
        ("removed with its folder", INNER, &remove_folder, ABSENT, Kept),
        ("removed with its folder and not read", INNER, &remove_folder, UNREAD, Kept),
        ("its folder replaced", INNER, &replace_folder, ABSENT, Kept),
    ] {
        let home = home();
        let [sub, full] = ["sub", "sub/full"].map(|name| home.path().join(name));
        let before = set(home.path(), &[(&sub, folder(&sub), INNER), (&full, file(&full), route)]);
        let elsewhere = Some(signature(&sub).inode);
        change(&full);
        let load = load(&full);
        let probes: Vec<_> = load.iter().map(|seen| (full.as_path(), *seen, route)).collect();
        let next = set(home.path(), &probes);
        let losses: Vec<_> = before.losses_in(&next).collect();
        let is = match losses[..] {
            [] => Kept,
            [(path, Loss::Missing)] if path == full => Missing,
            [(path, Loss::Empty(_))] if path == full => Empty,
            _ => panic!("{losses:?}"),
        };
        assert_eq!(is, expected, "{name}");
        let next = ReadSet { root: elsewhere, ..next };
        assert_eq!(before.losses_in(&next).count(), 0, "{name}, in another workspace's folder");
    }
}

#[test]
fn a_file_without_content_is_not_lost_and_one_whose_folder_was_not_seen_is() {
    let home = home();
    let [full, empty] = ["full", "empty"].map(|name| home.path().join(name));
    let before = set(home.path(), &[(&full, file(&full), INNER), (&empty, file(&empty), INNER)]);
    for path in [&full, &empty] {
        fs::remove_file(path).unwrap();
    }
    let next = set(home.path(), &[]);
    assert_eq!(before.losses_in(&next).collect::<Vec<_>>(), [(full.as_path(), Loss::Missing)]);
}

#[test]
fn events_concern_what_was_looked_at_and_renames_what_was_listed() {
    let home = home();
    let at = |name: &str| home.path().join(name);
    let read = set(
        home.path(),
        &[
            (&at("full"), file(&at("full")), INNER),
            (&at("sub"), listing(&at("sub")), INNER),
            (&at("other"), folder(&at("other")), INNER),
        ],
    );
    for name in ["part/Named", "part/text", "part/sub/named"] {
        fs::create_dir_all(at(name).parent().unwrap()).unwrap();
        fs::write(at(name), "text").unwrap();
    }
    symlink("text", at("part/link")).unwrap();
    let part = Seen::Part(signature(&at("part")), 0);
    let read = ReadSet::join([
        read,
        set(home.path(), &[(&at("part"), part, INNER), (&at("part/gone"), listing(&at("part")), INNER)]),
    ]);
    for (path, renamed, is_touched) in [
        ("part/Named", true, true),
        ("part/Named", false, false),
        ("part/NAMED", true, true),
        ("part/text", true, false),
        ("part/new", true, false),
        ("part/link", true, true),
        ("part/sub", true, true),
        ("part/sub/named", true, false),
        ("part/gone", true, true),
        ("full", false, true),
        ("full", true, true),
        ("sub", false, true),
        ("sub/full", false, false),
        ("sub/full", true, true),
        ("other/full", true, false),
        ("empty", true, false),
    ] {
        assert_eq!(read.is_touched_by(&at(path), renamed), is_touched, "{path}, {renamed}");
    }
}

#[test]
fn folders_are_watched_for_what_was_looked_at_in_them() {
    let home = home();
    let at = |name: &str| home.path().join(name);
    let (full, inner, sub, other) = (at("full"), at("sub/full"), at("sub"), at("other"));
    let folders = |probes: &[(&Path, Seen, Route)]| {
        let set = set(home.path(), probes);
        let below = |path: &Path| path.strip_prefix(home.path()).ok().map(|path| path.to_str().unwrap().to_owned());
        let folders = set.folders().into_iter().filter_map(|(path, only_outer)| Some((below(path)?, only_outer)));
        let outer = set.outer_paths().filter_map(below);
        (folders.collect::<Vec<_>>(), outer.collect::<Vec<_>>())
    };
    let watched =
        |all: &[(&str, bool)]| all.iter().map(|(path, outer)| ((*path).to_owned(), *outer)).collect::<Vec<_>>();
    let (on, outer) = folders(&[(&inner, file(&inner), INNER), (&full, file(&full), OUTER)]);
    assert_eq!((on, outer), (watched(&[("", true), ("sub", false)]), vec!["full".to_owned()]));
    for both in [[OUTER, INNER], [INNER, OUTER]] {
        let (on, _) = folders(&[(&full, file(&full), both[0]), (&at("empty"), Seen::Absent, both[1])]);
        assert_eq!(on, watched(&[("", false)]), "{both:?}");
    }
    let (on, outer) = folders(&[(&sub, listing(&sub), OUTER), (&other, folder(&other), OUTER)]);
    assert_eq!((on, outer), (watched(&[("", true), ("sub", false)]), vec!["other".to_owned(), "sub".to_owned()]));
}
