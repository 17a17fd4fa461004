//! The run as the driver shows and keeps it, held against the journal.

use onward_core::checkpoint::{self, CheckpointHead};
use onward_core::event::Recorded;
use onward_core::id::Seq;
use onward_core::run::Run;
use onward_store::StoredCheckpoint;

use super::Oracle;

impl Oracle {
    /// Compares a stored checkpoint, keyframe and patches, with the run as it stood there.
    pub(in crate::sim) fn compare_document(&self, seq: Seq, found: &StoredCheckpoint) {
        let before: Vec<&Recorded> = self.journal.iter().filter(|recorded| recorded.seq < seq).collect();
        let run = onward_core::run::fold(before).expect("a journal");
        let stored = checkpoint::assemble(&found.keyframe, &found.patches).expect("I8: it can be read");
        let head = CheckpointHead {
            id: stored.id.clone(),
            seq,
            triggers: stored.triggers.clone(),
            phase: stored.phase.clone(),
            name: stored.name.clone(),
            created_at: stored.created_at,
            status: run.status(),
            can_resume: run.is_unfinished(),
            snapshot: stored.snapshot.clone(),
        };
        let whole = serde_json::to_vec(&checkpoint::whole(&run, head)).expect("plain data");
        let expected = checkpoint::assemble(&whole, &[]).expect("our own bytes");
        assert!(stored == expected, "I8: the checkpoint at {seq} is not the run at {seq}");
    }

    /// The state that a driver shows is the one that its journal gives.
    pub(in crate::sim) fn compare(&self, live: &Run) {
        let replayed = self.replayed.as_ref().expect("a journal");
        if replayed.seq != live.seq {
            return;
        }
        self.compare_costs(live);
        let (live, replayed) = (format!("{live:?}"), format!("{replayed:?}"));
        if live != replayed {
            let at = live.bytes().zip(replayed.bytes()).take_while(|(a, b)| a == b).count();
            let around = |text: &str| text.chars().skip(at.saturating_sub(80)).take(160).collect::<String>();
            panic!("I1: live equals replayed\n  live     …{}…\n  replayed …{}…", around(&live), around(&replayed));
        }
    }
}
