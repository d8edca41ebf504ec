//! From the disk to what was read, and the record of reading it.

pub mod files;
pub(crate) mod mounts;
pub(crate) mod profiles;
pub(crate) mod read_set;
pub(crate) mod skill_file;
pub(crate) mod tree;
mod walk;
