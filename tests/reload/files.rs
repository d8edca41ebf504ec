//! Files outside the workspaces: config, tokens, certificates.

use std::{fs, os::unix::fs::symlink, sync::Arc};

use promptd_source::{Contents, FileSet};
use tokio::{sync::watch::Receiver, time::timeout};

use crate::service::{NEVER, Service, waiting};

fn wait(receiver: &mut Receiver<Arc<Contents>>, what: &str, wanted: impl Fn(&Contents) -> bool) {
    let found = waiting().block_on(async { timeout(NEVER, receiver.wait_for(|now| wanted(now))).await.is_ok() });
    assert!(found, "never {what}: {:?}", receiver.borrow());
}

#[test]
fn followed_files_are_given_after_each_save() {
    let folder = tempfile::tempdir().unwrap();
    let (root, tokens) = (folder.path().join("root"), folder.path().join("tokens"));
    fs::create_dir(&root).unwrap();
    let service = Service::of_root(&root);
    let mut files = service.source.follow(FileSet::Paths(vec![tokens.clone()]));
    assert!(files.borrow()[&tokens].is_err());
    let is = |text: &'static str| {
        let tokens = tokens.clone();
        move |now: &Contents| now[&tokens].as_deref() == Ok(text.as_bytes())
    };
    fs::write(&tokens, "one").unwrap();
    wait(&mut files, "there", is("one"));
    fs::write(folder.path().join("next"), "two").unwrap();
    fs::rename(folder.path().join("next"), &tokens).unwrap();
    wait(&mut files, "renamed over", is("two"));
    fs::write(&tokens, "three").unwrap();
    wait(&mut files, "written in place after that", is("three"));
}

#[test]
fn mounted_certificates_are_given_together() {
    let folder = tempfile::tempdir().unwrap();
    let (root, tls) = (folder.path().join("root"), folder.path().join("tls"));
    fs::create_dir(&root).unwrap();
    fs::create_dir(&tls).unwrap();
    let generation = |name: &str| {
        fs::create_dir(tls.join(name)).unwrap();
        fs::write(tls.join(name).join("cert"), name).unwrap();
        fs::write(tls.join(name).join("key"), name).unwrap();
        symlink(name, tls.join("..tmp")).unwrap();
        fs::rename(tls.join("..tmp"), tls.join("..data")).unwrap();
    };
    generation("..1");
    symlink("..data/cert", tls.join("cert")).unwrap();
    symlink("..data/key", tls.join("key")).unwrap();
    let service = Service::of_root(&root);
    let mut files = service.source.follow(FileSet::Paths(vec![tls.join("cert"), tls.join("key")]));
    generation("..2");
    wait(&mut files, "both of the second generation", |now| {
        let texts: Vec<_> = now.values().map(|bytes| bytes.clone().unwrap()).collect();
        assert_eq!(texts[0], texts[1], "a certificate with another one's key");
        texts[0] == b"..2"
    });
}

#[test]
fn a_source_that_was_stopped_or_dropped_follows_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let follow = || {
        let source = Service::of_root(folder.path()).source;
        let files = source.follow(FileSet::Paths(vec![folder.path().join("tokens")]));
        (source, files)
    };
    let (source, files) = follow();
    source.stop();
    assert!(files.has_changed().is_err(), "stopped, and waited for");
    let (source, mut files) = follow();
    drop(source);
    let end = async { while files.changed().await.is_ok() {} };
    assert!(waiting().block_on(async { timeout(NEVER, end).await.is_ok() }), "dropped");
}
