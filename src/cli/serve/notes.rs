//! The daily notes of workspaces, for their summaries.

use std::sync::Arc;

use promptd::config::Notes as Settings;
use promptd_core::{digest::Digest, id::Id, profile::FilePattern, workspace::ReadError};
use promptd_memory_pipeline::{Later, Notebook, NotesRequest};
use promptd_source::{
    External, OlderFile, Options, read_older_files,
    store::{Loaded, Store},
};
use serde_json::Value;

use super::summaries::{assemble, of_workspace};

/// Reads the notes of a workspace before the newest one: so many, the last ones.
type Read = dyn Fn(&Loaded, &FilePattern, usize) -> Result<Vec<OlderFile>, ReadError> + Send + Sync;

/// The same, shared.
pub(super) type ReadNotes = Arc<Read>;

/// Reads them from where the workspaces are.
pub(super) fn reader(external: Option<Arc<dyn External>>, options: Options) -> ReadNotes {
    Arc::new(move |loaded, files, most| read_older_files(external.as_deref(), &loaded.snapshot, files, most, &options))
}

/// Requests for summaries by a profile of the workspaces.
pub(super) struct WorkspaceNotes {
    pub(super) workspaces: Arc<Store>,
    pub(super) settings: Settings,
    pub(super) profile: Id,
    pub(super) read: ReadNotes,
}

impl Notebook for WorkspaceNotes {
    fn request<'a>(&'a self, workspace: &'a Id) -> Later<'a, Result<Option<NotesRequest>, String>> {
        let (settings, profile, read) = (self.settings.clone(), self.profile.clone(), Arc::clone(&self.read));
        let make = move |loaded: &Loaded| request(loaded, &settings, &profile, &*read);
        Box::pin(of_workspace(&self.workspaces, workspace, make))
    }
}

fn request(loaded: &Loaded, settings: &Settings, profile: &Id, read: &Read) -> Result<Option<NotesRequest>, String> {
    let notes = read(loaded, &settings.files, settings.most);
    let notes = notes.map_err(|error| format!("`{}` cannot be read: {error}", settings.files))?;
    let notes: Vec<_> = notes.iter().map(|(path, file)| (path, String::from_utf8_lossy(&file.bytes))).collect();
    let chars: usize = notes.iter().map(|(_, text)| text.trim().chars().count()).sum();
    let (Some((first, _)), Some((last, _))) = (notes.first(), notes.last()) else { return Ok(None) };
    if chars == 0 {
        return Ok(None);
    }
    let named: Vec<String> =
        notes.iter().map(|(path, text)| format!("{path} {}", Digest::of(text.as_bytes()).to_hex())).collect();
    let values = notes.iter().map(|(_, text)| Value::from(&**text)).collect();
    let request = assemble(loaded, profile, ("notes", values), settings.target_tokens)?;
    let (first, last) = ((*first).clone(), (*last).clone());
    Ok(Some(NotesRequest { first, last, source: Digest::of(named.join("\n").as_bytes()).to_hex(), chars, request }))
}
