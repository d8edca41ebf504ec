//! A published state as files in a folder, which its newest one replaces whole.
//!
//! `DIR/current` is a link to the folder of the newest state, so that who follows files below it finds all old ones or all
//! new ones. The state before it stays too, for those who are reading it.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use promptd_core::digest::Digest;

use crate::disk;

/// The link to the newest state.
pub const CURRENT: &str = "current";

/// A folder that published states are written to. It is for one process alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// Absolute; the folders above it need not exist.
    pub dir: PathBuf,
}

impl Checkout {
    /// Whether a state was written to it before.
    #[must_use]
    pub fn is_there(&self) -> bool {
        disk::link_target(&self.dir.join(CURRENT)).is_some()
    }

    /// Makes a state the newest; false: it is that already. Blocks.
    pub fn write(&self, revision: Digest, files: &BTreeMap<String, Vec<u8>>) -> io::Result<bool> {
        let (name, link) = (revision.to_hex(), self.dir.join(CURRENT));
        let folder = self.dir.join(&name);
        let before = disk::link_target(&link);
        if before.as_deref() == Some(Path::new(&name)) && is_whole(&folder, files) {
            return Ok(false);
        }
        disk::create_folder(&self.dir)?;
        // What is left of a process that was killed while it wrote, or of a machine that lost power.
        disk::remove_folder(&folder)?;
        disk::create_folder(&folder)?;
        for (path, bytes) in files {
            let path = folder.join(path);
            if let Some(parent) = path.parent() {
                disk::create_folder(parent)?;
            }
            disk::write(&self.dir.join(".unfinished"), &path, bytes)?;
        }
        disk::replace_link(&self.dir.join(".next"), &link, Path::new(&name))?;
        let is_kept = |entry: &str| entry == name || entry == CURRENT || before.as_deref() == Some(Path::new(entry));
        for (entry, _) in disk::list(&self.dir)? {
            if !is_kept(&entry) {
                disk::remove_folder(&self.dir.join(entry))?;
            }
        }
        Ok(true)
    }
}

fn is_whole(folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> bool {
    let is_there = |(path, bytes): (&String, &Vec<u8>)| {
        disk::read(&folder.join(path), bytes.len() as u64 + 1).is_ok_and(|read| read == *bytes)
    };
    files.iter().all(is_there)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    fn files(text: &str) -> BTreeMap<String, Vec<u8>> {
        ["tokens.yaml", "profiles/a.yaml", "profiles/b.yaml"].map(|path| (path.to_owned(), text.into())).into()
    }

    #[test]
    fn the_newest_state_is_behind_one_link_and_the_one_before_it_stays() {
        let home = tempfile::tempdir().unwrap();
        let checkout = Checkout { dir: home.path().join("not/there/yet") };
        assert!(!checkout.is_there());
        for (number, text) in ["one", "two", "three"].into_iter().enumerate() {
            let revision = Digest::of(text.as_bytes());
            assert!(checkout.write(revision, &files(text)).unwrap(), "{text} is new");
            assert!(!checkout.write(revision, &files(text)).unwrap(), "{text} is there");
            let current = checkout.dir.join(CURRENT);
            for path in files(text).keys() {
                assert_eq!(fs::read_to_string(current.join(path)).unwrap(), text);
                let mode = fs::metadata(current.join(path)).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o600, "{path} is its owner's");
            }
            let entries = fs::read_dir(&checkout.dir).unwrap().count();
            assert_eq!(entries, 1 + (number + 1).min(2), "the link, this one, the one before it");
        }
        assert!(checkout.is_there());
    }

    #[test]
    fn what_a_killed_process_left_is_written_again() {
        let home = tempfile::tempdir().unwrap();
        let checkout = Checkout { dir: home.path().join("dir") };
        let revision = Digest::of(b"one");
        let left = checkout.dir.join(revision.to_hex());
        fs::create_dir_all(left.join("profiles")).unwrap();
        fs::write(left.join("profiles/a.yaml"), "half").unwrap();
        fs::write(left.join("profiles/gone.yaml"), "of before").unwrap();
        assert!(checkout.write(revision, &files("one")).unwrap());
        assert_eq!(fs::read_to_string(left.join("profiles/a.yaml")).unwrap(), "one");
        assert!(!left.join("profiles/gone.yaml").exists());
        fs::write(left.join("tokens.yaml"), "").unwrap();
        assert!(checkout.write(revision, &files("one")).unwrap(), "a file had lost its bytes");
        assert_eq!(fs::read_to_string(checkout.dir.join("current/tokens.yaml")).unwrap(), "one");
    }
}
