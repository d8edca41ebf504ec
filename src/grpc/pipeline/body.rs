//! The body of an open stream: it ends when the server must end it, with a status that says why.

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body as HttpBody, Frame};
use tonic::{Code, Status, body::Body};

use super::{error::Error, record::Record, status::with_details};
use crate::grpc::limits::Permit;

type End = Pin<Box<dyn Future<Output = Error> + Send>>;

/// A stream's body. It holds the stream's permit.
pub(super) struct StreamBody {
    inner: Body,
    max_message_bytes: usize,
    end: End,
    open: Option<(Record, Option<Permit>)>,
}

impl StreamBody {
    pub(super) fn new(inner: Body, max_message_bytes: usize, end: End, record: Record, permit: Option<Permit>) -> Self {
        Self { inner, max_message_bytes, end, open: Some((record, permit)) }
    }

    fn close(&mut self, code: Code) {
        if let Some((record, _permit)) = self.open.take() {
            record.finish(code);
        }
    }

    fn close_with(&mut self, status: &Status) -> Frame<Bytes> {
        let mut trailers = HeaderMap::new();
        // It fails only where the status does not fit into headers; an `Error` always fits.
        let _ = status.add_header(&mut trailers);
        self.close(status.code());
        Frame::trailers(trailers)
    }
}

impl HttpBody for StreamBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        if this.open.is_none() {
            return Poll::Ready(None);
        }
        match catch_unwind(AssertUnwindSafe(|| Pin::new(&mut this.inner).poll_frame(cx))) {
            Ok(Poll::Ready(Some(Ok(frame)))) => {
                let Some(trailers) = frame.trailers_ref() else { return Poll::Ready(Some(Ok(frame))) };
                return Poll::Ready(Some(Ok(match Status::from_header_map(trailers) {
                    Some(status) if status.code() != Code::Ok => {
                        this.close_with(&with_details(status, this.max_message_bytes))
                    }
                    status => {
                        this.close(status.map_or(Code::Unknown, |status| status.code()));
                        frame
                    }
                })));
            }
            Ok(Poll::Ready(ended)) => {
                this.close(Code::Cancelled);
                return Poll::Ready(ended);
            }
            Err(_panic) => {
                if let Some((record, _)) = &this.open {
                    record.panicked();
                }
                return Poll::Ready(Some(Ok(this.close_with(&Error::Internal.into()))));
            }
            Ok(Poll::Pending) => {}
        }
        // After the stream itself, so that messages that are ready are still sent.
        this.end.as_mut().poll(cx).map(|error| Some(Ok(this.close_with(&error.into()))))
    }

    fn is_end_stream(&self) -> bool {
        self.open.is_none()
    }
}
