//! What a newer revision forbids or hides that an older one does not.

use promptd_core::workspace::{Skill, Snapshot};

/// Whether a turn on `old` could do or show what `new` forbids or hides.
pub(crate) fn tightens(old: &Snapshot, new: &Snapshot) -> bool {
    let unlocks = || new.manifest.locked.iter().any(|lock| !old.manifest.locked.contains(lock));
    let exposes_paths = || old.exposes_paths() && !new.exposes_paths();
    let trusts_more = || old.settings.risks < new.settings.risks;
    unlocks() || shows_files(old, new) || exposes_paths() || trusts_more() || shows_skill(old, new)
}

/// Whether `old` shows context files where `new` shows none.
fn shows_files(old: &Snapshot, new: &Snapshot) -> bool {
    let shows = |snapshot: &Snapshot| {
        let context = &snapshot.manifest.context;
        !snapshot.manifest.agent.skip_context_files && context.max_chars_per_file > 0 && context.max_chars_total > 0
    };
    shows(old) && !shows(new)
}

/// Whether `old` shows a skill that `new` hides; one that is merely not there any more is not hidden.
fn shows_skill(old: &Snapshot, new: &Snapshot) -> bool {
    let hides = |skill: &Skill| {
        !new.manifest.admits_skill(&skill.name, &skill.folder_name)
            || new.skills.iter().any(|now| !now.is_shown() && is_the_same(skill, now))
    };
    let shows = |skill: &Skill| new.skills.iter().any(|now| now.is_shown() && reads_the_same(skill, now));
    old.skills.iter().filter(|skill| skill.is_shown()).any(|skill| !shows(skill) && hides(skill))
}

/// Whether one may be the other, moved, renamed or rewritten: of what a prompt shows, something is the same.
fn is_the_same(old: &Skill, now: &Skill) -> bool {
    let same_text = |a: &str, b: &str| !a.is_empty() && a == b;
    old.folder == now.folder
        || old.name.to_lowercase() == now.name.to_lowercase()
        || same_text(&old.description, &now.description)
        || same_text(old.file.body(), now.file.body())
}

