//! A server for one client on stdin and stdout, and what every server needs to know.

use std::io;
use std::path::PathBuf;

use onward_engine::{CheckpointDiff, Error};
use rmcp::serve_server;
use rmcp::transport::io::stdio_pipes;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use super::handler::Handler;
use super::stdio::LineTransport;

/// Bytes of one message from a client; a longer one is dropped as it comes in, and answered with an error.
pub(super) const MESSAGE_BYTES_MAX: usize = 16 << 20;
/// Bytes of one answer to a client.
pub(super) const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Whether a client may change runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It may only look.
    Look,
    /// It may report on phases and keep what agents share.
    Report,
}

/// How the verbs tell what is not told by a view itself.
#[derive(Clone, Copy)]
pub struct VerbWords {
    /// The error of a verb, as its `--json` has it.
    pub error: fn(Error) -> Value,
    /// `diff --json`.
    pub diff: fn(&CheckpointDiff) -> Value,
}

/// The setting of a server.
#[derive(Clone)]
pub struct ServerSetup {
    /// Where the project is looked for.
    pub from: PathBuf,
    /// The run that is meant where none is named; none: the newest.
    pub run: Option<String>,
    pub access: Access,
    pub words: VerbWords,
    pub version: &'static str,
}

/// Serves one client on stdin and stdout, until it closes stdin.
pub fn serve_stdio(setup: ServerSetup) -> io::Result<()> {
    let runtime = runtime()?;
    runtime.block_on(async {
        let (reader, writer) = stdio_pipes();
        match serve_server(Handler::new(setup), LineTransport::new(reader, writer)).await {
            Ok(service) => service.waiting().await.map(drop).map_err(io::Error::other),
            // A client that goes before it has said anything.
            Err(_) => Ok(()),
        }
    })?;
    // A call that hangs keeps nobody: what it does survives the end of this process like any kill.
    runtime.shutdown_background();
    Ok(())
}

pub(super) fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}
