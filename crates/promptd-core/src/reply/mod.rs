//! Replies: what a model answered, judged by the contract that its prompt taught it.
//!
//! A reply can acknowledge a heartbeat, which means that there is nothing to deliver, and it can carry actions. The rest
//! is text. A malformed action stays in the text and is a finding: nothing of a reply is lost silently. Every function
//! here takes linear time in the reply's length, whatever its contents.

mod action_tags;
mod heartbeat;
mod json_action;
mod json_object;
mod lenient;

use std::ops::Range;

use serde_json::{Map, Value};

use crate::finding::{Code, Finding, Place};

pub use heartbeat::TOKEN;
pub use json_object::MAX_DEPTH;

/// The most findings of one reply; one more counts the rest.
pub const MAX_FINDINGS: usize = 100;

/// How a profile's replies are to be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ReplyContract {
    /// The token alone acknowledges; `[TAG:{json}]` is an action.
    #[default]
    ActionTags,
    /// A reply that contains the token acknowledges, whatever else it says; actions as above.
    TokenAnywhere,
    /// The reply is one JSON action.
    JsonAction,
}

impl ReplyContract {
    /// Every contract.
    pub const ALL: [Self; 3] = [Self::ActionTags, Self::TokenAnywhere, Self::JsonAction];

    /// The contract of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|contract| contract.as_str() == name)
    }

    /// Its name, as profiles write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ActionTags => "five-layer",
            Self::TokenAnywhere => "kai",
            Self::JsonAction => "airi",
        }
    }
}

/// What a reply says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// The reply without the acknowledgement and without its actions.
    pub text: String,
    /// The agent had nothing to say: deliver nothing. Only on a heartbeat turn.
    pub heartbeat_ok: bool,
    /// In reply order.
    pub actions: Vec<Action>,
    /// Malformed actions, at most [`MAX_FINDINGS`] and one that counts the rest.
    pub findings: Vec<Finding>,
}

/// Something that the agent asks to be done.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    /// What: `CALENDAR_ACTION`; with [`ReplyContract::JsonAction`] the payload's `action`.
    pub tag: String,
    /// With what.
    pub payload: Map<String, Value>,
    /// Its byte range in the reply.
    pub range: Range<usize>,
}

/// Judges a reply. `heartbeat` says whether it answers a heartbeat turn: on any other, a token alone on the first or
/// last line is removed too, but acknowledges nothing.
#[must_use]
pub fn parse(text: &str, heartbeat: bool, contract: ReplyContract) -> Reply {
    let mut reply = match contract {
        ReplyContract::TokenAnywhere if heartbeat && heartbeat::contains_token(text) => {
            let mut reply = action_tags::take(text);
            reply.text = heartbeat::without_any_token(&reply.text);
            reply.heartbeat_ok = true;
            reply
        }
        ReplyContract::ActionTags | ReplyContract::TokenAnywhere => tagged(text, heartbeat),
        ReplyContract::JsonAction => json_action::parse(text, heartbeat),
    };
    bound(&mut reply.findings);
    reply
}

/// A reply that acknowledges has no action: an action is something to say.
fn tagged(text: &str, heartbeat: bool) -> Reply {
    let mut reply = action_tags::take(text);
    let rest = heartbeat::without_token(&reply.text);
    reply.heartbeat_ok = heartbeat && reply.actions.is_empty() && heartbeat::is_nothing(rest);
    if reply.heartbeat_ok {
        reply.text.clear();
    } else if rest.len() < reply.text.len() {
        reply.text = rest.to_owned();
    }
    reply
}

/// A malformed action: where, which, and why.
fn malformed(at: usize, what: &str, why: &str) -> Finding {
    Finding::new(Code::ActionMalformed, Place::field("text"), format!("{what} at byte {at} stays in the text: {why}"))
}

