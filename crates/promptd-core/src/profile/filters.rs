//! The filters that templates have besides minijinja's own.

use std::{fmt, io};

use minijinja::{
    Environment, Error, ErrorKind, State, Value, filters,
    value::{Kwargs, Rest, ValueKind},
};
use serde::Serialize as _;

use super::types::to_rendered;
use crate::{
    team::{self, Card, RawCard, Roster},
    text::{tags, xml},
    time::Moment,
};

/// A filter from text to text, with at most one constant argument: adds what it makes to the last.
pub(super) type PlainFilter = fn(&str, &str, &mut String);

/// Text filters: name, whether it takes an argument, and what it does. Those that minijinja has too do the same.
const PLAIN: &[(&str, bool, PlainFilter)] = &[
    ("trim", false, |text, _, out| out.push_str(text.trim())),
    ("xml", false, |text, _, out| out.push_str(&xml::escape(text))),
    ("attribute", true, attribute),
    ("defuse", true, |text, tag, out| out.push_str(&xml::defuse_closing_tag(text, tag))),
    ("defuse_tags", false, |text, _, out| out.push_str(&tags::defuse(text))),
    ("zulu", false, zulu),
];

/// The text filter of that name, and whether it takes an argument.
#[must_use]
pub(super) fn plain(name: &str) -> Option<(bool, PlainFilter)> {
    PLAIN.iter().find(|(known, ..)| *known == name).map(|(_, argument, filter)| (*argument, *filter))
}

/// ` name="value"` with a space before it and the value escaped; nothing where the value is empty.
fn attribute(value: &str, name: &str, out: &mut String) {
    if !value.is_empty() {
        out.extend([" ", name, "=\"", &xml::escape_attribute(value), "\""]);
    }
}

/// A local time whose offset is zero, with `Z` for it.
fn zulu(time: &str, _: &str, out: &mut String) {
    match time.strip_suffix("+00:00") {
        Some(local) => out.extend([local, "Z"]),
        None => out.push_str(time),
    }
}

/// Adds a filter to an environment under its name.
type AddFilter = fn(&mut Environment<'static>, &'static str);

/// Filters of values: name, and how it is added.
const OF_VALUES: &[(&str, AddFilter)] = &[
    ("json", |env, name| env.add_filter(name, json)),
    ("quoted", |env, name| env.add_filter(name, |text: &str| text.replace('"', "&quot;"))),
    ("sum_of", |env, name| env.add_filter(name, sum_of)),
    ("newest", |env, name| env.add_filter(name, newest)),
    ("epoch_ms", |env, name| {
        env.add_filter(name, |time: &Value| epoch(time).map_or(0, Moment::as_milliseconds));
    }),
    ("newest_first", |env, name| env.add_filter(name, newest_first)),
    ("match_summoners", |env, name| env.add_filter(name, match_summoners)),
    ("match_monsters", |env, name| env.add_filter(name, match_monsters)),
    ("match_ids", |env, name| env.add_filter(name, match_ids)),
    ("team_size", |env, name| env.add_filter(name, team_size)),
];

/// Adds the filters to an environment.
pub(super) fn register(env: &mut Environment<'static>) {
    for &(name, takes_argument, filter) in PLAIN.iter().filter(|(name, ..)| *name != "trim") {
        if takes_argument {
            env.add_filter(name, move |text: &str, argument: &str| filtered(filter, text, argument));
        } else {
            env.add_filter(name, move |text: &str| filtered(filter, text, ""));
        }
    }
    for (name, add) in OF_VALUES {
        add(env, name);
    }
    env.add_filter("sum", sum);
}

/// What a text filter makes of a text.
pub(super) fn filtered(filter: PlainFilter, text: &str, argument: &str) -> String {
    let mut out = String::with_capacity(text.len());
    filter(text, argument, &mut out);
    out
}

/// Every filter's name.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    PLAIN.iter().map(|(name, ..)| *name).chain(OF_VALUES.iter().map(|(name, _)| *name))
}

/// Compact JSON, as `JSON.stringify` writes it: keys in their order, nothing escaped that need not be. With `keys`,
/// an object's fields of those names alone, in that order.
fn json(value: &Value, keys: Option<Vec<String>>) -> Result<String, Error> {
    let picked = keys.filter(|_| value.kind() == ValueKind::Map).map(|keys| {
        let field = |key: String| value.get_item(&Value::from(key.as_str())).ok().map(|found| (key, found));
        Value::from_pairs(keys.into_iter().filter_map(field).filter(|(_, found)| !found.is_undefined()))
    });
    let mut out = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, JsNumbers);
    let fault = |e: &dyn fmt::Display| Error::new(ErrorKind::InvalidOperation, e.to_string());
    picked.as_ref().unwrap_or(value).serialize(&mut serializer).map_err(|e| fault(&e))?;
    String::from_utf8(out).map_err(|e| fault(&e))
}

