//! Which file systems are not on this machine alone. Locks and flushes there do less than they promise.

use std::path::Path;

use nix::sys::statfs::statfs;

/// The numbers by which Linux knows them. `FUSE` is how sshfs, virtiofs and many others appear; which of them it is cannot be
/// told, so all of them count.
const NETWORK: [(i64, &str); 19] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "SMB"),
    (0xfe53_4d42, "SMB"),
    (0x6573_5546, "FUSE (sshfs, virtiofs and others)"),
    (0x0102_1997, "9p"),
    (0x00c3_6400, "Ceph"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "AFS"),
    (0x7375_7245, "Coda"),
    (0x1983_0326, "BeeGFS"),
    (0x2003_0528, "OrangeFS"),
    (0x0116_1970, "GFS2"),
    (0x7461_636f, "OCFS2"),
    (0xaad7_aaea, "PanFS"),
    (0x786f_4256, "a shared folder of VirtualBox"),
    (0xbacb_acbc, "a shared folder of VMware"),
];

/// The kind of network file system on which a folder lies, or would lie if it were made; `None` for a disk of this machine.
pub fn network_file_system(folder: &Path) -> Option<&'static str> {
    let number = match pretended() {
        None => folder.ancestors().find_map(|part| statfs(part).ok())?.filesystem_type().0,
        Some(number) => number,
    };
    kind(number)
}

/// The file system on which a test says that everything lies.
fn pretended() -> Option<i64> {
    if cfg!(feature = "kill-points") { std::env::var("ONWARD_FILE_SYSTEM").ok()?.parse().ok() } else { None }
}

fn kind(number: i64) -> Option<&'static str> {
    // Some machines give the number with its sign, some without.
    let same = |known: i64| known == number || known == number & 0xffff_ffff;
    NETWORK.iter().find(|(known, _)| same(*known)).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_known_by_its_number_and_a_disk_is_none() {
        let here = std::env::temp_dir();
        assert_eq!(network_file_system(&here.join("not/there/yet")), network_file_system(&here));
        for (number, name) in NETWORK {
            assert_eq!(kind(number), Some(name));
            let signed = i64::from(u32::try_from(number).expect("a number of 32 bits").cast_signed());
            assert_eq!(kind(signed), Some(name), "with its sign");
        }
        for disk in [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630] {
            assert_eq!(kind(disk), None, "{disk:#x}");
        }
    }
}
