//! Sections that are a template for each of a list.

use std::ops::Range;

use minijinja::{Value, value::ValueKind};

use super::{block::TextBlock, rendered::RenderedSection};
use crate::{
    finding::{Code, Finding, Place},
    profile::{Each, Scope, SectionSpec, Step, Template, Templates, Unit, ValuePlace},
    prompt::{
        budget::Budgets,
        output::{Origin, OriginKind, Size},
        scope::{Found, Local, Locals, Places, TurnScope},
        trace::{Text, Trace},
    },
    text::{measure::chars, thousands},
    turn::Snippet,
};

/// Renders header, entries and footer. Under a budget only whole entries are taken, in order: the first that does not fit ends
/// the section, and the budget for every section after it unless the profile says otherwise.
///
/// A list that its filters made shorter, and a budget of entries, are windows that the profile is meant to have: no loss.
pub(super) fn render<'a>(
    spec: &'a SectionSpec,
    each: &Each,
    scope: &TurnScope<'a>,
    budgets: &mut Budgets,
) -> RenderedSection<'a> {
    match Listed::of_turn(spec, each, scope) {
        Ok(Some(listed)) => listed.fill(budgets),
        Ok(None) => RenderedSection::omitted(spec),
        Err(error) => RenderedSection::failed(spec, scope, &error),
    }
}

/// A section with all of its entries, of which there is one at least.
#[derive(Clone)]
struct Listed<'a, 's> {
    spec: &'a SectionSpec,
    each: &'s Each,
    scope: &'s TurnScope<'a>,
    /// The header, the entries and what is between them, and the footer.
    text: Text,
    /// How long the header is.
    header: usize,
    /// Where each entry is in the text.
    entries: Vec<Range<usize>>,
}

impl<'a, 's> Listed<'a, 's> {
    /// With the entries that the turn has; `None`: it has none.
    fn of_turn(spec: &'a SectionSpec, each: &'s Each, scope: &'s TurnScope<'a>) -> Result<Option<Self>, String> {
        if each.list.as_name() == Some("knowledge") {
            let length: usize = scope.knowledge().map(|snippet| snippet.content.len() + each.entry.room()).sum();
            return Self::new(spec, each, scope, length, Self::add_knowledge);
        }
        let templates = &scope.profile.templates;
        let list = if scope.traced {
            templates.evaluate_located(&each.list, scope)?
        } else {
            templates.evaluate(&each.list, scope)?
        };
        Self::of_list(spec, each, scope, &list)
    }

    /// With the items of a list.
    fn of_list(
        spec: &'a SectionSpec,
        each: &'s Each,
        scope: &'s TurnScope<'a>,
        list: &Value,
    ) -> Result<Option<Self>, String> {
        let length = list.len().unwrap_or(0) * each.entry.room();
        Self::new(spec, each, scope, length, |listed| listed.add_items(list))
    }

    /// With what `add` adds, about `length` bytes.
    fn new(
        spec: &'a SectionSpec,
        each: &'s Each,
        scope: &'s TurnScope<'a>,
        length: usize,
        add: impl FnOnce(&mut Self) -> Result<(), String>,
    ) -> Result<Option<Self>, String> {
        let around = [&each.header, &each.footer].into_iter().flatten().map(Template::room).sum::<usize>();
        let mut listed =
            Self { spec, each, scope, text: scope.new_text(length + around), header: 0, entries: Vec::new() };
        // Without an entry it does not matter whether the header could be written.
        let header = listed.around(each.header.as_ref());
        listed.header = listed.text.as_str().len();
        add(&mut listed)?;
        if listed.entries.is_empty() {
            return Ok(None);
        }
        header?;
        listed.around(each.footer.as_ref())?;
        Ok(Some(listed))
    }

    fn around(&mut self, template: Option<&Template>) -> Result<(), String> {
        let Self { spec, scope, text, .. } = self;
        template.map_or(Ok(()), |template| scope.render_into(text, spec, template, *scope))
    }

    fn add(&mut self, names: &dyn Places) -> Result<(), String> {
        let Self { spec, each, scope, text, entries, .. } = self;
        if !entries.is_empty() {
            text.push(&each.between, || Trace::written(each.between.len(), &scope.own(spec)));
        }
        let start = text.as_str().len();
        scope.render_into(text, spec, &each.entry, names)?;
        entries.push(start..text.as_str().len());
        Ok(())
    }

    /// Snippets can be many and large: they are borrowed, not copied into values.
    fn add_knowledge(&mut self) -> Result<(), String> {
        let scope = self.scope;
        for (index, Snippet { content, source, title }) in scope.knowledge().enumerate() {
            let own =
                [("content", Local::Text(content)), ("source", Local::Text(source)), ("title", Local::Text(title))];
            let origins = |name: &str, steps: &[Step]| {
                below(&ValuePlace::root("knowledge").below(Step::Item(index)), name, steps, scope)
            };
            self.add(&Locals { own: &own, outer: scope, origins: &origins })?;
        }
        Ok(())
    }

