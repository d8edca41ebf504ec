//! The bodies of answers. That of an open stream ends when the server must end it, with a status that says why.

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body as HttpBody, Frame};
use tonic::{Code, Status, body::Body};

use super::{error::Error, record::Record, status::with_details};
use crate::grpc::{budget::Hold, limits::Permit, transport::Peer};

/// The body of a single answer, whose first frame was taken out to be counted.
pub(super) struct AnswerBody {
    first: Option<Frame<Bytes>>,
    rest: Body,
}

impl AnswerBody {
    pub(super) fn new(first: Frame<Bytes>, rest: Body) -> Self {
        Self { first: Some(first), rest }
    }
}

impl HttpBody for AnswerBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        match self.first.take() {
            Some(first) => Poll::Ready(Some(Ok(first))),
            None => Pin::new(&mut self.rest).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.rest.is_end_stream()
    }
}

/// Why a stream ends, once it does.
type End = Pin<Box<dyn Future<Output = Error> + Send>>;

/// What an open stream holds to its end.
pub(super) struct OpenStream {
    pub(super) record: Record,
    pub(super) peer: Peer,
    pub(super) retry: Duration,
    pub(super) _permits: [Option<Permit>; 2],
    pub(super) _hold: Option<Hold>,
}

/// The body of a stream.
pub(super) struct StreamBody {
    inner: Body,
    max_message_bytes: usize,
    /// Ends before the next message.
    revoked: End,
    /// Ends once no message is ready.
    end: End,
    open: Option<OpenStream>,
}

impl StreamBody {
    /// `ends`: that the caller may no longer have what the stream sends, and that it must end for another reason.
    pub(super) fn new(inner: Body, max_message_bytes: usize, ends: [End; 2], open: OpenStream) -> Self {
        let [revoked, end] = ends;
        Self { inner, max_message_bytes, revoked, end, open: Some(open) }
    }

    /// A message whose bytes are counted until the client has taken them; or the end, where they are too many.
    fn count(&mut self, frame: Frame<Bytes>) -> Frame<Bytes> {
        let Some(open) = &self.open else { return frame };
        match frame.into_data().map(|data| open.peer.message(data)) {
            Ok(Ok(data)) => Frame::data(data),
            Ok(Err(exhausted)) => self.close_with(&Error::exhausted(exhausted, open.retry).into()),
            Err(frame) => frame,
        }
    }

    fn close(&mut self, code: Code) {
        if let Some(open) = self.open.take() {
            open.record.finish(code);
        }
    }

    fn close_with(&mut self, status: &Status) -> Frame<Bytes> {
        let mut trailers = HeaderMap::new();
        // It fails only where the status does not fit into headers; an `Error` always fits.
        let _ = status.add_header(&mut trailers);
        if let Some(open) = self.open.take() {
            open.record.fail(status);
        }
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
        if let Poll::Ready(error) = this.revoked.as_mut().poll(cx) {
            return Poll::Ready(Some(Ok(this.close_with(&error.into()))));
        }
        match catch_unwind(AssertUnwindSafe(|| Pin::new(&mut this.inner).poll_frame(cx))) {
            Ok(Poll::Ready(Some(Ok(frame)))) => {
                let Some(trailers) = frame.trailers_ref() else { return Poll::Ready(Some(Ok(this.count(frame)))) };
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
                if let Some(open) = &this.open {
                    open.record.panicked();
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
