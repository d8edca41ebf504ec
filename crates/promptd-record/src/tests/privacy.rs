//! Who can read the folder, and what is not in it.

use std::os::unix::fs::PermissionsExt as _;

use promptd_core::{digest::Digest, profile};
use proptest::prelude::*;

use super::*;

/// The modes of everything below a folder, itself included.
fn modes(path: &Path, found: &mut Vec<(PathBuf, u32)>) {
    found.push((path.to_owned(), fs::metadata(path).unwrap().permissions().mode() & 0o777));
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            modes(&entry.unwrap().path(), found);
        }
    }
}

#[test]
fn only_its_owner_can_read_the_folder() {
    let site = Site::new();
    assert!(site.recorder.flush(PATIENCE));
    site.call(&revision(&harbor()), turn("u-1"));
    site.recorded();
    let mut found = Vec::new();
    modes(&site.home.path().join("made"), &mut found);
    assert!(found.len() > 10, "{found:?}");
    for (path, mode) in found {
        assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
}

#[test]
fn a_folder_that_others_could_read_is_closed_to_them() {
    let home = tempfile::tempdir().unwrap();
    let dir = dir(home.path());
    fs::create_dir_all(&dir).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
    Folder::create(&dir).unwrap();
    assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o750)).unwrap();
    Folder::create(&dir).unwrap();
    assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
}

fn occurs(text: &str, dir: &Path) -> Vec<PathBuf> {
    let found = files(dir).into_iter().filter(|(path, bytes)| {
        bytes.windows(text.len()).any(|part| part == text.as_bytes()) || path.to_string_lossy().contains(text)
    });
    found.map(|(path, _)| path).collect()
}

/// A workspace whose own `workspace.yaml` has the ephemeral prompt.
fn with_ephemeral(yaml: &str) -> Revision {
    revision(&harbor().file("workspace.yaml", yaml))
}

#[test]
fn the_ephemeral_prompt_of_a_workspace_is_not_recorded() {
    const SECRET: &str = "sealed-orders";
    for yaml in [
        format!(
            "agent:\n  name: Harbor\n  ephemeral_system_prompt: |\n    {SECRET}\n    and more\nexpose_paths: false\n"
        ),
        format!("agent: {{\"ephemeral_system_prompt\": {SECRET}, name: '1.50'}} # {SECRET}\nlocked: [persona]\n"),
        format!("agent: {{\"ephemeral\\u005fsystem_prompt\": {SECRET}}}\nskills: {{blocklist: [ti*]}}\n"),
    ] {
        let site = Site::new();
        let harbor = with_ephemeral(&yaml);
        assert_eq!(
            harbor.prepared.manifest.agent.ephemeral_system_prompt.as_deref().map(|text| &text[..13]),
            Some(SECRET)
        );
        site.call(&harbor, turn("u-1"));
        let found = site.recorded();
        assert_eq!((found.len(), repeat(&site.dir())), (1, 1), "{yaml}");
        assert_eq!(occurs(SECRET, &site.dir()), Vec::<PathBuf>::new(), "{yaml}");
        let folder = Folder::open(&site.dir()).unwrap();
        let stored = folder.revision(folder.requests().unwrap()[0].revision).unwrap().origin.load().unwrap();
        let mut manifest = harbor.prepared.manifest.clone();
        manifest.agent.ephemeral_system_prompt = None;
        assert_eq!(stored.manifest, manifest, "nothing else is lost");
    }
}

/// A revision of files whose `workspace.yaml` is not valid, over a good one.
fn over(good: &Revision, broken: &MemoryTree) -> Revision {
    let capturing = Capturing::new(broken, None);
    let origin = Origin { tree: good.origin.tree.clone(), ..(*good.origin).clone() };
    let snapshot = load(&Load {
        id: &origin.id,
        root: &origin.root,
        tree: &capturing,
        shared_skills: &[],
        profiles: Arc::clone(&origin.profiles),
        settings: Arc::clone(&origin.settings),
        previous: Some(&good.prepared),
    })
    .unwrap();
    let origin = Origin { tree: capturing.finish().unwrap(), ..origin }.behind(Some(&good.origin), &snapshot).unwrap();
    assert!(origin.previous.is_some());
    Revision { origin: Arc::new(origin), prepared: snapshot.into() }
}