fn bound(findings: &mut Vec<Finding>) {
    let Some(more) = findings.len().checked_sub(MAX_FINDINGS).filter(|&more| more > 0) else { return };
    findings.truncate(MAX_FINDINGS);
    let message = format!("{more} more malformed actions stay in the text");
    findings.push(Finding::new(Code::FindingsOmitted, Place::field("text"), message));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn contracts_parse_back() {
        for contract in ReplyContract::ALL {
            assert_eq!(ReplyContract::parse(contract.as_str()), Some(contract));
        }
        assert_eq!(ReplyContract::parse("Kai"), None);
    }

    #[test]
    fn an_acknowledgement_is_the_token_alone_or_nothing() {
        for text in [
            "HEARTBEAT_OK",
            "HEARTBEAT_OK\n",
            "  HEARTBEAT_OK  ",
            "**HEARTBEAT_OK**",
            "`HEARTBEAT_OK`.",
            "~~HEARTBEAT_OK~~",
            "__HEARTBEAT_OK__!",
            "<p><b>HEARTBEAT_OK</b>.</p>",
            "```\nHEARTBEAT_OK\n```",
            "```text\nHEARTBEAT_OK\n```",
            "HEARTBEAT_OK\n\nHEARTBEAT_OK",
            "",
            " \n",
            "<br/>",
        ] {
            let reply = parse(text, true, ReplyContract::ActionTags);
            assert_eq!(reply, Reply { heartbeat_ok: true, ..Reply::default() }, "{text:?}");
            assert!(!parse(text, false, ReplyContract::ActionTags).heartbeat_ok, "{text:?}");
        }
    }

    #[test]
    fn a_reply_with_content_is_kept_less_a_token_alone_on_its_line() {
        for (text, kept) in [
            ("[helper] HEARTBEAT_OK", "[helper] HEARTBEAT_OK"),
            ("heartbeat_ok", "heartbeat_ok"),
            ("HEARTBEAT_OKAY, disk full", "HEARTBEAT_OKAY, disk full"),
            ("HEARTBEAT_OKAY", "HEARTBEAT_OKAY"),
            ("Disk full! HEARTBEAT_OK", "Disk full! HEARTBEAT_OK"),
            ("Nothing new. HEARTBEAT_OK", "Nothing new. HEARTBEAT_OK"),
            ("HEARTBEAT_OK\n\n  Disk full.\n", "  Disk full.\n"),
            ("Disk full.\n\n**HEARTBEAT_OK**\n", "Disk full."),
            ("HEARTBEAT_OK\nDisk full.\nHEARTBEAT_OK.", "Disk full."),
            ("a\nHEARTBEAT_OK\nb", "a\nHEARTBEAT_OK\nb"),
            ("```yes\n```", "```yes\n```"),
            ("HEARTBEAT OK", "HEARTBEAT OK"),
            (" kept as it is \n", " kept as it is \n"),
        ] {
            for heartbeat in [true, false] {
                let reply = parse(text, heartbeat, ReplyContract::ActionTags);
                assert_eq!(reply, Reply { text: kept.into(), ..Reply::default() }, "{text:?}");
            }
        }
        assert_eq!(parse("HEARTBEAT_OK", false, ReplyContract::ActionTags), Reply::default());
    }

    #[test]
    fn an_action_is_something_to_say() {
        let reply = parse("HEARTBEAT_OK\n[REMINDER:{}]", true, ReplyContract::ActionTags);
        assert_eq!((reply.text.as_str(), reply.heartbeat_ok, reply.actions.len()), ("", false, 1));
        let reply = parse("[REMINDER:{]", true, ReplyContract::ActionTags);
        assert_eq!((reply.text.as_str(), reply.heartbeat_ok, reply.findings.len()), ("[REMINDER:{]", false, 1));
    }

    #[test]
    fn kai_acknowledges_with_the_token_anywhere() {
        for (text, ok, kept) in [
            ("All fine. HEARTBEAT_OK", true, "All fine."),
            ("HEARTBEAT_OK", true, ""),
            ("HEARTBEAT_OKAY", false, "HEARTBEAT_OKAY"),
            ("MY_HEARTBEAT_OK", false, "MY_HEARTBEAT_OK"),
            ("Disk full", false, "Disk full"),
            ("", true, ""),
        ] {
            let reply = parse(text, true, ReplyContract::TokenAnywhere);
            assert_eq!((reply.text.as_str(), reply.heartbeat_ok), (kept, ok), "{text:?}");
            assert!(!parse(text, false, ReplyContract::TokenAnywhere).heartbeat_ok);
        }
        assert_eq!(parse("Fine. HEARTBEAT_OK", false, ReplyContract::TokenAnywhere).text, "Fine. HEARTBEAT_OK");
    }

    #[test]
    fn findings_are_bounded() {
        let reply = parse(&"[A:{]".repeat(1_000), false, ReplyContract::ActionTags);
        assert_eq!(reply.findings.len(), MAX_FINDINGS + 1);
        assert_eq!(reply.findings[MAX_FINDINGS].message, "900 more malformed actions stay in the text");
    }

    proptest! {
        #[test]
        fn nothing_panics_and_ranges_hold(
            text in "(\\[|[A-Z]|:|\\{|\\}|\\]|\"|\\\\|,|1|界|\n| |<|>|`|/|think|HEARTBEAT_OK|\\[A:\\{\"k\":1\\}\\]){0,60}",
            heartbeat: bool,
        ) {
            for contract in ReplyContract::ALL {
                let reply = parse(&text, heartbeat, contract);
                let mut end = 0;
                for action in &reply.actions {
                    prop_assert!(action.range.start >= end);
                    end = action.range.end;
                    let ends = text.get(action.range.clone()).is_some_and(|tag| tag.ends_with(['}', ']']));
                    prop_assert!(ends);
                }
            }
        }
    }
}
