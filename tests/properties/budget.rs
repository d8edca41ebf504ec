//! A budget over the whole prompt is kept, exactly, and no turn widens it.

use std::fmt::Write as _;

use promptd_contract::proto;
use promptd_core::{
    budget::{BudgetUnit, PromptBudget},
    finding::Code,
    prompt::{self, Prepared, Prompt, TurnError},
    settings::Settings,
    tokens::Encoding,
    turn::{Snippet, Turn},
};
use proptest::{collection::vec, option, prelude::*};

use crate::arbitrary::{Files, checked, files, raw_turn, settings, snapshot};

const PROFILES: [&str; 4] = ["five-layer", "kern", "airi", "kai-local"];
const SECTIONS: [&str; 8] = [
    "knowledge",
    "skills",
    "workspace_context",
    "persona",
    "conversation_summary",
    "conversation",
    "documents",
    "ephemeral",
];

pub fn budget() -> impl Strategy<Value = PromptBudget> {
    let unit = prop::sample::select(vec![
        BudgetUnit::Chars,
        BudgetUnit::Tokens(Encoding::O200kBase),
        BudgetUnit::Tokens(Encoding::Cl100kBase),
    ]);
    let max = prop_oneof![1_u32..200, 1_u32..3_000, Just(u32::MAX)];
    (max, unit).prop_map(|(max, unit)| PromptBudget { max, unit })
}

/// The lines of `workspace.yaml`.
fn yaml(budget: Option<PromptBudget>, sections: &[(&str, usize, Option<usize>, u32, bool)]) -> String {
    let mut yaml = String::from("budget:\n");
    if let Some(PromptBudget { max, unit }) = budget {
        let _ = match unit {
            BudgetUnit::Chars => writeln!(yaml, "  max: {max}\n  unit: chars"),
            BudgetUnit::Tokens(encoding) => writeln!(yaml, "  max: {max}\n  encoding: {}", encoding.as_str()),
        };
    }
    yaml += "  sections:\n";
    for (id, floor, more, priority, pinned) in sections {
        let ceiling = more.map(|more| format!(", ceiling: {}", floor + more)).unwrap_or_default();
        let _ = writeln!(yaml, "    {id}: {{floor: {floor}, priority: {priority}, pinned: {pinned}{ceiling}}}");
    }
    yaml
}

fn with_budget(mut files: Files, yaml: &str) -> Files {
    let file = files.entry("workspace.yaml".into()).or_default();
    file.extend(yaml.bytes());
    files
}

/// The size of a prompt, counted without the assembler.
fn size(prompt: &Prompt<'_>, unit: BudgetUnit) -> usize {
    prompt.messages.iter().map(|message| unit.size(&message.content)).sum()
}

fn is_cut(prompt: &Prompt<'_>) -> bool {
    prompt
        .findings
        .iter()
        .any(|finding| finding.code == Code::BudgetExceeded && finding.message.contains("the prompt's budget"))
}

