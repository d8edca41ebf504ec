#![no_main]
//! A cut keeps its limit, a head of the text, and says so.

use libfuzzer_sys::fuzz_target;
use promptd_core::text::{
    cut::{Cut, Extent, cut},
    measure::{chars, offset},
};

fuzz_target!(|input: (&str, u16, bool)| {
    let (text, limit, partial) = input;
    let limit = usize::from(limit);
    let extent = if partial { Extent::Partial { bytes: 1 << 30 } } else { Extent::Whole { chars: chars(text) } };
    match cut(text, limit, "A.md", extent) {
        Cut::Whole(whole) => assert!(whole == text && chars(whole) <= limit && !partial),
        Cut::Head { text: kept, shown } => {
            assert!(chars(&kept) <= limit);
            assert!(kept.starts_with(&text[..offset(text, shown)]));
            assert!(kept.ends_with(" shown]"));
        }
        Cut::Dropped => assert!(limit < 80),
    }
});
