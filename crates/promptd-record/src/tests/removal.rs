//! What is removed: old requests, too many, those of a user, and files that nothing needs.

use super::*;

/// A folder with a request a second, alternating between two revisions.
fn filled(count: i64) -> (TempDir, Folder) {
    let home = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(options(home.path(), &[])).unwrap();
    let versions = ["version-1", "version-2"].map(|text| revision(&harbor().file("AGENTS.md", text)));
    for second in 0..count {
        let index = usize::try_from(second % 2).unwrap();
        call(&recorder, &versions[index], turn(["u-1", "u-2"][index]), None, NOW + second);
    }
    assert!(recorder.flush(PATIENCE));
    let folder = Folder::open(&dir(home.path())).unwrap();
    (home, folder)
}

fn seconds(home: &TempDir) -> Vec<i64> {
    recorded(&dir(home.path())).iter().map(|one| one.at.as_second() - NOW).collect()
}

fn bounds(max_bytes: u64, seconds: u64) -> Bounds {
    Bounds { max_bytes, max_age: Duration::from_secs(seconds) }
}

#[test]
fn what_is_too_old_goes_with_all_that_nothing_else_needs() {
    let (home, folder) = filled(10);
    let now = Timestamp::from_second(NOW + 9).unwrap();
    let swept = folder.sweep(&bounds(1 << 30, 3), now).unwrap();
    assert_eq!((seconds(&home), swept.removed, swept.requests), (vec![6, 7, 8, 9], 6, 4));
    let swept = folder.sweep(&bounds(1 << 30, 0), now).unwrap();
    assert_eq!((seconds(&home), swept.removed), (vec![9], 3));
    let dir = dir(home.path());
    let texts: Vec<_> = files_of(&dir, "blobs").into_values().collect();
    assert!(
        texts.contains(&b"version-2".to_vec()) && !texts.contains(&b"version-1".to_vec()),
        "the other revision's file is gone"
    );
    assert_eq!((files_of(&dir, "revisions").len(), repeat(&dir)), (1, 1));
    let swept = folder.sweep(&bounds(1 << 30, 0), Timestamp::from_second(NOW + 99).unwrap()).unwrap();
    assert_eq!((swept.bytes, swept.requests), (0, 0));
    assert!(files_of(&dir, "blobs").is_empty() && files_of(&dir, "requests").is_empty());
}

#[test]
fn what_is_too_much_goes_the_oldest_first() {
    let (home, folder) = filled(40);
    let now = Timestamp::from_second(NOW + 50).unwrap();
    let whole = folder.sweep(&bounds(1 << 30, 1_000), now).unwrap();
    assert_eq!((whole.requests, whole.removed), (40, 0));
    let limit = whole.bytes - 8 * 4096;
    let swept = folder.sweep(&bounds(limit, 1_000), now).unwrap();
    assert!(swept.bytes <= limit && swept.removed >= 8 && swept.requests > 10, "{swept:?}");
    let left = seconds(&home);
    assert_eq!(left, (40 - i64::try_from(left.len()).unwrap()..40).collect::<Vec<_>>());
    let on_disk: u64 = files(&dir(home.path())).values().map(|bytes| bytes.len() as u64).sum();
    assert!(on_disk <= swept.bytes, "every file counts");
    assert_eq!(folder.sweep(&bounds(4096, 1_000), now).unwrap().bytes, 0, "a revision that is too large alone");
}

#[test]
fn the_recording_keeps_its_bounds_by_itself() {
    let home = tempfile::tempdir().unwrap();
    let harbor = revision(&harbor());
    let bounds = Bounds { max_bytes: 200_000, max_age: PATIENCE * 10_000_000 };
    let recorder = Recorder::start(Options { bounds, ..options(home.path(), &[]) }).unwrap();
    for second in 0..300 {
        call(&recorder, &harbor, turn("u-1"), None, NOW + second);
    }
    assert!(recorder.flush(PATIENCE));
    let status = recorder.status();
    assert_eq!(status.written.get(), 300);
    assert!(status.removed.get() > 200 && status.bytes.get() <= 200_000, "{status:?}");
    let left = seconds(&home);
    assert_eq!((left.last(), left.len() as u64), (Some(&299), 300 - status.removed.get()));
}

#[test]
fn a_users_requests_are_removed_and_no_others() {
    let (home, folder) = filled(6);
    let recorder = Recorder::start(options(home.path(), &[])).unwrap();
    let channel = proto::Channel { name: "telegram".into(), user_id: "u-1".into(), ..Default::default() };
    let by_channel = proto::Turn { channel: Some(channel), ..Default::default() };
    call(&recorder, &revision(&harbor()), by_channel, None, NOW + 6);
    assert!(recorder.flush(PATIENCE));
    let deleted = folder.delete_user("u-1").unwrap();
    assert_eq!((deleted.requests, deleted.unread.len()), (4, 0));
    assert_eq!(seconds(&home), [1, 3, 5]);
    let dir = dir(home.path());
    for (path, bytes) in files(&dir) {
        let has = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
        assert!(!has("u-1") && !has("version-1"), "{}", path.display());
    }
    assert_eq!(folder.delete_user("u-1").unwrap().requests, 0);
    assert_eq!((repeat(&dir), files_of(&dir, "revisions").len()), (3, 1));
}

#[test]
fn nobody_has_the_empty_id() {
    let (home, folder) = filled(2);
    let recorder = Recorder::start(options(home.path(), &[])).unwrap();
    call(&recorder, &revision(&harbor()), proto::Turn::default(), None, NOW + 2);
    assert!(recorder.flush(PATIENCE));
    assert_eq!(folder.delete_user("").unwrap().requests, 0);
    assert_eq!(seconds(&home), [0, 1, 2], "one has neither a user nor a channel, the others no channel");
}

#[test]
fn a_revision_that_was_removed_meanwhile_is_stored_again() {
    let site = Site::new();
    let harbor = revision(&harbor());
    site.call(&harbor, turn("u-1"));
    site.recorded();
    assert_eq!(Folder::open(&site.dir()).unwrap().delete_user("u-1").unwrap().requests, 1);
    assert!(files_of(&site.dir(), "revisions").is_empty());
    site.call(&harbor, turn("u-2"));
    assert_eq!((site.recorded().len(), repeat(&site.dir())), (1, 1));
}

#[test]
fn whose_a_damaged_request_is_nobody_knows() {
    let (home, folder) = filled(2);
    let path = folder.path_of_request(&folder.requests().unwrap()[0]);
    fs::write(&path, "x").unwrap();
    let deleted = folder.delete_user("u-2").unwrap();
    assert_eq!((deleted.requests, deleted.unread.len()), (1, 1));
    assert_eq!(deleted.unread[0].path, path);
    drop(home);
}