/// Whether a prompt could not tell one from the other.
fn reads_the_same(old: &Skill, now: &Skill) -> bool {
    old.name == now.name && old.description == now.description && old.file.body() == now.file.body()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, sync::Arc};

    use promptd_core::{
        settings::{RiskPolicy, Settings},
        workspace::Snapshot,
    };
    use proptest::prelude::*;

    use super::super::{
        State, Store,
        testing::{id, is_held, loaded, loaded_with},
    };

    #[test]
    fn pinning_never_brings_a_blocked_skill_back() {
        let skill = "---\nname: s\ndescription: A skill.\n---\n";
        let files = |manifest| loaded(&[("workspace.yaml", manifest), ("skills/s/SKILL.md", skill)]);
        for (tightened, is_tighter) in [
            ("skills:\n  blocklist: [s]\n", true),
            ("skills:\n  allowlist: []\n", true),
            ("skills:\n  enabled: false\n", true),
            ("skills:\n  blocklist: [other]\n", false),
            ("agent:\n  name: New\n", false),
        ] {
            let store = Store::default();
            let old = files("{}\n");
            store.publish(&id(), State::Ready(Arc::clone(&old)));
            store.publish(&id(), State::Ready(files(tightened)));
            assert_eq!(is_held(&store, &old), !is_tighter, "{tightened}");
        }
        // Hidden by its own front matter counts too; simply removed does not.
        let store = Store::default();
        let old = files("{}\n");
        store.publish(&id(), State::Ready(Arc::clone(&old)));
        store.publish(&id(), State::Ready(loaded(&[("AGENTS.md", "No skills.")])));
        assert!(is_held(&store, &old));
        let hidden = "---\nname: s\ndescription: A skill.\nenabled: false\n---\n";
        store.publish(&id(), State::Ready(loaded(&[("skills/s/SKILL.md", hidden)])));
        assert!(!is_held(&store, &old));
    }

    #[test]
    fn pinning_never_opens_what_has_been_locked_or_hidden_since() {
        let files = |manifest| loaded(&[("workspace.yaml", manifest), ("AGENTS.md", "Rules.")]);
        let held = |before, after| {
            let (store, old) = (Store::default(), files(before));
            store.publish(&id(), State::Ready(Arc::clone(&old)));
            store.publish(&id(), State::Ready(files(after)));
            is_held(&store, &old)
        };
        for (open, tight) in [
            ("{}\n", "locked: [persona]\n"),
            ("locked: [persona]\n", "locked: [persona, ephemeral]\n"),
            ("locked: [persona]\n", "locked: [profile]\n"),
            ("{}\n", "expose_paths: false\n"),
            ("{}\n", "agent: {skip_context_files: true}\n"),
            ("{}\n", "context: {max_chars_per_file: 0}\n"),
            ("{}\n", "context: {max_chars_total: 0}\n"),
        ] {
            assert!(!held(open, tight), "{tight}");
        }
        assert!(held("locked: [persona]\n", "{}\n"), "what was tighter may stay");
        assert!(held("expose_paths: false\n", "{}\n"));
    }

    #[test]
    fn pinning_never_brings_back_text_that_stricter_risks_keep_out() {
        const ALL: [RiskPolicy; 3] = [RiskPolicy::Report, RiskPolicy::Strip, RiskPolicy::Refuse];
        for (from, before) in ALL.into_iter().enumerate() {
            for (to, after) in ALL.into_iter().enumerate() {
                let of = |risks| loaded_with(&[("AGENTS.md", "Rules.")], Settings { risks, ..Settings::default() });
                let (store, old) = (Store::default(), of(before));
                store.publish(&id(), State::Ready(Arc::clone(&old)));
                store.publish(&id(), State::Ready(of(after)));
                assert_eq!(is_held(&store, &old), to <= from, "{before:?} -> {after:?}");
            }
        }
    }

    /// A hidden skill at another place, under another name, or over a shared one is hidden for older revisions too.
    #[test]
    fn pinning_never_brings_back_a_skill_that_was_moved_or_renamed_and_hidden() {
        let skill = |name: &str, description: &str, body: &str, hidden: bool| {
            format!("---\nname: {name}\ndescription: {description}\nhidden: {hidden}\n---\n{body}\n")
        };
        let old = skill("h", "Does it.", "Step one.", false);
        for (path, now, held) in [
            ("skills/h/SKILL.md", skill("h", "Other.", "Other.", true), false),
            ("skills/moved/SKILL.md", skill("h", "Other.", "Other.", true), false),
            ("skills/moved/SKILL.md", skill("H", "Other.", "Other.", true), false),
            ("skills/moved/SKILL.md", skill("renamed", "Does it.", "Other.", true), false),
            ("skills/moved/SKILL.md", skill("renamed", "Other.", "Step one.", true), false),
            ("skills/moved/SKILL.md", skill("renamed", "Other.", "Other.", true), true),
            ("skills/moved/SKILL.md", skill("h", "Other.", "Other.", false), true),
        ] {
            for at in ["skills/h/SKILL.md", "skills/group/h/SKILL.md"] {
                let (store, before) = (Store::default(), loaded(&[(at, &old)]));
                store.publish(&id(), State::Ready(Arc::clone(&before)));
                store.publish(&id(), State::Ready(loaded(&[(path, &now)])));
                assert_eq!(is_held(&store, &before), held, "{at} -> {path}: {now}");
            }
        }
    }

    /// A skill that is shown hides nothing that it does not read like.
    #[test]
    fn pinning_brings_a_hidden_skill_back_only_where_the_newest_revision_shows_the_same() {
        let skill = |name: &str, description: &str, body: &str, hidden: bool| {
            format!("---\nname: {name}\ndescription: {description}\nhidden: {hidden}\n---\n{body}\n")
        };
        let old = skill("h", "Does it.", "Step one.", false);
        let same = |of: &str| {
            skill(
                "g",
                if of == "description" { "Does it." } else { "Gone." },
                if of == "body" { "Step one." } else { "Gone." },
                true,
            )
        };
        for (shown, hidden, held) in [
            (skill("h", "Does it.", "Step one.", false), same("description"), true),
            (skill("k", "Does it.", "Step one.", false), same("description"), false),
            (skill("h", "Other.", "Step one.", false), same("description"), false),
            (skill("h", "Does it.", "Other.", false), same("body"), false),
            (skill("k", "Other.", "Other.", false), same("body"), false),
            (skill("k", "Other.", "Other.", false), same("nothing"), true),
        ] {
            let (store, before) = (Store::default(), loaded(&[("skills/h/SKILL.md", &old)]));
            store.publish(&id(), State::Ready(Arc::clone(&before)));
            store.publish(
                &id(),
                State::Ready(loaded(&[("skills/one/SKILL.md", &shown), ("skills/other/SKILL.md", &hidden)])),
            );
            assert_eq!(is_held(&store, &before), held, "{shown}{hidden}");
        }
    }

    /// A skill: its folder, name, description and body, by number, and whether it is hidden.
    type SkillPlan = (u8, u8, u8, u8, bool);

    #[derive(Debug, Clone)]
    struct Plan {
        skills: Vec<SkillPlan>,
        manifest: String,
    }

    fn plan() -> impl Strategy<Value = Plan> {
        let skills = proptest::collection::vec((0..4_u8, 0..4_u8, 0..4_u8, 0..4_u8, any::<bool>()), 0..4);
        let filter = prop_oneof![
            Just(String::new()),
            Just("skills: {enabled: false}\n".to_owned()),
            (0..4_u8).prop_map(|n| format!("skills: {{blocklist: [name{n}]}}\n")),
            (0..4_u8).prop_map(|n| format!("skills: {{allowlist: ['*{n}']}}\n")),
        ];
        let locks = proptest::sample::subsequence(vec!["persona", "ephemeral", "profile", "inputs"], 0..=2);
        let agent = prop_oneof![Just(""), Just("agent: {skip_context_files: true}\n")];
        let context = prop_oneof![Just(""), Just("context: {max_chars_total: 0}\n"), Just("expose_paths: false\n")];
        (skills, filter, locks, agent, context).prop_map(|(skills, filter, locks, agent, context)| {
            let locks = format!("locked: [{}]\n", locks.join(", "));
            Plan { skills, manifest: format!("{filter}{locks}{agent}{context}") }
        })
    }

    fn files(plan: &Plan) -> Vec<(String, String)> {
        let skill = |(folder, name, description, body, hidden): &SkillPlan| {
            let text = format!(
                "---\nname: name{name}\ndescription: description{description}.\nhidden: {hidden}\n---\nbody{body}.\n"
            );
            (format!("skills/folder{folder}/SKILL.md"), text)
        };
        let fixed =
            [("workspace.yaml".to_owned(), plan.manifest.clone()), ("AGENTS.md".to_owned(), "Rules.".to_owned())];
        plan.skills.iter().map(skill).chain(fixed).collect()
    }

    /// The names, descriptions and bodies of the skills that are shown, or of those that are hidden.
    fn words(snapshot: &Snapshot, shown: bool) -> BTreeSet<String> {
        let skills = snapshot.skills.iter().filter(|skill| skill.is_shown() == shown);
        skills.flat_map(|skill| [&*skill.name, &*skill.description, skill.file.body()].map(str::to_owned)).collect()
    }

    proptest! {
        #[test]
        fn what_the_newest_revision_hides_locks_or_filters_no_pinned_one_shows(plans in proptest::collection::vec(plan(), 2..5)) {
            let store = Store::default();
            let revisions: Vec<_> = plans.iter().map(|plan| {
                let files = files(plan);
                let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
                loaded(&files)
            }).collect();
            for revision in &revisions {
                store.publish(&id(), State::Ready(Arc::clone(revision)));
            }
            let newest = &revisions.last().unwrap().snapshot;
            let shown = words(newest, true);
            let hidden: BTreeSet<_> = words(newest, false).difference(&shown).cloned().collect();
            for old in revisions.iter().filter(|old| is_held(&store, old)) {
                let old = &old.snapshot;
                let reappears: Vec<_> = words(old, true).intersection(&hidden).cloned().collect();
                prop_assert!(reappears.is_empty(), "{:?} of {:?}", reappears, plans);
                for skill in old.skills.iter().filter(|skill| skill.is_shown()) {
                    prop_assert!(newest.manifest.admits_skill(&skill.name, &skill.folder_name), "{:?}", plans);
                }
                prop_assert!(newest.manifest.locked.iter().all(|lock| old.manifest.locked.contains(lock)), "{:?}", plans);
                let files = |snapshot: &Snapshot| {
                    !snapshot.manifest.agent.skip_context_files && snapshot.manifest.context.max_chars_total > 0
                };
                prop_assert!(files(newest) || !files(old), "{:?}", plans);
                prop_assert!(newest.exposes_paths() || !old.exposes_paths(), "{:?}", plans);
            }
        }
    }
}
