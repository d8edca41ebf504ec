//! The skills block, under its limits.

use std::sync::Arc;

use super::{block::TextBlock, rendered::RenderedSection};
use crate::{
    finding::{Code, Finding, Place},
    profile::{SectionSpec, Step, Template},
    prompt::{
        output::{How, Origin, OriginKind, Size},
        scope::{Found, Local, Locals, TurnScope},
        trace::{Text, Trace, files},
    },
    settings::SkillLimits,
    text::{measure::chars, shorten, thousands, xml},
    workspace::Skill,
};

/// The fewest characters that a description is shortened to before skills are left out instead.
pub(super) const MIN_DESCRIPTION_CHARS: usize = 40;

/// The most skills that a finding names.
const MAX_NAMED: usize = 20;

/// Renders the template over the block of the skills that this turn may see.
/// `room` is the most characters of the block beside its own limit.
pub(super) fn render<'a>(
    spec: &'a SectionSpec,
    template: &Template,
    scope: &TurnScope<'a>,
    room: Option<usize>,
) -> RenderedSection<'a> {
    let skills: Vec<&Skill> = scope.skills().collect();
    if skills.is_empty() {
        return RenderedSection::omitted(spec);
    }
    if let Some(left_out) = RenderedSection::unless(spec, scope, scope) {
        return left_out;
    }
    let mut limits = scope.snapshot.settings.skills.clone();
    let max_block_chars = limits.max_block_chars;
    limits.max_block_chars = max_block_chars.min(room.unwrap_or(usize::MAX));
    let list = SkillList::fit(&skills, &limits);
    if list.shown == 0 {
        return none_fit(spec, &skills, max_block_chars);
    }
    let block = list.write(&skills, scope.traced);
    let text = block.as_str();
    let own = [("available_skills", Local::Text(text))];
    let origins = |_: &str, _: &[Step]| Found::traced(&service(), block.clone());
    let mut rendered = match scope.render(spec, template, &Locals { own: &own, outer: scope, origins: &origins }) {
        Ok(text) => RenderedSection::included(spec, text),
        Err(error) => return RenderedSection::failed(spec, scope, &error),
    };
    if let Some(block) = rendered.blocks.pop() {
        rendered.blocks.push(block.with_part_of_at_most(max_block_chars, chars(text)));
    }
    if let Some(mut loss) = list.loss(&skills) {
        if room.is_some() && list.shown < skills.len() {
            loss += &names(&skills[list.shown..]);
        }
        let whole = SkillList { shown: skills.len(), description: usize::MAX }.write(&skills, false);
        if let Some(block) = rendered.blocks.pop() {
            let mut original = block.report.original;
            let (fitted, whole) = (Size::of(text), Size::of(whole.as_str()));
            original.bytes = original.bytes - fitted.bytes + whole.bytes;
            original.chars = original.chars - fitted.chars + whole.chars;
            let included = block.report.included;
            rendered.blocks.push(block.truncated(format!("{loss}."), original, included));
        }
        rendered.findings.push(Finding::new(Code::SkillsTruncated, Place::Unplaced, loss));
    }
    rendered.findings.extend(skills[..list.shown].iter().flat_map(|skill| skill.findings.iter().cloned()));
    rendered
}

/// The limits leave no room for one skill: rules for choosing from an empty list would only mislead.
fn none_fit<'a>(spec: &'a SectionSpec, skills: &[&Skill], max_block_chars: usize) -> RenderedSection<'a> {
    let whole = SkillList { shown: skills.len(), description: usize::MAX }.write(skills, false);
    let loss = format!("none of {} skills is listed: the limits leave no room for one", skills.len());
    let block = TextBlock::dropped(&*spec.id, spec.stability, format!("{loss}."), Size::of(whole.as_str()));
    let block = block.of_at_most(max_block_chars);
    RenderedSection { blocks: block.into(), findings: vec![Finding::new(Code::SkillsTruncated, Place::Unplaced, loss)] }
}

