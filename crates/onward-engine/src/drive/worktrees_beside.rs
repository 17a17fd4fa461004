//! Worktrees that are made, files on their way from them into the project, and worktrees on their way out: in threads of their own, since
//! git may take long and whoever drives must not stand still for it.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;

use onward_core::event::WorktreeFact;
use onward_core::id::{Attempt, PhaseId};
use onward_core::input::Input;
use onward_core::run::Run;
use onward_core::run::worktrees::OwnWorktree;

use crate::probe::background_probe::LookBeside;
use crate::sys::stop;
use crate::vcs::working_tree::WorkingTree;

#[derive(Default)]
pub(crate) struct WorktreesBeside {
    under_way: BTreeMap<PhaseId, UnderWay>,
    making: BTreeMap<PhaseId, Making>,
}

/// The worktree of an attempt that is to begin.
struct Making {
    attempt: Attempt,
    own: Option<OwnWorktree>,
    beside: LookBeside<WorktreeMade>,
    told: bool,
}

/// How far the worktree of an attempt has come, or why not.
pub(crate) enum WorktreeMade {
    /// It is known what it is to show; that comes on record before it is made.
    ToBeMade(std::result::Result<WorktreeFact, String>),
    InPlace(std::result::Result<(), String>),
}

struct UnderWay {
    /// As it was on record when this was begun: a result is one for just that.
    own: OwnWorktree,
    beside: LookBeside<Input>,
    /// The loop was woken for its end.
    told: bool,
}

impl WorktreesBeside {
    /// Begins with it, unless it is under way. Its result is given once, and only where the worktree stands as it stood.
    pub(crate) fn see_to(
        &mut self,
        tree: &WorkingTree,
        run: &Run,
        id: &PhaseId,
        act: fn(&WorkingTree, &Run, &PhaseId) -> Input,
    ) -> Option<Input> {
        let own = run.phase_state(id)?.own.as_deref()?;
        if let Some(one) = self.under_way.get_mut(id) {
            let over = one.beside.seen()?;
            let is_for_this = one.own == *own;
            self.under_way.remove(id);
            if is_for_this {
                let lost = Err("whoever saw to it could not be followed".to_owned());
                return Some(over.unwrap_or(Input::Worktree { phase: id.clone(), found: lost }));
            }
        }
        if stop::asked().is_some() {
            return None;
        }
        let (opener, run, phase) = (tree.opener(), run.clone(), id.clone());
        let beside = LookBeside::begin(move |given_up| {
            // A run that is cancelled or paused waits for no git.
            stop::heed_in_this_thread(Some(given_up.clone()));
            let tree = opener.open();
            let _alone = tree.alone();
            act(&tree, &run, &phase)
        });
        self.under_way.insert(id.clone(), UnderWay { own: own.clone(), beside, told: false });
        None
    }

    /// Begins to make the worktree of an attempt, unless that is under way. The result is given once, for just that attempt.
    pub(crate) fn make(
        &mut self,
        tree: &WorkingTree,
        run: &Run,
        id: &PhaseId,
        attempt: Attempt,
    ) -> Option<WorktreeMade> {
        let own = run.phase_state(id)?.own.as_deref();
        if let Some(one) = self.making.get_mut(id) {
            let over = one.beside.seen()?;
            let is_for_this = one.attempt == attempt && one.own.as_ref() == own;
            self.making.remove(id);
            if is_for_this {
                let lost = || WorktreeMade::InPlace(Err("whoever made it could not be followed".to_owned()));
                return Some(over.unwrap_or_else(|_| lost()));
            }
        }
        if stop::asked().is_some() {
            return None;
        }
        let (opener, own, run, phase) = (tree.opener(), own.cloned(), run.clone(), id.clone());
        let beside = LookBeside::begin(move |given_up| {
            // A run that is cancelled or paused waits for no git.
            stop::heed_in_this_thread(Some(given_up.clone()));
            let tree = opener.open();
            if run.wants_a_worktree(&phase) || tree.has_lost_worktree(&run, &phase) {
                WorktreeMade::ToBeMade(tree.begin_worktree(&run, &phase, attempt))
            } else {
                WorktreeMade::InPlace(tree.make_worktree(&run, &phase))
            }
        });
        self.making.insert(id.clone(), Making { attempt, own, beside, told: false });
        None
    }

    /// Whether files of the project are being changed, or may be.
    pub(crate) fn change_files(&self) -> bool {
        self.under_way.values().any(|one| !one.beside.is_over())
    }

    /// Whether they are changed, or all of them are read.
    pub(crate) fn are_busy(&self) -> bool {
        self.change_files() || self.making.values().any(|one| !one.beside.is_over())
    }

    /// Whether one is over of which the loop does not know: it is asked for at once.
    pub(crate) fn have_news(&mut self) -> bool {
        let over = self.under_way.values_mut().filter(|one| !one.told && one.beside.is_over());
        let put = over.map(|one| one.told = true).count();
        let over = self.making.values_mut().filter(|one| !one.told && one.beside.is_over());
        put + over.map(|one| one.told = true).count() > 0
    }

    /// Readable when one of them is over; none: that one is looked at now and then.
    pub(crate) fn fds(&self) -> impl Iterator<Item = Option<BorrowedFd<'_>>> {
        let making = self.making.values().filter(|one| !one.told).map(|one| one.beside.fd());
        self.under_way.values().filter(|one| !one.told).map(|one| one.beside.fd()).chain(making)
    }
}
