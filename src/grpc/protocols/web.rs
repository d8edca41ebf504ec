//! Pages of other origins: which may call, and what their scripts may read of an answer.

use http::{HeaderName, Method};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use crate::grpc::Origins;

/// The headers of answers that a page's script may read.
const EXPOSED: [HeaderName; 4] = [
    HeaderName::from_static("grpc-status"),
    HeaderName::from_static("grpc-message"),
    HeaderName::from_static("grpc-status-details-bin"),
    HeaderName::from_static("x-request-id"),
];

/// The answers to browsers that ask whether a page may call.
pub(super) fn cors(origins: &Origins) -> CorsLayer {
    let origins = match origins {
        Origins::Any => AllowOrigin::any(),
        Origins::Listed(origins) => AllowOrigin::list(origins.iter().map(|origin| origin.header().clone())),
    };
    CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([Method::POST, Method::GET])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(EXPOSED)
}
