//! A connection to one member of etcd, and the calls that are made.

use std::time::Duration;

use tokio_stream::StreamExt as _;
use tonic::{
    Request, Response, Status, Streaming,
    metadata::AsciiMetadataValue,
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity},
};

use crate::{
    error::{Error, ErrorKind, chain},
    layout::KeyRange,
    options::{Credentials, Options, ReadCredentials, Tls},
    proto::{
        AuthenticateRequest, Compare, DeleteRangeRequest, KeyValue, PutRequest, RangeRequest, RangeResponse, RequestOp,
        TxnRequest, TxnResponse, WatchCreateRequest, WatchRequest, WatchResponse,
        auth_client::AuthClient,
        compare::{CompareResult, CompareTarget, TargetUnion},
        kv_client::KvClient,
        request_op, response_op,
        watch_client::WatchClient,
        watch_request,
    },
};

/// How long making a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long an answer may take.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the answer may take that says whether etcd can be used.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// The longest answer: a batch of blobs or manifests.
const MAX_ANSWER_BYTES: usize = 128 << 20;
/// The most operations of a transaction; etcd's default, `--max-txn-ops`.
pub(crate) const MAX_OPERATIONS: usize = 128;
/// The most bytes of a request, less what its own form takes; etcd's default, `--max-request-bytes`, is 1.5 MiB.
pub(crate) const MAX_REQUEST_BYTES: usize = (1 << 20) + (480 << 10);
/// How many keys are asked for at once.
const KEYS_A_PAGE: i64 = 5_000;

/// A connection to a member that can be used.
#[derive(Clone)]
pub struct Client {
    address: String,
    kv: KvClient<Channel>,
    watch: WatchClient<Channel>,
    token: Option<AsciiMetadataValue>,
}

/// The keys of a range at one revision of etcd.
pub(crate) struct Listed {
    pub(crate) revision: i64,
    /// Without values.
    pub(crate) keys: Vec<KeyValue>,
}