proptest! {
    #[test]
    fn no_prompt_exceeds_its_budget_and_no_turn_widens_it(
        files in files(), raw in raw_turn(), settings in settings(), own in option::of(budget()), of_turn in option::of(budget()),
        sections in prop::sample::subsequence(SECTIONS.to_vec(), 0..4), rules in vec((0_usize..60, option::of(0_usize..80), 0_u32..3, any::<bool>()), 4),
    ) {
        let sections: Vec<_> = sections.into_iter().filter(|id| *id != "documents").zip(rules)
            .map(|(id, (floor, more, priority, pinned))| (id, floor, more, priority, pinned)).collect();
        let Some(plain) = snapshot(&files, &settings) else { return Ok(()) };
        let without_limit = snapshot(&with_budget(files.clone(), &yaml(None, &sections)), &settings).unwrap();
        let limited = snapshot(&with_budget(files, &yaml(own, &sections)), &settings).unwrap();
        let Some(turn) = checked(raw) else { return Ok(()) };
        for profile in PROFILES {
            let whole = prompt::assemble(&plain, plain.profiles.get(profile).unwrap(), &turn);
            let turn = Turn { budget: of_turn, ..turn.clone() };
            let result = prompt::assemble(&limited, limited.profiles.get(profile).unwrap(), &turn);
            let Ok(whole) = whole else {
                prop_assert!(result.is_err());
                continue;
            };
            let limits: Vec<PromptBudget> = own.into_iter().chain(of_turn).collect();
            match result {
                Ok(prompt) => {
                    for limit in &limits {
                        let used = size(&prompt, limit.unit);
                        prop_assert!(used <= limit.max as usize, "{}: {} of {:?}", profile, used, limit);
                    }
                    let fits = limits.iter().all(|limit| size(&whole, limit.unit) <= limit.max as usize);
                    let has_ceiling = sections.iter().any(|(_, _, more, ..)| more.is_some());
                    if fits && !has_ceiling {
                        prop_assert_eq!(prompt.digest, whole.digest, "{}: what fits is not changed", profile);
                    } else if !fits {
                        prop_assert!(is_cut(&prompt), "{}: a budget cuts nothing silently", profile);
                    }
                    let again = prompt::assemble(&limited, limited.profiles.get(profile).unwrap(), &turn).unwrap();
                    prop_assert_eq!(prompt.digest, again.digest);
                }
                Err(TurnError::BudgetTooSmall(error)) => {
                    prop_assert!(limits.iter().any(|limit| limit.unit == error.budget.unit));
                    let least = error.pinned + error.floors;
                    prop_assert!(least > error.budget.max as usize, "{}: {}", profile, error);
                    if let [only] = &limits[..] {
                        let fits = |max: usize| {
                            let turn = Turn { budget: Some(PromptBudget { max: u32::try_from(max).unwrap(), ..*only }), ..turn.clone() };
                            prompt::assemble(&without_limit, without_limit.profiles.get(profile).unwrap(), &turn).is_ok()
                        };
                        prop_assert!(fits(least), "{}: {} works, says {}", profile, least, error);
                        prop_assert!(!fits(least - 1), "{}: less than {} works too, against {}", profile, least, error);
                    }
                }
                Err(error) => prop_assert!(false, "{}: {}", profile, error),
            }
        }
    }
}

/// A workspace with rules of short lines, and a turn with snippets of one size each.
fn of_parts(budget: PromptBudget, lines: usize, snippets: &[usize]) -> (Prepared, Turn) {
    let mut files = Files::new();
    files.insert("AGENTS.md".into(), "Name the berth, and never guess a tide.\n".repeat(lines).into_bytes());
    files.insert("workspace.yaml".into(), yaml(Some(budget), &[]).into_bytes());
    let mut turn = checked(proto::Turn::default()).unwrap();
    let snippet = |words: &usize| Snippet { content: "tide ".repeat(*words), ..Snippet::default() };
    turn.knowledge = snippets.iter().map(snippet).collect();
    (snapshot(&files, &Settings::default()).unwrap(), turn)
}

proptest! {
    /// What a budget leaves unused is less than the largest part that is taken whole, and a twentieth of it.
    #[test]
    fn no_budget_is_wasted_beyond_its_bound(
        max in 200_u32..3_000, unit in 0_usize..3, lines in 0_usize..90, snippets in vec(1_usize..120, 0..30),
    ) {
        let unit = [BudgetUnit::Chars, BudgetUnit::Tokens(Encoding::O200kBase), BudgetUnit::Tokens(Encoding::Cl100kBase)][unit];
        let budget = PromptBudget { max, unit };
        let (snapshot, turn) = of_parts(budget, lines, &snippets);
        let Ok(prompt) = prompt::assemble(&snapshot, snapshot.profiles.get("five-layer").unwrap(), &turn) else {
            return Ok(())
        };
        let largest = snippets.iter().map(|words| unit.size(&"tide ".repeat(*words))).max().unwrap_or(0);
        // With a snippet come its tags, with the first one the heading, and with a file its heading and the marker of a cut.
        let around = if unit == BudgetUnit::Chars { 400 } else { 90 };
        let left = max as usize - size(&prompt, unit);
        prop_assert!(!is_cut(&prompt) || left <= largest + around + max as usize / 20, "{left} of {budget:?} are left");
    }
}

#[test]
fn a_budget_that_no_prompt_can_keep_is_known_before_one_is_asked_for() {
    let unit = BudgetUnit::Tokens(Encoding::O200kBase);
    for (max, is_kept) in [(5, false), (500, true)] {
        let (snapshot, _) = of_parts(PromptBudget { max, unit }, 3, &[]);
        let found = snapshot.forecast();
        assert_eq!(found.iter().all(|finding| finding.code != Code::BudgetTooSmall), is_kept, "{found:?}");
    }
}
