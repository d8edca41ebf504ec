//! From the disk to what was read, and to the set of what reading it has looked at.

pub(crate) mod files;
pub(crate) mod older_files;
pub(crate) mod probe;
mod probes;
pub(crate) mod profiles;
pub(crate) mod read_set;
pub(crate) mod served_file;
pub(crate) mod tree;
pub(crate) mod walk;
pub(crate) mod workspace;
