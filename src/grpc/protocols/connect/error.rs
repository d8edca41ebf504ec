//! Errors as Connect has them: JSON, details included, and an HTTP status where the answer is one message.

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use http::{HeaderMap, HeaderValue, Response, StatusCode, header::CONTENT_TYPE};
use http_body_util::Full;
use prost::Message as _;
use serde_json::{Map, Value, json};
use tonic::{Code, Status, body::Body};

use crate::grpc::{
    pipeline::{Error, code_name},
    protocols::Refused,
};
use promptd_contract::json;

/// The answer to a request that is not a call, marked with what is wrong with the request.
pub(in crate::grpc::protocols) fn refuse(status: StatusCode, refused: Refused, error: Error) -> Response<Body> {
    let mut response = failed(status, error);
    response.extensions_mut().insert(refused);
    response
}

/// An error of a call as the whole answer.
pub(in crate::grpc::protocols) fn failed(status: StatusCode, error: Error) -> Response<Body> {
    respond(status, HeaderMap::new(), &error.into())
}

/// An error as the whole answer.
pub(in crate::grpc::protocols) fn respond(http: StatusCode, headers: HeaderMap, status: &Status) -> Response<Body> {
    let mut response = Response::new(Body::new(Full::from(to_json(status).to_string())));
    *response.status_mut() = http;
    *response.headers_mut() = headers;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// An error as an object: `code`, `message`, `details`.
pub(super) fn to_json(status: &Status) -> Value {
    let mut error = Map::new();
    error.insert("code".into(), code(status.code()).into());
    if !status.message().is_empty() {
        error.insert("message".into(), status.message().into());
    }
    let details = tonic_types::pb::Status::decode(status.details()).unwrap_or_default().details;
    if !details.is_empty() {
        error.insert("details".into(), details.iter().map(detail).collect());
    }
    Value::Object(error)
}

/// A detail: its bytes for programs, and the same in words for people.
fn detail(any: &prost_types::Any) -> Value {
    let name = any.type_url.rsplit('/').next().unwrap_or_default();
    let mut detail = json!({ "type": name, "value": STANDARD_NO_PAD.encode(&any.value) });
    let message = json::descriptors().get_message_by_name(name);
    let debug = message.and_then(|message| json::write(&message, &any.value));
    if let Some(debug) = debug.and_then(|debug| serde_json::from_slice::<Value>(&debug).ok()) {
        detail["debug"] = debug;
    }
    detail
}

/// The code as Connect writes it.
fn code(code: Code) -> String {
    match code {
        Code::Cancelled => "canceled".into(),
        code => code_name(code).to_lowercase(),
    }
}

/// The HTTP status that goes with a code.
pub(in crate::grpc::protocols) fn http_status(code: Code) -> StatusCode {
    match code {
        Code::Ok => StatusCode::OK,
        // No standard status; servers have come to use this one.
        Code::Cancelled => StatusCode::from_u16(499).unwrap_or(StatusCode::REQUEST_TIMEOUT),
        Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange => StatusCode::BAD_REQUEST,
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::PermissionDenied => StatusCode::FORBIDDEN,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::AlreadyExists | Code::Aborted => StatusCode::CONFLICT,
        Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        Code::Unimplemented => StatusCode::NOT_IMPLEMENTED,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        Code::Unknown | Code::Internal | Code::DataLoss => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
