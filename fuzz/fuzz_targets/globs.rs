#![no_main]
//! Any list of globs compiles or is an error; it matches what one of its globs matches alone; a blocklist that names a name
//! as it is blocks it.

use libfuzzer_sys::fuzz_target;
use promptd_core::globs::{NameGlobs, SkillFilter};

fuzz_target!(|input: (Vec<&str>, &str)| {
    let (list, name) = input;
    let Ok(globs) = NameGlobs::compile(&list) else { return };
    let one = |glob: &&str| NameGlobs::compile([*glob]).expect("good in a list").matches(name);
    assert_eq!(globs.matches(name), list.iter().any(one), "{list:?} {name:?}");
    let plain = name.chars().all(|c| c.is_alphanumeric() || c == '-');
    if let (true, Ok(block)) = (plain, NameGlobs::compile([name])) {
        assert!(!SkillFilter { allow: Some(globs), block }.admits(name, ""));
    }
});
