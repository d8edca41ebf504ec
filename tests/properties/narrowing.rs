//! A turn can only take away: no filter widens, no field gets round a lock or a wall.

use std::collections::BTreeSet;

use promptd_contract::proto;
use promptd_core::{
    globs::{NameGlobs, SkillFilter},
    prompt::{self, Prompt, TurnError},
    settings::Settings,
    turn::Role,
    workspace::{Lock, Snapshot},
};
use proptest::prelude::*;

use crate::arbitrary::{checked, files, raw_turn, settings, snapshot};

/// The skills in the prompt, by name, read from the block as a model reads it.
fn listed(prompt: &Prompt<'_>) -> BTreeSet<String> {
    let skills = prompt.sections.iter().find(|section| section.id == "skills");
    let Some(text) = skills.and_then(|section| prompt.section_text(section)) else { return BTreeSet::new() };
    let block = &text[text.find("\n<available_skills>\n").unwrap() + 1..];
    let block = &block[..block.find("</available_skills>").unwrap() + "</available_skills>".len()];
    let document = roxmltree::Document::parse(block).unwrap();
    let names = document.descendants().filter(|node| node.has_tag_name("name"));
    names.map(|node| node.text().unwrap_or_default().to_owned()).collect()
}

/// The context files in the prompt.
fn shown_files(prompt: &Prompt<'_>) -> BTreeSet<String> {
    let files = prompt.sections.iter().filter(|s| s.id.starts_with("workspace_context/") && s.position.is_some());
    files.map(|section| section.id.to_string()).collect()
}

fn five_layer(snapshot: &Snapshot) -> &promptd_core::profile::Profile {
    snapshot.profiles.get("five-layer").unwrap()
}

proptest! {
    #[test]
    fn a_turn_shows_no_more_than_the_workspace(files in files(), raw in raw_turn(), settings in settings(), wall in "[a-c*]{1,2}") {
        let Some(snapshot) = snapshot(&files, &settings) else { return Ok(()) };
        let plain = checked(proto::Turn::default()).unwrap();
        let whole = prompt::assemble(&snapshot, five_layer(&snapshot), &plain).unwrap();
        let allowed: BTreeSet<String> =
            snapshot.skills.iter().filter(|skill| skill.is_shown()).map(|skill| skill.name.to_string()).collect();
        prop_assert!(listed(&whole).is_subset(&allowed));
        let Some(mut turn) = checked(raw) else { return Ok(()) };
        turn.skill_access = Some(SkillFilter { allow: Some(NameGlobs::compile([&wall]).unwrap()), block: NameGlobs::default() });
        let Ok(prompt) = prompt::assemble(&snapshot, five_layer(&snapshot), &turn) else { return Ok(()) };
        let walls = turn.skill_access.as_ref().unwrap();
        for name in listed(&prompt) {
            prop_assert!(allowed.contains(&name) && walls.admits(&name, &name), "{}", name);
            if let Some(filter) = &turn.skill_filter {
                prop_assert!(filter.admits(&name, &name));
            }
        }
        // A share can be larger where fewer files ask, so a file may fit that was dropped; it never comes from nowhere.
        let nested: Vec<&str> = snapshot.nested.paths_for(&turn.working_directory).collect();
        let there = snapshot.documents.keys().map(|path| &**path).chain(nested.iter().copied());
        let there: BTreeSet<String> = there.map(|path| format!("workspace_context/{path}")).collect();
        prop_assert!(shown_files(&prompt).is_subset(&there));
        for path in nested {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let is_on_the_way = turn.working_directory.as_str().starts_with(folder);
            prop_assert!(is_on_the_way && !path.starts_with("skills/"), "{}", path);
        }
        if snapshot.manifest.agent.skip_context_files || turn.skip_context_files {
            prop_assert!(shown_files(&prompt).is_empty());
        }
        for file in shown_files(&prompt) {
            let path = file.strip_prefix("workspace_context/").unwrap();
            prop_assert!(turn.context_files.is_empty() || turn.context_files.iter().any(|kept| kept == path));
        }
    }

    #[test]
    fn what_is_hidden_is_named_nowhere(raw in raw_turn()) {
        let files = [
            ("workspace.yaml", "skills: {blocklist: [\"quixotry-*\"]}"),
            ("skills/quixotry-one/SKILL.md", "---\nname: quixotry-one\ndescription: quixotry-secret\n---\n"),
            ("skills/quixotry-two/SKILL.md", "broken quixotry-secret"),
            ("skills/quixotry-three/SKILL.md", "---\nname: innocent\ndescription: quixotry-secret\n---\n"),
            ("skills/fine/SKILL.md", "---\nname: QUIXOTRY-loud\ndescription: quixotry-secret\n---\n"),
        ];
        let files = files.into_iter().map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec())).collect();
        let snapshot = snapshot(&files, &Settings::default()).unwrap();
        let Some(turn) = checked(raw) else { return Ok(()) };
        if let Ok(prompt) = prompt::assemble(&snapshot, five_layer(&snapshot), &turn) {
            let all = format!("{:?} {:?} {:?}", prompt.messages, prompt.sections, prompt.findings).to_lowercase();
            prop_assert!(!all.contains("quixotry-"), "{}", all);
        }
    }

    #[test]
    fn no_field_gets_round_a_lock(files in files(), raw in raw_turn()) {
        let Some(snapshot) = snapshot(&files, &Settings::default()) else { return Ok(()) };
        let Some(turn) = checked(raw) else { return Ok(()) };
        let locks = |lock| snapshot.manifest.locked.contains(&lock);
        let sets = (locks(Lock::Persona) && turn.persona.is_some())
            || (locks(Lock::Ephemeral) && turn.ephemeral_system_prompt.is_some())
            || (locks(Lock::Agent) && turn.agent.is_some())
            || (locks(Lock::TimeZone) && turn.time_zone.is_some())
            || (locks(Lock::WorkingDirectory) && !turn.working_directory.is_root())
            || (locks(Lock::ConversationSystem) && turn.conversation.messages.iter().any(|m| m.role == Role::System));
        match prompt::assemble(&snapshot, five_layer(&snapshot), &turn) {
            Err(TurnError::Locked { .. }) => prop_assert!(sets),
            Err(TurnError::Invalid { .. } | TurnError::BudgetTooSmall(_)) => {}
            Ok(prompt) => {
                prop_assert!(!sets);
                let plain = checked(proto::Turn::default()).unwrap();
                let whole = prompt::assemble(&snapshot, five_layer(&snapshot), &plain).unwrap();
                let text = |prompt: &Prompt<'_>, id: &str| {
                    let section = prompt.sections.iter().find(|section| section.id == id)?;
                    prompt.section_text(section).map(str::to_owned)
                };
                for (lock, id) in [(Lock::Persona, "persona"), (Lock::Ephemeral, "ephemeral")] {
                    if locks(lock) {
                        prop_assert_eq!(text(&prompt, id), text(&whole, id));
                    }
                }
            }
        }
    }
}
