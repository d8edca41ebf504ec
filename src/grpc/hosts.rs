//! Names that the server is called by.

use std::net::IpAddr;

use super::origin::is_host;

/// A host name or address, as the header `Host` has it, without a port. Letters are in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host(String);

impl Host {
    /// Reads a host such as `promptd.internal`. The error is what the text must be.
    pub fn parse(text: &str) -> Result<Self, String> {
        let host = text.to_ascii_lowercase();
        let wanted = || {
            format!("hosts such as `promptd.internal`: `{text}` is not a name or an address, without scheme and port")
        };
        if is_host(&host) { Ok(Self(host)) } else { Err(wanted()) }
    }

    /// Whether a request's host is this one.
    fn is(&self, host: &str) -> bool {
        self.0.eq_ignore_ascii_case(host)
    }
}

/// Whether a request that names this host can only have been meant for a server that listens on `listen`, or is called by a
/// name that is listed. Any other name can be made to lead to any address; an address leads to itself, and `localhost` to
/// this machine.
pub(super) fn is_own(host: &str, listen: IpAddr, names: &[Host]) -> bool {
    names.iter().any(|own| own.is(host)) || leads_to(host, listen)
}

fn leads_to(host: &str, listen: IpAddr) -> bool {
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host).parse::<IpAddr>();
    match address {
        Ok(address) => address.is_loopback() || listen.is_unspecified() || address == listen,
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_names_or_addresses() {
        for (text, good) in [
            ("promptd.internal", true),
            ("Promptd", true),
            ("10.0.0.5", true),
            ("[::1]", true),
            ("promptd:50051", false),
            ("http://promptd", false),
            ("promptd/", false),
            ("*", false),
            ("", false),
        ] {
            assert_eq!(Host::parse(text).is_ok(), good, "{text}");
        }
        let names = [Host::parse("Promptd.Internal").unwrap()];
        assert!(is_own("PROMPTD.internal", [127, 0, 0, 1].into(), &names));
    }

    #[test]
    fn a_servers_own_hosts_are_loopback_and_where_it_listens() {
        for (host, listen, own) in [
            ("localhost", "127.0.0.1", true),
            ("LOCALHOST", "10.0.0.5", true),
            ("127.0.0.1", "10.0.0.5", true),
            ("[::1]", "127.0.0.1", true),
            ("10.0.0.5", "10.0.0.5", true),
            ("10.0.0.6", "10.0.0.5", false),
            ("10.0.0.6", "0.0.0.0", true),
            ("[fd00::7]", "::", true),
            ("evil.example", "0.0.0.0", false),
            ("localhost.evil.example", "127.0.0.1", false),
            ("127.0.0.1.evil.example", "127.0.0.1", false),
            ("", "0.0.0.0", false),
        ] {
            assert_eq!(is_own(host, listen.parse().unwrap(), &[]), own, "{host} {listen}");
        }
    }
}
