//! A promptd somewhere else, as `promptd publish --to http://…` calls it.

use std::{error::Error as _, fmt, time::Duration};

use promptd_contract::proto;
use tonic::{
    Code, Request, Status,
    metadata::{Ascii, MetadataValue},
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity},
};
use tonic_types::StatusExt as _;

use super::{api::admin_service_client::AdminServiceClient, pipeline::code_name};

/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an answer may take: no less than the server takes for a call.
const CALL_TIMEOUT: Duration = Duration::from_secs(90);

/// Where a promptd is, and how it knows who calls.
#[derive(Clone)]
pub struct RemoteAddress {
    /// `http://HOST:PORT` or `https://HOST:PORT`.
    pub url: String,
    /// For `https`: the authority that signs the server's certificate, as PEM.
    pub ca: Option<Vec<u8>>,
    /// The certificate and the key that the server knows the caller by, as PEM.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
    /// The token.
    pub token: Option<String>,
}

/// A connection to a promptd.
pub struct Remote {
    url: String,
    admin: AdminServiceClient<Channel>,
    token: Option<MetadataValue<Ascii>>,
}

/// Why a promptd did not do what it was asked for.
#[derive(Debug)]
pub struct RemoteError {
    /// The `ErrorInfo` reason; empty: there is none.
    pub reason: String,
    /// What was asked for has a fault, or came too late.
    pub is_input: bool,
    message: String,
    details: Vec<String>,
}

macro_rules! calls {
    ($($name:ident: $request:ident -> $response:ident)+) => {$(
        #[doc = concat!("Calls `", stringify!($request), "`'s method.")]
        pub async fn $name(&self, request: proto::$request) -> Result<proto::$response, RemoteError> {
            let answer = self.admin.clone().$name(self.request(request)).await;
            answer.map(tonic::Response::into_inner).map_err(|status| self.failed(&status))
        }
    )+};
}

impl Remote {
    /// Connects.
    pub async fn connect(address: &RemoteAddress) -> Result<Self, RemoteError> {
        let RemoteAddress { url, ca, identity, token } = address;
        let failed = |why: String| RemoteError::plain(format!("{url} cannot be used: {why}"));
        let endpoint = Endpoint::from_shared(url.clone()).map_err(|error| failed(chain(&error)))?;
        let endpoint = endpoint.connect_timeout(CONNECT_TIMEOUT).tcp_nodelay(true);
        let endpoint = if url.starts_with("https://") {
            let ca = ca.as_ref().ok_or_else(|| {
                failed("give --ca FILE, the authority that signs the server's certificate".to_owned())
            })?;
            let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(ca));
            let tls = match identity {
                Some((cert, key)) => tls.identity(Identity::from_pem(cert, key)),
                None => tls,
            };
            endpoint.tls_config(tls).map_err(|error| failed(chain(&error)))?
        } else {
            endpoint
        };
        let channel = endpoint.connect().await.map_err(|error| failed(chain(&error)))?;
        let token = token.as_ref().map(|token| format!("Bearer {token}").parse()).transpose();
        let token = token.map_err(|_| failed("the token has characters that no header can have".to_owned()))?;
        Ok(Self { url: url.clone(), admin: AdminServiceClient::new(channel), token })
    }

    calls! {
        list_published: ListPublishedRequest -> ListPublishedResponse
        get_published: GetPublishedRequest -> GetPublishedResponse
        read_published_files: ReadPublishedFilesRequest -> ReadPublishedFilesResponse
        find_missing_files: FindMissingFilesRequest -> FindMissingFilesResponse
        upload_files: UploadFilesRequest -> UploadFilesResponse
        publish: PublishRequest -> PublishResponse
        rollback: RollbackRequest -> RollbackResponse
        promote_canary: PromoteCanaryRequest -> PromoteCanaryResponse
        abort_canary: AbortCanaryRequest -> AbortCanaryResponse
        list_proposals: ListProposalsRequest -> ListProposalsResponse
        approve_proposal: ApproveProposalRequest -> ApproveProposalResponse
        reject_proposal: RejectProposalRequest -> RejectProposalResponse
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        request.set_timeout(CALL_TIMEOUT);
        if let Some(token) = &self.token {
            request.metadata_mut().insert("authorization", token.clone());
        }
        request
    }

    fn failed(&self, status: &Status) -> RemoteError {
        if let Some(cause) = status.source() {
            return RemoteError::plain(format!("{} cannot be reached: {}", self.url, chain(cause)));
        }
        let details = status.get_error_details();
        let fields = details.bad_request().into_iter().flat_map(|bad| &bad.field_violations);
        let fields = fields.map(|one| (&one.field, &one.description));
        let places = details.precondition_failure().into_iter().flat_map(|failed| &failed.violations);
        let places = places.map(|one| (&one.subject, &one.description));
        let line = |(place, text): (&String, &String)| format!("{place}: {text}");
        RemoteError {
            reason: details.error_info().map_or_else(String::new, |info| info.reason.clone()),
            is_input: matches!(status.code(), Code::InvalidArgument | Code::FailedPrecondition | Code::Aborted),
            message: format!("{} answers {}: {}", self.url, code_name(status.code()), status.message()),
            details: fields.chain(places).map(line).collect(),
        }
    }
}

impl RemoteError {
    fn plain(message: String) -> Self {
        Self { reason: String::new(), is_input: false, message, details: Vec::new() }
    }
}

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.details.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

impl std::error::Error for RemoteError {}

/// An error with what caused it.
fn chain(error: &dyn std::error::Error) -> String {
    let (mut text, mut cause) = (error.to_string(), error.source());
    while let Some(error) = cause {
        let said = error.to_string();
        // Some say only what their cause does.
        if !text.ends_with(&said) {
            text = format!("{text}: {said}");
        }
        cause = error.source();
    }
    text
}
