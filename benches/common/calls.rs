//! Calls to a server in this process, one after the other and all on one thread, so that their instructions can be counted.

use std::{convert::Infallible, path::Path, sync::Arc};

use jiff::Timestamp;
use prometheus_client::registry::Registry;
use promptd::{
    admin::Metrics,
    grpc::{Access, Backend, Options, Server, api::prompt_service_client::PromptServiceClient},
};
use promptd_contract::proto::AssemblePromptResponse;
use promptd_core::{id::Id, profile::ProfileSet, workspace::ReadError};
use promptd_source::store::{Loaded, State, Store};
use tokio::runtime::Builder;
use tonic::{body::Body, codegen::http};
use tower::Service;

use crate::{answer, bare, requests};

/// Calls promptd, over the workspaces in a folder.
pub fn promptd(workspaces: &Path, rounds: u64) {
    on_one_thread(async {
        call(serve(workspaces).service().unwrap(), rounds).await;
    });
}

/// Calls a service that only gives a copy of promptd's answer.
pub fn bare(workspaces: &Path, rounds: u64) {
    on_one_thread(async {
        let answer = call(serve(workspaces).service().unwrap(), 1).await.unwrap();
        call(bare::service(answer), rounds).await;
    });
}

fn on_one_thread(work: impl Future<Output = ()>) {
    Builder::new_current_thread().enable_all().build().unwrap().block_on(work);
}

/// The last answer. There is no connection: what the sockets of a kernel do differs from machine to machine.
async fn call<S>(service: S, rounds: u64) -> Option<AssemblePromptResponse>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>,
{
    let mut client = PromptServiceClient::new(service).max_decoding_message_size(usize::MAX);
    let request = requests::request(0);
    let mut answer = None;
    for _ in 0..rounds {
        answer = Some(client.assemble_prompt(request.clone()).await.unwrap().into_inner());
    }
    answer
}

/// Serves the workspace of the requests, as it is in a folder. Nothing else runs in the process.
fn serve(workspaces: &Path) -> Server {
    let (store, profiles) = (Arc::new(Store::default()), Arc::new(ProfileSet::built_in()));
    let id = Id::parse("typical").unwrap();
    let snapshot = answer::load(&workspaces.join("typical"), &profiles);
    let loaded = Loaded { snapshot, at: Timestamp::UNIX_EPOCH, origin: None, candidate: None };
    store.publish(&id, State::Ready(Arc::new(loaded)));
    let backend = Backend {
        store,
        profiles: Arc::new(move || Arc::clone(&profiles)),
        read_workspace_file: Arc::new(|_, _, _| Err(ReadError::Missing)),
        clock: Arc::new(|| Timestamp::UNIX_EPOCH),
        #[cfg(feature = "memory")]
        memory: None,
        #[cfg(feature = "etcd")]
        publisher: None,
        record: None,
        access: Arc::new(Access::open()),
        telemetry: Metrics::register(&mut Registry::default()),
        tracer: None,
        notice: None,
    };
    let server = Server::of_process(Options::default(), backend);
    server.lifecycle().ready();
    server
}
