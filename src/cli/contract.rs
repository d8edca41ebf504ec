//! The contract's own description of its messages, for reading and writing them as text.

use promptd_contract::proto;
use prost_reflect::{DescriptorPool, MessageDescriptor};

/// A message of the contract by its name.
pub(super) fn message(name: &str) -> MessageDescriptor {
    let pool = DescriptorPool::decode(proto::DESCRIPTORS).unwrap_or_default();
    #[expect(clippy::expect_used, reason = "the contract is compiled in, and the names are ours")]
    pool.get_message_by_name(&format!("promptd.v1.{name}")).expect("a message of the contract")
}
