//! What is recorded gives the same prompt again.

use std::thread;

use promptd_core::{
    globs::NameGlobs,
    settings::{RiskPolicy, SkillLimits},
    workspace::{Layer, ReadError, compose},
};

use super::*;

#[test]
fn a_request_gives_the_same_prompt_again() {
    let site = Site::new();
    let harbor = revision(&harbor());
    let message = |role: proto::Role, content: &str| proto::ConversationMessage {
        role: role.into(),
        content: content.into(),
        ..Default::default()
    };
    let messages = vec![message(proto::Role::User, "When is high tide?"), message(proto::Role::Assistant, "At noon.")];
    let conversation = Some(proto::Conversation { messages, ..Default::default() });
    let now = Some(prost_types::Timestamp { seconds: NOW - 77, nanos: 0 });
    site.call(&harbor, turn("u-1"));
    site.call(&harbor, proto::Turn { conversation, now, time_zone: "Asia/Tokyo".into(), ..turn("u-2") });
    let skills = SkillFilter { allow: Some(NameGlobs::compile(["moon*"]).unwrap()), ..SkillFilter::default() };
    call(&site.recorder, &harbor, turn("u-3"), Some(skills), NOW);
    let found = site.recorded();
    assert_eq!((found.len(), repeat(&site.dir())), (3, 3));
    assert!(found.iter().all(|one| one.workspace == "harbor" && one.removed.is_empty()));
    assert!(found.iter().all(|one| one.revision == harbor.prepared.revision.as_str()));
    let sections: Vec<_> = found[0].sections.iter().map(|section| section.id.as_str()).collect();
    assert!(sections.contains(&"workspace_context/AGENTS.md") && sections.contains(&"skills"), "{sections:?}");
    assert_eq!(site.recorder.status().written.get(), 3);
}

#[test]
fn a_revision_has_its_layers_without_their_ephemeral_prompts() {
    const SECRET: &str = "sealed-orders";
    let one = |id: &str, tree: &MemoryTree| {
        let capturing = Capturing::new(tree, None);
        let (id, root) = (Id::parse(id).unwrap(), format!("/srv/{id}"));
        let snapshot = load(&Load {
            id: &id,
            root: &root,
            tree: &capturing,
            shared_skills: &[],
            profiles: Arc::new(ProfileSet::built_in()),
            settings: Arc::default(),
            previous: None,
        });
        let snapshot = Arc::new(snapshot.unwrap());
        let (profiles, settings) = (Arc::clone(&snapshot.profiles), Arc::clone(&snapshot.settings));
        let (root, tree, shared_skills) = (root.into(), capturing.finish().unwrap(), Vec::new());
        (snapshot, Origin { id, root, tree, shared_skills, profiles, settings, previous: None, layers: Vec::new() })
    };
    let org = MemoryTree::new().file("SOUL.md", "Calm.").file(
        "workspace.yaml",
        format!(
            "extendable_by: [harbor]\nagent: {{name: Org, ephemeral_system_prompt: {SECRET}}}\nlocked: [persona]\n"
        ),
    );
    let (own, own_origin) = one("harbor", &harbor().file("workspace.yaml", "extends: [org]\n"));
    let (org, org_origin) = one("org", &org);
    let layer = Arc::new(Layer::new(org));
    let composed = compose(&own, None, &|_| Some(Arc::clone(&layer))).unwrap();
    let origin = Origin { layers: vec![Arc::new(org_origin)], ..own_origin };
    assert_eq!(origin.load().unwrap().revision, composed.revision);
    let harbor = Revision { origin: Arc::new(origin), prepared: composed.into() };
    let site = Site::new();
    site.call(&harbor, turn("u-1"));
    let found = site.recorded();
    assert_eq!((found.len(), repeat(&site.dir())), (1, 1));
    let folder = Folder::open(&site.dir()).unwrap();
    let far = Timestamp::from_second(NOW).unwrap();
    folder.sweep(&options(Path::new("/"), &[]).bounds, far).unwrap();
    let stored = folder.revision(folder.requests().unwrap()[0].revision).unwrap().origin.load().unwrap();
    assert_eq!((&*stored.documents["SOUL.md"].text, stored.manifest.locked.len()), ("Calm.", 1));
    assert_eq!((stored.manifest.agent.name.as_str(), &stored.manifest.agent.ephemeral_system_prompt), ("Org", &None));
    assert_eq!(harbor.prepared.manifest.agent.ephemeral_system_prompt.as_deref(), Some(SECRET));
}

#[test]
fn a_revision_is_stored_whole_and_each_file_once() {
    let site = Site::new();
    let settings = Settings {
        expose_paths: false,
        max_file_bytes: 100,
        skills: SkillLimits { max_description_chars: 5, max_shown: 7, max_block_chars: 900 },
        max_value_chars: 3,
        max_variable_chars: 4,
        risks: RiskPolicy::Strip,
    };
    let tree = harbor()
        .file("IDENTITY.md", "A harbour\u{200b} office.")
        .failing("SOUL.md", ReadError::WrongKind("a FIFO"))
        .failing("HEARTBEAT.md", ReadError::LinkDangling)
        .without("workspace.yaml");
    let first = revision_with(&tree, settings.clone());
    let second = revision_with(&tree.clone().file("IDENTITY.md", "Another."), settings);
    for (second, one) in (NOW..).zip([&first, &second, &first]) {
        call(&site.recorder, one, turn("u-1"), None, second);
    }
    site.recorded();
    let folder = Folder::open(&site.dir()).unwrap();
    for (file, revision) in folder.requests().unwrap().iter().zip([&first, &second, &first]) {
        let stored = folder.revision(file.revision).unwrap();
        assert_eq!(stored.origin.load().unwrap().revision, revision.prepared.revision);
    }
    assert_eq!(files_of(&site.dir(), "revisions").len(), 2);
    // AGENTS.md, SKILL.md, table.csv, and two versions of IDENTITY.md.
    assert_eq!(files_of(&site.dir(), "blobs").len(), 5);
}

#[test]
fn several_processes_record_into_one_folder_while_it_is_swept() {
    let home = tempfile::tempdir().unwrap();
    let revisions: Vec<_> = (0..4).map(|n| revision(&harbor().file("AGENTS.md", format!("Version {n}.")))).collect();
    let bounds = Bounds { max_bytes: 400_000, max_age: PATIENCE * 10_000_000 };
    thread::scope(|scope| {
        for process in 0..3 {
            let (home, revisions) = (home.path(), &revisions);
            scope.spawn(move || {
                let recorder = Recorder::start(Options { bounds, ..options(home, &[]) }).unwrap();
                for n in 0..200_i64 {
                    let revision = &revisions[usize::try_from(n + process).unwrap() % 4];
                    call(&recorder, revision, turn("u"), None, NOW + n * 3 + process);
                }
                assert!(recorder.flush(PATIENCE));
                assert_eq!(recorder.status().written.get(), 200);
            });
        }
        let home = home.path();
        scope.spawn(move || {
            for _ in 0..50 {
                let folder = Folder::create(&dir(home)).unwrap();
                folder.sweep(&bounds, Timestamp::from_second(NOW + 1_000).unwrap()).unwrap();
            }
        });
    });
    let folder = Folder::open(&dir(home.path())).unwrap();
    let swept = folder.sweep(&bounds, Timestamp::from_second(NOW + 1_000).unwrap()).unwrap();
    assert!(swept.bytes <= bounds.max_bytes && swept.requests > 0, "{swept:?}");
    assert_eq!(repeat(&dir(home.path())) as u64, swept.requests);
    assert_eq!(folder.unfinished().unwrap(), 0);
}
