//! Calls to a server in this process, one after the other and all on one thread, so that their instructions can be counted.

use std::{
    path::Path,
    sync::{Arc, OnceLock},
};

use jiff::Timestamp;
use prometheus_client::registry::Registry;
use promptd::{
    admin::Metrics,
    grpc::{Access, Backend, Options, Server, api::prompt_service_client::PromptServiceClient},
};
use promptd_source::{Source, read_workspace_file, store::Store};
use tokio::{net::TcpListener, runtime::Builder};
use tonic::transport::Endpoint;

use crate::{bare, requests};

/// Calls promptd, over the workspaces in a folder.
pub fn promptd(workspaces: &Path, rounds: u64) {
    Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        call(&serve(workspaces).await, rounds).await;
    });
}

/// Calls a server that only gives a copy of promptd's answer.
pub fn bare(workspaces: &Path, rounds: u64) {
    Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let answer = requests::answer(&serve(workspaces).await, &requests::request(0)).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tokio::spawn(bare::serve(listener, answer));
        call(&address, rounds).await;
    });
}

async fn call(address: &str, rounds: u64) {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap().tcp_nodelay(true);
    let mut client = PromptServiceClient::new(endpoint.connect().await.unwrap());
    let request = requests::request(0);
    for _ in 0..rounds {
        client.assemble_prompt(request.clone()).await.unwrap();
    }
}

/// Serves the workspaces in a folder; the address.
async fn serve(workspaces: &Path) -> String {
    let (store, source) = (Arc::new(Store::default()), Arc::new(OnceLock::new()));
    let options = promptd_source::Options { roots: vec![workspaces.to_owned()], ..promptd_source::Options::default() };
    let started = Source::start(options.clone(), Arc::clone(&store), Arc::default()).unwrap();
    source.get_or_init(|| started);
    let backend = Backend {
        store,
        profiles: Arc::new(move || source.get().map(Source::profiles).unwrap_or_default()),
        read_workspace_file: Arc::new(move |snapshot, _, path| read_workspace_file(snapshot, path, &options)),
        clock: Arc::new(Timestamp::now),
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
    let options = Options { listen: ([127, 0, 0, 1], 0).into(), ..Options::default() };
    let server = Server::bind(options, backend, None).await.unwrap();
    let address = server.local_addr().to_string();
    server.lifecycle().ready();
    tokio::spawn(server.serve());
    address
}
