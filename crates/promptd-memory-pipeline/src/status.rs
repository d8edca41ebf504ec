//! How the pipeline is doing, for metrics.

use prometheus_client::metrics::{counter::Counter, gauge::Gauge};

/// Counts of the pipeline. They say nothing of who wrote what.
#[derive(Debug, Default, Clone)]
pub struct Status {
    /// Summaries stored.
    pub summarised: Counter,
    /// Requests to a model that gave no summary.
    pub failed: Counter,
    /// Segments that are not tried again.
    pub set_aside: Counter,
    /// 1 while the model is taken to be away.
    pub away: Gauge,
}
