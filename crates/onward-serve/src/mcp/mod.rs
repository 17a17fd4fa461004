//! The MCP server: the verbs for agents as tools, runs and checkpoints as resources. Whatever a person must grant is not among
//! them.

mod arguments;
mod calls;
mod handler;
mod http;
mod resources;
mod share;
mod tools;

use std::io;
use std::path::PathBuf;

use onward_engine::{CheckpointDiff, Error};
use rmcp::serve_server;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use handler::Handler;
pub use http::{Bound, bind};

/// Bytes of one message from a client; a longer one is dropped as it comes in.
const MESSAGE_BYTES_MAX: usize = 16 << 20;
/// Bytes of one answer to a client.
const ANSWER_BYTES_MAX: usize = 1 << 20;

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

/// What a server needs to know.
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
        let transport = AsyncRwTransport::new_server(reader, writer).with_max_line_length(MESSAGE_BYTES_MAX);
        match serve_server(Handler::new(setup), transport).await {
            Ok(service) => service.waiting().await.map(drop).map_err(io::Error::other),
            // A client that goes before it has said anything.
            Err(_) => Ok(()),
        }
    })?;
    // A call that hangs keeps nobody: what it does survives the end of this process like any kill.
    runtime.shutdown_background();
    Ok(())
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}
