//! The same over streamable HTTP: on loopback only, with a token, and not for pages in a browser.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use tokio::task::AbortHandle;

use super::exact::inexact;
use super::handler::Handler;
use super::server::{MESSAGE_BYTES_MAX, ServerSetup, runtime};

/// Connections at once. One more takes the place of the oldest that has shown no token.
const CONNECTIONS_MAX: usize = 128;
/// A connection that has not sent the head of a request by then is closed.
const HEAD_TIME_MAX: Duration = Duration::from_secs(5);
const TOKEN_BYTES: usize = 32;
const PATH: &str = "/mcp";

type Answer = Response<BoxBody<Bytes, Infallible>>;
type Service = StreamableHttpService<Handler, LocalSessionManager>;

/// A server that has its port and serves nobody yet.
pub struct Bound {
    listener: TcpListener,
    address: SocketAddr,
    token: String,
    setup: ServerSetup,
}

/// Takes a port on loopback; 0 is any free one.
pub fn bind(setup: ServerSetup, port: u16) -> io::Result<Bound> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok(Bound { listener, address, token: token()?, setup })
}

fn token() -> io::Result<String> {
    let mut bytes = [0_u8; TOKEN_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl Bound {
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// The token that a client sends as `Authorization: Bearer TOKEN`.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Serves until this process ends.
    pub fn serve(self) -> io::Result<()> {
        let Self { listener, address, token, setup } = self;
        let hosts: Vec<String> = [address.to_string(), format!("localhost:{}", address.port())].into();
        let handler = Handler::new(setup);
        // Without sessions: every request is whole in itself, and nothing is kept for a client that went away.
        let origins = hosts.iter().map(|host| format!("http://{host}"));
        let mut config =
            StreamableHttpServerConfig::default().with_allowed_hosts(hosts.clone()).with_allowed_origins(origins);
        (config.legacy_session_mode, config.json_response) = (false, true);
        config.max_request_body_bytes = MESSAGE_BYTES_MAX;
        let service = Service::new(move || Ok(handler.clone()), Arc::default(), config);
        let guard = Arc::new(Guard { bearer: format!("Bearer {token}"), hosts });
        runtime()?.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let mut connections = Connections::default();
            loop {
                let (stream, _) = listener.accept().await?;
                if !connections.make_room() {
                    continue;
                }
                let (service, guard, is_known) = (service.clone(), guard.clone(), Arc::new(AtomicBool::new(false)));
                let known = is_known.clone();
                let task = tokio::spawn(async move {
                    let each = service_fn(|request| answer(&service, &guard, &known, request));
                    let mut server = http1::Builder::new();
                    server.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME_MAX);
                    let _ = server.serve_connection(TokioIo::new(stream), each).await;
                });
                connections.0.push_back(Connection { task: task.abort_handle(), is_known });
            }
        })
    }
}

/// Connections that are open, the oldest first.
#[derive(Default)]
struct Connections(VecDeque<Connection>);

struct Connection {
    task: AbortHandle,
    /// It has shown the token.
    is_known: Arc<AtomicBool>,
}

impl Connections {
    /// Makes room for one more. A client with the token keeps its place, and whoever says nothing loses it.
    fn make_room(&mut self) -> bool {
        self.0.retain(|one| !one.task.is_finished());
        if self.0.len() < CONNECTIONS_MAX {
            return true;
        }
        let unknown = self.0.iter().position(|one| !one.is_known.load(Ordering::Relaxed));
        let unknown = unknown.and_then(|at| self.0.remove(at));
        unknown.is_some_and(|one| {
            one.task.abort();
            true
        })
    }
}

/// The headers that every request has to show.
struct Guard {
    bearer: String,
    hosts: Vec<String>,
}

impl Guard {
    fn refuses(&self, request: &Request<Incoming>) -> Option<StatusCode> {
        let is_here = |host: &[u8]| self.hosts.iter().any(|own| own.as_bytes() == host);
        let target = request.uri().authority();
        if !is_here(only(request, HOST)) || target.is_some_and(|target| !is_here(target.as_str().as_bytes())) {
            return Some(StatusCode::FORBIDDEN);
        }
        if !are_equal(only(request, AUTHORIZATION), self.bearer.as_bytes()) {
            return Some(StatusCode::UNAUTHORIZED);
        }
        (request.uri().path() != PATH).then_some(StatusCode::NOT_FOUND)
    }
}

/// The value of a header that stands there once; of two, a proxy may heed the other one.
fn only(request: &Request<Incoming>, name: HeaderName) -> &[u8] {
    let mut all = request.headers().get_all(name).iter();
    let first = all.next().map(hyper::header::HeaderValue::as_bytes).unwrap_or_default();
    if all.next().is_some() { &[] } else { first }
}

async fn answer(
    service: &Service,
    guard: &Guard,
    known: &AtomicBool,
    request: Request<Incoming>,
) -> Result<Answer, Infallible> {
    if let Some(status) = guard.refuses(&request) {
        return Ok(refusal(status));
    }
    known.store(true, Ordering::Relaxed);
    let (parts, body) = request.into_parts();
    // The text itself is looked at: behind a reader it is too late.
    let Ok(body) = Limited::new(body, MESSAGE_BYTES_MAX).collect().await else {
        return Ok(refusal(StatusCode::PAYLOAD_TOO_LARGE));
    };
    let text = body.to_bytes();
    if let Some((id, refusal)) = inexact(&text) {
        return Ok(told(&json!({ "jsonrpc": "2.0", "id": id, "error": refusal })));
    }
    Ok(service.handle(Request::from_parts(parts, Full::new(text))).await)
}

fn told(answer: &Value) -> Answer {
    let mut told = Response::new(Full::new(Bytes::from(answer.to_string())).boxed());
    told.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    told
}

fn refusal(status: StatusCode) -> Answer {
    let mut refusal = Response::new(Full::new(Bytes::from_static(b"refused\n")).boxed());
    *refusal.status_mut() = status;
    refusal
}

/// Compares in a time that tells nothing of where the first difference is.
fn are_equal(given: &[u8], wanted: &[u8]) -> bool {
    let different = given.iter().zip(wanted).fold(0, |all, (one, other)| all | (one ^ other));
    given.len() == wanted.len() && different == 0
}
