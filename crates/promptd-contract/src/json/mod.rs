//! The contract's messages as JSON, in protobuf's own mapping (ProtoJSON): read strictly, with every mistake and its path,
//! and written as other implementations write it.
//!
//! A request is read along the descriptors straight into the bytes of its message, so that what follows is the same as for
//! a message that came as bytes.

mod expect;
mod read;
mod scalar;
mod tree;
mod wire;

use std::sync::LazyLock;

use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};

use crate::{decode::Violation, proto};
use read::Reader;
use tree::Json;

/// How deep messages may lie in each other, as in a message that comes as bytes: prost reads no deeper.
const MAX_DEPTH: usize = 99;

/// Every message of the contract, with those that the details of errors are made of.
pub fn descriptors() -> &'static DescriptorPool {
    static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
        #[expect(clippy::expect_used, reason = "compiled in")]
        DescriptorPool::decode(proto::DESCRIPTORS).expect("the contract's own descriptors")
    });
    &POOL
}

/// Reads a message from JSON, and gives its bytes; or everything that is wrong with it. `max_values` bounds how many values
/// (numbers, texts, lists, objects …) it may hold.
pub fn read(message: &MessageDescriptor, json: &[u8], max_values: usize) -> Result<Vec<u8>, Vec<Violation>> {
    let whole = |message: &str| vec![Violation { field: String::new(), message: message.to_owned() }];
    if json.trim_ascii().is_empty() {
        return Err(whole("the request is empty; a request without fields is `{}`"));
    }
    let tree = Json::parse(json, max_values).map_err(|error| whole(&error))?;
    Reader::default().read(message, &tree)
}

/// Writes a message's bytes as JSON. Fields with their default value are left out. `None`: the bytes are no such message.
pub fn write(message: &MessageDescriptor, bytes: &[u8]) -> Option<Vec<u8>> {
    let message = DynamicMessage::decode(message.clone(), bytes).ok()?;
    serde_json::to_vec(&message).ok()
}

#[cfg(test)]
mod tests;
