//! The server on standard input and output, as clients start it.

use std::{fmt, future::Future, sync::Arc};

use rmcp::{
    RoleServer, ServiceExt as _,
    model::{ClientJsonRpcMessage, ClientRequest, ServerJsonRpcMessage},
    service::ServerInitializeError,
    transport::{Transport, async_rw::AsyncRwTransport, io::stdio_pipes},
};

use crate::{Promptd, client::Client, server::Server, subscriptions::AtRevision};

/// Why serving ended before the client did.
#[derive(Debug)]
pub struct StdioError(String);

impl fmt::Display for StdioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StdioError {}

/// Serves one client until it closes standard input. `workspace` is the id of the one that it is for; `None`: the only one.
/// A line of more than 16 MiB is dropped.
pub async fn serve_stdio(promptd: Arc<dyn Promptd>, workspace: Option<String>) -> Result<(), StdioError> {
    let (input, output) = stdio_pipes();
    let client = Client::new(Arc::clone(&promptd), None, workspace.clone());
    let transport = FromFirstRequest::new(AsyncRwTransport::new(input, output), client);
    match Server::by_stdio(promptd, workspace).serve(transport).await {
        Ok(serving) => serving.waiting().await.map(drop).map_err(|error| StdioError(error.to_string())),
        // It closed standard input without a request.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(StdioError(error.to_string())),
    }
}

/// A transport whose messages before the first request are left out: they ask for nothing, and the server would end.
struct FromFirstRequest<T> {
    inner: T,
    /// For the revision at which a client begins to listen.
    client: Client,
    began: bool,
    received: Option<ClientJsonRpcMessage>,
}

impl<T> FromFirstRequest<T> {
    fn new(inner: T, client: Client) -> Self {
        Self { inner, client, began: false, received: None }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for FromFirstRequest<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            // Kept meanwhile: the one who waits may give up and come again.
            if self.received.is_none() {
                self.received = Some(self.inner.receive().await?);
            }
            if let Some(ClientJsonRpcMessage::Request(request)) = &mut self.received {
                self.began = true;
                if let ClientRequest::SubscriptionsListenRequest(listen) = &mut request.request
                    && let Ok(revision) = self.client.revision_now().await
                {
                    listen.extensions.insert(AtRevision(revision));
                }
            }
            let received = self.received.take();
            if self.began {
                return received;
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::{
        FutureExt as _,
        future::{BoxFuture, ready},
    };
    use http::request::Parts;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;
    use crate::{Failure, Messages};

    /// It has no workspace.
    struct Nothing;

    impl Promptd for Nothing {
        fn call(&self, _: &'static str, _: Bytes, _: Option<&Parts>) -> BoxFuture<'static, Result<Bytes, Failure>> {
            ready(Err(Failure::internal("nothing"))).boxed()
        }

        fn open(&self, _: &'static str, _: Bytes, _: Option<&Parts>) -> BoxFuture<'static, Result<Messages, Failure>> {
            ready(Err(Failure::internal("nothing"))).boxed()
        }
    }

    #[tokio::test]
    async fn what_comes_before_the_first_request_is_left_out() {
        let (mut stream, server) = tokio::io::duplex(1 << 10);
        let (input, output) = tokio::io::split(server);
        let client = Client::new(Arc::new(Nothing), None, None);
        let mut transport = FromFirstRequest::new(AsyncRwTransport::new_server(input, output), client);
        let initialized = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
        let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
        stream.write_all(format!("{initialized}no JSON\n{ping}{initialized}").as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut received = Vec::new();
        while let Some(message) = transport.receive().await {
            received.push(matches!(message, ClientJsonRpcMessage::Request(_)));
        }
        assert_eq!(received, [true, false]);
        drop(transport);
        let mut answered = String::new();
        stream.read_to_string(&mut answered).await.unwrap();
        assert_eq!(answered, "");
    }
}
