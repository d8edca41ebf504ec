//! Compiles `proto/` without protoc: messages for the whole crate, services for `grpc` alone.
//!
//! Two passes keep the wall between them: the messages are plain prost types that any module may use, while
//! the service code, which needs tonic, is included from `src/grpc/` only.

use std::{env, error::Error, fs, path::PathBuf};

use prost_types::FileDescriptorSet;

const PROTO: &str = "proto/promptd/v1/promptd.proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let out = PathBuf::from(env::var("OUT_DIR")?);

    let mut compiler = protox::Compiler::new(["proto"])?;
    compiler.include_source_info(true).include_imports(true);
    let set = compiler.open_file(PROTO)?.file_descriptor_set();
    fs::write(out.join("promptd.fds"), compiler.encode_file_descriptor_set())?;

    messages(set.clone())?;
    services(set, out.join("services"))
}

fn messages(set: FileDescriptorSet) -> Result<(), Box<dyn Error>> {
    let mut config = prost_build::Config::new();
    config.compile_fds(set)?;
    Ok(())
}

fn services(set: FileDescriptorSet, out: PathBuf) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(&out)?;
    tonic_prost_build::configure()
        .build_client(true)
        .build_transport(true)
        .out_dir(out)
        .extern_path(".promptd.v1", "crate::proto")
        .compile_fds(set)?;
    Ok(())
}
