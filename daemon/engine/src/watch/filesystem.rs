//! Filesystem: which file systems report no changes, or only those made on this machine.
//!
//! In: the project's folder. Out: the name of its kind, if it must be polled.
//! A network file system does not report to this kernel what other machines write; shared folders of WSL and virtual
//! machines do not report what the host writes.

use std::path::Path;

/// Kinds that are polled: the number that `statfs` returns (`linux/magic.h` and the drivers' own), and a name.
const POLLED: &[(u64, &str)] = &[
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB2"),
    (0x0102_1997, "9P"),
    (0x6573_5546, "FUSE"),
    (0x786F_4256, "VirtualBox shared folder"),
    (0x5346_414F, "AFS"),
    (0x6B41_4653, "AFS"),
    (0x00C3_6400, "Ceph"),
    (0x0BD0_0BD0, "Lustre"),
    (0x7375_7245, "Coda"),
    (0x564C, "NCP"),
    (0x0116_1970, "GFS2"),
    (0x7461_636F, "OCFS2"),
    (0x4750_4653, "GPFS"),
    (0xAAD7_AAEA, "PanFS"),
    (0xBACB_ACBC, "VMware shared folder"),
    (0x5346_4846, "WSL"),
    (0x6A65_6A62, "virtiofs"),
];

/// Returns the name of a kind that must be polled.
pub(super) fn polled_kind(magic: u64) -> Option<&'static str> {
    POLLED.iter().find(|(number, _)| *number == magic).map(|(_, name)| *name)
}

/// Returns the kind of file system that contains a folder, if it must be polled. `None` also when that is unknown.
pub(super) fn polled_below(root: &Path) -> Option<&'static str> {
    let simulated = sys::fail::number("watch.filesystem");
    let magic = simulated.or_else(|| {
        // The numbers have 32 bits, whatever the type of the field on this machine.
        rustix::fs::statfs(root).ok().map(|stat| (stat.f_type as u64) & 0xFFFF_FFFF)
    });
    polled_kind(magic?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_folders_are_polled_and_local_ones_are_not() {
        let rows = [
            (0x6969, Some("NFS")),
            (0xFF53_4D42, Some("CIFS")),
            (0xFE53_4D42, Some("SMB2")),
            (0x0102_1997, Some("9P")),
            (0x6573_5546, Some("FUSE")),
            (0x786F_4256, Some("VirtualBox shared folder")),
            (0x00C3_6400, Some("Ceph")),
            (0x0BD0_0BD0, Some("Lustre")),
            (0xEF53, None),      // ext4
            (0x0102_1994, None), // tmpfs
            (0x9123_683E, None), // btrfs
            (0x5846_5342, None), // XFS
            (0x794C_7630, None), // overlayfs
            (0x2FC1_2FC1, None), // ZFS
            (0, None),
        ];
        for (magic, expected) in rows {
            assert_eq!(polled_kind(magic), expected, "{magic:#x}");
        }
        let mut numbers: Vec<u64> = POLLED.iter().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), POLLED.len(), "a number stands here twice");
        assert_eq!(polled_below(&std::env::temp_dir()), None);
    }
}
