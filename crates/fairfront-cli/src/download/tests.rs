//! Downloads from a server on this machine, and their failures.

use std::path::PathBuf;
use std::sync::LazyLock;

use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::*;
use crate::server::{Server, head, send, send_file};

/// The published file: pseudorandom bytes, so that shifted parts differ.
static BODY: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let next = |state: &mut u64| {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        Some((*state >> 56) as u8)
    };
    let mut state = 1;
    std::iter::from_fn(|| next(&mut state))
        .take(300_000)
        .collect()
});

static FILE: LazyLock<PublishedFile> = LazyLock::new(|| PublishedFile {
    name: "rows.data",
    url: "https://example.org/rows.data",
    size: 300_000,
    sha256: fairfront_core::hex(&Sha256::digest(&*BODY)).leak(),
});

struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        Self { folder }
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("deep").join("cache")
    }

    /// The contents of a file in the cache, if it exists.
    fn read(&self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(self.cache().join(name)).ok()
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::create_dir_all(self.cache()).unwrap();
        std::fs::write(self.cache().join(name), bytes).unwrap();
    }

    fn fetch(&self, at: &str) -> Result<(), String> {
        let source = Source::mirror(&format!("http://{at}/files/")).unwrap();
        fetch_from(&source, &[*FILE], &self.cache(), true).map_err(|e| e.to_string())
    }

    /// Asserts that the file is complete and that no part is left.
    fn assert_whole(&self) {
        assert!(self.read("rows.data").unwrap() == *BODY);
        assert_eq!(self.read("rows.data.part"), None);
    }

    /// Asserts that no file exists and that the error is one line with these words.
    fn assert_failed(&self, done: Result<(), String>, words: &[&str]) {
        let message = done.unwrap_err();
        for words in words {
            assert!(message.contains(words), "{message}");
        }
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(message.starts_with("rows.data: "), "{message}");
        assert_eq!(self.read("rows.data"), None);
    }
}

fn working() -> Server {
    Server::start(|request, stream| send_file(stream, request.offset, &BODY, usize::MAX))
}

