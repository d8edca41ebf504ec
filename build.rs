//! Compiles the services of `proto/` without protoc. Their messages are those of `promptd-contract`.

use std::{env, error::Error, fs, path::Path, path::PathBuf};

use prost_types::FileDescriptorSet;

const CONTRACT: &str = "proto/promptd/v1/promptd.proto";
const HEALTH: &str = "third_party/grpc/health/v1/health.proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    println!("cargo:rerun-if-changed=third_party");
    let out = PathBuf::from(env::var("OUT_DIR")?);

    let contract = descriptors("proto", CONTRACT, &out.join("promptd.fds"))?;
    let health = descriptors("third_party", HEALTH, &out.join("health.fds"))?;

    let services = out.join("services");
    fs::create_dir_all(&services)?;
    let build = || tonic_prost_build::configure().out_dir(&services);
    let clients = || build().build_server(false).extern_path(".promptd.v1", "::promptd_contract::proto");
    clients().compile_fds(contract.clone())?;
    // Only the server writes the large answer itself.
    let servers = services.join("server");
    fs::create_dir_all(&servers)?;
    build()
        .out_dir(servers)
        .build_client(false)
        .codec_path("crate::grpc::services::codec::Prost")
        .extern_path(".promptd.v1.AssemblePromptResponse", "::promptd_contract::encode::Encoded")
        .extern_path(".promptd.v1", "::promptd_contract::proto")
        .compile_fds(contract)?;
    build().compile_fds(health)?;
    Ok(())
}

/// Compiles a file and keeps the encoded descriptors, comments included, for reflection.
fn descriptors(root: &str, file: &str, kept: &Path) -> Result<FileDescriptorSet, Box<dyn Error>> {
    let mut compiler = protox::Compiler::new([root])?;
    compiler.include_source_info(true).include_imports(true);
    let set = compiler.open_file(file)?.file_descriptor_set();
    fs::write(kept, compiler.encode_file_descriptor_set())?;
    Ok(set)
}
