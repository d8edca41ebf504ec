//! What is followed: counted, watched, due, logged.

use std::{fs, os::unix::fs::symlink, path::PathBuf, time::Duration};

use super::{super::debounce::Decision, *};
use crate::{
    clock,
    load::files::FileSet,
    testing::{Silent, logged, read_set},
};

fn workspace(path: &Path) -> Kind {
    let id = Id::parse(path.file_name().unwrap().to_str().unwrap()).unwrap();
    Kind::Workspace { id, path: path.to_path_buf(), listed: true }
}

/// Follows the workspaces `one` and `other` of a folder; gives it, the targets, and what they are watched by.
fn targets(mode: WatchMode) -> (tempfile::TempDir, PathBuf, Targets, Silent) {
    let folder = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(folder.path()).unwrap();
    let (watcher, status) = (Silent::default(), Arc::new(Status::default()));
    let folders = Watches::new(Ok(Box::new(watcher.clone())), Arc::clone(&status));
    let mut targets = Targets::new(folders, mode, status);
    for workspace in ["one", "other"].map(|name| root.join(name)) {
        fs::create_dir(&workspace).unwrap();
        fs::write(workspace.join("FILE"), "text").unwrap();
        targets.add(self::workspace(&workspace), clock::now());
    }
    (folder, root, targets, watcher)
}

fn ids(targets: &Targets) -> [TargetId; 2] {
    targets.find(|_| true).try_into().unwrap()
}

#[test]
fn what_is_counted_and_said_of_a_target_goes_with_it() {
    let (_folder, root, mut targets, _) = targets(WatchMode::Poll);
    let [one, other] = ids(&targets);
    let counted = |targets: &Targets| {
        let status = &targets.status;
        (status.workspaces.get(), status.polled.get(), status.failing.get(), status.problems().to_vec())
    };
    for target in [one, other, one] {
        targets.watch(target, read_set(&root.join("one"), &["FILE"]));
        targets.set_failing(target, true);
    }
    targets.set_problems(one, vec!["A problem.".to_owned()]);
    assert_eq!(counted(&targets), (2, 2, 2, vec!["A problem.".to_owned()]));
    assert!(targets.of_workspace("one").is_some_and(|target| target.problems == ["A problem."]));
    targets.add(Kind::Root(root.clone()), clock::now());
    targets.remove(one);
    assert_eq!(counted(&targets), (1, 1, 1, vec![]));
    assert!(targets.of_workspace("one").is_none() && targets.get(one).is_none());
    assert_eq!(
        (targets.from(TargetId::default(), true), targets.from(other.next().next(), false)),
        (Some(other), None)
    );
    targets.set_failing(other, false);
    targets.remove(other);
    assert_eq!(counted(&targets), (0, 0, 0, vec![]));
    assert_eq!(targets.find(|_| true), [other.next()]);
    targets.add(workspace(&root.join("one")), clock::now());
    assert!(targets.find(|_| true)[1] > other.next(), "a number is never used twice");
}

