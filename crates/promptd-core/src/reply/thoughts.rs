//! Thoughts: `<think>…</think>`, which are not part of what a reply says.

/// The longest tag that is looked at.
const MAX_TAG_BYTES: usize = 128;

/// A tag of thoughts that some text begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag<'n> {
    name: &'n str,
    pub kind: Kind,
    /// How many bytes it takes.
    pub length: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Open,
    Close,
    /// `<think/>`: it holds nothing.
    Empty,
}

/// The tag of thoughts that `text`, whose first byte is `<`, begins with; names are compared without case.
pub(super) fn tag<'n>(text: &str, names: &'n [String]) -> Option<Tag<'n>> {
    let length = text.bytes().take(MAX_TAG_BYTES).skip(1).position(|b| matches!(b, b'>' | b'<'))? + 2;
    let inner = text[1..length - 1].trim();
    let (inner, closes) = inner.strip_prefix('/').map_or((inner, false), |rest| (rest.trim_start(), true));
    let (inner, empty) = inner.strip_suffix('/').map_or((inner, false), |rest| (rest, true));
    let word = inner.split(char::is_whitespace).next().unwrap_or_default();
    let name = names.iter().find(|name| name.eq_ignore_ascii_case(word)).filter(|_| text[..length].ends_with('>'))?;
    let kind = match (closes, empty) {
        (true, _) => Kind::Close,
        (false, true) => Kind::Empty,
        (false, false) => Kind::Open,
    };
    Some(Tag { name, kind, length })
}

/// Where thoughts end that begin at the text's beginning with `open`, and whether their tags pair up.
///
/// Thoughts may hold thoughts. Where tags are missing, they end behind the last closing tag, or with the text.
pub(super) fn end(text: &str, open: Tag<'_>, names: &[String]) -> (usize, bool) {
    let mut depth = 1_usize;
    let mut at = open.length;
    let mut last = None;
    while let Some(found) = text[at..].find('<') {
        at += found;
        let Some(tag) = tag(&text[at..], names).filter(|tag| tag.name == open.name) else {
            at += 1;
            continue;
        };
        at += tag.length;
        match tag.kind {
            Kind::Open => depth += 1,
            Kind::Close if depth == 1 => return (at, true),
            Kind::Close => {
                depth -= 1;
                last = Some(at);
            }
            Kind::Empty => {}
        }
    }
    (last.unwrap_or(text.len()), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_every_spelling() {
        let names = ["think".to_owned(), "thinking".to_owned()];
        for (text, expected) in [
            ("<think>x", Some((Kind::Open, 7))),
            ("<THINK >", Some((Kind::Open, 8))),
            ("<thinking budget=\"9\">", Some((Kind::Open, 21))),
            ("</Think\n>", Some((Kind::Close, 9))),
            ("< / think >", Some((Kind::Close, 11))),
            ("<think/>", Some((Kind::Empty, 8))),
            ("<thinker>", None),
            ("<think", None),
            ("<think <b>", None),
            ("<>", None),
            ("<界>", None),
        ] {
            assert_eq!(tag(text, &names).map(|tag| (tag.kind, tag.length)), expected, "{text}");
        }
        assert_eq!(tag(&format!("<think {}>", "x".repeat(MAX_TAG_BYTES)), &names), None);
    }

    #[test]
    fn thoughts_end_with_their_own_tag() {
        let names = ["think".to_owned(), "thinking".to_owned()];
        for (text, rest, paired) in [
            ("<think>a</think>b", "b", true),
            ("<think>a<think>b</think>c</think>d", "d", true),
            ("<think>a</thinking>b</think>c", "c", true),
            ("<think>a", "", false),
            ("<think>the tag <think> is</think>b", "b", false),
        ] {
            let (end, is_paired) = end(text, tag(text, &names).unwrap(), &names);
            assert_eq!((&text[end..], is_paired), (rest, paired), "{text}");
        }
    }
}
