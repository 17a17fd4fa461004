//! Reading what an attempt prints while it prints it.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use super::folder::open_plain;

/// The output of one attempt from its beginning on, as far as it is there. The files are those of `OutputFiles`.
#[derive(Debug)]
pub struct Follower {
    folder: PathBuf,
    head: Option<File>,
    tail: Option<File>,
}

impl Follower {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, head: None, tail: None }
    }

    /// The bytes that were printed since it was last asked, at most one buffer; empty where there is nothing more now.
    pub(crate) fn read(&mut self) -> io::Result<Vec<u8>> {
        if self.tail.is_none() {
            if self.head.is_none() {
                self.head = self.open("output")?;
            }
            let bytes = some_of(self.head.as_mut())?;
            if !bytes.is_empty() {
                return Ok(bytes);
            }
            // The head is full when there is a tail, and was read to its end before that was seen.
            return match self.oldest_tail()? {
                Some((tail, gap)) => {
                    let rest = some_of(self.head.as_mut())?;
                    if rest.is_empty() { self.go_on_with(tail, gap) } else { Ok(rest) }
                }
                None => Ok(Vec::new()),
            };
        }
        let next = self.next_tail()?;
        let bytes = some_of(self.tail.as_mut())?;
        match next {
            Some((tail, gap)) if bytes.is_empty() => self.go_on_with(tail, gap),
            Some(_) | None => Ok(bytes),
        }
    }

    fn go_on_with(&mut self, tail: File, gap: MissingOutput) -> io::Result<Vec<u8>> {
        self.tail = Some(tail);
        match gap {
            MissingOutput::None => self.read(),
            MissingOutput::LeftOut => Ok(LEFT_OUT.as_bytes().to_vec()),
        }
    }

    /// The first file behind the head.
    fn oldest_tail(&self) -> io::Result<Option<(File, MissingOutput)>> {
        let dropped = if self.open("dropped")?.is_some() { MissingOutput::LeftOut } else { MissingOutput::None };
        let older = self.open("tail.0")?;
        Ok(older.map_or_else(|| self.open("tail.1"), |older| Ok(Some(older)))?.map(|tail| (tail, dropped)))
    }

    /// The file behind the one that is read, once there is one.
    fn next_tail(&self) -> io::Result<Option<(File, MissingOutput)>> {
        let (Some(newer), Some(now)) = (self.open("tail.1")?, &self.tail) else { return Ok(None) };
        if inode(&newer)? == inode(now)? {
            return Ok(None);
        }
        let older = self.open("tail.0")?;
        match older {
            Some(older) if inode(&older)? != inode(now)? => Ok(Some((older, MissingOutput::LeftOut))),
            Some(_) | None => Ok(Some((newer, MissingOutput::None))),
        }
    }

    fn open(&self, name: &str) -> io::Result<Option<File>> {
        match open_plain(&self.folder.join(name)) {
            Ok(file) => Ok(Some(file)),
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(why) => Err(why),
        }
    }
}

/// Whether something is missing between two files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MissingOutput {
    None,
    LeftOut,
}

const LEFT_OUT: &str = "\n[… some output left out …]\n";
const BUFFER_BYTES: usize = 64 * 1024;

fn some_of(file: Option<&mut File>) -> io::Result<Vec<u8>> {
    let Some(file) = file else { return Ok(Vec::new()) };
    let mut bytes = vec![0; BUFFER_BYTES];
    let count = file.read(&mut bytes)?;
    bytes.truncate(count);
    Ok(bytes)
}

fn inode(file: &File) -> io::Result<u64> {
    Ok(file.metadata()?.ino())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn all(follower: &mut Follower) -> String {
        let mut out = Vec::new();
        loop {
            let bytes = follower.read().expect("plain files");
            if bytes.is_empty() {
                return String::from_utf8(out).expect("text");
            }
            out.extend(bytes);
        }
    }

    /// The head fills, the tail turns while it is read, and once faster than it is read.
    #[test]
    fn output_is_followed_through_its_files() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = |name: &str| folder.path().join(name);
        let mut follower = Follower::new(folder.path().to_owned());
        assert_eq!(all(&mut follower), "");
        fs::write(path("output"), "one ").expect("a file");
        assert_eq!(all(&mut follower), "one ");
        fs::write(path("output"), "one two ").expect("a file");
        fs::write(path("tail.1"), "three ").expect("a file");
        assert_eq!(all(&mut follower), "two three ");
        fs::rename(path("tail.1"), path("tail.0")).expect("a file");
        fs::write(path("tail.1"), "four ").expect("a file");
        assert_eq!(all(&mut follower), "four ");
        fs::write(path("tail.0"), "").expect("a file");
        fs::rename(path("tail.1"), path("away")).expect("a file");
        fs::remove_file(path("tail.0")).expect("a file");
        fs::write(path("tail.0"), "six ").expect("a file");
        fs::write(path("tail.1"), "seven ").expect("a file");
        assert_eq!(all(&mut follower), format!("{LEFT_OUT}six seven "));
    }
}
