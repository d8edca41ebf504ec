//! Who is calling, and what they may see.
//!
//! Where tokens are configured, every call but health checks needs one; reflection too, so that a stranger learns
//! nothing. A workspace that a token does not admit is `PERMISSION_DENIED`, whether it exists or not, and is left out of
//! lists.

mod quota;
mod tokens;

pub use tokens::{Token, Tokens};

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use http::HeaderMap;
use tokio::sync::watch;
#[cfg(feature = "etcd")]
use tonic::Code;

use super::{error::Error, failure::keep_workspace};
use crate::grpc::limits::Permit;
use promptd_contract::encode::SkillAccess;
use promptd_core::{globs::SkillFilter, id::Id};

/// The tokens that are accepted; replaceable while the server runs.
#[derive(Debug)]
pub struct Access {
    /// `None`: callers need no token.
    tokens: ArcSwapOption<Tokens>,
    changes: watch::Sender<()>,
}

/// Who is calling.
#[derive(Debug, Clone, Default)]
pub(crate) struct Caller(Option<Arc<Token>>);

impl Access {
    /// Callers need no token.
    #[must_use]
    pub fn open() -> Self {
        Self { tokens: ArcSwapOption::empty(), changes: watch::Sender::new(()) }
    }

    /// Callers need one of these tokens.
    #[must_use]
    pub fn with(tokens: Tokens) -> Self {
        Self { tokens: ArcSwapOption::new(Some(Arc::new(tokens))), changes: watch::Sender::new(()) }
    }

    /// Accepts these tokens from now on. Open streams of a token that was removed or changed end.
    pub fn replace(&self, tokens: Tokens) {
        let tokens = tokens.following(self.tokens.load().as_deref());
        self.tokens.store(Some(Arc::new(tokens)));
        self.changes.send_replace(());
    }

    /// Whether callers need a token.
    #[must_use]
    pub fn needs_token(&self) -> bool {
        self.tokens.load().is_some()
    }

    /// The caller with these headers.
    pub(super) fn caller(&self, headers: &HeaderMap) -> Result<Caller, Error> {
        let tokens = self.tokens.load();
        let Some(tokens) = &*tokens else { return Ok(Caller(None)) };
        let presented = headers.get(http::header::AUTHORIZATION).ok_or(Error::TokenMissing)?;
        let token = bearer(presented.as_bytes()).ok_or(Error::TokenMissing)?;
        tokens.find(token).cloned().map(|token| Caller(Some(token))).ok_or(Error::TokenUnknown)
    }

    /// Waits until the caller's token is removed or changed, and says why their streams end.
    pub(super) async fn revoked(&self, caller: &Caller, retry: std::time::Duration) -> Error {
        let mut changes = self.changes.subscribe();
        loop {
            match (&caller.0, &*self.tokens.load()) {
                (Some(token), Some(tokens)) => match tokens.same(token) {
                    None => return Error::TokenUnknown,
                    Some(now) if !now.admits_the_same(token) => return Error::RightsChanged { retry },
                    Some(_) => {}
                },
                (None, Some(_)) => return Error::TokenMissing,
                (_, None) => {}
            }
            if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

/// The token of an `authorization` header.
fn bearer(header: &[u8]) -> Option<&[u8]> {
    const SCHEME: usize = "Bearer ".len();
    let (scheme, token) = header.split_at_checked(SCHEME)?;
    (scheme.eq_ignore_ascii_case(b"Bearer ") && !token.trim_ascii().is_empty()).then(|| token.trim_ascii())
}

impl Caller {
    /// Who sent a request that was let in.
    pub(crate) fn of<T>(request: &tonic::Request<T>) -> Self {
        request.extensions().get().cloned().unwrap_or_default()
    }

    /// The token's name, for the log.
    pub(in crate::grpc) fn name(&self) -> Option<&str> {
        self.0.as_deref().map(|token| token.name.as_str())
    }

    /// Counts a call against the quotas of their token.
    pub(super) fn call(&self) -> Result<Option<Permit>, Error> {
        match &self.0 {
            Some(token) => token.call().map_err(Error::QuotaExceeded),
            None => Ok(None),
        }
    }

    /// Whether they may see the workspace.
    pub(crate) fn sees(&self, workspace: &Id) -> bool {
        self.0.as_ref().is_none_or(|token| token.admits(workspace))
    }

    /// Fails where they may not see the workspace, whether it exists or not.
    pub(crate) fn must_see(&self, workspace: &Id) -> Result<(), Error> {
        keep_workspace(workspace);
        if self.sees(workspace) { Ok(()) } else { Err(Error::Forbidden) }
    }

    /// Fails where they may not publish the workspace; `is_local`: they call from this machine.
    #[cfg(feature = "etcd")]
    pub(crate) fn must_publish(&self, workspace: &Id, is_local: bool) -> Result<(), Error> {
        self.must_see(workspace)?;
        let why = match &self.0 {
            Some(token) if token.publishes(workspace) => return Ok(()),
            None if is_local => return Ok(()),
            Some(_) => "the token may not publish this workspace: the tokens file says which by `publish`",
            None => {
                "without tokens only programs on the server's own machine may publish, by loopback: set `auth.tokens_file`"
            }
        };
        let (code, reason) = (Code::PermissionDenied, "PUBLISH_FORBIDDEN");
        Err(Error::Part { code, reason, message: why.to_owned(), metadata: None })
    }

    /// The workspace that a request names, if they may see it.
    pub(crate) fn workspace(&self, raw: &str) -> Result<Id, Error> {
        let id = Id::parse(raw).map_err(|e| Error::invalid("workspace_id", e.to_string()))?;
        self.must_see(&id)?;
        Ok(id)
    }

    /// The skills that their token admits; `None`: all.
    pub(crate) fn skills(&self) -> Option<&SkillFilter> {
        self.0.as_deref().and_then(Token::skills)
    }

    /// The skills that they may see in a request with this filter.
    pub(crate) fn skill_access<'a>(&'a self, request: Option<&'a SkillFilter>) -> SkillAccess<'a> {
        let workspaces = self.0.as_deref().and_then(Token::workspaces);
        SkillAccess { token: self.skills(), request, only_shown: false, workspaces }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_must_be_a_bearer_token() {
        for (header, token) in [
            ("Bearer abc", Some("abc")),
            ("bearer  abc ", Some("abc")),
            ("Bearer ", None),
            ("Basic abc", None),
            ("abc", None),
            ("", None),
        ] {
            assert_eq!(bearer(header.as_bytes()), token.map(str::as_bytes), "{header}");
        }
    }
}
