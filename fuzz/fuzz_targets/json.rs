#![no_main]
//! Any text is read as a request or refused; what is read is a message of the contract, and reads the same once written.

use libfuzzer_sys::fuzz_target;
use promptd_contract::{decode::MAX_VIOLATIONS, json, proto::AssemblePromptRequest};
use prost::Message as _;

const MAX_VALUES: usize = 10_000;

fuzz_target!(|text: &[u8]| {
    let message = json::descriptors().get_message_by_name("promptd.v1.AssemblePromptRequest").unwrap();
    match json::read(&message, text, MAX_VALUES) {
        Err(violations) => assert!((1..=MAX_VIOLATIONS).contains(&violations.len())),
        Ok(bytes) => {
            let request = AssemblePromptRequest::decode(&*bytes).unwrap();
            let written = json::write(&message, &request.encode_to_vec()).unwrap();
            let again = json::read(&message, &written, MAX_VALUES).unwrap();
            assert_eq!(AssemblePromptRequest::decode(&*again).unwrap(), request);
        }
    }
});
