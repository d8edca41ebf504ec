//! Which folders are watched, and whom an event concerns.

use std::fs;

use super::*;
use crate::testing::{Silent, read_set};

/// Watches of a folder `root` with the workspaces `one` and `other`, each with a file and the folder `sub`.
struct Scene {
    _folder: tempfile::TempDir,
    root: PathBuf,
    silent: Silent,
    status: Arc<Status>,
    watches: Watches,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap().join("root");
        for workspace in ["one", "other"] {
            fs::create_dir_all(root.join(workspace).join("sub")).unwrap();
            fs::write(root.join(workspace).join("FILE"), "text").unwrap();
        }
        let (silent, status) = (Silent::default(), Arc::new(Status::default()));
        let watches = Watches::new(Ok(Box::new(silent.clone())), Arc::clone(&status));
        Self { _folder: folder, root, silent, status, watches }
    }

    fn of(&self, workspace: &str, files: &[&str]) -> ReadSet {
        read_set(&self.root.join(workspace), files)
    }

    /// The watched folders by path below `root`, `..` is the one above; there must be as many as are counted.
    fn watched(&self) -> Vec<String> {
        let watched = self.silent.watched.lock().unwrap();
        assert_eq!(i64::try_from(watched.len()), Ok(self.status.watches.get()));
        let below =
            |path: &PathBuf| path.strip_prefix(&self.root).map_or("..", |path| path.to_str().unwrap()).to_owned();
        let mut watched: Vec<_> = watched.iter().map(below).collect();
        watched.sort();
        watched
    }

    fn concerned(&self, path: &str) -> Vec<TargetId> {
        self.watches.concerned(&self.root.join(path)).into_iter().collect()
    }
}

const NONE: fn() -> ReadSet = ReadSet::default;

fn ids() -> [TargetId; 3] {
    let first = TargetId::default().next();
    [first, first.next(), first.next().next()]
}

#[test]
fn a_folder_is_watched_once_and_until_the_last_target_lets_go() {
    let mut scene = Scene::new();
    let [one, other, both] = ids();
    let (file, deep) = (scene.of("one", &["FILE"]), scene.of("one", &["FILE", "sub/FILE"]));
    let (root, away) = (read_set(&scene.root, &[""]), scene.of("other", &["FILE"]));
    scene.watches.follow(one, &NONE(), &file).unwrap();
    assert_eq!(scene.watched(), ["", "one"]);
    scene.watches.follow(other, &NONE(), &away).unwrap();
    scene.watches.follow(both, &NONE(), &deep).unwrap();
    assert_eq!(scene.watched(), ["", "one", "one/sub", "other"]);
    // The same again changes nothing.
    scene.watches.follow(one, &file, &file).unwrap();
    assert_eq!(scene.watched(), ["", "one", "one/sub", "other"]);
    // Less of one target, which another still has.
    scene.watches.follow(both, &deep, &file).unwrap();
    assert_eq!(scene.watched(), ["", "one", "other"]);
    scene.watches.follow(both, &file, &root).unwrap();
    scene.watches.follow(one, &file, &NONE()).unwrap();
    assert_eq!(scene.watched(), ["", "..", "other"]);
    // The root is on the way to `other` and listed by `both`: it is watched for either.
    scene.watches.follow(both, &root, &NONE()).unwrap();
    assert_eq!(scene.watched(), ["", "other"]);
    scene.watches.follow(both, &NONE(), &root).unwrap();
    scene.watches.follow(other, &away, &NONE()).unwrap();
    assert_eq!(scene.watched(), ["", ".."]);
    scene.watches.follow(both, &root, &NONE()).unwrap();
    assert_eq!(scene.watched(), [""; 0]);
    assert!(scene.watches.folders.is_empty() && scene.watches.outer.is_empty());
}

#[test]
fn an_event_concerns_those_who_looked_there_and_on_the_way_one_name_alone() {
    let mut scene = Scene::new();
    let [one, other, root] = ids();
    let file = scene.of("one", &["FILE"]);
    scene.watches.follow(one, &NONE(), &file).unwrap();
    scene.watches.follow(other, &NONE(), &scene.of("other", &["FILE"])).unwrap();
    scene.watches.follow(root, &NONE(), &read_set(&scene.root, &[""])).unwrap();
    for (path, concerned) in [
        ("one/FILE", vec![one]),
        ("one/anything", vec![one]),
        ("other/anything", vec![other]),
        ("one", vec![one, root]),
        ("other", vec![other, root]),
        ("anything", vec![root]),
        ("one/sub/FILE", vec![]),
        ("elsewhere/FILE", vec![]),
    ] {
        assert_eq!(scene.concerned(path), concerned, "{path}");
    }
    // What is no longer on the way concerns it no more.
    scene.watches.follow(one, &file, &NONE()).unwrap();
    assert_eq!((scene.concerned("one"), scene.concerned("other")), (vec![root], vec![other, root]));
}

