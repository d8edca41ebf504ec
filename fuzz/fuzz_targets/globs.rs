#![no_main]
//! Any list of globs compiles or is an error; a blocklist that names a name as it is blocks it.

use libfuzzer_sys::fuzz_target;
use promptd_core::globs::{NameGlobs, SkillFilter};

fuzz_target!(|input: (Vec<&str>, &str)| {
    let (globs, name) = input;
    let Ok(globs) = NameGlobs::compile(&globs) else { return };
    let _ = globs.matches(name);
    let plain = name.chars().all(|c| c.is_alphanumeric() || c == '-');
    if let (true, Ok(block)) = (plain, NameGlobs::compile([name])) {
        assert!(!SkillFilter { allow: Some(globs), block }.admits(name, ""));
    }
});
