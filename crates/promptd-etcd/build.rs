//! Compiles the part of etcd's API that is in `third_party/etcd/` without protoc.

use std::{error::Error, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../third_party");
    println!("cargo:rerun-if-changed={}", root.join("etcd").display());
    let mut compiler = protox::Compiler::new([&root])?;
    compiler.include_imports(true);
    let set = compiler.open_file(root.join("etcd/api/etcdserverpb/rpc.proto"))?.file_descriptor_set();
    tonic_prost_build::configure().build_server(false).compile_fds(set)?;
    Ok(())
}