/// Numbers as JavaScript writes them.
struct JsNumbers;

impl serde_json::ser::Formatter for JsNumbers {
    fn write_f64<W: ?Sized + io::Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        match value.abs() {
            size if size >= 1e21 => out.write_all(format!("{value:e}").replace('e', "e+").as_bytes()),
            size if size < 1e-6 && size > 0.0 => write!(out, "{value:e}"),
            _ => write!(out, "{value}"),
        }
    }
}

/// The items of a list, of which each counts as a step.
fn items(state: &State<'_, '_>, list: &Value) -> Result<Vec<Value>, Error> {
    let items: Vec<Value> = list.try_iter()?.collect();
    state.consume_fuel(items.len() as u64)?;
    Ok(items)
}

/// minijinja's `sum`, of numbers alone: beginning with a list, it would join lists.
fn sum(state: &State<'_, '_>, list: Value, attribute: Option<&str>, options: Kwargs) -> Result<Value, Error> {
    if options.has("start") {
        return Err(Error::new(ErrorKind::InvalidOperation, "`sum` takes no `start`"));
    }
    filters::sum(state, list, attribute, None, options)
}

/// The last `keep` of a list that is longer than `limit`. The cut moves back past items whose dotted `field` is
/// `value`.
fn newest(
    state: &State<'_, '_>,
    list: &Value,
    limit: i64,
    keep: i64,
    Rest(words): Rest<String>,
) -> Result<Value, Error> {
    let Ok([field, value]) = <[String; 2]>::try_from(words) else {
        return Err(Error::new(ErrorKind::MissingArgument, "`newest` takes a limit, a number, a field and a value"));
    };
    let items = items(state, list)?;
    let count = |number: i64| usize::try_from(number.max(0)).unwrap_or(usize::MAX);
    if items.len() <= count(limit) {
        return Ok(list.clone());
    }
    let of = |item: &Value| field.split('.').try_fold(item.clone(), |at, step| at.get_attr(step).ok());
    let mut start = items.len().saturating_sub(count(keep));
    while start > 0 && items.get(start).and_then(of).is_some_and(|found| found.as_str() == Some(value.as_str())) {
        start -= 1;
    }
    Ok(items.into_iter().skip(start).collect())
}

fn epoch(time: &Value) -> Option<Moment> {
    time.as_str()?.parse().ok()
}

/// A list of objects by a time of theirs, the newest first; equal ones stay in order, those without come last.
fn newest_first(state: &State<'_, '_>, list: &Value, field: &str) -> Result<Value, Error> {
    let mut dated: Vec<(Option<Moment>, Value)> = Vec::new();
    for item in items(state, list)? {
        dated.push((epoch(&item.get_attr(field)?), item));
    }
    dated.sort_by(|(a, _), (b, _)| b.cmp(a));
    Ok(dated.into_iter().map(|(_, item)| item).collect())
}

/// The sum of a whole-number field over a list of objects.
fn sum_of(state: &State<'_, '_>, list: &Value, field: &str) -> Result<i64, Error> {
    let mut sum = 0_i64;
    for item in items(state, list)? {
        sum = sum.saturating_add(item.get_attr(field)?.as_i64().unwrap_or(0));
    }
    Ok(sum)
}

/// The summoners that a match admits, at their levels.
fn match_summoners(state: &State<'_, '_>, summoners: &Value, ruleset: &str, inactive: &str) -> Result<Value, Error> {
    let roster = Roster::new(cards(state, summoners)?, Vec::new(), ruleset, inactive);
    Ok(rendered(&roster.summoners))
}

/// The monsters that a match admits beside its summoners, at their levels.
fn match_monsters(
    state: &State<'_, '_>,
    monsters: &Value,
    summoners: &Value,
    ruleset: &str,
    inactive: &str,
) -> Result<Value, Error> {
    Ok(rendered(&roster(state, [summoners, monsters], ruleset, inactive)?.monsters))
}

