//! Whether a HEARTBEAT.md has real content: more than `CommonMark` headings, rules, empty list items and check boxes,
//! and comments.
//!
//! A fenced block counts by its lines; in it, lines that begin with `#` or `//` are comments, as in the template that
//! many workspaces begin with.

/// Whether there is anything to check.
pub(super) fn has_tasks(text: &str) -> bool {
    let text = without_comments(text);
    let mut fence: Option<&str> = None;
    let mut paragraph = false;
    for line in text.lines() {
        let bare = line.trim();
        if let Some(open) = fence {
            if bare.starts_with(open) && bare.trim_start_matches(&open[..1]).is_empty() {
                fence = None;
            } else if !(bare.is_empty() || bare.starts_with('#') || bare.starts_with("//")) {
                return true;
            }
            continue;
        }
        if paragraph && is_setext_underline(bare) {
            paragraph = false;
            continue;
        }
        let empty = is_empty_block(bare);
        fence = fence_of(bare);
        let content = fence.is_none() && !empty;
        if paragraph || (content && !may_be_underlined(line)) {
            // Text above that no underline made a heading, or that none can.
            return true;
        }
        paragraph = content;
    }
    paragraph
}

/// Without HTML comments. As in `CommonMark`, one that is not closed goes to the end if a line begins with it, and is
/// no comment elsewhere.
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

/// Whether `===` or `---` below makes the line a heading: not below list items, quotes and indented code.
fn may_be_underlined(line: &str) -> bool {
    let bare = line.trim();
    !line.starts_with("    ") && !line.starts_with('\t') && !bare.starts_with('>') && item(bare).is_none()
}

/// Whether a line has no content of its own: blank, a heading, a rule, or a list item, check box or quote with
/// nothing in it.
fn is_empty_block(line: &str) -> bool {
    if line.is_empty() || is_heading(line) || is_rule(line) {
        return true;
    }
    let inner = line.strip_prefix('>').or_else(|| item(line)).or_else(|| check_box(line));
    inner.is_some_and(|inner| is_empty_block(inner.trim()))
}

fn is_heading(line: &str) -> bool {
    let rest = line.trim_start_matches('#');
    (1..=6).contains(&(line.len() - rest.len())) && (rest.is_empty() || rest.starts_with([' ', '\t']))
}

fn is_setext_underline(line: &str) -> bool {
    !line.is_empty() && (line.bytes().all(|b| b == b'=') || line.bytes().all(|b| b == b'-'))
}

fn is_rule(line: &str) -> bool {
    let marks: Vec<char> = line.chars().filter(|c| !c.is_whitespace()).collect();
    marks.len() >= 3 && matches!(marks[0], '-' | '*' | '_') && marks.iter().all(|mark| *mark == marks[0])
}

/// What a list item holds.
fn item(line: &str) -> Option<&str> {
    let rest = line.strip_prefix(['-', '*', '+']).or_else(|| {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        if (1..=9).contains(&(line.len() - rest.len())) { rest.strip_prefix(['.', ')']) } else { None }
    })?;
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then_some(rest)
}

/// What stands after a check box.
fn check_box(line: &str) -> Option<&str> {
    ["[ ]", "[x]", "[X]", "[]"].iter().find_map(|mark| line.strip_prefix(mark))
}

fn fence_of(line: &str) -> Option<&str> {
    ['`', '~'].iter().find_map(|mark| {
        let length = line.len() - line.trim_start_matches(*mark).len();
        (length >= 3).then(|| &line[..length])
    })
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
            "- [ ]\n- [x]\n1. [ ]",
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
            "- # heading in an item",
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
