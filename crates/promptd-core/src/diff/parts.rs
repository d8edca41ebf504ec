//! A prompt as parts that can be compared by id: its sections, and the messages of its conversation.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use super::SectionReport;
use crate::{
    prompt::{Holder, Message, Prompt, Size},
    text::clamped,
};

/// A section or a message of the conversation.
pub(super) struct Part<'p> {
    pub id: Id<'p>,
    /// `None`: it has no text in the prompt.
    pub text: Option<&'p str>,
    /// `None`: a message of the conversation that is carried as it came.
    pub report: Option<&'p SectionReport<'p>>,
    /// What it is in.
    holder: Option<Holder>,
}

/// A section's id, and which one of that id it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id<'p>(Cow<'p, str>, usize);

impl std::fmt::Display for Id<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Part<'_> {
    pub(super) fn size(&self) -> Size {
        self.report.map_or_else(|| self.text.map(Size::of).unwrap_or_default(), |report| report.included)
    }
}

/// Every part of a prompt, those without text included.
pub(super) fn parts<'p>(prompt: &'p Prompt<'p>) -> Vec<Part<'p>> {
    let mut seen: BTreeMap<Cow<'p, str>, usize> = BTreeMap::new();
    let mut numbered = move |id: Cow<'p, str>| {
        let count = seen.entry(id.clone()).or_default();
        *count += 1;
        Id(id, *count)
    };
    let mut parts: Vec<_> = prompt
        .sections
        .iter()
        .map(|report| Part {
            id: numbered(Cow::Borrowed(&report.id)),
            text: prompt.section_text(report),
            report: Some(report),
            holder: report.position.as_ref().map(|position| position.holder),
        })
        .collect();
    let reported: BTreeSet<_> = parts.iter().filter_map(|part| part.holder).collect();
    let holders = (0..).map(Holder::Message);
    for (holder, message) in holders.zip(&prompt.messages).filter(|(holder, _)| !reported.contains(holder)) {
        parts.push(Part {
            id: numbered(name(message)),
            text: Some(&message.content),
            report: None,
            holder: Some(holder),
        });
    }
    parts
}

/// The id of a message as one part, as section reports have it.
fn name<'p>(message: &Message<'p>) -> Cow<'p, str> {
    match message.origin {
        Some(origin) => format!("conversation/{}", origin.index).into(),
        None => Cow::Borrowed(message.name),
    }
}

/// The id of the part that has a byte of a message.
pub(super) fn at(prompt: &Prompt<'_>, parts: &[Part<'_>], message: usize, byte: usize) -> String {
    let holder = Holder::Message(clamped(message));
    let end = |part: &&Part<'_>| part.report.and_then(|report| Some(report.position.as_ref()?.range().end));
    let mut here = parts.iter().filter(|part| part.holder == Some(holder));
    let found = here.clone().find(|part| end(part).is_none_or(|end| byte < end)).or_else(|| here.next_back());
    let name = prompt.messages.get(message).map(name);
    found.map_or_else(|| name.unwrap_or_default().into_owned(), |part| part.id.to_string())
}

/// What `prompt` has in common with the other one, in order: each message and card, with its parts below it.
pub(super) fn layout(prompt: &Prompt<'_>, own: &[Part<'_>], other: &[Part<'_>]) -> String {
    let shown: BTreeSet<_> = other.iter().filter(|part| part.text.is_some()).map(|part| &part.id).collect();
    let mut by_holder: BTreeMap<Holder, Vec<&Part<'_>>> = BTreeMap::new();
    for part in own.iter().filter(|part| shown.contains(&part.id)) {
        if let Some(holder) = part.holder {
            by_holder.entry(holder).or_default().push(part);
        }
    }
    let mut out = String::new();
    for (holder, parts) in by_holder {
        let (index, all) = match holder {
            Holder::Message(index) => (index, &prompt.messages),
            Holder::Card(index) => (index, &prompt.cards),
        };
        let Some(message) = all.get(index as usize) else { continue };
        let ephemeral = if message.ephemeral { ", ephemeral" } else { "" };
        let name = if message.origin.is_some() { "conversation" } else { message.name };
        let role = if matches!(holder, Holder::Card(_)) { "card" } else { message.role.as_str() };
        let _ = writeln!(out, "{role} {name}{ephemeral}");
        for part in parts {
            let _ = writeln!(out, "  {}", part.id);
        }
    }
    out
}
