//! What templates could have in earlier versions, and what to write instead.

use super::TemplateFault;

/// What the fault of each says, and what to write instead.
const REMOVED: [(&str, &str); 5] = [
    (
        "`namespace` is not known",
        "it was removed: count with the filter `length`, add up with `sum`, choose with `select` or `selectattr`",
    ),
    ("unknown statement macro", "macros were removed: write the text where it is used, or a section with `each`"),
    ("unknown statement call", "macros were removed: write the text where it is used, or a section with `each`"),
    ("the filter `chain` is not known", "it was removed: write one loop after the other"),
    ("a loop cannot be `recursive`", "write one loop inside the other, for each level that there is"),
];

/// The fault, with what to write instead where it is about something that was removed.
pub(super) fn with_replacement(mut fault: TemplateFault) -> TemplateFault {
    if let Some((_, instead)) = REMOVED.iter().find(|(said, _)| fault.message.starts_with(said)) {
        fault.message = format!("{}; {instead}", fault.message);
    }
    fault
}
