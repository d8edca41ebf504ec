//! A SKILL.md in memory.

use std::{ops::Range, sync::Arc};

use crate::workspace::file_map::whole_text;

/// A SKILL.md as read, up to the read limit, and the instructions below its front matter, trimmed. Where cleaning left the
/// instructions as they are in the file, the two are one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile(Held);

/// One of which nothing is held.
impl Default for SkillFile {
    fn default() -> Self {
        Self(Held::Once { file: Arc::default(), body: 0..0 })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Held {
    /// The instructions are this part of the file.
    Once { file: Arc<str>, body: Range<usize> },
    /// Cleaning has changed them.
    Apart { file: Arc<[u8]>, body: Arc<str> },
}

impl SkillFile {
    /// A file's bytes, and what cleaning them gave as the instructions. `known` is an earlier version, whose memory is shared
    /// if it is the same.
    pub(super) fn new(bytes: Vec<u8>, body: &str, known: Option<&Self>) -> Self {
        if let Some(known) = known.filter(|known| known.bytes() == bytes && known.body() == body) {
            return known.clone();
        }
        let held = match String::from_utf8(bytes) {
            Ok(file) => match whole_text(&file, body) {
                Some(at) => Held::Once { file: file.into(), body: at..at + body.len() },
                None => Held::Apart { file: file.into_bytes().into(), body: body.into() },
            },
            Err(not_utf8) => Held::Apart { file: not_utf8.into_bytes().into(), body: body.into() },
        };
        Self(held)
    }

    /// SKILL.md as read.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Held::Once { file, .. } => file.as_bytes(),
            Held::Apart { file, .. } => file,
        }
    }

    /// The instructions.
    #[must_use]
    pub fn body(&self) -> &str {
        match &self.0 {
            Held::Once { file, body } => file.get(body.clone()).unwrap_or_default(),
            Held::Apart { body, .. } => body,
        }
    }

    /// How many bytes of memory its texts take.
    pub(in crate::workspace) fn weight(&self) -> usize {
        match &self.0 {
            Held::Once { file, .. } => file.len(),
            Held::Apart { file, body } => file.len() + body.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "---\nname: a\n---\n";

    #[test]
    fn what_cleaning_left_as_it_is_is_held_once() {
        for (file, body, once) in [
            (format!("{HEAD}\nDo it.\n\n"), "Do it.", true),
            (HEAD.to_owned(), "", true),
            (format!("{HEAD}Do\r\nit."), "Do\nit.", false),
            (format!("{HEAD}Do\u{7}it."), "Doit.", false),
        ] {
            let held = SkillFile::new(file.clone().into_bytes(), body, None);
            assert_eq!((held.bytes(), held.body()), (file.as_bytes(), body));
            assert_eq!(held.weight(), if once { file.len() } else { file.len() + body.len() }, "{file:?}");
        }
        let latin = [HEAD.as_bytes(), b"caf\xe9"].concat();
        let held = SkillFile::new(latin.clone(), "caf\u{fffd}", None);
        assert_eq!((held.bytes(), held.body()), (&*latin, "caf\u{fffd}"));
    }

    #[test]
    fn a_file_that_is_the_same_shares_the_memory_of_the_one_before() {
        let file = format!("{HEAD}Do it.");
        let first = SkillFile::new(file.clone().into_bytes(), "Do it.", None);
        let same = SkillFile::new(file.clone().into_bytes(), "Do it.", Some(&first));
        assert_eq!(same.bytes().as_ptr(), first.bytes().as_ptr());
        let other = SkillFile::new(file.into_bytes(), "Do", Some(&first));
        assert_eq!(other.body(), "Do", "the same bytes under another policy for risks");
    }
}
