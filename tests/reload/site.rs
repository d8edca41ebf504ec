//! A workspace on the disk, and what may be served of it.

#![allow(dead_code, reason = "the soak and the tests each use a part")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use promptd_core::id::Id;
use promptd_source::store::State;
use sha2::{Digest, Sha256};

/// A workspace's input files, by path below it.
pub type Files = BTreeMap<String, String>;

/// The hash of every input, as a snapshot has them.
pub type Hashes = BTreeMap<Arc<str>, Arc<str>>;

/// How a workspace is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A folder of files.
    Plain,
    /// As Kubernetes mounts a ConfigMap: links through `..data` to a folder that is swapped.
    ConfigMap,
    /// A link to a folder elsewhere.
    Symlinked,
}

pub const SHAPES: [Shape; 3] = [Shape::Plain, Shape::ConfigMap, Shape::Symlinked];

/// A workspace on the disk.
pub struct Site {
    pub id: Id,
    pub shape: Shape,
    /// Where the service looks.
    pub path: PathBuf,
    /// For temporary and linked files, on the same file system, outside the workspace.
    pub aside: PathBuf,
    /// What is there once the last save is complete.
    pub files: Files,
    /// Counts saves, so that every version's texts differ.
    pub version: u32,
    /// What may be served.
    pub seen: Arc<Mutex<Allowed>>,
}

/// What may be served of a site.
#[derive(Default)]
pub struct Allowed {
    /// Every state that was complete at some time.
    pub whole: BTreeSet<Hashes>,
    /// Every text that was complete in its file at some time.
    pub texts: BTreeSet<(Arc<str>, Arc<str>)>,
    /// Whether every change of this site swaps all of it at once.
    pub swapped: bool,
}

impl Site {
    /// Makes a workspace in `root`.
    pub fn new(root: &Path, aside: &Path, name: &str, shape: Shape) -> Self {
        let mut site = Self {
            id: Id::parse(name).unwrap(),
            shape,
            path: root.join(name),
            aside: aside.join(name),
            files: Files::new(),
            version: 0,
            seen: Arc::default(),
        };
        fs::create_dir_all(&site.aside).unwrap();
        site.next_version();
        let files = site.files.clone();
        match shape {
            Shape::Plain => write_files(&site.path, &files),
            Shape::Symlinked => {
                let target = site.aside.join("v0");
                write_files(&target, &files);
                symlink(&target, &site.path).unwrap();
            }
            Shape::ConfigMap => site.swap_config_map(),
        }
        site
    }

    /// New texts for every file; the disk is not touched.
    pub fn next_version(&mut self) {
        self.version += 1;
        let (v, name) = (self.version, self.id.clone());
        let filler = "All of it or none of it. ".repeat(20 + (v as usize % 30));
        let mut files = Files::new();
        for file in ["AGENTS.md", "SOUL.md", "IDENTITY.md", "HEARTBEAT.md"] {
            files.insert(file.into(), format!("{file} of {name}, version {v}\n\n{filler}\nEnd of version {v}.\n"));
        }
        files.insert("workspace.yaml".into(), format!("agent:\n  name: {name} {v}\nskills:\n  blocklist: [b-{v}]\n"));
        for skill in ["alpha", "beta"] {
            files.insert(format!("skills/{skill}/SKILL.md"), skill_text(skill, v));
            files.insert(format!("skills/{skill}/notes/extra.txt"), format!("{skill} {v}\n"));
        }
        self.files = files;
        self.expect();
    }

    /// A new text for one file; the disk is not touched.
    pub fn next_text(&mut self, file: &str) -> String {
        self.version += 1;
        let v = self.version;
        let text = if file.ends_with("SKILL.md") {
            skill_text(file.split('/').nth(1).unwrap(), v)
        } else if file == "workspace.yaml" {
            format!("agent:\n  name: {} {v}\n", self.id)
        } else {
            format!("{file}, version {v}\n\n{}\nEnd of version {v}.\n", "Whole. ".repeat(v as usize % 400))
        };
        self.files.insert(file.into(), text.clone());
        self.expect();
        text
    }

    /// Notes that the state in `files` may be served from now on.
    pub fn expect(&self) {
        let hashes = hashes(&self.files);
        let mut seen = self.seen.lock().unwrap();
        seen.texts.extend(hashes.iter().map(|(path, hash)| (Arc::clone(path), Arc::clone(hash))));
        seen.whole.insert(hashes);
        seen.swapped = self.shape == Shape::ConfigMap;
    }

    /// The folder that the files are in now.
    pub fn folder(&self) -> PathBuf {
        match self.shape {
            Shape::Symlinked => fs::read_link(&self.path).unwrap(),
            _ => self.path.clone(),
        }
    }

    /// Puts `files` in place as kubelet does.
    pub fn swap_config_map(&self) {
        let old = fs::read_link(self.path.join("..data")).ok();
        let generation = format!("..2026_{:06}", self.version);
        write_files(&self.path.join(&generation), &self.files);
        symlink(&generation, self.path.join("..data_tmp")).unwrap();
        fs::rename(self.path.join("..data_tmp"), self.path.join("..data")).unwrap();
        for top in ["AGENTS.md", "SOUL.md", "IDENTITY.md", "HEARTBEAT.md", "workspace.yaml", "skills"] {
            let link = self.path.join(top);
            if fs::symlink_metadata(&link).is_err() {
                symlink(format!("..data/{top}"), link).unwrap();
            }
        }
        if let Some(old) = old {
            fs::remove_dir_all(self.path.join(old)).unwrap();
        }
    }

    /// Whether the state is exactly what is on the disk.
    pub fn is_served(&self, state: &State) -> bool {
        served(state).is_some_and(|inputs| *inputs == hashes(&self.files))
    }
}

/// The inputs that a state was loaded from.
pub fn served(state: &State) -> Option<&Hashes> {
    match state {
        State::Ready(loaded) => Some(&loaded.snapshot.inputs),
        State::Cold(_) | State::Invalid(_) | State::Gone => None,
    }
}

pub fn hashes(files: &Files) -> Hashes {
    files.iter().map(|(path, text)| (path.as_str().into(), sha256(text.as_bytes()).into())).collect()
}

pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

pub fn write_files(folder: &Path, files: &Files) {
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

pub fn skill_text(name: &str, version: u32) -> String {
    format!("---\nname: {name}\ndescription: What {name} does in version {version}.\n---\n\nDo it, {version}.\n")
}