/// The ids of the cards that a match admits, each with its `uid`.
fn match_ids(
    state: &State<'_, '_>,
    monsters: &Value,
    summoners: &Value,
    ruleset: &str,
    inactive: &str,
) -> Result<Value, Error> {
    Ok(to_rendered(&roster(state, [summoners, monsters], ruleset, inactive)?.ids().into()))
}

fn roster(
    state: &State<'_, '_>,
    [summoners, monsters]: [&Value; 2],
    ruleset: &str,
    inactive: &str,
) -> Result<Roster, Error> {
    Ok(Roster::new(cards(state, summoners)?, cards(state, monsters)?, ruleset, inactive))
}

fn team_size(ruleset: &str, most: i64) -> i64 {
    team::team_size(ruleset, most)
}

fn rendered(cards: &[Card]) -> Value {
    serde_json::to_value(cards).map_or_else(|_| Value::from(()), |cards| to_rendered(&cards))
}

fn cards(state: &State<'_, '_>, list: &Value) -> Result<Vec<RawCard>, Error> {
    /// About how many values of a card are read.
    const STEPS_A_CARD: u64 = 16;
    let cards = items(state, list)?;
    state.consume_fuel(STEPS_A_CARD * cards.len() as u64)?;
    let fault = |e: &dyn fmt::Display| Error::new(ErrorKind::InvalidOperation, format!("not a list of cards: {e}"));
    serde_json::to_value(cards).and_then(serde_json::from_value).map_err(|e| fault(&e))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluated(source: &str) -> Value {
        let mut env = Environment::new();
        register(&mut env);
        env.compile_expression(source).unwrap().eval(()).unwrap()
    }

    #[test]
    fn json_is_what_javascript_writes() {
        for (source, json) in [
            ("{'b': 1, 'a': [true, none, 'é\"\\n']}|json", "{\"b\":1,\"a\":[true,null,\"é\\\"\\n\"]}"),
            ("{'b': 1, 'a': 2, 'c': 3}|json(['a', 'b', 'd'])", "{\"a\":2,\"b\":1}"),
            ("{'b': 1}|json(none)", "{\"b\":1}"),
            ("'x'|json(['a'])", "\"x\""),
            ("[0.1, 1.5e21, 0.0000001, 0.000001, 1e19]|json", "[0.1,1.5e+21,1e-7,0.000001,10000000000000000000]"),
        ] {
            assert_eq!(evaluated(source).as_str(), Some(json), "{source}");
        }
    }

    #[test]
    fn cards_of_a_match_are_filtered_and_numbered() {
        let cards = "[{'uid': 'r', 'color': 'Red', 'mana': [3]}, {'uid': 'b', 'color': 'Blue', 'mana': [4]}]";
        for (source, left) in [
            (format!("({cards}|match_summoners('Odd Ones Out', ''))|length"), "1"),
            (format!("({cards}|match_summoners('', 'Water'))[0].splinter"), "Fire"),
            (format!("({cards}|match_monsters([{{'color': 'Blue'}}], '', ''))[0].uid"), "b"),
            (
                format!("({cards}|match_ids([{{'uid': 's', 'color': 'Red'}}], '', ''))|json"),
                "{\"1\":\"s\",\"1001\":\"r\"}",
            ),
            ("'High Five'|team_size(6)".to_owned(), "5"),
        ] {
            assert_eq!(evaluated(&source).to_string(), left, "{source}");
        }
    }

    #[test]
    fn the_newest_are_taken_above_the_limit_only() {
        for (source, left) in [
            ("[1, 2, 3]|newest(3, 1, 'a', 'x')", "[1, 2, 3]"),
            ("[1, 2, 3]|newest(2, 2, 'a', 'x')", "[2, 3]"),
            ("[1, 2, 3]|newest(0, 0, 'a', 'x')", "[]"),
            ("[1, 2, 3]|newest(-1, -1, 'a', 'x')", "[]"),
            ("[1, 2, 3]|newest(2, 9, 'a', 'x')", "[1, 2, 3]"),
            ("['y', 'x', 'x', 'y']|newest(3, 2, 'a', 'x')", "['x', 'y']"),
            ("[{'a': {'b': 'y'}}, {'a': {'b': 'x'}}]|newest(1, 1, 'a.b', 'x')|length", "2"),
            ("[{'a': {'b': 'x'}}, {'a': {'b': 'x'}}, 7]|newest(1, 2, 'a.b', 'x')|length", "3"),
        ] {
            assert_eq!(evaluated(source).to_string(), left, "{source}");
        }
    }
}
