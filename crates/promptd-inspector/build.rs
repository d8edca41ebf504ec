//! Builds the crate again where a file of the page was added or removed, which the embedding does not notice by itself.

fn main() {
    println!("cargo::rerun-if-changed=assets");
}
