//! How it is going with etcd, for metrics, readiness and answers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use arc_swap::ArcSwapOption;
use jiff::Timestamp;
use prometheus_client::metrics::{counter::Counter, gauge::Gauge};
use promptd_core::finding::{Code, Finding, Place};

use crate::error::Error;

/// How long etcd may be away before answers say so; a member that is restarted takes no longer.
const GRACE: Duration = Duration::from_secs(5);

/// How it is going with etcd.
#[derive(Debug, Default)]
pub struct Status {
    /// 1 while etcd answers.
    pub connected: Gauge,
    /// When what is served was last known to be the newest, in seconds since 1970; 0: never.
    pub confirmed: Gauge<f64, AtomicU64>,
    /// Times that everything was compared with etcd.
    pub reconciles: Counter,
    /// Manifests that were published, or removed, and taken over.
    pub publishes: Counter,
    /// Times that no member could be used.
    pub failures: Counter,
    /// Workspaces of which the newest state cannot be used.
    pub faulty: Gauge,
    /// Workspaces of which some turns get the candidate of a canary.
    pub canaries: Gauge,
    /// Bytes in the cache.
    pub cached: Gauge,
    confirmed_ms: AtomicI64,
    away: ArcSwapOption<Finding>,
}

impl Status {
    /// What every answer says while etcd is away: since when.
    #[must_use]
    pub fn away(&self) -> Option<Arc<Finding>> {
        self.away.load_full()
    }

    /// When what is served was last known to be the newest; `None`: never.
    #[must_use]
    pub fn confirmed_at(&self) -> Option<Timestamp> {
        Timestamp::from_millisecond(self.confirmed_ms.load(Relaxed)).ok().filter(|at| *at > Timestamp::UNIX_EPOCH)
    }

    /// Whether what is served is older than allowed at this time; zero: nothing is too old.
    #[must_use]
    pub fn is_too_old(&self, max_age: Duration, now: Timestamp) -> bool {
        !max_age.is_zero() && self.confirmed_at().is_none_or(|at| since(at, now) > max_age)
    }

    /// It was the newest at this time.
    pub(crate) fn confirm(&self, at: Timestamp) {
        self.connected.set(1);
        self.set_confirmed(at);
        self.away.store(None);
    }

    /// What was kept for a restart is of this time.
    pub(crate) fn set_confirmed(&self, at: Timestamp) {
        self.confirmed.set(at.as_duration().as_secs_f64());
        self.confirmed_ms.store(at.as_millisecond(), Relaxed);
    }

    /// No member could be used; true if that is said from now on.
    pub(crate) fn lose(&self, error: &Error, now: Timestamp) -> bool {
        self.connected.set(0);
        self.failures.inc();
        let confirmed = self.confirmed_at();
        if confirmed.is_some_and(|at| since(at, now) < GRACE) || self.away.load().is_some() {
            return false;
        }
        let message = match confirmed {
            Some(at) => format!("etcd has not answered since {at:.0}: what was published later is not in use"),
            None => "etcd has not answered yet".to_owned(),
        };
        tracing::warn!(target: crate::LOG_TARGET, "{message}; {error}");
        self.away.store(Some(Arc::new(Finding::new(Code::SourceAway, Place::Unplaced, message))));
        true
    }
}

fn since(at: Timestamp, now: Timestamp) -> Duration {
    now.duration_since(at).try_into().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn answers_say_since_when_etcd_is_away_and_not_for_a_moment() {
        let status = Status::default();
        let at = |second: i64| Timestamp::from_second(1_800_000_000 + second).unwrap();
        let error = Error::new(ErrorKind::Away, "no answer");
        assert!(status.is_too_old(Duration::from_secs(9), at(0)) && !status.is_too_old(Duration::ZERO, at(0)));
        status.confirm(at(0));
        assert!(!status.lose(&error, at(4)) && status.away().is_none());
        assert!(status.lose(&error, at(5)));
        assert!(!status.lose(&error, at(6)), "said once");
        let message = &status.away().unwrap().message;
        assert_eq!(
            *message,
            "etcd has not answered since 2027-01-15T08:00:00Z: what was published later is not in use"
        );
        assert!(!status.is_too_old(Duration::from_secs(9), at(9)) && status.is_too_old(Duration::from_secs(9), at(10)));
        status.confirm(at(11));
        assert!(status.away().is_none() && status.connected.get() == 1 && status.failures.get() == 3);
    }
}