#[test]
fn events_make_those_pending_who_looked_there() {
    let (_folder, root, mut targets, _) = targets(WatchMode::Auto);
    let [one, other] = ids(&targets);
    let at = |path: &str| root.join(path);
    fs::write(at("one/EMPTY"), "").unwrap();
    fs::create_dir(at("one/sub")).unwrap();
    symlink("EMPTY", at("one/link")).unwrap();
    let now = clock::now();
    let later = now + Duration::from_millis(100);
    let due = Event::Due { quiet_for: Some(Duration::from_secs(9)) };
    let idle = Event::Started { current: true, failed: false, quiet_for: None };
    for (path, change, decision) in [
        ("one/FILE", Change::Metadata, Some(Decision::Load)),
        ("one/FILE", Change::Closed, Some(Decision::Load)),
        ("one/FILE", Change::Created, Some(Decision::Load)),
        ("one/FILE", Change::Removed, Some(Decision::Load)),
        ("one/none", Change::Removed, Some(Decision::Load)),
        // Being written, or about to be.
        ("one/FILE", Change::Written, Some(Decision::Wait)),
        ("one/EMPTY", Change::Created, Some(Decision::Wait)),
        ("one/EMPTY", Change::Closed, Some(Decision::Load)),
        ("one/EMPTY", Change::Removed, Some(Decision::Load)),
        ("one/link", Change::Created, Some(Decision::Load)),
        ("one/sub", Change::Created, Some(Decision::Load)),
        // No input.
        ("one/anything", Change::Written, None),
        ("one/anything", Change::Created, None),
        ("other/FILE", Change::Written, None),
        ("elsewhere/FILE", Change::Removed, None),
    ] {
        for target in [one, other] {
            targets.watch(target, ReadSet::default());
            targets.apply(target, &idle, now);
        }
        targets.watch(one, read_set(&at("one"), &["FILE", "EMPTY", "sub", "link", "none"]));
        targets.file_event(&at(path), change, now);
        let pending = |id: TargetId| targets.get(id).unwrap().debounce.is_pending();
        assert_eq!((pending(one), pending(other)), (decision.is_some(), false), "{path} {change:?}");
        if let Some(decision) = decision {
            assert_eq!(targets.apply(one, &due, later), decision, "{path} {change:?}");
        }
    }
}

#[test]
fn what_was_removed_or_renamed_is_watched_no_more_until_it_is_loaded() {
    let (_folder, root, mut targets, watcher) = targets(WatchMode::Auto);
    let [one, other] = ids(&targets);
    for (target, name) in [(one, "one"), (other, "other")] {
        assert!(targets.watch(target, read_set(&root.join(name), &["FILE"])));
        let idle = Event::Started { current: true, failed: false, quiet_for: None };
        targets.apply(target, &idle, clock::now());
    }
    let all = watcher.watched.lock().unwrap().clone();
    assert_eq!(all.len(), 3);
    for change in [Change::Created, Change::Written, Change::Closed, Change::Metadata] {
        targets.file_event(&root.join("one"), change, clock::now());
        assert_eq!(*watcher.watched.lock().unwrap(), all, "{change:?}");
    }
    targets.file_event(&root.join("one"), Change::Removed, clock::now());
    let left: Vec<_> = all.into_iter().filter(|folder| !folder.ends_with("one")).collect();
    assert_eq!(*watcher.watched.lock().unwrap(), left);
    // A watch that was lost is a sign by itself, whatever the folder is to the target.
    targets.file_event(&root, Change::Removed, clock::now());
    assert!(watcher.watched.lock().unwrap().is_empty());
    assert!(targets.get(other).unwrap().debounce.is_pending());
}

#[test]
fn what_has_changed_before_it_was_watched_is_not_current() {
    let (_folder, root, mut targets, _) = targets(WatchMode::Auto);
    let [one, _] = ids(&targets);
    let read = || read_set(&root.join("one"), &["FILE"]);
    assert!(targets.watch(one, read()));
    let before = read();
    fs::write(root.join("one/FILE"), "other text").unwrap();
    assert!(!targets.watch(one, before));
    targets.remove(one);
    assert!(!targets.watch(one, read()), "it is gone");
}

#[test]
fn a_target_is_polled_where_its_events_cannot_be_had_and_watched_again_where_events_may_come_back() {
    for (mode, refused, polled, healed) in [
        (WatchMode::Auto, true, true, false),
        (WatchMode::Auto, false, false, false),
        (WatchMode::Events, true, false, false),
        (WatchMode::Events, false, false, false),
        (WatchMode::Poll, true, true, true),
        (WatchMode::Poll, false, true, true),
    ] {
        let (_folder, root, mut targets, watcher) = targets(mode);
        let [one, _] = ids(&targets);
        *watcher.refusal.lock().unwrap() = refused.then_some(WatchError::WatchLimit);
        targets.watch(one, read_set(&root.join("one"), &["FILE"]));
        assert_eq!(targets.get(one).unwrap().polled, polled, "{mode:?} {refused}");
        assert_eq!(targets.status.problems().len(), usize::from(refused), "{mode:?}");
        *watcher.refusal.lock().unwrap() = None;
        let before = watcher.watched.lock().unwrap().len();
        assert_eq!(targets.are_watches_used_up(), refused, "{mode:?}");
        targets.watch_again(one);
        assert_eq!(
            watcher.watched.lock().unwrap().len(),
            before,
            "no more can be watched, or none has to be: {mode:?}"
        );
        targets.try_watches();
        targets.watch_again(one);
        assert_eq!(targets.get(one).unwrap().polled, healed, "{mode:?} {refused}");
        let tried = watcher.watched.lock().unwrap().len() > before;
        assert_eq!(tried, mode == WatchMode::Auto && refused, "{mode:?} {refused}");
        assert_eq!(targets.status.problems().is_empty(), tried || !refused, "{mode:?} {refused}");
    }
}

