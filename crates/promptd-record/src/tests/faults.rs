//! Disks that are full, folders that cannot be written to, and a disk that does not answer.

use std::{
    io,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
};

use super::*;
use crate::{Drop, disk::Call};

/// A disk of so many bytes, which can be given more.
fn disk_of(free: &Arc<AtomicU64>) -> Faults {
    let free = Arc::clone(free);
    Arc::new(move |call, _| {
        // A file takes a block.
        let takes = u64::from(call == Call::Write);
        let enough = free.fetch_update(Ordering::AcqRel, Ordering::Acquire, |free| free.checked_sub(takes));
        enough.map(drop).map_err(|_| io::ErrorKind::StorageFull.into())
    })
}

#[test]
fn a_full_disk_loses_requests_which_are_counted_and_recording_recovers() {
    // FORMAT, four files of the revision, the revision, three requests.
    let free = Arc::new(AtomicU64::new(9));
    let site = Site::with(&[], Some(disk_of(&free)));
    let harbor = revision(&harbor());
    for _ in 0..5 {
        site.call(&harbor, turn("u"));
        assert!(site.recorder.flush(PATIENCE));
    }
    let status = site.recorder.status();
    assert_eq!((status.written.get(), status.drops(Drop::WriteFailed), status.failing.get()), (3, 2, 1));
    assert_eq!(repeat(&site.dir()), 3, "what is there is whole");
    free.store(100, Ordering::Release);
    site.call(&harbor, turn("u"));
    assert_eq!(site.recorded().len(), 4);
    assert_eq!((status.drops(Drop::WriteFailed), status.failing.get()), (2, 0));
}

#[test]
fn a_revision_that_did_not_fit_is_written_later() {
    let free = Arc::new(AtomicU64::new(4));
    let site = Site::with(&[], Some(disk_of(&free)));
    let harbor = revision(&harbor());
    site.call(&harbor, turn("u"));
    assert!(site.recorded().is_empty());
    free.store(100, Ordering::Release);
    site.call(&harbor, turn("u"));
    assert_eq!((site.recorded().len(), repeat(&site.dir())), (1, 1));
}

#[test]
fn a_folder_that_cannot_be_made_is_made_when_it_can_be() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("made"), "a file where the folder must be").unwrap();
    let recorder = Recorder::start(options(home.path(), &[])).unwrap();
    let harbor = revision(&harbor());
    call(&recorder, &harbor, turn("u"), None, NOW);
    assert!(recorder.flush(PATIENCE));
    assert_eq!((recorder.status().failing.get(), recorder.status().drops(Drop::WriteFailed)), (1, 1));
    fs::remove_file(home.path().join("made")).unwrap();
    call(&recorder, &harbor, turn("u"), None, NOW);
    assert!(recorder.flush(PATIENCE));
    assert_eq!((recorder.status().failing.get(), recorded(&dir(home.path())).len()), (0, 1));
    fs::remove_dir_all(home.path().join("made")).unwrap();
    for _ in 0..2 {
        call(&recorder, &harbor, turn("u"), None, NOW);
        assert!(recorder.flush(PATIENCE));
    }
    assert_eq!((recorder.status().failing.get(), repeat(&dir(home.path()))), (0, 1), "it was removed meanwhile");
}

/// Every call of the disk can be the one that fails.
#[test]
fn whichever_call_fails_what_is_there_is_whole_and_recording_goes_on() {
    let harbor = revision(&harbor());
    let mut calls = 0;
    for fails_at in 0.. {
        let count = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&count);
        let faults: Faults = Arc::new(move |_, _| match counted.fetch_add(1, Ordering::AcqRel) {
            n if n == fails_at => Err(io::ErrorKind::PermissionDenied.into()),
            _ => Ok(()),
        });
        let site = Site::with(&[], Some(faults));
        for _ in 0..4 {
            site.call(&harbor, turn("u"));
            assert!(site.recorder.flush(PATIENCE));
        }
        let made = count.swap(u64::MAX / 2, Ordering::AcqRel);
        site.call(&harbor, turn("u"));
        assert!(site.recorder.flush(PATIENCE));
        let status = site.recorder.status();
        let (written, lost) = (status.written.get(), status.drops(Drop::WriteFailed));
        assert!(written + lost == 5 && written >= 4 && status.failing.get() == 0, "call {fails_at}: {written} {lost}");
        assert_eq!(repeat(&site.dir()) as u64, written, "call {fails_at}");
        if made <= fails_at {
            calls = fails_at;
            break;
        }
    }
    assert!(calls > 40, "{calls}");
}

/// A disk that does not answer, until it is released.
fn blocked() -> (Faults, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let (reached, waiting) = mpsc::channel();
    let (release, released) = mpsc::channel();
    let (released, is_free) = (Mutex::new(released), AtomicBool::new(false));
    let faults: Faults = Arc::new(move |call, _: &Path| {
        if call == Call::Lock && !is_free.load(Ordering::Acquire) {
            let _ = reached.send(());
            let _ = released.lock().unwrap().recv_timeout(PATIENCE);
            is_free.store(true, Ordering::Release);
        }
        Ok(())
    });
    (faults, waiting, release)
}

#[test]
fn a_call_never_waits_for_the_disk() {
    let (faults, waiting, release) = blocked();
    let site = Site::with(&[], Some(faults));
    waiting.recv_timeout(PATIENCE).unwrap();
    // The thread has the folder, and no more.
    let harbor = revision(&harbor());
    for _ in 0..ROOM.calls + 7 {
        site.call(&harbor, turn("u"));
    }
    let status = site.recorder.status();
    assert_eq!((status.drops(Drop::QueueFull), status.written.get()), (7, 0));
    assert!(!site.recorder.flush(Duration::from_millis(1)), "nothing is written yet");
    release.send(()).unwrap();
    assert_eq!(site.recorded().len(), ROOM.calls);
}

#[test]
fn what_waits_is_bounded_in_bytes() {
    let (faults, waiting, release) = blocked();
    let site = Site::with(&[], Some(faults));
    waiting.recv_timeout(PATIENCE).unwrap();
    let harbor = revision(&harbor());
    let large = proto::Turn { conversation_summary: "x".repeat(ROOM.bytes / 4 - 1_000), ..turn("u") };
    for _ in 0..6 {
        site.call(&harbor, large.clone());
    }
    assert_eq!(site.recorder.status().drops(Drop::QueueFull), 2);
    release.send(()).unwrap();
    assert_eq!(site.recorded().len(), 4);
    site.call(&harbor, large);
    assert_eq!((site.recorded().len(), site.recorder.status().drops(Drop::QueueFull)), (5, 2));
}
