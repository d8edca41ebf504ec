#![no_main]
//! A workspace.yaml of any bytes is a manifest or has faults with places.

use libfuzzer_sys::fuzz_target;
use promptd_core::{finding::Finding, settings::Settings, workspace::MemoryTree};

mod common;

fuzz_target!(|bytes: &[u8]| {
    if let Err(faults) = common::snapshot(&MemoryTree::new().file("workspace.yaml", bytes), Settings::default()) {
        assert!(!faults.is_empty() && faults.iter().all(Finding::is_error));
    }
});
