use proptest::prelude::*;

use super::*;

/// Id, parent, level, first, past the last, tokens.
type Row<'r> = (&'r str, &'r str, u32, u64, u64, u32);

fn segments(rows: &[Row<'_>]) -> Vec<Segment> {
    let segment = |&(id, parent, level, message_start, message_end, summary_tokens): &Row<'_>| Segment {
        id: id.into(),
        parent_id: parent.into(),
        level,
        message_start,
        message_end,
        summary: "s".into(),
        summary_tokens,
        ..Segment::default()
    };
    rows.iter().map(segment).collect()
}

fn shown(rows: &[Row<'_>], trimmed: u64, budget: u64) -> String {
    let segments = segments(rows);
    let ids: Vec<_> = select(&segments, trimmed, budget).shown.iter().map(|s| s.id.clone()).collect();
    ids.join(" ")
}

const THREE: [Row<'static>; 7] = [
    ("A", "", 1, 0, 100, 50),
    ("a1", "A", 0, 0, 50, 40),
    ("a2", "A", 0, 50, 100, 40),
    ("B", "", 1, 100, 200, 50),
    ("b1", "B", 0, 100, 150, 40),
    ("b2", "B", 0, 150, 200, 40),
    ("C", "", 0, 200, 220, 30),
];

#[test]
fn the_tree_is_opened_as_far_as_the_budget_goes() {
    for (budget, expected) in [
        (0, "A B C"),
        (130, "A B C"),
        (159, "A B C"),
        (160, "A b1 b2 C"),
        (189, "A b1 b2 C"),
        (190, "a1 a2 b1 b2 C"),
        (u64::MAX, "a1 a2 b1 b2 C"),
    ] {
        assert_eq!(shown(&THREE, 220, budget), expected, "{budget}");
    }
}

#[test]
fn a_level_is_opened_only_once_the_one_above_is() {
    // The right root cannot be opened; the left one can, but then the loop ends at what remains of level 2.
    let rows = [
        ("L", "", 2, 0, 100, 10),
        ("l", "L", 1, 0, 100, 15),
        ("ll", "l", 0, 0, 100, 16),
        ("R", "", 2, 100, 200, 10),
        ("r", "R", 1, 100, 200, 900),
        ("rr", "r", 0, 100, 200, 1),
    ];
    assert_eq!(shown(&rows, 200, 100), "l R");
    // A root of the highest level that has no children ends it too.
    let rows = [("X", "", 2, 0, 10, 1), ("Y", "", 1, 10, 20, 1), ("y", "Y", 0, 10, 20, 1)];
    assert_eq!(shown(&rows, 20, 100), "X Y");
}

#[test]
fn one_that_saves_tokens_lets_another_in_that_did_not_fit() {
    let rows = [("L", "", 1, 0, 10, 50), ("l", "L", 0, 0, 10, 10), ("R", "", 1, 10, 20, 50), ("r", "R", 0, 10, 20, 80)];
    assert_eq!(shown(&rows, 20, 101), "l r");
}

#[test]
fn every_segment_that_begins_before_the_cut_is_shown() {
    let rows = [("a", "", 0, 0, 20, 1), ("b", "", 0, 20, 41, 1)];
    assert_eq!(shown(&rows, 41, 9), "a b");
    // A cut that was walked back to the user: messages 20 to 39 would otherwise be in neither.
    assert_eq!(shown(&rows, 40, 9), "a b");
    assert_eq!(shown(&rows, 20, 9), "a");
    assert_eq!(shown(&rows, 10, 9), "a");
    assert_eq!(shown(&rows, 0, 9), "");
    assert_eq!(shown(&[("late", "", 0, 30, 60, 1)], 20, 9), "");
}

#[test]
fn children_past_the_boundary_come_with_their_parent_and_holes_stay() {
    let rows = [("P", "", 1, 0, 60, 5), ("x", "P", 0, 0, 20, 1), ("z", "P", 0, 40, 60, 1)];
    assert_eq!(shown(&rows, 20, 9), "x z");
    let all = segments(&rows);
    let coverage = Coverage::of(&select(&all, 60, 9).shown);
    assert_eq!([19, 20, 39, 40, 59, 60].map(|message| coverage.has(message)), [true, false, false, true, true, false]);
    assert_eq!([0, 20, 30, 60, 70].map(|count| coverage.holes_before(count)), [0, 0, 10, 20, 30]);
}

#[test]
fn a_root_within_another_is_left_out() {
    let rows = [("1", "", 0, 0, 100, 10), ("2", "", 0, 1, 100, 10), ("3", "", 0, 100, 200, 10)];
    let segments = segments(&rows);
    let selection = select(&segments, 200, 1_000);
    let ids = |list: &[&Segment]| list.iter().map(|s| s.id.clone()).collect::<Vec<_>>();
    assert_eq!((ids(&selection.shown), ids(&selection.shadowed)), (vec!["1".into(), "3".into()], vec!["2".into()]));
}

#[test]
fn links_to_unknown_parents_are_ignored() {
    for rows in [
        &[("a", "b", 1, 0, 10, 1), ("b", "a", 1, 10, 20, 1)][..],
        &[("a", "a", 1, 0, 10, 1), ("b", "gone", 0, 10, 20, 1)],
        &[("a", "b", 2, 0, 10, 1), ("b", "", 1, 10, 20, 1)],
    ] {
        assert_eq!(shown(rows, 20, 1_000), "a b", "{rows:?}");
    }
}

#[test]
fn a_segment_without_a_summary_is_ignored() {
    let mut all = segments(&THREE);
    for segment in &mut all[..2] {
        segment.summary = " \n".into();
    }
    let ids: Vec<_> = select(&all, 220, 0).shown.iter().map(|s| s.id.clone()).collect();
    assert_eq!(ids, ["a2", "B", "C"]);
    all[6].summary = "x".repeat(41);
    all[6].summary_tokens = 0;
    assert_eq!(Tree::new(&all).tokens.last(), Some(&11), "tokens are estimated where they are not given");
}

#[test]
fn a_large_history_takes_no_more_than_a_moment() {
    // Ten thousand roots, each with a child that costs more than the budget allows, and a chain of ten thousand.
    let wide: Vec<Segment> = (0..10_000_u64)
        .map(|n| Segment {
            id: n.to_string(),
            parent_id: if n % 2 == 0 { String::new() } else { (n - 1).to_string() },
            level: u32::from(n % 2 == 0),
            message_start: n,
            message_end: n + 2,
            summary: "s".into(),
            summary_tokens: 1 + u32::try_from(n % 7).unwrap(),
            ..Segment::default()
        })
        .collect();
    let deep: Vec<Segment> = (0..10_000_u32)
        .map(|n| Segment {
            id: n.to_string(),
            parent_id: n.checked_sub(1).map(|n| n.to_string()).unwrap_or_default(),
            level: 10_000 - n,
            message_end: 100,
            summary: "s".into(),
            summary_tokens: 1,
            ..Segment::default()
        })
        .collect();
    let begun = std::time::Instant::now();
    assert_eq!(select(&wide, 10_000, 21_000).shown.len(), 5_000);
    assert_eq!(select(&deep, 10_000, 2).shown[0].id, "9999");
    assert!(begun.elapsed().as_secs() < 30, "far beyond what n log n takes, on any machine");
}

fn any_segment() -> impl Strategy<Value = Segment> {
    let position = || prop_oneof![0_u64..40, Just(u64::MAX), Just(u64::MAX - 1)];
    let id = || prop_oneof![Just(String::new()), "[a-f]"];
    (id(), id(), prop_oneof![0_u32..4, Just(u32::MAX)], position(), position(), prop_oneof![0_u32..50, Just(u32::MAX)])
        .prop_map(|(id, parent_id, level, message_start, message_end, summary_tokens)| Segment {
            id,
            parent_id,
            level,
            message_start,
            message_end,
            summary: "s".into(),
            summary_tokens,
            ..Segment::default()
        })
}

/// The rule as it is written down, step by step and slow.
fn by_the_letter<'s>(tree: &Tree<'s>, trimmed: u64, budget: i64) -> Vec<&'s Segment> {
    let mut selected = tree.roots(trimmed).0;
    let mut used: i64 = selected.iter().map(|&node| tree.tokens[node]).sum();
    'again: while used < budget {
        let Some(top) = selected.iter().map(|&node| tree.nodes[node].level).max() else { break };
        for at in (0..selected.len()).rev() {
            let node = selected[at];
            if tree.nodes[node].level != top {
                continue;
            }
            if let Some(cost) = tree.cost(node).filter(|cost| used + cost <= budget) {
                used += cost;
                selected.splice(at..=at, tree.children[node].iter().copied());
                continue 'again;
            }
        }
        break;
    }
    selected.into_iter().map(|node| tree.nodes[node]).collect()
}

proptest! {
    #[test]
    fn any_tree_is_selected_as_the_rule_says(
        mut all in prop::collection::vec(any_segment(), 0..16),
        trimmed in prop_oneof![0_u64..40, Just(u64::MAX)],
        budget in prop_oneof![0_u64..200, any::<u64>()],
    ) {
        let selection = select(&all, trimmed, budget);
        let tree = Tree::new(&all);
        prop_assert_eq!(&selection.shown, &by_the_letter(&tree, trimmed, i64::try_from(budget).unwrap_or(i64::MAX)));
        let coverage = Coverage::of(&selection.shown);
        let is_covered = |m: u64| selection.shown.iter().any(|s| (s.message_start..s.message_end).contains(&m));
        prop_assert!((0..50).all(|message| coverage.has(message) == is_covered(message)));
        prop_assert_eq!(coverage.holes_before(50), (0..50).filter(|&message| !is_covered(message)).count() as u64);
        let forward = format!("{selection:?}");
        if all.iter().map(|s| &s.id).collect::<std::collections::HashSet<_>>().len() == all.len() {
            all.reverse();
            prop_assert_eq!(format!("{:?}", select(&all, trimmed, budget)), forward, "the order given changes nothing");
        }
    }
}
