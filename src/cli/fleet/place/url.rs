//! Where `--to` says that workspaces are published.

use promptd::config::etcd_member;
use promptd_etcd::layout::Prefix;

/// The value of `--to`.
#[derive(Debug, Clone)]
pub(super) enum Url {
    /// A member of etcd, and the prefix.
    Etcd { member: String, prefix: Prefix },
    /// A promptd.
    Service(String),
}

/// Reads it, for clap.
pub(super) fn url(text: &str) -> Result<Url, String> {
    let wanted = || {
        "it must be `etcd://HOST:PORT/PREFIX`, such as `etcd://127.0.0.1:2379/promptd`, or the `http://HOST:PORT` or `https://HOST:PORT` of a promptd"
            .to_owned()
    };
    if let Some(rest) = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://")) {
        let host = rest.strip_suffix('/').unwrap_or(rest);
        etcd_member(host).map_err(|_| wanted())?;
        return Ok(Url::Service(text.strip_suffix('/').unwrap_or(text).to_owned()));
    }
    let rest = text.strip_prefix("etcd://").ok_or_else(wanted)?;
    let (member, prefix) = rest.find('/').map(|at| rest.split_at(at)).ok_or_else(wanted)?;
    let (member, prefix) = (etcd_member(member).map_err(|_| wanted())?, Prefix::parse(prefix).map_err(|_| wanted())?);
    Ok(Url::Etcd { member, prefix })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_member_of_etcd_or_a_promptd() {
        for (text, service) in [
            ("etcd://127.0.0.1:2379/promptd", None),
            ("etcd://[::1]:2379/a/b/", None),
            ("http://127.0.0.1:50051", Some("http://127.0.0.1:50051")),
            ("https://prompts.internal:443/", Some("https://prompts.internal:443")),
        ] {
            match url(text).unwrap() {
                Url::Service(found) => assert_eq!(Some(found.as_str()), service, "{text}"),
                Url::Etcd { .. } => assert_eq!(service, None, "{text}"),
            }
        }
        for bad in [
            "127.0.0.1:50051",
            "http://127.0.0.1",
            "http://127.0.0.1:1/promptd",
            "http://a@b:1",
            "https://",
            "etcd://127.0.0.1:2379",
            "etcd://127.0.0.1/promptd",
            "ftp://a:1",
        ] {
            assert!(url(bad).unwrap_err().starts_with("it must be `etcd://"), "{bad}");
        }
    }
}
