//! The tokens of an encoding, and how many of them a piece has.

use std::{cmp::Reverse, collections::BinaryHeap, fmt::Debug, iter};

use rustc_hash::FxHashMap;
use tiktoken_rs::{CoreBPE, Rank};

/// How many bytes of a piece are joined at once, so that a run of megabytes takes little memory and linear time.
const WINDOW: usize = 4 << 10;

/// Up to this length, looking through all tokens for the lowest rank takes less than a heap of them.
const SCANNED: usize = 64;

/// The tokens by their bytes. A token's rank says how early it is made: the lowest first.
#[derive(Default)]
pub(super) struct Table {
    short: FxHashMap<Short, Rank>,
    long: FxHashMap<Box<[u8]>, Rank>,
}

/// The bytes of a short token, as most are. They lie in the table itself, so that finding one is one look at memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Short {
    first: u64,
    /// The last byte is how many there are.
    rest: u64,
}

impl Short {
    /// `None`: there are too many.
    #[inline]
    fn of(bytes: &[u8]) -> Option<Self> {
        let mut all = [0; 16];
        let (length, text) = all.split_last_mut()?;
        text.get_mut(..bytes.len())?.copy_from_slice(bytes);
        *length = u8::try_from(bytes.len()).ok()?;
        let all = u128::from_le_bytes(all);
        #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
        Some(Self { first: all as u64, rest: (all >> 64) as u64 })
    }
}

impl Table {
    /// The tokens of a published encoding but for its special ones, whose ranks follow after a gap.
    #[expect(clippy::expect_used, reason = "the published tables are compiled in")]
    pub(super) fn load<E: Debug>(published: fn() -> Result<CoreBPE, E>) -> Self {
        let published = published().expect("a table that is compiled in can be read");
        let bytes = |rank| published.decode_bytes(&[rank]).ok();
        let mut table = Self::default();
        for (token, rank) in (0..).map_while(|rank| Some((bytes(rank)?, rank))) {
            match Short::of(&token) {
                Some(short) => table.short.insert(short, rank),
                None => table.long.insert(token.into_boxed_slice(), rank),
            };
        }
        table
    }

    /// The rank of a token; `None`: there is none of these bytes.
    #[inline]
    fn rank(&self, token: &[u8]) -> Option<Rank> {
        match Short::of(token) {
            Some(short) => self.short.get(&short),
            None => self.long.get(token),
        }
        .copied()
    }

    /// How many tokens a piece has.
    pub(super) fn count(&self, piece: &[u8]) -> usize {
        if self.rank(piece).is_some() { 1 } else { self.count_windows(piece, WINDOW) }
    }

    /// Joins the piece window by window. Of each but the last, the last eighth of its tokens is left to the next.
    ///
    /// Tokens are those of the whole piece where each two neighbours are what their own bytes are joined to, so it is
    /// enough to look at the two at a seam. Where they are not, the windows were too short.
    fn count_windows(&self, piece: &[u8], window: usize) -> usize {
        let (mut tokens, mut at, mut last) = (0, 0, 0);
        loop {
            let rest = &piece[at..];
            let joined = self.join(&rest[..window.min(rest.len())]);
            let first = joined.ends().next().unwrap_or(0);
            if last > 0 && !self.join(&piece[at - last..at + first]).ends().eq([last, last + first]) {
                return self.count_windows(piece, window * 2);
            }
            let count = joined.ends().count();
            if window >= rest.len() {
                return tokens + count;
            }
            let kept = count - count / 8;
            let (start, end) = joined.ends().take(kept).fold((0, 0), |(_, start), end| (start, end));
            (tokens, at, last) = (tokens + kept, at + end, end - start);
        }
    }

    /// The tokens of these bytes: of all neighbours that make a token, those that make the one of lowest rank are
    /// joined, the first of them first, until none are left.
    fn join(&self, bytes: &[u8]) -> Joined {
        let rank = |start: usize, end: usize| self.rank(&bytes[start..end]);
        let token = |at: usize| Token {
            before: at.saturating_sub(1),
            end: at + 1,
            rank: if at + 2 <= bytes.len() { rank(at, at + 2) } else { None },
        };
        let mut tokens: Vec<_> = (0..bytes.len()).map(token).collect();
        let pair = |(at, token): (usize, &Token)| token.rank.map(|rank| Reverse((rank, at)));
        if bytes.len() <= SCANNED {
            while let Some(Reverse((_, at))) = tokens.iter().enumerate().filter_map(pair).max() {
                merge(&mut tokens, at, rank);
            }
        } else {
            let mut pairs: BinaryHeap<_> = tokens.iter().enumerate().filter_map(pair).collect();
            while let Some(Reverse((lowest, at))) = pairs.pop() {
                if tokens[at].rank == Some(lowest) {
                    pairs.extend(merge(&mut tokens, at, rank).into_iter().flatten());
                }
            }
        }
        Joined(tokens)
    }
}

/// Joins the token at a place with the one after it; the pairs that the joined one makes with its neighbours.
fn merge(tokens: &mut [Token], at: usize, rank: impl Fn(usize, usize) -> Option<Rank>) -> [Option<Pair>; 2] {
    let middle = tokens[at].end;
    let end = tokens[middle].end;
    tokens[middle].rank = None;
    tokens[at].end = end;
    tokens[at].rank = None;
    if let Some(after) = tokens.get_mut(end) {
        after.before = at;
        tokens[at].rank = rank(at, tokens[end].end);
    }
    let before = tokens[at].before;
    if at > 0 {
        tokens[before].rank = rank(before, end);
    }
    let pair = |at: usize| tokens[at].rank.map(|rank| Reverse((rank, at)));
    [pair(at), if at > 0 { pair(before) } else { None }]
}

/// The rank of what two neighbours make, and where the first of them begins.
type Pair = Reverse<(Rank, usize)>;

/// A token, at the place where it begins.
#[derive(Debug, Clone, Copy)]
struct Token {
    /// Where the one before it begins.
    before: usize,
    /// Where it ends.
    end: usize,
    /// The rank of what it makes with the one after it; `None`: nothing.
    rank: Option<Rank>,
}

/// Tokens by the place where they begin; places between are of no account.
struct Joined(Vec<Token>);

impl Joined {
    /// Where each ends, in order.
    fn ends(&self) -> impl Iterator<Item = usize> {
        let end = |at: usize| self.0.get(at).map(|token| token.end);
        iter::successors(end(0), move |&at| end(at))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::tokens::Encoding;

    proptest! {
        #[test]
        fn windows_of_any_size_count_as_one(
            pieces in prop::collection::vec(("[a-c]{1,4}|[界é]{1,3}|[ \n]{1,4}|[a-zA-Z]{1,9}|[!-/]{1,3}", 1_usize..40), 1..6),
            size in 1_usize..40,
        ) {
            let piece: String = pieces.iter().map(|(text, times)| text.repeat(*times)).collect();
            for encoding in Encoding::ALL {
                let table = &encoding.tokenizer().table;
                prop_assert_eq!(table.count_windows(piece.as_bytes(), size), table.join(piece.as_bytes()).ends().count());
            }
        }
    }
}
