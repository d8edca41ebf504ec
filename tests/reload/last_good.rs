//! An invalid part keeps its last good version and is reported, while other edits are served.

use std::{fs, sync::Arc};

use promptd_core::{
    finding::{Code, Finding},
    prompt::assemble,
    turn::Turn,
    workspace::Snapshot,
};
use promptd_source::{Options, Source, store::State};

use crate::service::{Service, options, wait_until};

const GOOD: &str = "agent:\n  name: Good\nskills:\n  blocklist: [secret]\n";

fn ready(check: impl Fn(&Snapshot) -> bool) -> impl Fn(&State) -> bool {
    move |state| matches!(state, State::Ready(loaded) if check(&loaded.snapshot))
}

fn errors(snapshot: &Snapshot) -> Vec<&Finding> {
    snapshot.findings.iter().filter(|finding| finding.is_error()).collect()
}

#[test]
fn an_invalid_manifest_keeps_the_last_good_one_until_it_is_fixed() {
    let root = tempfile::tempdir().unwrap();
    let ws = root.path().join("ws");
    fs::create_dir(&ws).unwrap();
    fs::write(ws.join("workspace.yaml"), GOOD).unwrap();
    fs::write(ws.join("AGENTS.md"), "V1").unwrap();
    let service = Service::of_root(root.path());
    for bad in ["skills:\n  allowlist: [git\n", "context: {max_chars_per_file: \"lots\"}\n", "agnet: {}\n"] {
        fs::write(ws.join("workspace.yaml"), bad).unwrap();
        let (state, _) = service.wait("ws", "an error", ready(|snapshot| !errors(snapshot).is_empty()));
        let State::Ready(loaded) = &*state else { panic!() };
        assert_eq!(loaded.snapshot.manifest.agent.name, "Good");
        assert!(!loaded.snapshot.manifest.skills.admits("secret", "secret"), "the blocklist must hold");
        assert_eq!(service.source.status().failing.get(), 1);

        fs::write(ws.join("AGENTS.md"), bad).unwrap();
        service.wait(
            "ws",
            "another file's edit meanwhile",
            ready(|snapshot| snapshot.documents["AGENTS.md"].text.trim() == bad.trim() && !errors(snapshot).is_empty()),
        );
        fs::write(ws.join("workspace.yaml"), GOOD).unwrap();
        service.wait("ws", "no error once fixed", ready(|snapshot| errors(snapshot).is_empty()));
        assert_eq!(service.source.status().failing.get(), 0);
    }
    assert!(service.source.status().failures.get() >= 3);
}

#[test]
fn a_workspace_that_was_never_valid_is_reported_and_affects_no_other() {
    let root = tempfile::tempdir().unwrap();
    for (id, manifest) in [("bad", "skills: [\n"), ("good", GOOD)] {
        fs::create_dir(root.path().join(id)).unwrap();
        fs::write(root.path().join(id).join("workspace.yaml"), manifest).unwrap();
    }
    let service = Service::of_root(root.path());
    assert!(matches!(&*service.store.get("good").unwrap(), State::Ready(_)));
    let State::Invalid(findings) = &*service.store.get("bad").unwrap() else { panic!("served by defaults") };
    assert!(findings.iter().all(Finding::is_error) && !findings.is_empty());
    fs::write(root.path().join("bad/workspace.yaml"), GOOD).unwrap();
    service.wait("bad", "the fixed workspace", ready(|snapshot| snapshot.manifest.agent.name == "Good"));
}

#[test]
fn an_invalid_skill_keeps_its_last_good_version_and_affects_no_other() {
    let root = tempfile::tempdir().unwrap();
    let ws = root.path().join("ws");
    let skill = |name: &str, text: &str| format!("---\nname: {name}\ndescription: {text}\n---\n");
    for name in ["a", "b"] {
        fs::create_dir_all(ws.join("skills").join(name)).unwrap();
        fs::write(ws.join("skills").join(name).join("SKILL.md"), skill(name, "First.")).unwrap();
    }
    let service = Service::of_root(root.path());
    fs::write(ws.join("skills/a/SKILL.md"), "---\ndescription: [unclosed\n---\n").unwrap();
    fs::write(ws.join("skills/b/SKILL.md"), skill("b", "Second.")).unwrap();
    let (state, _) = service.wait(
        "ws",
        "b's edit",
        ready(|snapshot| snapshot.skills.iter().any(|skill| &*skill.description == "Second.")),
    );
    let State::Ready(loaded) = &*state else { panic!() };
    let shown: Vec<_> = loaded.snapshot.skills.iter().map(|skill| (&*skill.name, &*skill.description)).collect();
    assert_eq!(shown, [("a", "First."), ("b", "Second.")]);
    assert!(loaded.snapshot.findings.iter().any(|finding| finding.code == Code::SkillInvalid));
}

