//! The beginning of a database says where its tables lie. It is the same in every store that was made by one version,
//! so where it is damaged the beginning of a new store can stand in for it. If it does not fit, nothing is harmed: what
//! is read behind it is believed only where checksums agree.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::Path,
};

/// The page that new stores have. Another size would move everything.
const PAGE_BYTES: u64 = 4096;
/// Where in the first page the tree of tables begins, and which kind of node has others below it.
const TREE: usize = 100;
const INNER_NODE: u8 = 5;
/// Fields of the first page: how many pages there are, the first free page and how many of those, and the two counters
/// that must agree for the number of pages to be believed.
const PAGES: usize = 28;
const FREE_PAGES: std::ops::Range<usize> = 32..40;
const CHANGES: std::ops::Range<usize> = 24..28;
const CHANGES_AGAIN: std::ops::Range<usize> = 92..96;

/// Writes the first page of `new`, and those that continue it, over those of `old`.
pub(super) fn beginning(new: &Path, old: &Path) -> io::Result<()> {
    let (new, old) = (File::open(new)?, OpenOptions::new().read(true).write(true).open(old)?);
    let pages = old.metadata()?.len() / PAGE_BYTES;
    let mut first = page(&new, 1)?;
    for number in below(&first) {
        old.write_all_at(&page(&new, number)?, (u64::from(number) - 1) * PAGE_BYTES)?;
    }
    first[PAGES..PAGES + 4].copy_from_slice(&u32::try_from(pages).unwrap_or(u32::MAX).to_be_bytes());
    first[FREE_PAGES].fill(0);
    let changes: [u8; 4] = [first[CHANGES.start], first[25], first[26], first[27]];
    first[CHANGES_AGAIN].copy_from_slice(&changes);
    old.write_all_at(&first, 0)
}

fn page(file: &File, number: u32) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(PAGE_BYTES).unwrap_or_default()];
    file.read_exact_at(&mut bytes, (u64::from(number) - 1) * PAGE_BYTES)?;
    Ok(bytes)
}

/// The pages right below the first one, if the list of tables is too long for it.
fn below(first: &[u8]) -> Vec<u32> {
    if first[TREE] != INNER_NODE {
        return Vec::new();
    }
    let number = |at: usize| u32::from_be_bytes([first[at], first[at + 1], first[at + 2], first[at + 3]]);
    let cells = usize::from(u16::from_be_bytes([first[TREE + 3], first[TREE + 4]]));
    let cell = |at: usize| usize::from(u16::from_be_bytes([first[at], first[at + 1]]));
    let inner = (0..cells).map(|index| number(cell(TREE + 12 + 2 * index)));
    inner.chain([number(TREE + 8)]).collect()
}
