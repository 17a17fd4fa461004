//! The store about itself.

use std::{fs, path::Path};

use nix::sys::statfs::{self, statfs};

use super::{
    fault::Fault,
    schema,
    store::SqliteStore,
    write::{Meta, demand_nothing_lost},
};
use crate::{
    blob_files,
    head::{self, Found},
    types::{Alarm, Health},
};

impl SqliteStore {
    pub(super) fn look_at_itself(&self) -> Health {
        let found = head::read(&self.folder.head());
        let mut health = Health {
            database_bytes: bytes(&self.folder.database()),
            wal_bytes: bytes(&self.folder.wal()),
            blob_file_bytes: blob_files::list(&self.folder.blobs()).iter().map(|(_, bytes)| bytes).sum(),
            reserve: self.folder.has_reserve(),
            ..Health::default()
        };
        match self.read(|connection| Ok::<_, Fault>((schema::version(connection)?, schema::meta(connection)?))) {
            Ok((schema, meta)) => {
                health.alarms.extend(alarm(&found, &meta));
                health.schema = schema;
                health.commits = meta.commits;
                health.store_id = uuid::Uuid::from_bytes(meta.store).to_string();
                health.format = meta.format;
            }
            Err(error) => health.alarms.push(Alarm::Unreadable(error.to_string())),
        }
        match found {
            Found::Head(head) => health.head_commits = Some(head.commits),
            Found::Missing => health.alarms.push(Alarm::HeadMissing),
            Found::Unreadable => health.alarms.push(Alarm::HeadUnreadable),
            Found::Newer(found) => health.alarms.push(Alarm::HeadNewer { found }),
        }
        if !health.reserve {
            health.alarms.push(Alarm::NoReserve);
        }
        if is_network(self.folder.root()) {
            health.alarms.push(Alarm::Network);
        }
        health
    }
}

fn alarm(found: &Found, meta: &Meta) -> Option<Alarm> {
    let Found::Head(head) = found else { return None };
    if demand_nothing_lost(found, meta).is_ok() {
        return None;
    }
    Some(if head.store != meta.store {
        Alarm::HeadForeign
    } else if head.commits == meta.commits {
        Alarm::HeadDiffers { commit: head.commits }
    } else {
        Alarm::HeadAhead { head: head.commits, database: meta.commits }
    })
}

fn bytes(path: &Path) -> u64 {
    fs::symlink_metadata(path).map_or(0, |file| file.len())
}

fn is_network(folder: &Path) -> bool {
    /// The numbers by which Linux knows file systems that are not on this machine.
    const SMB2: statfs::FsType = statfs::FsType(0xfe53_4d42);
    const CIFS: statfs::FsType = statfs::FsType(0xff53_4d42);
    const AFS: statfs::FsType = statfs::FsType(0x5346_414f);
    let network = [statfs::NFS_SUPER_MAGIC, statfs::SMB_SUPER_MAGIC, statfs::CODA_SUPER_MAGIC, SMB2, CIFS, AFS];
    statfs(folder).is_ok_and(|seen| network.contains(&seen.filesystem_type()))
}
