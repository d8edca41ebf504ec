//! Assembly and rendering: the same bytes, every byte accounted for, no limit passed, no panic.

use std::sync::LazyLock;

use promptd_core::{
    profile::{ProfileSet, ReplyContract},
    prompt::{self, Outcome, Prompt},
    render::{self, RenderFormat},
    settings::Settings,
    workspace::{Entry, FileBytes, MemoryTree, ReadError, Tree},
};
use proptest::prelude::*;

use crate::{
    arbitrary::{checked, files, raw_turn, settings, snapshot, snapshot_of, text},
    support::check_invariants,
};

/// Lists in another order than the names'.
struct Shuffled(MemoryTree);

impl Tree for Shuffled {
    fn read(&self, path: &str, limit: usize) -> Result<FileBytes, ReadError> {
        self.0.read(path, limit)
    }

    fn list(&self, path: &str) -> Result<Vec<Entry>, ReadError> {
        let mut entries = self.0.list(path)?;
        entries.reverse();
        Ok(entries)
    }
}

/// Those of the built-in profiles, and those that a word means.
static CONTRACTS: LazyLock<Vec<ReplyContract>> = LazyLock::new(|| {
    let built_in = ProfileSet::built_in();
    let declared = built_in.iter().map(|profile| (*profile.reply).clone());
    declared.chain(ReplyContract::WORDS.into_iter().filter_map(ReplyContract::of_word)).collect()
});

/// All that a caller sees of a prompt.
fn seen(prompt: &Prompt<'_>) -> String {
    let messages: Vec<_> = prompt.messages.iter().map(|m| (m.name, &m.content, m.digest, m.stability)).collect();
    format!("{messages:?} {:?} {:?} {:?} {:?}", prompt.sections, prompt.findings, prompt.digest, prompt.cache_plan)
}

proptest! {
    #[test]
    fn same_input_same_bytes_and_every_byte_is_accounted_for(files in files(), raw in raw_turn(), settings in settings()) {
        let Some(one) = snapshot(&files, &settings) else { return Ok(()) };
        let Some(turn) = checked(raw) else { return Ok(()) };
        let other = snapshot_of(&Shuffled(files.into_iter().collect()), &settings).unwrap();
        prop_assert_eq!(&one.revision, &other.revision);
        for profile in one.profiles.iter() {
            let twin = other.profiles.get(profile.name.as_str()).unwrap();
            match (prompt::assemble(&one, profile, &turn), prompt::assemble(&other, twin, &turn)) {
                (Ok(a), Ok(b)) => {
                    check_invariants(&one, &a);
                    prop_assert_eq!(seen(&a), seen(&b));
                    prop_assert_eq!(seen(&a), seen(&prompt::assemble(&one, profile, &turn).unwrap()));
                    for format in RenderFormat::ALL {
                        prop_assert_eq!(render::render(&a, format), render::render(&b, format));
                    }
                }
                (a, b) => prop_assert_eq!(a.err(), b.err()),
            }
        }
    }

    #[test]
    fn the_service_adds_no_line_and_no_space(files in files(), raw in raw_turn(), settings in settings()) {
        let Some(snapshot) = snapshot(&files, &settings) else { return Ok(()) };
        let Some(turn) = checked(raw) else { return Ok(()) };
        let profile = snapshot.profiles.get("five-layer").unwrap();
        let Ok(prompt) = prompt::assemble(&snapshot, profile, &turn) else { return Ok(()) };
        for message in prompt.messages.iter().filter(|message| message.origin.is_none()) {
            prop_assert_eq!(message.content.trim_end(), &*message.content);
            prop_assert_eq!(message.content.trim_start(), &*message.content);
        }
        let facts = &prompt.messages[1].content;
        prop_assert_eq!(facts.lines().filter(|line| line.starts_with('#')).collect::<Vec<_>>(), ["## Runtime Facts"]);
        for line in facts.lines().skip(1) {
            prop_assert!(line.starts_with("- ") && line.contains(':'), "{}", line);
            let forging = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202e}');
            prop_assert!(!line.contains(forging));
        }
        let limit = snapshot.settings.max_value_chars + snapshot.settings.max_variable_chars + "- : ".len();
        let workspace = format!("- Workspace: {}", snapshot.shown_root());
        prop_assert!(facts.lines().filter(|line| *line != workspace).all(|line| line.chars().count() <= limit.max(64)));
    }

    #[test]
    fn nothing_of_a_turn_stays_for_the_next(files in files(), raw in raw_turn(), settings in settings()) {
        let Some(snapshot) = snapshot(&files, &settings) else { return Ok(()) };
        let profile = snapshot.profiles.get("five-layer").unwrap();
        let Some(plain) = checked(promptd_contract::proto::Turn::default()) else { return Ok(()) };
        let before = seen(&prompt::assemble(&snapshot, profile, &plain).unwrap());
        if let Some(turn) = checked(raw) {
            let _ = prompt::assemble(&snapshot, profile, &turn);
        }
        prop_assert_eq!(before, seen(&prompt::assemble(&snapshot, profile, &plain).unwrap()));
    }

    #[test]
    fn no_reply_panics_and_nothing_of_it_is_invented(reply in text(), tag in "(\\[[A-Z_]{0,4}:\\{.{0,8}\\}?\\]?|[{}\\[\\]\":A-Z]){0,9}", heartbeat: bool) {
        let text = reply + &tag;
        for contract in CONTRACTS.iter() {
            let read = promptd_core::reply::parse(&text, heartbeat, contract);
            prop_assert!(read.text.len() <= text.len() && (heartbeat || !read.heartbeat_ok));
            for action in &read.actions {
                prop_assert!(text.get(action.range.clone()).is_some());
            }
        }
    }
}

#[test]
fn a_file_of_which_nothing_is_read_stands_as_its_marker() {
    let settings = Settings { max_file_bytes: 0, ..Settings::default() };
    let files = [("AGENTS.md".to_owned(), "界".as_bytes().to_vec())].into();
    let snapshot = snapshot(&files, &settings).unwrap();
    let turn = checked(promptd_contract::proto::Turn::default()).unwrap();
    for (profile, id) in [("five-layer", "workspace_context/AGENTS.md"), ("kern", "document/AGENTS.md")] {
        let prompt = prompt::assemble(&snapshot, snapshot.profiles.get(profile).unwrap(), &turn).unwrap();
        check_invariants(&snapshot, &prompt);
        let section = prompt.sections.iter().find(|section| section.id == id).unwrap();
        assert_eq!((section.outcome, section.included.bytes), (Outcome::Truncated, 0));
        let text = prompt.section_text(section).unwrap();
        assert!(text.contains("[AGENTS.md cut: 0 characters of 3 bytes shown]"), "{text}");
    }
}