#[test]
fn an_invalid_workspace_yaml_is_not_recorded_nor_the_ephemeral_prompt_of_the_last_good_one() {
    const SECRET: &str = "sealed-orders";
    let good = format!("agent: {{name: Harbor, ephemeral_system_prompt: {SECRET}}}\n");
    for broken in [
        format!("agent: {{ephemeral_system_prompt: {SECRET}\nagent: [\n"),
        format!("agent: {{name: Harbor, ephemeral_sytem_prompt: {SECRET}}}\n"),
        format!("agent: {{name: Harbor}}\nephemeral_system_prompt: {SECRET}\n"),
        format!("agents: {{ephemeral_system_prompt: {SECRET}}}\n"),
    ] {
        for good in [&*good, "agent: {name: Harbor}\n"] {
            let site = Site::new();
            let (good, broken) = (with_ephemeral(good), harbor().file("workspace.yaml", broken.clone()));
            site.call(&over(&good, &broken), turn("u-1"));
            assert_eq!((site.recorded().len(), repeat(&site.dir())), (1, 1), "{broken:?}");
            assert_eq!(occurs(SECRET, &site.dir()), Vec::<PathBuf>::new(), "{broken:?}");
        }
    }
}

#[test]
fn an_ephemeral_prompt_in_a_comment_is_not_recorded() {
    const SECRET: &str = "sealed-orders";
    for yaml in ["agent: {name: Harbor}\n", ""] {
        let site = Site::new();
        let harbor = with_ephemeral(&format!("{yaml}# agent: {{ephemeral_system_prompt: {SECRET}}}\n"));
        site.call(&harbor, turn("u-1"));
        assert_eq!((site.recorded().len(), repeat(&site.dir())), (1, 1));
        assert_eq!(occurs(SECRET, &site.dir()), Vec::<PathBuf>::new());
    }
}

/// A link is read like the file that it leads to.
#[test]
fn a_link_to_workspace_yaml_does_not_bring_its_ephemeral_prompt_into_the_records() {
    const SECRET: &str = "sealed-orders";
    let yaml = format!("agent: {{ephemeral_system_prompt: {SECRET}}}\ncontext: {{files: [{{path: link.md}}]}}\n");
    let misspelt = yaml.replace("ephemeral_system", "ephemeral_sytem");
    let linked = |yaml: &str| {
        ["workspace.yaml", "link.md", "HEARTBEAT.md", "skills/tides/ws.yaml"]
            .into_iter()
            .fold(harbor(), |tree, path| tree.file(path, yaml))
    };
    let good = revision(&linked(&yaml));
    for revision in [over(&good, &linked(&misspelt)), good] {
        let site = Site::new();
        site.call(&revision, turn("u-1"));
        assert_eq!((site.recorded().len(), repeat(&site.dir())), (1, 1));
        assert_eq!(occurs(SECRET, &site.dir()), Vec::<PathBuf>::new());
    }
    let short = Settings { max_file_bytes: yaml.find(SECRET).unwrap() + SECRET.len(), ..Settings::default() };
    let site = Site::new();
    site.call(&revision_with(&linked(&yaml), short), turn("u-1"));
    assert_eq!((site.recorded().len(), occurs(SECRET, &site.dir())), (1, Vec::new()), "a link that is read in part");
}

