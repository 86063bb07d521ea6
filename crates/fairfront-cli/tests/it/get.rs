//! `data get` from servers on this machine. Unit tests cover the download of a single file.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tempfile::TempDir;

use crate::server::{Request, Server, Stream, send, send_file};
use crate::{Outcome, command, finish, run_in};

fn folder() -> TempDir {
    TempDir::new().expect("a folder")
}

/// The cache folder of a command that runs in this folder.
fn cache(folder: &Path) -> PathBuf {
    match cfg!(target_os = "macos") {
        true => folder.join("Library/Caches/fairfront"),
        false => folder.join("caches").join("fairfront"),
    }
}

/// Runs `data get` with these environment variables.
fn get(folder: &Path, name: &str, variables: &[(&str, &str)]) -> Outcome {
    let mut command = command(folder, &format!("data get {name}"));
    command.envs(variables.iter().copied());
    finish(command, b"")
}

/// Asserts that the command failed with one line that contains these words.
fn assert_failed(outcome: &Outcome, code: i32, words: &[&str]) {
    assert_eq!(outcome.code, code, "{}", outcome.err);
    assert_eq!(outcome.out, "");
    assert_eq!(outcome.err.lines().count(), 1, "{}", outcome.err);
    for words in words {
        assert!(outcome.err.contains(words), "{}", outcome.err);
    }
}

/// The folder of the published files. Without it, a test is skipped with a message; in CI it fails.
fn published(test: &str) -> Option<PathBuf> {
    let folder = fairfront_data::named_folder();
    if folder.is_none() {
        let in_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
        assert!(!in_ci, "{test} needs the published data sets");
        // The test runner captures the output of `eprintln!`.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED {test}: needs the published data sets; set FAIRFRONT_DATA"
        );
    }
    folder
}

/// A server that mirrors a folder.
fn mirror(folder: PathBuf) -> Server {
    Server::start(move |request, stream| send_from(&folder, request, stream))
}

fn send_from(folder: &Path, request: &Request, stream: &mut dyn Stream) {
    let name = request.line.split([' ', '/']).nth(2).unwrap_or_default();
    match std::fs::read(folder.join(name)) {
        Ok(file) => send_file(stream, request.offset, &file, usize::MAX),
        Err(_) => send(stream, "404 Not Found", &[], b""),
    }
}

