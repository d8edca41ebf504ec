//! kai-ui: the components by which Kai's model draws a screen, as a table and as the text that teaches them.

mod catalogue;

use std::fmt::Write as _;

pub use catalogue::{ACTIONS, Absent, COMPONENTS, Component, ICONS, Kind, Property, SHAPES, action, component};

/// The mark of its code fences, and the tag of the action that a block is.
pub const BLOCK: &str = "kai-ui";

/// How deep components are shown, the root being 0; deeper ones are dropped.
pub const MAX_DEPTH: usize = 10;

/// The catalogue as the prompt has it, the same in every mode; it ends with a blank line.
#[must_use]
pub fn prompt() -> String {
    let names = |all: &[Component]| all.iter().map(|one| one.name).collect::<Vec<_>>().join(", ");
    let mut text = format!(
        "A screen is one JSON object in a ```{BLOCK} fence: a component, which says its `type` and may have an `id`; \
         column, row and card have `children`.\n\nComponents: {}\n",
        names(COMPONENTS)
    );
    for component in SHAPES.iter().filter_map(|name| component(name)) {
        line(&mut text, component);
    }
    text.push_str("\nActions (on buttons, countdown expiry):\n");
    for action in ACTIONS {
        line(&mut text, action);
    }
    text.push_str(
        "\nWhat the user enters stays on the device until a callback names it: list the ids in `collectFrom`, and give \
         every form a button that submits it.\n\n",
    );
    text
}

fn line(text: &mut String, component: &Component) {
    let mut shape: Vec<String> = component.properties.iter().filter(|one| one.taught).map(shape).collect();
    if component.interactive && component.name != "button" {
        shape.insert(0, "id".to_owned());
    }
    let _ = write!(text, "- {}: {{{}}}", component.name, shape.join(", "));
    if component.name == "icon" {
        let _ = write!(text, " — name is an emoji where one says more, or one of: {ICONS}");
    } else if !component.note.is_empty() {
        let _ = write!(text, " — {}", component.note);
    }
    text.push('\n');
}

/// `name`, `style?: headline|title`, `options: [string]` …
fn shape(property: &Property) -> String {
    let mark = if property.required { "" } else { "?" };
    let ty = match property.kind {
        Kind::Text => String::new(),
        Kind::Flag => ": true|false".to_owned(),
        Kind::Whole | Kind::Number => ": number".to_owned(),
        Kind::Words(words) => format!(": {}", words.join("|")),
        Kind::Texts => ": [string]".to_owned(),
        Kind::Rows => ": [[string]]".to_owned(),
        Kind::Chips => ": [{label, value}]".to_owned(),
        Kind::Tabs => ": [{label, children}]".to_owned(),
        Kind::Nodes => ": [component]".to_owned(),
        Kind::Action => ": action".to_owned(),
        Kind::Data => ": {key: value}".to_owned(),
    };
    let default = match property.default {
        Absent::Number(number) if !property.required => format!(" ({number})"),
        Absent::Flag(flag) => format!(" ({flag})"),
        Absent::Text(word) if !property.required => format!(" ({word})"),
        _ => String::new(),
    };
    format!("{}{mark}{ty}{default}", property.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_is_whole() {
        assert_eq!((COMPONENTS.len(), SHAPES.len(), ACTIONS.len()), (28, 23, 4));
        assert!(SHAPES.iter().all(|name| component(name).is_some()));
        let bare: Vec<_> = COMPONENTS.iter().map(|one| one.name).filter(|name| !SHAPES.contains(name)).collect();
        assert_eq!(bare, ["column", "row", "card", "divider", "image"]);
        let icons: Vec<_> = ICONS.split(' ').collect();
        let unique: std::collections::BTreeSet<_> = icons.iter().collect();
        assert_eq!((icons.len(), unique.len()), (108, 108));
    }
}
