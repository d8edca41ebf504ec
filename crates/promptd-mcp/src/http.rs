//! The server by streamable HTTP. It has no sessions: each request is answered by itself.

use std::{convert::Infallible, sync::Arc};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, Uri};
use http_body_util::{Full, combinators::BoxBody};
use rmcp::{
    model::{ConstString as _, SubscriptionsListenRequestMethod},
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
    },
};

use crate::{Promptd, client::Client, server::Server, subscriptions::AtRevision};

/// Where the server is.
pub(crate) const PATH: &str = "/mcp";

/// The most bytes of a request.
pub const MAX_REQUEST_BYTES: usize = 256 << 10;

/// The server, for requests to `/mcp` and below it.
#[derive(Clone)]
pub struct HttpServer {
    service: StreamableHttpService<Server, NeverSessionManager>,
    promptd: Arc<dyn Promptd>,
}

impl HttpServer {
    /// A server whose requests were let in already: it checks neither `Host` nor `Origin` nor tokens.
    #[must_use]
    pub fn new(promptd: Arc<dyn Promptd>) -> Self {
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(MAX_REQUEST_BYTES)
            .disable_allowed_hosts()
            .disable_allowed_origins();
        let calls = Arc::clone(&promptd);
        let server = move || Ok(Server::by_http(Arc::clone(&calls)));
        Self { service: StreamableHttpService::new(server, Arc::default(), config), promptd }
    }

    /// Answers a request.
    pub async fn answer(&self, request: Request<Full<Bytes>>) -> Response<BoxBody<Bytes, Infallible>> {
        let (mut head, body) = request.into_parts();
        if listens(&head.headers) {
            let named = workspace_of(&head.uri).map(str::to_owned);
            let client = Client::new(Arc::clone(&self.promptd), Some(head.clone()), named);
            // What is wrong with the workspace is the answer to the request itself.
            if let Ok(revision) = client.revision_now().await {
                head.extensions.insert(AtRevision(revision));
            }
        }
        self.service.handle(Request::from_parts(head, body)).await
    }
}

/// Whether a request with these headers is one to listen for changes.
#[must_use]
pub fn listens(headers: &HeaderMap) -> bool {
    headers.get("mcp-method").is_some_and(|method| method == SubscriptionsListenRequestMethod::VALUE)
}

/// Whether an address is one of this server's.
#[must_use]
pub fn is_at(uri: &Uri) -> bool {
    uri.path() == PATH || workspace_of(uri).is_some()
}

/// The workspace that an address names: `ID` of `/mcp/ID`.
pub(crate) fn workspace_of(uri: &Uri) -> Option<&str> {
    let id = uri.path().strip_prefix(PATH)?.strip_prefix('/')?;
    (!id.is_empty() && !id.contains('/')).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_workspace_or_none() {
        for (path, at, workspace) in [
            ("/mcp", true, None),
            ("/mcp?x=1", true, None),
            ("/mcp/home", true, Some("home")),
            ("/mcp/", false, None),
            ("/mcp/home/x", false, None),
            ("/mcpx", false, None),
            ("/", false, None),
        ] {
            let uri = Uri::from_static(path);
            assert_eq!((is_at(&uri), workspace_of(&uri)), (at, workspace), "{path}");
        }
    }
}
