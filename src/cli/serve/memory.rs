//! The store of conversations while the service runs.

use std::sync::Arc;

use prometheus_client::registry::{Registry, Unit};
use promptd::{config::Config, grpc::Memory};
use promptd_memory::{SqliteStore, Status, Store};

/// Opens the store if the config names a folder. One that cannot be opened keeps nothing else from being served.
pub(super) async fn start(config: &Config, registry: &mut Registry) -> Option<Memory> {
    let options = config.memory.clone()?;
    let dir = options.dir.clone();
    let opening = tokio::task::spawn_blocking(move || SqliteStore::open(&options));
    let opened = opening.await.unwrap_or_else(|error| Err(promptd_memory::StoreError::Failed(error.to_string())));
    let status = match &opened {
        Ok(store) => (**store.status()).clone(),
        Err(error) => {
            tracing::error!(dir = %dir.display(), "conversations cannot be stored until the next start: {error}");
            let status = Status::default();
            status.failing.set(1);
            status
        }
    };
    registry.register("memory_appended", "Messages stored", status.appended);
    registry.register("memory_commits", "Transactions that stored something, each synced once", status.commits);
    registry.register("memory_removed", "Sessions removed, by calls or for their age or size", status.removed);
    registry.register("memory_failing", "1 while conversations cannot be stored", status.failing);
    registry.register_with_unit("memory", "What conversations take of the disk", Unit::Bytes, status.bytes);
    Some(Memory::new(opened.map(|store| Arc::new(store) as Arc<dyn Store>)))
}
