//! etcd's API, as far as it is used here.

#![allow(
    missing_docs,
    unreachable_pub,
    dead_code,
    clippy::all,
    clippy::pedantic,
    clippy::allow_attributes_without_reason,
    reason = "generated"
)]

pub(crate) mod mvccpb {
    tonic::include_proto!("mvccpb");
}

pub(crate) mod etcdserverpb {
    tonic::include_proto!("etcdserverpb");
}

pub(crate) use self::{etcdserverpb::*, mvccpb::*};
