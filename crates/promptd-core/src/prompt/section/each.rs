//! Sections that are a template for each of a list.

use minijinja::{Value, value::ValueKind};

use super::{block::TextBlock, rendered::RenderedSection};
use crate::{
    finding::{Code, Finding, Place},
    profile::{Each, Scope, SectionSpec, Step, Templates, Unit, ValuePlace},
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
    match entries(spec, each, scope) {
        Ok(entries) if entries.is_empty() => RenderedSection::omitted(spec),
        Ok(entries) => match Around::new(spec, each, scope) {
            Ok(around) => fill(&around, &entries, budgets),
            Err(error) => RenderedSection::failed(spec, scope, &error),
        },
        Err(error) => RenderedSection::failed(spec, scope, &error),
    }
}

/// A section, with what is around its entries.
struct Around<'a, 's> {
    spec: &'a SectionSpec,
    each: &'s Each,
    scope: &'s TurnScope<'a>,
    header: Text,
    footer: Text,
}

impl<'a, 's> Around<'a, 's> {
    fn new(spec: &'a SectionSpec, each: &'s Each, scope: &'s TurnScope<'a>) -> Result<Self, String> {
        let (header, footer) =
            (scope.render_any(spec, each.header.as_ref())?, scope.render_any(spec, each.footer.as_ref())?);
        Ok(Self { spec, each, scope, header, footer })
    }

    /// The section's text with these entries.
    fn join(&self, entries: &[Text]) -> Text {
        let Self { spec, each, scope, header, footer } = self;
        let between =
            |text: &mut Text| text.push(&each.between, || Trace::written(each.between.len(), &scope.own(spec)));
        join(scope.new_text(length(header, entries, &each.between, footer)), header, entries, between, footer)
    }
}

/// The section within the profile's budget, and within the room that the prompt's own leaves.
fn fill<'a>(around: &Around<'a, '_>, entries: &[Text], budgets: &mut Budgets) -> RenderedSection<'a> {
    let (mut rendered, shown) = within_own_budget(around, entries, budgets);
    let Some(room) = budgets.room() else { return rendered };
    let Around { spec, each, header, footer, .. } = around;
    let mut used = chars(header.as_str()) + chars(footer.as_str());
    let fits = |(index, entry): &(usize, &Text)| {
        used += chars(entry.as_str()) + if *index == 0 { 0 } else { chars(&each.between) };
        used <= room
    };
    let taken = &entries[..shown];
    let fitting = if each.newest_last {
        &taken[shown - taken.iter().rev().enumerate().take_while(fits).count()..]
    } else {
        &taken[..taken.iter().enumerate().take_while(fits).count()]
    };
    let fit = fitting.len();
    if fit < shown
        && let Some(block) = rendered.blocks.pop()
    {
        let all = thousands(entries.len() as u64);
        let reason = format!("{} of {all} entries are shown.", thousands(fit as u64));
        let original = block.report.original;
        rendered.blocks.push(if fit == 0 {
            TextBlock::dropped(&*spec.id, spec.stability, reason, original)
        } else {
            let text = around.join(fitting);
            let included = Size::of(text.as_str());
            TextBlock::included(&*spec.id, spec.stability, text).truncated(reason, original, included)
        });
    }
    rendered
}

