//! Mock: a local server that replies as a test decides, and records the requests.
//!
//! In: a function from request to reply. Out: its address; the requests in order.
//! Invariants: one connection at a time, one request per connection; it ends when dropped.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// A received request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// `GET` or `POST`.
    pub method: String,
    /// Path with query.
    pub path: String,
    /// By name, in lowercase.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// Returns a header by its lowercase name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// Status; 0 closes the connection without a reply.
    pub status: u16,
    /// Headers beside the length.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The number of bytes of the body after which the connection is closed.
    pub cut_after: Option<usize>,
    /// True to send nothing and keep the connection open.
    pub hangs: bool,
}

impl Answer {
    /// Creates a complete reply.
    pub fn of(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Answer { status, body: body.into(), ..Answer::default() }
    }

    /// Adds a header.
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.headers.push((name.to_string(), value.to_string()));
        self
    }

    /// Answers with the requested part of a body (`Range: bytes=N-`), or all of it.
    pub fn part_of(body: &[u8], request: &Request) -> Self {
        let range = request.header("range").and_then(|it| it.strip_prefix("bytes="));
        let from = range.and_then(|it| it.trim_end_matches('-').parse::<usize>().ok());
        let Some(from) = from else { return Answer::of(200, body) };
        match body.get(from..).filter(|rest| !rest.is_empty()) {
            Some(rest) => {
                let sent_range = format!("bytes {from}-{}/{}", body.len() - 1, body.len());
                Answer::of(206, rest).with("content-range", sent_range)
            }
            None => Answer::of(416, "").with("content-range", format!("bytes */{}", body.len())),
        }
    }
}

/// The server; ends when dropped.
pub struct Mock {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Mock {
    /// Starts a server.
    ///
    /// # Errors
    /// When no port is available.
    pub fn start(answer: impl FnMut(&Request) -> Answer + Send + 'static) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let (requests, is_over) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let (seen, over) = (Arc::clone(&requests), Arc::clone(&is_over));
        let thread = std::thread::Builder::new()
            .name("mock".to_string())
            .spawn(move || serve(&listener, &seen, &over, answer))?;
        Ok(Mock { address, requests, is_over, thread: Some(thread) })
    }

    /// Returns its address, such as `http://127.0.0.1:4000`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Mock {
    #[expect(clippy::disallowed_methods, reason = "connects to itself, in tests")]
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // The server waits for a connection, so this one wakes it.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(
    listener: &TcpListener,
    seen: &Mutex<Vec<Request>>,
    is_over: &AtomicBool,
    mut answer: impl FnMut(&Request) -> Answer,
) {
    let mut hanging = Vec::new();
    for stream in listener.incoming().flatten() {
        if is_over.load(Ordering::SeqCst) {
            break;
        }
        let Ok(request) = read(&stream) else { continue };
        let answer = answer(&request);
        seen.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        match answer.hangs {
            // Kept open until the server ends.
            true => hanging.push(stream),
            // The client may be gone.
            false => drop(write(stream, &answer)),
        }
    }
}

fn read(stream: &TcpStream) -> std::io::Result<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace().map(String::from);
    let mut request = Request {
        method: words.next().unwrap_or_default(),
        path: words.next().unwrap_or_default(),
        ..Request::default()
    };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        request.headers.insert(name.to_ascii_lowercase(), value.trim().to_string());
    }
    let length = request.header("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
    let mut chunks = request.header("transfer-encoding").is_some_and(|it| it == "chunked");
    request.body = vec![0; length];
    reader.read_exact(&mut request.body)?;
    while chunks {
        let mut size = String::new();
        reader.read_line(&mut size)?;
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        chunks = size > 0;
        let mut chunk = vec![0; size + 2];
        reader.read_exact(&mut chunk)?;
        request.body.extend(chunk.get(..size).unwrap_or_default());
    }
    Ok(request)
}

fn write(mut stream: TcpStream, answer: &Answer) -> std::io::Result<()> {
    if answer.status == 0 {
        return Ok(());
    }
    let mut head = format!("HTTP/1.1 {} Told\r\nconnection: close\r\n", answer.status);
    head += &format!("content-length: {}\r\n", answer.body.len());
    for (name, value) in &answer.headers {
        head += &format!("{name}: {value}\r\n");
    }
    stream.write_all((head + "\r\n").as_bytes())?;
    let kept = answer.cut_after.unwrap_or(usize::MAX).min(answer.body.len());
    stream.write_all(answer.body.get(..kept).unwrap_or_default())?;
    stream.flush()
}
