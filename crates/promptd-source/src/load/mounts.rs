//! File systems that send no events for changes made elsewhere.

use std::path::Path;

use rustix::fs::statfs;

/// NFS, SMB (two of them), CIFS, 9P, FUSE, Ceph, AFS, VirtioFS has FUSE's: `f_type` as in `linux/magic.h`.
const SILENT: [u32; 8] = [0x6969, 0x517B, 0xFE53_4D42, 0xFF53_4D42, 0x0102_1997, 0x6573_5546, 0x00C3_6400, 0x5346_414F];

/// Whether events cannot be relied on there; where the system does not say, they can.
pub(crate) fn sends_no_events(path: &Path) -> bool {
    // The field's type differs by platform; the magic numbers all fit 32 bits.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "only the low 32 bits carry the number")]
    statfs(path).is_ok_and(|fs| SILENT.contains(&(fs.f_type as u32)))
}
