//! The tree of a screen, checked against the catalogue: every property has its type and its default, and what the catalogue
//! does not have is left out, with a note.

use serde_json::{Map, Value, json};

use super::super::MAX_DEPTH as MAX_JSON_DEPTH;
use crate::{
    kai_ui::{self, ACTIONS, Absent, COMPONENTS, Component, Kind, Property},
    text::shorten,
    yaml::nearest,
};

/// The most characters of a name that a note shows.
const SHOWN_CHARS: usize = 64;

/// How many levels of JSON a component may need below its own: `data` of an action, rows of a table.
const ROOM: usize = 4;

/// Checks a tree. `note` takes what is left out, a phrase with its path each. `None`: the root itself is not a component.
pub(super) fn checked(root: Map<String, Value>, note: &mut dyn FnMut(String)) -> Option<Map<String, Value>> {
    let mut check = Check { note };
    match check.node(&Value::Object(root), Place { path: "the screen".to_owned(), depth: 0, level: 1 }) {
        Some(Value::Object(tree)) => Some(tree),
        _ => None,
    }
}

struct Check<'n> {
    note: &'n mut dyn FnMut(String),
}

/// Where a component is.
struct Place {
    path: String,
    /// Components above it.
    depth: usize,
    /// Levels of JSON down to it.
    level: usize,
}

impl Place {
    fn below(&self, key: &str, index: usize, levels: usize) -> Self {
        let path = if self.depth == 0 { format!("{key}[{index}]") } else { format!("{}.{key}[{index}]", self.path) };
        Self { path, depth: self.depth + 1, level: self.level + levels }
    }
}

impl Check<'_> {
    fn node(&mut self, value: &Value, place: Place) -> Option<Value> {
        if place.depth > kai_ui::MAX_DEPTH || place.level + ROOM > MAX_JSON_DEPTH {
            (self.note)(format!("{} is nested too deep", place.path));
            return None;
        }
        let Value::Object(given) = value else {
            return match value {
                Value::Null => None,
                _ => Some(json!({ "type": "text", "value": text(value) })),
            };
        };
        let Some(name) = given.get("type").map(text) else { return self.untyped(given, place) };
        let Some(component) = kai_ui::component(&name) else {
            self.unknown("component", &name, COMPONENTS, &place);
            return None;
        };
        Some(self.component(component, given, &place))
    }

    fn component(&mut self, component: &Component, given: &Map<String, Value>, place: &Place) -> Value {
        let mut node = Map::from_iter([("type".to_owned(), component.name.into())]);
        match given.get("id").filter(|id| !id.is_null()) {
            Some(id) => drop(node.insert("id".into(), text(id).into())),
            None if component.interactive => drop(node.insert("id".into(), "".into())),
            None => {}
        }
        self.properties(component, given, place, &mut node);
        match component.name {
            "avatar" => clamp(&mut node, "size", 24.0, 80.0),
            "progress" => clamp(&mut node, "value", 0.0, 1.0),
            "box" if given.contains_key("contentAlignment") && !node.contains_key("contentAlignment") => {
                node.insert("contentAlignment".into(), "top_start".into());
            }
            "chip_group" if !given.contains_key("selection") => {
                if let Some(multi) = given.get("multiSelect").and_then(flag) {
                    node.insert("selection".into(), if multi { "multi" } else { "single" }.into());
                }
            }
            _ => {}
        }
        Value::Object(node)
    }

    fn properties(&mut self, of: &Component, given: &Map<String, Value>, place: &Place, node: &mut Map<String, Value>) {
        for property in of.properties {
            let value = given.get(property.name).or_else(|| given.get(property.alias)).filter(|value| !value.is_null());
            let value = value.and_then(|value| {
                let read = self.value(property, value, place);
                if read.is_none() {
                    (self.note)(format!(
                        "{}: `{}` of `{}` is not {}",
                        place.path,
                        property.name,
                        of.name,
                        wanted(property.kind)
                    ));
                }
                read
            });
            if let Some(value) = value.or_else(|| absent(property)) {
                node.insert(property.name.to_owned(), value);
            }
        }
        let known = |key: &str| {
            matches!(key, "type" | "id" | "multiSelect")
                || of.properties.iter().any(|p| p.name == key || p.alias == key)
        };
        for key in given.keys().filter(|key| !known(key)) {
            (self.note)(format!("{}: `{}` has no `{}`", place.path, of.name, shorten(key, SHOWN_CHARS)));
        }
    }

    fn value(&mut self, property: &Property, value: &Value, place: &Place) -> Option<Value> {
        let key = property.name;
        match property.kind {
            Kind::Text => Some(text(value).into()),
            Kind::Flag => flag(value).map(Value::Bool),
            Kind::Whole => number(value).map(|number| json!(number.trunc())),
            Kind::Number => number(value).map(|number| json!(number)),
            Kind::Words(words) => Some(text(value)).filter(|word| words.contains(&word.as_str())).map(Value::String),
            Kind::Texts => Some(items(value).iter().map(option).collect()),
            Kind::Rows => Some(items(value).iter().map(row).collect()),
            Kind::Chips => Some(items(value).iter().map(chip).collect()),
            Kind::Tabs => {
                let tab = |(index, tab): (usize, &Value)| self.tab(tab, &place.below(key, index, 2));
                Some(items(value).iter().enumerate().map(tab).collect())
            }
            Kind::Nodes => Some(self.nodes(key, value, place, 2)),
            Kind::Action => self.action(value, place),
            Kind::Data => match value {
                Value::Object(data) => Some(data.iter().map(|(key, value)| (key.clone(), primitive(value))).collect()),
                _ => None,
            },
        }
    }

    fn nodes(&mut self, key: &str, value: &Value, place: &Place, levels: usize) -> Value {
        let node = |(index, node): (usize, &Value)| self.node(node, place.below(key, index, levels));
        items(value).iter().enumerate().filter_map(node).collect()
    }

    fn tab(&mut self, tab: &Value, place: &Place) -> Value {
        let Value::Object(given) = tab else { return json!({ "label": text(tab), "children": [] }) };
        let children =
            given.get("children").map_or_else(|| json!([]), |children| self.nodes("children", children, place, 2));
        json!({ "label": given.get("label").or_else(|| given.get("title")).map(text).unwrap_or_default(), "children": children })
    }

    /// A text alone is the event of a callback; without a type the fields say which action it is.
    fn action(&mut self, value: &Value, place: &Place) -> Option<Value> {
        let Value::Object(given) = value else { return Some(json!({ "type": "callback", "event": text(value) })) };
        let name = given.get("type").map_or_else(
            || match ["event", "targetId", "url"].into_iter().find(|key| given.contains_key(*key)) {
                Some("targetId") => "toggle".to_owned(),
                Some("url") => "open_url".to_owned(),
                _ => "callback".to_owned(),
            },
            text,
        );
        let Some(action) = kai_ui::action(&name) else {
            self.unknown("action", &name, ACTIONS, place);
            return None;
        };
        let mut node = Map::from_iter([("type".to_owned(), action.name.into())]);
        self.properties(action, given, place, &mut node);
        Some(Value::Object(node))
    }

    fn unknown(&mut self, what: &str, name: &str, known: &[Component], place: &Place) {
        let near = nearest(name, known.iter().map(|one| one.name));
        let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        (self.note)(format!("{}: unknown {what} `{}`{hint}", place.path, shorten(name, SHOWN_CHARS)));
    }

    /// A component without a type: a title with a subtitle, else a text, else a column.
    fn untyped(&mut self, given: &Map<String, Value>, place: Place) -> Option<Value> {
        if let (Some(title), Some(subtitle)) = (given.get("title"), given.get("subtitle")) {
            return Some(json!({ "type": "column", "children": [
                { "type": "text", "value": text(title), "style": "title" },
                { "type": "text", "value": text(subtitle), "style": "caption" },
            ] }));
        }
        if let Some(key) =
            ["value", "content", "text", "title", "label"].into_iter().find(|key| given.contains_key(*key))
        {
            let mut node = given.clone();
            let value = node.shift_remove(key).unwrap_or_default();
            node.retain(|key, _| matches!(key.as_str(), "style" | "bold" | "italic" | "color" | "id"));
            node.insert("type".into(), "text".into());
            node.insert("value".into(), value);
            if key == "title" {
                node.insert("style".into(), "title".into());
            }
            return self.node(&Value::Object(node), place);
        }
        if let Some(children) = given.get("children") {
            return Some(json!({ "type": "column", "children": self.nodes("children", children, &place, 2) }));
        }
        (self.note)(format!("{} has no type", place.path));
        None
    }
}

