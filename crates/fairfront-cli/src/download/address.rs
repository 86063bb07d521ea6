//! The addresses of files (published, or on a mirror), and the proxies to reach them.

use fairfront_data::{Error, PublishedFile};
use ureq::http::Uri;

/// The environment variable with the address of a mirror.
const MIRROR: &str = "FAIRFRONT_MIRROR";

/// The published addresses, or a mirror.
pub(super) struct Source {
    mirror: Option<String>,
}

impl Source {
    pub(super) fn from_environment() -> Result<Self, Error> {
        match std::env::var_os(MIRROR).filter(|named| !named.is_empty()) {
            Some(named) => Self::mirror(&named.to_string_lossy()),
            None => Ok(Self { mirror: None }),
        }
    }

    /// A mirror with this base address.
    pub(super) fn mirror(start: &str) -> Result<Self, Error> {
        let mirror = Some(mirror(start)?);
        Ok(Self { mirror })
    }

    /// The address of a file.
    pub(super) fn address(&self, file: &PublishedFile) -> Result<Uri, Error> {
        let text = match &self.mirror {
            Some(mirror) => format!("{mirror}/{}", file.name),
            None => file.url.to_owned(),
        };
        let wrong = |_| Error::usage(format!("{text:?}: not an address"));
        text.parse().map_err(wrong)
    }
}

/// Checks the base address of a mirror.
fn mirror(text: &str) -> Result<String, Error> {
    let refused = |why: &str| Error::usage(format!("{MIRROR} {text:?}: {why}"));
    let trimmed = text.trim().trim_end_matches('/');
    let parsed: Result<Uri, _> = trimmed.parse();
    let whole = parsed.ok().filter(|uri| {
        let plain = |a: &str| !a.contains('@');
        uri.scheme().is_some() && uri.authority().is_some_and(|a| plain(a.as_str()))
    });
    let Some(uri) = whole.filter(|uri| uri.query().is_none()) else {
        return Err(refused(
            "not a base address; set one such as https://mirror.example.org/data",
        ));
    };
    match may_follow(&uri, None) {
        true => Ok(trimmed.to_owned()),
        false => Err(refused(
            "not a safe address; use https://, or http:// on this machine (127.0.0.1)",
        )),
    }
}

/// Whether a request to this address, or a redirection from `from` to it, is safe: encrypted, or on
/// this machine from the start.
pub(super) fn may_follow(to: &Uri, from: Option<&Uri>) -> bool {
    match to.scheme_str() {
        Some("https") => to.host().is_some(),
        Some("http") => is_plain_loopback(to) && from.is_none_or(is_plain_loopback),
        _ => false,
    }
}

/// Whether this is an unencrypted address on this machine.
fn is_plain_loopback(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let loopback = match bare.parse::<std::net::IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => bare.eq_ignore_ascii_case("localhost"),
    };
    uri.scheme_str() == Some("http") && loopback
}

/// The target of a redirection from `base`.
pub(super) fn redirected(base: &Uri, location: &str) -> Option<Uri> {
    let scheme = base.scheme_str()?;
    let authority = base.authority()?;
    let whole = if location.contains("://") {
        location.to_owned()
    } else if location.starts_with("//") {
        format!("{scheme}:{location}")
    } else if location.starts_with('/') {
        format!("{scheme}://{authority}{location}")
    } else {
        let (folder, _) = base.path().rsplit_once('/')?;
        format!("{scheme}://{authority}{folder}/{location}")
    };
    whole.parse().ok()
}

/// The environment variable that sets the proxy for an address, and its value. Unencrypted requests
/// on this machine use no proxy.
pub(super) fn proxy(
    to: &Uri,
    variable: impl Fn(&str) -> Option<String>,
) -> Option<(String, String)> {
    if is_plain_loopback(to) {
        return None;
    }
    let either = |name: &str| {
        [name.to_lowercase(), name.to_owned()]
            .into_iter()
            .find_map(|name| {
                let value = variable(&name)?.trim().to_owned();
                (!value.is_empty()).then_some((name, value))
            })
    };
    let bypassed = either("NO_PROXY").is_some_and(|(_, list)| is_listed(to, &list));
    if bypassed {
        return None;
    }
    either("HTTPS_PROXY").or_else(|| either("ALL_PROXY"))
}

