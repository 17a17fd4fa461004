//! The MCP server: the verbs for agents as tools, runs and checkpoints as resources. Whatever a person must grant is not among
//! them.

mod arguments;
mod calls;
mod exact;
mod handler;
mod http;
mod request_id;
mod resources;
mod server;
mod share;
mod stdio;
mod tools;

pub use http::{Bound, bind};
pub use server::{Access, ServerSetup, VerbWords, serve_stdio};
