//! A stream from a step that is taken again and again.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio_stream::Stream;
use tonic::Status;

type Step<S, T> = Pin<Box<dyn Future<Output = Option<(T, S)>> + Send>>;

/// A stream of `T`, each made when the reader asks for it, so that a slow reader finds what is newest then, and no
/// queue stands behind it. The step gives the next item and its next state; `None` ends the stream.
pub(super) struct Steps<S, T> {
    next: Option<Step<S, T>>,
    step: fn(S) -> Step<S, T>,
}

impl<S, T> Steps<S, T> {
    pub(super) fn new(state: S, step: fn(S) -> Step<S, T>) -> Self {
        Self { next: Some(step(state)), step }
    }
}

impl<S, T> Stream for Steps<S, T> {
    type Item = Result<T, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(next) = &mut self.next else { return Poll::Ready(None) };
        let made = ready!(next.as_mut().poll(cx));
        self.next = None;
        Poll::Ready(made.map(|(item, state)| {
            self.next = Some((self.step)(state));
            Ok(item)
        }))
    }
}
