//! What a newer revision forbids or hides that an older one does not.

use promptd_core::workspace::{Skill, Snapshot};

/// Whether a turn on `old` could do or show what `new` forbids or hides.
pub(crate) fn tightens(old: &Snapshot, new: &Snapshot) -> bool {
    let unlocks = || new.manifest.locked.iter().any(|lock| !old.manifest.locked.contains(lock));
    let skips_less = || new.manifest.agent.skip_context_files && !old.manifest.agent.skip_context_files;
    let exposes_paths = || old.exposes_paths() && !new.exposes_paths();
    let trusts_more = || old.settings.risks < new.settings.risks;
    unlocks() || skips_less() || exposes_paths() || trusts_more() || shows_more(old, new)
}

/// Whether `old` shows a skill that `new` hides; one that is merely not there any more is not hidden.
fn shows_more(old: &Snapshot, new: &Snapshot) -> bool {
    let hidden = |skill: &Skill| {
        !new.manifest.skills_enabled
            || !new.manifest.skills.admits(&skill.name, &skill.folder_name)
            || new.skills.iter().any(|now| now.name == skill.name && now.folder == skill.folder && !now.is_shown())
    };
    old.skills.iter().filter(|skill| skill.is_shown()).any(hidden)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{
        State, Store,
        testing::{id, is_held, loaded},
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
        ] {
            assert!(!held(open, tight), "{tight}");
        }
        assert!(held("locked: [persona]\n", "{}\n"), "what was tighter may stay");
        assert!(held("expose_paths: false\n", "{}\n"));
    }
}
