//! The folder, backups and the room of files.

use super::*;

#[test]
fn the_files_are_the_owners_alone_and_one_process_has_them() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("a/store");
    let store = open(&dir);
    append(&store, "s", 0..1, "text");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    let all = files(&dir);
    assert!(all.len() >= 3, "{all:?}");
    assert!(all.iter().all(|path| mode(path) == 0o600), "{all:?}");
    let second = try_open(&dir).err().unwrap();
    assert_eq!(
        second,
        StoreError::Unusable(format!("another process uses the folder {}: stop it first", dir.display()))
    );
    drop(store);
    fs::set_permissions(dir.join("conversations.db"), fs::Permissions::from_mode(0o644)).unwrap();
    drop(open(&dir));
    assert_eq!(mode(&dir.join("conversations.db")), 0o600);
}

#[test]
fn a_backup_is_the_store_of_its_moment() {
    let home = TempDir::new().unwrap();
    let (dir, copy) = (home.path().join("store"), home.path().join("copy.db"));
    let store = open(&dir);
    append(&store, "s", 0..100, "text");
    backup(&dir, &copy).unwrap();
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(matches!(backup(&dir, &copy), Err(StoreError::Unusable(why)) if why.contains("is there already")));
    append(&store, "s", 100..200, "text");
    let held = restore(&dir, &copy, true).unwrap_err();
    assert!(matches!(held, StoreError::Unusable(why) if why.contains("another process")));
    drop(store);
    assert!(
        matches!(restore(&dir, &copy, false), Err(StoreError::Unusable(why)) if why.contains("1 sessions already"))
    );
    let restored = restore(&dir, &copy, true).unwrap();
    assert_eq!((restored.sessions, restored.messages, restored.faults.len()), (1, 100, 0));
    let store = open(&dir);
    assert_eq!(all(&store, &key("s")).len(), 100);
    append(&store, "s", 100..101, "text");
    drop(store);
    // Into a folder that is not there, as after the loss of a disk.
    let other = home.path().join("other");
    assert_eq!(restore(&other, &copy, false).unwrap().messages, 100);
    assert_eq!(all(&open(&other), &key("s")).len(), 100);
    fs::write(&copy, &fs::read(&copy).unwrap()[..8192]).unwrap();
    assert!(matches!(restore(&other, &copy, true), Err(StoreError::Damaged(_))));
    assert_eq!(all(&open(&other), &key("s")).len(), 100, "a damaged backup replaces nothing");
}

#[test]
fn vacuum_gives_room_back() {
    let home = TempDir::new().unwrap();
    let store = open(home.path());
    append(&store, "s", 0..1_000, &"long text ".repeat(50));
    append(&store, "t", 0..1, "text");
    store.delete(&key("s")).wait().unwrap();
    drop(store);
    let [before, after] = vacuum(home.path()).unwrap();
    assert!(after < before / 5, "{before} {after}");
    assert_eq!(all(&open(home.path()), &key("t")).len(), 1);
    let nothing = vacuum(&home.path().join("none")).unwrap_err();
    assert!(matches!(nothing, StoreError::Unusable(why) if why.starts_with("there is no store in")));
}
