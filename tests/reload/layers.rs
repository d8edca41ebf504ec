//! Layers: an edit of one is served by all that extend it, whole, and what goes wrong with one costs nobody their last good state.

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
};

use promptd_core::{finding::Finding, workspace::Snapshot};
use promptd_source::{Options, store::State};

use crate::service::{Service, Sets, options};

fn save(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let aside = path.with_extension("new");
    fs::write(&aside, text).unwrap();
    fs::rename(aside, path).unwrap();
}

/// `org`, `team` over it, `agent` over both, and `other` over `org`.
fn site(root: &Path) {
    for (path, text) in [
        ("org/workspace.yaml", "extendable_by: ['*']\nskills: {blocklist: [secret]}\n"),
        ("org/AGENTS.md", "org 1"),
        ("org/SOUL.md", "org 1"),
        ("team/workspace.yaml", "extends: [org]\nextendable_by: [agent, org]\ncontext: {append: [AGENTS.md]}\n"),
        ("team/AGENTS.md", "team 1"),
        ("agent/workspace.yaml", "extends: [team]\n"),
        ("agent/IDENTITY.md", "agent 1"),
        ("other/workspace.yaml", "extends: [org]\n"),
    ] {
        save(&root.join(path), text);
    }
}

fn text<'s>(snapshot: &'s Snapshot, path: &str) -> &'s str {
    snapshot.document(path).map_or("", |document| &document.text)
}

fn shows(path: &'static str, wanted: &'static str) -> impl Fn(&State) -> bool {
    move |state| matches!(state, State::Ready(loaded) if text(&loaded.snapshot, path) == wanted)
}

fn says(code: &'static str) -> impl Fn(&State) -> bool {
    move |state| match state {
        State::Ready(loaded) => loaded.snapshot.active.iter().any(|finding| finding.code.as_str() == code),
        State::Invalid(faults) => faults.iter().any(|fault| fault.code.as_str() == code),
        State::Cold(_) | State::Gone => false,
    }
}

fn healthy(state: &State) -> bool {
    matches!(state, State::Ready(loaded) if loaded.snapshot.active.is_empty())
}

fn blocks_secret(state: &State) -> bool {
    matches!(state, State::Ready(loaded) if !loaded.snapshot.manifest.admits_skill("secret", "secret"))
}

/// How many of the site's workspaces extend its `org`.
const HEIRS: u64 = 3;

#[test]
fn an_edit_of_a_layer_reaches_all_that_extend_it() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    site(root);
    let service = Service::of_root(root);
    for id in ["team", "agent"] {
        assert!(shows("AGENTS.md", "org 1\n\nteam 1")(&service.store.get(id).unwrap()), "{id}");
    }
    assert!(shows("AGENTS.md", "org 1")(&service.store.get("other").unwrap()));
    // Files as young as these are at the start are read again once they rest, and an edit is served after that.
    save(&root.join("other/IDENTITY.md"), "other 1");
    service.wait("other", "its own file", shows("IDENTITY.md", "other 1"));
    let loads = service.source.status().loads.get();

    save(&root.join("org/AGENTS.md"), "org 2");
    service.wait("agent", "the org's edit", shows("AGENTS.md", "org 2\n\nteam 1"));
    service.wait("other", "the org's edit", shows("AGENTS.md", "org 2"));
    let loads = service.source.status().loads.get() - loads;
    assert!((1..=HEIRS).contains(&loads), "{loads} loads: no file of an heir is read");

    save(&root.join("team/AGENTS.md"), "team 2");
    service.wait("agent", "the team's edit", shows("AGENTS.md", "org 2\n\nteam 2"));
    save(&root.join("agent/AGENTS.md"), "agent 1");
    service.wait("agent", "its own file", shows("AGENTS.md", "agent 1"));
    save(&root.join("agent/workspace.yaml"), "extends: [team]\ncontext: {append: [AGENTS.md]}\n");
    service.wait("agent", "its own setting", shows("AGENTS.md", "org 2\n\nteam 2\n\nagent 1"));
    save(&root.join("agent/workspace.yaml"), "agent: {name: Alone}\n");
    service.wait("agent", "nothing of layers", shows("AGENTS.md", "agent 1"));
    save(&root.join("org/SOUL.md"), "org 2");
    service.wait("other", "the next edit", shows("SOUL.md", "org 2"));
    assert!(shows("SOUL.md", "")(&service.store.get("agent").unwrap()), "it extends nobody any more");
}

