//! Values with a form of their own: durations, sizes, addresses, log levels, paths.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::{Component, Path, PathBuf},
    time::Duration,
};

use jiff::SignedDuration;
use tracing_subscriber::filter::Targets;

#[cfg(feature = "inspector")]
use super::InspectorListen;

/// A duration such as `500ms`, `10s`, `1h 30m` or `7d`. A day has 24 hours.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let within_a_day = |text: &str| text.parse::<SignedDuration>().ok().and_then(|d| Duration::try_from(d).ok());
    let parsed = match text.split_once('d').and_then(|(days, rest)| Some((whole_days(days)?, rest.trim()))) {
        Some((days, "")) => Some(days),
        Some((days, rest)) if rest.starts_with(|c: char| c.is_ascii_digit()) && !rest.contains(':') => {
            within_a_day(rest).map(|rest| days + rest)
        }
        Some(_) => None,
        None => within_a_day(text),
    };
    parsed.ok_or_else(|| "a duration such as `500ms`, `10s`, `30m` or `7d`".to_owned())
}

/// At most 99,999 of them.
fn whole_days(text: &str) -> Option<Duration> {
    const DAY: u32 = 24 * 60 * 60;
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let days = text.parse::<u32>().ok().filter(|days| is_number && (1..100_000).contains(days))?;
    Some(Duration::from_secs(u64::from(days) * u64::from(DAY)))
}

/// A size such as `4MiB`, or a plain number of bytes.
pub fn bytes(text: &str) -> Result<usize, String> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match text[digits.len()..].trim() {
        "" | "B" => Some(1),
        "KiB" => Some(1 << 10),
        "MiB" => Some(1 << 20),
        "GiB" => Some(1 << 30),
        _ => None,
    };
    let size = digits.parse::<usize>().ok().zip(unit).and_then(|(number, unit)| number.checked_mul(unit));
    size.ok_or_else(|| "a size such as `65536`, `64KiB` or `4MiB`".to_owned())
}

/// An address such as `127.0.0.1:50051`; `localhost` is 127.0.0.1, other names are not looked up.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let named = text.strip_prefix("localhost:").and_then(|port| port.parse().ok());
    let address = named.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port))).or_else(|| text.parse().ok());
    address.ok_or_else(|| "an address with a port, such as `127.0.0.1:50051` or `[::]:50051`".to_owned())
}

/// `off`, or an address of the inspector's.
#[cfg(feature = "inspector")]
pub fn inspector_listen(text: &str) -> Result<InspectorListen, String> {
    match text {
        "off" => Ok(InspectorListen::Off),
        _ => address(text).map(InspectorListen::At).map_err(|wanted| format!("`off`, or {wanted}")),
    }
}

/// A log level, also by module. The error is what it must be, as for all functions here.
pub fn log_level(text: &str) -> Result<Targets, String> {
    text.parse().map_err(|_| {
        "`off`, `error`, `warn`, `info`, `debug` or `trace`, also by module: `info,promptd::source=debug`".to_owned()
    })
}

/// Where paths of a config file start from.
#[derive(Debug, Clone, Copy)]
pub struct Base<'a> {
    /// The folder that relative paths are relative to; absolute.
    pub folder: &'a Path,
    /// What a leading `~/` means.
    pub home: Option<&'a Path>,
}

impl Base<'_> {
    /// The absolute path, without `.` and `..`: prompts show it, so it has one form. A link before a `..` is not followed.
    pub fn path(&self, text: &str) -> Result<PathBuf, String> {
        if text.is_empty() || text.contains('\0') {
            return Err("a path".to_owned());
        }
        let joined = match text.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                let home = self.home.ok_or("a path without `~`, since `home` is not set")?;
                home.join(rest.trim_start_matches('/'))
            }
            _ => self.folder.join(text),
        };
        Ok(without_dots(&joined))
    }
}

fn without_dots(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        assert_eq!(duration("1h 30m"), Ok(Duration::from_secs(5_400)));
        assert_eq!(duration("0s"), Ok(Duration::ZERO));
        let day = Duration::from_secs(86_400);
        assert_eq!((duration("7d"), duration("1d 12h")), (Ok(day * 7), Ok(day * 3 / 2)));
        for bad in ["d", "0d", "-1d", "1.5d", "1days", "1d 1d", "100000d", "1d 1:00:00", "1dPT1H", "12h 1d"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
        assert!(duration("-1s").is_err() && duration("soon").is_err() && duration("5").is_err());
        assert_eq!((bytes("64"), bytes("64KiB"), bytes("2 MiB")), (Ok(64), Ok(65_536), Ok(2 << 20)));
        assert!(
            bytes("4MB").is_err() && bytes("-1").is_err() && bytes("").is_err() && bytes("99999999999GiB").is_err()
        );
        assert_eq!(address("localhost:1").unwrap(), address("127.0.0.1:1").unwrap());
        assert!(address("[::]:50051").is_ok() && address("50051").is_err() && address("host:1").is_err());
    }

    #[test]
    fn paths_are_relative_to_the_file_and_the_home_is_the_configured_one() {
        let base = Base { folder: Path::new("/etc/promptd"), home: Some(Path::new("/srv/agents")) };
        for (text, path) in [
            ("../ws", "/etc/ws"),
            ("./a/b", "/etc/promptd/a/b"),
            ("/abs & space", "/abs & space"),
            ("~", "/srv/agents"),
            ("~/~/x", "/srv/agents/~/x"),
            ("~other", "/etc/promptd/~other"),
        ] {
            assert_eq!(base.path(text).unwrap(), Path::new(path), "{text}");
        }
        assert!(Base { home: None, ..base }.path("~/x").unwrap_err().contains("`home`"));
    }
}
