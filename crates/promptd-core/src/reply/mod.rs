//! Replies: what a model answered, judged by the contract that its prompt taught it.
//!
//! A reply can acknowledge a heartbeat, which means that there is nothing to deliver, and it can carry actions. Thoughts are
//! taken away; the rest is text. An action that is none stays in the text and is a finding: nothing of a reply is lost
//! silently. Every function here takes linear time in the reply's length, whatever its contents.

mod code;
mod cuts;
mod exact;
mod findings;
mod heartbeat;
mod json_form;
mod json_object;
mod kai_ui;
mod lenient;
mod payload;
mod tag_form;
mod team_form;
mod thoughts;

use std::ops::Range;

use serde_json::{Map, Value};

use crate::{
    finding::Finding,
    profile::{Acknowledgement, ActionForm, ReplyContract},
};

use self::findings::Findings;
pub use self::{findings::MAX_FINDINGS, heartbeat::TOKEN, json_object::MAX_DEPTH};

/// The most actions of one reply; further ones stay in the text.
pub const MAX_ACTIONS: usize = 1_000;

/// What a reply says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// The reply without its thoughts, the acknowledgement and its actions.
    pub text: String,
    /// The agent had nothing to say: deliver nothing. Only on a heartbeat turn.
    pub heartbeat_ok: bool,
    /// In reply order, at most [`MAX_ACTIONS`].
    pub actions: Vec<Action>,
    /// What could not be read as it is, at most [`MAX_FINDINGS`] and one that counts the rest.
    pub findings: Vec<Finding>,
}

/// Something that the agent asks to be done.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    /// What: `CALENDAR_ACTION`; with [`ActionForm::Json`] the payload's `action`; `team`.
    pub tag: String,
    /// With what: fields that are left out have their defaults.
    pub payload: Map<String, Value>,
    /// The payload's JSON as it is in the reply, if it has what `payload` cannot hold exactly: a whole number beyond
    /// 2^53, or a key twice.
    pub payload_text: Option<String>,
    /// Its byte range in the reply.
    pub range: Range<usize>,
}

/// A reply taken apart, its acknowledgement not yet judged.
struct Parts {
    text: String,
    actions: Vec<Action>,
    findings: Findings,
}

/// Judges a reply. `heartbeat` says whether it answers a heartbeat turn: on any other, a token alone on the first or
/// last line is removed too, but acknowledges nothing.
#[must_use]
pub fn parse(text: &str, heartbeat: bool, contract: &ReplyContract) -> Reply {
    parse_with(text, heartbeat, contract, None)
}

