//! What became of a call that publishes, or is about something to be published.

use promptd_contract::proto;
use promptd_etcd::{proposal::Proposal, publish::Published, review::Outcome};

use super::encode;

/// How such a call has ended well.
pub(super) enum Done {
    /// It is published, or was already.
    Published(Vec<Published>),
    /// It waits for others.
    Proposed(Proposal),
    /// It was approved, and waits for more.
    Approved(Proposal),
    /// It is no longer proposed.
    Rejected(Proposal),
}

impl Done {
    /// The word that the log has for it.
    pub(super) fn result(&self) -> &'static str {
        match self {
            Self::Published(all) if all.iter().any(|one| one.is_new) => "published",
            Self::Published(_) => "unchanged",
            Self::Proposed(_) => "proposed",
            Self::Approved(_) => "approved",
            Self::Rejected(_) => "rejected",
        }
    }

    /// The proposal that it is about; `None`: of one that is published nothing is left.
    pub(super) fn proposal(&self) -> Option<&Proposal> {
        match self {
            Self::Published(_) => None,
            Self::Proposed(proposal) | Self::Approved(proposal) | Self::Rejected(proposal) => Some(proposal),
        }
    }

    /// As answers have it: what is published, and what waits for so many approvals.
    pub(super) fn encode(self, needed: usize) -> (Vec<proto::PublishedWorkspace>, Option<proto::Proposal>) {
        match self {
            Self::Published(all) => (all.into_iter().map(encode::published).collect(), None),
            Self::Proposed(proposal) | Self::Approved(proposal) => {
                (Vec::new(), Some(encode::proposal(proposal, needed)))
            }
            Self::Rejected(_) => (Vec::new(), None),
        }
    }
}

impl From<Outcome> for Done {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Published(all) => Self::Published(all),
            Outcome::Waits(proposal) => Self::Proposed(proposal),
        }
    }
}