#[test]
fn a_layer_that_breaks_goes_or_turns_away_leaves_the_last_good_state() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    site(root);
    let service = Service::of_root(root);

    save(&root.join("org/workspace.yaml"), "extendable_by: [\n");
    let (state, _) = service.wait("agent", "the org's fault", says("YAML_SYNTAX"));
    let State::Ready(loaded) = &*state else { panic!("{state:?}") };
    let places: Vec<_> = loaded.snapshot.active.iter().map(|finding| finding.place.to_string()).collect();
    assert!(places.iter().all(|place| place.starts_with("@layers/org/workspace.yaml:")), "{places:?}");
    assert!(blocks_secret(&state) && shows("AGENTS.md", "org 1\n\nteam 1")(&state));

    save(&root.join("org/workspace.yaml"), "extendable_by: [team]\nskills: {blocklist: [secret]}\n");
    service.wait("agent", "the repaired org", healthy);
    let (other, _) = service.wait("other", "that it is turned away", says("LAYER_UNAVAILABLE"));
    assert!(blocks_secret(&other));
    save(&root.join("org/SOUL.md"), "org 2");
    service.wait("agent", "the org's edit", shows("SOUL.md", "org 2"));
    assert!(shows("SOUL.md", "org 1")(&service.store.get("other").unwrap()), "nothing new of who turned it away");

    fs::rename(root.join("org"), root.join(".org")).unwrap();
    let (team, _) = service.wait("team", "that the org is gone", says("LAYER_UNAVAILABLE"));
    let (agent, _) = service.wait("agent", "that the org is gone", says("LAYER_UNAVAILABLE"));
    for state in [&team, &agent] {
        assert!(blocks_secret(state) && shows("SOUL.md", "org 2")(state));
    }
    save(&root.join("agent/IDENTITY.md"), "agent 2");
    let (agent, _) = service.wait("agent", "its own edit all the same", shows("IDENTITY.md", "agent 2"));
    assert!(says("LAYER_UNAVAILABLE")(&agent) && shows("AGENTS.md", "org 1\n\nteam 1")(&agent));

    fs::rename(root.join(".org"), root.join("org")).unwrap();
    service.wait("agent", "the org back", healthy);
    save(&root.join("org/workspace.yaml"), "extendable_by: ['*']\nextends: [team]\n");
    service.wait("org", "the circle", says("LAYER_CYCLE"));
    let (agent, _) = service.wait("agent", "the circle", says("LAYER_CYCLE"));
    assert!(shows("AGENTS.md", "org 1\n\nteam 1")(&agent));
}

#[test]
fn without_its_layers_a_workspace_is_not_served_before_they_come() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    save(&root.join("agent/workspace.yaml"), "extends: [team]\n");
    save(&root.join("team/workspace.yaml"), "extendable_by: ['*']\nextends: [org]\n");
    let service = Service::of_root(root);
    for id in ["agent", "team"] {
        let State::Invalid(faults) = &*service.store.get(id).unwrap() else { panic!("{id} is served") };
        let told: Vec<_> = faults.iter().map(ToString::to_string).collect();
        assert!(faults.iter().all(Finding::is_error) && !told.join(" ").contains("org"), "{told:?}");
    }
    save(&root.join("org/workspace.yaml"), "extendable_by: [team]\nlocked: [persona]\n");
    let (agent, _) = service.wait("agent", "all layers", healthy);
    let State::Ready(loaded) = &*agent else { panic!("{agent:?}") };
    assert_eq!(loaded.snapshot.manifest.locked.len(), 1);
}

#[test]
fn no_snapshot_has_two_versions_of_a_layer() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    site(root);
    let service = Service::start(Options { load_threads: 2, ..options(root) });
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut seen = 0;
            while !done.load(Relaxed) {
                for id in ["team", "agent", "other"] {
                    let State::Ready(loaded) = &*service.store.get(id).unwrap() else { panic!("{id}") };
                    let of_org = |path: &str| text(&loaded.snapshot, path).split("\n\n").next().unwrap().to_owned();
                    assert_eq!(of_org("AGENTS.md"), of_org("SOUL.md"), "{id}");
                    seen += 1;
                }
            }
            seen
        });
        let ends = Sets(&done);
        for version in 2..=8 {
            // Both files at once: the folder is swapped.
            let text = format!("org {version}");
            let new = root.join(format!(".org-{version}"));
            save(&new.join("workspace.yaml"), "extendable_by: ['*']\n");
            save(&new.join("AGENTS.md"), &text);
            save(&new.join("SOUL.md"), &text);
            fs::rename(root.join("org"), root.join(format!(".old-{version}"))).unwrap();
            fs::rename(&new, root.join("org")).unwrap();
            for id in ["other", "agent"] {
                service.wait(id, &text, |state| matches!(state, State::Ready(loaded) if *loaded.snapshot.documents["SOUL.md"].text == *text));
            }
        }
        drop(ends);
        assert!(watching.join().unwrap() > 0);
    });
}

#[test]
fn heirs_share_the_memory_of_their_layers_and_origins_give_them_again() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    site(root);
    let service = Service::start(Options { keep_origins: true, ..options(root) });
    let document = |id: &str| {
        let State::Ready(loaded) = &*service.store.get(id).unwrap() else { panic!("{id}") };
        Arc::clone(&loaded.snapshot.documents["SOUL.md"])
    };
    assert!(Arc::ptr_eq(&document("agent"), &document("other")));
    save(&root.join("org/SOUL.md"), "org 2");
    let (agent, _) = service.wait("agent", "the edit", shows("SOUL.md", "org 2"));
    let State::Ready(loaded) = &*agent else { panic!("{agent:?}") };
    let again = loaded.origin.as_ref().unwrap().load().unwrap();
    assert_eq!(again.revision, loaded.snapshot.revision);
}
