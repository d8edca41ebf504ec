//! Workspaces of etcd while the service runs.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use jiff::Timestamp;
use prometheus_client::registry::{Registry, Unit};
use promptd::{
    config::{Config, Etcd, EtcdCredentials, ServerFiles},
    grpc::Notice,
};
use promptd_core::id::Id;
use promptd_etcd::{Client, Credentials, Mirror, ReadCredentials, Status, Tls, history};
use promptd_source::{Contents, External, ExternalWorkspace, FileSet, Source, read_files};

use super::{Failure, StopSignals};

/// How soon the server's own files are written again where that failed; each further try waits twice as long.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(60);

/// The workspaces of etcd: none until it is started.
pub(super) struct Fleet {
    config: Etcd,
    status: Arc<Status>,
    mirror: OnceLock<Mirror>,
}

/// The workspaces of the etcd that the config names.
pub(super) fn prepare(config: &Config, registry: &mut Registry) -> Option<Arc<Fleet>> {
    let config = config.etcd.clone()?;
    let status = Arc::new(Status::default());
    registry.register("etcd_connected", "1 while etcd answers", status.connected.clone());
    let help = "When what is served was last known to be the newest, since 1970; 0: never";
    registry.register_with_unit("etcd_confirmed", help, Unit::Seconds, status.confirmed.clone());
    registry.register("etcd_reconciles", "Times that everything was compared with etcd", status.reconciles.clone());
    registry.register("etcd_publishes", "Published workspaces that were taken over", status.publishes.clone());
    registry.register("etcd_failures", "Times that no member of etcd could be used", status.failures.clone());
    let help = "Workspaces of which the newest published state cannot be used";
    registry.register("etcd_faulty_workspaces", help, status.faulty.clone());
    let help = "Workspaces of which some turns get the candidate of a canary";
    registry.register("etcd_canaries", help, status.canaries.clone());
    registry.register_with_unit("etcd_cache", "What the cache takes of the disk", Unit::Bytes, status.cached.clone());
    Some(Arc::new(Fleet { config, status, mirror: OnceLock::new() }))
}

