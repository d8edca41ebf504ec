//! Work that takes long or blocks, off the runtime's worker threads, so that no other call waits behind it.

use std::{panic::resume_unwind, sync::Arc};

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::{JoinSet, block_in_place},
};

use super::error::Error;
use crate::grpc::Limits;

/// Runs work that waits for a disk. When the caller goes away, work that has not started is dropped; work that has started
/// keeps its permit until it ends, so that short deadlines cannot pile up more of it than `max_in_flight`.
pub(crate) async fn run_blocking<T: Send + 'static>(
    limits: &Limits,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    let permit = limits.blocking.acquire().ok_or(Error::Overloaded { retry: limits.retry() })?;
    on_blocking_thread(permit, work).await
}

/// Runs work that needs a processor for long, at most `max_heavy` of it at once; the caller waits for its turn until its
/// deadline. Work that has started keeps its permit until it ends.
pub(crate) async fn run_heavy<T: Send + 'static>(
    limits: &Limits,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    let permit = Arc::clone(&limits.heavy).acquire_owned().await.map_err(|_| Error::Internal)?;
    on_blocking_thread(permit, work).await
}

/// Does work on the calling thread. Where that takes long, it waits for its turn as other heavy work does, and other threads
/// take over what this one had to do.
pub(super) async fn beside_others<T>(limits: &Limits, long: bool, work: impl FnOnce() -> T) -> Result<T, Error> {
    if !long {
        return Ok(work());
    }
    let _permit = limits.heavy.acquire().await.map_err(|_| Error::Internal)?;
    let threads = Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    Ok(if threads { block_in_place(work) } else { work() })
}

async fn on_blocking_thread<T: Send + 'static>(
    permit: impl Send + 'static,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
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

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        time::Duration,
    };

    use super::*;
    use crate::grpc::Options;

    #[tokio::test]
    async fn heavy_work_waits_for_its_turn_and_never_exceeds_its_bound() {
        let limits = Arc::new(Limits::new(&Options { max_heavy: Some(2), ..Options::default() }));
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut calls = JoinSet::new();
        for _ in 0..8 {
            let (limits, running, most) = (Arc::clone(&limits), Arc::clone(&running), Arc::clone(&most));
            calls.spawn(async move {
                let work = move || {
                    most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(5));
                    running.fetch_sub(1, Ordering::SeqCst);
                };
                run_heavy(&limits, work).await
            });
        }
        assert!(calls.join_all().await.iter().all(Result::is_ok));
        assert_eq!(most.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn a_call_that_gives_up_while_it_waits_does_no_work() {
        let limits = Limits::new(&Options { max_heavy: Some(1), ..Options::default() });
        let running = Arc::clone(&limits.heavy).acquire_owned().await.unwrap();
        let waiting = run_heavy(&limits, || panic!("it must not start"));
        assert!(tokio::time::timeout(Duration::from_millis(10), waiting).await.is_err());
        drop(running);
        run_heavy(&limits, || {}).await.unwrap();
    }
}
