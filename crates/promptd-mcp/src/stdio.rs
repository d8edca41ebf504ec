//! The server on standard input and output, as clients start it.

use std::{fmt, sync::Arc};

use rmcp::{
    ServiceExt as _,
    transport::{async_rw::AsyncRwTransport, io::stdio_pipes},
};

use crate::{Promptd, http::MAX_REQUEST_BYTES, server::Server};

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
/// A line of more than [`MAX_REQUEST_BYTES`] is dropped.
pub async fn serve_stdio(promptd: Arc<dyn Promptd>, workspace: Option<String>) -> Result<(), StdioError> {
    let (input, output) = stdio_pipes();
    let transport = AsyncRwTransport::new(input, output).with_max_line_length(MAX_REQUEST_BYTES);
    let failed = |error: &dyn fmt::Display| StdioError(error.to_string());
    let serving = Server::by_stdio(promptd, workspace).serve(transport).await.map_err(|error| failed(&error))?;
    serving.waiting().await.map(|_| ()).map_err(|error| failed(&error))
}