    fn add_items(&mut self, list: &Value) -> Result<(), String> {
        let (each, scope) = (self.each, self.scope);
        for (index, item) in list.try_iter().map_err(|e| e.to_string())?.enumerate() {
            let fields = locals(&item)?;
            let mut own: Vec<(&str, Local<'_>)> =
                fields.iter().map(|(name, value)| (name.as_str(), Local::Value(value.clone()))).collect();
            own.push(("index", Local::Value(Value::from(index + 1))));
            own.push(("item", Local::Value(item.clone())));
            let origins = |name: &str, steps: &[Step]| {
                let at = || item_place(each, list, index, &item, scope);
                if name == "index" {
                    Found::worked_out(Origin::new(OriginKind::Fact, "index"))
                } else {
                    below(&at(), if name == "item" { "" } else { name }, steps, scope)
                }
            };
            self.add(&Locals { own: &own, outer: scope, origins: &origins })?;
        }
        Ok(())
    }

    /// The text of one entry.
    fn entry(&self, index: usize) -> &str {
        &self.text.as_str()[self.entries[index].clone()]
    }

    /// The header, and the footer.
    fn outside(&self) -> [&str; 2] {
        let text = self.text.as_str();
        [&text[..self.header], &text[self.footer()..]]
    }

    /// Where the footer begins.
    fn footer(&self) -> usize {
        self.entries.last().map_or(self.header, |last| last.end)
    }

    /// The text with some of its entries, neighbours of each other; none without any.
    fn part(&self, shown: Range<usize>) -> Text {
        let Some([first, .., last] | [first @ last]) = self.entries.get(shown) else { return Text::default() };
        let mut text = self.text.slice(0..self.header);
        text.append(&self.text.slice(first.start..last.end));
        text.append(&self.text.slice(self.footer()..self.text.as_str().len()));
        text
    }

    /// The section with all of its entries.
    fn whole(self) -> TextBlock<'a> {
        TextBlock::included(&*self.spec.id, self.spec.stability, self.text)
    }

    /// The section within the profile's budget, and within the room that the prompt's own leaves.
    fn fill(self, budgets: &mut Budgets) -> RenderedSection<'a> {
        let Some(room) = budgets.room() else { return self.within_own_budget(budgets).0 };
        let (mut rendered, shown) = self.clone().within_own_budget(budgets);
        let [header, footer] = self.outside().map(chars);
        let mut used = header + footer;
        let mut fits = |(place, index): &(usize, usize)| {
            used += chars(self.entry(*index)) + if *place == 0 { 0 } else { chars(&self.each.between) };
            used <= room
        };
        let fitting = if self.each.newest_last {
            shown - (0..shown).rev().enumerate().take_while(&mut fits).count()..shown
        } else {
            0..(0..shown).enumerate().take_while(&mut fits).count()
        };
        let fit = fitting.len();
        if fit < shown
            && let Some(block) = rendered.blocks.pop()
        {
            let (all, original) = (self.entries.len(), block.report.original);
            let reason = entries_shown(fit, all);
            rendered.blocks.push(self.with(fitting, reason, original));
        }
        rendered
    }

    /// The section with a part of its entries, since a limit keeps the others out.
    fn with(&self, shown: Range<usize>, reason: String, original: Size) -> TextBlock<'a> {
        let Self { spec, .. } = self;
        if shown.is_empty() {
            return TextBlock::dropped(&*spec.id, spec.stability, reason, original);
        }
        let text = self.part(shown);
        let included = Size::of(text.as_str());
        TextBlock::included(&*spec.id, spec.stability, text).truncated(reason, original, included)
    }

    /// The section within the profile's budget, and how many entries it shows.
    fn within_own_budget(self, budgets: &mut Budgets) -> (RenderedSection<'a>, usize) {
        let Self { spec, each, scope, .. } = self;
        let count = self.entries.len();
        let Some(budget) = each.budget else { return (self.limited_by_list(), count) };
        let rest = budgets.rest(budget);
        let name = &scope.profile.budgets[budget].name;
        if each.whole {
            let cost = budgets.cost(budget, self.text.as_str());
            if cost <= rest {
                budgets.take(budget, cost);
                return (self.whole().into(), count);
            }
            let reason =
                format!("It takes {cost} of the {rest} left in the budget `{name}`, and is shown whole or not at all.");
            let block = TextBlock::dropped(&*spec.id, spec.stability, reason.clone(), Size::of(self.text.as_str()));
            let findings = vec![exceeded(spec, each, scope, &reason)];
            return (RenderedSection { blocks: block.into(), findings }, 0);
        }
        let mut cost: u64 = self.outside().map(|text| budgets.cost(budget, text)).into_iter().sum();
        let between = budgets.cost(budget, &each.between);
        let mut fit = 0;
        for index in 0..count {
            let next = cost + budgets.entry(budget, self.entry(index)) + if fit == 0 { 0 } else { between };
            if next > rest {
                break;
            }
            cost = next;
            fit += 1;
        }
        if fit == count {
            budgets.take(budget, cost);
            return (self.whole().into(), fit);
        }
        budgets.overflow(budget, if fit == 0 { 0 } else { cost });
        let reason = format!("{fit} of {} entries fit into the budget `{name}`.", thousands(count as u64));
        let original = Size::of(self.text.as_str());
        let (block, finding) = if scope.profile.budgets[budget].unit == Unit::Entries {
            let block = if fit == 0 {
                TextBlock::omitted(&*spec.id, spec.stability, "")
            } else {
                TextBlock::included(&*spec.id, spec.stability, self.part(0..fit))
            };
            let finding = limited(spec, each, scope, &reason);
            (block.limited(reason, original), finding)
        } else {
            let finding = exceeded(spec, each, scope, &reason);
            (self.with(0..fit, reason, original), finding)
        };
        (RenderedSection { blocks: block.into(), findings: vec![finding] }, fit)
    }

    /// The section without a budget: what its filters keep out of its list is not a loss.
    fn limited_by_list(self) -> RenderedSection<'a> {
        let Self { spec, each, scope, .. } = self;
        // A bare name is the list itself: nothing can be missing, and making a list's value can be expensive.
        let all = if each.list.as_name().is_some() { Value::UNDEFINED } else { scope.value(&each.of) };
        let shown = self.entries.len();
        let Some(count) = all.len().filter(|count| *count > shown) else { return self.whole().into() };
        let reason = entries_shown(shown, count);
        let block = self.whole();
        // An entry that is not shown may be one that the template cannot write: that is not a fault of this prompt.
        let original = match Self::of_list(spec, each, scope, &all) {
            Ok(Some(all)) => Size::of(all.text.as_str()),
            Ok(None) | Err(_) => block.report.included,
        };
        let finding = limited(spec, each, scope, &reason);
        RenderedSection { blocks: block.limited(reason, original).into(), findings: vec![finding] }
    }
}

