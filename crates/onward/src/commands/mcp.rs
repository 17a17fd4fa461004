//! `onward mcp`: the verbs for agents as tools of an MCP server, on stdin and stdout, or over HTTP.

use onward_core::exit;
use onward_engine::Error;
use onward_serve::mcp::{Access, ServerSetup, VerbWords, bind, serve_stdio};
use serde_json::{Value, json};

use super::state::own_run;
use super::{here, or_lost};
use crate::args;
use crate::failure::Failure;
use crate::render::{self, failure::ErrorJson};

pub(super) fn mcp(args: &args::McpArgs) -> Result<u8, Failure> {
    let setup = ServerSetup {
        from: here()?,
        run: own_run(),
        access: if args.read_only { Access::Look } else { Access::Report },
        words: VerbWords { error, diff: render::diff::json },
        version: env!("CARGO_PKG_VERSION"),
    };
    let cannot = |why| Error::Io { what: "serving".to_owned(), why };
    if !args.http {
        return serve_stdio(setup).map(|()| exit::DONE).map_err(|why| cannot(why).into());
    }
    let bound = bind(setup, args.port).map_err(cannot)?;
    // The token of the server is made to be shown, once.
    render::answer_exact(format!("{}\n", json!({ "url": bound.url(), "token": bound.token() })).as_bytes());
    render::drain();
    bound.serve().map(|()| exit::DONE).map_err(|why| cannot(why).into())
}

fn error(why: Error) -> Value {
    let failure = or_lost(Failure::from(why));
    serde_json::to_value(ErrorJson::new(&failure)).expect("errors have only text keys")
}
