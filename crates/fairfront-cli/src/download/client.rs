//! Requests and their failures.

use std::io::{self, ErrorKind, Read};
use std::sync::Arc;
use std::time::Duration;

use ureq::http::{Response, StatusCode, Uri, header};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body, Proxy, Timeout};

use super::address;

/// The largest number of redirections.
const REDIRECTIONS: usize = 5;

/// The reason why a request failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) problem: String,
    pub(super) then: Then,
}

/// How to proceed after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// The request would fail again.
    GiveUp,
    /// The same request may succeed later.
    Retry,
    /// The server cannot send the requested rest, but it may send the whole file.
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

/// The answer of a server: a file, or the rest of it.
pub(super) struct Answer {
    /// The position in the file at which the answer begins.
    pub(super) start: u64,
    /// The size of the whole file, if the server states it.
    pub(super) whole: Option<u64>,
    pub(super) body: Box<dyn Read>,
}

/// Timeouts.
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
    /// Whether this system trusts any certificate authority.
    has_authorities: bool,
}

impl Client {
    pub(super) fn new(patience: &Patience) -> Self {
        // If another front end has already installed a provider, that one is used.
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
            // Redirections are followed here, because each address is checked before a request, and
            // the proxy depends on the address.
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

    /// Requests a file from byte `offset` on. A server may still send it from the beginning.
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
                    let problem = format!("{at} redirects to {location:?}, which is not safe");
                    return Err(Failure::lasting(problem));
                }
            }
        }
        Err(Failure::lasting(format!(
            "{address} redirects more than {REDIRECTIONS} times"
        )))
    }

    fn ask(&self, at: &Uri, offset: u64) -> Result<Response<Body>, Failure> {
        let proxy = address::proxy(at, |name| std::env::var(name).ok());
        let proxy = proxy
            .map(|(name, value)| {
                // Do not print the value, which may contain a password.
                Proxy::new(&value)
                    .map_err(|_| Failure::lasting(format!("{name} is not the address of a proxy")))
            })
            .transpose()?;
        let by = proxy.as_ref().map_or_else(String::new, |proxy| {
            format!(" through the proxy {}:{}", proxy.host(), proxy.port())
        });
        let mut request = self.agent.get(at).header("accept-encoding", "identity");
        if offset > 0 {
            request = request.header("range", format!("bytes={offset}-"));
        }
        let request = request.config().proxy(proxy).build();
        request.call().map_err(|error| self.failure(at, &by, error))
    }

    /// Describes an error that occurred before the server answered.
    fn failure(&self, at: &Uri, by: &str, error: ureq::Error) -> Failure {
        let host = at.authority().map_or("", |a| a.as_str());
        let network = "check the network connection (HTTPS_PROXY sets a proxy)";
        match error {
            ureq::Error::HostNotFound => {
                Failure::lasting(format!("{host} cannot be found{by}; {network}"))
            }
            ureq::Error::Timeout(Timeout::Resolve | Timeout::Connect) => {
                Failure::lasting(format!("{host} does not answer{by}; {network}"))
            }
            ureq::Error::Timeout(_) => Failure::passing(format!("{host} stopped answering{by}")),
            ureq::Error::ConnectProxyFailed(reason) => Failure::lasting(format!(
                "{host} cannot be reached{by}: {reason}; check HTTPS_PROXY and NO_PROXY"
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
            ureq::Error::Protocol(error) => {
                Failure::passing(format!("{host} sent an unreadable answer{by} ({error})"))
            }
            other => Failure::lasting(format!("no answer from {host}{by} ({other})")),
        }
    }

    fn untrusted(&self, host: &str, by: &str, error: &rustls::Error) -> Failure {
        let remedy = match self.has_authorities {
            true => {
                "if a proxy replaces certificates, set SSL_CERT_FILE to the proxy's certificate"
            }
            false => {
                "this system trusts no certificate authority; install the package ca-certificates, \
                 or set SSL_CERT_FILE to a file with certificates of authorities"
            }
        };
        Failure::lasting(format!("{host} cannot be trusted{by} ({error}); {remedy}"))
    }
}

/// Whether an existing connection was closed.
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
                    let problem = format!("{at} answers with a part that was not requested");
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

/// The failure of a server that cannot send a part. If that part is the whole file, give up.
fn refused(offset: u64, problem: String) -> Failure {
    let then = match offset {
        0 => Then::GiveUp,
        _ => Then::StartAfresh,
    };
    Failure { problem, then }
}

/// The first byte and the size of the whole file, from a header such as `bytes 5-9/10`.
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
    fn content_ranges_are_parsed() {
        assert_eq!(content_range("bytes 5-9/10"), Some((5, Some(10))));
        assert_eq!(content_range("bytes 5-9/*"), Some((5, None)));
        for wrong in ["", "bytes */10", "bytes 5-9", "lines 5-9/10", "bytes 5-9/x"] {
            assert_eq!(content_range(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn silent_servers_time_out() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/x", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let silent = listener.accept().unwrap();
            let (mut stream, _) = listener.accept().unwrap();
            let head = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf ";
            stream.write_all(head.as_bytes()).unwrap();
            // Both connections stay open until the client disconnects.
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