#[test]
fn a_redacted_record_has_the_digest_of_the_turn_without_the_fields() {
    let site = Site::with(&["user", "variables"], None);
    let harbor = revision(&harbor());
    let bare = proto::Turn { now: Some(prost_types::Timestamp { seconds: NOW, nanos: 0 }), ..Default::default() };
    site.call(&harbor, proto::Turn { ephemeral_system_prompt: Some("once".into()), ..turn("u-1") });
    site.call(&harbor, bare);
    let found = site.recorded();
    assert_eq!(found[0].digest, found[1].digest);
    assert_ne!(found[0].digest, Digest::default());
    let removed = |index: usize| found[index].removed.iter().map(String::as_str).collect::<Vec<_>>();
    let both = [removed(0), removed(1)];
    assert!(both.contains(&vec!["user", "ephemeral_system_prompt"]) && both.contains(&vec![]), "{both:?}");
    assert_eq!(repeat(&site.dir()), 2);
}

#[test]
fn a_turn_without_the_fields_that_has_no_prompt_is_counted_and_not_recorded() {
    const NEEDY: &str = "inputs: {notes: {type: string, required: true}}\n\
        messages: [{name: m, sections: [{id: s, template: '{{ notes }}'}]}]\n";
    let (profiles, findings) = profile::load(&[("needy.yaml".into(), NEEDY.into())], None);
    assert!(findings.is_empty(), "{findings:?}");
    let tree = harbor().file("workspace.yaml", "profile: needy\n");
    let harbor = revision_of(&tree, Settings::default(), profiles);
    let text = prost_types::Value { kind: Some(prost_types::value::Kind::StringValue("x".into())) };
    let inputs = Some(prost_types::Struct { fields: [("notes".to_owned(), text)].into() });
    for (redact, expected) in [("inputs", 0), ("user", 1)] {
        let site = Site::with(&[redact], None);
        site.call(&harbor, proto::Turn { inputs: inputs.clone(), ..turn("u-1") });
        assert_eq!((site.recorded().len(), repeat(&site.dir())), (expected, expected), "{redact}");
        assert_eq!(site.recorder.status().drops(crate::Drop::Unrepeatable), 1 - expected as u64);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Each text is long and random enough to occur nowhere by chance.
    #[test]
    fn what_is_left_out_is_in_no_byte_of_the_folder(
        secrets in proptest::collection::vec("[a-zA-Z0-9äöü→ ]{3}[a-z]{12}", 8),
        workspace_has_one in any::<bool>(),
    ) {
        let mut secrets = secrets.iter().map(|text| text.trim().to_owned()).collect::<Vec<_>>();
        secrets.dedup();
        prop_assume!(secrets.len() == 8);
        let site = Site::with(&["user", "conversation", "variables", "knowledge", "persona"], None);
        let yaml = if workspace_has_one { format!("agent: {{ephemeral_system_prompt: \"{}\"}}\n", secrets[7]) } else { String::new() };
        let harbor = with_ephemeral(&yaml);
        let text = prost_types::Value { kind: Some(prost_types::value::Kind::StringValue(secrets[2].clone())) };
        let message = proto::ConversationMessage { role: proto::Role::User.into(), content: secrets[3].clone(), ..Default::default() };
        let secret_turn = proto::Turn {
            user: Some(proto::User { id: secrets[0].clone(), name: secrets[1].clone() }),
            variables: Some(prost_types::Struct { fields: [(secrets[4].clone(), text)].into() }),
            conversation: Some(proto::Conversation { messages: vec![message], ..Default::default() }),
            knowledge: vec![proto::KnowledgeSnippet { content: secrets[5].clone(), ..Default::default() }],
            persona: Some(secrets[6].clone()),
            ephemeral_system_prompt: Some(secrets[7].clone()),
            channel: Some(proto::Channel { name: "kept-channel".into(), ..Default::default() }),
            ..Default::default()
        };
        site.call(&harbor, secret_turn);
        prop_assert_eq!(site.recorded().len(), 1);
        prop_assert_eq!(repeat(&site.dir()), 1);
        for secret in &secrets {
            prop_assert_eq!(occurs(secret, &site.dir()), Vec::<PathBuf>::new(), "{}", secret);
        }
        prop_assert_eq!(occurs("kept-channel", &site.dir()).len(), 1, "the search finds what is there");
    }
}
