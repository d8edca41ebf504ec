use std::{sync::Arc, time::Instant};

use super::*;
use crate::{
    id::Id,
    profile::ProfileSet,
    prompt::{Prepared, assemble, count_tokens},
    render::RenderFormat,
    settings::Settings,
    tokens::Encoding,
    turn::{ConversationMessage, Role, Turn},
    workspace::{Load, MemoryTree, load},
};

fn workspace(files: &[(&str, &str)]) -> Prepared {
    let snapshot = load(&Load {
        id: &Id::parse("harbor").unwrap(),
        root: "/srv/agents/harbor",
        tree: &files.iter().copied().collect::<MemoryTree>(),
        shared_skills: &[],
        profiles: Arc::new(ProfileSet::built_in()),
        settings: Arc::new(Settings::default()),
        previous: None,
    });
    Prepared::from(snapshot.unwrap())
}

fn turn() -> Turn {
    Turn::at("2026-02-28T17:30:00Z".parse().unwrap())
}

fn between(before: &[(&str, &str)], after: &[(&str, &str)], turn: &Turn) -> PromptDiff {
    profiles_between((before, "five-layer"), (after, "five-layer"), turn)
}

type Side<'a> = (&'a [(&'a str, &'a str)], &'a str);

fn profiles_between(before: Side<'_>, after: Side<'_>, turn: &Turn) -> PromptDiff {
    let (first, second) = (workspace(before.0), workspace(after.0));
    let (one, other) = (first.profiles.get(before.1).unwrap(), second.profiles.get(after.1).unwrap());
    let mut prompts = (assemble(&first, one, turn).unwrap(), assemble(&second, other, turn).unwrap());
    count_tokens(&mut prompts.0, &first, one, Encoding::O200kBase);
    count_tokens(&mut prompts.1, &second, other, Encoding::O200kBase);
    diff(&prompts.0, &prompts.1)
}

fn changes(diff: &PromptDiff) -> Vec<(&str, Change)> {
    diff.sections.iter().map(|section| (section.id.as_str(), section.change())).collect()
}

const SKILL: &str = "---\nname: tides\ndescription: Tells the tides.\n---\nLook it up.\n";

#[test]
fn the_same_workspace_has_no_difference() {
    let files = [("AGENTS.md", "Rules."), ("skills/tides/SKILL.md", SKILL)];
    let found = between(&files, &files, &turn());
    assert!(found.is_same() && !found.is_coarse(), "{found:?}");
    assert!(found.cache.iter().all(|cache| !cache.prefix.is_lost()));
}

#[test]
fn sections_are_added_removed_and_changed() {
    let before = [("AGENTS.md", "Answer in one sentence."), ("SOUL.md", "Calm.")];
    let after = [("AGENTS.md", "Answer in two sentences."), ("skills/tides/SKILL.md", SKILL), ("IDENTITY.md", "Ada.")];
    let found = between(&before, &after, &turn());
    assert_eq!(
        changes(&found),
        [
            ("skills", Change::Added),
            ("workspace_context/AGENTS.md", Change::Changed),
            ("workspace_context/SOUL.md", Change::Removed),
            ("workspace_context/IDENTITY.md", Change::Added),
        ]
    );
    let changed = found.sections.iter().find(|section| section.change() == Change::Changed).unwrap();
    assert_eq!(changed.path.as_deref(), Some("AGENTS.md"));
    let sizes = |state: &Option<SectionState>| state.as_ref().map(|state| (state.size.chars, state.size.tokens));
    assert_eq!((sizes(&changed.before), sizes(&changed.after)).0.unwrap().0, 23);
    assert!(changed.before.as_ref().unwrap().size.tokens.is_some());
    assert!(found.layout.is_empty(), "what both have did not move: {:?}", found.layout);
    assert!(!found.is_same());
}

