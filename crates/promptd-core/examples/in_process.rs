//! Assembles a prompt in-process: no server, no file access, no clock.
//!
//! The example workspace is embedded in the binary and read from memory. Run it with
//! `cargo run -p promptd-core --example in_process`.

use std::{
    error::Error,
    io::{self, Write},
    sync::Arc,
};

use promptd_core::{
    id::Id,
    profile::ProfileSet,
    prompt::{Prepared, assemble, count_tokens},
    render::{RenderFormat, render},
    settings::Settings,
    tokens::Encoding,
    turn::{Conversation, ConversationMessage, Role, Turn, User},
    workspace::{Load, MemoryTree, load},
};

/// A file of the example workspace: its path below the workspace's folder, and its bytes.
macro_rules! embedded {
    ($($path:literal),* $(,)?) => {
        [$(($path, include_bytes!(concat!("../../../workspace-example/", $path)).as_slice())),*]
    };
}

fn main() -> Result<(), Box<dyn Error>> {
    let files = embedded![
        "workspace.yaml",
        "AGENTS.md",
        "SOUL.md",
        "IDENTITY.md",
        "HEARTBEAT.md",
        "docs/RUNBOOK.md",
        "skills/tide-window/SKILL.md",
        "skills/tide-window/scripts/window.py",
        "skills/storm-watch/SKILL.md",
        "skills/storm-watch/references/checklist.md",
    ];
    let tree = MemoryTree::from_iter(files);
    let snapshot = load(&Load {
        id: &Id::parse("example").map_err(|error| error.to_string())?,
        root: "/srv/agents/example",
        tree: &tree,
        shared_skills: &[],
        profiles: Arc::new(ProfileSet::built_in()),
        settings: Arc::new(Settings::default()),
        previous: None,
    });
    // An error is a list of findings: `workspace.yaml` is invalid. Faults of other files are findings of the snapshot.
    let workspace = Prepared::from(snapshot.map_err(|findings| format!("{findings:?}"))?);

    let turn = Turn {
        user: Some(User { name: "Dana".into(), ..User::default() }),
        conversation: Conversation {
            messages: vec![ConversationMessage::new(Role::User, "When can a ship of 4.6 m draught enter?")],
            ..Conversation::default()
        },
        ..Turn::at("2026-02-28T17:30:00Z".parse()?)
    };
    let profile = workspace.profiles.get(workspace.manifest.profile.as_str()).ok_or("the profile is not known")?;
    let mut prompt = assemble(&workspace, profile, &turn)?;
    count_tokens(&mut prompt, &workspace, profile, Encoding::O200kBase);

    let mut out = io::stdout().lock();
    for message in &prompt.messages {
        writeln!(out, "── {} {}\n\n{}\n", message.role.as_str(), message.name, message.content)?;
    }
    writeln!(out, "── sections of revision {}\n", workspace.revision)?;
    for section in &prompt.sections {
        let tokens = section.included.tokens.unwrap_or_default();
        writeln!(
            out,
            "{:9} {:4} tokens  {}  {}",
            format!("{:?}", section.outcome),
            tokens,
            section.id,
            section.reason
        )?;
    }
    for finding in &prompt.findings {
        writeln!(out, "{} {}: {}", finding.severity.as_str(), finding.place, finding.message)?;
    }
    let request = render(&prompt, RenderFormat::AnthropicMessages);
    writeln!(out, "\n── as a fragment of an Anthropic request: {} bytes", request.text.len())?;
    Ok(())
}
