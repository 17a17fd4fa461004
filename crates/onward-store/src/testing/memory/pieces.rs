//! The contents of one run, by the plainest means: what is needed is found by going through all of them.

use crate::types::{Chain, KeyframeKept, StoredContent};

/// Every content that the run was given, in order of storing.
#[derive(Default)]
pub(super) struct Pieces(Vec<Piece>);

struct Piece {
    /// `None` once it is deleted and nothing needs it.
    own: Option<StoredContent>,
    /// A whole document that was added later.
    added: Option<Vec<u8>>,
    is_listed: bool,
}

impl Piece {
    fn whole(&self) -> Option<&[u8]> {
        match (&self.added, &self.own) {
            (Some(document), _) | (None, Some(StoredContent::Whole(document))) => Some(document),
            (None, Some(StoredContent::Patch(_)) | None) => None,
        }
    }

    fn own(&self) -> &[u8] {
        self.own.as_ref().expect("a content that is needed stays").bytes()
    }

    fn bytes(&self) -> usize {
        self.own.as_ref().map_or(0, |own| own.bytes().len()) + self.added.as_ref().map_or(0, Vec::len)
    }
}

impl Pieces {
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.0.len()).expect("no test stores that many")
    }

    pub(super) fn bytes(&self) -> u64 {
        self.0.iter().map(|piece| piece.bytes() as u64).sum()
    }

    pub(super) fn push(&mut self, content: StoredContent) -> usize {
        self.0.push(Piece { own: Some(content), added: None, is_listed: true });
        if self.0.iter().any(|piece| !piece.is_listed) {
            self.sweep();
        }
        self.0.len() - 1
    }

    /// The keyframe and the patches behind it that lead to a content.
    pub(super) fn read(&self, index: usize) -> (Vec<u8>, Vec<Vec<u8>>) {
        let start = self.start(index);
        let keyframe = self.0[start].whole().expect("it was found by being whole").to_vec();
        (keyframe, self.0[start + 1..=index].iter().map(|piece| piece.own().to_vec()).collect())
    }

    pub(super) fn put_keyframe(&mut self, index: usize, document: Vec<u8>) -> KeyframeKept {
        if self.0[index].whole().is_some() {
            return KeyframeKept::AlreadyThere;
        }
        self.0[index].added = Some(document);
        self.sweep();
        KeyframeKept::New
    }

    /// Takes a content out of the lists; how many bytes that freed.
    pub(super) fn delist(&mut self, index: usize) -> u64 {
        self.0[index].is_listed = false;
        self.sweep()
    }

    pub(super) fn chain(&self) -> Chain {
        let Some(newest) = self.0.len().checked_sub(1) else { return Chain::default() };
        let start = self.start(newest);
        Chain {
            patches: u32::try_from(newest - start).expect("no test stores that many"),
            patch_bytes: self.0[start + 1..].iter().map(|patch| patch.own().len() as u64).sum(),
            keyframe_bytes: self.0[start].whole().map_or(0, |document| document.len() as u64),
        }
    }

    fn start(&self, index: usize) -> usize {
        let start = (0..=index).rev().find(|at| self.0[*at].whole().is_some());
        start.expect("what is needed starts with something whole")
    }

    /// Forgets every content whose checkpoint is deleted and that no other one, nor the next patch, needs.
    fn sweep(&mut self) -> u64 {
        let last = self.0.len() - 1;
        let mut needed = vec![false; self.0.len()];
        for index in (0..=last).filter(|index| self.0[*index].is_listed || *index == last) {
            needed[self.start(index)..=index].fill(true);
        }
        let before = self.bytes();
        for (piece, needed) in self.0.iter_mut().zip(needed).filter(|(piece, _)| !piece.is_listed) {
            if !needed {
                (piece.own, piece.added) = (None, None);
            } else if piece.added.is_some() {
                piece.own = None;
            }
        }
        before - self.bytes()
    }
}
