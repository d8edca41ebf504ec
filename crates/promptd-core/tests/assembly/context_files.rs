//! A turn's list of context files only takes away, whichever profile is asked for.

use promptd_core::{
    prompt::{Outcome, TurnError, assemble},
    turn::Turn,
};

use crate::support::{built_in, prompt, turn};

#[test]
fn a_list_holds_for_every_profile_and_a_misspelt_path_for_none() {
    let workspace = built_in(&[
        ("workspace.yaml", "context: {files: [{path: docs/RUNBOOK.md}]}"),
        ("AGENTS.md", "Rules."),
        ("SOUL.md", "Tone."),
        ("docs/RUNBOOK.md", "Steps."),
    ]);
    let of = |paths: &[&str]| Turn { context_files: paths.iter().map(ToString::to_string).collect(), ..turn() };
    let list = of(&["AGENTS.md", "IDENTITY.md", "docs/RUNBOOK.md"]);
    let misspelt = of(&["AGENTS.md", "docs/RUNBOK.md"]);
    for profile in ["five-layer", "cache-first", "kern", "airi", "kai-local", "lucidpal"] {
        let spec = workspace.profiles.get(profile).unwrap();
        assert!(assemble(&workspace, spec, &list).is_ok(), "{profile}");
        let Err(TurnError::Invalid { field, message }) = assemble(&workspace, spec, &misspelt) else {
            panic!("{profile}");
        };
        assert_eq!(field, "turn.context_files[1]");
        assert!(message.contains("did you mean `docs/RUNBOOK.md`?"), "{message}");
    }
    let five_layer = prompt(&workspace, "five-layer", &list);
    let shown = five_layer.sections.iter().filter(|section| section.outcome == Outcome::Included);
    let shown: Vec<&str> = shown.filter_map(|section| section.id.strip_prefix("workspace_context/")).collect();
    assert_eq!(shown, ["AGENTS.md", "docs/RUNBOOK.md"]);
    // The one that is named is not there: nothing is left.
    let none = of(&["IDENTITY.md"]);
    let five_layer = prompt(&workspace, "five-layer", &none);
    assert!(five_layer.messages.iter().all(|message| message.name != "workspace_context"));
}
