//! How often each field of a turn changes, and so at most how stable a text is that depends on it.

use super::spec::Stability;
use crate::turn::TurnFields;

/// A field of a turn.
pub(super) struct Rate {
    pub field: TurnFields,
    /// Its name, as callers know it.
    pub name: &'static str,
    /// How stable a text can be that depends on it.
    pub stability: Stability,
}

const fn rate(field: TurnFields, name: &'static str, stability: Stability) -> Rate {
    Rate { field, name, stability }
}

/// All fields. What is stable here has a value in the workspace, or in the profile, that a turn only overrides: a section that
/// depends on it is as stable as the workspace where no turn does, and counts as `session` in the prompt of one that does.
pub(super) const RATES: [Rate; 20] = [
    rate(TurnFields::AGENT, "turn.agent", Stability::Stable),
    rate(TurnFields::PERSONA, "turn.persona", Stability::Stable),
    rate(TurnFields::CONTEXT_FILES, "turn.context_files", Stability::Stable),
    rate(TurnFields::WORKING_DIRECTORY, "turn.working_directory", Stability::Stable),
    rate(TurnFields::SKILLS, "turn.skill_filter", Stability::Stable),
    rate(TurnFields::STABLE_INPUTS, "turn.inputs", Stability::Stable),
    rate(TurnFields::USER, "turn.user", Stability::Session),
    rate(TurnFields::CHANNEL, "turn.channel", Stability::Session),
    rate(TurnFields::FORMAT, "turn.response_format", Stability::Session),
    // Which summaries are shown changes when the cut moves, and a held cut moves rarely.
    rate(TurnFields::SUMMARIES, "turn.conversation.segments", Stability::Session),
    rate(TurnFields::SESSION_INPUTS, "turn.inputs", Stability::Session),
    rate(TurnFields::NOW, "turn.now", Stability::Volatile),
    rate(TurnFields::HEARTBEAT, "turn.heartbeat", Stability::Volatile),
    rate(TurnFields::VARIABLES, "turn.variables", Stability::Volatile),
    rate(TurnFields::KNOWLEDGE, "turn.knowledge", Stability::Volatile),
    rate(TurnFields::SUMMARY, "turn.conversation_summary", Stability::Volatile),
    rate(TurnFields::EPHEMERAL, "turn.ephemeral_system_prompt", Stability::Volatile),
    rate(TurnFields::CONVERSATION, "turn.conversation", Stability::Volatile),
    rate(TurnFields::STAGE, "turn.stage", Stability::Volatile),
    rate(TurnFields::VOLATILE_INPUTS, "turn.inputs", Stability::Volatile),
];

/// The field that changes most often, of those that a text depends on; `None`: it depends on none.
pub(super) fn fastest(deps: TurnFields) -> Option<&'static Rate> {
    RATES.iter().rev().find(|rate| rate.field.intersects(deps))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_its_row_and_the_rows_are_in_order() {
        let all = RATES.iter().fold(TurnFields::NONE, |all, rate| all | rate.field);
        assert_eq!(all, TurnFields::ALL);
        assert_eq!(format!("{all:b}").matches('1').count(), RATES.len(), "a field has two rows");
        assert!(RATES.is_sorted_by_key(|rate| rate.stability));
        let manual = include_str!("../../../../docs/profiles.md");
        for rate in &RATES {
            let row = format!("| `{}`", rate.name);
            assert!(manual.contains(&row), "docs/profiles.md has no row for {}", rate.name);
        }
    }
}
