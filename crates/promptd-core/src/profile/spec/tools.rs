//! Which of the tools that a turn brings the model may use.

/// The names of the tools that are allowed; all others are taken out of the input `tools`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolAllowlist {
    /// Always the same.
    Names(Vec<String>),
    /// By the value of an input; all are allowed where it has no list.
    ByInput {
        /// The input.
        input: String,
        /// Values with their names.
        lists: Vec<(String, Vec<String>)>,
    },
}

impl ToolAllowlist {
    /// The input of tools: a list of objects with a `name`.
    pub const INPUT: &'static str = "tools";
    /// The input that says whether any tool is left; it follows from the tools where they are given.
    pub const ANY_INPUT: &'static str = "has_tools";

    /// The names for a value of the input; `None`: all are allowed.
    #[must_use]
    pub fn names(&self, value: impl FnOnce(&str) -> Option<String>) -> Option<&[String]> {
        match self {
            Self::Names(names) => Some(names),
            Self::ByInput { input, lists } => {
                let value = value(input)?;
                lists.iter().find(|(word, _)| *word == value).map(|(_, names)| names.as_slice())
            }
        }
    }
}
