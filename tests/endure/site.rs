//! A whole service in this process, over a folder of workspaces.

use std::{fs, path::Path, sync::Arc};

use jiff::Timestamp;
use prometheus_client::{encoding::text, registry::Registry};
use promptd::{
    admin::{Metrics, SourceCollector},
    grpc::{Access, Backend, Lifecycle, Options, Server},
};
use promptd_source::{Source, read_workspace_file, store::Store};
use std::sync::OnceLock;

/// The workspaces that there are.
pub const WORKSPACES: [&str; 3] = ["harbor", "yard", "fleet"];

pub struct Site {
    pub address: String,
    lifecycle: Arc<Lifecycle>,
    registry: Registry,
}

impl Site {
    /// Writes the workspaces, and serves them on a free port.
    pub async fn start(folder: &Path) -> Self {
        for id in WORKSPACES {
            write(&folder.join(id).join("AGENTS.md"), &format!("Rules of {id}.\n").repeat(200));
            let skill = "---\nname: tides\ndescription: Reads tide tables.\n---\nRead the table.\n";
            write(&folder.join(id).join("skills/tides/SKILL.md"), skill);
        }
        let (store, source) = (Arc::new(Store::default()), Arc::new(OnceLock::new()));
        let options = promptd_source::Options { roots: vec![folder.to_owned()], ..promptd_source::Options::default() };
        let status = Arc::default();
        let started = Source::start(options.clone(), Arc::clone(&store), Arc::clone(&status)).unwrap();
        source.get_or_init(|| started);
        let mut registry = Registry::with_prefix("promptd");
        let metrics = Metrics::register(&mut registry);
        registry.register_collector(Box::new(SourceCollector::new(Arc::clone(&store), status)));
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
            telemetry: metrics,
            tracer: None,
            notice: None,
        };
        let listen = ([127, 0, 0, 1], 0).into();
        let server = Server::bind(Options { listen, ..Options::default() }, backend, None).await.unwrap();
        let (address, lifecycle) = (server.local_addr().to_string(), server.lifecycle());
        tokio::spawn(server.serve());
        lifecycle.ready();
        Self { address, lifecycle, registry }
    }

    /// How many series the metrics have.
    pub fn series(&self) -> usize {
        let mut page = String::new();
        text::encode(&mut page, &self.registry).unwrap();
        page.lines().filter(|line| !line.starts_with('#')).count()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.lifecycle.drain();
    }
}

/// The memory of this process, in bytes.
pub fn resident() -> u64 {
    const PAGE: u64 = 4_096;
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * PAGE
}

pub fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
