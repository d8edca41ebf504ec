//! The catalogue of kai-ui: the one table that the prompt's section is written from and that replies are checked against.

/// A component.
#[derive(Debug)]
pub struct Component {
    /// Its `type`.
    pub name: &'static str,
    /// What it has beside `type` and `id`.
    pub properties: &'static [Property],
    /// Whether its `id` names what a form sends.
    pub interactive: bool,
    /// What its line of the prompt says besides; may be empty.
    pub note: &'static str,
}

/// A property of a component, or of an action.
#[derive(Debug, Clone, Copy)]
pub struct Property {
    /// Its name.
    pub name: &'static str,
    /// A name that is read too.
    pub alias: &'static str,
    /// What it is.
    pub kind: Kind,
    /// What it is where it is left out.
    pub default: Absent,
    /// Whether the prompt says that it must be there.
    pub required: bool,
    /// Whether the prompt mentions it.
    pub taught: bool,
}

/// What a property is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// True or false.
    Flag,
    /// A whole number.
    Whole,
    /// A number.
    Number,
    /// One of these words.
    Words(&'static [&'static str]),
    /// Texts.
    Texts,
    /// Rows of texts.
    Rows,
    /// `{label, value}`, any number of them.
    Chips,
    /// `{label, children}`, any number of them.
    Tabs,
    /// Components.
    Nodes,
    /// An action.
    Action,
    /// Values by name.
    Data,
}

/// What a property is where it is left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Absent {
    /// It stays away.
    Nothing,
    /// This text.
    Text(&'static str),
    /// This truth value.
    Flag(bool),
    /// This number.
    Number(f64),
    /// An empty list.
    Empty,
}

const fn property(name: &'static str, kind: Kind) -> Property {
    Property { name, alias: "", kind, default: Absent::Nothing, required: false, taught: true }
}

const fn required(name: &'static str, kind: Kind) -> Property {
    let default = match kind {
        Kind::Text => Absent::Text(""),
        Kind::Whole | Kind::Number => Absent::Number(0.0),
        Kind::Action | Kind::Data | Kind::Flag | Kind::Words(_) => Absent::Nothing,
        Kind::Texts | Kind::Rows | Kind::Chips | Kind::Tabs | Kind::Nodes => Absent::Empty,
    };
    Property { required: true, default, ..property(name, kind) }
}

const fn with(name: &'static str, kind: Kind, default: Absent) -> Property {
    Property { default, ..property(name, kind) }
}

const fn untaught(property: Property) -> Property {
    Property { taught: false, ..property }
}

const fn also(alias: &'static str, property: Property) -> Property {
    Property { alias, ..property }
}

const fn shown(name: &'static str, properties: &'static [Property], note: &'static str) -> Component {
    Component { name, properties, interactive: false, note }
}

const fn input(name: &'static str, properties: &'static [Property], note: &'static str) -> Component {
    Component { interactive: true, ..shown(name, properties, note) }
}

const COLORS: Kind = Kind::Words(&["primary", "secondary", "error"]);
const CHILDREN: Property = required("children", Kind::Nodes);
const LABEL: Property = property("label", Kind::Text);
const ALIGNMENTS: &[&str] = &[
    "center",
    "top_start",
    "top_center",
    "top_end",
    "center_start",
    "center_end",
    "bottom_start",
    "bottom_center",
    "bottom_end",
];