fn entries_shown(shown: usize, all: usize) -> String {
    let [shown, all] = [shown, all].map(|count| thousands(count as u64));
    format!("{shown} of {all} entries are shown.")
}

/// The finding of a window that the profile is meant to have.
fn limited(spec: &SectionSpec, each: &Each, scope: &TurnScope<'_>, reason: &str) -> Finding {
    Finding::new(Code::LimitedByDesign, place(each, scope), message(spec, reason))
}

fn exceeded(spec: &SectionSpec, each: &Each, scope: &TurnScope<'_>, reason: &str) -> Finding {
    Finding::new(Code::BudgetExceeded, place(each, scope), message(spec, reason))
}

/// The input that has the list.
fn place(each: &Each, scope: &TurnScope<'_>) -> Place {
    let input = each.of.split('.').next().filter(|name| scope.input(name).is_some());
    input.map_or(Place::Unplaced, |name| Place::field(format!("turn.inputs.{name}")))
}

fn message(spec: &SectionSpec, reason: &str) -> String {
    format!("section `{}`: {}", spec.id, reason.trim_end_matches('.'))
}

/// What is found at a field of a place; an empty name is the place itself.
fn below(place: &ValuePlace, name: &str, steps: &[Step], scope: &TurnScope<'_>) -> Found {
    let field = (!name.is_empty()).then(|| Step::Field(name.to_owned()));
    let steps: Vec<Step> = place.steps.iter().cloned().chain(field).chain(steps.iter().cloned()).collect();
    scope.found(&place.name, &steps)
}

/// Where an entry's item is. Texts and numbers do not know: they are in the list that theirs was taken from, at the same place from
/// its beginning or its end, else where the first equal one is.
fn item_place(each: &Each, list: &Value, index: usize, item: &Value, scope: &TurnScope<'_>) -> ValuePlace {
    if let Some(place) = Templates::place_of(item) {
        return place.clone();
    }
    let mut names = each.of.split('.');
    let name = names.next().unwrap_or_default();
    let steps: Vec<Step> = names.map(|field| Step::Field(field.to_owned())).collect();
    let of = ValuePlace { name: name.into(), steps };
    let all = each.of.split('.').skip(1).try_fold(scope.value(name), |value, field| value.get_attr(field).ok());
    let all = all.unwrap_or_default();
    let (most, shown) = (all.len().unwrap_or_default(), list.len().unwrap_or_default());
    let is_it = |at: &usize| all.get_item_by_index(*at).is_ok_and(|other| other == *item);
    let ends = [Some(index), (most + index).checked_sub(shown)];
    match ends.into_iter().flatten().find(is_it).or_else(|| (0..most).find(is_it)) {
        Some(at) => of.below(Step::Item(at)),
        None => of,
    }
}

fn locals(item: &Value) -> Result<Vec<(String, Value)>, String> {
    if item.kind() != ValueKind::Map {
        return Ok(Vec::new());
    }
    let field = |key: Value| {
        let value = item.get_item(&key).map_err(|e| e.to_string())?;
        Ok((key.as_str().unwrap_or_default().to_owned(), value))
    };
    item.try_iter().map_err(|e| e.to_string())?.map(field).collect()
}
