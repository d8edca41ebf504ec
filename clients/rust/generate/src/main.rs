//! Writes the messages in `src/generated` from the contract; with `--check` says whether it is current.
//!
//! They are in the package, so that who uses it needs neither protoc nor what compiles without it, which is a third of a
//! first build.

use std::{env, error::Error, fs, path::Path, process::ExitCode};

const CONTRACT: [&str; 2] = ["promptd/v1/promptd.proto", "promptd/v1/session.proto"];
const KEPT: &str = "promptd.v1.rs";

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut compiler = protox::Compiler::new([package.join("../../proto")])?;
    let contract = compiler.include_source_info(true).include_imports(true).open_files(CONTRACT)?.file_descriptor_set();
    let out = tempfile::tempdir()?;
    tonic_prost_build::configure().build_server(false).build_client(false).out_dir(out.path()).compile_fds(contract)?;
    let made = fs::read_to_string(out.path().join(KEPT))?;
    let kept = package.join("src/generated").join(KEPT);
    if env::args().any(|argument| argument == "--check") {
        let is_current = fs::read_to_string(&kept).is_ok_and(|text| text == made);
        if !is_current {
            eprintln!("{} is not current: run `cargo run -p generate` in clients/rust", kept.display());
        }
        return Ok(if is_current { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    fs::create_dir_all(package.join("src/generated"))?;
    fs::write(kept, made)?;
    Ok(ExitCode::SUCCESS)
}
