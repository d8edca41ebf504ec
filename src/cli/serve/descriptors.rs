//! File descriptors: as many as the process may have, of which some are kept for reloading.

use promptd::grpc::Options;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// How many descriptors connections leave to files, the watcher, the log and the admin pages. A load has at most a few
/// files open at once, so that this is enough for many loads.
const KEPT: usize = 128;

/// Raises the soft limit to the hard one.
pub(super) fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })
    {
        tracing::warn!(%error, "the limit on open files cannot be raised");
    }
}

/// The options with at most as many connections as leave descriptors for reloading.
pub(in crate::cli) fn within_limit(options: &Options) -> Options {
    let limit = getrlimit(Resource::Nofile).current;
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let most = limit.saturating_sub(KEPT).max(1);
    if options.max_connections > most {
        tracing::warn!(
            used = most,
            "`limits.max_connections` is more than the limit on open files allows: raise that (ulimit -n, LimitNOFILE)"
        );
    }
    Options { max_connections: options.max_connections.min(most), ..options.clone() }
}
