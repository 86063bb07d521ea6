//! One request, and what can become of it.

use std::io::{self, ErrorKind, Read};
use std::sync::Arc;
use std::time::Duration;

use ureq::http::{Response, StatusCode, Uri, header};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body, Proxy, Timeout};

use super::address;

/// How many times an address may name another one.
const REDIRECTIONS: usize = 5;

/// Why a request failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) problem: String,
    pub(super) then: Then,
}

/// What can be done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// The same would happen again.
    GiveUp,
    /// The same request may do better a moment later.
    Retry,
    /// The server does not have the rest that was asked for, but it may have the whole.
    StartAfresh,
}

impl Failure {
    pub(super) fn lasting(problem: impl Into<String>) -> Self {
        Self {
            problem: problem.into(),
            then: Then::GiveUp,
        }
    }

    pub(super) fn passing(problem: impl Into<String>) -> Self {
        Self {
            problem: problem.into(),
            then: Then::Retry,
        }
    }
}

/// What a server sends of a file.
pub(super) struct Answer {
    /// Where in the file it begins.
    pub(super) start: u64,
    /// The size of the whole file, where the server says it.
    pub(super) whole: Option<u64>,
    pub(super) body: Box<dyn Read>,
}

/// How long to wait for what.
pub(super) struct Patience {
    pub(super) connect: Duration,
    pub(super) silence: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(20),
            silence: Duration::from_secs(30),
        }
    }
}

pub(super) struct Client {
    agent: Agent,
    /// Whether this system knows any authority that certificates can come from.
    has_authorities: bool,
}

impl Client {
    pub(super) fn new(patience: &Patience) -> Self {
        // Another front end may have chosen one already; then that is used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let authorities: Vec<Certificate<'static>> = rustls_native_certs::load_native_certs()
            .certs
            .iter()
            .map(|der| Certificate::from_der(der.as_ref()).to_owned())
            .collect();
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::Specific(Arc::new(authorities.clone())))
            .build();
        let config = Agent::config_builder()
            .tls_config(tls)
            .user_agent(concat!("fairfront/", env!("CARGO_PKG_VERSION")))
            // Each address is checked before it is asked, so redirections are followed here; the proxy
            // depends on the address.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .http_status_as_error(false)
            .timeout_resolve(Some(patience.connect))
            .timeout_connect(Some(patience.connect))
            .timeout_recv_response(Some(patience.silence))
            .timeout_per_read(Some(patience.silence))
            .build();
        Self {
            agent: config.new_agent(),
            has_authorities: !authorities.is_empty(),
        }
    }

    /// Asks for a file from byte `offset` on. A server may send it from its beginning all the same.
    pub(super) fn get(&self, address: &Uri, offset: u64) -> Result<Answer, Failure> {
        let mut at = address.clone();
        for _ in 0..=REDIRECTIONS {
            let response = self.ask(&at, offset)?;
            let status = response.status();
            if !status.is_redirection() {
                return answer(&at, offset, response);
            }
            let location = response.headers().get(header::LOCATION);
            let location = location.and_then(|l| l.to_str().ok()).unwrap_or_default();
            let next = address::redirected(&at, location);
            match next.filter(|next| address::may_follow(next, Some(&at))) {
                Some(next) => at = next,
                None => {
                    let problem = format!("{at} sends us on to {location:?}, which is not safe");
                    return Err(Failure::lasting(problem));
                }
            }
        }
        Err(Failure::lasting(format!(
            "{address} sends us on and on, more than {REDIRECTIONS} times"
        )))
    }

    fn ask(&self, at: &Uri, offset: u64) -> Result<Response<Body>, Failure> {
        let proxy = address::proxy(at, |name| std::env::var(name).ok());
        let proxy = proxy
            .map(|(name, value)| {
                // The value may hold a password.
                Proxy::new(&value)
                    .map_err(|_| Failure::lasting(format!("{name} does not name a proxy")))
            })
            .transpose()?;
        let by = proxy.as_ref().map_or_else(String::new, |proxy| {
            format!(" by way of the proxy {}:{}", proxy.host(), proxy.port())
        });
        let mut request = self.agent.get(at).header("accept-encoding", "identity");
        if offset > 0 {
            request = request.header("range", format!("bytes={offset}-"));
        }
        let request = request.config().proxy(proxy).build();
        request.call().map_err(|error| self.failure(at, &by, error))
    }

    /// What went wrong before there was an answer, in words.
    fn failure(&self, at: &Uri, by: &str, error: ureq::Error) -> Failure {
        let host = at.authority().map_or("", |a| a.as_str());
        let network = "look at the network (a proxy is named by HTTPS_PROXY)";
        match error {
            ureq::Error::HostNotFound => {
                Failure::lasting(format!("{host} cannot be found{by}; {network}"))
            }
            ureq::Error::Timeout(Timeout::Resolve | Timeout::Connect) => {
                Failure::lasting(format!("{host} does not answer{by}; {network}"))
            }
            ureq::Error::Timeout(_) => Failure::passing(format!("{host} fell silent{by}")),
            ureq::Error::ConnectProxyFailed(reason) => Failure::lasting(format!(
                "no way to {host}{by}: {reason}; look at HTTPS_PROXY and NO_PROXY"
            )),
            ureq::Error::Rustls(error) => self.untrusted(host, by, &error),
            ureq::Error::Io(error) => {
                let inner = error.get_ref().and_then(|e| e.downcast_ref());
                if let Some(error) = inner {
                    return self.untrusted(host, by, error);
                }
                match is_cut(&error) {
                    true => Failure::passing(format!("{host} cut the connection{by} ({error})")),
                    false => Failure::lasting(format!(
                        "no connection to {host}{by} ({error}); {network}"
                    )),
                }
            }
            ureq::Error::Protocol(error) => Failure::passing(format!(
                "{host} gave no answer that can be read{by} ({error})"
            )),
            other => Failure::lasting(format!("nothing from {host}{by} ({other})")),
        }
    }

    fn untrusted(&self, host: &str, by: &str, error: &rustls::Error) -> Failure {
        let remedy = match self.has_authorities {
            true => "where a proxy signs for others, SSL_CERT_FILE can name its certificate",
            false => {
                "this system has no certificates of authorities: install its package ca-certificates, or \
                 name a file of them with SSL_CERT_FILE"
            }
        };
        Failure::lasting(format!("{host} cannot be trusted{by} ({error}); {remedy}"))
    }
}

