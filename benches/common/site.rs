//! Workspaces to measure with: small, typical, large.

#![allow(dead_code, reason = "each bench uses a part")]

use std::{fmt::Write as _, fs, path::Path};

/// Three files of 3,900 characters and 20 skills.
pub fn typical(folder: &Path) {
    workspace(folder, 3_900, 20);
}

/// One line a file and one skill.
pub fn small(folder: &Path) {
    workspace(folder, 60, 1);
}

/// Files over their limits, and 150 skills.
pub fn large(folder: &Path) {
    workspace(folder, 1 << 20, 150);
}

fn workspace(folder: &Path, chars: usize, skills: usize) {
    fs::create_dir_all(folder).unwrap();
    for name in ["AGENTS.md", "SOUL.md", "IDENTITY.md"] {
        fs::write(folder.join(name), prose(name, chars)).unwrap();
    }
    let settings = "agent:\n  name: Harbor\n  persona: Warm, brief, exact.\n  time_zone: Europe/Berlin\n";
    fs::write(folder.join("workspace.yaml"), settings).unwrap();
    for n in 0..skills {
        let skill = folder.join(format!("skills/skill-{n:03}"));
        fs::create_dir_all(&skill).unwrap();
        let text = format!(
            "---\nname: skill-{n:03}\ndescription: Looks up tides, berths and pilots for case {n}, and explains the tables.\n---\n\nRead the table.\n"
        );
        fs::write(skill.join("SKILL.md"), text).unwrap();
    }
}

/// Lines of text, so many characters in all.
fn prose(name: &str, chars: usize) -> String {
    let mut text = format!("# {name}\n");
    let mut n = 0;
    while text.len() < chars {
        n += 1;
        let _ = writeln!(text, "- Rule {n}: say what you know, name the berth, and never guess a tide.");
    }
    text.truncate(chars);
    text
}
