//! What is true of any plan.

use proptest::{collection::vec, option, prelude::*};

use super::*;

fn message() -> impl Strategy<Value = HistoryMessage> {
    let text =
        prop_oneof!["[a-d]{1,2}( [a-d]{1,2}){0,6}", "\\PC{0,12}", Just(r#"[{"type":"text","text":"a"}]"#.into())];
    let fields = (0..4_usize, text, option::of(0..6_000_u32), option::of(0..1_000_i64));
    fields.prop_map(|(role, text, tokens, time)| HistoryMessage {
        tokens,
        time: time.and_then(|seconds| Moment::new(seconds, 0).ok()),
        ..HistoryMessage::new(ROLES[role], &text)
    })
}

fn segment() -> impl Strategy<Value = HistorySegment> {
    let fields = (0..3_u32, 0..300_u64, 0..40_u64, any::<(bool, bool)>());
    fields.prop_map(|(level, start, count, (has_parent, is_summarised))| HistorySegment {
        id: format!("{level}:{start}:{count}"),
        parent_id: if has_parent { "above".into() } else { String::new() },
        is_summarised,
        ..existing(level, start, start + count)
    })
}

fn history() -> impl Strategy<Value = History> {
    let vectors = prop_oneof![Just(0_usize), Just(3)];
    (0..200_u64, vec(message(), 0..80), vec(segment(), 0..30), vectors, vec(-1.0_f32..1.0, 240)).prop_map(
        |(first_index, mut messages, segments, dimensions, numbers)| {
            for (message, vector) in messages.iter_mut().zip(numbers.chunks(3)) {
                message.embedding = vector[..dimensions].to_vec();
            }
            // An id names one of them: those of the same range are ordered by it.
            let named = segments.into_iter().enumerate();
            let segments =
                named.map(|(index, segment)| HistorySegment { id: format!("s{index}"), ..segment }).collect();
            History { first_index, messages, segments }
        },
    )
}

fn thresholds() -> impl Strategy<Value = Thresholds> {
    let counts = (1..5_usize, 1..12_usize, 1..40_usize, 1..7_usize, 1..5_usize);
    (counts, 0..20_000_u64, 1..20_000_u64, 0.0..1.2_f32, 0.0..1.2_f32, any::<(bool, bool)>()).prop_map(
        |((min, new, chunk, window, rollup), tokens, target, topic, near, (recount, users))| Thresholds {
            min_messages: min,
            min_new_messages: new,
            min_new_tokens: tokens,
            chunk_messages: chunk,
            window_messages: window,
            target_tokens: target,
            topic_distance: topic,
            merge_distance: near,
            recount_carried: recount,
            user_bounds: users,
            rollup_size: rollup + 1,
            ..Thresholds::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn segments_cover_what_is_settled_once(history in history(), thresholds in thresholds()) {
        let plan = plan(&history, &thresholds);
        let end = history.first_index + history.messages.len() as u64;
        let is_old = |index: u64| history.segments.iter().any(|old| old.range().contains(&index));
        let mut times_covered = vec![0; history.messages.len()];
        for segment in &plan.segments {
            let within = segment.messages.start >= history.first_index && segment.messages.end <= end;
            prop_assert!(within && !segment.messages.is_empty());
            let indices = segment.messages.clone();
            let own: Vec<usize> = indices.map(|index| usize::try_from(index - history.first_index).unwrap()).collect();
            for &message in &own {
                times_covered[message] += 1;
            }
            prop_assert_eq!(segment.tokens, own.iter().map(|&message| history.messages[message].size()).sum::<u64>());
            let bounds = thresholds.min_summary_tokens..=thresholds.max_summary_tokens;
            prop_assert!(bounds.contains(&segment.target_tokens));
            let parts = segment.merged.iter().fold(segment.messages.start, |at, part| if part.start == at { part.end } else { 0 });
            prop_assert!(segment.merged.is_empty() || (segment.merged.len() > 1 && parts == segment.messages.end));
        }
        for (message, times) in times_covered.into_iter().enumerate() {
            let index = history.first_index + message as u64;
            prop_assert!(times <= 1 && (times == 0 || !is_old(index)), "{index}");
            prop_assert!(index >= plan.settled_end || times == 1 || is_old(index), "{index} is in no segment");
        }
        let waiting = plan.waiting.map_or(0, |waiting| waiting.messages);
        let new: u64 = plan.segments.iter().map(|segment| segment.messages.end - segment.messages.start).sum();
        let uncovered = (history.first_index..end).filter(|&index| !is_old(index)).count() as u64;
        prop_assert_eq!(new + waiting, uncovered);
    }

    #[test]
    fn segments_begin_at_users_messages_where_they_must(history in history(), thresholds in thresholds()) {
        let thresholds = Thresholds { user_bounds: true, chunk_messages: 500, ..thresholds };
        let is_old = |index: u64| history.segments.iter().any(|old| old.range().contains(&index));
        for segment in plan(&history, &thresholds).segments {
            let start = segment.messages.start;
            let message = &history.messages[usize::try_from(start - history.first_index).unwrap()];
            let begins_a_stretch = start == history.first_index || is_old(start - 1);
            prop_assert!(message.role == Role::User || begins_a_stretch, "{start}");
        }
    }

    #[test]
    fn the_same_inputs_give_the_same_plan(history in history(), thresholds in thresholds(), turned in 0..30_usize) {
        let first = plan(&history, &thresholds);
        prop_assert_eq!(&first, &plan(&history, &thresholds));
        let mut other = history.clone();
        let by = turned.min(other.segments.len());
        other.segments.rotate_left(by);
        let other_plan = plan(&other, &thresholds);
        prop_assert_eq!(&first.segments, &other_plan.segments);
        prop_assert_eq!(first.rollups.len(), other_plan.rollups.len());
    }

    #[test]
    fn no_rollup_is_smaller_than_it_should_be(segments in vec(segment(), 0..60), size in 2..6_usize) {
        let history = History { segments, ..History::default() };
        let thresholds = Thresholds { rollup_size: size, ..Thresholds::default() };
        let mut used = std::collections::HashSet::new();
        for rollup in plan(&history, &thresholds).rollups {
            let children: Vec<_> = rollup.children.iter().map(|&child| &history.segments[child]).collect();
            let range = rollup.messages.clone();
            for child in &children {
                prop_assert!(child.level + 1 == rollup.level && child.is_summarised && child.parent_id.is_empty());
                prop_assert!(child.message_start >= range.start && child.message_end <= range.end);
            }
            prop_assert!(rollup.children.iter().all(|child| used.insert(*child)));
            for pair in children.windows(2) {
                prop_assert!(pair[1].message_start == pair[0].message_end || pair[1].message_start + 1 == pair[0].message_end);
            }
            prop_assert!(children.len() < 2 * size);
            if children.len() != size {
                let after = |s: &&HistorySegment| s.level + 1 == rollup.level && s.message_start + 1 >= range.end;
                let closed = history.segments.iter().filter(after).any(|s| !s.parent_id.is_empty());
                prop_assert!(closed, "{} children, and more can come", children.len());
            }
        }
    }
}
