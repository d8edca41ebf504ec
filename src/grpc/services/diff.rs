//! `DiffPrompt`: one turn, assembled against two revisions or against proposed files, and compared.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use jiff::Timestamp;

use super::{
    backend::{Found, named_profile},
    prompt::{PromptService, assembled, chosen},
};
use crate::grpc::pipeline::{Error, auth::Caller};
use promptd_contract::{
    decode::{After, DiffRequest, Violation, diff_request},
    encode, proto,
};
use promptd_core::{
    diff::diff,
    finding::Place,
    id::Id,
    prompt::{self, Prepared, Prompt},
    settings::Settings,
    workspace::{self, Load, MANIFEST, MemoryTree, ReadError, SHARED_FOLDER, SKILL_FILE, Snapshot, Tree},
};

impl PromptService {
    /// What differs. It takes too long for a worker thread.
    pub(super) fn diff(
        &self,
        raw: proto::DiffPromptRequest,
        found: &Found,
        caller: &Caller,
        now: Timestamp,
    ) -> Result<proto::DiffPromptResponse, Error> {
        let limits = self.limits.request.load();
        let mut request = diff_request(raw, &limits, now, |id| caller.must_see(id))?;
        request.turn.skill_access = caller.skills().cloned();
        let before = self.backend.at(found, &request.workspace, request.before.as_deref(), caller)?;
        let (loaded, proposed);
        let after = match &request.after {
            After::Revision(revision) => {
                loaded = self.backend.at(found, &request.workspace, revision.as_deref(), caller)?;
                &loaded.snapshot
            }
            After::Proposed(tree, paths) => {
                let newest = self.backend.newest(found, &request.workspace, caller)?;
                proposed = load_proposed(tree, paths, &newest.snapshot, caller)?;
                &proposed
            }
        };
        let ((first, of_first), (second, of_second)) =
            (side(&before.snapshot, &request, caller)?, side(after, &request, caller)?);
        Ok(encode::diff_prompt_response(diff(&first, &second), of_first, of_second))
    }
}

/// The prompt of a side, and what it was assembled from.
fn side<'s>(
    snapshot: &'s Prepared,
    request: &'s DiffRequest,
    caller: &Caller,
) -> Result<(Prompt<'s>, encode::Side<'s>), Error> {
    let profile = chosen(snapshot, request.profile.as_ref())?;
    let mut prompt = assembled(snapshot, profile, &request.turn, caller)?;
    if let Some(encoding) = request.encoding {
        prompt::count_tokens(&mut prompt, snapshot, profile, encoding);
    }
    Ok((prompt, encode::Side { revision: snapshot.revision.as_str(), profile: profile.name.as_str() }))
}

/// The workspace as the proposed files would make it.
///
/// Nothing of the server's files is read for it, so that a proposed `workspace.yaml` can open nothing that the published one
/// closes: of the published workspace it has the shared skills that the caller sees, and its path only if prompts show it.
fn load_proposed(tree: &MemoryTree, paths: &[String], newest: &Snapshot, caller: &Caller) -> Result<Prepared, Error> {
    let shared = shared_skills(newest, caller);
    let shared: Vec<(&str, &dyn Tree)> = shared.iter().map(|(root, tree)| (root.as_str(), tree as &dyn Tree)).collect();
    let tree = &*with_folders(tree, newest);
    let exposes = newest.settings.expose_paths && newest.manifest.expose_paths;
    let loaded = workspace::load(&Load {
        id: &newest.id,
        root: &newest.root,
        tree,
        shared_skills: &shared,
        profiles: Arc::clone(&newest.profiles),
        settings: Arc::new(Settings { expose_paths: exposes, ..(*newest.settings).clone() }),
        previous: None,
    });
    // Of layers only those that the published workspace has: what else it may extend is not for a caller to try.
    let known = |id: &Id| newest.layers.iter().find(|layer| layer.id() == id).map(Arc::clone);
    let composed = loaded.and_then(|own| {
        if own.manifest.extends.is_empty() { Ok(own) } else { workspace::compose(&Arc::new(own), None, &known) }
    });
    let snapshot = composed.map_err(|faults| {
        let manifest = paths.iter().position(|path| path == MANIFEST);
        let field = manifest.map_or("proposed.files".to_owned(), |at| format!("proposed.files[{at}].content"));
        let violation = |fault: promptd_core::finding::Finding| match &fault.place {
            Place::File { line, column, .. } if *line > 0 => {
                Violation { field: field.clone(), message: format!("line {line}, column {column}: {}", fault.message) }
            }
            _ => Violation { field: field.clone(), message: fault.message },
        };
        Error::Invalid(faults.into_iter().map(violation).collect())
    })?;
    named_profile(&snapshot.profiles, &snapshot.manifest.profile)?;
    Ok(Prepared::from(snapshot))
}

/// The proposed files in the folders that the workspace has: a turn may work in one without a proposed file.
fn with_folders<'t>(tree: &'t MemoryTree, newest: &Snapshot) -> Cow<'t, MemoryTree> {
    let is_file = |path: &str| tree.read(path, 0).is_ok();
    let is_free = |folder: &&str| {
        let mut above = folder.match_indices('/').map(|(end, _)| &folder[..end]);
        tree.read(folder, 0) == Err(ReadError::Missing) && !above.any(is_file)
    };
    let free = newest.nested.folders().filter(is_free);
    free.fold(Cow::Borrowed(tree), |tree, folder| Cow::Owned(tree.into_owned().folder(folder)))
}

/// The shared skills that prompts show to the caller, by the folder that they were found in.
fn shared_skills(newest: &Snapshot, caller: &Caller) -> BTreeMap<String, MemoryTree> {
    let access = caller.skill_access(None);
    let mut trees: BTreeMap<String, MemoryTree> = BTreeMap::new();
    for skill in newest.skills.iter().filter(|skill| access.shows(skill)) {
        let folder = skill.folder.strip_prefix(SHARED_FOLDER).and_then(|rest| rest.strip_prefix('/'));
        let Some(file) = folder.map(|folder| format!("{folder}/{SKILL_FILE}")) else { continue };
        let root = skill.location.strip_suffix(&file).and_then(|root| root.strip_suffix('/')).unwrap_or_default();
        let tree = trees.remove(root).unwrap_or_default();
        trees.insert(root.to_owned(), tree.file(&file, skill.file.bytes()));
    }
    trees
}
