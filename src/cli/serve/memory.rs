//! The store of conversations while the service runs, and the pipeline that makes summaries and vectors of them.

use std::sync::Arc;

use prometheus_client::registry::{Registry, Unit};
use promptd::{
    config::{Config, Memory as Settings, Model, SummariseModel},
    grpc::Memory,
};
use promptd_memory::{SqliteStore, Status, Store, StoreError};
use promptd_memory_pipeline::{Chat, Division, Embedding, Embeddings, Pipeline, ServerOptions, Summaries};
use promptd_source::{External, store::Store as Workspaces};

use super::{
    Failure,
    notes::{self, WorkspaceNotes},
    secrets,
    summaries::ProfilePrompts,
};

/// The store, and the work on it, which begins once the workspaces are loaded.
pub(super) struct Remembering {
    pub(super) memory: Memory,
    pub(super) pipeline: Option<Pipeline>,
}

/// Opens the store if the config names a folder. One that cannot be opened keeps nothing else from being served.
pub(super) async fn start(
    config: &Config,
    external: Option<Arc<dyn External>>,
    workspaces: &Arc<Workspaces>,
    registry: &mut Registry,
) -> Result<Option<Remembering>, Failure> {
    let Some(settings) = &config.memory else { return Ok(None) };
    let division = division(settings)?;
    let summaries = settings.summarise.as_ref().map(|model| summaries(model, workspaces)).transpose()?;
    let options = settings.store.clone();
    let opening = tokio::task::spawn_blocking(move || SqliteStore::open(&options));
    let opened = opening.await.unwrap_or_else(|error| Err(StoreError::Failed(error.to_string())));
    let status = match &opened {
        Ok(store) => (**store.status()).clone(),
        Err(error) => {
            let dir = settings.store.dir.display();
            tracing::error!(%dir, "conversations cannot be stored until the next start: {error}");
            let status = Status::default();
            status.failing.set(1);
            status.damaged.set(i64::from(matches!(error, StoreError::Damaged(_))));
            status
        }
    };
    registry.register("memory_appended", "Messages stored", status.appended);
    registry.register("memory_commits", "Transactions that stored something, each synced once", status.commits);
    registry.register("memory_removed", "Sessions removed, by calls or for their age or size", status.removed);
    registry.register("memory_failing", "1 while conversations cannot be stored", status.failing);
    registry.register("memory_damaged", "1 since the files of conversations were found damaged", status.damaged);
    registry.register_with_unit("memory", "What conversations take of the disk", Unit::Bytes, status.bytes);
    let opened = opened.map(|store| Arc::new(store) as Arc<dyn Store>);
    let store = opened.clone().ok();
    let embedding = Arc::clone(&division.embedding);
    let mut pipeline = store.map(|store| Pipeline::new(store, division, summaries));
    let notebook = settings.summarise.as_ref().map(|model| WorkspaceNotes {
        workspaces: Arc::clone(workspaces),
        settings: settings.notes.clone(),
        profile: model.notes_profile.clone(),
        read: notes::reader(external, config.source.clone()),
    });
    let notes = pipeline.as_mut().zip(notebook);
    let notes = notes.and_then(|(pipeline, notebook)| pipeline.sum_up_notes(Arc::new(notebook)));
    let made = pipeline.as_ref().map(|pipeline| pipeline.status().clone()).unwrap_or_default();
    registry.register("memory_summaries", "Summaries made", made.summarised);
    registry.register("memory_summaries_failed", "Requests to a model that gave no summary", made.failed);
    registry.register("memory_summaries_set_aside", "Segments whose summary is not tried again", made.set_aside);
    registry.register("memory_model_away", "1 while the model that makes summaries does not answer", made.away);
    let memory = Memory::new(opened).with_embedding(embedding).with_notes(notes);
    Ok(Some(Remembering { memory, pipeline }))
}

/// How messages are divided, and turned into vectors.
fn division(settings: &Settings) -> Result<Division, Failure> {
    let embedding = match &settings.embed {
        None => Embedding::of_words(),
        Some(model) => {
            let embeddings = Embeddings::new(server(model, "embed")?, model.name.clone());
            let embeddings = embeddings.map_err(|why| unusable("embed", &why))?;
            Embedding::of_model(model.name.clone(), Arc::new(embeddings), model.tokens_per_hour)
        }
    };
    Ok(Division { thresholds: settings.thresholds.clone(), embedding: Arc::new(embedding) })
}

/// The model that makes summaries.
fn summaries(settings: &SummariseModel, workspaces: &Arc<Workspaces>) -> Result<Summaries, Failure> {
    let model = &settings.model;
    let chat = Chat::new(server(model, "summarise")?, model.name.clone());
    let prompts = ProfilePrompts {
        workspaces: Arc::clone(workspaces),
        segment: settings.segment_profile.clone(),
        rollup: settings.rollup_profile.clone(),
    };
    Ok(Summaries {
        model: Arc::new(chat.map_err(|why| unusable("summarise", &why))?),
        prompts: Arc::new(prompts),
        concurrency: settings.concurrency,
        tokens_per_hour: model.tokens_per_hour,
    })
}

fn server(model: &Model, name: &str) -> Result<ServerOptions, Failure> {
    let key = model.key_file.as_deref().map(|path| secrets::model_key(path, name)).transpose()?;
    Ok(ServerOptions { address: model.address.clone(), key, timeout: model.timeout })
}

fn unusable(name: &str, why: &str) -> Failure {
    Failure::input(format!("error: `memory.models.{name}.url` cannot be used: {why}\n"))
}
