//! Where everything is in etcd.
//!
//! Below the prefix: `blobs/SHA256` has the bytes of a file, `workspaces/ID` the newest manifest of a workspace,
//! `workspaces-canary/ID` what is tried out of it, `history/ID/SEQUENCE` every manifest that was, `uploads/ID/SHA256` that a
//! file was uploaded for a workspace, `proposals/PROPOSAL` what waits for approval, and `proposals-of/ID/PROPOSAL` for which workspaces.

use std::fmt;

use promptd_core::{
    digest::Digest,
    id::{Id, InvalidId},
    text::hex,
};

/// The start of all keys: one `/` before each of its names, none at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefix(String);

/// The grammar of a [`Prefix`] as a regular expression; a `/` at the end is left out.
pub const PREFIX_PATTERN: &str = r"^(/[A-Za-z0-9._-]+)+/?$";

/// A key of what is live.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LiveKey {
    pub(crate) id: Id,
    pub(crate) kind: Kind,
}

/// What of a workspace is live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Its newest manifest.
    Newest,
    /// What is tried out.
    Canary,
}

impl Kind {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::Newest, Self::Canary];

    /// The name that such keys are below, here and in the cache. Canaries are beside workspaces, so that one range and one watch
    /// has both, and what one transaction changed is seen together.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::Newest => "workspaces",
            Self::Canary => "workspaces-canary",
        }
    }
}

/// The keys from one on, up to another that is not among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub(crate) from: Vec<u8>,
    pub(crate) to: Vec<u8>,
}

