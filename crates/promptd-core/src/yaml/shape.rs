//! What a mapping may hold: the tables that files are read by, and that their JSON Schemas are made of.

/// A key of a mapping.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What its value is.
    pub shape: Shape,
    /// Whether it must be there, and not null.
    pub required: bool,
    /// Its default, as YAML; empty: it has no fixed one.
    pub default: &'static str,
    /// What it does: a sentence or two, in Markdown. Editors show it.
    pub about: &'static str,
}

impl Key {
    /// A key that may be left out.
    #[must_use]
    pub const fn new(name: &'static str, shape: Shape, about: &'static str) -> Self {
        Self { name, shape, required: false, default: "", about }
    }

    /// The same key with a default.
    #[must_use]
    pub const fn or(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    /// The same key where it must be there.
    #[must_use]
    pub const fn required(self) -> Self {
        Self { required: true, ..self }
    }
}

/// What a value is.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// Text; a number or a boolean needs quotes.
    Text(Text),
    /// Text, or any other scalar as it is written.
    Scalar(Text),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// `true` or `false`.
    Bool,
    /// One of these words, or a mapping with these keys.
    WordOrMap(&'static [&'static str], &'static [Key]),
    /// A list of scalars, each as it is written, or a mapping with these keys.
    TextsOrMap(Text, &'static [Key]),
    /// A number.
    Number,
    /// A whole number, 0 or more.
    Count,
    /// A whole number, 0 or more, or the name of an input.
    Amount,
    /// A number from 0 to 1, or the name of an input.
    Share,
    /// A list of scalars, each as it is written.
    Texts(Text),
    /// A list of these words.
    Choices {
        /// The words.
        words: &'static [&'static str],
        /// The fewest items.
        least: usize,
    },
    /// A mapping with these keys.
    Map(&'static [Key]),
    /// A list of mappings with these keys.
    Each {
        /// Of every item.
        keys: &'static [Key],
        /// The most items.
        most: usize,
    },
    /// A mapping from names to mappings with these keys.
    Named(&'static [Key]),
    /// A mapping with keys of any name, whose values have rules that no table has.
    Pairs,
    /// Any value at all.
    Any,
}

/// What a text must be. Whatever cannot be said here is checked by who reads it.
#[derive(Debug, Clone, Copy)]
pub struct Text {
    /// A regular expression for the text, in what JavaScript and Python have in common.
    pub pattern: Option<&'static str>,
    /// The most characters.
    pub most: Option<usize>,
}

impl Text {
    /// Any text.
    pub const ANY: Self = Self { pattern: None, most: None };

    /// Text that has a match of the pattern.
    #[must_use]
    pub const fn like(pattern: &'static str) -> Self {
        Self { pattern: Some(pattern), most: None }
    }
}

/// The names of a table of choices.
#[must_use]
pub const fn names<T: Copy, const N: usize>(choices: &[(&'static str, T); N]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut index = 0;
    while index < N {
        names[index] = choices[index].0;
        index += 1;
    }
    names
}