impl Client {
    /// Connects to the first member that can be used, beginning with the one of this number. The error is that of the
    /// last one tried.
    pub async fn connect(options: &Options, credentials: &ReadCredentials, first: usize) -> Result<Self, Error> {
        let count = options.endpoints.len();
        let mut failed = Error::new(ErrorKind::Away, "no endpoint of etcd is given");
        for address in options.endpoints.iter().cycle().skip(first % count.max(1)).take(count) {
            let credentials = credentials().map_err(|why| Error::new(ErrorKind::Denied, why))?;
            match Self::open(address, &credentials).await {
                Ok(client) => match client.probe(&options.prefix.workspaces()).await {
                    Ok(_) => return Ok(client),
                    Err(error) if credentials.tls.is_some() => failed = error.at_first_encrypted_call(),
                    Err(error) => failed = error,
                },
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    async fn open(address: &str, credentials: &Credentials) -> Result<Self, Error> {
        let scheme = if credentials.tls.is_some() { "https" } else { "http" };
        let invalid = |error: tonic::transport::Error| {
            Error::new(ErrorKind::Denied, format!("etcd at {address}: {}", chain(&error)))
        };
        let endpoint = Endpoint::from_shared(format!("{scheme}://{address}")).map_err(invalid)?;
        let endpoint = endpoint.connect_timeout(CONNECT_TIMEOUT).tcp_nodelay(true);
        let endpoint = match &credentials.tls {
            Some(tls) => endpoint.tls_config(tls_config(tls)).map_err(invalid)?,
            None => endpoint,
        };
        let connecting = tokio::time::timeout(CONNECT_TIMEOUT, endpoint.connect());
        let channel = match connecting.await {
            Ok(connected) => connected.map_err(|error| Error::unreachable(address, chain(&error)))?,
            Err(_) => return Err(Error::unreachable(address, "no connection within 2 s")),
        };
        let mut client = Self {
            address: address.to_owned(),
            kv: KvClient::new(channel.clone()).max_decoding_message_size(MAX_ANSWER_BYTES),
            watch: WatchClient::new(channel.clone()).max_decoding_message_size(MAX_ANSWER_BYTES),
            token: None,
        };
        if let Some((name, password)) = credentials.login.clone() {
            let mut auth = AuthClient::new(channel);
            let answer =
                client.answer(PROBE_TIMEOUT, auth.authenticate(AuthenticateRequest { name, password })).await?;
            let token = answer.token.parse().map_err(|_| Error::unreachable(address, "its token is not valid"))?;
            client.token = Some(token);
        }
        Ok(client)
    }

    /// The member's address.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Asks a majority of the members, through this one, how many keys there are in a range.
    pub(crate) async fn probe(&self, range: &KeyRange) -> Result<i64, Error> {
        let request = RangeRequest { count_only: true, ..of(range) };
        Ok(self.range(PROBE_TIMEOUT, request).await?.count)
    }

    /// The keys of a range at one revision, in their order.
    pub(crate) async fn list(&self, range: &KeyRange) -> Result<Listed, Error> {
        let mut request = RangeRequest { limit: KEYS_A_PAGE, keys_only: true, ..of(range) };
        let mut listed = Listed { revision: 0, keys: Vec::new() };
        loop {
            let page = self.range(CALL_TIMEOUT, request.clone()).await?;
            if listed.revision == 0 {
                listed.revision = page.header.map_or(0, |header| header.revision);
                request.revision = listed.revision;
            }
            listed.keys.extend(page.kvs);
            match listed.keys.last() {
                Some(last) if page.more => {
                    request.key.clone_from(&last.key);
                    request.key.push(0);
                }
                _ => return Ok(listed),
            }
        }
    }

    /// The values of keys, each `None` where it does not exist; at one revision, if it is given, else now.
    pub(crate) async fn get_all(&self, keys: Vec<Vec<u8>>, revision: i64) -> Result<Vec<Option<KeyValue>>, Error> {
        let get = |key| request_op::Request::RequestRange(RangeRequest { key, revision, ..RangeRequest::default() });
        let answer = self.transact(Vec::new(), keys.into_iter().map(get).collect()).await?;
        let value = |answer: crate::proto::ResponseOp| match answer.response {
            Some(response_op::Response::ResponseRange(mut range)) => range.kvs.pop(),
            _ => None,
        };
        Ok(answer.responses.into_iter().map(value).collect())
    }

    /// Does all of it if the comparisons hold, otherwise nothing: then the answer has not `succeeded`.
    pub(crate) async fn transact(
        &self,
        compare: Vec<Compare>,
        operations: Vec<request_op::Request>,
    ) -> Result<TxnResponse, Error> {
        let success = operations.into_iter().map(|request| RequestOp { request: Some(request) }).collect();
        let request = TxnRequest { compare, success, failure: Vec::new() };
        let mut kv = self.kv.clone();
        self.answer(CALL_TIMEOUT, kv.txn(self.request(request))).await
    }

    /// What happens in a range from a revision on.
    pub(crate) async fn watch(&self, range: &KeyRange, from: i64) -> Result<Streaming<WatchResponse>, Error> {
        let create = WatchCreateRequest {
            key: range.from.clone(),
            range_end: range.to.clone(),
            start_revision: from,
            ..WatchCreateRequest::default()
        };
        let create = WatchRequest { request_union: Some(watch_request::RequestUnion::CreateRequest(create)) };
        // The end of the requests would be the end of the watch.
        let requests = tokio_stream::once(create).chain(tokio_stream::pending());
        let mut request = self.request(requests);
        // A member without a leader gets no events: then it ends the watch.
        request.metadata_mut().insert("hasleader", AsciiMetadataValue::from_static("true"));
        let mut watch = self.watch.clone();
        self.answer(CALL_TIMEOUT, watch.watch(request)).await
    }

    /// What a stream of this member's ended with.
    pub(crate) fn ended(&self, status: &Status) -> Error {
        Error::of_call(&self.address, status)
    }

    async fn range(&self, limit: Duration, request: RangeRequest) -> Result<RangeResponse, Error> {
        let mut kv = self.kv.clone();
        self.answer(limit, kv.range(self.request(request))).await
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(token) = &self.token {
            request.metadata_mut().insert("token", token.clone());
        }
        request
    }

    async fn answer<T>(
        &self,
        limit: Duration,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, Error> {
        match tokio::time::timeout(limit, call).await {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) => Err(Error::of_call(&self.address, &status)),
            Err(_) => Err(Error::unreachable(&self.address, format_args!("no answer within {} s", limit.as_secs()))),
        }
    }
}

fn of(range: &KeyRange) -> RangeRequest {
    RangeRequest { key: range.from.clone(), range_end: range.to.clone(), ..RangeRequest::default() }
}

fn tls_config(tls: &Tls) -> ClientTlsConfig {
    let config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&tls.ca));
    match &tls.identity {
        Some((cert, key)) => config.identity(Identity::from_pem(cert, key)),
        None => config,
    }
}

pub(crate) fn put(key: Vec<u8>, value: Vec<u8>) -> request_op::Request {
    request_op::Request::RequestPut(PutRequest { key, value, ..PutRequest::default() })
}

pub(crate) fn delete(key: Vec<u8>) -> request_op::Request {
    request_op::Request::RequestDeleteRange(DeleteRangeRequest { key, ..DeleteRangeRequest::default() })
}

/// That no key of a range was written after this revision.
pub(crate) fn none_since(range: &KeyRange, revision: i64) -> Compare {
    Compare {
        result: CompareResult::Less.into(),
        range_end: range.to.clone(),
        ..unchanged(range.from.clone(), revision + 1)
    }
}

/// That a key was last changed at this revision; 0: that it does not exist.
pub(crate) fn unchanged(key: Vec<u8>, revision: i64) -> Compare {
    Compare {
        result: CompareResult::Equal.into(),
        target: CompareTarget::Mod.into(),
        key,
        target_union: Some(TargetUnion::ModRevision(revision)),
        ..Compare::default()
    }
}