#[test]
fn a_profile_is_reloaded_and_an_invalid_one_keeps_its_last_good_version() {
    let folder = tempfile::tempdir().unwrap();
    let (root, profiles) = (folder.path().join("root"), folder.path().join("profiles"));
    fs::create_dir_all(root.join("ws")).unwrap();
    fs::create_dir_all(&profiles).unwrap();
    let profile = |text: &str| {
        format!(
            "name: mine\ndescription: A test.\nmessages:\n  - name: only\n    role: system\n    sections:\n      - id: greeting\n        template: |\n          {text}\n"
        )
    };
    fs::write(profiles.join("mine.yaml"), profile("Hello.")).unwrap();
    let service = Service::start(Options { profiles: Some(profiles.clone()), ..options(&root) });
    let hash = |service: &Service| match service.store.get("ws").as_deref() {
        Some(State::Ready(loaded)) => loaded.snapshot.profiles.hash().to_owned(),
        other => panic!("{other:?}"),
    };
    let first = hash(&service);
    assert!(service.source.profiles().get("mine").is_some());

    fs::write(profiles.join("mine.yaml"), profile("Good day.")).unwrap();
    service.wait("ws", "the edited profile", ready(|snapshot| snapshot.profiles.hash() != first));
    let second = hash(&service);
    assert_eq!(second, service.source.profiles().hash());

    fs::write(profiles.join("mine.yaml"), profile("{{ nowhere.to.be.found }}")).unwrap();
    fs::write(profiles.join("other.yaml"), profile("Other.").replace("mine", "other")).unwrap();
    service.wait("ws", "the new profile beside it", ready(|snapshot| snapshot.profiles.get("other").is_some()));
    assert!(service.source.profiles().get("mine").is_some(), "the last good version stays");
    assert!(service.source.status().problems().iter().any(|problem| problem.contains("mine.yaml")));
}

/// Workspaces that use an invalid profile say so, and so does a prompt of any workspace that is made with it.
#[test]
fn an_invalid_profile_is_reported_in_every_answer_that_uses_it() {
    let folder = tempfile::tempdir().unwrap();
    let (root, profiles) = (folder.path().join("root"), folder.path().join("profiles"));
    for (id, manifest) in [("user", "profile: mine\n"), ("other", "{}\n")] {
        fs::create_dir_all(root.join(id)).unwrap();
        fs::write(root.join(id).join("workspace.yaml"), manifest).unwrap();
    }
    fs::create_dir_all(&profiles).unwrap();
    // The name is not the file's, so that an unreadable file does not tell it.
    let file = profiles.join("file.yaml");
    let good = "name: mine\nextends: five-layer\n";
    fs::write(&file, good).unwrap();
    let service = Service::start(Options { profiles: Some(profiles), ..options(&root) });
    let is_reported = |snapshot: &Snapshot| {
        snapshot.active.iter().any(|f| f.code == Code::ProfileInvalid && f.is_error())
            && snapshot.findings.iter().any(|f| f.code == Code::ProfileInvalid)
    };
    let in_prompt = |id: &str, profile: &str| {
        let State::Ready(loaded) = &*service.store.get(id).unwrap() else { panic!("{id} is not served") };
        let profile = Arc::clone(loaded.snapshot.profiles.get(profile).expect("the last good version stays"));
        let turn = Turn::at(loaded.at.into());
        let prompt = assemble(&loaded.snapshot, &profile, &turn).unwrap();
        prompt.findings.iter().filter(|finding| finding.code == Code::ProfileInvalid).count()
    };
    let last_good = "; the last good version";
    for bad in ["messages: [\n", "extends: five-layer\nsektions: []\n", "extends: nobody\n", "", "a dead link"] {
        if bad == "a dead link" {
            fs::remove_file(&file).unwrap();
            std::os::unix::fs::symlink("away", &file).unwrap();
        } else {
            fs::write(&file, format!("name: mine\n{bad}")).unwrap();
        }
        let what = format!("PROFILE_INVALID for {bad:?}");
        let (state, _) = service.wait("user", &what, ready(is_reported));
        let State::Ready(loaded) = &*state else { unreachable!() };
        let finding = loaded.snapshot.active.iter().find(|f| f.code == Code::ProfileInvalid).unwrap();
        assert!(finding.place.to_string().starts_with("profiles/file.yaml"), "{finding:?}");
        assert!(finding.message.contains(last_good), "{finding:?}");
        service.wait("other", &what, ready(|snapshot| snapshot.profiles.error("mine").is_some()));
        assert_eq!((in_prompt("user", "mine"), in_prompt("user", "five-layer")), (1, 1), "{what}");
        assert_eq!((in_prompt("other", "mine"), in_prompt("other", "five-layer")), (1, 0), "{what}");
        let _ = fs::remove_file(&file);
        fs::write(&file, good).unwrap();
        service.wait("user", "the fixed profile", ready(|snapshot| snapshot.active.is_empty()));
        service.wait("other", "the fixed profile", ready(|snapshot| snapshot.profiles.error("mine").is_none()));
    }
}

