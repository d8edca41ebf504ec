//! All that a snapshot was loaded from.

use std::{collections::BTreeMap, sync::Arc};

use super::{Captured, Layer, Load, Snapshot, Tree, compose, load};
use crate::{finding::Finding, id::Id, profile::ProfileSet, settings::Settings};

/// How many last good versions may be behind one another.
pub const MAX_PREVIOUS: usize = 8;

/// All that a snapshot was loaded from: with it, and nothing else, the same snapshot is loaded again.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The workspace's id.
    pub id: Id,
    /// Its path, as prompts may show it.
    pub root: Arc<str>,
    /// What was read of its folder.
    pub tree: Captured,
    /// What was read of each shared skill folder, with the folder's path.
    pub shared_skills: Vec<(String, Captured)>,
    /// The profiles; [`ProfileSet::files_of_operator`] are the files that they were loaded from.
    pub profiles: Arc<ProfileSet>,
    /// The server's settings.
    pub settings: Arc<Settings>,
    /// Where a part of it was invalid or could not be read: what the last good version of that part was loaded from.
    pub previous: Option<Arc<Self>>,
    /// What its layers were loaded from; these have none.
    pub layers: Vec<Arc<Self>>,
}

impl Origin {
    /// Loads the snapshot.
    pub fn load(&self) -> Result<Snapshot, Vec<Finding>> {
        self.over(self.load_own()?, Self::load_own)
    }

    /// What its own files give, and over it the layers that `load` makes of theirs.
    pub fn over(
        &self,
        own: Snapshot,
        load: impl Fn(&Self) -> Result<Snapshot, Vec<Finding>>,
    ) -> Result<Snapshot, Vec<Finding>> {
        if own.manifest.extends.is_empty() {
            return Ok(own);
        }
        let layer = |origin: &Arc<Self>| Some((origin.id.clone(), Arc::new(Layer::new(Arc::new(load(origin).ok()?)))));
        let layers: BTreeMap<_, _> = self.layers.iter().filter_map(layer).collect();
        compose(&Arc::new(own), None, &|id| layers.get(id).cloned())
    }

    /// Loads what its own files give.
    pub fn load_own(&self) -> Result<Snapshot, Vec<Finding>> {
        let previous = self.previous.as_ref().map(|previous| previous.load_own()).transpose()?;
        let shared_skills: Vec<(&str, &dyn Tree)> =
            self.shared_skills.iter().map(|(path, tree)| (path.as_str(), tree as &dyn Tree)).collect();
        load(&Load {
            id: &self.id,
            root: &self.root,
            tree: &self.tree,
            shared_skills: &shared_skills,
            profiles: Arc::clone(&self.profiles),
            settings: Arc::clone(&self.settings),
            previous: previous.as_ref(),
        })
    }

    /// This one, with as few last good versions behind it as the snapshot that its own files gave, over `previous`,
    /// needs; `None`: it is not loaded again from that.
    #[must_use]
    pub fn behind(self, previous: Option<&Arc<Self>>, snapshot: &Snapshot) -> Option<Self> {
        let mut candidates = vec![None];
        let mut behind: Vec<_> = std::iter::successors(previous, |one| one.previous.as_ref()).map(Some).collect();
        behind.reverse();
        candidates.extend(behind);
        candidates.into_iter().take(MAX_PREVIOUS).find_map(|candidate| {
            let origin = Self { previous: candidate.cloned(), ..self.clone() };
            origin.load_own().is_ok_and(|loaded| loaded.revision == snapshot.revision).then_some(origin)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::{Capturing, MemoryTree, ReadError, testing};

    /// Loads a tree as the service does, over what was loaded before it.
    fn loaded(tree: &MemoryTree, before: Option<(&Arc<Origin>, &Snapshot)>) -> (Arc<Origin>, Snapshot) {
        let capturing = Capturing::new(tree, before.map(|(origin, _)| &origin.tree));
        let snapshot = testing::load_over(&capturing, before.map(|(_, snapshot)| snapshot)).unwrap();
        let origin = Origin {
            id: snapshot.id.clone(),
            root: Arc::clone(&snapshot.root),
            tree: capturing.finish().unwrap(),
            shared_skills: Vec::new(),
            profiles: Arc::clone(&snapshot.profiles),
            settings: Arc::clone(&snapshot.settings),
            previous: None,
            layers: Vec::new(),
        };
        (Arc::new(origin.behind(before.map(|(origin, _)| origin), &snapshot).unwrap()), snapshot)
    }

    fn depth(origin: &Origin) -> usize {
        std::iter::successors(origin.previous.as_ref(), |one| one.previous.as_ref()).count()
    }

    #[test]
    fn the_same_snapshot_is_loaded_again_last_good_versions_included() {
        let skill = "---\nname: tides\ndescription: Tells the tides.\n---\nLook it up.\n";
        let good = MemoryTree::new()
            .file("workspace.yaml", "agent: {name: Harbor}\ncontext: {nested: [AGENTS.md]}\n")
            .file("AGENTS.md", "one")
            .file("services/api/AGENTS.md", "nested")
            .folder("services/web")
            .file("skills/tides/SKILL.md", skill)
            .file("skills/tides/notes.txt", "bundled");
        let (origin, snapshot) = loaded(&good, None);
        assert_eq!((origin.load().unwrap().revision, depth(&origin)), (snapshot.revision.clone(), 0));
        for broken in [
            good.clone().file("workspace.yaml", "agent: [\n"),
            good.clone().without("workspace.yaml"),
            good.clone().failing("AGENTS.md", ReadError::Denied),
            good.clone().file("skills/tides/SKILL.md", "---\nname: [\n"),
            good.clone().failing("skills", ReadError::Denied),
            good.clone().failing("services/api/AGENTS.md", ReadError::Denied),
            good.clone().failing("services", ReadError::Denied).failing("services/api/AGENTS.md", ReadError::Denied),
            good.clone().failing("skills/tides/notes.txt", ReadError::Denied),
        ] {
            let (second, now) = loaded(&broken, Some((&origin, &snapshot)));
            assert_eq!((second.load().unwrap().revision, depth(&second)), (now.revision, 1));
        }
    }

    #[test]
    fn edits_beside_a_part_that_stays_broken_make_no_chain() {
        let good = MemoryTree::new().file("workspace.yaml", "agent: {name: Harbor}\n");
        let (mut origin, mut snapshot) = loaded(&good, None);
        for edit in 0..20 {
            let edited = good.clone().file("workspace.yaml", "agent: [\n").file("AGENTS.md", edit.to_string());
            (origin, snapshot) = loaded(&edited, Some((&origin, &snapshot)));
            assert_eq!((origin.load().unwrap().revision, depth(&origin)), (snapshot.revision.clone(), 1));
        }
    }
}
