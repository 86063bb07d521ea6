//! A server on this machine whose answers, including faults, a test defines. It records requests.
//! The unit tests of downloads use it, too.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A request to the server.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// `GET /x HTTP/1.1`
    pub(crate) line: String,
    /// The first requested byte; 0 for the whole file.
    pub(crate) offset: usize,
    /// The number of earlier requests.
    pub(crate) number: usize,
}

/// Both directions of a connection.
pub(crate) trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

type Answer = dyn Fn(&Request, &mut dyn Stream) + Send + Sync;
type Wrap = dyn Fn(TcpStream) -> Box<dyn Stream> + Send + Sync;

pub(crate) struct Server {
    /// `127.0.0.1:PORT`
    pub(crate) at: String,
    asked: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Answers each connection once, on its own thread, until the tests end.
    pub(crate) fn start(
        answer: impl Fn(&Request, &mut dyn Stream) + Send + Sync + 'static,
    ) -> Self {
        Self::wrapped(|stream| Box::new(stream), answer)
    }

    /// Like [`start`](Self::start), but wraps every connection, for example in TLS.
    pub(crate) fn wrapped(
        wrap: impl Fn(TcpStream) -> Box<dyn Stream> + Send + Sync + 'static,
        answer: impl Fn(&Request, &mut dyn Stream) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let at = listener.local_addr().expect("an address").to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (wrap, answer): (Arc<Wrap>, Arc<Answer>) = (Arc::new(wrap), Arc::new(answer));
        let shared = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (wrap, answer) = (Arc::clone(&wrap), Arc::clone(&answer));
                let asked = Arc::clone(&shared);
                std::thread::spawn(move || {
                    let mut stream = wrap(stream);
                    if let Some(request) = read_head(&mut *stream, &asked) {
                        answer(&request, &mut *stream);
                    }
                });
            }
        });
        Self { at, asked }
    }

    /// All requests so far.
    pub(crate) fn asked(&self) -> Vec<Request> {
        self.asked.lock().expect("no panic").clone()
    }

    /// The first requested byte of each request.
    pub(crate) fn offsets(&self) -> Vec<usize> {
        self.asked().iter().map(|request| request.offset).collect()
    }
}

fn read_head(stream: &mut dyn Stream, asked: &Mutex<Vec<Request>>) -> Option<Request> {
    // Read one byte at a time, so that nothing after the head is consumed.
    let mut lines = BufReader::with_capacity(1, stream).lines();
    let line = lines.next()?.ok()?;
    let head: Vec<String> = lines
        .map_while(Result::ok)
        .take_while(|line| !line.is_empty())
        .map(|line| line.to_lowercase())
        .collect();
    let offset = head.iter().find_map(|line| {
        let range = line.strip_prefix("range: bytes=")?;
        range.strip_suffix('-')?.parse().ok()
    });
    let mut asked = asked.lock().expect("no panic");
    let request = Request {
        line,
        offset: offset.unwrap_or(0),
        number: asked.len(),
    };
    asked.push(request.clone());
    Some(request)
}

/// The head of an answer.
pub(crate) fn head(status: &str, headers: &[(&str, String)]) -> String {
    let lines: Vec<String> = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    format!(
        "HTTP/1.1 {status}\r\n{}connection: close\r\n\r\n",
        lines.concat()
    )
}

/// Sends a whole answer; errors of the connection are ignored.
pub(crate) fn send(stream: &mut dyn Stream, status: &str, headers: &[(&str, String)], body: &[u8]) {
    let length = ("content-length", body.len().to_string());
    let headers = [headers, &[length]].concat();
    let _ = stream.write_all(head(status, &headers).as_bytes());
    let _ = stream.write_all(body);
    let _ = stream.flush();
}

/// Sends a file like a server that supports ranges, but stops after `most` bytes.
pub(crate) fn send_file(stream: &mut dyn Stream, offset: usize, file: &[u8], most: usize) {
    let rest = file.get(offset..).unwrap_or_default();
    let length = ("content-length", rest.len().to_string());
    let range = format!("bytes {offset}-{}/{}", file.len() - 1, file.len());
    let head = match offset {
        0 => head("200 OK", &[length]),
        _ => head("206 Partial Content", &[length, ("content-range", range)]),
    };
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(&rest[..most.min(rest.len())]);
    let _ = stream.flush();
}
