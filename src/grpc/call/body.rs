//! The body of an open stream: it ends when it must, with a status that says why.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body as HttpBody, Frame};
use tonic::{Code, Status, body::Body};

use super::{
    panics::{Panicked, caught},
    record::Record,
    status::detailed,
};
use crate::grpc::{error::Error, live::Place};

type End = Pin<Box<dyn Future<Output = Error> + Send>>;

/// A stream's body. It holds the stream's place among the open ones.
pub(super) struct Guarded {
    inner: Body,
    max_message_bytes: usize,
    end: End,
    open: Option<(Record, Option<Place>)>,
}

impl Guarded {
    pub(super) fn new(inner: Body, max_message_bytes: usize, end: End, record: Record, place: Option<Place>) -> Self {
        Self { inner, max_message_bytes, end, open: Some((record, place)) }
    }

    fn close(&mut self, code: Code) {
        if let Some((record, _place)) = self.open.take() {
            record.end(code);
        }
    }

    fn close_with(&mut self, status: &Status) -> Frame<Bytes> {
        let mut trailers = HeaderMap::new();
        // It fails only where the status does not fit into headers, which `Error` sees to.
        let _ = status.add_header(&mut trailers);
        self.close(status.code());
        Frame::trailers(trailers)
    }
}

impl HttpBody for Guarded {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        if this.open.is_none() {
            return Poll::Ready(None);
        }
        match caught(|| Pin::new(&mut this.inner).poll_frame(cx)) {
            Poll::Ready(Ok(Some(Ok(frame)))) => {
                let Some(trailers) = frame.trailers_ref() else { return Poll::Ready(Some(Ok(frame))) };
                return Poll::Ready(Some(Ok(match Status::from_header_map(trailers) {
                    Some(status) if status.code() != Code::Ok => {
                        this.close_with(&detailed(status, this.max_message_bytes))
                    }
                    status => {
                        this.close(status.map_or(Code::Unknown, |status| status.code()));
                        frame
                    }
                })));
            }
            Poll::Ready(Ok(ended)) => {
                this.close(Code::Cancelled);
                return Poll::Ready(ended);
            }
            Poll::Ready(Err(Panicked)) => {
                if let Some((record, _)) = &this.open {
                    record.panicked();
                }
                return Poll::Ready(Some(Ok(this.close_with(&Error::Internal.into()))));
            }
            Poll::Pending => {}
        }
        // After the stream itself, so that what it had ready still goes out.
        this.end.as_mut().poll(cx).map(|error| Some(Ok(this.close_with(&error.into()))))
    }

    fn is_end_stream(&self) -> bool {
        self.open.is_none()
    }
}
