//! What stays known of a workspace whose texts are not held.

use std::{collections::BTreeMap, sync::Arc};

use super::{Document, Skill, SkillFile, Snapshot};

/// A snapshot without its texts: what lists show of a workspace, and what the next load needs of the last good version. What
/// that one had as documents and skills is not among it; its `workspace.yaml` is.
#[derive(Debug, Clone)]
pub struct Outline {
    snapshot: Arc<Snapshot>,
    context: ContextSize,
}

/// The size of a workspace's context files together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ContextSize {
    /// In UTF-8.
    pub bytes: usize,
    /// Unicode scalar values.
    pub chars: usize,
}

impl ContextSize {
    /// Of all context files of a snapshot.
    #[must_use]
    pub fn of(snapshot: &Snapshot) -> Self {
        let add = |sum: Self, document: &Document| Self {
            bytes: sum.bytes + document.text.len(),
            chars: sum.chars + document.chars,
        };
        snapshot.context_files().fold(Self::default(), add)
    }
}

impl Outline {
    /// What stays known of a snapshot.
    #[must_use]
    pub fn of(snapshot: &Snapshot) -> Self {
        Self { snapshot: Arc::new(without_texts(snapshot)), context: ContextSize::of(snapshot) }
    }

    /// The snapshot without documents, nested files and inputs, and with skills that have nothing but their names and
    /// whether they are shown. It has the revision of the whole one.
    #[must_use]
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// The size of the context files that it had.
    #[must_use]
    pub fn context(&self) -> ContextSize {
        self.context
    }
}

/// Its layers, which others hold too, stay.
fn without_texts(snapshot: &Snapshot) -> Snapshot {
    Snapshot {
        id: snapshot.id.clone(),
        root: Arc::clone(&snapshot.root),
        manifest: snapshot.manifest.clone(),
        marks: Arc::clone(&snapshot.marks),
        inherited: snapshot.inherited.clone(),
        manifest_sha256: Arc::clone(&snapshot.manifest_sha256),
        documents: BTreeMap::new(),
        unusable: BTreeMap::new(),
        nested: Arc::default(),
        skills: snapshot.skills.iter().map(without_text).collect(),
        layers: snapshot.layers.clone(),
        own: snapshot.own.as_deref().map(|own| Arc::new(without_texts(own))),
        profiles: Arc::clone(&snapshot.profiles),
        settings: Arc::clone(&snapshot.settings),
        findings: snapshot.findings.clone(),
        active: snapshot.active.clone(),
        inputs: BTreeMap::new(),
        revision: snapshot.revision.clone(),
    }
}

fn without_text(skill: &Skill) -> Skill {
    Skill {
        name: Arc::clone(&skill.name),
        description: Arc::default(),
        location: Arc::default(),
        folder: Arc::clone(&skill.folder),
        folder_name: Arc::clone(&skill.folder_name),
        file: SkillFile::default(),
        sha256: Arc::default(),
        files: Arc::default(),
        visibility: skill.visibility.clone(),
        findings: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::{
        MemoryTree,
        testing::{codes, load_tree, reload},
    };

    fn tree() -> MemoryTree {
        MemoryTree::new()
            .file("workspace.yaml", "agent: {name: Harbor}\nskills: {blocklist: [moon]}\nlocked: [persona]\n")
            .file("AGENTS.md", "Größe")
            .file("skills/tides/SKILL.md", "---\nname: tides\ndescription: Tells the tides.\n---\nLook it up.\n")
            .file("skills/moon/SKILL.md", "---\nname: moon\ndescription: Tells the moon.\n---\nLook up.\n")
    }

    #[test]
    fn it_has_what_lists_show_and_no_text() {
        let whole = load_tree(&tree()).unwrap();
        let outline = Outline::of(&whole);
        let known = outline.snapshot();
        assert_eq!(
            (&known.revision, &known.manifest, &known.findings),
            (&whole.revision, &whole.manifest, &whole.findings)
        );
        let names = |snapshot: &Snapshot| {
            let skills = snapshot.skills.iter();
            skills
                .map(|skill| (Arc::clone(&skill.folder), Arc::clone(&skill.name), skill.is_shown()))
                .collect::<Vec<_>>()
        };
        assert_eq!(names(known), names(&whole));
        assert_eq!(outline.context(), ContextSize { bytes: 7, chars: 5 });
        assert_eq!(known.weight(), 0);
    }

    #[test]
    fn a_load_over_it_gives_the_same_snapshot_and_keeps_the_last_good_manifest() {
        let whole = load_tree(&tree()).unwrap();
        let outline = Outline::of(&whole);
        let again = reload(&tree(), outline.snapshot()).unwrap();
        assert_eq!((again.weight(), again.revision), (whole.weight(), whole.revision.clone()));
        for (broken, code) in [
            (tree().without("workspace.yaml"), "MANIFEST_EMPTY"),
            (tree().file("workspace.yaml", ""), "MANIFEST_EMPTY"),
            (tree().file("workspace.yaml", "skils: {}"), "UNKNOWN_KEY"),
        ] {
            let kept = reload(&broken, outline.snapshot()).unwrap();
            assert_eq!((&kept.manifest, codes(&kept.active)), (&whole.manifest, vec![code]));
        }
    }

    #[test]
    fn a_skill_of_which_nothing_is_held_has_no_last_good_version() {
        let outline = Outline::of(&load_tree(&tree()).unwrap());
        let broken = tree().file("skills/tides/SKILL.md", "---\nname: [\n---\nLook it up.\n");
        let snapshot = reload(&broken, outline.snapshot()).unwrap();
        assert!(snapshot.skills.iter().all(|skill| &*skill.name != "tides"), "{:?}", snapshot.skills);
        assert!(snapshot.active.iter().any(|finding| finding.message.ends_with("the skill is left out")));
    }
}
