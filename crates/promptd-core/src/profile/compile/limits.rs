//! Budgets, and the numbers that limit: fixed, or the value of an input.

use super::{
    super::{
        range::Range,
        raw::{RawBudget, Spanned},
        spec::{Amount, Body, Budget, Each, Input, Part, Share, Unit},
        types::Type,
        words::{OVERFLOWS, UNITS},
    },
    Compiler,
};

use crate::{turn::TurnFields, yaml::Scalar};

impl Compiler<'_> {
    pub(super) fn budget(&mut self, raw: &RawBudget) -> Option<Budget> {
        let on_overflow =
            raw.on_overflow.as_ref().and_then(|written| self.one_of(written, "`on_overflow` value", &OVERFLOWS));
        let unit = raw.unit.as_ref().map_or(Some(Unit::Chars), |written| self.one_of(written, "unit", &UNITS))?;
        let Some(limit) = &raw.limit else {
            self.fault(&raw.name, format!("the budget `{}` needs a `limit`", raw.name.value));
            return None;
        };
        let limit = self.amount(limit)?;
        Some(Budget { name: raw.name.value.clone(), limit, unit, on_overflow: on_overflow.unwrap_or_default() })
    }

    pub(super) fn amount(&mut self, written: &Spanned<String>) -> Option<Amount> {
        match whole(&written.value) {
            Some(number) => Some(Amount::Fixed(number)),
            None => self.number_input(written, "a whole number", Range::NOT_NEGATIVE).map(Amount::Input),
        }
    }

    pub(super) fn share(&mut self, written: &Spanned<String>) -> Option<Share> {
        match written.value.parse::<f64>() {
            Ok(share) if (0.0..=1.0).contains(&share) => Some(Share::Fixed(share)),
            Ok(_) => {
                self.fault(written, format!("`{}` is not between 0 and 1", written.value));
                None
            }
            Err(_) => self.number_input(written, "a number", Range::SHARE).map(Share::Input),
        }
    }

    /// The input of that name, which from now on takes only what is in `range` too.
    fn number_input(&mut self, written: &Spanned<String>, wanted: &str, range: Range) -> Option<String> {
        let Some(input) = self.inputs.iter_mut().find(|input| input.field.name == written.value) else {
            self.fault(written, format!("`{}` is neither {wanted} nor an input", written.value));
            return None;
        };
        let message = match &mut input.field.ty {
            Type::Int(own) | Type::Number(own) => {
                *own = own.and(range);
                let default = input.field.default.as_ref().and_then(serde_json::Value::as_f64);
                match default.filter(|default| !range.contains(*default)) {
                    None if !own.is_empty() => return Some(written.value.clone()),
                    Some(default) => {
                        format!("the default of the input `{}` must be {range}, not {default}", written.value)
                    }
                    None => format!("the input `{}` must be {range}, which its own range excludes", written.value),
                }
            }
            other => format!("the input `{}` is {}, not a number", written.value, other.describe()),
        };
        self.fault(written, message);
        None
    }
}

/// A whole number, however it is written: `5.0` and `1e3` are such numbers too.
fn whole(text: &str) -> Option<u64> {
    let plain = || Scalar { text: text.to_owned(), plain: true, literal: false, cut: None };
    text.parse().ok().or_else(|| plain().as_count())
}

/// A section that draws on a budget depends on all that draw on it, and on the input that has its limit.
pub(super) fn share_budgets(parts: &mut [Part], budgets: &[Budget], inputs: &[Input]) {
    let limit = |budget: &Budget| match &budget.limit {
        Amount::Fixed(_) => TurnFields::NONE,
        Amount::Input(name) => {
            inputs.iter().find(|input| input.field.name == *name).map_or(TurnFields::NONE, Input::deps)
        }
    };
    let mut deps: Vec<TurnFields> = budgets.iter().map(limit).collect();
    for pass in 0..2 {
        for part in parts.iter_mut() {
            let Part::Message(message) = part else { continue };
            for section in &mut message.sections {
                let Body::Each(Each { budget: Some(budget), .. }) = &section.body else { continue };
                if pass == 0 {
                    deps[*budget] |= section.deps;
                } else {
                    section.deps |= deps[*budget];
                }
            }
        }
    }
}
