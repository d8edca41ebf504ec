//! A skill as found in a workspace or in a shared folder.

mod bundle;
mod draft;
mod file;
mod find;
mod front_matter;
mod keys;
mod load;
mod repair;
mod select;
#[cfg(test)]
mod tests;

pub use bundle::{MAX_BUNDLE_DEPTH, MAX_BUNDLE_ENTRIES};
pub use file::SkillFile;
pub use find::{MAX_FOLDERS_SEARCHED, MAX_SKILL_DEPTH, MAX_SKILLS_FOUND};
pub use keys::schema;
pub(super) use load::address;
pub(super) use load::load;
pub use load::{MAX_SKILL_BYTES, percent_encode};
pub(super) use select::{report_dead_allowlist, visibility};

use std::sync::Arc;

use super::{clean::clean, layers};
use crate::finding::{Code, Finding};

/// The file that makes a folder a skill.
pub const SKILL_FILE: &str = "SKILL.md";

/// The folder, at the workspace's root, that skills are found below.
pub const SKILLS_FOLDER: &str = "skills";
/// What findings and reports call the shared folders.
pub const SHARED_FOLDER: &str = "@shared";

/// Whether a path lies in a folder of skills: the workspace's own, a layer's or a shared one.
#[must_use]
pub fn is_in_skills(path: &str) -> bool {
    let path = layers::in_layer(path).map_or(path, |(_, path)| path);
    let below = |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    below(SKILLS_FOLDER) || below(SHARED_FOLDER)
}

/// A skill: a folder with a SKILL.md.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Its one identity: the trimmed `name` of its front matter, else the folder's name.
    pub name: Arc<str>,
    /// On one line, whole; the skills block may shorten it.
    pub description: Arc<str>,
    /// Where a reader finds SKILL.md, as the prompt shows it: an absolute path, or a `skill://` address.
    pub location: Arc<str>,
    /// The folder, relative to the workspace; `@shared/…` for a shared skill, `@layers/…` for a layer's.
    pub folder: Arc<str>,
    /// The folder's own name: the blocklist matches it too, so that renaming inside the file cannot dodge it.
    pub folder_name: Arc<str>,
    /// SKILL.md.
    pub file: SkillFile,
    /// SHA-256 of SKILL.md, in hex.
    pub sha256: Arc<str>,
    /// The bundled files, relative to the folder, sorted by bytes; without SKILL.md.
    pub files: Arc<[BundledFile]>,
    /// Whether prompts show it.
    pub visibility: Visibility,
    /// What must be reported with a prompt that shows the skill.
    pub findings: Vec<Finding>,
}

/// A file bundled with a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundledFile {
    /// Relative to the skill's folder.
    pub path: Arc<str>,
    /// SHA-256 of its bytes up to the read limit, in hex.
    pub sha256: Arc<str>,
    /// Its size in bytes.
    pub size: u64,
    /// Whether all of it was read, and hashed.
    pub whole: bool,
}

/// Whether prompts show a skill, by the workspace's own settings; a turn's filter can only narrow it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Visibility {
    /// Shown.
    Shown,
    /// Hidden, and why: one sentence for an operator.
    Hidden(String),
}

impl Skill {
    /// Whether prompts show it.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.visibility == Visibility::Shown
    }

    /// Whether all of SKILL.md was read.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.findings.iter().all(|finding| finding.code != Code::FileTooLarge)
    }

    /// The YAML between the marks of SKILL.md, as written but for what cleaning changes.
    #[must_use]
    pub fn front_matter(&self) -> String {
        let text = clean(self.file.bytes(), !self.is_whole(), SKILL_FILE).text;
        front_matter::split(&text).map(|(yaml, _)| yaml.to_owned()).unwrap_or_default()
    }
}
