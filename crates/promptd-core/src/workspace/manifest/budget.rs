//! `budget` in `workspace.yaml`.

use std::collections::BTreeMap;

use crate::{
    budget::{BudgetUnit, PromptBudget, SectionRule, WorkspaceBudget},
    finding::Code,
    profile::ProfileSet,
    tokens::Encoding,
    yaml::{Fields, nearest},
};

/// The id of the conversation's report.
const CONVERSATION: &str = "conversation";

/// Reads the budget. A section must be one of a profile that the workspace can use.
pub(super) fn read(mut fields: Fields<'_, '_>, profiles: &ProfileSet) -> WorkspaceBudget {
    let max = fields.count("max");
    let max = max.and_then(|max| match u32::try_from(max) {
        Ok(max) if max > 0 => Some(max),
        _ => {
            let message = format!("`{}` must be from 1 to {}", fields.name("max"), u32::MAX);
            fields.faults().add(Code::InvalidValue, fields.mark("max"), message);
            None
        }
    });
    let encoding = fields.choice("encoding").and_then(|name| Encoding::parse(name).ok()).unwrap_or(Encoding::DEFAULT);
    let unit = match fields.choice("unit") {
        Some("chars") => BudgetUnit::Chars,
        _ => BudgetUnit::Tokens(encoding),
    };
    let sections = sections(&mut fields, profiles);
    fields.finish();
    WorkspaceBudget { limit: max.map(|max| PromptBudget { max, unit }), sections }
}

fn sections(fields: &mut Fields<'_, '_>, profiles: &ProfileSet) -> BTreeMap<String, SectionRule> {
    let known = || profiles.iter().flat_map(|profile| profile.sections().map(|(_, section)| section.id.as_str()));
    let mut sections = BTreeMap::new();
    for (pair, mut section) in fields.named("sections") {
        let id = pair.key.as_str();
        if id != CONVERSATION && !known().any(|known| known == id) {
            let whole = known().find(|known| id.strip_prefix(known).is_some_and(|part| part.starts_with('/')));
            let hint = match whole {
                Some(whole) => Some(format!("; parts of a section have no rule of their own, `{whole}` has")),
                None => nearest(id, known().chain([CONVERSATION])).map(|near| format!("; did you mean `{near}`?")),
            };
            let message = format!("no profile has a section `{id}`{}", hint.unwrap_or_default());
            section.faults().add(Code::InvalidValue, pair.at, message);
        }
        let rule = rule(&mut section);
        section.finish();
        sections.insert(id.to_owned(), rule);
    }
    sections
}

fn rule(section: &mut Fields<'_, '_>) -> SectionRule {
    let floor = section.count("floor").unwrap_or(0);
    let ceiling = section.count("ceiling");
    let priority = section.count("priority");
    let wrong = |section: &Fields<'_, '_>, key: &str, message: String| {
        section.faults().add(Code::InvalidValue, section.mark(key), format!("`{}` {message}", section.name(key)));
    };
    if ceiling.is_some_and(|ceiling| ceiling < floor) {
        wrong(section, "ceiling", format!("must not be less than the floor, {floor}"));
    }
    let most = SectionRule::MAX_PRIORITY as usize;
    if priority.is_some_and(|priority| priority > most) {
        wrong(section, "priority", format!("must be from 0 to {most}"));
    }
    let is_pinned = section.bool("pinned").unwrap_or(false);
    let priority = priority.and_then(|priority| u32::try_from(priority).ok());
    SectionRule { floor, ceiling, priority, is_pinned }
}
