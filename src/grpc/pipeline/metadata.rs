//! A request's metadata: its headers and its address, which have a limit of their own.
//!
//! HTTP/2 itself would answer too many of them with a bare 431, and many more by closing the connection, with all calls on
//! it. Therefore it takes more of them than calls may have, and the call that has too many is refused like any other.

use http::{HeaderMap, Uri};

use super::error::Error;

/// The most bytes of a call's metadata, counted as HTTP/2 does.
const MAX_METADATA_BYTES: usize = 16 << 10;
/// What HTTP/2 counts for each header beside its name and its value.
const FIELD_BYTES: usize = 32;

/// That headers and address are within the limit.
pub(super) fn check(uri: &Uri, headers: &HeaderMap) -> Result<(), Error> {
    let path = uri.path_and_query().map_or(0, |path| path.as_str().len());
    let fields = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + FIELD_BYTES);
    if path + fields.sum::<usize>() > MAX_METADATA_BYTES {
        return Err(Error::MetadataTooLarge { limit: MAX_METADATA_BYTES });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_values_fields_and_the_address_count() {
        let limit = Err(Error::MetadataTooLarge { limit: MAX_METADATA_BYTES });
        let one =
            |value: usize| HeaderMap::from_iter([("x-long".parse().unwrap(), "v".repeat(value).parse().unwrap())]);
        let largest = MAX_METADATA_BYTES - FIELD_BYTES - "x-long".len();
        let path = |bytes: usize| Uri::try_from("/".repeat(bytes)).unwrap();
        assert_eq!(check(&Uri::default(), &one(largest - 1)), Ok(()));
        assert_eq!(check(&Uri::default(), &one(largest)), limit);
        assert_eq!(
            (check(&path(100), &one(largest - 100)), check(&path(101), &one(largest - 100))),
            (Ok(()), limit.clone())
        );
        let mut many = HeaderMap::new();
        for _ in 0..MAX_METADATA_BYTES / (FIELD_BYTES + 1) {
            many.append("x", "".parse().unwrap());
        }
        assert_eq!(check(&Uri::default(), &many), Ok(()));
        many.append("x", "".parse().unwrap());
        assert_eq!(check(&Uri::default(), &many), limit);
    }
}
