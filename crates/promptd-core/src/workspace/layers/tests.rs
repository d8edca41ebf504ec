//! What workspaces have of their layers.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use super::{Layer, compose};
use crate::{
    finding::Finding,
    id::Id,
    profile::ProfileSet,
    settings::Settings,
    workspace::{Load, MemoryTree, Snapshot, Visibility, load, testing::codes},
};

static PROFILES: LazyLock<Arc<ProfileSet>> = LazyLock::new(|| Arc::new(ProfileSet::built_in()));

/// Workspaces by id, each loaded by itself.
#[derive(Default)]
pub(super) struct Site(BTreeMap<String, Arc<Layer>>);

impl Site {
    pub(super) fn with(mut self, id: &str, files: &[(&str, &str)]) -> Self {
        self.save(id, files);
        self
    }

    pub(super) fn save(&mut self, id: &str, files: &[(&str, &str)]) {
        let tree = files.iter().fold(MemoryTree::new(), |tree, (path, text)| tree.file(path, text.as_bytes()));
        let previous = self.0.get(id).map(|layer| Arc::clone(&layer.own));
        let snapshot = load(&Load {
            id: &Id::parse(id).unwrap(),
            root: &format!("/srv/{id}"),
            tree: &tree,
            shared_skills: &[],
            profiles: Arc::clone(&PROFILES),
            settings: Arc::new(Settings::default()),
            previous: previous.as_deref(),
        });
        self.0.insert(id.to_owned(), Arc::new(Layer::new(Arc::new(snapshot.unwrap()))));
    }

    pub(super) fn over(&self, id: &str, previous: Option<&Snapshot>) -> Result<Snapshot, Vec<Finding>> {
        compose(&self.0[id].own, previous, &|id| self.0.get(id.as_str()).cloned())
    }

    pub(super) fn composed(&self, id: &str) -> Snapshot {
        self.over(id, None).unwrap()
    }
}

const OPEN: &str = "extendable_by: ['*']\n";

fn skill(name: &str, text: &str) -> String {
    format!("---\nname: {name}\ndescription: {text}\n---\n{text}\n")
}

fn text<'s>(snapshot: &'s Snapshot, path: &str) -> &'s str {
    &snapshot.documents[path].text
}

#[test]
fn the_nearest_file_replaces_the_others_unless_it_is_appended() {
    let site = Site::default()
        .with("org", &[("workspace.yaml", OPEN), ("AGENTS.md", "org"), ("SOUL.md", "calm"), ("IDENTITY.md", "O")])
        .with("team", &[("workspace.yaml", OPEN), ("AGENTS.md", "team"), ("IDENTITY.md", "T")])
        .with(
            "agent",
            &[
                ("workspace.yaml", "extends: [org, team]\ncontext: {append: [AGENTS.md]}"),
                ("AGENTS.md", "agent"),
                ("IDENTITY.md", ""),
            ],
        );
    let agent = site.composed("agent");
    assert_eq!(text(&agent, "AGENTS.md"), "org\n\nteam\n\nagent");
    let files: Vec<&str> = agent.documents["AGENTS.md"].parts().iter().map(|part| &*part.file).collect();
    assert_eq!(files, ["@layers/org/AGENTS.md", "@layers/team/AGENTS.md", "AGENTS.md"]);
    assert_eq!((text(&agent, "SOUL.md"), &*agent.documents["SOUL.md"].file), ("calm", "@layers/org/SOUL.md"));
    assert_eq!(text(&agent, "IDENTITY.md"), "", "a blank file replaces too");
    assert!(agent.active.is_empty(), "{:?}", agent.active);
}

#[test]
fn what_a_layer_replaces_its_heirs_do_not_bring_back() {
    let team = "extends: [org]\nextendable_by: ['*']\n";
    let append = "context: {append: [AGENTS.md]}\n";
    for (of_team, of_agent, expected) in [
        ("", "", "agent"),
        ("", append, "team\n\nagent"),
        (append, "", "agent"),
        (append, append, "org\n\nteam\n\nagent"),
    ] {
        let mut site = Site::default()
            .with("org", &[("workspace.yaml", OPEN), ("AGENTS.md", "org")])
            .with("team", &[("workspace.yaml", &format!("{team}{of_team}")), ("AGENTS.md", "team")])
            .with("agent", &[("workspace.yaml", &format!("extends: [team]\n{of_agent}")), ("AGENTS.md", "agent")]);
        assert_eq!(text(&site.composed("agent"), "AGENTS.md"), expected);
        site.save("agent", &[("workspace.yaml", "extends: [team]")]);
        let inherited = if of_team.is_empty() { "team" } else { "org\n\nteam" };
        assert_eq!(text(&site.composed("agent"), "AGENTS.md"), inherited);
    }
}

