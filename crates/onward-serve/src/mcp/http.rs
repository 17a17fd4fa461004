//! The same over streamable HTTP: on loopback only, with a token, and not for pages in a browser.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, HOST};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::Semaphore;
use uuid::Uuid;

use super::handler::Handler;
use super::server::{MESSAGE_BYTES_MAX, ServerSetup, runtime};

/// Connections at once.
const CONNECTIONS_MAX: usize = 64;
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
    Ok(Bound { listener, address, token: Uuid::new_v4().simple().to_string(), setup })
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
            let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
            loop {
                let place = room.clone().acquire_owned().await.map_err(io::Error::other)?;
                let (stream, _) = listener.accept().await?;
                let (service, guard) = (service.clone(), guard.clone());
                tokio::spawn(async move {
                    let each = service_fn(|request| answer(&service, &guard, request));
                    let mut server = http1::Builder::new();
                    // One that says nothing gives its place back.
                    server.timer(TokioTimer::new());
                    let _ = server.serve_connection(TokioIo::new(stream), each).await;
                    drop(place);
                });
            }
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
        let header = |name| request.headers().get(name).map(hyper::header::HeaderValue::as_bytes).unwrap_or_default();
        if !self.hosts.iter().any(|host| host.as_bytes() == header(HOST)) {
            return Some(StatusCode::FORBIDDEN);
        }
        if !are_equal(header(AUTHORIZATION), self.bearer.as_bytes()) {
            return Some(StatusCode::UNAUTHORIZED);
        }
        (request.uri().path() != PATH).then_some(StatusCode::NOT_FOUND)
    }
}

async fn answer(service: &Service, guard: &Guard, request: Request<Incoming>) -> Result<Answer, Infallible> {
    Ok(match guard.refuses(&request) {
        Some(status) => refusal(status),
        None => service.handle(request).await,
    })
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