/// Whether a connection was there and is gone.
fn is_cut(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
            | ErrorKind::UnexpectedEof
            | ErrorKind::TimedOut
            | ErrorKind::WouldBlock
            | ErrorKind::Interrupted
    )
}

fn answer(at: &Uri, offset: u64, response: Response<Body>) -> Result<Answer, Failure> {
    let status = response.status();
    let header = |name| {
        let value = response.headers().get(name)?;
        value.to_str().ok()
    };
    let (start, whole) = match status {
        StatusCode::OK => {
            let length = header(header::CONTENT_LENGTH);
            (0, length.and_then(|length| length.trim().parse().ok()))
        }
        StatusCode::PARTIAL_CONTENT => {
            match header(header::CONTENT_RANGE).and_then(content_range) {
                Some((start, whole)) if start == offset => (start, whole),
                _ => {
                    let problem = format!("{at} answers with another part than was asked for");
                    return Err(refused(offset, problem));
                }
            }
        }
        _ => {
            let reason = status.canonical_reason().unwrap_or("unknown");
            let (code, reason) = (status.as_u16(), reason.to_lowercase());
            let problem = format!("{at} answers {code} ({reason})");
            return Err(match status {
                StatusCode::RANGE_NOT_SATISFIABLE => refused(offset, problem),
                StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => {
                    Failure::passing(problem)
                }
                _ if status.is_server_error() => Failure::passing(problem),
                _ => Failure::lasting(problem),
            });
        }
    };
    let body = Box::new(response.into_body().into_reader());
    Ok(Answer { start, whole, body })
}

/// A rest that the server does not have; of a whole file that is the end.
fn refused(offset: u64, problem: String) -> Failure {
    let then = match offset {
        0 => Then::GiveUp,
        _ => Then::StartAfresh,
    };
    Failure { problem, then }
}

/// First byte and size of the whole file in `bytes 5-9/10`.
fn content_range(text: &str) -> Option<(u64, Option<u64>)> {
    let (range, whole) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (start, _) = range.split_once('-')?;
    let whole = match whole.trim() {
        "*" => None,
        whole => Some(whole.parse().ok()?),
    };
    Some((start.trim().parse().ok()?, whole))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn ranges_are_read() {
        assert_eq!(content_range("bytes 5-9/10"), Some((5, Some(10))));
        assert_eq!(content_range("bytes 5-9/*"), Some((5, None)));
        for wrong in ["", "bytes */10", "bytes 5-9", "lines 5-9/10", "bytes 5-9/x"] {
            assert_eq!(content_range(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn silence_is_not_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/x", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let silent = listener.accept().unwrap();
            let (mut stream, _) = listener.accept().unwrap();
            let head = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf ";
            stream.write_all(head.as_bytes()).unwrap();
            // Both stay open until the client has gone.
            let _ = stream.read_to_end(&mut Vec::new());
            drop(silent);
        });
        let client = Client::new(&Patience {
            connect: Duration::from_secs(5),
            silence: Duration::from_millis(200),
        });
        let address: Uri = address.parse().unwrap();
        let failure = client.get(&address, 0).err().unwrap();
        assert_eq!(failure.then, Then::Retry, "{failure:?}");
        let mut answer = client.get(&address, 0).ok().unwrap();
        assert_eq!((answer.start, answer.whole), (0, Some(10)));
        let mut got = Vec::new();
        answer.body.read_to_end(&mut got).unwrap_err();
        assert_eq!(got, b"half ");
        drop(answer);
        drop(client);
        server.join().unwrap();
    }
}
