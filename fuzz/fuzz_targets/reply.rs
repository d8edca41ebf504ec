#![no_main]
//! Any reply is read by every contract; actions stand where they are said to.

use libfuzzer_sys::fuzz_target;
use promptd_core::reply::{MAX_FINDINGS, ReplyContract, parse};

fuzz_target!(|input: (&str, bool)| {
    let (text, heartbeat) = input;
    for contract in ReplyContract::ALL {
        let reply = parse(text, heartbeat, contract);
        assert!(heartbeat || !reply.heartbeat_ok);
        assert!(reply.findings.len() <= MAX_FINDINGS + 1);
        for action in &reply.actions {
            assert!(text.get(action.range.clone()).is_some());
        }
    }
});
