//! Lists in pages.

use crate::grpc::pipeline::Error;
use promptd_contract::decode::Violations;
use promptd_core::text::hex;

/// A page's size where the request says 0.
pub(super) const DEFAULT_SIZE: usize = 100;
/// The most items of a page; a larger size is cut to it.
pub(super) const MAX_SIZE: usize = 1_000;
/// The start of every page token, so that tokens of another version can be recognized.
const VERSION: &str = "1-";

/// Which page a request asks for.
pub(super) struct Page {
    size: usize,
    /// The key of the last item of the page before.
    after: Option<String>,
}

impl Page {
    /// Checks `page_size` and `page_token`.
    pub(super) fn check(size: i32, token: &str, violations: &mut Violations) -> Self {
        let size = match usize::try_from(size) {
            Ok(0) => DEFAULT_SIZE,
            Ok(size) => size.min(MAX_SIZE),
            Err(_) => {
                violations.add("page_size", format!("must be 0 to {MAX_SIZE}"));
                DEFAULT_SIZE
            }
        };
        let after = decode(token);
        if !token.is_empty() && after.is_none() {
            violations.add("page_token", "is not a token of this server; start again with an empty one");
        }
        Self { size, after }
    }

    /// The same, for requests without other fields to check.
    pub(super) fn of(size: i32, token: &str) -> Result<Self, Error> {
        let mut violations = Violations::default();
        let page = Self::check(size, token, &mut violations);
        Ok(violations.into_result(page)?)
    }

    /// The most items.
    #[cfg(feature = "memory")]
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// The key of the last item of the page before.
    #[cfg(feature = "memory")]
    pub(super) fn after(&self) -> Option<&str> {
        self.after.as_deref()
    }

    /// The token of the page after the item of this key.
    #[cfg(feature = "memory")]
    pub(super) fn token(last: &str) -> String {
        encode(last)
    }

    /// The page's items and the token of the next page; empty: this is the last. `items` are in the order of their keys,
    /// and keys are unique, so that items added or removed between two calls move no others.
    pub(super) fn take<T>(&self, items: impl IntoIterator<Item = (String, T)>) -> (Vec<T>, String) {
        self.take_while(items, |_| true)
    }

    /// The same, but the page ends before the first item that does not fit. It has one item at least.
    pub(super) fn take_while<T>(
        &self,
        items: impl IntoIterator<Item = (String, T)>,
        mut fits: impl FnMut(&T) -> bool,
    ) -> (Vec<T>, String) {
        let beyond = |key: &str| self.after.as_deref().is_none_or(|after| key > after);
        let mut rest = items.into_iter().skip_while(|(key, _)| !beyond(key)).peekable();
        let (mut page, mut last) = (Vec::new(), String::new());
        while page.len() < self.size
            && let Some((key, item)) = rest.next_if(|(_, item)| fits(item) || last.is_empty())
        {
            page.push(item);
            last = key;
        }
        let next = if rest.peek().is_some() { encode(&last) } else { String::new() };
        (page, next)
    }
}

fn encode(key: &str) -> String {
    let mut token = VERSION.to_owned();
    token.extend(key.bytes().flat_map(|byte| hex::digits([byte])[0]).map(char::from));
    token
}

fn decode(token: &str) -> Option<String> {
    let digits = token.strip_prefix(VERSION)?.as_bytes();
    let byte = |pair: &[u8]| hex::bytes(std::str::from_utf8(pair).ok()?).map(|[byte]| byte);
    let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
    String::from_utf8(bytes?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(keys: &[&str], size: i32) -> Vec<Vec<String>> {
        let (mut pages, mut token) = (Vec::new(), String::new());
        loop {
            let page = Page::of(size, &token).unwrap();
            let (items, next) = page.take(keys.iter().map(|key| ((*key).to_owned(), (*key).to_owned())));
            pages.push(items);
            token = next;
            if token.is_empty() {
                return pages;
            }
        }
    }

    #[test]
    fn every_item_is_on_one_page() {
        assert_eq!(walk(&["a", "b", "c"], 2), [vec!["a", "b"], vec!["c"]]);
        assert_eq!(walk(&["a", "b"], 2), [vec!["a", "b"]]);
        assert_eq!(walk(&[], 2), [Vec::<String>::new()]);
        assert_eq!(walk(&["ä\0x", "é"], 1).len(), 2);
    }

    #[test]
    fn a_removed_item_moves_no_other() {
        let (_, token) = Page::of(1, "").unwrap().take([("b".to_owned(), 1), ("c".to_owned(), 2)]);
        let (items, _) = Page::of(1, &token).unwrap().take([("a".to_owned(), 0), ("c".to_owned(), 2)]);
        assert_eq!(items, [2]);
    }

    #[test]
    fn bad_sizes_and_tokens_are_refused() {
        assert!(Page::of(-1, "").is_err());
        for bad in ["x", "1-6", "1-zz", "1-ff", "1-+f", "1-4A", "2-61"] {
            assert!(Page::of(0, bad).is_err(), "{bad}");
        }
    }
}
