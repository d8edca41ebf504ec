//! Lists in pages.

use super::error::Error;
use promptd_contract::decode::Violations;

/// A page's size where the request says 0.
const DEFAULT_SIZE: usize = 100;
/// The most items of a page; a larger wish is cut to it.
const MAX_SIZE: usize = 1_000;
/// What every page token begins with, so that one of another version is told from this.
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
            violations.add("page_token", "is no token that this server gave; begin again with an empty one");
        }
        Self { size, after }
    }

    /// The same, where nothing else of the request can be wrong.
    pub(super) fn of(size: i32, token: &str) -> Result<Self, Error> {
        let mut violations = Violations::default();
        let page = Self::check(size, token, &mut violations);
        violations.into_result(page).map_err(Error::Invalid)
    }

    /// The page's items and the token of the next page; empty: there is none. `items` are in the order of their keys,
    /// and no key stands twice, so that what comes or goes between two calls moves nothing else.
    pub(super) fn take<T>(&self, items: impl IntoIterator<Item = (String, T)>) -> (Vec<T>, String) {
        let beyond = |key: &str| self.after.as_deref().is_none_or(|after| key > after);
        let mut rest = items.into_iter().skip_while(|(key, _)| !beyond(key)).peekable();
        let (mut page, mut last) = (Vec::new(), String::new());
        for (key, item) in rest.by_ref().take(self.size) {
            page.push(item);
            last = key;
        }
        let next = if rest.peek().is_some() { encode(&last) } else { String::new() };
        (page, next)
    }
}

fn encode(key: &str) -> String {
    key.bytes().fold(VERSION.to_owned(), |token, byte| token + &format!("{byte:02x}"))
}

fn decode(token: &str) -> Option<String> {
    let hex = token.strip_prefix(VERSION)?.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = hex.chunks(2).map(|pair| if pair.len() == 2 { byte(pair) } else { None }).collect();
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
    fn pages_have_everything_once() {
        assert_eq!(walk(&["a", "b", "c"], 2), [vec!["a", "b"], vec!["c"]]);
        assert_eq!(walk(&["a", "b"], 2), [vec!["a", "b"]]);
        assert_eq!(walk(&[], 2), [Vec::<String>::new()]);
        assert_eq!(walk(&["ä\0x", "é"], 1).len(), 2);
    }

    #[test]
    fn an_item_that_went_takes_no_other_along() {
        let (_, token) = Page::of(1, "").unwrap().take([("b".to_owned(), 1), ("c".to_owned(), 2)]);
        let (items, _) = Page::of(1, &token).unwrap().take([("a".to_owned(), 0), ("c".to_owned(), 2)]);
        assert_eq!(items, [2]);
    }

    #[test]
    fn bad_sizes_and_tokens_are_told() {
        assert!(Page::of(-1, "").is_err());
        for bad in ["x", "1-6", "1-zz", "1-ff", "2-61"] {
            assert!(Page::of(0, bad).is_err(), "{bad}");
        }
    }
}
