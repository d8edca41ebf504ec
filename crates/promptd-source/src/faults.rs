//! Calls of the file system that fail on purpose, for tests.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

/// A call of the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    /// A path's attributes.
    Stat,
    /// A link's target.
    ReadLink,
    /// A folder's names.
    List,
    /// Opening a folder.
    OpenFolder,
    /// Opening a file.
    Open,
    /// An open file's attributes.
    StatOpen,
    /// An open file's bytes.
    Read,
}

impl Call {
    /// Every call.
    pub const ALL: [Self; 7] =
        [Self::Stat, Self::ReadLink, Self::List, Self::OpenFolder, Self::Open, Self::StatOpen, Self::Read];
}

/// Decides for each call, by its path, whether it fails, and with which error.
type Fault = Arc<dyn Fn(Call, &Path) -> Option<io::Error> + Send + Sync>;

static FAULTS: RwLock<Vec<(PathBuf, Fault)>> = RwLock::new(Vec::new());

/// Faults below a folder, until it is dropped.
#[derive(Debug)]
pub struct Faults(PathBuf);

impl Faults {
    /// Lets calls at and below `folder` fail as `fault` says. The folder must be a canonical path, with no other faults
    /// in force at it.
    pub fn below(folder: &Path, fault: impl Fn(Call, &Path) -> Option<io::Error> + Send + Sync + 'static) -> Self {
        FAULTS.write().unwrap_or_else(PoisonError::into_inner).push((folder.to_path_buf(), Arc::new(fault)));
        Self(folder.to_path_buf())
    }
}

impl Drop for Faults {
    fn drop(&mut self) {
        FAULTS.write().unwrap_or_else(PoisonError::into_inner).retain(|(folder, _)| *folder != self.0);
    }
}

pub(crate) fn check(call: Call, path: &Path) -> io::Result<()> {
    let faults = FAULTS.read().unwrap_or_else(PoisonError::into_inner);
    let mut faults = faults.iter().filter(|(folder, _)| path.starts_with(folder));
    faults.find_map(|(_, fault)| fault(call, path)).map_or(Ok(()), Err)
}
