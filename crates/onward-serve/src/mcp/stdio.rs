//! Messages of one client, a line each. Every request gets an answer, also one that is too long, or no JSON, or no message: whoever
//! asked waits for it.

use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ErrorCode, ErrorData};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, mpsc};

use super::exact::inexact;
use super::request_id::RequestIdFinder;
use super::server::MESSAGE_BYTES_MAX;

/// Messages that were heard and are not yet taken up.
const HEARD_MAX: usize = 16;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

type ClientMessage = RxJsonRpcMessage<RoleServer>;

/// The two ends of a client.
pub(super) struct LineTransport<W> {
    heard: mpsc::Receiver<ClientMessage>,
    answers: StdioAnswers<W>,
}

impl<W: AsyncWrite + Send + Unpin + 'static> LineTransport<W> {
    /// Begins to listen.
    pub(super) fn new(from: impl AsyncRead + Send + Unpin + 'static, to: W) -> Self {
        let (say, heard) = mpsc::channel(HEARD_MAX);
        let answers = StdioAnswers(Arc::new(Mutex::new(Some(to))));
        tokio::spawn(listen(BufReader::new(from), say, answers.clone()));
        Self { heard, answers }
    }
}

impl<W: AsyncWrite + Send + Unpin + 'static> Transport<RoleServer> for LineTransport<W> {
    type Error = io::Error;

    fn send(&mut self, item: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answers = self.answers.clone();
        async move { answers.say(&item).await }
    }

    async fn receive(&mut self) -> Option<ClientMessage> {
        self.heard.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.answers.0.lock().await.take();
        Ok(())
    }
}

/// Where answers go, one line after the other; nowhere, once it is closed.
struct StdioAnswers<W>(Arc<Mutex<Option<W>>>);

impl<W> Clone for StdioAnswers<W> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<W: AsyncWrite + Send + Unpin> StdioAnswers<W> {
    async fn say(&self, message: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let mut to = self.0.lock().await;
        let to = to.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        to.write_all(&line).await?;
        to.flush().await
    }

    async fn refuse(&self, id: &Value, refusal: &ErrorData) -> io::Result<()> {
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "error": refusal })).await
    }
}

/// Hears lines until there are no more, or nobody takes them up or hears the answers.
async fn listen<R, W>(mut from: BufReader<R>, say: mpsc::Sender<ClientMessage>, answers: StdioAnswers<W>)
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Send + Unpin,
{
    while let Ok(Some(line)) = next_line(&mut from).await {
        let heard = match line {
            StdioLine::Whole(line) => message(&line),
            StdioLine::TooLong(id) => LineContent::Wrong(id, too_long()),
        };
        let goes_on = match heard {
            LineContent::Message(message) => say.send(*message).await.is_ok(),
            LineContent::Wrong(id, refusal) => answers.refuse(&id, &refusal).await.is_ok(),
            LineContent::Nothing => true,
        };
        if !goes_on {
            return;
        }
    }
}

enum StdioLine {
    Whole(Vec<u8>),
    /// It was dropped as it came in; the id of the request, or null where it has none.
    TooLong(Value),
}

/// The next line, without its end; none where there are no more.
async fn next_line(from: &mut BufReader<impl AsyncRead + Unpin>) -> io::Result<Option<StdioLine>> {
    let (mut line, mut dropped) = (Vec::new(), None::<RequestIdFinder>);
    loop {
        let available = from.fill_buf().await?;
        let end = available.iter().position(|byte| *byte == b'\n');
        let taken = &available[..end.unwrap_or(available.len())];
        match &mut dropped {
            Some(finder) => finder.read(taken),
            None if line.len() + taken.len() > MESSAGE_BYTES_MAX => {
                let mut finder = RequestIdFinder::default();
                finder.read(&line);
                finder.read(taken);
                line = Vec::new();
                dropped = Some(finder);
            }
            None => line.extend_from_slice(taken),
        }
        let is_over = available.is_empty();
        let used = end.map_or(available.len(), |end| end + 1);
        from.consume(used);
        match (end.is_some() || is_over, dropped.take()) {
            (true, Some(finder)) => return Ok(Some(StdioLine::TooLong(finder.found()))),
            (true, None) if is_over && line.is_empty() => return Ok(None),
            (true, None) => return Ok(Some(StdioLine::Whole(line))),
            (false, still) => dropped = still,
        }
    }
}

enum LineContent {
    Message(Box<ClientMessage>),
    /// No message: the id under which this is answered, and with what.
    Wrong(Value, ErrorData),
    /// Nothing that is answered.
    Nothing,
}

fn message(line: &[u8]) -> LineContent {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return LineContent::Nothing;
    }
    if let Ok(message) = serde_json::from_slice(line) {
        return match inexact(line) {
            Some((id, refusal)) => LineContent::Wrong(id, refusal),
            None => LineContent::Message(Box::new(message)),
        };
    }
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        let why = "this line is no JSON that can be read";
        return LineContent::Wrong(Value::Null, ErrorData::new(ErrorCode::PARSE_ERROR, why, None));
    };
    if value.get("method").is_some_and(Value::is_string) && value.get("id").is_none() {
        // A notification is never answered.
        return LineContent::Nothing;
    }
    let id = value.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
    LineContent::Wrong(id.unwrap_or_default(), ErrorData::invalid_request("this is no request of JSON-RPC 2.0", None))
}

fn too_long() -> ErrorData {
    let most = MESSAGE_BYTES_MAX >> 20;
    ErrorData::invalid_request(format!("the message is longer than {most} MiB, and was dropped"), None)
}
