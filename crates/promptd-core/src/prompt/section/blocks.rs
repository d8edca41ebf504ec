//! The blocks of a section.

use std::{
    iter::Chain,
    mem,
    ops::{Deref, DerefMut},
    option, slice, vec,
};

use super::block::TextBlock;

/// The blocks of a section, in order. Most sections have one, which then takes no list of its own.
#[expect(clippy::large_enum_variant, reason = "one block without a list of its own is what this is for")]
#[derive(Debug, Clone)]
pub(crate) enum Blocks<'a> {
    One(TextBlock<'a>),
    Many(Vec<TextBlock<'a>>),
}

impl<'a> Blocks<'a> {
    /// Adds a block.
    pub(crate) fn push(&mut self, block: TextBlock<'a>) {
        *self = match mem::take(self) {
            Self::One(first) => Self::Many(vec![first, block]),
            Self::Many(blocks) if blocks.is_empty() => Self::One(block),
            Self::Many(mut blocks) => {
                blocks.push(block);
                Self::Many(blocks)
            }
        };
    }

    /// Takes out the last.
    pub(crate) fn pop(&mut self) -> Option<TextBlock<'a>> {
        match mem::take(self) {
            Self::One(block) => Some(block),
            Self::Many(mut blocks) => {
                let last = blocks.pop();
                *self = Self::Many(blocks);
                last
            }
        }
    }
}

impl Default for Blocks<'_> {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl<'a> From<TextBlock<'a>> for Blocks<'a> {
    fn from(block: TextBlock<'a>) -> Self {
        Self::One(block)
    }
}

impl<'a> FromIterator<TextBlock<'a>> for Blocks<'a> {
    fn from_iter<I: IntoIterator<Item = TextBlock<'a>>>(blocks: I) -> Self {
        Self::Many(blocks.into_iter().collect())
    }
}

impl<'a> Deref for Blocks<'a> {
    type Target = [TextBlock<'a>];

    fn deref(&self) -> &[TextBlock<'a>] {
        match self {
            Self::One(block) => slice::from_ref(block),
            Self::Many(blocks) => blocks,
        }
    }
}

impl DerefMut for Blocks<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::One(block) => slice::from_mut(block),
            Self::Many(blocks) => blocks,
        }
    }
}

impl<'a> IntoIterator for Blocks<'a> {
    type Item = TextBlock<'a>;
    type IntoIter = Chain<option::IntoIter<TextBlock<'a>>, vec::IntoIter<TextBlock<'a>>>;

    fn into_iter(self) -> Self::IntoIter {
        let (one, many) = match self {
            Self::One(block) => (Some(block), Vec::new()),
            Self::Many(blocks) => (None, blocks),
        };
        one.into_iter().chain(many)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{profile::Stability, prompt::section::TextBlock};

    #[test]
    fn what_is_pushed_comes_out_in_order_and_last_first() {
        let block = |id: &'static str| TextBlock::omitted(id, Stability::Stable, "");
        let ids = |blocks: &[TextBlock<'_>]| blocks.iter().map(|block| block.report.id.to_string()).collect::<Vec<_>>();
        let mut blocks = Blocks::default();
        assert!(blocks.is_empty() && blocks.pop().is_none());
        for (count, id) in ["a", "b", "c"].into_iter().enumerate() {
            blocks.push(block(id));
            assert_eq!(ids(&blocks), ["a", "b", "c"][..=count]);
            assert_eq!(blocks.clone().into_iter().count(), count + 1);
        }
        for (left, id) in [(2, "c"), (1, "b"), (0, "a")] {
            assert_eq!((blocks.pop().unwrap().report.id, blocks.len()), (id.into(), left));
        }
        assert!(blocks.pop().is_none());
    }
}
