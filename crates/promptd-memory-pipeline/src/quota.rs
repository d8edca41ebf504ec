//! The tokens that an hour has.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

const HOUR: f64 = 3_600.0;

/// A store of tokens that fills up by so many an hour, and holds no more than these. Clones are one.
#[derive(Debug, Clone)]
pub(crate) struct Quota {
    /// `None`: there is no bound.
    per_hour: Option<f64>,
    level: Arc<Mutex<Level>>,
}

#[derive(Debug)]
struct Level {
    left: f64,
    at: Instant,
}

#[expect(clippy::cast_precision_loss, reason = "tokens beyond 2^53 have no use for their last digits")]
impl Quota {
    pub(crate) fn new(per_hour: Option<u64>) -> Self {
        let per_hour = per_hour.map(|tokens| tokens.max(1) as f64);
        let level = Level { left: per_hour.unwrap_or(0.0), at: Instant::now() };
        Self { per_hour, level: Arc::new(Mutex::new(level)) }
    }

    /// Takes tokens; the error is how long to wait for them. What is more than an hour has takes all of it.
    pub(crate) fn take(&self, tokens: u64) -> Result<(), Duration> {
        let Some(per_hour) = self.per_hour else { return Ok(()) };
        let now = Instant::now();
        let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        level.left = (level.left + (now - level.at).as_secs_f64() * per_hour / HOUR).min(per_hour);
        level.at = now;
        let wanted = (tokens as f64).min(per_hour);
        if level.left >= wanted {
            level.left -= wanted;
            return Ok(());
        }
        // A little later, so that rounding makes no second wait.
        Err(Duration::from_secs_f64((wanted - level.left) * HOUR / per_hour) + Duration::from_millis(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_hour_has_so_many_tokens() {
        let quota = Quota::new(Some(3_600));
        assert_eq!(quota.take(3_000), Ok(()));
        let wait = quota.take(1_200).unwrap_err();
        assert_eq!(wait.as_secs(), 600);
        tokio::time::advance(wait).await;
        assert_eq!(quota.take(1_200), Ok(()));
        assert_eq!(quota.take(1_000_000).unwrap_err().as_secs(), 3_600);
        tokio::time::advance(Duration::from_secs(36_000)).await;
        assert_eq!(quota.take(1_000_000), Ok(()), "more than an hour has");
        assert!(quota.take(1).is_err());
        assert_eq!(Quota::new(None).take(u64::MAX), Ok(()));
    }
}
