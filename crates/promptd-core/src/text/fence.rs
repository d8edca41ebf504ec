//! Code fences of Markdown, as far as cutting a text must know them.

/// A code fence that a text leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OpenFence<'a> {
    /// Byte offset of the line that opens it.
    pub(super) start: usize,
    /// The line that closes it: the same indent, mark and length, so that it also closes inside a list item.
    pub(super) closing: &'a str,
}

/// The code fence that the text leaves open, if any: the rule of `CommonMark`, indented by at most three spaces.
pub(super) fn open_fence(text: &str) -> Option<OpenFence<'_>> {
    let mut open: Option<OpenFence<'_>> = None;
    let mut start = 0;
    for line in text.split('\n') {
        match open {
            None => open = opening(line).map(|closing| OpenFence { start, closing }),
            Some(fence) if closes(line, fence.closing.trim_start()) => open = None,
            Some(_) => {}
        }
        start += line.len() + 1;
    }
    open
}

/// Whether a line has the form of a fence's.
pub(super) fn is_fence(line: &str) -> bool {
    indented(line).is_some_and(|(_, rest)| rest.starts_with("```") || rest.starts_with("~~~"))
}

/// The indent and the marks of a line that opens a fence.
fn opening(line: &str) -> Option<&str> {
    let (indent, rest) = indented(line)?;
    let mark = rest.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = rest.trim_start_matches(mark);
    let marks = rest.len() - info.len();
    // The info string of a backtick fence has no backtick: that is code within a line.
    (marks >= 3 && !(mark == '`' && info.contains('`'))).then(|| &line[..indent + marks])
}

fn closes(line: &str, marks: &str) -> bool {
    let Some((_, rest)) = indented(line) else { return false };
    rest.strip_prefix(marks).is_some_and(|more| more.trim_start_matches(&marks[..1]).trim().is_empty())
}

/// The width of a line's indent and what follows; none where the indent makes it code of its own.
fn indented(line: &str) -> Option<(usize, &str)> {
    let rest = line.trim_start_matches(' ');
    let indent = line.len() - rest.len();
    (indent <= 3).then_some((indent, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_fence_left_open() {
        for (text, closing) in [
            ("", None),
            ("text", None),
            ("```\ncode", Some("```")),
            ("```rust\ncode", Some("```")),
            ("```\ncode\n```", None),
            ("```\ncode\n``", Some("```")),
            ("```\ncode\n`````  ", None),
            ("````\n```\n", Some("````")),
            ("~~~ a`b\n```", Some("~~~")),
            ("``` a`b\ntext", None),
            ("   ```\ncode", Some("   ```")),
            ("    ```\ncode", None),
            ("- a\n  ```\n  code\n    ```\n", Some("  ```")),
            ("```\na\n```\n\n~~~~\nb", Some("~~~~")),
            ("```\n``` not a closing line", Some("```")),
        ] {
            assert_eq!(open_fence(text).map(|fence| fence.closing), closing, "{text:?}");
        }
        assert_eq!(open_fence("a\n```\nb").unwrap().start, 2);
    }
}
