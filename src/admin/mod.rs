//! The pages for operators, by HTTP on a port of their own: `/metrics`, `/livez`, `/readyz` and `/debug/config`.
//!
//! Nothing here shows a prompt, a token or a workspace's text. The port needs no credentials, so it belongs on a
//! private address.

mod collector;
mod metrics;

pub use collector::SourceCollector;
pub use metrics::{Metrics, section_label};

use std::{io, sync::Arc};

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use prometheus_client::{encoding::text, registry::Registry};
use tokio::net::TcpListener;

/// What the pages show.
pub struct Pages {
    /// The metrics.
    pub registry: Registry,
    /// Whether the service takes calls, on a line for a person.
    pub readiness: Box<dyn Fn() -> Result<String, String> + Send + Sync>,
    /// The settings in use. Secrets are in files of their own, of which the settings have only the paths.
    pub config: Box<dyn Fn() -> serde_json::Value + Send + Sync>,
}

/// Serves the pages until it is dropped.
pub async fn serve(listener: TcpListener, pages: Pages) -> io::Result<()> {
    axum::serve(listener, router(pages)).await
}

fn router(pages: Pages) -> Router {
    Router::new()
        .route("/", get(index))
        .route("/metrics", get(metrics))
        .route("/livez", get(|| async { "alive\n" }))
        .route("/readyz", get(ready))
        .route("/debug/config", get(config))
        .method_not_allowed_fallback(|| async {
            (StatusCode::METHOD_NOT_ALLOWED, "405: this is read by GET or HEAD\n")
        })
        .with_state(Arc::new(pages))
}

async fn index() -> &'static str {
    "/metrics\n/livez\n/readyz\n/debug/config\n"
}

async fn metrics(State(pages): State<Arc<Pages>>) -> Response {
    const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let mut body = String::new();
    match text::encode(&mut body, &pages.registry) {
        Ok(()) => ([(header::CONTENT_TYPE, OPEN_METRICS)], body).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn ready(State(pages): State<Arc<Pages>>) -> Response {
    match (pages.readiness)() {
        Ok(ready) => format!("{ready}\n").into_response(),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
    }
}

async fn config(State(pages): State<Arc<Pages>>) -> Response {
    let body = format!("{:#}\n", (pages.config)());
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use http::Request;
    use tower::ServiceExt as _;

    use super::*;

    async fn get(pages: Pages, path: &str) -> (StatusCode, String) {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = router(pages).oneshot(request).await.unwrap();
        let status = response.status();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    fn pages(readiness: Result<&'static str, &'static str>) -> Pages {
        let mut registry = Registry::with_prefix("promptd");
        Metrics::register(&mut registry);
        Pages {
            registry,
            readiness: Box::new(move || readiness.map(str::to_owned).map_err(str::to_owned)),
            config: Box::new(|| serde_json::json!({"listen": "127.0.0.1:1"})),
        }
    }

    #[tokio::test]
    async fn each_page_answers() {
        assert_eq!(get(pages(Err("starting")), "/livez").await, (StatusCode::OK, "alive\n".into()));
        let starting = (StatusCode::SERVICE_UNAVAILABLE, "starting\n".into());
        assert_eq!(get(pages(Err("starting")), "/readyz").await, starting);
        assert_eq!(get(pages(Ok("ready")), "/readyz").await, (StatusCode::OK, "ready\n".into()));
        assert!(get(pages(Ok("ready")), "/debug/config").await.1.contains("127.0.0.1:1"));
        let (status, body) = get(pages(Ok("ready")), "/metrics").await;
        assert_eq!(status, StatusCode::OK);
        assert!(body.contains("promptd_build_info") && body.ends_with("# EOF\n"), "{body}");
        assert_eq!(get(pages(Ok("ready")), "/prompts").await.0, StatusCode::NOT_FOUND);
    }

    #[tokio::test]
    async fn a_page_that_is_posted_to_says_how_it_is_read() {
        let request = Request::post("/metrics").body(Body::empty()).unwrap();
        let response = router(pages(Ok("ready"))).oneshot(request).await.unwrap();
        assert_eq!(
            (response.status(), &response.headers()["allow"]),
            (StatusCode::METHOD_NOT_ALLOWED, &"GET,HEAD".parse().unwrap())
        );
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        assert_eq!(&body[..], b"405: this is read by GET or HEAD\n");
    }
}