/// The section within the profile's budget, and how many entries it shows.
fn within_own_budget<'a>(
    around: &Around<'a, '_>,
    entries: &[Text],
    budgets: &mut Budgets,
) -> (RenderedSection<'a>, usize) {
    let Around { spec, each, scope, header, footer } = around;
    let (spec, each, scope) = (*spec, *each, *scope);
    let whole = || around.join(entries);
    let Some(budget) = each.budget else {
        let block = TextBlock::included(&*spec.id, spec.stability, whole());
        // A bare name is the list itself: nothing can be missing, and making a list's value can be expensive.
        let all = if each.list.as_name().is_some() { Value::UNDEFINED } else { scope.value(&each.of) };
        let Some(count) = all.len().filter(|count| *count > entries.len()) else {
            return (block.into(), entries.len());
        };
        let reason = format!("{} of {} entries are shown.", thousands(entries.len() as u64), thousands(count as u64));
        let included = block.report.included;
        // An entry that is not shown may be one that the template cannot write: that is no fault of this prompt.
        let original =
            entries_of(spec, each, &all, scope).map_or(included, |entries| Size::of(around.join(&entries).as_str()));
        let finding = limited(spec, each, scope, &reason);
        let limited = RenderedSection { blocks: vec![block.limited(reason, original)], findings: vec![finding] };
        return (limited, entries.len());
    };

    let rest = budgets.rest(budget);
    let name = &scope.profile.budgets[budget].name;
    if each.whole {
        let text = whole();
        let cost = budgets.cost(budget, text.as_str());
        if cost <= rest {
            budgets.take(budget, cost);
            return (TextBlock::included(&*spec.id, spec.stability, text).into(), entries.len());
        }
        let reason =
            format!("It takes {cost} of the {rest} left in the budget `{name}`, and stands whole or not at all.");
        let block = TextBlock::dropped(&*spec.id, spec.stability, reason.clone(), Size::of(text.as_str()));
        return (RenderedSection { blocks: vec![block], findings: vec![exceeded(spec, each, scope, &reason)] }, 0);
    }
    let mut cost = budgets.cost(budget, header.as_str()) + budgets.cost(budget, footer.as_str());
    let between = budgets.cost(budget, &each.between);
    let mut fit = 0;
    for entry in entries {
        let next = cost + budgets.entry(budget, entry.as_str()) + if fit == 0 { 0 } else { between };
        if next > rest {
            break;
        }
        cost = next;
        fit += 1;
    }
    if fit == entries.len() {
        budgets.take(budget, cost);
        return (TextBlock::included(&*spec.id, spec.stability, whole()).into(), fit);
    }
    budgets.overflow(budget, if fit == 0 { 0 } else { cost });
    let reason = format!("{fit} of {} entries fit into the budget `{name}`.", thousands(entries.len() as u64));
    let original = Size::of(whole().as_str());
    let text = if fit == 0 { Text::default() } else { around.join(&entries[..fit]) };
    if scope.profile.budgets[budget].unit == Unit::Entries {
        let block = if fit == 0 {
            TextBlock::omitted(&*spec.id, spec.stability, "")
        } else {
            TextBlock::included(&*spec.id, spec.stability, text)
        };
        let finding = limited(spec, each, scope, &reason);
        return (RenderedSection { blocks: vec![block.limited(reason, original)], findings: vec![finding] }, fit);
    }
    let block = if fit == 0 {
        TextBlock::dropped(&*spec.id, spec.stability, reason.clone(), original)
    } else {
        let included = Size::of(text.as_str());
        TextBlock::included(&*spec.id, spec.stability, text).truncated(reason.clone(), original, included)
    };
    (RenderedSection { blocks: vec![block], findings: vec![exceeded(spec, each, scope, &reason)] }, fit)
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

fn length(header: &Text, entries: &[Text], between: &str, footer: &Text) -> usize {
    let entries = entries.iter().map(|entry| entry.as_str().len() + between.len()).sum::<usize>();
    header.as_str().len() + entries + footer.as_str().len()
}

fn join(mut text: Text, header: &Text, entries: &[Text], between: impl Fn(&mut Text), footer: &Text) -> Text {
    text.append(header);
    for (index, entry) in entries.iter().enumerate() {
        if index > 0 {
            between(&mut text);
        }
        text.append(entry);
    }
    text.append(footer);
    text
}

/// Every entry's text.
fn entries(spec: &SectionSpec, each: &Each, scope: &TurnScope<'_>) -> Result<Vec<Text>, String> {
    let templates = &scope.profile.templates;
    let render = |names: &dyn Places| scope.render(spec, &each.entry, names);
    // Snippets can be many and large: they are borrowed, not copied into values.
    if each.list.as_name() == Some("knowledge") {
        let entry = |(index, Snippet { content, source, title }): (usize, &Snippet)| {
            let own =
                [("content", Local::Text(content)), ("source", Local::Text(source)), ("title", Local::Text(title))];
            let place = ValuePlace::root("knowledge").below(Step::Item(index));
            render(&Locals { own: &own, outer: scope, origins: &|name, steps| below(&place, name, steps, scope) })
        };
        return scope.knowledge().enumerate().map(entry).collect();
    }
    let list = if scope.traced {
        templates.evaluate_located(&each.list, scope)?
    } else {
        templates.evaluate(&each.list, scope)?
    };
    entries_of(spec, each, &list, scope)
}

/// The texts of a list's items.
fn entries_of(spec: &SectionSpec, each: &Each, list: &Value, scope: &TurnScope<'_>) -> Result<Vec<Text>, String> {
    let render = |names: &dyn Places| scope.render(spec, &each.entry, names);
    let items = list.try_iter().map_err(|e| e.to_string())?;
    items
        .enumerate()
        .map(|(index, item)| {
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
            render(&Locals { own: &own, outer: scope, origins: &origins })
        })
        .collect()
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
