//! Compiles the services of `proto/` without protoc, their messages being those of `promptd-contract`, and names the version.

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use prost_types::FileDescriptorSet;

const CONTRACT: [&str; 3] =
    ["proto/promptd/v1/admin.proto", "proto/promptd/v1/promptd.proto", "proto/promptd/v1/session.proto"];
const HEALTH: [&str; 1] = ["third_party/grpc/health/v1/health.proto"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    println!("cargo:rerun-if-changed=third_party");
    println!("cargo:rustc-env=PROMPTD_VERSION={}", version());
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

/// Compiles files and keeps the encoded descriptors, comments included, for reflection.
fn descriptors<const N: usize>(root: &str, files: [&str; N], kept: &Path) -> Result<FileDescriptorSet, Box<dyn Error>> {
    let mut compiler = protox::Compiler::new([root])?;
    compiler.include_source_info(true).include_imports(true);
    let set = compiler.open_files(files)?.file_descriptor_set();
    fs::write(kept, compiler.encode_file_descriptor_set())?;
    Ok(set)
}

/// `0.1.0 (1b2c3d4e5 2026-11-29)` in a release build from a git checkout, else `0.1.0`: the commit in other builds would
/// compile everything again after each commit.
fn version() -> String {
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    // A `.git` further up is that of a project which this one was copied into.
    if env::var("PROFILE").is_ok_and(|profile| profile == "release") && Path::new(".git").exists() {
        // It changes with each commit and checkout.
        if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|log| Path::new(log).exists()) {
            println!("cargo:rerun-if-changed={log}");
        }
        if let Some(commit) = git(&["log", "-1", "--abbrev=9", "--date=short", "--format=%h %cd"]) {
            return format!("{version} ({commit})");
        }
    }
    version
}

/// What git prints, where it is installed and succeeds.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned()).filter(|printed| !printed.is_empty())
}
