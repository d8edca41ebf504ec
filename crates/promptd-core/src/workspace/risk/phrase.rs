//! Text that speaks to the model as if it were its system.

/// Marks of chat templates: text after them would be another role's.
const MARKS: [&str; 6] = ["<|im_start|>", "<|im_end|>", "<|system|>", "<<sys>>", "[inst]", "[system]"];

const VERBS: [&str; 4] = ["ignore", "disregard", "forget", "override"];
const TARGETS: [&str; 3] = ["previous", "prior", "above"];
const NOUNS: [&str; 4] = ["instructions", "instruction", "prompts", "rules"];

/// Whether any line of `text` can have what [`find`] looks for: most texts have no such word at all.
pub(super) fn may_be_in(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    MARKS.iter().chain(&VERBS).chain(&["system"]).any(|word| lower.contains(word))
}

/// What is said, in a name of our own; the line is not quoted.
pub(super) fn find(line: &str) -> Option<&'static str> {
    let lower = line.to_ascii_lowercase();
    if let Some(mark) = MARKS.iter().find(|mark| lower.contains(**mark)) {
        return Some(mark);
    }
    let start = lower.trim_start_matches(|c: char| !c.is_alphanumeric());
    if start.strip_prefix("system").is_some_and(|rest| rest.trim_start_matches('*').starts_with(':')) {
        return Some("it begins with `system:`");
    }
    asks_to_ignore(&lower).then_some("it asks to ignore earlier instructions")
}

/// `ignore … previous … instructions`, in that order and near one another.
fn asks_to_ignore(lower: &str) -> bool {
    const NEAR: usize = 8;
    let words: Vec<_> = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.iter().enumerate().filter(|(_, word)| VERBS.contains(word)).any(|(at, _)| {
        let near = &words[at + 1..words.len().min(at + NEAR)];
        let target = near.iter().position(|word| TARGETS.contains(word));
        target.is_some_and(|target| near[target..].iter().any(|word| NOUNS.contains(word)))
    })
}