#[test]
fn a_layer_that_is_reached_twice_counts_once_and_is_farther_than_its_heirs() {
    let over_org = "extends: [org]\nextendable_by: ['*']\n";
    let site = Site::default()
        .with("org", &[("workspace.yaml", OPEN), ("AGENTS.md", "org"), ("SOUL.md", "org")])
        .with("a", &[("workspace.yaml", over_org), ("AGENTS.md", "a")])
        .with("b", &[("workspace.yaml", over_org)])
        .with("agent", &[("workspace.yaml", "extends: [a, b]\ncontext: {append: [SOUL.md]}"), ("SOUL.md", "me")])
        .with("late", &[("workspace.yaml", "extends: [a, org]")]);
    let agent = site.composed("agent");
    let ids: Vec<_> = agent.layers.iter().map(|layer| layer.id().as_str()).collect();
    assert_eq!(ids, ["org", "a", "b"]);
    assert_eq!(text(&agent, "AGENTS.md"), "a", "b has nothing to say against what a replaces");
    assert_eq!(text(&agent, "SOUL.md"), "org\n\nme");
    assert_eq!(text(&site.composed("late"), "AGENTS.md"), "a");
}

#[test]
fn skills_are_united_filters_are_the_strictest_and_the_nearest_wins_a_name() {
    let skills = |names: &[&'static str]| -> Vec<(String, String)> {
        names.iter().map(|name| (format!("skills/{name}/SKILL.md"), skill(name, "of org"))).collect()
    };
    let mut org: Vec<(String, String)> = skills(&["git", "deploy", "secret", "tides"]);
    org.push(("workspace.yaml".into(), format!("{OPEN}skills: {{blocklist: [secret], allowlist: ['*']}}")));
    let org: Vec<(&str, &str)> = org.iter().map(|(path, text)| (&**path, &**text)).collect();
    let (own, secret) = (skill("git", "of agent"), skill("secret", "of agent"));
    let site = Site::default().with("org", &org).with(
        "agent",
        &[
            ("workspace.yaml", "extends: [org]\nskills: {allowlist: [git, secret, tides]}"),
            ("skills/my-git/SKILL.md", &own),
            ("skills/mine/SKILL.md", &secret),
        ],
    );
    let agent = site.composed("agent");
    let all: Vec<String> = (agent.skills.iter())
        .map(|skill| format!("{} {} {} {}", skill.name, skill.description, skill.folder, skill.is_shown()))
        .collect();
    assert_eq!(
        all,
        [
            "deploy of org @layers/org/skills/deploy false",
            "git of agent skills/my-git true",
            "secret of agent skills/mine false",
            "tides of org @layers/org/skills/tides true",
        ]
    );
    let location = |name: &str| &*agent.skills.iter().find(|skill| &*skill.name == name).unwrap().location;
    assert_eq!(location("tides"), "skill://agent/tides/SKILL.md", "no path of a layer");
    assert_eq!(location("git"), "/srv/agent/skills/my-git/SKILL.md");
    let Visibility::Hidden(why) = &agent.skills[2].visibility else { panic!("{:?}", agent.skills[2]) };
    assert_eq!(why, "a layer's `skills` do not admit it");
}

#[test]
fn an_allowlist_is_about_the_skills_of_layers_too() {
    let tides = skill("tides", "of org");
    let site = Site::default()
        .with("org", &[("workspace.yaml", OPEN), ("skills/tides/SKILL.md", &tides)])
        .with("agent", &[("workspace.yaml", "extends: [org]\nskills: {allowlist: [tides]}")])
        .with("dead", &[("workspace.yaml", "extends: [org]\nskills: {allowlist: [moon]}")]);
    assert_eq!(codes(&site.composed("agent").active), [""; 0]);
    assert_eq!(codes(&site.composed("dead").active), ["SKILL_ALLOWLIST_EMPTY"]);
}

