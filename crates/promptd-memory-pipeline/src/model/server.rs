//! One request to a model's server, and its answer.

use std::time::Duration;

use http::{
    HeaderMap, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER, USER_AGENT},
};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{body::Bytes, client::conn::http1};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::task::JoinSet;

use super::{
    Fault,
    connect::{Address, Connector},
};

/// How a server is called.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Where it is.
    pub address: Address,
    /// The key that is sent, as `Bearer KEY`; `None`: none is.
    pub key: Option<HeaderValue>,
    /// The longest that a request may take.
    pub timeout: Duration,
}

/// A server that is called by HTTP/1.1, with a connection for each request.
pub(super) struct Server {
    options: ServerOptions,
    connector: Connector,
}

impl Server {
    /// Calls nothing yet. The error says why the host's certificates cannot be used, which TLS needs.
    pub(super) fn new(options: ServerOptions) -> Result<Self, String> {
        let connector = Connector::new(&options.address)?;
        Ok(Self { options, connector })
    }

    /// The body of the answer, of at most so many bytes.
    pub(super) async fn post(&self, path: &str, body: &Value, max_bytes: usize) -> Result<Bytes, Fault> {
        let asked = tokio::time::timeout(self.options.timeout, self.post_now(path, body, max_bytes)).await;
        let late = || format!("the model did not answer within {} s", self.options.timeout.as_secs());
        asked.unwrap_or_else(|_| Err(Fault::of_server(late())))
    }

    async fn post_now(&self, path: &str, body: &Value, max_bytes: usize) -> Result<Bytes, Fault> {
        let request = self.request(path, body)?;
        let unreachable = |error| Fault::of_server(format!("the model's server cannot be reached: {error}"));
        let stream = self.connector.connect(&self.options.address).await.map_err(unreachable)?;
        let broken = |_| Fault::of_server("the connection to the model's server broke");
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        // It ends with this call.
        let mut connections = JoinSet::new();
        connections.spawn(connection);
        let (head, body) = sender.send_request(request).await.map_err(broken)?.into_parts();
        if !head.status.is_success() {
            return Err(fault_of_status(head.status, &head.headers));
        }
        let body = Limited::new(body, max_bytes).collect().await;
        let cut = || format!("the model's answer breaks off, or is longer than {} MiB", max_bytes >> 20);
        Ok(body.map_err(|_| Fault::OfAnswer(cut()))?.to_bytes())
    }

    fn request(&self, path: &str, body: &Value) -> Result<http::Request<Full<Bytes>>, Fault> {
        let address = &self.options.address;
        let mut built = http::Request::post(format!("{}{path}", address.path))
            .header(HOST, &address.authority)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, concat!("promptd/", env!("CARGO_PKG_VERSION")));
        if let Some(key) = &self.options.key {
            built = built.header(AUTHORIZATION, key);
        }
        let body = Full::new(Bytes::from(body.to_string()));
        built.body(body).map_err(|_| Fault::OfAnswer("the request cannot be written".into()))
    }
}

/// Why an answer of this status is none.
fn fault_of_status(status: StatusCode, headers: &HeaderMap) -> Fault {
    let message = format!("the model's server answers {}", status.as_u16());
    let pause = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let pause = pause.map(Duration::from_secs);
    match status {
        StatusCode::TOO_MANY_REQUESTS => {
            Fault::OfServer { message, pause: Some(pause.unwrap_or(Duration::from_secs(1))) }
        }
        // What was asked is refused, as too long.
        StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNPROCESSABLE_ENTITY => {
            Fault::OfAnswer(message)
        }
        _ => Fault::OfServer { message, pause },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_a_fault_of_the_server_or_of_what_was_asked() {
        let mut headers = HeaderMap::new();
        let is_servers = |status, headers: &HeaderMap| match fault_of_status(status, headers) {
            Fault::OfServer { pause, .. } => Some(pause),
            Fault::OfAnswer(_) => None,
        };
        assert_eq!(is_servers(StatusCode::INTERNAL_SERVER_ERROR, &headers), Some(None));
        assert_eq!(is_servers(StatusCode::UNAUTHORIZED, &headers), Some(None));
        assert_eq!(is_servers(StatusCode::BAD_REQUEST, &headers), None);
        assert_eq!(is_servers(StatusCode::TOO_MANY_REQUESTS, &headers), Some(Some(Duration::from_secs(1))));
        headers.insert(RETRY_AFTER, "30".parse().unwrap());
        assert_eq!(is_servers(StatusCode::TOO_MANY_REQUESTS, &headers), Some(Some(Duration::from_secs(30))));
    }
}
