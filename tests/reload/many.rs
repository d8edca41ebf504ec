//! Workspaces of 30 KB each, for measuring scale.

use std::{fs, path::Path};

/// Three files of 3,900 characters and three skills; gives the bytes written. The text differs with `i`.
pub fn make(folder: &Path, i: usize) -> u64 {
    let mut files = vec![("workspace.yaml".to_owned(), format!("agent:\n  name: Agent {i}\n"))];
    for name in ["AGENTS.md", "SOUL.md", "IDENTITY.md"] {
        let line = format!("{name} {i}\n");
        files.push((name.to_owned(), line.repeat(3_900 / line.len())));
    }
    for skill in ["one", "two", "three"] {
        let head = format!("---\nname: {skill}\ndescription: What {skill} does.\n---\n\n");
        files.push((format!("skills/{skill}/SKILL.md"), head + &format!("Step {i} of {skill}.\n").repeat(300)));
    }
    let mut bytes = 0;
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        bytes += text.len() as u64;
        fs::write(path, text).unwrap();
    }
    bytes
}
