//! Limits that sections share.

/// A limit that sections share, in profile order.
#[derive(Debug, Clone)]
pub struct Budget {
    /// Its name.
    pub name: String,
    /// How much.
    pub limit: Amount,
    /// Of what.
    pub unit: Unit,
    /// What an entry that does not fit ends.
    pub on_overflow: OnOverflow,
}

/// What the first entry that does not fit ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnOverflow {
    /// The budget: nothing that comes after may take the room.
    #[default]
    Close,
    /// Its section alone: the sections after it go on with what is left.
    NextSection,
}

/// A number, or the input that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Amount {
    /// A number.
    Fixed(u64),
    /// The name of an `int` input.
    Input(String),
}

/// What a budget counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Unicode scalar values.
    Chars,
    /// UTF-16 code units.
    Utf16,
    /// UTF-8 bytes.
    Bytes,
    /// Tokens of `o200k_base`.
    Tokens,
    /// Estimated tokens of a user message with the text, as `max_tokens` of a conversation counts them.
    Estimate,
    /// Entries, whatever their length; headers and footers are free.
    Entries,
}

/// A part of a whole, 0 to 1, or the `number` input that has it.
#[derive(Debug, Clone, PartialEq)]
pub enum Share {
    /// A number.
    Fixed(f64),
    /// The name of an input.
    Input(String),
}
