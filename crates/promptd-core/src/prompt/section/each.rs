//! Sections that are a template for each of a list.

use minijinja::{Value, value::ValueKind};

use super::{block::TextBlock, rendered::RenderedSection};
use crate::{
    finding::{Code, Finding, Place},
    profile::{Each, Scope, SectionSpec, Unit},
    prompt::{
        budget::Budgets,
        output::Size,
        scope::{Local, Locals, TurnScope},
    },
    text::thousands,
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
    match entries(each, scope) {
        Ok(entries) if entries.is_empty() => RenderedSection::omitted(spec),
        Ok(entries) => fill(spec, each, scope, &entries, budgets)
            .unwrap_or_else(|error| RenderedSection::failed(spec, scope, &error)),
        Err(error) => RenderedSection::failed(spec, scope, &error),
    }
}

fn fill<'a>(
    spec: &'a SectionSpec,
    each: &Each,
    scope: &TurnScope<'a>,
    entries: &[String],
    budgets: &mut Budgets,
) -> Result<RenderedSection<'a>, String> {
    let templates = &scope.profile.templates;
    let (header, footer) =
        (templates.render_any(each.header.as_ref(), scope)?, templates.render_any(each.footer.as_ref(), scope)?);
    let whole = || join(&header, entries, &each.between, &footer);
    let Some(budget) = each.budget else {
        let block = TextBlock::included(&*spec.id, spec.stability, whole());
        // A bare name is the list itself: nothing can be missing, and making a list's value can be expensive.
        let all = if each.list.as_name().is_some() { Value::UNDEFINED } else { scope.value(&each.of) };
        let Some(count) = all.len().filter(|count| *count > entries.len()) else { return Ok(block.into()) };
        let reason = format!("{} of {} entries are shown.", thousands(entries.len() as u64), thousands(count as u64));
        let included = block.report.included;
        // An entry that is not shown may be one that the template cannot write: that is no fault of this prompt.
        let original = entries_of(each, &all, scope)
            .map_or(included, |entries| Size::of(&join(&header, &entries, &each.between, &footer)));
        let finding = limited(spec, each, scope, &reason);
        return Ok(RenderedSection { blocks: vec![block.limited(reason, original)], findings: vec![finding] });
    };

    let rest = budgets.rest(budget);
    let name = &scope.profile.budgets[budget].name;
    if each.whole {
        let text = whole();
        let cost = budgets.cost(budget, &text);
        if cost <= rest {
            budgets.take(budget, cost);
            return Ok(TextBlock::included(&*spec.id, spec.stability, text).into());
        }
        let reason =
            format!("It takes {cost} of the {rest} left in the budget `{name}`, and stands whole or not at all.");
        let block = TextBlock::dropped(&*spec.id, spec.stability, reason.clone(), Size::of(&text));
        return Ok(RenderedSection { blocks: vec![block], findings: vec![exceeded(spec, each, scope, &reason)] });
    }
    let mut cost = budgets.cost(budget, &header) + budgets.cost(budget, &footer);
    let between = budgets.cost(budget, &each.between);
    let mut fit = 0;
    for entry in entries {
        let next = cost + budgets.entry(budget, entry) + if fit == 0 { 0 } else { between };
        if next > rest {
            break;
        }
        cost = next;
        fit += 1;
    }
    if fit == entries.len() {
        budgets.take(budget, cost);
        return Ok(TextBlock::included(&*spec.id, spec.stability, whole()).into());
    }
    budgets.overflow(budget, if fit == 0 { 0 } else { cost });
    let reason = format!("{fit} of {} entries fit into the budget `{name}`.", thousands(entries.len() as u64));
    let original = Size::of(&whole());
    let text = if fit == 0 { String::new() } else { join(&header, &entries[..fit], &each.between, &footer) };
    if scope.profile.budgets[budget].unit == Unit::Entries {
        let block = if fit == 0 {
            TextBlock::omitted(&*spec.id, spec.stability, "")
        } else {
            TextBlock::included(&*spec.id, spec.stability, text)
        };
        let finding = limited(spec, each, scope, &reason);
        return Ok(RenderedSection { blocks: vec![block.limited(reason, original)], findings: vec![finding] });
    }
    let block = if fit == 0 {
        TextBlock::dropped(&*spec.id, spec.stability, reason.clone(), original)
    } else {
        let included = Size::of(&text);
        TextBlock::included(&*spec.id, spec.stability, text).truncated(reason.clone(), original, included)
    };
    Ok(RenderedSection { blocks: vec![block], findings: vec![exceeded(spec, each, scope, &reason)] })
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

fn join(header: &str, entries: &[String], between: &str, footer: &str) -> String {
    let length = entries.iter().map(|entry| entry.len() + between.len()).sum::<usize>();
    let mut text = String::with_capacity(header.len() + length + footer.len());
    text.push_str(header);
    for (index, entry) in entries.iter().enumerate() {
        if index > 0 {
            text.push_str(between);
        }
        text.push_str(entry);
    }
    text.push_str(footer);
    text
}

/// Every entry's text.
fn entries(each: &Each, scope: &TurnScope<'_>) -> Result<Vec<String>, String> {
    let templates = &scope.profile.templates;
    let render = |names: &dyn Scope| templates.render(&each.entry, names);
    // Snippets can be many and large: they are borrowed, not copied into values.
    if each.list.as_name() == Some("knowledge") {
        let entry = |Snippet { content, source, title }: &Snippet| {
            let own =
                [("content", Local::Text(content)), ("source", Local::Text(source)), ("title", Local::Text(title))];
            render(&Locals { own: &own, outer: scope })
        };
        return scope.knowledge().map(entry).collect();
    }
    entries_of(each, &templates.evaluate(&each.list, scope)?, scope)
}

/// The texts of a list's items.
fn entries_of(each: &Each, list: &Value, scope: &TurnScope<'_>) -> Result<Vec<String>, String> {
    let render = |names: &dyn Scope| scope.profile.templates.render(&each.entry, names);
    let items = list.try_iter().map_err(|e| e.to_string())?;
    items
        .enumerate()
        .map(|(index, item)| {
            let fields = locals(&item)?;
            let mut own: Vec<(&str, Local<'_>)> =
                fields.iter().map(|(name, value)| (name.as_str(), Local::Value(value.clone()))).collect();
            own.push(("index", Local::Value(Value::from(index + 1))));
            own.push(("item", Local::Value(item)));
            render(&Locals { own: &own, outer: scope })
        })
        .collect()
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
