#![no_main]
//! A cut keeps its limit and the ends of the text that it is to keep, and says so.

use libfuzzer_sys::fuzz_target;
use promptd_core::text::{
    cut::{Cut, Extent, Keep, cut},
    measure::chars,
};

fuzz_target!(|input: (&str, u16, bool, u8)| {
    let (text, limit, partial, keep) = input;
    let limit = usize::from(limit);
    let (_, keep) = Keep::NAMES[usize::from(keep) % Keep::NAMES.len()];
    let extent = if partial { Extent::Partial { bytes: 1 << 30 } } else { Extent::Whole { chars: chars(text) } };
    match cut(text, limit, keep, "A.md", extent) {
        Cut::Whole(whole) => assert!(whole == text && chars(whole) <= limit && !partial),
        Cut::Part(part) => {
            assert!(chars(&part.text) <= limit);
            assert!(part.text[part.marker.clone()].ends_with(" shown]"));
            let mut shown = 0;
            let (mut source, mut at) = (0, 0);
            for kept in &part.kept {
                let end = kept.at + kept.source.len();
                assert!(source <= kept.source.start && at <= kept.at, "in order");
                assert!(end <= part.marker.start || kept.at >= part.marker.end, "beside the marker");
                assert_eq!(part.text[kept.at..end], text[kept.source.clone()]);
                shown += chars(&text[kept.source.clone()]);
                (source, at) = (kept.source.end, end);
            }
            assert_eq!(shown, part.shown);
            let (first, last) = (part.kept.first(), part.kept.last());
            assert!(partial || keep != Keep::Tail || last.is_none_or(|kept| kept.source.end == text.len()));
            assert!(keep != Keep::Head || first.is_none_or(|kept| kept.source.start == 0));
        }
        Cut::Dropped => assert!(limit < 80),
    }
});
