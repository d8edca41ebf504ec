//! Allowlists and blocklists over skill names.

use std::fmt;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Globs over skill names: without regard to case, over the whole name, `*` matching `/` too.
#[derive(Debug, Clone)]
pub struct NameGlobs {
    globs: Vec<String>,
    set: GlobSet,
}

/// The most globs that one list may have, and the most bytes that one glob may have: matching stays cheap.
pub const MAX_GLOBS: usize = 1_000;
/// See [`MAX_GLOBS`].
pub const MAX_GLOB_BYTES: usize = 1_000;

impl NameGlobs {
    /// Compiles the globs. A bad one is an error, never a no-match.
    pub fn compile<S: AsRef<str>>(globs: impl IntoIterator<Item = S>) -> Result<Self, GlobError> {
        let mut list = Vec::new();
        let mut set = GlobSetBuilder::new();
        for (index, glob) in globs.into_iter().enumerate() {
            let glob = glob.as_ref();
            let error = |message: String| GlobError { index, glob: glob.chars().take(64).collect(), message };
            if index >= MAX_GLOBS {
                return Err(error(format!("more than {MAX_GLOBS} globs")));
            }
            if glob.is_empty() {
                return Err(error("a glob cannot be empty: an empty list means nothing, `*` means all".into()));
            }
            if glob.len() > MAX_GLOB_BYTES {
                return Err(error(format!("longer than {MAX_GLOB_BYTES} bytes")));
            }
            let built = GlobBuilder::new(glob).case_insensitive(true).literal_separator(false).build();
            set.add(built.map_err(|e| error(e.kind().to_string()))?);
            list.push(glob.to_owned());
        }
        let set =
            set.build().map_err(|e| GlobError { index: 0, glob: String::new(), message: e.kind().to_string() })?;
        Ok(Self { globs: list, set })
    }

    /// Whether any of the globs matches the whole name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.set.is_match(name)
    }

    /// The globs as written.
    #[must_use]
    pub fn as_slice(&self) -> &[String] {
        &self.globs
    }
}

impl Default for NameGlobs {
    fn default() -> Self {
        Self { globs: Vec::new(), set: GlobSet::empty() }
    }
}

impl PartialEq for NameGlobs {
    fn eq(&self, other: &Self) -> bool {
        self.globs == other.globs
    }
}

/// What shows of the skills: the allowlist's, less the blocklist's.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SkillFilter {
    /// Absent: all; empty: none.
    pub allow: Option<NameGlobs>,
    /// Wins over the allowlist; also matches the folder's name.
    pub block: NameGlobs,
}

impl SkillFilter {
    /// Whether a skill passes.
    #[must_use]
    pub fn admits(&self, name: &str, folder_name: &str) -> bool {
        !self.blocks(name, folder_name) && self.allow.as_ref().is_none_or(|allow| allow.matches(name))
    }

    /// Whether the blocklist matches.
    #[must_use]
    pub fn blocks(&self, name: &str, folder_name: &str) -> bool {
        self.block.matches(name) || self.block.matches(folder_name)
    }
}

/// A glob that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobError {
    /// Its index in its list.
    pub index: usize,
    /// The glob, at most its first 64 characters.
    pub glob: String,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for GlobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "glob `{}`: {}", self.glob, self.message)
    }
}

impl std::error::Error for GlobError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(allow: Option<&[&str]>, block: &[&str]) -> SkillFilter {
        SkillFilter {
            allow: allow.map(|globs| NameGlobs::compile(globs).unwrap()),
            block: NameGlobs::compile(block).unwrap(),
        }
    }

    #[test]
    fn absent_allows_all_and_empty_allows_none() {
        assert!(filter(None, &[]).admits("git", "git"));
        assert!(!filter(Some(&[]), &[]).admits("git", "git"));
    }

    #[test]
    fn blocklist_wins_and_sees_the_folder() {
        let f = filter(Some(&["*"]), &["lark-*"]);
        assert!(!f.admits("LARK-doc", "x"));
        assert!(!f.admits("renamed", "lark-mail"));
        assert!(f.admits("a/b", "b"));
    }

    #[test]
    fn a_bad_glob_is_an_error() {
        assert_eq!(NameGlobs::compile(["ok", "a[b"]).unwrap_err().index, 1);
        assert!(NameGlobs::compile([""]).is_err());
    }
}
