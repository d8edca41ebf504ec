//! The ways in which people and programs save files.

use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    thread::sleep,
    time::{Duration, SystemTime},
};

use crate::site::{Files, Shape, Site, skill_text, write_files};

/// One way to save.
pub struct Save {
    pub name: &'static str,
    pub on: &'static [Shape],
    /// Whether a file is removed or emptied, which is believed only after a while.
    pub removes: bool,
    /// Saves, and leaves in the site's `files` what is on the disk then.
    pub act: fn(&mut Site),
}

const LOOSE: &[Shape] = &[Shape::Plain, Shape::Symlinked];
const ALL: &[Shape] = &[Shape::Plain, Shape::Symlinked, Shape::ConfigMap];

const fn save(name: &'static str, on: &'static [Shape], act: fn(&mut Site)) -> Save {
    Save { name, on, removes: false, act }
}

const fn removal(name: &'static str, on: &'static [Shape], act: fn(&mut Site)) -> Save {
    Save { name, on, removes: true, act }
}

/// All of them.
pub const SAVES: &[Save] = &[
    save("write in place", LOOSE, in_place),
    save("truncate, then write slowly", LOOSE, slowly),
    save("append", LOOSE, append),
    save("rename over, from a hidden file beside it", LOOSE, rename_beside),
    save("rename over, from outside", LOOSE, rename_from_outside),
    save("vim: rename away, create, unlink the backup", LOOSE, vim),
    save("unlink and create", LOOSE, unlink_and_create),
    save("hard link over", LOOSE, hard_link),
    save("git checkout: everything at once", LOOSE, checkout),
    save("rsync: hidden files, times set, renamed", LOOSE, rsync),
    save("workspace.yaml in place", LOOSE, manifest),
    save("a bundled file in place", LOOSE, bundled),
    save("mkdir -p and files at once", LOOSE, new_skill),
    save("a file becomes a link, and the link another", LOOSE, retarget_file),
    save("a skill's folder is renamed over", LOOSE, replace_skill),
    save("the workspace is deleted and made again", LOOSE, recreate),
    save("the workspace is moved away and another in", LOOSE, replace_workspace),
    save("chmod", ALL, chmod),
    save("touch", ALL, touch),
    save("an editor's own files", LOOSE, swap_file),
    save("the ..data link is swapped", &[Shape::ConfigMap], swap),
    save("the workspace's link is retargeted by rename", &[Shape::Symlinked], retarget),
    save("the workspace's link is removed and made", &[Shape::Symlinked], relink),
    removal("a file is removed", LOOSE, remove),
    removal("a file is emptied", LOOSE, empty),
    save("a skill is removed", LOOSE, remove_skill),
];

/// The file that a save is about: another one each time.
fn target(site: &Site) -> &'static str {
    ["AGENTS.md", "SOUL.md", "IDENTITY.md", "skills/alpha/SKILL.md"][site.version as usize % 4]
}

fn in_place(site: &mut Site) {
    let file = target(site);
    let text = site.next_text(file);
    write(&site.folder().join(file), &text);
}

/// As [`fs::write`], for files whose folder may be gone.
fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn slowly(site: &mut Site) {
    let file = target(site);
    let text = site.next_text(file);
    let path = site.folder().join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut open = File::create(path).unwrap();
    sleep(Duration::from_millis(20 + u64::from(site.version % 5) * 25));
    let (head, tail) = text.split_at(text.len() / 2);
    open.write_all(head.as_bytes()).unwrap();
    sleep(Duration::from_millis(25));
    open.write_all(tail.as_bytes()).unwrap();
}

fn append(site: &mut Site) {
    let old = site.files.get("SOUL.md").cloned().unwrap_or_default();
    let more = format!("\nMore, {}.\n", site.version);
    site.version += 1;
    site.files.insert("SOUL.md".into(), old + &more);
    site.expect();
    let mut open = OpenOptions::new().create(true).append(true).open(site.folder().join("SOUL.md")).unwrap();
    open.write_all(more.as_bytes()).unwrap();
}