#[test]
fn a_profile_that_cannot_be_read_or_is_removed_keeps_its_last_good_version() {
    let folder = tempfile::tempdir().unwrap();
    let (root, profiles) = (folder.path().join("root"), folder.path().join("profiles"));
    fs::create_dir_all(root.join("ws")).unwrap();
    fs::write(root.join("ws/workspace.yaml"), "profile: mine\n").unwrap();
    fs::create_dir_all(&profiles).unwrap();
    let file = profiles.join("mine.yaml");
    let good = "extends: five-layer\n";
    fs::write(&file, good).unwrap();
    let service = Service::start(Options { profiles: Some(profiles.clone()), ..options(&root) });
    let (away, elsewhere) = (folder.path().join("away"), folder.path().join("elsewhere"));
    let faults: [(&str, &dyn Fn()); 3] = [
        ("a link that leads nowhere", &|| {
            fs::remove_file(&file).unwrap();
            std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
        }),
        ("a file for the folder", &|| {
            fs::rename(&profiles, &away).unwrap();
            fs::write(&profiles, "x").unwrap();
        }),
        ("no profile", &|| fs::remove_file(&file).unwrap()),
    ];
    for (round, (what, fault)) in faults.into_iter().enumerate() {
        fault();
        // An edit beside it, for something to wait for once the fault has been seen.
        let is_seen = || service.source.status().problems().iter().any(|p| p.contains("profile"));
        if what == "no profile" {
            service.wait("ws", what, ready(|snapshot| snapshot.findings.iter().any(Finding::is_error)));
        } else {
            wait_until(&format!("{what} is reported"), is_seen, |is_seen| *is_seen);
        }
        fs::write(root.join("ws/AGENTS.md"), format!("Round {round}.")).unwrap();
        service.wait(
            "ws",
            what,
            ready(|snapshot| {
                snapshot.documents.get("AGENTS.md").is_some_and(|agents| agents.text.contains(&round.to_string()))
                    && snapshot.profiles.get("mine").is_some()
            }),
        );
        if away.exists() {
            fs::remove_file(&profiles).unwrap();
            fs::rename(&away, &profiles).unwrap();
        }
        let _ = fs::remove_file(&file);
        fs::write(&file, good).unwrap();
        service.wait("ws", "the fixed profile", ready(|snapshot| !snapshot.findings.iter().any(Finding::is_error)));
        wait_until(&format!("{what} is reported no more"), is_seen, |is_seen| !is_seen);
    }
}

#[test]
fn an_invalid_profile_at_the_start_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bad.yaml"), "name: bad\nmessages: 3\n").unwrap();
    let options = Options { profiles: Some(folder.path().into()), ..Options::default() };
    let started = Source::start(options, Arc::default(), Arc::default());
    let Err(findings) = started else { panic!("started") };
    assert!(findings.iter().any(|finding| finding.place.to_string().contains("bad.yaml")), "{findings:?}");
}

#[test]
fn new_settings_give_a_new_revision_everywhere() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("ws")).unwrap();
    let service = Service::of_root(root.path());
    let mut settings = options(root.path()).settings;
    settings.expose_paths = false;
    service.source.set_settings(settings);
    service.wait("ws", "the new settings", ready(|snapshot| !snapshot.exposes_paths()));
}
