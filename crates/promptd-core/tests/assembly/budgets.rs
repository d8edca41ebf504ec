//! What a budget never cuts, and what it must be at least.

use promptd_core::{
    budget::{BudgetUnit, PromptBudget},
    prompt::{BudgetTooSmall, Outcome, Prepared, Prompt, TurnError, assemble},
    tokens::Encoding,
    turn::Turn,
};
use serde_json::json;

use crate::support::{built_in, turn, workspace};

const TOKENS: BudgetUnit = BudgetUnit::Tokens(Encoding::O200kBase);

fn within<'a>(workspace: &'a Prepared, profile: &str, turn: &'a Turn) -> Result<Prompt<'a>, BudgetTooSmall> {
    match assemble(workspace, workspace.profiles.get(profile).unwrap(), turn) {
        Err(TurnError::BudgetTooSmall(error)) => Err(error),
        result => Ok(result.unwrap()),
    }
}

fn of(max: usize, unit: BudgetUnit, turn: &Turn) -> Turn {
    Turn { budget: Some(PromptBudget { max: u32::try_from(max).unwrap(), unit }), ..turn.clone() }
}

/// The least budget that the error for a budget of 1 names.
fn named(workspace: &Prepared, profile: &str, unit: BudgetUnit, turn: &Turn) -> BudgetTooSmall {
    within(workspace, profile, &of(1, unit, turn)).unwrap_err()
}

#[test]
fn a_profiles_own_text_in_place_of_a_file_is_never_cut() {
    let empty = built_in(&[]);
    for (profile, section) in [("airi", "protocol"), ("airi", "personality"), ("kern", "document/KERN.md")] {
        let turn = turn();
        let whole = within(&empty, profile, &turn).unwrap();
        let chars = usize::try_from(whole.size.chars).unwrap();
        let text = |prompt: &Prompt<'_>| {
            let report = prompt.sections.iter().find(|report| report.id == section).unwrap();
            prompt.section_text(report).map(str::to_owned)
        };
        let own = text(&whole).unwrap();
        for less in (1..own.len()).step_by(97) {
            match within(&empty, profile, &of(chars - less, BudgetUnit::Chars, &turn)) {
                Ok(prompt) => assert_eq!(text(&prompt).as_deref(), Some(&*own), "{profile}, {less} less"),
                Err(error) => assert!(error.pinned > chars - less, "{profile}, {less} less: {error}"),
            }
        }
    }
}

#[test]
fn a_text_that_stands_where_there_is_no_summary_is_never_cut() {
    let own = "name: own\nmessages:\n  - name: m\n    sections:\n      - id: s\n        template: \"Summary: {{ conversation_summary or 'none' }}\"\n";
    let workspace = workspace(&[], own);
    let turn = turn();
    assert_eq!(within(&workspace, "own", &of(12, BudgetUnit::Chars, &turn)).unwrap_err().pinned, 13);
    let spoken = Turn { conversation_summary: "They spoke of tides.".into(), ..turn };
    let cut = of(12, BudgetUnit::Chars, &spoken);
    assert_eq!(within(&workspace, "own", &cut).unwrap().sections[0].outcome, Outcome::Dropped);
}

#[test]
fn the_budget_that_the_error_names_works_and_one_less_does_not() {
    let workspace = built_in(&[]);
    let inputs = json!({"general_memories": [{"key": "a", "content": "b"}]}).as_object().unwrap().clone();
    let turn = Turn { inputs, ..Turn::at("2026-03-01T02:30:00Z".parse().unwrap()) };
    for profile in ["kai-local", "five-layer", "kern", "airi", "cache-first"] {
        for unit in [BudgetUnit::Chars, TOKENS, BudgetUnit::Tokens(Encoding::Cl100kBase)] {
            let turn = if profile == "kai-local" { turn.clone() } else { crate::support::turn() };
            let BudgetTooSmall { pinned, floors, .. } = named(&workspace, profile, unit, &turn);
            let least = pinned + floors;
            assert!(within(&workspace, profile, &of(least, unit, &turn)).is_ok(), "{profile}: {least} {unit}");
            let error = within(&workspace, profile, &of(least - 1, unit, &turn)).unwrap_err();
            assert_eq!(error.pinned + error.floors, least, "{profile}: {error}");
        }
    }
}

#[test]
fn a_pinned_file_is_pinned_and_no_floor() {
    let file = format!("Rules. {}", "Berths are numbered. ".repeat(40));
    let files = [("workspace.yaml", "context: {files: [{path: AGENTS.md, priority: pinned}]}"), ("AGENTS.md", &*file)];
    let workspace = built_in(&files);
    let error = named(&workspace, "five-layer", BudgetUnit::Chars, &turn());
    assert_eq!(error.floors, 0, "{error}");
    assert!(error.pinned > file.trim().len(), "{error}");
    let floor =
        "budget: {sections: {knowledge: {floor: 300}}}\ncontext: {files: [{path: AGENTS.md, priority: pinned}]}";
    let floored = built_in(&[("workspace.yaml", floor), files[1]]);
    let snippet = promptd_core::turn::Snippet { content: "Tide. ".repeat(9), ..Default::default() };
    let with_knowledge = Turn { knowledge: vec![snippet], ..turn() };
    let floored = named(&floored, "five-layer", BudgetUnit::Chars, &with_knowledge);
    assert!((200..=300).contains(&floored.floors), "{floored}");
    assert!(floored.pinned > file.trim().len(), "{floored}");
}