fn absent(property: &Property) -> Option<Value> {
    match property.default {
        Absent::Nothing => None,
        Absent::Text(text) => Some(text.into()),
        Absent::Flag(flag) => Some(flag.into()),
        Absent::Number(number) => Some(json!(number)),
        Absent::Empty => Some(json!([])),
    }
}

fn wanted(kind: Kind) -> String {
    match kind {
        Kind::Flag => "true or false".to_owned(),
        Kind::Whole | Kind::Number => "a number".to_owned(),
        Kind::Words(words) => format!("one of {}", words.join(", ")),
        Kind::Action => "an action".to_owned(),
        Kind::Data => "an object".to_owned(),
        Kind::Text | Kind::Texts | Kind::Rows | Kind::Chips | Kind::Tabs | Kind::Nodes => "readable".to_owned(),
    }
}

fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        other => std::slice::from_ref(other),
    }
}

/// Text, also where an object or a list is in its place.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let keys = ["value", "text", "label", "title", "name", "content"];
            keys.iter().find_map(|key| fields.get(*key)).map(text).unwrap_or_default()
        }
        other => other.to_string(),
    }
}

/// An option, of which the label is what is chosen.
fn option(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields.get("label").map_or_else(|| text(value), text).into(),
        other => text(other).into(),
    }
}

fn chip(value: &Value) -> Value {
    let (label, given) = match value {
        Value::Object(fields) => {
            (fields.get("label").map_or_else(|| text(value), text), fields.get("value").map(text).unwrap_or_default())
        }
        other => (text(other), String::new()),
    };
    let value = if given.is_empty() { label.clone() } else { given };
    json!({ "label": label, "value": value })
}

fn row(value: &Value) -> Value {
    match value {
        Value::Array(cells) => cells.iter().map(|cell| Value::from(text(cell))).collect(),
        Value::Object(cells) => cells.values().map(|cell| Value::from(text(cell))).collect(),
        other => json!([text(other)]),
    }
}

fn primitive(value: &Value) -> Value {
    match value {
        Value::Array(_) | Value::Object(_) => value.to_string().into(),
        other => other.clone(),
    }
}

fn flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        other => match text(other).to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" => Some(true),
            "false" | "no" | "0" => Some(false),
            _ => None,
        },
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
        _ => None,
    }
}

fn clamp(node: &mut Map<String, Value>, key: &str, min: f64, max: f64) {
    if let Some(number) = node.get(key).and_then(Value::as_f64) {
        node.insert(key.to_owned(), json!(number.clamp(min, max)));
    }
}
