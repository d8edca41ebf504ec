//! What goes wrong with etcd, in words.

use std::{error::Error as _, fmt};

use tonic::{Code, Status};

/// Why something could not be done with etcd.
#[derive(Debug, Clone)]
pub struct Error {
    /// What kind it is.
    pub kind: ErrorKind,
    message: String,
}

/// The kinds of errors, as far as something is done about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// No member answers, or none that can; it may work at another one, or later.
    Away,
    /// etcd does not let this user, or this certificate, do it.
    Denied,
    /// etcd does not take the request: it is too large for it, or etcd has too much to do.
    Refused,
    /// What was asked for is of a revision that etcd no longer has.
    Compacted,
    /// etcd has no space left.
    NoSpace,
    /// Someone else has published since.
    Conflict,
    /// A canary runs, which must end first.
    CanaryRuns,
    /// No canary runs that could end.
    NoCanary,
    /// A workspace has as many proposals as it may.
    TooMany,
    /// Nothing was published that could be meant.
    Missing,
    /// What was given, or what is there, cannot be used.
    Invalid,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// What is at a key cannot be used.
    pub(crate) fn unreadable(key: &[u8], why: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Invalid, format!("{} in etcd: {why}", String::from_utf8_lossy(key)))
    }

    /// What a call of the member at `address` answered.
    pub(crate) fn of_call(address: &str, status: &Status) -> Self {
        // An error of the connection has a cause; what etcd says has none.
        if let Some(cause) = status.source() {
            return Self::unreachable(address, chain(cause));
        }
        let said = status.message();
        let (kind, help) = match status.code() {
            _ if said.contains("required revision has been compacted") => (ErrorKind::Compacted, ""),
            _ if said.contains("database space exceeded") => {
                let help = ": compact and defragment it, then disarm the alarm with `etcdctl alarm disarm`";
                (ErrorKind::NoSpace, help)
            }
            _ if said.contains("permission denied") => {
                (ErrorKind::Denied, ": grant the user what is below the prefix, with `etcdctl role grant-permission`")
            }
            _ if said.contains("authentication failed") || said.contains("invalid user") => {
                (ErrorKind::Denied, ": correct the user's name or password")
            }
            _ if said.contains("user name is empty") || said.contains("user name not found") => {
                (ErrorKind::Denied, ": etcd has authentication on: give a user's name and password")
            }
            Code::Unauthenticated => (ErrorKind::Denied, ""),
            Code::InvalidArgument | Code::ResourceExhausted => (ErrorKind::Refused, ""),
            _ => (ErrorKind::Away, ""),
        };
        Self::new(kind, format!("etcd at {address} answers: {said}{help}"))
    }

    /// The first call of an encrypted connection has failed.
    pub(crate) fn at_first_encrypted_call(self) -> Self {
        let message = match self.kind {
            // With TLS 1.3 a certificate is refused after the client has begun to send.
            ErrorKind::Away => {
                format!("{self}; it may not trust the certificate that it is shown, or that has expired")
            }
            _ => self.message,
        };
        Self { kind: self.kind, message }
    }

    pub(crate) fn unreachable(address: &str, why: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Away, format!("etcd at {address} cannot be reached: {why}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// An error with what caused it.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        // Some say only what their cause does.
        let said = error.to_string();
        if !text.ends_with(&said) {
            text = format!("{text}: {said}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Callers of the service are told what is invalid, and the address is not for them.
    #[test]
    fn what_a_member_answers_is_of_a_kind_whose_text_no_caller_is_told() {
        for (status, kind) in [
            (Status::resource_exhausted("etcdserver: too many requests"), ErrorKind::Refused),
            (Status::invalid_argument("etcdserver: request is too large"), ErrorKind::Refused),
            (Status::resource_exhausted("etcdserver: mvcc: database space exceeded"), ErrorKind::NoSpace),
            (Status::permission_denied("etcdserver: permission denied"), ErrorKind::Denied),
            (Status::out_of_range("etcdserver: mvcc: required revision has been compacted"), ErrorKind::Compacted),
            (Status::unavailable("etcdserver: no leader"), ErrorKind::Away),
        ] {
            let error = Error::of_call("10.0.0.1:2379", &status);
            assert_eq!(error.kind, kind, "{status}");
            assert!(error.to_string().starts_with("etcd at 10.0.0.1:2379 answers: etcdserver: "), "{error}");
        }
    }
}
