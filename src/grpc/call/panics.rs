//! A call's panic is its own.

use std::{
    any::Any,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    task::Poll,
};

/// A call panicked.
pub(super) struct Panicked;

/// Runs a call to its end; a panic in it ends nothing else.
pub(super) async fn catch<F: Future>(call: F) -> Result<F::Output, Panicked> {
    let mut call = pin!(call);
    poll_fn(|cx| caught(|| call.as_mut().poll(cx))).await
}

/// The same for one poll.
pub(super) fn caught<T>(poll: impl FnOnce() -> Poll<T>) -> Poll<Result<T, Panicked>> {
    match guarded(poll) {
        Ok(poll) => poll.map(Ok),
        Err(panicked) => Poll::Ready(Err(panicked)),
    }
}

/// The same for what does not wait.
pub(super) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        forget(payload);
        Panicked
    })
}

/// Drops a panic's payload; should that panic too, the call is over anyway.
fn forget(payload: Box<dyn Any + Send>) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
}
