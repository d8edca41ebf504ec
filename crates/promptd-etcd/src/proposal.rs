//! What waits until others approve it, as etcd has it.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use promptd_core::{
    canary::{Key, Share},
    digest::Digest,
    id::Id,
};
use serde::{Deserialize, Serialize};

use crate::{
    manifest::{FileEntry, InvalidManifest, WrittenFiles, read_digest},
    publish::Trial,
};

/// How long a proposal is open.
pub const MAX_AGE: Duration = Duration::from_secs(14 * 24 * 60 * 60);
/// The newest format of proposals that is read, and the one that is written.
const FORMAT: u32 = 1;

/// What someone wants to publish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The SHA-256 of what it was at first.
    pub id: Digest,
    /// Who made it.
    pub author: String,
    /// Why.
    pub message: String,
    /// When, by the clock of the service that it was made through.
    pub time: Timestamp,
    /// What is to be done.
    pub action: Action,
    /// Its workspaces; at least one.
    pub workspaces: BTreeMap<Id, Proposed>,
    /// Who has approved it so far.
    pub approved_by: Vec<String>,
}

/// What a proposal is to do once it is approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// To publish its files.
    Publish,
    /// To publish them to some turns.
    Canary(Trial),
    /// To give all turns the candidate of a canary that runs.
    Promote,
}

/// A workspace of a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposed {
    /// The revision that it was made from, which must still be the newest, or the candidate that is promoted; `None`: the workspace
    /// is new.
    pub base: Option<Digest>,
    /// Its files by path.
    pub files: BTreeMap<String, FileEntry>,
}

/// As JSON has it.
#[derive(Serialize, Deserialize)]
struct Written {
    format: u32,
    author: String,
    message: String,
    time: String,
    action: WrittenAction,
    workspaces: BTreeMap<String, WrittenProposed>,
    approved_by: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WrittenAction {
    Publish,
    Canary { share: u32, by: String },
    Promote,
}

#[derive(Serialize, Deserialize)]
struct WrittenProposed {
    base: Option<String>,
    files: WrittenFiles,
}

#[derive(Deserialize)]
struct FormatOnly {
    format: u32,
}

impl Proposal {
    /// When it can be approved no longer.
    #[must_use]
    pub fn expires_at(&self) -> Timestamp {
        self.time.saturating_add(MAX_AGE).unwrap_or(Timestamp::MAX)
    }

    /// Reads what etcd has below this id.
    pub(crate) fn read(id: Digest, json: &[u8]) -> Result<Self, InvalidManifest> {
        let invalid = |what: String| InvalidManifest(format!("the proposal is not valid: {what}"));
        let FormatOnly { format } = serde_json::from_slice(json).map_err(|error| invalid(error.to_string()))?;
        if format > FORMAT {
            let message =
                format!("the proposal has format {format}, and this promptd reads up to {FORMAT}: update promptd");
            return Err(InvalidManifest(message));
        }
        let written: Written = serde_json::from_slice(json).map_err(|error| invalid(error.to_string()))?;
        Self::check(id, written).map_err(invalid)
    }

    fn check(id: Digest, written: Written) -> Result<Self, String> {
        let Written { author, message, time, action, workspaces, approved_by, .. } = written;
        let workspace = |(id, WrittenProposed { base, files }): (String, WrittenProposed)| {
            let id = Id::parse(&id).map_err(|invalid| format!("`{}`: an id {invalid}", id.escape_debug()))?;
            let base = base.as_deref().map(read_digest).transpose()?;
            Ok((id, Proposed { base, files: files.check()? }))
        };
        let action = match action {
            WrittenAction::Publish => Action::Publish,
            WrittenAction::Promote => Action::Promote,
            WrittenAction::Canary { share, by } => {
                let trial = Share::of_buckets(share).zip(Key::parse(&by)).map(|(share, by)| Trial { share, by });
                Action::Canary(trial.ok_or_else(|| format!("there is no canary of {share} buckets by `{by}`"))?)
            }
        };
        Ok(Self {
            id,
            author,
            message,
            time: time.parse().map_err(|_| format!("`{time}` is not a time"))?,
            action,
            workspaces: workspaces.into_iter().map(workspace).collect::<Result<_, String>>()?,
            approved_by,
        })
    }

    /// What etcd gets.
    pub(crate) fn write(&self) -> Vec<u8> {
        let workspace = |(id, Proposed { base, files }): (&Id, &Proposed)| {
            (id.to_string(), WrittenProposed { base: base.map(Digest::to_hex), files: WrittenFiles::of(files) })
        };
        let action = match self.action {
            Action::Publish => WrittenAction::Publish,
            Action::Promote => WrittenAction::Promote,
            Action::Canary(Trial { share, by }) => {
                WrittenAction::Canary { share: share.buckets(), by: by.name().to_owned() }
            }
        };
        let written = Written {
            format: FORMAT,
            author: self.author.clone(),
            message: self.message.clone(),
            time: self.time.to_string(),
            action,
            workspaces: self.workspaces.iter().map(workspace).collect(),
            approved_by: self.approved_by.clone(),
        };
        // Texts and numbers alone: writing them cannot fail.
        serde_json::to_vec(&written).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposal(action: Action) -> Proposal {
        let files = [("AGENTS.md".to_owned(), FileEntry { sha256: Digest([1; 32]), bytes: 5 })];
        let proposed = |base| Proposed { base, files: files.clone().into() };
        Proposal {
            id: Digest([9; 32]),
            author: "dana".to_owned(),
            message: "Shorter.".to_owned(),
            time: "2026-11-29T13:00:00Z".parse().unwrap(),
            action,
            workspaces: [
                (Id::parse("harbor").unwrap(), proposed(Some(Digest([7; 32])))),
                (Id::parse("yard").unwrap(), proposed(None)),
            ]
            .into(),
            approved_by: vec!["kim".to_owned()],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let trial = Trial { share: Share::parse("2.5%").unwrap(), by: Key::SessionId };
        for action in [Action::Publish, Action::Canary(trial), Action::Promote] {
            let one = proposal(action);
            assert_eq!(Proposal::read(one.id, &one.write()), Ok(one));
        }
        assert_eq!(proposal(Action::Publish).expires_at(), "2026-12-13T13:00:00Z".parse().unwrap());
    }

    #[test]
    fn what_is_no_proposal_says_what_is_wrong() {
        let trial = Trial { share: Share::parse("2.5%").unwrap(), by: Key::UserId };
        let text = String::from_utf8(proposal(Action::Canary(trial)).write()).unwrap();
        let hash = Digest([7; 32]).to_hex();
        for (from, to, why) in [
            (
                "\"format\":1",
                "\"format\":2",
                "the proposal has format 2, and this promptd reads up to 1: update promptd",
            ),
            ("250", "0", "there is no canary of 0 buckets by `user.id`"),
            ("user.id", "user.name", "there is no canary of 250 buckets by `user.name`"),
            ("\"canary\"", "\"remove\"", "unknown variant `remove`"),
            ("harbor", "../harbor", "`../harbor`: an id must be"),
            (hash.as_str(), "0707", "`0707` is not a SHA-256"),
            ("AGENTS.md", "../AGENTS.md", "`../AGENTS.md` is not a path of a file"),
            ("2026-11-29T13:00:00Z", "noon", "`noon` is not a time"),
        ] {
            assert!(text.contains(from), "{from}");
            let error = Proposal::read(Digest::default(), text.replacen(from, to, 1).as_bytes()).unwrap_err();
            assert!(error.to_string().contains(why), "{error} instead of {why}");
        }
    }
}
