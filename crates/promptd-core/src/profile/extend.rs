//! One profile on top of another: the extending one says only what differs.

use super::raw::{ProfileFault, RawMessage, RawProfile, RawSection};
use crate::{finding::Code, yaml::nearest};

/// `top` over `base`: messages and sections are matched by name; new ones come last, or after the one they name.
pub(super) fn extend(top: RawProfile, base: RawProfile, faults: &mut Vec<ProfileFault>) -> RawProfile {
    let mut inputs = base.inputs;
    for input in top.inputs {
        match inputs.iter_mut().find(|(name, _)| name.value == input.0.value) {
            Some(old) => *old = input,
            None => inputs.push(input),
        }
    }
    let mut budgets = base.budgets;
    for budget in top.budgets {
        budgets.retain(|old| old.name.value != budget.name.value);
        budgets.push(budget);
    }
    let mut messages = base.messages;
    for message in top.messages {
        match messages.iter().position(|old| old.name.value == message.name.value) {
            Some(index) if message.remove => drop(messages.remove(index)),
            Some(index) => {
                let old = messages.remove(index);
                messages.insert(index, extend_message(message, old, faults));
            }
            None if message.remove => {
                faults.push(message.name.fault(Code::InvalidValue, "removes a message that does not exist"));
            }
            None => messages.push(message),
        }
    }
    RawProfile {
        name: top.name,
        extends: top.extends,
        description: top.description.or(base.description),
        cache: top.cache.or(base.cache),
        tool_allowlist: top.tool_allowlist.or(base.tool_allowlist),
        reply: match (top.reply, base.reply) {
            (Some(top), Some(base)) => Some(top.over(base)),
            (top, base) => top.or(base),
        },
        inputs,
        budgets,
        messages,
        start: top.start,
    }
}

fn extend_message(top: RawMessage, base: RawMessage, faults: &mut Vec<ProfileFault>) -> RawMessage {
    let mut sections = base.sections;
    for section in top.sections {
        extend_section(&mut sections, section, faults);
    }
    RawMessage {
        name: top.name,
        role: top.role.or(base.role),
        separator: top.separator.or(base.separator),
        ephemeral: top.ephemeral.or(base.ephemeral),
        card: top.card.or(base.card),
        remove: false,
        sections,
        conversation: top.conversation.or(base.conversation),
    }
}

fn extend_section(sections: &mut Vec<RawSection>, section: RawSection, faults: &mut Vec<ProfileFault>) {
    let position = |id: &str, all: &[RawSection]| all.iter().position(|old| old.id.value == id);
    match (position(&section.id.value, sections), section.remove) {
        (Some(index), true) => drop(sections.remove(index)),
        (Some(index), false) => {
            let old = sections.remove(index);
            let old = if gives_body(&section, &old) { without_body(old) } else { old };
            sections.insert(index, section.over(old));
        }
        (None, true) => {
            let near = nearest(&section.id.value, sections.iter().map(|s| s.id.value.as_str()));
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let message = format!("removes the section `{}`, which does not exist{hint}", section.id.value);
            faults.push(section.id.fault(Code::InvalidValue, message));
        }
        (None, false) => {
            let index = match &section.after {
                None => sections.len(),
                Some(after) => position(&after.value, sections).map_or_else(
                    || {
                        faults.push(after.fault(Code::InvalidValue, format!("unknown section `{}`", after.value)));
                        sections.len()
                    },
                    |index| index + 1,
                ),
            };
            sections.insert(index, section);
        }
    }
}

/// Whether a section says another kind of thing than the one it is laid over, of which then nothing may be left.
fn gives_body(top: &RawSection, base: &RawSection) -> bool {
    let is_list = base.each.is_some();
    top.kind.is_some() || (top.each.is_some() && !is_list) || (top.template.is_some() && is_list)
}

fn without_body(base: RawSection) -> RawSection {
    RawSection {
        template: None,
        each: None,
        header: None,
        entry: None,
        between: None,
        footer: None,
        budget: None,
        whole: None,
        kind: None,
        facts: None,
        files: None,
        ..base
    }
}
