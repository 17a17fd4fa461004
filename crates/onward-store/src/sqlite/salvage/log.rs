//! A write-ahead log that holds every page of a database, written byte by byte.
//!
//! Beside such a log it does not matter what the database file holds, so renaming the log is all it takes to put a whole
//! new database in the place of an old one. The format is that of `SQLite`: 32 bytes about the log, then for each page
//! 24 bytes about it and the page. Numbers have their big end first; checksums run on from one page to the next.

use std::{
    fs::File,
    io::{self, BufReader, BufWriter, Read, Write},
    path::Path,
};

/// Says that checksums read their words with the little end first.
const MAGIC: u32 = 0x377f_0682;
const VERSION: u32 = 3_007_000;

/// Writes the log of the database at `from`, which must have none of its own, and flushes it.
pub(super) fn write(from: &Path, to: &Path) -> io::Result<()> {
    let database = File::open(from)?;
    let bytes = database.metadata()?.len();
    let mut reader = BufReader::new(database);
    let mut header = [0; 18];
    reader.read_exact(&mut header)?;
    let page_bytes = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        other => u32::from(other),
    };
    let bad = |what| io::Error::new(io::ErrorKind::InvalidData, what);
    if page_bytes < 512 || bytes % u64::from(page_bytes) != 0 {
        return Err(bad("the new database does not end with a page"));
    }
    let pages = u32::try_from(bytes / u64::from(page_bytes)).map_err(|_| bad("the new database is too large"))?;
    let mut reader = BufReader::new(File::open(from)?);
    let mut writer = BufWriter::new(File::create(to)?);
    // Another log of this database must not be taken for a continuation of this one.
    let name = uuid::Uuid::now_v7();
    let salts = &name.as_bytes()[8..];
    let mut sums = (0, 0);
    let mut head = Vec::with_capacity(32);
    for number in [MAGIC, VERSION, page_bytes, 0] {
        head.extend(number.to_be_bytes());
    }
    head.extend(salts);
    add(&mut sums, &head);
    writer.write_all(&head)?;
    write_sums(&mut writer, sums)?;
    let mut page = vec![0; page_bytes as usize];
    for number in 1..=pages {
        reader.read_exact(&mut page)?;
        // Only the last frame of a commit says how long the database is then.
        let size = if number == pages { pages } else { 0 };
        let frame = [number.to_be_bytes(), size.to_be_bytes()].concat();
        add(&mut sums, &frame);
        add(&mut sums, &page);
        writer.write_all(&frame)?;
        writer.write_all(salts)?;
        write_sums(&mut writer, sums)?;
        writer.write_all(&page)?;
    }
    writer.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

fn write_sums(writer: &mut impl Write, sums: (u32, u32)) -> io::Result<()> {
    writer.write_all(&sums.0.to_be_bytes())?;
    writer.write_all(&sums.1.to_be_bytes())
}

/// Adds bytes, a multiple of eight, to the running checksum.
fn add(sums: &mut (u32, u32), bytes: &[u8]) {
    for pair in bytes.chunks_exact(8) {
        let word = |at: usize| u32::from_le_bytes([pair[at], pair[at + 1], pair[at + 2], pair[at + 3]]);
        sums.0 = sums.0.wrapping_add(word(0)).wrapping_add(sums.1);
        sums.1 = sums.1.wrapping_add(word(4)).wrapping_add(sums.0);
    }
}