#[test]
fn the_cache_is_lost_from_the_section_that_differs() {
    let found = between(&[("AGENTS.md", "Aye.")], &[("AGENTS.md", "Aye, aye.")], &turn());
    for cache in &found.cache {
        assert_eq!(cache.section, "workspace_context/AGENTS.md", "{cache:?}");
        assert!(cache.prefix.is_lost() && cache.prefix.kept <= cache.prefix.common);
    }
    let kept = |format| found.cache.iter().find(|cache| cache.prefix.format == format).unwrap().prefix.kept;
    assert!(kept(RenderFormat::AnthropicMessages) < kept(RenderFormat::OpenaiChat), "whole blocks alone are kept");
}

#[test]
fn findings_appear_and_vanish_and_do_not_for_another_line() {
    let hidden = |lines: usize| format!("{}A \u{202e}txet\u{202c}.", "Rule.\n".repeat(lines));
    let (one, two) = (hidden(1), hidden(2));
    let found = between(&[("AGENTS.md", &one)], &[("AGENTS.md", &two)], &turn());
    assert_eq!((&found.appeared[..], &found.vanished[..]), (&[][..], &[][..]));
    let found = between(&[("AGENTS.md", &one)], &[("AGENTS.md", "Rule.")], &turn());
    assert!(found.appeared.is_empty() && !found.vanished.is_empty());
    let found = between(&[("AGENTS.md", "Rule.")], &[("AGENTS.md", &one)], &turn());
    assert!(!found.appeared.is_empty() && found.vanished.is_empty());
}

#[test]
fn an_outcome_is_a_difference_without_text() {
    let limited = "context:\n  max_chars_total: 30\n";
    let files = [("AGENTS.md", "Rules of the house, which are long."), ("SOUL.md", "Calm and exact, always.")];
    let before = [files[0], files[1]];
    let after = [files[0], files[1], ("workspace.yaml", limited)];
    let found = between(&before, &after, &turn());
    assert!(
        found.sections.iter().any(|section| section.after.as_ref().is_some_and(|state| state.outcome.is_loss())),
        "{found:?}"
    );
    assert!(
        found.appeared.iter().any(|finding| finding.code.as_str().starts_with("CONTEXT_FILE_")),
        "{:?}",
        found.appeared
    );
}

#[test]
fn another_profile_moves_what_both_have() {
    let files = [("AGENTS.md", "Rules."), ("SOUL.md", "Calm.")];
    let mut turn = turn();
    turn.conversation.messages = vec![
        ConversationMessage::new(Role::User, "When is high tide?"),
        ConversationMessage::new(Role::Assistant, "At five."),
    ];
    let found = profiles_between((&files, "five-layer"), (&files, "kern"), &turn);
    assert!(!found.is_same() && !found.sections.is_empty());
    let carried = found.sections.iter().find(|section| section.id == "conversation/0");
    assert!(carried.is_none() || carried.unwrap().change() != Change::Reported);
}

#[test]
fn hostile_texts_take_bounded_time() {
    let numbered = |word: &str, end: &str| -> String {
        (0..90_000).flat_map(|i| [word.to_owned(), i.to_string(), end.to_owned()]).collect()
    };
    let (lines, words) = (|word: &str| numbered(word, "\n"), |word: &str| numbered(word, " "));
    let limits = "context:\n  max_chars_per_file: 1000000\n  max_chars_total: 5000000\n";
    let (a, b, c, d) = (lines("a"), lines("b"), words("c"), words("d"));
    let before = [("workspace.yaml", limits), ("AGENTS.md", &a), ("SOUL.md", &c)];
    let after = [("workspace.yaml", limits), ("AGENTS.md", &b), ("SOUL.md", &d)];
    let (first, second) = (workspace(&before), workspace(&after));
    let profile = first.profiles.get("five-layer").unwrap();
    let turn = turn();
    let prompts = (assemble(&first, profile, &turn).unwrap(), assemble(&second, profile, &turn).unwrap());
    let started = Instant::now();
    let found = diff(&prompts.0, &prompts.1);
    assert!(found.is_coarse() && !found.is_same());
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}
