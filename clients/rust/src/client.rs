//! The client: where it calls, as whom, and for how long.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use prost::Message;
use tokio::time::{Instant, sleep, timeout_at};
use tonic::{
    Code, Request, Status, codegen::http::uri::PathAndQuery, metadata::AsciiMetadataValue, transport::Channel,
};
use tonic_prost::ProstCodec;

use crate::{Error, LastGood, channels::Channels, retry};

const TIMEOUT: Duration = Duration::from_secs(10);
const MAX_ANSWER_BYTES: usize = 4 << 20;

/// A client of promptd. Open one and keep it; a clone is the same client.
#[derive(Clone)]
pub struct Promptd(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    channels: Channels,
    token: Option<AsciiMetadataValue>,
    pub(crate) token_text: String,
    pub(crate) timeout: Duration,
    max_answer_bytes: usize,
    pub(crate) last_good: Option<LastGood>,
}

/// What a client is made of.
#[derive(Clone)]
pub struct Builder {
    addresses: Vec<String>,
    token: String,
    tls: Option<Tls>,
    timeout: Duration,
    max_answer_bytes: usize,
    last_good: Option<LastGood>,
}

/// Files of TLS, in PEM. Without a file of authorities those of the web are trusted.
#[derive(Debug, Clone, Default)]
pub struct Tls {
    /// The authorities that may have signed the server's certificate.
    pub ca: Option<PathBuf>,
    /// The certificate that this client shows, with `key`.
    pub certificate: Option<PathBuf>,
    /// The key of the certificate.
    pub key: Option<PathBuf>,
}

impl fmt::Debug for Promptd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The token is nobody's business.
        f.debug_struct("Promptd").field("channels", &self.0.channels).finish_non_exhaustive()
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

impl Promptd {
    /// A client with the defaults: `host:port`, or a URL. A connection is made by the first call.
    pub async fn connect(address: impl Into<String>) -> Result<Self, Error> {
        Self::builder(address).build().await
    }

    /// A client with settings of its own.
    pub fn builder(address: impl Into<String>) -> Builder {
        Builder {
            addresses: vec![address.into()],
            token: String::new(),
            tls: None,
            timeout: TIMEOUT,
            max_answer_bytes: MAX_ANSWER_BYTES,
            last_good: None,
        }
    }

    /// One call, tried again where that is of use; the answer and its request id.
    pub(crate) async fn call<Q, A>(
        &self,
        path: &'static str,
        request: &Q,
        timeout: Duration,
    ) -> Result<(A, String), Error>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let deadline = Instant::now() + timeout;
        for attempt in 1.. {
            let one = self.0.channels.pick();
            let left = deadline.saturating_duration_since(Instant::now());
            let called = timeout_at(deadline, self.attempt(one.channel.clone(), path, request.clone(), left)).await;
            let error = match called {
                Ok(Ok(answer)) => {
                    one.note(false);
                    return Ok(answer);
                }
                Ok(Err(status)) if !Error::is_late(&status) => Error::of(&status, &one.address),
                Ok(Err(_)) | Err(_) => Error::late(&one.address, timeout),
            };
            one.note(error.is_unreachable());
            let left = deadline.saturating_duration_since(Instant::now());
            let Some(delay) = retry::delay(attempt, &error, left) else { return Err(error) };
            sleep(delay).await;
        }
        unreachable!("attempts end with an answer or an error")
    }

    async fn attempt<Q, A>(
        &self,
        channel: Channel,
        path: &'static str,
        message: Q,
        left: Duration,
    ) -> Result<(A, String), Status>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let mut request = self.request(message);
        request.set_timeout(left);
        let mut grpc = tonic::client::Grpc::new(channel).max_decoding_message_size(self.0.max_answer_bytes);
        grpc.ready().await.map_err(|error| Status::from_error(error.into()))?;
        let codec = ProstCodec::<Q, A>::default();
        let answer = grpc.unary(request, PathAndQuery::from_static(path), codec).await?;
        let id = answer.metadata().get("x-request-id").and_then(|id| id.to_str().ok()).unwrap_or_default().to_owned();
        Ok((answer.into_inner(), id))
    }

    /// Opens a stream; where to is for errors.
    pub(crate) async fn stream<Q, A>(
        &self,
        path: &'static str,
        message: Q,
    ) -> Result<(tonic::Streaming<A>, String), Error>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let one = self.0.channels.pick();
        let mut grpc = tonic::client::Grpc::new(one.channel.clone()).max_decoding_message_size(self.0.max_answer_bytes);
        let opened = async {
            grpc.ready().await.map_err(|error| Status::from_error(error.into()))?;
            let codec = ProstCodec::<Q, A>::default();
            grpc.server_streaming(self.request(message), PathAndQuery::from_static(path), codec).await
        };
        let opened = opened.await.map_err(|status| Error::of(&status, &one.address));
        one.note(opened.as_ref().is_err_and(Error::is_unreachable));
        Ok((opened?.into_inner(), one.address.clone()))
    }

    fn request<Q>(&self, message: Q) -> Request<Q> {
        let mut request = Request::new(message);
        if let Some(token) = &self.0.token {
            request.metadata_mut().insert("authorization", token.clone());
        }
        request
    }
}

impl Builder {
    /// One more address. Calls are spread over all that the names have when the client is built; one that fails is passed over for 5 s.
    #[must_use]
    pub fn address(mut self, address: impl Into<String>) -> Self {
        self.addresses.push(address.into());
        self
    }

    /// Sent as `authorization: Bearer TOKEN`.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = token.into();
        self
    }

    /// Connects with TLS, as `https://` in an address does.
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// How long a call may take, with all its retries; 10 s unless it is set here or by the call.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The largest answer to take; 4 MiB by default.
    #[must_use]
    pub fn max_answer_bytes(mut self, bytes: usize) -> Self {
        self.max_answer_bytes = bytes;
        self
    }

    /// Answers from earlier ones while no server can be reached.
    #[must_use]
    pub fn last_good(mut self, last_good: LastGood) -> Self {
        self.last_good = Some(last_good);
        self
    }

    /// Resolves the names. No server need be there yet.
    pub async fn build(self) -> Result<Promptd, Error> {
        let Self { addresses, token, tls, timeout, max_answer_bytes, last_good } = self;
        let header = (!token.is_empty()).then(|| format!("Bearer {token}").parse::<AsciiMetadataValue>()).transpose();
        let header = header
            .map_err(|_| Error::own(Code::InvalidArgument, "the token has characters that no header can have"))?
            .map(|mut header| {
                header.set_sensitive(true);
                header
            });
        let channels = Channels::open(&addresses, tls.as_ref()).await?;
        let inner = Inner { channels, token: header, token_text: token, timeout, max_answer_bytes, last_good };
        Ok(Promptd(Arc::new(inner)))
    }
}