#[test]
fn settings_come_from_the_nearest_and_locks_and_limits_from_all() {
    let org = "extendable_by: ['agent']\nprofile: cache-first\nagent: {id: o, name: Org, persona: calm, time_zone: Europe/Berlin}\n\
               locked: [persona, time_zone]\ncontext: {max_chars_per_file: 1000, files: [{path: A.md, max_chars: 50}]}\n\
               budget: {max: 500, sections: {skills: {floor: 10, ceiling: 90, pinned: true}}}\nexpose_paths: false\n";
    let own = "extends: [org]\nagent: {persona: loud, ephemeral_system_prompt: now}\nlocked: [agent]\n\
               context: {max_chars_per_file: 4000, max_chars_total: 99, files: [{path: B.md}, {path: A.md, purpose: why, max_chars: 60}]}\n\
               budget: {max: 700, sections: {skills: {floor: 5, ceiling: 200, priority: 9}}}\nexpose_paths: true\n";
    let site = Site::default()
        .with("org", &[("workspace.yaml", org), ("A.md", "a")])
        .with("agent", &[("workspace.yaml", own), ("B.md", "b")]);
    let agent = site.composed("agent");
    let manifest = &agent.manifest;
    let of_agent = &manifest.agent;
    assert_eq!(
        (of_agent.id.as_str(), of_agent.name.as_str(), manifest.profile.as_str()),
        ("agent", "Org", "cache-first")
    );
    assert_eq!(of_agent.persona.as_deref(), Some("calm"));
    assert_eq!(of_agent.ephemeral_system_prompt.as_deref(), Some("now"));
    assert_eq!(of_agent.time_zone.iana_name(), Some("Europe/Berlin"));
    let locks: Vec<_> = manifest.locked.iter().map(|lock| lock.name()).collect();
    assert_eq!((locks, manifest.expose_paths), (vec!["persona", "agent", "time_zone"], false));
    let context = &manifest.context;
    assert_eq!((context.max_chars_per_file, context.max_chars_total, context.max_chars_of("A.md")), (1000, 99, 50));
    let files: Vec<_> = context.files.iter().map(|file| (&*file.path, &*file.purpose)).collect();
    assert_eq!(files, [("A.md", "why"), ("B.md", "")]);
    let rule = manifest.budget.sections["skills"];
    assert_eq!((manifest.budget.limit.unwrap().max, rule.floor, rule.ceiling), (500, 10, Some(90)));
    assert_eq!((rule.priority, rule.is_pinned), (Some(9), true));
    let told: Vec<_> = agent.active.iter().map(|f| format!("{} {} {}", f.place, f.code.as_str(), f.message)).collect();
    assert_eq!(
        told,
        [
            "workspace.yaml:2:18 LAYER_OVERRULES `agent.persona` has no effect: a layer locks `persona`",
            "workspace.yaml:4:31 LAYER_OVERRULES `context.max_chars_per_file` has no effect: a layer allows 1000 characters",
            "workspace.yaml:4:65 LAYER_OVERRULES `context.files` has no effect: of A.md a layer allows 50 characters",
            "workspace.yaml:5:15 LAYER_OVERRULES `budget.max` has no effect: a layer allows 500 tokens of o200k_base",
        ]
    );
    assert_eq!(&*agent.inherited["agent.name"], "@layers/org/workspace.yaml");
    assert!(!agent.inherited.contains_key("context.files.A.md"));
}

#[test]
fn inputs_are_by_key_and_checked_against_the_profile_that_is_used() {
    let org = "extendable_by: ['*']\nprofile: kai-remote\ninputs: {model: large, provider: p, platform: web}\n";
    let own = "extends: [org]\ninputs: {model: small, provder: x, platform: []}\n";
    let site = Site::default()
        .with("org", &[("workspace.yaml", org)])
        .with("agent", &[("workspace.yaml", own)])
        .with("plain", &[("workspace.yaml", "extends: [org]\nprofile: five-layer\n")]);
    let agent = site.composed("agent");
    let inputs: Vec<_> = agent.manifest.inputs.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    assert_eq!(inputs, ["model: \"small\"", "provider: \"p\""]);
    let told: Vec<_> = agent.active.iter().map(|f| format!("{} {}", f.place, f.message)).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].starts_with("workspace.yaml:2:33 `inputs.provder` is not known; did you mean `provider`?"),
        "{told:?}"
    );
    assert!(told[1].starts_with("workspace.yaml:2:46 `inputs.platform` must be"), "{told:?}");
    let plain = site.composed("plain");
    assert!(plain.manifest.inputs.is_empty() && plain.active.is_empty(), "{:?}", plain.active);
}