impl Prefix {
    /// Checks `text` against the grammar.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.strip_suffix('/').unwrap_or(text);
        let is_name = |name: &str| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
        };
        match text.strip_prefix('/') {
            Some(names) if names.split('/').all(is_name) => Ok(Self(text.to_owned())),
            _ => Err("a prefix such as `/promptd`: names of A-Z a-z 0-9 . _ -, each with a `/` before it".to_owned()),
        }
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn blob(&self, sha256: Digest) -> Vec<u8> {
        format!("{}/blobs/{}", self.0, sha256.to_hex()).into_bytes()
    }

    pub(crate) fn blobs(&self) -> KeyRange {
        below(&format!("{}/blobs/", self.0))
    }

    pub(crate) fn upload(&self, id: &Id, sha256: Digest) -> Vec<u8> {
        format!("{}/uploads/{id}/{}", self.0, sha256.to_hex()).into_bytes()
    }

    pub(crate) fn uploads(&self) -> KeyRange {
        below(&format!("{}/uploads/", self.0))
    }

    pub(crate) fn proposal(&self, proposal: Digest) -> Vec<u8> {
        format!("{}/proposals/{}", self.0, proposal.to_hex()).into_bytes()
    }

    pub(crate) fn proposals(&self) -> KeyRange {
        below(&format!("{}/proposals/", self.0))
    }

    pub(crate) fn proposal_of(&self, id: &Id, proposal: Digest) -> Vec<u8> {
        format!("{}/proposals-of/{id}/{}", self.0, proposal.to_hex()).into_bytes()
    }

    pub(crate) fn proposals_of(&self, id: &Id) -> KeyRange {
        below(&format!("{}/proposals-of/{id}/", self.0))
    }

    pub(crate) fn workspace(&self, id: &Id) -> Vec<u8> {
        self.live_key(Kind::Newest, id).into_bytes()
    }

    pub(crate) fn workspaces(&self) -> KeyRange {
        below(&format!("{}/{}/", self.0, Kind::Newest.folder()))
    }

    pub(crate) fn canary(&self, id: &Id) -> Vec<u8> {
        self.live_key(Kind::Canary, id).into_bytes()
    }

    /// The newest manifests and what is tried out.
    pub(crate) fn live(&self) -> KeyRange {
        KeyRange { from: below(&format!("{}/{}/", self.0, Kind::Canary.folder())).from, to: self.workspaces().to }
    }

    pub(crate) fn live_key(&self, kind: Kind, id: &Id) -> String {
        format!("{}/{}/{id}", self.0, kind.folder())
    }

    /// What a key of [`live`](Self::live) is of; `None`: another program's. The error is of a name that is not an id.
    pub(crate) fn parse_live(&self, key: &[u8]) -> Option<Result<LiveKey, InvalidId>> {
        let rest = std::str::from_utf8(key).ok()?.strip_prefix(&self.0)?.strip_prefix('/')?;
        let (folder, name) = rest.split_once('/')?;
        let kind = Kind::ALL.into_iter().find(|kind| kind.folder() == folder)?;
        Some(Id::parse(name).map(|id| LiveKey { id, kind }))
    }

    /// Ten digits, so that keys are in the order of their numbers.
    pub(crate) fn history(&self, id: &Id, sequence: u64) -> Vec<u8> {
        format!("{}/history/{id}/{sequence:010}", self.0).into_bytes()
    }

    pub(crate) fn history_of(&self, id: &Id) -> KeyRange {
        below(&format!("{}/history/{id}/", self.0))
    }

    pub(crate) fn histories(&self) -> KeyRange {
        below(&format!("{}/history/", self.0))
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn below(folder: &str) -> KeyRange {
    let from = folder.as_bytes().to_vec();
    let mut to = from.clone();
    // `0` is the byte behind `/`.
    to.pop();
    to.push(b'/' + 1);
    KeyRange { from, to }
}

/// The SHA-256 that a key ends with.
pub(crate) fn digest(key: &[u8]) -> Option<Digest> {
    name(key).and_then(hex::bytes).map(Digest)
}

/// The last name of a key.
pub(crate) fn name(key: &[u8]) -> Option<&str> {
    std::str::from_utf8(key).ok()?.rsplit('/').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_names_with_slashes_before_them() {
        for (text, prefix) in [("/promptd", "/promptd"), ("/a/b-c/", "/a/b-c"), ("/a.b_c/9", "/a.b_c/9")] {
            assert_eq!(Prefix::parse(text).unwrap().as_str(), prefix);
        }
        for bad in ["", "/", "promptd", "//a", "/a//b", "/a b", "/a//", "/ä"] {
            assert!(Prefix::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_range_has_the_keys_of_its_folder_and_no_others() {
        let prefix = Prefix::parse("/p").unwrap();
        let (a, ab) = (Id::parse("a").unwrap(), Id::parse("a-b").unwrap());
        let KeyRange { from, to } = prefix.history_of(&a);
        let has = |key: Vec<u8>| from <= key && key < to;
        assert!(has(prefix.history(&a, 1)) && has(prefix.history(&a, 9_999_999_999)));
        assert!(!has(prefix.history(&ab, 1)) && !has(prefix.workspace(&a)) && !has(b"/p/history/a".to_vec()));
        assert!(prefix.history(&a, 9) < prefix.history(&a, 10));
        let KeyRange { from, to } = prefix.proposals();
        let has = |key: Vec<u8>| from <= key && key < to;
        assert!(has(prefix.proposal(Digest([255; 32]))) && !has(prefix.proposal_of(&a, Digest::default())));
        let KeyRange { from, to } = prefix.proposals_of(&a);
        let has = |key: Vec<u8>| from <= key && key < to;
        assert!(has(prefix.proposal_of(&a, Digest([255; 32]))) && !has(prefix.proposal_of(&ab, Digest::default())));
        assert_eq!(name(&prefix.blob(Digest::default())), Some(Digest::default().to_hex().as_str()));
    }

    #[test]
    fn what_is_live_is_one_range() {
        let prefix = Prefix::parse("/p").unwrap();
        let id = Id::parse("a-b").unwrap();
        let KeyRange { from, to } = prefix.live();
        let has = |key: &[u8]| *from <= *key && *key < *to;
        for kind in Kind::ALL {
            let key = prefix.live_key(kind, &id);
            assert!(has(key.as_bytes()));
            assert_eq!(prefix.parse_live(key.as_bytes()), Some(Ok(LiveKey { id: id.clone(), kind })));
        }
        assert!(!has(&prefix.history(&id, 1)) && !has(&prefix.blob(Digest::default())));
        assert!(prefix.parse_live(b"/p/workspaces/no id").unwrap().is_err());
        for other in [&b"/p/workspaces.old/a"[..], b"/p/workspaces", b"/q/workspaces/a", b"/p/history/a/1"] {
            assert!(prefix.parse_live(other).is_none());
        }
    }
}
