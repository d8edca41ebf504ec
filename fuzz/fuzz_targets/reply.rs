#![no_main]
//! Any reply is read by every contract; actions are where they are said to be.

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

use promptd_core::{
    profile::{ProfileSet, ReplyContract},
    reply::{MAX_FINDINGS, parse},
};

/// Those of the built-in profiles, and those that a word means.
static CONTRACTS: LazyLock<Vec<ReplyContract>> = LazyLock::new(|| {
    let built_in = ProfileSet::built_in();
    let declared = built_in.iter().map(|profile| (*profile.reply).clone());
    declared.chain(ReplyContract::WORDS.into_iter().filter_map(ReplyContract::of_word)).collect()
});

fuzz_target!(|input: (&str, bool)| {
    let (text, heartbeat) = input;
    for contract in CONTRACTS.iter() {
        let reply = parse(text, heartbeat, contract);
        assert!(heartbeat || !reply.heartbeat_ok);
        assert!(reply.findings.len() <= MAX_FINDINGS + 1);
        for action in &reply.actions {
            assert!(text.get(action.range.clone()).is_some());
        }
    }
});