#[test]
fn a_file_is_downloaded_once() {
    let (server, place) = (working(), Place::new());
    place.fetch(&server.at).unwrap();
    place.assert_whole();
    place.fetch(&server.at).unwrap();
    assert_eq!(server.asked().len(), 1);
    assert_eq!(server.asked()[0].line, "GET /files/rows.data HTTP/1.1");
    // A corrupted file is replaced.
    place.write("rows.data", b"corrupted");
    place.fetch(&server.at).unwrap();
    place.assert_whole();
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn a_body_may_have_no_length() {
    let server = Server::start(|_, stream| {
        let head = head("200 OK", &[("transfer-encoding", "chunked".into())]);
        let _ = stream.write_all(head.as_bytes());
        for chunk in BODY.chunks(70_000) {
            let _ = stream.write_all(format!("{:x}\r\n", chunk.len()).as_bytes());
            let _ = stream.write_all(chunk);
            let _ = stream.write_all(b"\r\n");
        }
        let _ = stream.write_all(b"0\r\n\r\n");
    });
    let place = Place::new();
    place.fetch(&server.at).unwrap();
    place.assert_whole();
}

#[test]
fn an_interrupted_connection_is_resumed() {
    // There are more interruptions than pauses, but each connection delivers enough bytes.
    let server = Server::start(|request, stream| {
        let most = if request.number < 4 {
            70_000
        } else {
            usize::MAX
        };
        send_file(stream, request.offset, &BODY, most);
    });
    let place = Place::new();
    place.fetch(&server.at).unwrap();
    place.assert_whole();
    assert_eq!(server.offsets(), [0, 70_000, 140_000, 210_000, 280_000]);
}

#[test]
fn the_next_call_resumes_a_part() {
    let place = Place::new();
    let dying = Server::start(|request, stream| match request.number {
        0 => send_file(stream, 0, &BODY, 100_000),
        _ => send_file(stream, request.offset, &BODY, 0),
    });
    let done = place.fetch(&dying.at);
    place.assert_failed(done, &["resume after 100,000 of 300,000 bytes"]);
    assert_eq!(dying.offsets(), [0, 100_000, 100_000, 100_000]);
    assert!(place.read("rows.data.part").unwrap() == BODY[..100_000]);

    let server = working();
    place.fetch(&server.at).unwrap();
    place.assert_whole();
    assert_eq!(server.offsets(), [100_000]);
}

#[test]
fn a_complete_part_needs_no_request() {
    let (server, place) = (working(), Place::new());
    place.write("rows.data.part", &BODY);
    place.fetch(&server.at).unwrap();
    place.assert_whole();
    assert!(server.asked().is_empty());
}

#[test]
fn a_part_of_another_version_is_discarded() {
    let mut other = BODY.clone();
    other[7] ^= 1;
    // Shorter than the file, as long, longer: in each case, the whole file is requested once.
    let cases = [
        (other[..1_000].to_vec(), vec![1_000, 0]),
        (other.clone(), vec![0]),
        ([&other[..], b"more"].concat(), vec![0]),
    ];
    for (part, asked) in cases {
        let (server, place) = (working(), Place::new());
        place.write("rows.data.part", &part);
        place.fetch(&server.at).unwrap();
        place.assert_whole();
        assert_eq!(server.offsets(), asked);
    }
}

#[test]
fn servers_without_ranges_send_the_whole_file() {
    let whole = Server::start(|_, stream| send_file(stream, 0, &BODY, usize::MAX));
    // A range that is not satisfiable, and a range that was not requested.
    let refusing = Server::start(|request, stream| match request.offset {
        0 => send_file(stream, 0, &BODY, usize::MAX),
        _ => send(stream, "416 Range Not Satisfiable", &[], b""),
    });
    let elsewhere = Server::start(|request, stream| match request.offset {
        0 => send_file(stream, 0, &BODY, usize::MAX),
        _ => send_file(stream, 500, &BODY, usize::MAX),
    });
    for (server, asked) in [
        (whole, &[1_000][..]),
        (refusing, &[1_000, 0]),
        (elsewhere, &[1_000, 0]),
    ] {
        let place = Place::new();
        place.write("rows.data.part", &BODY[..1_000]);
        place.fetch(&server.at).unwrap();
        place.assert_whole();
        assert_eq!(server.offsets(), asked);
    }
}

#[test]
fn a_wrong_checksum_is_rejected_at_once() {
    let server = Server::start(|request, stream| {
        let mut other = BODY.clone();
        other[299_999] ^= 1;
        send_file(stream, request.offset, &other, usize::MAX);
    });
    let found = {
        let mut other = BODY.clone();
        other[299_999] ^= 1;
        fairfront_core::hex(&Sha256::digest(&other))
    };
    let place = Place::new();
    let words = [found.as_str(), FILE.sha256, "not the published file"];
    place.assert_failed(place.fetch(&server.at), &words);
    assert_eq!(place.read("rows.data.part"), None);
    assert_eq!(server.offsets(), [0]);
    // After a part, the whole file is tried once.
    place.write("rows.data.part", &BODY[..1_000]);
    place.assert_failed(place.fetch(&server.at), &words);
    assert_eq!(server.offsets(), [0, 1_000, 0]);
    // A rejected download does not touch the existing file.
    place.write("rows.data", b"corrupted");
    assert!(place.fetch(&server.at).is_err());
    assert_eq!(place.read("rows.data").unwrap(), b"corrupted");
}

#[test]
fn a_wrong_size_is_rejected_at_once() {
    let with_length = Server::start(|_, stream| send(stream, "200 OK", &[], b"sorry"));
    let place = Place::new();
    let words = ["5 bytes, expected 300,000 bytes"];
    place.assert_failed(place.fetch(&with_length.at), &words);
    assert_eq!(with_length.asked().len(), 1);
    assert_eq!(place.read("rows.data.part"), None);

    // Without a length, the end of the connection is the end of the file.
    let without_length = Server::start(|_, stream| {
        let _ = stream.write_all(head("200 OK", &[]).as_bytes());
        let _ = stream.write_all(&BODY);
        let _ = stream.write_all(b"and more");
    });
    let words = ["expected 300,000 bytes"];
    place.assert_failed(place.fetch(&without_length.at), &words);
    assert_eq!(without_length.asked().len(), 1);
    assert_eq!(place.read("rows.data.part"), None);
}

#[test]
fn a_missing_file_is_requested_once() {
    let server = Server::start(|_, stream| send(stream, "404 Not Found", &[], b"no"));
    let place = Place::new();
    let words = ["answers 404 (not found)", FILE.url, "FAIRFRONT_DATA"];
    place.assert_failed(place.fetch(&server.at), &words);
    assert_eq!(server.asked().len(), 1);
    // A part is kept, because the server may have the file again later.
    place.write("rows.data.part", &BODY[..1_000]);
    place.assert_failed(place.fetch(&server.at), &words);
    assert_eq!(place.read("rows.data.part").unwrap(), BODY[..1_000]);
}

#[test]
fn failing_servers_are_retried() {
    let recovering = Server::start(|request, stream| match request.number {
        0 => send(stream, "500 Internal Server Error", &[], b""),
        // No answer.
        1 => {}
        _ => send_file(stream, request.offset, &BODY, usize::MAX),
    });
    let place = Place::new();
    place.fetch(&recovering.at).unwrap();
    place.assert_whole();
    assert_eq!(recovering.asked().len(), 3);

    let place = Place::new();
    let broken = Server::start(|_, stream| send(stream, "503 Service Unavailable", &[], b""));
    place.assert_failed(place.fetch(&broken.at), &["answers 503"]);
    assert_eq!(broken.asked().len(), 1 + PAUSES.len());
}

#[test]
fn safe_redirections_are_followed() {
    let place = Place::new();
    let target = working();
    let to = format!("http://{}/elsewhere", target.at);
    let server = Server::start(move |request, stream| {
        let location = match request.line.split(' ').nth(1) {
            Some("/files/rows.data") => "next.data".to_owned(),
            Some("/files/next.data") => "/top".to_owned(),
            _ => to.clone(),
        };
        send(stream, "302 Found", &[("location", location)], b"");
    });
    place.write("rows.data.part", &BODY[..1_000]);
    place.fetch(&server.at).unwrap();
    place.assert_whole();
    assert_eq!(server.asked().len(), 3);
    assert_eq!(target.offsets(), [1_000]);

    let place = Place::new();
    let leaving = Server::start(|_, stream| {
        let location = ("location", "http://example.org/rows.data".into());
        send(stream, "301 Moved Permanently", &[location], b"");
    });
    place.assert_failed(
        place.fetch(&leaving.at),
        &["http://example.org", "not safe"],
    );
    let circling = Server::start(|_, stream| {
        send(stream, "302 Found", &[("location", "/x".into())], b"");
    });
    place.assert_failed(place.fetch(&circling.at), &["redirects more than 5 times"]);
    assert_eq!(circling.asked().len(), 6);
}

#[test]
fn an_unreachable_server_is_an_error_at_once() {
    // A port that was free a moment ago.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    drop(listener);
    let place = Place::new();
    place.assert_failed(
        place.fetch(&at),
        &["no connection to 127.0.0.1", "HTTPS_PROXY"],
    );
}

#[test]
fn concurrent_calls_download_once() {
    let server = Server::start(|request, stream| {
        std::thread::sleep(Duration::from_millis(300));
        send_file(stream, request.offset, &BODY, usize::MAX);
    });
    let place = Place::new();
    std::thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(|| place.fetch(&server.at)));
        for one in both {
            one.join().unwrap().unwrap();
        }
    });
    place.assert_whole();
    assert_eq!(server.asked().len(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let (server, place) = (working(), Place::new());
    place.write("x", b"");
    std::os::unix::fs::symlink("/dev/full", place.cache().join("rows.data.part")).unwrap();
    let message = place.fetch(&server.at).unwrap_err();
    assert!(message.contains("the disk is full"), "{message}");
    assert!(message.contains("rows.data.part"), "{message}");
    assert_eq!(place.read("rows.data"), None);
}