fn rename_beside(site: &mut Site) {
    let text = site.next_text("AGENTS.md");
    let folder = site.folder();
    write(&folder.join(".AGENTS.md.tmp"), &text);
    fs::rename(folder.join(".AGENTS.md.tmp"), folder.join("AGENTS.md")).unwrap();
}

fn rename_from_outside(site: &mut Site) {
    let file = target(site);
    let text = site.next_text(file);
    let aside = site.aside.join("incoming");
    write(&aside, &text);
    fs::create_dir_all(site.folder().join(file).parent().unwrap()).unwrap();
    fs::rename(aside, site.folder().join(file)).unwrap();
}

fn vim(site: &mut Site) {
    let file = target(site);
    let text = site.next_text(file);
    let path = site.folder().join(file);
    let backup = path.with_extension("md~");
    let _ = fs::rename(&path, &backup);
    write(&path, &text);
    let _ = fs::remove_file(backup);
}

fn unlink_and_create(site: &mut Site) {
    let file = target(site);
    let text = site.next_text(file);
    let path = site.folder().join(file);
    let _ = fs::remove_file(&path);
    sleep(Duration::from_millis(10));
    write(&path, &text);
}

fn hard_link(site: &mut Site) {
    let text = site.next_text("IDENTITY.md");
    let (aside, folder) = (site.aside.join("linked"), site.folder());
    let _ = fs::remove_file(&aside);
    write(&aside, &text);
    fs::hard_link(&aside, folder.join("incoming.tmp")).unwrap();
    fs::rename(folder.join("incoming.tmp"), folder.join("IDENTITY.md")).unwrap();
}

fn checkout(site: &mut Site) {
    let (folder, old) = (site.folder(), site.files.clone());
    site.next_version();
    for file in old.keys() {
        let _ = fs::remove_file(folder.join(file));
        if let Some(text) = site.files.get(file) {
            write(&folder.join(file), text);
        }
    }
    prune(site, &old);
    write_files(&folder, &site.files);
}

fn rsync(site: &mut Site) {
    let (folder, old) = (site.folder(), site.files.clone());
    site.next_version();
    for (file, text) in &site.files {
        let path = folder.join(file);
        let hidden = path.with_file_name(format!(".{}.Xq3f", path.file_name().unwrap().to_string_lossy()));
        write(&hidden, text);
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000);
        File::options().write(true).open(&hidden).unwrap().set_modified(long_ago).unwrap();
        fs::rename(hidden, path).unwrap();
    }
    prune(site, &old);
}

/// Removes what is no longer one of the site's files, and the folders that this leaves empty.
fn prune(site: &Site, old: &Files) {
    let top = site.folder();
    for file in old.keys().filter(|file| !site.files.contains_key(*file)) {
        let path = top.join(file);
        let _ = fs::remove_file(&path);
        for folder in path.ancestors().skip(1).take_while(|folder| **folder != *top) {
            let _ = fs::remove_dir(folder);
        }
    }
}

fn manifest(site: &mut Site) {
    let text = site.next_text("workspace.yaml");
    write(&site.folder().join("workspace.yaml"), &text);
}

fn bundled(site: &mut Site) {
    // A bundled file is an input only where its skill is there.
    site.files.entry("skills/beta/SKILL.md".into()).or_insert_with(|| skill_text("beta", 0));
    let text = site.next_text("skills/beta/notes/extra.txt");
    let skill = site.files["skills/beta/SKILL.md"].clone();
    write(&site.folder().join("skills/beta/SKILL.md"), &skill);
    write(&site.folder().join("skills/beta/notes/extra.txt"), &text);
}

fn new_skill(site: &mut Site) {
    let name = format!("skills/group/new-{}", site.version % 3);
    site.version += 1;
    let v = site.version;
    let files = [
        (format!("{name}/SKILL.md"), skill_text(name.rsplit('/').next().unwrap(), v)),
        (format!("{name}/scripts/deep/run.sh"), format!("echo {v}\n")),
    ];
    site.files.extend(files.clone());
    site.expect();
    write_files(&site.folder(), &files.into());
}

