//! Compiles the messages of `proto/promptd/v1/` without protoc. The services, which need tonic, are compiled by
//! the daemon's build script.

use std::{env, error::Error, fs, path::Path};

const CONTRACT: [&str; 3] = ["promptd/v1/admin.proto", "promptd/v1/promptd.proto", "promptd/v1/session.proto"];
/// What the details of errors are made of: described to callers, and no code is generated from it.
const ERRORS: [&str; 3] = ["google/rpc/code.proto", "google/rpc/error_details.proto", "google/rpc/status.proto"];

fn main() -> Result<(), Box<dyn Error>> {
    let proto = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    println!("cargo:rerun-if-changed={}", proto.display());
    let mut compiler = protox::Compiler::new([&proto])?;
    compiler.include_source_info(true).include_imports(true);
    let messages = compiler.open_files(CONTRACT.map(|file| proto.join(file)))?.file_descriptor_set();
    compiler.open_files(ERRORS.map(|file| proto.join(file)))?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("promptd.fds"), compiler.encode_file_descriptor_set())?;
    prost_build::Config::new().compile_fds(messages)?;
    Ok(())
}