#[test]
fn a_folder_that_is_another_one_now_is_watched_anew() {
    let mut scene = Scene::new();
    let [one, other, _] = ids();
    scene.watches.follow(one, &NONE(), &scene.of("one", &["FILE", "sub/FILE"])).unwrap();
    scene.watches.follow(other, &NONE(), &scene.of("other", &["FILE"])).unwrap();
    let before = scene.of("one", &["FILE", "sub/FILE"]);
    assert_eq!(scene.watches.forget(&scene.root.join("one")), BTreeSet::from([one]));
    assert_eq!(scene.watched(), ["", "other"]);
    assert_eq!(scene.watches.forget(&scene.root.join("one")), BTreeSet::new(), "once");
    scene.watches.follow(one, &before, &before).unwrap();
    assert_eq!(scene.watched(), ["", "one", "one/sub", "other"]);

    // The same without an event.
    fs::rename(scene.root.join("one"), scene.root.join("away")).unwrap();
    fs::create_dir(scene.root.join("one")).unwrap();
    let after = scene.of("one", &["FILE"]);
    scene.watches.follow(one, &before, &after).unwrap();
    assert_eq!(scene.watched(), ["", "one", "other"]);
    assert_eq!(
        scene.watches.folders[scene.root.join("one").as_os_str()].watched,
        disk::stat(&scene.root.join("one")).ok().map(|meta| Inode::of(&meta)),
    );
}

#[test]
fn what_is_forgotten_is_a_folder_and_what_is_below_it_and_nothing_that_is_called_alike() {
    let mut scene = Scene::new();
    for alike in ["one.bak", "one-more", "one0", "on"] {
        fs::create_dir(scene.root.join(alike)).unwrap();
        fs::write(scene.root.join(alike).join("FILE"), "text").unwrap();
    }
    let [one, others, _] = ids();
    scene.watches.follow(one, &NONE(), &scene.of("one", &["FILE", "sub/FILE"])).unwrap();
    let alike = ["one.bak/FILE", "one-more/FILE", "one0/FILE", "on/FILE"];
    scene.watches.follow(others, &NONE(), &read_set(&scene.root, &alike)).unwrap();
    assert_eq!(scene.watches.forget(&scene.root.join("one")), BTreeSet::from([one]));
    assert_eq!(scene.watched(), ["", "..", "on", "one-more", "one.bak", "one0"]);
}

#[test]
fn why_a_folder_is_not_watched_is_said_and_counted_and_one_that_is_gone_is_no_error() {
    let mut scene = Scene::new();
    let [one, ..] = ids();
    let file = scene.of("one", &["FILE"]);
    *scene.silent.refusal.lock().unwrap() = Some(WatchError::Denied);
    assert_eq!(scene.watches.follow(one, &NONE(), &file), Err(WatchError::Denied));
    let counted = |scene: &Scene| {
        let counts = scene.status.watch_errors().map(|(error, count)| (error, count.get()));
        counts.filter(|(_, count)| *count > 0).collect::<Vec<_>>()
    };
    assert_eq!(counted(&scene), [(WatchError::Denied, 2)], "one for each folder");
    *scene.silent.refusal.lock().unwrap() = Some(WatchError::Missing);
    assert_eq!(scene.watches.follow(one, &file, &file), Ok(()));
    *scene.silent.refusal.lock().unwrap() = None;
    fs::remove_dir_all(scene.root.join("one")).unwrap();
    assert_eq!(scene.watches.follow(one, &file, &file), Ok(()));
    assert_eq!((scene.watched(), counted(&scene)), (vec![String::new()], vec![(WatchError::Denied, 2)]));
}

#[test]
fn a_folder_that_cannot_be_looked_at_is_not_watched_and_that_is_said() {
    let scene = Scene::new();
    let mut watches = scene.watches;
    // Longer than any name can be.
    let folder = scene.root.join("x".repeat(300));
    watches.folders.insert(folder.clone().into(), Watch::default());
    assert_eq!(watches.ensure(&folder), Err(WatchError::Other));
    assert!(scene.status.watch_errors().all(|(error, count)| (count.get() == 1) == (error == WatchError::Other)));
}

#[test]
fn without_a_watcher_the_reason_is_given_if_one_was_wanted() {
    let scene = Scene::new();
    let file = scene.of("one", &["FILE"]);
    for (reason, expected) in [(None, Ok(())), (Some(WatchError::InstanceLimit), Err(WatchError::InstanceLimit))] {
        let mut watches = Watches::new(Err(reason), Arc::new(Status::default()));
        assert_eq!(watches.follow(ids()[0], &NONE(), &file), expected);
    }
}