/// Every component, in the order in which the prompt lists them.
pub const COMPONENTS: &[Component] = &[
    shown("column", &[CHILDREN], ""),
    shown("row", &[CHILDREN], ""),
    shown("card", &[CHILDREN], ""),
    shown(
        "box",
        &[CHILDREN, property("contentAlignment", Kind::Words(ALIGNMENTS))],
        "places its one child; with more it is a column",
    ),
    shown(
        "text",
        &[
            required("value", Kind::Text),
            property("style", Kind::Words(&["headline", "title", "body", "caption"])),
            property("bold", Kind::Flag),
            property("italic", Kind::Flag),
            property("color", COLORS),
        ],
        "plain text, no Markdown in it",
    ),
    input(
        "button",
        &[
            required("label", Kind::Text),
            property("action", Kind::Action),
            with("variant", Kind::Words(&["filled", "outlined", "text", "tonal"]), Absent::Text("filled")),
            untaught(with("enabled", Kind::Flag, Absent::Flag(true))),
        ],
        "",
    ),
    input(
        "text_input",
        &[
            LABEL,
            property("placeholder", Kind::Text),
            property("value", Kind::Text),
            untaught(property("multiline", Kind::Flag)),
        ],
        "",
    ),
    input("checkbox", &[required("label", Kind::Text), with("checked", Kind::Flag, Absent::Flag(false))], ""),
    input("switch", &[required("label", Kind::Text), with("checked", Kind::Flag, Absent::Flag(false))], ""),
    input("select", &[LABEL, required("options", Kind::Texts), property("selected", Kind::Text)], ""),
    input("radio_group", &[LABEL, required("options", Kind::Texts), property("selected", Kind::Text)], ""),
    input(
        "slider",
        &[
            LABEL,
            property("value", Kind::Number),
            with("min", Kind::Number, Absent::Number(0.0)),
            with("max", Kind::Number, Absent::Number(100.0)),
            property("step", Kind::Number),
        ],
        "",
    ),
    input(
        "chip_group",
        &[
            required("chips", Kind::Chips),
            with("selection", Kind::Words(&["single", "multi", "none"]), Absent::Text("single")),
        ],
        "with none the chips are only shown, and need no id",
    ),
    shown("table", &[required("headers", Kind::Texts), required("rows", Kind::Rows)], "three or four columns at most"),
    shown(
        "list",
        &[required("items", Kind::Nodes), property("ordered", Kind::Flag)],
        "write no bullets or numbers into the items",
    ),
    shown("divider", &[], ""),
    shown(
        "image",
        &[
            also("src", required("url", Kind::Text)),
            property("alt", Kind::Text),
            property("height", Kind::Whole),
            also("aspect_ratio", property("aspectRatio", Kind::Number)),
        ],
        "",
    ),
    shown(
        "icon",
        &[required("name", Kind::Text), with("size", Kind::Whole, Absent::Number(24.0)), property("color", COLORS)],
        "",
    ),
    shown(
        "code",
        &[required("code", Kind::Text), property("language", Kind::Text)],
        "it has a copy icon already: add no button for that",
    ),
    shown("progress", &[property("value", Kind::Number), LABEL], "value is 0 to 1 and must be there"),
    shown(
        "countdown",
        &[required("seconds", Kind::Whole), LABEL, property("action", Kind::Action)],
        "its action runs when it ends",
    ),
    shown(
        "alert",
        &[
            required("message", Kind::Text),
            property("title", Kind::Text),
            property("severity", Kind::Words(&["info", "success", "warning", "error"])),
        ],
        "",
    ),
    shown("tabs", &[required("tabs", Kind::Tabs), with("selectedIndex", Kind::Whole, Absent::Number(0.0))], ""),
    shown(
        "accordion",
        &[required("title", Kind::Text), CHILDREN, with("expanded", Kind::Flag, Absent::Flag(false))],
        "",
    ),
    shown("quote", &[required("text", Kind::Text), property("source", Kind::Text)], ""),
    shown("badge", &[required("value", Kind::Text), property("color", COLORS)], ""),
    shown(
        "stat",
        &[required("value", Kind::Text), required("label", Kind::Text), property("description", Kind::Text)],
        "",
    ),
    shown(
        "avatar",
        &[
            property("name", Kind::Text),
            property("imageUrl", Kind::Text),
            with("size", Kind::Whole, Absent::Number(40.0)),
        ],
        "without an image it shows the initials; size is 24 to 80",
    ),
];

/// The components that have a line of their own in the prompt, in its order.
pub const SHAPES: &[&str] = &[
    "text",
    "button",
    "text_input",
    "checkbox",
    "switch",
    "select",
    "radio_group",
    "slider",
    "chip_group",
    "list",
    "table",
    "icon",
    "code",
    "progress",
    "countdown",
    "alert",
    "tabs",
    "accordion",
    "box",
    "quote",
    "badge",
    "stat",
    "avatar",
];

/// Every action of a button or a countdown.
pub const ACTIONS: &[Component] = &[
    shown(
        "callback",
        &[required("event", Kind::Text), property("data", Kind::Data), property("collectFrom", Kind::Texts)],
        "sends you a message with the values of the inputs named in collectFrom, and does nothing else: never promise to print, export or download",
    ),
    shown(
        "toggle",
        &[required("targetId", Kind::Text)],
        "shows or hides the component of that id, which is visible at first",
    ),
    shown("open_url", &[required("url", Kind::Text)], "opens a page"),
    shown(
        "copy_to_clipboard",
        &[required("text", Kind::Text)],
        "copies the text; the button is an icon, its label is not shown",
    ),
];

/// The names of icons that the prompt lists.
pub const ICONS: &str = "home settings search add delete edit check check_circle close arrow_back arrow_forward star \
    favorite share info warning person group mail phone calendar location refresh menu more send notifications \
    trending_up trending_down trending_flat thumb_up thumb_down visibility lock shopping_cart play pause stop download \
    upload cloud attachment link code terminal build bug lightbulb science school work account_circle language \
    translate dark_mode light_mode bolt rocket money credit_card receipt inventory category dashboard analytics chart \
    pie_chart show_chart timer alarm task bookmark flag tag pin copy paste cut undo redo filter sort swap sync wifi \
    bluetooth battery speed shield verified health fitness food coffee airplane hotel car earth map compass pet leaf \
    water weather party trophy medal premium";

/// The component of that name.
#[must_use]
pub fn component(name: &str) -> Option<&'static Component> {
    COMPONENTS.iter().find(|component| component.name == name)
}

/// The action of that name.
#[must_use]
pub fn action(name: &str) -> Option<&'static Component> {
    ACTIONS.iter().find(|action| action.name == name)
}
