//! Statuses as answers.

use http::Response;
use tonic::{Code, Status, body::Body};

use crate::grpc::error::Error;

/// The answer that tells a status and nothing else.
pub(in crate::grpc) fn respond(status: Status) -> Response<Body> {
    let (parts, ()) = status.into_http::<()>().into_parts();
    Response::from_parts(parts, Body::empty())
}

/// What tonic says where a request ends without a message.
const NO_MESSAGE: &str = "Missing request message.";

/// An error of tonic's own, which has no details and is not always the right one, as one of this server.
pub(super) fn detailed(status: Status, max_message_bytes: usize) -> Status {
    if !status.details().is_empty() {
        return status;
    }
    let message = status.message();
    let error = match status.code() {
        // The one that tonic gives for a message over the limit; gRPC has RESOURCE_EXHAUSTED for it.
        Code::OutOfRange | Code::ResourceExhausted => Error::MessageTooLarge { limit: max_message_bytes },
        Code::Internal if message == NO_MESSAGE => Error::Incomplete,
        // tonic's for a message that cannot be decoded; nothing of this server's own comes without details.
        Code::Internal => Error::Unreadable,
        code => Error::Foreign(code, message.to_owned()),
    };
    error.into()
}