/// The names of skills that are left out.
fn names(skills: &[&Skill]) -> String {
    let names: Vec<&str> = skills.iter().take(MAX_NAMED).map(|skill| &*skill.name).collect();
    let more = skills.len() - names.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(": {}{more}", names.join(", "))
}

/// How many skills are listed, and how long their descriptions may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SkillList {
    /// How many, from the front.
    shown: usize,
    /// The most characters of a description.
    description: usize,
}

impl SkillList {
    /// As many skills as are allowed; over the block's limit, descriptions are shortened evenly, and only then are
    /// skills left out from the end.
    fn fit(skills: &[&Skill], limits: &SkillLimits) -> Self {
        let mut list = Self { shown: skills.len().min(limits.max_shown), description: limits.max_description_chars };
        let fits = |list: Self| chars(list.write(skills, false).as_str()) <= limits.max_block_chars;
        if fits(list) {
            return list;
        }
        let shortest = MIN_DESCRIPTION_CHARS.min(limits.max_description_chars);
        list.description = largest(shortest, list.description, |description| fits(Self { description, ..list }));
        if !fits(list) {
            list.shown = largest(0, list.shown, |shown| fits(Self { shown, ..list }));
        }
        list
    }

    /// The block, with a line that says what is left out.
    fn write(self, skills: &[&Skill], traced: bool) -> Text {
        let mut text = Text::new(traced, 0);
        let own =
            |text: &mut Text, words: &str, how| text.push(words, || Trace::of(words.len(), &service(), 0..0, how));
        own(&mut text, "<available_skills>\n", How::Template);
        for skill in &skills[..self.shown] {
            let description = shorten(&skill.description, self.description);
            own(&mut text, "<skill>\n<name>", How::Template);
            text.push(&xml::escape(&skill.name), || escaped(skill, "name", &skill.name));
            own(&mut text, "</name>\n<description>", How::Template);
            text.push(&xml::escape(&description), || escaped(skill, "description", &description));
            own(&mut text, "</description>\n<location>", How::Template);
            text.push(&xml::escape(&skill.location), || escaped(skill, "location", &skill.location));
            own(&mut text, "</location>\n</skill>\n", How::Template);
        }
        own(&mut text, "</available_skills>", How::Template);
        if self.shown < skills.len() {
            let more = thousands((skills.len() - self.shown) as u64);
            own(&mut text, &format!("\n\n{more} more skills are not listed here."), How::Marker);
        }
        text
    }

    /// What was lost, if anything.
    fn loss(self, skills: &[&Skill]) -> Option<String> {
        let left_out = skills.len() - self.shown;
        let shortened =
            skills[..self.shown].iter().filter(|skill| chars(&skill.description) > self.description).count();
        let all = skills.len();
        match (left_out, shortened) {
            (0, 0) => None,
            (0, _) => Some(format!(
                "{shortened} of {all} skill descriptions were shortened to {} characters",
                self.description
            )),
            (_, 0) => Some(format!("{left_out} of {all} skills are not listed")),
            _ => Some(format!(
                "{left_out} of {all} skills are not listed, and {shortened} descriptions were shortened to {} characters",
                self.description
            )),
        }
    }
}

/// What the service writes around skills.
fn service() -> Arc<Origin> {
    Arc::new(Origin::new(OriginKind::Service, "available_skills"))
}

/// Where an escaped value of a skill came from; `shown` may be its head with `…`.
fn escaped(skill: &Skill, field: &str, shown: &str) -> Trace {
    let escaped = xml::escape(shown);
    let found = files::skill(skill, field);
    let Some(text) = &found.text else { return Trace::written(escaped.len(), &found.origin) };
    let trace = text.trace().cloned().unwrap_or_default();
    let trace = if text.as_str() == shown { trace } else { trace.cut().through(text.as_str(), shown, How::Marker) };
    trace.through(shown, &escaped, How::Escaped)
}

/// The largest number of `low..=high` for which `fits` holds, given that it holds up to some number; `low` if for none.
fn largest(low: usize, high: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (low, high);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}
