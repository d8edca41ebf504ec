//! Whether a HEARTBEAT.md has real content: more than CommonMark headings, rules, empty list items and check boxes, and
//! comments.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

/// Whether there is anything to check.
pub(super) fn has_tasks(text: &str) -> bool {
    let mut parser = Parser::new(text);
    let mut block = Block::Text;
    let mut content = String::new();
    for event in parser.by_ref() {
        match event {
            Event::Start(Tag::Heading { .. }) => block = Block::Heading,
            Event::Start(Tag::CodeBlock(_)) => block = Block::Code,
            // Two lines above `---` are a heading to CommonMark, but more likely tasks above a rule.
            Event::SoftBreak | Event::HardBreak if block == Block::Heading => return true,
            _ if block == Block::Heading && !matches!(event, Event::End(TagEnd::Heading(_))) => {}
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => content.push_str(&text),
            Event::Code(_) | Event::Start(Tag::Link { .. } | Tag::Image { .. }) => return true,
            Event::SoftBreak | Event::HardBreak => content.push('\n'),
            Event::Start(Tag::Item)
            | Event::End(
                TagEnd::Heading(_) | TagEnd::CodeBlock | TagEnd::Paragraph | TagEnd::HtmlBlock | TagEnd::Item,
            ) => {
                if without_comments(&content).lines().any(|line| block.counts(line.trim())) {
                    return true;
                }
                content.clear();
                block = Block::Text;
            }
            _ => {}
        }
    }
    parser.reference_definitions().iter().next().is_some()
}

/// What a line is part of.
#[derive(Clone, Copy, PartialEq)]
enum Block {
    Heading,
    Code,
    Text,
}

impl Block {
    /// Whether a line is content. In code, `#` and `//` begin comments, as in the template that many workspaces begin with.
    fn counts(self, line: &str) -> bool {
        match self {
            Self::Heading => false,
            Self::Code => !(line.is_empty() || line.starts_with('#') || line.starts_with("//")),
            Self::Text => !without_check_boxes(line).is_empty(),
        }
    }
}

fn without_check_boxes(line: &str) -> &str {
    let boxed = ["[ ]", "[x]", "[X]", "[]"].iter().find_map(|mark| line.strip_prefix(mark));
    boxed.map_or(line, |rest| without_check_boxes(rest.trim_start()))
}

/// Without HTML comments. One that is not closed goes to the end if a line begins with it, and is text elsewhere.
fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("<!--") {
        kept.push_str(before);
        let begins_line = kept.rsplit('\n').next().is_none_or(|line| line.trim().is_empty());
        match comment.split_once("-->") {
            Some((_, after)) => rest = after,
            None if begins_line => return kept,
            None => return kept + "<!--" + comment,
        }
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::has_tasks;

    #[test]
    fn only_real_content_is_a_task() {
        for empty in [
            "",
            "# Title",
            "Title\n=====",
            "Title\n---",
            "---",
            "* * *",
            "- [ ]",
            "- [ ]\n- [x]\n- [X]\n1. [ ]\n- []",
            "-",
            "1.",
            "> ",
            "- - -",
            "###",
            "<!-- check the disk -->",
            "<!--\n- [ ] check\n",
            "# A\n\n<!-- x -->\n\n- [ ] <!-- nothing yet -->\n",
            "```\n# a comment\n// another\n```",
            "```markdown\n# Keep this file empty to skip the heartbeat\n```",
            "~~~\n# a comment\n~~~",
            "- # heading in an item",
            "- [ ]\n  - [ ]",
        ] {
            assert!(!has_tasks(empty), "{empty:?}");
        }
        for tasks in [
            "- [ ] check disk",
            "check disk",
            "# Title\ncheck disk",
            "first line\n\n---",
            "#no heading",
            "####### seven",
            "- item",
            "```\nrun df\n```",
            "~~~\nrun df\n~~~",
            "first task\nsecond task\n---",
            "- [ ]\n  - check disk",
            "![disk](disk.png)",
            "<!-- x --> check disk",
            "> look at the mail",
            "text\n# heading",
            "[link]: http://example.org",
            "- check disk\n---",
            "1. check disk\n---\n",
            "> look at the mail\n===",
            "    indented\n---",
            "# Title <!-- draft\n- check disk",
            "```\nrun a <!-- b\n```",
        ] {
            assert!(has_tasks(tasks), "{tasks:?}");
        }
    }
}
