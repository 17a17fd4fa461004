//! The store about itself.

use std::path::Path;

use super::{
    fault::SqliteFault,
    flush, schema,
    store::SqliteStore,
    write::{Meta, demand_nothing_lost},
};
use crate::{
    blob_files,
    file_system::network_file_system,
    folder::bytes_of,
    head::{self, HeadFound},
    types::{Alarm, Health},
};

impl SqliteStore {
    pub(super) fn look_at_itself(&self) -> Health {
        let found = head::read(&self.folder.head());
        let mut health = Health {
            database_bytes: bytes_of(&self.folder.database()),
            wal_bytes: bytes_of(&self.folder.wal()),
            blob_file_bytes: blob_files::list(&self.folder.blobs()).iter().map(|(_, bytes)| bytes).sum(),
            reserve: self.folder.has_reserve(),
            ..Health::default()
        };
        match self.read(|connection| Ok::<_, SqliteFault>((schema::version(connection)?, schema::meta(connection)?))) {
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
            HeadFound::Head(head) => {
                health.head_commits = Some(head.commits);
                if head::has_a_spoilt_slot(&self.folder.head()) {
                    health.alarms.push(Alarm::HeadSlot);
                }
            }
            HeadFound::Missing => health.alarms.push(Alarm::HeadMissing),
            HeadFound::Unreadable => health.alarms.push(Alarm::HeadUnreadable),
            HeadFound::Newer(found) => health.alarms.push(Alarm::HeadNewer { found }),
        }
        if !health.reserve {
            health.alarms.push(Alarm::NoReserve);
        }
        if flush::is_marked(&self.folder) {
            health.alarms.push(Alarm::FlushFailed);
        }
        if network_file_system(self.folder.root()).is_some() {
            health.alarms.push(Alarm::Network);
        }
        health
    }
}

fn alarm(found: &HeadFound, meta: &Meta) -> Option<Alarm> {
    let HeadFound::Head(head) = found else { return None };
    // Which file it is about is not asked here.
    if demand_nothing_lost(found, meta, Path::new("")).is_ok() {
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