/// The same for a prompt with these inputs, complete as [`complete_inputs`](crate::profile::complete_inputs) makes them: a
/// team is looked up in them.
#[must_use]
pub fn parse_with(text: &str, heartbeat: bool, contract: &ReplyContract, inputs: Option<&Map<String, Value>>) -> Reply {
    match contract.form {
        ActionForm::Json => return json_form::parse(text, heartbeat, contract),
        ActionForm::Team => return team_form::parse(text, contract, inputs),
        ActionForm::Tags => {}
    }
    let Parts { text, actions, findings } = tag_form::take(text, contract);
    let findings = findings.into_vec();
    if contract.acknowledgement == Acknowledgement::Anywhere && heartbeat && heartbeat::contains_token(&text) {
        return Reply { text: heartbeat::without_any_token(&text), heartbeat_ok: true, actions, findings };
    }
    let rest = heartbeat::without_token(&text);
    // A reply that acknowledges has no action: an action is something to say.
    let heartbeat_ok = heartbeat && actions.is_empty() && heartbeat::is_nothing(&rest);
    Reply { text: if heartbeat_ok { String::new() } else { rest }, heartbeat_ok, actions, findings }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::Arc,
        time::{Duration, Instant},
    };

    use proptest::prelude::*;

    use super::*;
    use crate::profile::ProfileSet;

    fn word(word: &str) -> ReplyContract {
        ReplyContract::of_word(word).unwrap()
    }

    #[test]
    fn every_word_has_a_meaning() {
        assert!(ReplyContract::WORDS.into_iter().all(|word| ReplyContract::of_word(word).is_some()));
        assert_eq!(ReplyContract::of_word("Kai"), None);
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
            let reply = parse(text, true, &word("five-layer"));
            assert_eq!(reply, Reply { heartbeat_ok: true, ..Reply::default() }, "{text:?}");
            assert!(!parse(text, false, &word("five-layer")).heartbeat_ok, "{text:?}");
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
                let reply = parse(text, heartbeat, &word("five-layer"));
                assert_eq!(reply, Reply { text: kept.into(), ..Reply::default() }, "{text:?}");
            }
        }
        assert_eq!(parse("HEARTBEAT_OK", false, &word("five-layer")), Reply::default());
    }

    #[test]
    fn an_action_is_something_to_say() {
        let reply = parse("HEARTBEAT_OK\n[REMINDER:{}]", true, &word("five-layer"));
        assert_eq!((reply.text.as_str(), reply.heartbeat_ok, reply.actions.len()), ("", false, 1));
        let reply = parse("[REMINDER:{]", true, &word("five-layer"));
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
            let reply = parse(text, true, &word("kai"));
            assert_eq!((reply.text.as_str(), reply.heartbeat_ok), (kept, ok), "{text:?}");
            assert!(!parse(text, false, &word("kai")).heartbeat_ok);
        }
        assert_eq!(parse("Fine. HEARTBEAT_OK", false, &word("kai")).text, "Fine. HEARTBEAT_OK");
    }

    #[test]
    fn hostile_text_takes_linear_time() {
        let screens = Arc::clone(&ProfileSet::built_in().get("kai-remote").unwrap().reply);
        let start = Instant::now();
        let (size, half) = (1_usize << 17, 1_usize << 16);
        let units = [
            "[A:{",
            "[A:{\"",
            "[A:{\"a\":",
            "[A:{\"a\":[",
            "[A:{ \\\"",
            "[A:{\"a\":\"",
            "[",
            "[A",
            "[A:",
            "[A:[",
            "[A: ",
            "[A:{x\"",
            "<",
            "<think>",
            "</think>",
            "<think/> ",
            "<think>[A:{}]</think>",
            "`",
            "` ",
            "`a``b",
            "```\n",
            "~~~ x\n",
            "\n> - ```",
            "{",
            "{\"a\":",
            "{'a':'",
            "{a:1 ",
            "{\"action\":\"a\"",
            "```json\n{",
            "``` {",
            "/*{",
            "\\",
            "\n \n`",
            "HEARTBEAT_OK\n",
            "HEARTBEAT_OK</b>\n",
            "*",
        ];
        let runs: String = (1..600).map(|length| "`".repeat(length) + " ").collect();
        let nested = [("[A:{\"a\":", "}]"), ("[A:{\"a\":{", "}}"), ("<think>", "</think>"), ("{\"a\":", "}")]
            .map(|(open, close)| open.repeat(half / open.len()) + &close.repeat(half / open.len()));
        let blocks = [
            "{",
            "{\"children\":[",
            "{\"a\":[1,",
            "\"",
            "{\"a=[",
            ",",
            "[{},",
            "}",
            "{\"a\":1}\n",
            "{\"type\":\"row\",\"children\":[",
        ]
        .map(|unit| format!("```kai-ui\n{{\"children\":[{}\n```", unit.repeat(size / unit.len())));
        let repeated = units.map(|unit| unit.repeat(size / unit.len()));
        for text in
            repeated.into_iter().chain(nested).chain(blocks).chain([runs.clone(), runs.clone() + "\n\n" + &runs])
        {
            for contract in ReplyContract::WORDS.map(word).iter().chain([&*screens]) {
                let reply = parse(&text, true, contract);
                assert!(reply.actions.len() <= MAX_ACTIONS && reply.text.len() <= text.len());
            }
        }
        // Quadratic time would be many minutes.
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    }

    /// What the prompt shows as an example is what the reader takes, without a finding.
    #[test]
    fn the_examples_of_screens_are_screens() {
        let profiles = ProfileSet::built_in();
        let profile = profiles.get("kai-remote").unwrap();
        let examples: Vec<&str> = profile.source.split("          Example:\n").skip(1).collect();
        assert_eq!(examples.len(), 2);
        for example in examples {
            let end = example.rfind("```").unwrap() + 3;
            let fence = example[..end].lines().take(3).map(str::trim).collect::<Vec<_>>().join("\n");
            let reply = parse(&fence, false, &profile.reply);
            assert_eq!((reply.text.as_str(), reply.actions.len(), reply.findings.len()), ("", 1, 0), "{fence}");
        }
    }

    #[test]
    fn actions_are_bounded() {
        let reply = parse(&"[A:{}]".repeat(MAX_ACTIONS + 2), false, &word("five-layer"));
        assert_eq!((reply.actions.len(), reply.text.as_str()), (MAX_ACTIONS, "[A:{}][A:{}]"));
        assert_eq!(reply.findings.len(), 2);
    }

    #[test]
    fn findings_are_bounded() {
        let reply = parse(&"[A:{]".repeat(1_000), false, &word("five-layer"));
        assert_eq!(reply.findings.len(), MAX_FINDINGS + 1);
        assert_eq!(reply.findings[MAX_FINDINGS].message, "900 more findings of this reply are left out");
    }

    proptest! {
        #[test]
        fn nothing_panics_and_ranges_hold(
            text in "(\\[|[A-Z]|:|\\{|\\}|\\]|\"|\\\\|,|1|界|\n| |<|>|`|/|think|HEARTBEAT_OK|\\[A:\\{\"k\":1\\}\\]){0,60}",
            heartbeat: bool,
        ) {
            for contract in ReplyContract::WORDS.map(word) {
                let reply = parse(&text, heartbeat, &contract);
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
