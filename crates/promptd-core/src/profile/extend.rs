//! One profile on top of another: the extending one says only what differs.

use super::raw::{ProfileFault, RawMessage, RawProfile, RawSection, Spanned};
use crate::{finding::Code, yaml::nearest};

/// `top` over `base`: messages and sections are matched by name; new ones come last, or after the one they name.
pub(super) fn extend(mut top: RawProfile, mut base: RawProfile, faults: &mut Vec<ProfileFault>) -> RawProfile {
    for message in &mut top.messages {
        for section in message.sections.iter_mut().filter(|section| section.moves) {
            take_out(&mut base.messages, section, faults);
        }
    }
    base.messages.retain(|message| message.conversation.is_some() || !message.sections.is_empty());
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
    if let Some(order) = &top.order {
        sort(&mut messages, order, faults);
    }
    RawProfile {
        order: None,
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

/// Lays a section that moves over the one of the base, which loses it.
fn take_out(messages: &mut [RawMessage], section: &mut RawSection, faults: &mut Vec<ProfileFault>) {
    let place = messages.iter().enumerate().find_map(|(at, message)| {
        Some((at, message.sections.iter().position(|old| old.id.value == section.id.value)?))
    });
    let Some((message, index)) = place else {
        let ids = messages.iter().flat_map(|message| message.sections.iter().map(|old| old.id.value.as_str()));
        let hint = nearest(&section.id.value, ids).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let text = format!("moves the section `{}`, which does not exist{hint}", section.id.value);
        faults.push(section.id.fault(Code::InvalidValue, text));
        return;
    };
    let old = messages[message].sections.remove(index);
    let old = if gives_body(section, &old) { without_body(old) } else { old };
    *section = section.clone().over(old);
}

/// Puts the named messages first, in their order; the others follow as they were.
fn sort(messages: &mut [RawMessage], order: &Spanned<Vec<String>>, faults: &mut Vec<ProfileFault>) {
    for name in &order.value {
        if !messages.iter().any(|message| message.name.value == *name) {
            let names = messages.iter().map(|message| message.name.value.as_str());
            let hint = nearest(name, names).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            faults.push(
                order.fault(
                    Code::InvalidValue,
                    format!("`order` names the message `{name}`, which does not exist{hint}"),
                ),
            );
        }
    }
    let place = |message: &RawMessage| order.value.iter().position(|name| *name == message.name.value);
    messages.sort_by_key(|message| place(message).unwrap_or(usize::MAX));
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
