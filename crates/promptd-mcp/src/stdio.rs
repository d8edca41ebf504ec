//! The server on standard input and output, as clients start it.

use std::{fmt, future::Future, sync::Arc};

use rmcp::{
    RoleServer, ServiceExt as _,
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    service::ServerInitializeError,
    transport::{Transport, async_rw::AsyncRwTransport, io::stdio_pipes},
};

use crate::{Promptd, server::Server};

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
    let transport = FromFirstRequest { inner: AsyncRwTransport::new(input, output), began: false };
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
    began: bool,
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
            let message = self.inner.receive().await?;
            self.began |= matches!(message, ClientJsonRpcMessage::Request(_));
            if self.began {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn what_comes_before_the_first_request_is_left_out() {
        let (mut client, server) = tokio::io::duplex(1 << 10);
        let (input, output) = tokio::io::split(server);
        let mut transport = FromFirstRequest { inner: AsyncRwTransport::new_server(input, output), began: false };
        let initialized = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
        let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
        client.write_all(format!("{initialized}no JSON\n{ping}{initialized}").as_bytes()).await.unwrap();
        client.shutdown().await.unwrap();
        let mut received = Vec::new();
        while let Some(message) = transport.receive().await {
            received.push(matches!(message, ClientJsonRpcMessage::Request(_)));
        }
        assert_eq!(received, [true, false]);
        drop(transport);
        let mut answered = String::new();
        client.read_to_string(&mut answered).await.unwrap();
    }
}