#[test]
fn commands_find_downloaded_files() {
    let Some(published) = published("commands_find_downloaded_files") else {
        return;
    };
    let server = mirror(published);
    let here = folder();
    let url = format!("http://{}", server.at);
    let from = [("FAIRFRONT_MIRROR", url.as_str())];
    let run = |line: &str| run_in(&here, line);
    let before = run("inspect adult:sex");
    assert_failed(
        &before,
        1,
        &["adult.data", "adult.test", "fairfront data get adult:sex"],
    );

    let outcome = get(here.path(), "adult:sex", &from);
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    assert_eq!(
        outcome.err,
        "adult.data: 3,974,305 bytes, checked\nadult.test: 2,003,153 bytes, checked\n"
    );
    let cache = cache(here.path());
    let paths = format!(
        "{}\n{}\n",
        cache.join("adult.data").display(),
        cache.join("adult.test").display()
    );
    assert_eq!(outcome.out, paths);
    assert_eq!(run("data path adult:race").out, paths);
    let inspected = run("inspect adult:sex");
    assert_eq!(inspected.code, 0, "{}", inspected.err);
    assert!(inspected.out.contains("45,222"), "{}", inspected.out);
    let list = run("data list").out;
    assert!(list.contains(&cache.display().to_string()), "{list}");
    assert!(!list.contains("missing: adult.data"), "{list}");
    assert!(
        list.contains("missing: compas-scores-two-years.csv"),
        "{list}"
    );

    // Another data set with the same files downloads nothing.
    assert_eq!(server.asked().len(), 2);
    let again = get(here.path(), "adult:race", &from);
    assert_eq!((again.code, again.out), (0, paths.clone()));
    assert_eq!(again.err, "all files are present and valid\n");
    assert_eq!(server.asked().len(), 2);

    // A folder in FAIRFRONT_DATA is never written to.
    let own = folder();
    let own = own.path().to_str().expect("UTF-8");
    let named = [from[0], ("FAIRFRONT_DATA", own)];
    let outcome = get(here.path(), "adult:sex", &named);
    assert_eq!((outcome.code, outcome.out), (0, paths));
    assert!(
        outcome.err.contains("unset FAIRFRONT_DATA"),
        "{}",
        outcome.err
    );
    assert_eq!(std::fs::read_dir(own).expect("a folder").count(), 0);
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn concurrent_processes_download_once() {
    let Some(published) = published("concurrent_processes_download_once") else {
        return;
    };
    let server = Server::start(move |request, stream| {
        std::thread::sleep(std::time::Duration::from_millis(500));
        send_from(&published, request, stream);
    });
    let here = folder();
    let url = format!("http://{}", server.at);
    let start = || {
        let mut command = command(here.path(), "data get compas:race --quiet");
        command.env("FAIRFRONT_MIRROR", &url);
        std::thread::spawn(move || finish(command, b""))
    };
    let both = [start(), start()].map(|process| process.join().expect("it ends"));
    for outcome in both {
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""));
        assert_eq!(outcome.out.lines().count(), 1);
    }
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn simulated_data_sets_need_no_download() {
    let here = folder();
    for name in ["demo", "demo(rows=50)", "synthetic:3"] {
        let outcome = get(here.path(), name, &[]);
        assert_eq!((outcome.code, outcome.out.as_str()), (0, ""));
        assert_eq!(
            outcome.err,
            format!("{name} is generated; there is nothing to download\n")
        );
    }
    assert_failed(
        &get(here.path(), "x.csv", &[]),
        2,
        &["not a known data set"],
    );
    assert_failed(&get(here.path(), "adult:age", &[]), 2, &["adult:race"]);
    assert!(!cache(here.path()).exists());
}

#[test]
fn unsafe_mirrors_are_rejected() {
    let here = folder();
    for url in ["http://mirror.invalid/x", "mirror", "ftp://127.0.0.1/"] {
        let outcome = get(here.path(), "compas:race", &[("FAIRFRONT_MIRROR", url)]);
        assert_failed(&outcome, 2, &["FAIRFRONT_MIRROR", url]);
    }
    assert!(!cache(here.path()).exists());
}

#[test]
fn failures_are_one_line() {
    let here = folder();
    let missing = Server::start(|_, stream| send(stream, "404 Not Found", &[], b""));
    let url = format!("http://{}/sub/", missing.at);
    let outcome = get(here.path(), "adult:sex", &[("FAIRFRONT_MIRROR", &url)]);
    let words = [
        "error: adult.data: http://127.0.0.1",
        "/sub/adult.data answers 404",
        "https://archive.ics.uci.edu",
    ];
    assert_failed(&outcome, 1, &words);
    assert_eq!(missing.asked().len(), 1);

    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let outcome = get(here.path(), "adult:sex", &[("FAIRFRONT_MIRROR", &url)]);
    assert_failed(&outcome, 1, &["no connection to 127.0.0.1", "network"]);
    assert!(!cache(here.path()).join("adult.data").exists());
    assert!(!cache(here.path()).join("adult.data.part").exists());
}