/// Writes the server's own files before the settings that name them are read. Where etcd does not answer, those of an earlier
/// run are used.
pub(super) fn check_out(config: &Config) -> Result<(), Failure> {
    let Some(Etcd { options, credentials, files: Some(ServerFiles { id, folder }), .. }) = &config.etcd else {
        return Ok(());
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let written = runtime.map_err(|error| error.to_string()).and_then(|runtime| {
        runtime.block_on(async {
            let newest = async {
                let client = Client::connect(options, &reader(credentials.clone()), 0).await?;
                let past = history::newest(&client, &options.prefix, id).await?;
                let files = history::files(&client, &options.prefix, &past.manifest.files).await?;
                Ok::<_, promptd_etcd::Error>((past.revision, files))
            };
            let (revision, files) = newest.await.map_err(|error| error.to_string())?;
            folder.write(revision, &files).map_err(|error| format!("cannot write {}: {error}", folder.dir.display()))
        })
    });
    match written {
        Err(why) if !folder.is_there() => {
            Err(Failure::input(format!("error: cannot start: the server's files `{id}` are not here: {why}")))
        }
        // The log says so once it is open: etcd is asked again.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Reads what is published, if an etcd is named, and begins to follow it; `None`: the process is asked to stop meanwhile.
pub(super) async fn start(fleet: Option<&Arc<Fleet>>, stop: &mut StopSignals) -> Result<Option<()>, Failure> {
    let Some(fleet) = fleet else { return Ok(Some(())) };
    tokio::select! {
        started = fleet.start() => started.map(Some),
        () = stop.next() => Ok(None),
    }
}

impl Fleet {
    /// Where etcd is.
    pub(super) fn config(&self) -> &Etcd {
        &self.config
    }

    /// Reads what is published, and begins to follow it.
    async fn start(&self) -> Result<(), Failure> {
        let Etcd { options, credentials, .. } = self.config.clone();
        let mirror = Mirror::start(options, reader(credentials), Arc::clone(&self.status)).await;
        let mirror = mirror.map_err(|error| Failure::input(format!("error: cannot start with etcd: {error}")))?;
        // All of them are loaded when the source starts.
        let _ = mirror.read(&[]);
        self.mirror.get_or_init(|| mirror);
        Ok(())
    }

    /// Writes the server's own files to their folder, which the source follows like any other; false: that failed.
    async fn write_files(self: &Arc<Self>, ServerFiles { id, folder }: ServerFiles) -> bool {
        let fleet = Arc::clone(self);
        let work = move || fleet.mirror.get().map_or(Ok(false), |mirror| mirror.check_out(&id, &folder));
        match tokio::task::spawn_blocking(work).await {
            Ok(Ok(true)) => tracing::info!("the server's files were taken from etcd"),
            Ok(Err(error)) => {
                tracing::error!(%error, "the server's files of etcd cannot be written: those of before stay in use until they can");
                return false;
            }
            Ok(Ok(false)) | Err(_) => {}
        }
        true
    }

    /// Whether it is the id of the server's own files, and so no workspace.
    fn is_of_files(&self, id: &Id) -> bool {
        self.config.files.as_ref().is_some_and(|files| files.id == *id)
    }

    /// Keeps the server's own files as they are in etcd. They may have been published since the start. A write that fails is tried
    /// again, since the files may take away a token.
    async fn keep_files(self: Arc<Self>) {
        let (Some(mirror), Some(files)) = (self.mirror.get(), &self.config.files) else { return };
        let (mut news, mut written, mut retry) = (mirror.news(), None, FIRST_RETRY);
        loop {
            let revision = mirror.revision(&files.id);
            if revision != written && !self.write_files(files.clone()).await {
                tokio::time::sleep(retry).await;
                retry = (retry * 2).min(LONGEST_RETRY);
                continue;
            }
            (written, retry) = (revision, FIRST_RETRY);
            if news.changed().await.is_err() {
                return;
            }
        }
    }

    /// Tells the source what changes, and keeps the server's own files, for as long as the runtime lives.
    pub(super) fn tell(self: Arc<Self>, source: Arc<OnceLock<Source>>) {
        tokio::spawn(Arc::clone(&self).keep_files());
        tokio::spawn(async move {
            let (Some(mirror), Some(source)) = (self.mirror.get(), source.get()) else { return };
            let mut news = mirror.news();
            loop {
                let changed = mirror.changed().into_iter().filter(|id| !self.is_of_files(id));
                source.changed(changed.collect());
                if news.changed().await.is_err() {
                    return;
                }
            }
        });
    }

    /// What answers from published workspaces say while etcd is away.
    pub(super) fn notice(&self) -> Notice {
        let status = Arc::clone(&self.status);
        Arc::new(move |snapshot| status.away().filter(|_| !promptd_source::is_folder(snapshot)))
    }

    /// Why the service is not ready, as far as etcd is concerned.
    pub(super) fn unready(&self) -> Option<String> {
        let max_age = self.config.options.max_age;
        self.status.is_too_old(max_age, Timestamp::now()).then(|| match self.status.confirmed_at() {
            Some(at) => format!("etcd has not answered since {at:.0}"),
            None => "etcd has not answered yet".to_owned(),
        })
    }
}

impl External for Fleet {
    fn ids(&self) -> Vec<Id> {
        let mut ids = self.mirror.get().map(Mirror::ids).unwrap_or_default();
        ids.retain(|id| !self.is_of_files(id));
        ids
    }

    fn workspace(&self, id: &Id) -> Option<ExternalWorkspace> {
        let mirror = self.mirror.get().filter(|_| !self.is_of_files(id))?;
        mirror.workspace(id).map(of_mirror)
    }

    fn read(&self, ids: &[Id]) -> BTreeMap<Id, Option<ExternalWorkspace>> {
        let mut read = self.mirror.get().map(|mirror| mirror.read(ids)).unwrap_or_default();
        read.retain(|id, _| !self.is_of_files(id));
        read.into_iter().map(|(id, workspace)| (id, workspace.map(of_mirror))).collect()
    }
}

fn of_mirror(workspace: promptd_etcd::Workspace) -> ExternalWorkspace {
    let promptd_etcd::Workspace { tree, candidate, fault } = workspace;
    ExternalWorkspace { tree, candidate, fault }
}

/// Reads the files of the credentials when they are asked for.
pub(in crate::cli) fn reader(files: EtcdCredentials) -> ReadCredentials {
    Arc::new(move || credentials(&files))
}

fn credentials(files: &EtcdCredentials) -> Result<Credentials, String> {
    let identity = files.identity.iter().flat_map(|(cert, key)| [cert, key]);
    let password = files.login.iter().map(|(_, file)| file);
    let paths: Vec<PathBuf> = files.ca.iter().chain(identity).chain(password).cloned().collect();
    let contents = read_files(&FileSet::Paths(paths));
    let read = |path: &Path| of(&contents, path);
    let tls = |ca: &PathBuf| {
        let identity =
            files.identity.as_ref().map(|(cert, key)| Ok::<_, String>((read(cert)?, read(key)?))).transpose()?;
        Ok::<_, String>(Tls { ca: read(ca)?, identity })
    };
    let login = |(name, file): &(String, PathBuf)| {
        let text = String::from_utf8(read(file)?).map_err(|_| format!("{} is not UTF-8", file.display()))?;
        Ok::<_, String>((name.clone(), text.lines().next().unwrap_or_default().to_owned()))
    };
    Ok(Credentials {
        tls: files.ca.as_ref().map(tls).transpose()?,
        login: files.login.as_ref().map(login).transpose()?,
    })
}

fn of(contents: &Contents, path: &Path) -> Result<Vec<u8>, String> {
    match contents.get(path) {
        Some(Ok(bytes)) => Ok(bytes.clone()),
        Some(Err(error)) => Err(format!("{} {error}", path.display())),
        None => Err(format!("{} does not exist", path.display())),
    }
}