#[test]
fn without_its_layers_a_workspace_has_no_first_snapshot_and_keeps_its_last() {
    let agent = [("workspace.yaml", "# mine\nextends: [org]\n"), ("AGENTS.md", "one")];
    let org = [("workspace.yaml", "extendable_by: [agent]\nskills: {blocklist: [secret]}\n"), ("SOUL.md", "calm")];
    let mut site = Site::default().with("agent", &agent);
    let faults = site.over("agent", None).unwrap_err();
    assert_eq!(
        (faults[0].place.to_string().as_str(), faults[0].code.as_str()),
        ("workspace.yaml:2:11", "LAYER_UNAVAILABLE")
    );
    assert!(!faults[0].message.contains("org"), "{}", faults[0].message);
    site.save("org", &[("workspace.yaml", "extendable_by: [other]\n")]);
    assert_eq!(site.over("agent", None).unwrap_err(), faults, "whether it exists is not said");

    site.save("org", &org);
    let good = site.composed("agent");
    assert!(good.active.is_empty());
    site.save("org", &[("workspace.yaml", "extendable_by: [other]\n"), ("SOUL.md", "for others")]);
    site.save("agent", &[("workspace.yaml", "extends: [org]\n"), ("AGENTS.md", "two")]);
    let kept = site.over("agent", Some(&good)).unwrap();
    assert_eq!((text(&kept, "AGENTS.md"), text(&kept, "SOUL.md")), ("two", "calm"));
    assert!(!kept.manifest.admits_skill("secret", "secret"));
    assert_eq!(codes(&kept.active), ["LAYER_UNAVAILABLE"]);
    assert!(kept.active[0].message.ends_with("; the last good layers stay in use"));

    site.save("org", &org);
    site.save("agent", &[("workspace.yaml", "extends: [typo]\n"), ("AGENTS.md", "three")]);
    site.save("org", &[("workspace.yaml", "extendable_by: [agent]\nlocked: [persona]\n"), ("SOUL.md", "new")]);
    let kept = site.over("agent", Some(&kept)).unwrap();
    assert_eq!(
        (text(&kept, "AGENTS.md"), text(&kept, "SOUL.md")),
        ("three", "new"),
        "what may be extended is the newest"
    );
    assert_eq!(kept.manifest.locked.len(), 1);
    site.save("org", &[("workspace.yaml", "extendable_by: [other]\n"), ("SOUL.md", "for others")]);
    let kept = site.over("agent", Some(&kept)).unwrap();
    assert_eq!(text(&kept, "SOUL.md"), "new", "nothing more of who does not allow it any more");
}

#[test]
fn a_circle_and_too_many_layers_are_found() {
    let extends = |ids: &str| format!("extendable_by: ['*']\nextends: [{ids}]\n");
    let site = Site::default()
        .with("a", &[("workspace.yaml", &extends("b"))])
        .with("b", &[("workspace.yaml", &extends("c"))])
        .with("c", &[("workspace.yaml", &extends("b"))]);
    for id in ["a", "b", "c"] {
        assert_eq!(codes(&site.over(id, None).unwrap_err()), ["LAYER_CYCLE"], "{id}");
    }
    let chain = (0..=10).fold(Site::default(), |site, n| {
        let below = if n == 0 { String::new() } else { format!("w{}", n - 1) };
        site.with(&format!("w{n}"), &[("workspace.yaml", &extends(&below))])
    });
    assert!(chain.over("w8", None).is_ok());
    assert_eq!(codes(&chain.over("w9", None).unwrap_err()), ["LAYERS_LIMITED"]);
}

#[test]
fn what_is_wrong_with_a_layer_is_said_where_the_workspace_has_it() {
    let bad = "---\nname: bad\n---\n";
    let org = [("workspace.yaml", OPEN), ("agents.md", "x"), ("skills/bad/SKILL.md", bad), ("SOUL.md", "a\u{202e}b")];
    let site = Site::default()
        .with("org", &org)
        .with("agent", &[("workspace.yaml", "extends: [org]")])
        .with("picky", &[("workspace.yaml", "extends: [org]\nskills: {blocklist: [bad]}")]);
    let agent = site.composed("agent");
    let places: Vec<_> = agent.active.iter().map(|f| format!("{} {}", f.place, f.code.as_str())).collect();
    assert_eq!(
        places,
        ["@layers/org/skills/bad/SKILL.md:1:0 SKILL_INVALID", "@layers/org/agents.md FILE_NAME_CASE"]
            .map(|s| s.replace(":1:0", ":1"))
    );
    assert_eq!(agent.documents["SOUL.md"].findings[0].place.to_string(), "@layers/org/SOUL.md:1:2");
    assert_eq!(codes(&site.composed("picky").active), ["FILE_NAME_CASE"]);
}

#[test]
fn the_revision_is_of_all_layers_and_memory_is_shared() {
    let mut site = Site::default()
        .with("org", &[("workspace.yaml", OPEN), ("SOUL.md", "calm")])
        .with("one", &[("workspace.yaml", "extends: [org]")])
        .with("other", &[("workspace.yaml", "extends: [org]")]);
    let (one, other) = (site.composed("one"), site.composed("other"));
    assert!(Arc::ptr_eq(&one.documents["SOUL.md"], &other.documents["SOUL.md"]));
    assert_eq!(site.composed("one").revision, one.revision);
    site.save("org", &[("workspace.yaml", OPEN), ("SOUL.md", "loud")]);
    assert_ne!(site.composed("one").revision, one.revision);
}