#[test]
fn why_folders_are_not_watched_is_logged_once_for_all() {
    let (_folder, _, mut targets, _) = targets(WatchMode::Auto);
    let [one, other] = ids(&targets);
    let tried = |targets: &mut Targets, target, error: Option<WatchError>| {
        logged(|| targets.rely_on_events(target, error.map_or(Ok(()), Err)))
    };
    let (limit, denied) = (Some(WatchError::WatchLimit), Some(WatchError::Denied));
    let said = |error: Option<WatchError>| vec![format!("WARN {}", error.unwrap().advice())];
    let none = Vec::<String>::new();
    assert_eq!(tried(&mut targets, one, limit), said(limit));
    assert_eq!(tried(&mut targets, one, limit), none, "the same");
    assert_eq!(tried(&mut targets, other, limit), none, "another's, which is known");
    assert_eq!(tried(&mut targets, other, denied), said(denied), "another reason");
    assert_eq!(targets.status.problems().len(), 2);
    assert_eq!(tried(&mut targets, other, None), none);
    assert_eq!(tried(&mut targets, one, None), none);
    assert!(targets.status.problems().is_empty());
    assert_eq!(tried(&mut targets, other, limit), said(limit), "again, after it was good");
}

#[test]
fn problems_are_logged_as_they_come_and_go() {
    let (_folder, _, mut targets, _) = targets(WatchMode::Auto);
    let [one, other] = ids(&targets);
    let mut now = |target, problems: &[&str]| {
        let problems = problems.iter().map(|problem| (*problem).to_owned()).collect();
        let lines = logged(|| targets.set_problems(target, problems));
        (lines, targets.status.problems().to_vec())
    };
    let words = |all: &[&str]| all.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    assert_eq!(now(one, &["a", "b"]), (words(&["WARN a", "WARN b"]), words(&["a", "b"])));
    assert_eq!(now(one, &["a", "b"]), (words(&[]), words(&["a", "b"])));
    assert_eq!(now(other, &["z"]), (words(&["WARN z"]), words(&["a", "b", "z"])));
    assert_eq!(now(one, &["b", "c"]), (words(&["WARN c", "INFO no longer: a"]), words(&["b", "c", "z"])));
    assert_eq!(now(one, &[]), (words(&["INFO no longer: b", "INFO no longer: c"]), words(&["z"])));
}

#[test]
fn what_is_due_is_loaded_when_it_is_and_the_first_decides_when_that_is() {
    let (_folder, _, mut targets, _) = targets(WatchMode::Auto);
    let [one, other] = ids(&targets);
    let (start, later) = (clock::now(), clock::now() + Duration::from_secs(60));
    for (target, at) in [(one, start), (other, later)] {
        targets.get_mut(target).unwrap().debounce = super::super::debounce::Debounce::default();
        targets.apply(target, &Event::Added, at);
    }
    assert_eq!(targets.next_due(), Some(start));
    let due = |targets: &Targets, now| targets.due(now).collect::<Vec<_>>();
    assert_eq!(due(&targets, start), [one]);
    assert_eq!(due(&targets, later), [one, other]);
    targets.remove(one);
    assert_eq!((due(&targets, start), targets.next_due()), (vec![], Some(later)));
    targets.mark(|target| matches!(target.kind, Kind::Files(FileSet::Paths(_), _)), start);
    assert_eq!(targets.next_due(), Some(later));
    targets.mark(|_| true, start);
    assert!(targets.next_due() < Some(later));
}