#[cfg(unix)]
#[test]
fn an_unwritable_cache_is_an_error() {
    use std::os::unix::fs::PermissionsExt;

    let here = folder();
    let server = mirror(here.path().to_owned());
    let url = format!("http://{}", server.at);
    let from = [("FAIRFRONT_MIRROR", url.as_str())];
    let cache = cache(here.path());
    let above = cache.parent().expect("a folder");
    std::fs::create_dir_all(above).expect("a folder");
    std::fs::write(&cache, "a file").expect("a file");
    assert_failed(
        &get(here.path(), "adult:sex", &from),
        1,
        &["fairfront: cannot be written"],
    );
    std::fs::remove_file(&cache).expect("no file");

    std::fs::set_permissions(above, PermissionsExt::from_mode(0o555)).expect("a mode");
    // Skip this check for the superuser, who may write anyway.
    if std::fs::write(above.join("probe"), "").is_err() {
        assert_failed(
            &get(here.path(), "adult:sex", &from),
            1,
            &["fairfront: cannot be written", "ermission denied"],
        );
    }
    std::fs::set_permissions(above, PermissionsExt::from_mode(0o755)).expect("a mode");
    assert!(server.asked().is_empty());
}

#[cfg(unix)]
#[test]
fn a_part_survives_ctrl_c() {
    let here = folder();
    let body = b"39, State-gov, 77516\n".repeat(5_000);
    let sent = body.clone();
    let server = Server::start(move |request, stream| match request.number {
        0 => {
            let length = ("content-length", "3974305".to_owned());
            let head = crate::server::head("200 OK", &[length]);
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(&sent);
            // Wait until the client disconnects.
            let _ = stream.read(&mut [0]);
        }
        _ => send(stream, "404 Not Found", &[], b""),
    });
    let mut command = command(here.path(), "data get adult:sex");
    command.env("FAIRFRONT_MIRROR", format!("http://{}", server.at));
    command.stderr(std::process::Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    let part = cache(here.path()).join("adult.data.part");
    let length = || std::fs::metadata(&part).map_or(0, |found| found.len() as usize);
    while length() < body.len() {
        assert!(child.try_wait().expect("a process").is_none());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let kill = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.expect("kill").success());
    assert_eq!(child.wait().expect("an end").code(), Some(130));
    let mut printed = String::new();
    let err = child.stderr.take().expect("a pipe");
    { err }.read_to_string(&mut printed).expect("UTF-8");
    assert!(
        printed.contains("run the same command again to resume"),
        "{printed}"
    );
    assert_eq!(std::fs::read(&part).expect("the part"), body);
    assert!(!part.with_extension("").exists());

    let url = format!("http://{}", server.at);
    let outcome = get(here.path(), "adult:sex", &[("FAIRFRONT_MIRROR", &url)]);
    assert_failed(&outcome, 1, &["404"]);
    assert_eq!(server.offsets(), [0, body.len()]);
}

const AUTHORITY: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/it/localhost/authority.pem"
);

/// A server without files, whose certificate for this machine and mirror.invalid is signed by an
/// authority that only the tests use.
fn encrypted() -> Server {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("localhost/certificate.pem"));
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("localhost/key.pem"));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.expect("PEM")], key.expect("PEM"))
        .expect("a certificate");
    let config = Arc::new(config);
    let wrap = move |stream| -> Box<dyn Stream> {
        let connection = rustls::ServerConnection::new(Arc::clone(&config));
        let connection = connection.expect("a connection");
        Box::new(rustls::StreamOwned::new(connection, stream))
    };
    Server::wrapped(wrap, |_, stream| send(stream, "404 Not Found", &[], b""))
}

#[test]
fn certificates_are_checked() {
    let (here, server) = (folder(), encrypted());
    let url = format!("https://{}", server.at);
    let mirror = ("FAIRFRONT_MIRROR", url.as_str());
    let trusted = get(
        here.path(),
        "adult:sex",
        &[mirror, ("SSL_CERT_FILE", AUTHORITY)],
    );
    assert_failed(&trusted, 1, &["adult.data answers 404"]);
    assert_eq!(server.asked().len(), 1);

    let untrusted = get(here.path(), "adult:sex", &[mirror]);
    assert_failed(&untrusted, 1, &["cannot be trusted", "SSL_CERT_FILE"]);
    // Without any authority.
    let empty = here.path().join("empty.pem");
    std::fs::write(&empty, "").expect("a file");
    let empty = ("SSL_CERT_FILE", empty.to_str().expect("UTF-8"));
    let alone = get(here.path(), "adult:sex", &[mirror, empty]);
    assert_failed(&alone, 1, &["cannot be trusted", "ca-certificates"]);
    assert_eq!(server.asked().len(), 1);
}

