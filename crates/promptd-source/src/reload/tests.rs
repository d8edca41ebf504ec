use std::{
    fs,
    path::Path,
    sync::mpsc::{self, Sender},
    time::Duration,
};

use promptd_core::id::Id;

use super::*;
use crate::options::{Options, WatchMode};

/// A loop that has been started with one workspace, and waits.
fn started(ws: &Path, options: Options) -> (Reload, Sender<Message>) {
    let (sender, inbox) = mpsc::channel();
    let publisher = Publisher::new(options, Arc::default(), Arc::default(), Arc::default(), None);
    let mut reload = Reload::new(publisher, Err(None), inbox);
    let id = Id::parse("ws").unwrap();
    reload.follow(Kind::Workspace { id, path: ws.to_path_buf(), listed: false });
    reload.start();
    settle(&mut reload);
    (reload, sender)
}

/// Lets it do what is due, until nothing is.
fn settle(reload: &mut Reload) {
    let began = clock::now();
    while let Some(due) = reload.targets.next_due() {
        assert!(due - began < Duration::from_secs(20), "never at rest");
        assert!(reload.inbox.recv_timeout(due.saturating_duration_since(clock::now())).is_err());
        reload.load_due();
    }
}

fn sweep_until(reload: &mut Reload, what: &str, holds: impl Fn(&Reload) -> bool) {
    let began = clock::now();
    while !holds(reload) {
        assert!(clock::now() - began < Duration::from_secs(20), "never {what}");
        reload.look_around();
    }
}

fn ws() -> tempfile::TempDir {
    let ws = tempfile::tempdir().unwrap();
    fs::write(ws.path().join("AGENTS.md"), "one").unwrap();
    ws
}

/// Watching alone, with a sweep and polling as often as may be, or never again after the first time.
fn options(watch: WatchMode, poll_interval: Duration) -> Options {
    Options { watch, poll_interval, sweep_interval: Duration::from_secs(3600), load_threads: 1, ..Options::default() }
}

#[test]
fn polling_keeps_to_its_interval() {
    for (interval, finds) in [(Duration::ZERO, true), (Duration::from_secs(3600), false)] {
        let ws = ws();
        let (mut reload, _sender) = started(ws.path(), options(WatchMode::Poll, interval));
        sweep_until(&mut reload, "swept", |reload| reload.publisher.status.sweeps.get() > 0);
        assert_eq!(reload.targets.next_due(), None, "nothing has changed");
        fs::write(ws.path().join("AGENTS.md"), "two").unwrap();
        if finds {
            sweep_until(&mut reload, "found", |reload| reload.targets.next_due().is_some());
        }
        reload.look_around();
        assert_eq!(reload.targets.next_due().is_some(), finds, "{interval:?}");
    }
}

/// A load that is due would otherwise wait for as many rounds as there are messages.
#[test]
fn all_messages_so_far_are_taken_in_at_once() {
    let ws = ws();
    let (mut reload, sender) = started(ws.path(), options(WatchMode::Auto, Duration::from_secs(3600)));
    for message in [Message::Event(Event::Lost), Message::Event(Event::Lost), Message::Rescan, Message::Stop] {
        sender.send(message).unwrap();
    }
    reload.receive_all();
    assert!(reload.stopped && reload.publisher.status.rescans.get() == 2);
}

#[test]
fn a_sweep_loads_nothing_that_is_as_it_was() {
    let ws = ws();
    let (mut reload, _sender) = started(ws.path(), options(WatchMode::Auto, Duration::from_secs(3600)));
    let status = Arc::clone(&reload.publisher.status);
    let loads = status.loads.get();
    sweep_until(&mut reload, "swept", |reload| reload.publisher.status.sweeps.get() > 0);
    settle(&mut reload);
    assert_eq!((status.loads.get(), status.sweep_hits.get()), (loads, 0));
}
