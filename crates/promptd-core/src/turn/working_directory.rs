//! Where in the workspace a turn works.

use std::fmt;

use crate::text::hidden::is_path_char;

/// The most bytes of a path.
pub const MAX_WORKING_DIRECTORY_BYTES: usize = 4_096;

/// A folder of the workspace, by its path: names joined by `/`, none of them `.` or `..`. The root is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkingDirectory(String);

/// Why a path is not a folder of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotInside {
    /// It begins with `/`.
    Absolute,
    /// It has a name `..`.
    LeadsOut,
    /// It has a character that a path of a workspace cannot have.
    Character(char),
    /// It has more than 4,096 bytes.
    TooLong,
}

impl WorkingDirectory {
    /// Reads a path relative to the workspace, such as `services/api`. Names `.` and empty ones, as in `./services//api/`, say
    /// nothing: they are dropped, so that `.` and the empty path are the root.
    pub fn parse(path: &str) -> Result<Self, NotInside> {
        if path.len() > MAX_WORKING_DIRECTORY_BYTES {
            return Err(NotInside::TooLong);
        }
        if path.starts_with('/') {
            return Err(NotInside::Absolute);
        }
        if let Some(bad) = path.chars().find(|c| *c != '/' && !is_path_char(*c)) {
            return Err(NotInside::Character(bad));
        }
        let names: Vec<&str> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
        if names.contains(&"..") { Err(NotInside::LeadsOut) } else { Ok(Self(names.join("/"))) }
    }

    /// The path; empty: the root.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is the workspace's own folder.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The folders below the root on the way to it, the outermost first, itself last; of the root none.
    pub fn way(&self) -> impl Iterator<Item = &str> {
        let ends = self.0.match_indices('/').map(|(at, _)| at).chain((!self.is_root()).then_some(self.0.len()));
        ends.map(|end| &self.0[..end])
    }
}

impl fmt::Display for NotInside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absolute => f.write_str("is absolute; give it relative to the workspace, such as `services/api`"),
            Self::LeadsOut => {
                f.write_str("has `..`, which can lead out of the workspace; give the path of a folder inside, such as `services/api`")
            }
            Self::Character(bad) => {
                write!(f, "has the character {bad:?}, which a path of a workspace cannot have; names are joined by `/`")
            }
            Self::TooLong => write!(f, "has more than {MAX_WORKING_DIRECTORY_BYTES} bytes"),
        }
    }
}

impl std::error::Error for NotInside {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_path_is_normal_and_below_the_workspace() {
        for (path, normal) in [
            ("", ""),
            (".", ""),
            ("././", ""),
            ("services/api", "services/api"),
            ("./services//api/", "services/api"),
            (".github/..data", ".github/..data"),
            ("日本/a b", "日本/a b"),
        ] {
            assert_eq!(WorkingDirectory::parse(path).unwrap().as_str(), normal, "{path}");
        }
        for (path, why) in [
            ("/", NotInside::Absolute),
            ("/srv/harbour", NotInside::Absolute),
            ("..", NotInside::LeadsOut),
            ("a/../../b", NotInside::LeadsOut),
            ("a/..", NotInside::LeadsOut),
            ("a\\b", NotInside::Character('\\')),
            ("C:/a", NotInside::Character(':')),
            ("a\nb", NotInside::Character('\n')),
            ("a\u{202e}b", NotInside::Character('\u{202e}')),
        ] {
            assert_eq!(WorkingDirectory::parse(path), Err(why), "{path:?}");
        }
        assert_eq!(WorkingDirectory::parse(&"a".repeat(MAX_WORKING_DIRECTORY_BYTES + 1)), Err(NotInside::TooLong));
    }

    #[test]
    fn the_way_begins_below_the_root() {
        let way = |path: &str| WorkingDirectory::parse(path).unwrap().way().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(way("a/b/c"), ["a", "a/b", "a/b/c"]);
        assert_eq!(way("a"), ["a"]);
        assert!(way(".").is_empty());
    }

    proptest! {
        #[test]
        fn no_path_leads_out(path in r"([./\\a]|\.\.){0,12}") {
            if let Ok(folder) = WorkingDirectory::parse(&path) {
                prop_assert!(folder.as_str().split('/').all(|name| name != ".." && name != "."), "{:?}", folder);
                prop_assert!(!folder.as_str().starts_with('/') && !folder.as_str().contains("//"));
                prop_assert_eq!(WorkingDirectory::parse(folder.as_str()), Ok(folder.clone()));
                prop_assert!(folder.way().all(|above| folder.as_str().starts_with(above)));
            }
        }
    }
}
