//! Work that takes long or blocks, off the runtime's worker threads.

use std::panic::resume_unwind;

use tokio::task::JoinSet;

use super::error::Error;
use crate::grpc::Limits;

/// Runs `work` on a blocking thread, so that no other call waits behind it. When the caller goes away, work that has not
/// started is dropped; work that has started keeps its permit until it ends, so that short deadlines cannot pile up more
/// of it than `max_in_flight`.
pub(crate) async fn run_blocking<T: Send + 'static>(
    limits: &Limits,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    let permit = limits.blocking.acquire().ok_or(Error::Overloaded { retry: limits.retry() })?;
    // A set of one: a set aborts its tasks when it is dropped.
    let mut tasks = JoinSet::new();
    tasks.spawn_blocking(move || {
        let _permit = permit;
        work()
    });
    match tasks.join_next().await {
        Some(Ok(done)) => Ok(done),
        Some(Err(failed)) if failed.is_panic() => resume_unwind(failed.into_panic()),
        Some(Err(_)) | None => Err(Error::Internal),
    }
}