/// Whether a `NO_PROXY` list contains this host or one of its domains.
fn is_listed(to: &Uri, list: &str) -> bool {
    let host = to.host().unwrap_or_default().to_lowercase();
    let port = to.port_u16().unwrap_or(443).to_string();
    list.split([',', ' ']).any(|entry| {
        let entry = entry.trim().to_lowercase();
        let entry = match entry.rsplit_once(':') {
            Some((name, listed)) if listed == port => name,
            _ => &entry,
        };
        let domain = entry.trim_start_matches('*').trim_start_matches('.');
        match (entry, domain) {
            ("*", _) => true,
            (_, "") => false,
            _ => host
                .strip_suffix(domain)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.')),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(text: &str) -> Uri {
        text.parse().unwrap()
    }

    #[test]
    fn mirrors_are_encrypted_or_on_this_machine() {
        for (text, kept) in [
            ("https://example.org", "https://example.org"),
            ("https://example.org/a/b//", "https://example.org/a/b"),
            ("http://127.0.0.1:80/", "http://127.0.0.1:80"),
            ("http://[::1]:8080", "http://[::1]:8080"),
            ("http://LOCALHOST:1/x", "http://LOCALHOST:1/x"),
        ] {
            assert_eq!(mirror(text).unwrap(), kept);
        }
        for text in [
            "http://example.org",
            "http://127.0.0.1.example.org",
            "http://10.0.0.1",
            "ftp://127.0.0.1",
            "example.org",
            "/data",
            "https://",
            "https://me:secret@example.org",
            "https://example.org/?q=1",
        ] {
            let error = mirror(text).unwrap_err();
            assert!(error.is_usage(), "{text}");
        }
    }

    #[test]
    fn redirections_stay_encrypted() {
        let secure = uri("https://example.org/a/b.data");
        let local = uri("http://127.0.0.1:9/a/b.data");
        for (location, to) in [
            ("https://other.org/x", "https://other.org/x"),
            ("//other.org/x", "https://other.org/x"),
            ("/x?y=1", "https://example.org/x?y=1"),
            ("c.data", "https://example.org/a/c.data"),
        ] {
            let found = redirected(&secure, location).unwrap();
            assert_eq!(found, uri(to));
            assert!(may_follow(&found, Some(&secure)));
            assert!(may_follow(&uri(to), Some(&local)));
        }
        for location in ["http://example.org/x", "http://127.0.0.1/x", "file:///x"] {
            let allowed =
                redirected(&secure, location).is_some_and(|u| may_follow(&u, Some(&secure)));
            assert!(!allowed, "{location}");
        }
        assert!(may_follow(&uri("http://localhost:1/x"), Some(&local)));
        assert!(!may_follow(&uri("http://example.org/x"), Some(&local)));
        assert_eq!(redirected(&secure, "https://a b/"), None);
    }

    #[test]
    fn the_environment_sets_the_proxy() {
        let found = |to: &str, set: &[(&str, &str)]| {
            let variable = |name: &str| {
                let is = |(n, _): &&(&str, &str)| *n == name;
                set.iter().find(is).map(|(_, value)| (*value).to_owned())
            };
            proxy(&uri(to), variable).map(|(_, value)| value)
        };
        let to = "https://sub.example.org/x";
        assert_eq!(found(to, &[]), None);
        assert_eq!(found(to, &[("HTTPS_PROXY", "")]), None);
        assert_eq!(found(to, &[("HTTP_PROXY", "p:1")]), None);
        for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
            assert_eq!(found(to, &[(name, "p:1")]).as_deref(), Some("p:1"));
        }
        let both = [("ALL_PROXY", "a:1"), ("HTTPS_PROXY", "p:1")];
        assert_eq!(found(to, &both).as_deref(), Some("p:1"));
        for (list, bypassed) in [
            ("*", true),
            ("other.org, example.org", true),
            (".example.org", true),
            ("*.example.org", true),
            ("SUB.Example.ORG", true),
            ("sub.example.org:443", true),
            ("sub.example.org:8443", false),
            ("ample.org", false),
            ("", false),
            (",.,", false),
        ] {
            let set = [("HTTPS_PROXY", "p:1"), ("no_proxy", list)];
            assert_eq!(found(to, &set).is_none(), bypassed, "{list}");
        }
        // Requests that must not leave the machine do not use a proxy.
        assert_eq!(found("http://127.0.0.1:1/x", &both), None);
    }
}
