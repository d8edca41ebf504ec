//! What is missing or damaged is named, and the rest is read.

use super::*;
use crate::FolderError;

/// Two requests from two revisions.
fn two() -> Site {
    let site = Site::new();
    for text in ["one", "two"] {
        site.call(&revision(&MemoryTree::new().file("AGENTS.md", text)), turn("u"));
    }
    assert_eq!(site.recorded().len(), 2);
    site
}

/// What reading every request gives: how many are repeated, and what is damaged.
fn read_all(dir: &Path) -> (usize, Vec<crate::Damage>) {
    let folder = Folder::open(dir).unwrap();
    let mut damaged = Vec::new();
    let mut same = 0;
    for file in folder.requests().unwrap() {
        let one = folder.request(&file).map_err(|damage| vec![damage]);
        match one.and_then(|one| Ok((one, folder.revision(file.revision)?))) {
            Ok((one, revision)) => {
                let prepared = Prepared::from(revision.origin.load().unwrap());
                same += usize::from(one.assemble(&prepared).unwrap().digest == one.digest);
            }
            Err(more) => damaged.extend(more),
        }
    }
    (same, damaged)
}

#[test]
fn each_file_that_is_damaged_costs_only_what_needs_it() {
    for part in ["blobs", "revisions", "requests"] {
        for damage in [|bytes: &mut Vec<u8>| bytes[0] ^= 1, |bytes: &mut Vec<u8>| bytes.truncate(1), Vec::clear] {
            let site = two();
            let file = files_of(&site.dir(), part).into_iter().next().unwrap();
            let (path, mut bytes) = file;
            damage(&mut bytes);
            fs::write(&path, &bytes).unwrap();
            let (same, damaged) = read_all(&site.dir());
            assert_eq!((same, damaged.len()), (1, 1), "{part}");
            assert_eq!((&damaged[0].path, damaged[0].is_gone), (&path, false));
            assert!(damaged[0].what.starts_with("is damaged: the SHA-256 of its"), "{}", damaged[0]);
        }
    }
}

#[test]
fn every_damaged_file_of_a_revision_is_named_once() {
    let site = Site::new();
    let tree = harbor().file("SOUL.md", "Calm.").file("skills/tides/same.csv", "0,1\n");
    site.call(&revision(&tree), turn("u"));
    site.recorded();
    let blobs = files_of(&site.dir(), "blobs");
    for path in blobs.keys() {
        fs::write(path, "x").unwrap();
    }
    let (same, damaged) = read_all(&site.dir());
    let mut paths: Vec<_> = damaged.iter().map(|damage| damage.path.clone()).collect();
    paths.sort();
    assert_eq!((same, paths), (0, blobs.into_keys().collect::<Vec<_>>()));
    assert!(damaged.iter().any(|damage| damage.what.ends_with("(it is SOUL.md)")), "{damaged:?}");
}

#[test]
fn a_file_that_is_missing_is_named() {
    for part in ["blobs", "revisions"] {
        let site = two();
        let path = files_of(&site.dir(), part).into_keys().next().unwrap();
        fs::remove_file(&path).unwrap();
        let (same, damaged) = read_all(&site.dir());
        assert_eq!((same, damaged.len()), (1, 1), "{part}");
        assert!(damaged[0].path == path && damaged[0].what.starts_with("is missing"), "{}", damaged[0]);
    }
}

#[test]
fn a_request_that_was_removed_since_it_was_listed_is_gone() {
    let site = two();
    let folder = Folder::open(&site.dir()).unwrap();
    let file = folder.requests().unwrap().remove(0);
    fs::remove_file(folder.path_of_request(&file)).unwrap();
    assert!(folder.request(&file).unwrap_err().is_gone);
}

#[test]
fn what_was_being_written_at_a_kill_is_removed_by_the_next_writer() {
    let site = two();
    let left = site.dir().join("unfinished/0123");
    fs::write(&left, "half").unwrap();
    let folder = Folder::open(&site.dir()).unwrap();
    assert_eq!((folder.unfinished().unwrap(), read_all(&site.dir()).0), (1, 2));
    site.call(&revision(&harbor()), turn("u"));
    assert_eq!(site.recorded().len(), 3);
    assert!(!left.exists());
}

#[test]
fn a_folder_of_another_format_or_with_other_files_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("x");
    assert!(matches!(Folder::open(&path), Err(FolderError::Missing(_))));
    fs::create_dir(&path).unwrap();
    fs::write(path.join("notes.txt"), "mine").unwrap();
    for opened in [Folder::open(&path), Folder::create(&path)] {
        let error = opened.err().unwrap();
        assert!(matches!(error, FolderError::NotARecord(_)), "{error}");
    }
    fs::write(path.join("FORMAT"), "promptd-record 2\n").unwrap();
    for opened in [Folder::open(&path), Folder::create(&path)] {
        let error = opened.err().unwrap().to_string();
        assert!(error.contains("has records of the format `promptd-record 2`; this promptd reads `promptd-record 1`"));
    }
    assert_eq!(fs::read_dir(&path).unwrap().count(), 2, "nothing was written");
}

#[test]
fn how_the_line_of_the_format_ends_does_not_matter_and_what_else_differs_is_shown() {
    let site = two();
    let format = site.dir().join("FORMAT");
    for text in ["promptd-record 1", "promptd-record 1\r\n", "promptd-record 1\n\n"] {
        fs::write(&format, text).unwrap();
        assert_eq!(read_all(&site.dir()).0, 2, "{text:?}");
        Folder::create(&site.dir()).unwrap();
    }
    for (text, shown) in [
        ("promptd-record 1\nand more\n", "`promptd-record 1\\nand more`"),
        ("\u{feff}promptd-record 1\n", "`\\u{feff}promptd-record 1`"),
        ("", "``"),
    ] {
        fs::write(&format, text).unwrap();
        let error = Folder::open(&site.dir()).err().unwrap().to_string();
        assert!(error.contains(&format!("the format {shown}; this")), "{error}");
    }
}
