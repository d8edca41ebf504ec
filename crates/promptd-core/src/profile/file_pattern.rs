//! The workspace files that a profile reads.

use std::fmt;

/// A file by name, or the newest of several.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum FilePattern {
    /// A path relative to the workspace.
    Path(String),
    /// The greatest name, by bytes, that matches in one folder: with dates as names, the newest.
    Newest {
        /// The folder, relative to the workspace; empty: its root.
        folder: String,
        /// The name's pattern: `?` is one digit, every other character is itself.
        name: String,
    },
}

impl FilePattern {
    /// Reads `KNOWLEDGE.md`, or a pattern such as `notes/????-??-??.md`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bad_step = |step: &str| matches!(step, "" | "." | "..");
        if text.starts_with('/') || text.split('/').any(bad_step) || text.contains(['\\', '\0']) {
            return Err(format!("`{text}` is not a path below the workspace"));
        }
        if !text.contains('?') {
            return Ok(Self::Path(text.to_owned()));
        }
        let (folder, name) = text.rsplit_once('/').unwrap_or(("", text));
        if folder.contains('?') {
            return Err(format!("`{text}` has a `?` outside the file's name, which alone may have one"));
        }
        Ok(Self::Newest { folder: folder.to_owned(), name: name.to_owned() })
    }

    /// Whether a file's name in the pattern's folder matches.
    #[must_use]
    pub fn matches_name(&self, candidate: &str) -> bool {
        let Self::Newest { name, .. } = self else { return false };
        name.chars().count() == candidate.chars().count()
            && name.chars().zip(candidate.chars()).all(|(p, c)| if p == '?' { c.is_ascii_digit() } else { p == c })
    }

    /// Whether a path of the workspace is one that this pattern can name.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        match self {
            Self::Path(own) => own == path,
            Self::Newest { folder, .. } => {
                let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
                dir == folder && self.matches_name(name)
            }
        }
    }
}

impl fmt::Display for FilePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => f.write_str(path),
            Self::Newest { folder, name } if folder.is_empty() => f.write_str(name),
            Self::Newest { folder, name } => write!(f, "{folder}/{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stay_below_the_workspace() {
        for bad in ["/etc/passwd", "../x", "a/../b", "", "a//b", "./a", "a\\b", "n?/x"] {
            assert!(FilePattern::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_newest_of_a_folder_by_digits() {
        let notes = FilePattern::parse("notes/????-??-??.md").unwrap();
        assert!(notes.matches("notes/2026-04-02.md"));
        for not in ["notes/2026-4-2.md", "notes/abcd-ef-gh.md", "2026-04-02.md", "notes/x/2026-04-02.md"] {
            assert!(!notes.matches(not), "{not}");
        }
        assert_eq!(notes.to_string(), "notes/????-??-??.md");
    }
}