/// A proxy that connects every client to one address and records the requested ones.
fn proxy(to: String) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("an address").to_string();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::clone(&asked);
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && (&client).read(&mut byte).is_ok_and(|n| n > 0) {
                head.extend(byte);
            }
            let head = String::from_utf8_lossy(&head).into_owned();
            shared.lock().expect("no panic").push(head);
            let Ok(server) = TcpStream::connect(&to) else {
                let _ = (&client).write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
                continue;
            };
            let _ = (&client).write_all(b"HTTP/1.1 200 OK\r\n\r\n");
            let (client, server) = (Arc::new(client), Arc::new(server));
            for (from, to) in [(&client, &server), (&server, &client)] {
                let (from, to) = (Arc::clone(from), Arc::clone(to));
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut &*from, &mut &*to);
                    let _ = to.shutdown(std::net::Shutdown::Write);
                });
            }
        }
    });
    (at, asked)
}

#[test]
fn the_environment_sets_proxies() {
    let (here, server) = (folder(), encrypted());
    let (at, asked) = proxy(server.at.clone());
    let asked = || asked.lock().expect("no panic").clone();
    let by = format!("http://me:secret@{at}");
    let by = by.as_str();
    let trust = ("SSL_CERT_FILE", AUTHORITY);
    // Only the proxy can resolve this name.
    let invalid = ("FAIRFRONT_MIRROR", "https://mirror.invalid/files");
    for (number, variable) in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"]
        .into_iter()
        .enumerate()
    {
        let outcome = get(here.path(), "adult:sex", &[invalid, trust, (variable, by)]);
        let words = ["https://mirror.invalid/files/adult.data answers 404"];
        assert_failed(&outcome, 1, &words);
        let head = asked()[number].to_lowercase();
        assert!(
            head.starts_with("connect mirror.invalid:443 http/1.1"),
            "{head}"
        );
        // me:secret
        assert!(
            head.contains("proxy-authorization: basic bwu6c2vjcmv0"),
            "{head}"
        );
        assert_eq!(server.asked().len(), number + 1);
    }

    let direct = format!("https://{}", server.at);
    let variables = [
        ("FAIRFRONT_MIRROR", direct.as_str()),
        trust,
        ("HTTPS_PROXY", by),
        ("NO_PROXY", "localhost, 127.0.0.1"),
    ];
    assert_failed(&get(here.path(), "adult:sex", &variables), 1, &["404"]);
    assert_eq!((asked().len(), server.asked().len()), (3, 4));

    // Errors name the proxy, without its password.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let unused = listener.local_addr().expect("an address").to_string();
    drop(listener);
    let (refusing, _) = proxy(unused.clone());
    for (at, words) in [
        (refusing, "403"),
        (unused, "no connection to mirror.invalid"),
    ] {
        let by = format!("http://me:secret@{at}");
        let outcome = get(here.path(), "adult:sex", &[invalid, ("HTTPS_PROXY", &by)]);
        assert_failed(&outcome, 1, &[words, &format!("through the proxy {at}")]);
        assert!(!outcome.err.contains("secret"), "{}", outcome.err);
    }
    let outcome = get(
        here.path(),
        "adult:sex",
        &[invalid, ("HTTPS_PROXY", "secret://x")],
    );
    assert_failed(&outcome, 1, &["HTTPS_PROXY is not the address of a proxy"]);
}