fn retarget_file(site: &mut Site) {
    let text = site.next_text("SOUL.md");
    let folder = site.folder();
    let store = format!("versions/SOUL.{}.md", site.version);
    write(&folder.join(&store), &text);
    let _ = fs::remove_file(folder.join("SOUL.link"));
    symlink(&store, folder.join("SOUL.link")).unwrap();
    fs::rename(folder.join("SOUL.link"), folder.join("SOUL.md")).unwrap();
}

fn replace_skill(site: &mut Site) {
    let folder = site.folder();
    site.version += 1;
    let text = skill_text("alpha", site.version);
    site.files.retain(|path, _| !path.starts_with("skills/alpha/"));
    site.files.insert("skills/alpha/SKILL.md".into(), text.clone());
    site.expect();
    let (new, old) = (folder.join("alpha.new"), site.aside.join("alpha.old"));
    let _ = fs::remove_dir_all(&old);
    write(&new.join("SKILL.md"), &text);
    let _ = fs::rename(folder.join("skills/alpha"), &old);
    fs::create_dir_all(folder.join("skills")).unwrap();
    fs::rename(new, folder.join("skills/alpha")).unwrap();
}

fn recreate(site: &mut Site) {
    let folder = site.folder();
    site.next_version();
    fs::remove_dir_all(&folder).unwrap();
    write_files(&folder, &site.files);
}

fn replace_workspace(site: &mut Site) {
    let folder = site.folder();
    site.next_version();
    let (new, old) = (site.aside.join("new"), site.aside.join("old"));
    write_files(&new, &site.files);
    fs::rename(&folder, &old).unwrap();
    fs::rename(&new, &folder).unwrap();
    fs::remove_dir_all(old).unwrap();
}

fn chmod(site: &mut Site) {
    if let Some(file) = site.files.keys().next() {
        let path = fs::canonicalize(site.path.join(file)).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o600 + site.version % 2 * 0o44)).unwrap();
    }
}

fn touch(site: &mut Site) {
    if let Some(file) = site.files.keys().next() {
        File::options().append(true).open(site.path.join(file)).unwrap().set_modified(SystemTime::now()).unwrap();
    }
}

fn swap_file(site: &mut Site) {
    let folder = site.folder();
    for name in [".AGENTS.md.swp", "4913", "app.log"] {
        write(&folder.join(name), "not an input");
    }
    fs::remove_file(folder.join(".AGENTS.md.swp")).unwrap();
    fs::remove_file(folder.join("4913")).unwrap();
}

fn swap(site: &mut Site) {
    site.next_version();
    site.swap_config_map();
}

fn retarget(site: &mut Site) {
    let old = site.folder();
    let new = next_folder(site);
    let link = site.aside.join("link");
    symlink(&new, &link).unwrap();
    fs::rename(link, &site.path).unwrap();
    fs::remove_dir_all(old).unwrap();
}

fn relink(site: &mut Site) {
    let old = site.folder();
    let new = next_folder(site);
    fs::remove_file(&site.path).unwrap();
    symlink(&new, &site.path).unwrap();
    fs::remove_dir_all(old).unwrap();
}

fn next_folder(site: &mut Site) -> std::path::PathBuf {
    site.next_version();
    let new = site.aside.join(format!("v{}", site.version));
    write_files(&new, &site.files);
    new
}

fn remove(site: &mut Site) {
    let file = ["AGENTS.md", "IDENTITY.md", "HEARTBEAT.md"][site.version as usize % 3];
    site.version += 1;
    site.files.remove(file);
    site.expect();
    let _ = fs::remove_file(site.folder().join(file));
}

fn empty(site: &mut Site) {
    site.version += 1;
    site.files.insert("IDENTITY.md".into(), String::new());
    site.expect();
    File::create(site.folder().join("IDENTITY.md")).unwrap();
}

fn remove_skill(site: &mut Site) {
    site.version += 1;
    site.files.retain(|path, _| !path.starts_with("skills/beta/"));
    site.expect();
    let _ = fs::remove_dir_all(site.folder().join("skills/beta"));
}
