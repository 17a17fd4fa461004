//! The output of a coding agent: its frames are kept as they come, and what they say is written for people where the output of every
//! phase lies.

use std::fmt::Write as _;

use onward_core::agent::{Adapter, DeclaredAgent, FrameReader, News};
use onward_core::event::nano_usd;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::capture::{OutputFiles, OutputNames};
use super::record::{FramesSeal, Spec};

/// The frames as they came.
pub(crate) const FRAMES: OutputNames =
    OutputNames { head: "frames", older: "frames.0", newer: "frames.1", dropped: "frames.dropped" };
/// Standard error alone.
pub(crate) const ERRORS: OutputNames =
    OutputNames { head: "errors", older: "errors.0", newer: "errors.1", dropped: "errors.dropped" };
const ERRORS_BYTES_MAX: u64 = 64 * 1024;

/// The client that an attempt starts, as far as its output is concerned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientOrders {
    pub name: String,
    /// Its entry in the configuration, where it has one.
    pub entry: Option<Value>,
}

impl ClientOrders {
    /// How the client is called and read; none where nobody has heard of it.
    pub(crate) fn adapter(&self) -> Option<Adapter> {
        let declared = self.entry.as_ref().and_then(DeclaredAgent::read).map(Adapter::Declared);
        declared.or_else(|| Adapter::built_in(&self.name))
    }
}

/// Reads frames while they come.
pub(super) struct FrameSink {
    reader: FrameReader,
    frames: OutputFiles,
    errors: OutputFiles,
    /// A session that was named since somebody last asked.
    session: Option<String>,
}

impl FrameSink {
    pub(super) fn new(spec: &Spec) -> Option<Self> {
        let adapter = spec.client.as_ref()?.adapter()?;
        Some(Self {
            reader: FrameReader::new(&adapter),
            frames: OutputFiles::new(spec, FRAMES).sealed(),
            errors: OutputFiles::limited(spec, ERRORS, ERRORS_BYTES_MAX),
            session: None,
        })
    }

    /// Whole lines of standard output, or the last one; gives what they say.
    pub(super) fn frames(&mut self, bytes: &[u8]) -> String {
        self.frames.write(bytes);
        let mut said = String::new();
        for line in bytes.split(|&byte| byte == b'\n') {
            for news in self.reader.line(line) {
                if let News::Session(id) = &news {
                    self.session = Some(id.clone());
                }
                // Writing to a string does not fail.
                let _ = writeln!(said, "{news}");
            }
        }
        said
    }

    pub(super) fn errors(&mut self, bytes: &[u8]) {
        self.errors.write(bytes);
    }

    /// By which it is noticed that somebody else wrote to the frames.
    pub(super) fn seal(&self) -> FramesSeal {
        let [head, older, newer] = self.frames.seals();
        FramesSeal { head, older, newer, cost_nano_usd: self.reader.cost_usd().map(nano_usd) }
    }

    pub(super) fn new_session(&mut self) -> Option<String> {
        self.session.take()
    }
}
