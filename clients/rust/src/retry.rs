//! Which failures are tried again, and when: `examples/service_config.json` of the project, as code. The loop is this package's own,
//! since tonic has none.

use std::{
    hash::{BuildHasher as _, RandomState},
    time::Duration,
};

use tonic::Code;

use crate::Error;

const MAX_ATTEMPTS: u32 = 4;
const INITIAL_BACKOFF: Duration = Duration::from_millis(100);
const MAX_BACKOFF: Duration = Duration::from_secs(2);
const BACKOFF_MULTIPLIER: u32 = 2;
/// In percent, so that clients which failed together do not come back together.
const JITTER: u64 = 20;

/// When to try again after attempt number `attempt`, from 1; `None`: give up.
pub(crate) fn delay(attempt: u32, error: &Error, left: Duration) -> Option<Duration> {
    let again = error.code == Code::Unavailable && attempt < MAX_ATTEMPTS;
    again.then(|| backoff(attempt, error, MAX_BACKOFF)).filter(|delay| *delay < left)
}

/// The pause after attempt number `attempt`, from 1: at least what the server asked for.
pub(crate) fn backoff(attempt: u32, error: &Error, most: Duration) -> Duration {
    let grown = INITIAL_BACKOFF.saturating_mul(BACKOFF_MULTIPLIER.saturating_pow(attempt - 1)).min(most);
    // Each hasher has keys of its own, drawn at random.
    let percent = 100 - JITTER + RandomState::new().hash_one(attempt) % (2 * JITTER + 1);
    (grown * u32::try_from(percent).unwrap_or(100) / 100).max(error.retry_after.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_are_never_shorter_than_the_server_asks() {
        let error = Error::own(Code::Unavailable, "");
        for (attempt, low, high) in [(1, 80, 120), (2, 160, 240), (3, 320, 480), (40, 1_600, 2_400)] {
            let millis = backoff(attempt, &error, MAX_BACKOFF).as_millis();
            assert!((low..=high).contains(&millis), "{attempt}: {millis}");
        }
        let asked = Error { retry_after: Some(Duration::from_secs(3)), ..error.clone() };
        assert_eq!(delay(1, &asked, Duration::from_secs(9)), Some(Duration::from_secs(3)));
        assert_eq!(delay(1, &asked, Duration::from_secs(2)), None, "beyond the deadline");
        assert_eq!(delay(4, &error, Duration::from_secs(9)), None, "the last attempt");
        assert_eq!(delay(1, &Error::own(Code::NotFound, ""), Duration::from_secs(9)), None);
    }
}
