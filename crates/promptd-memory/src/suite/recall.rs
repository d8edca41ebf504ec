//! What every store must find.

use promptd_core::{
    time::Moment,
    turn::{ConversationMessage, Role, ToolCall},
};

use super::{append, id, said};
use crate::{Recall, Store};

pub(super) fn recalls(store: &dyn Store) {
    let at = |seconds, message| ConversationMessage { time: Some(Moment::new(seconds, 0).unwrap()), ..message };
    append(
        store,
        "s",
        vec![
            at(100, said(Role::User, "0", "The harbour opens at six, the Café at seven")),
            at(200, said(Role::Assistant, "1", "The harbour master keeps the harbour keys")),
            at(300, said(Role::Tool, "2", &format!("{} hidden", "long ".repeat(100)))),
            at(400, said(Role::User, "3", "我明天去北京开会")),
        ],
    );
    append(store, "t", vec![at(500, said(Role::User, "4", "harbour"))]);
    let find = |recall: Recall| {
        let found = store.recall(&id("w"), Recall { limit: recall.limit.max(1), ..recall }).wait().unwrap();
        assert!(found.is_sorted_by(|one, other| one.score >= other.score));
        found.into_iter().map(|found| found.message.message.id).collect::<Vec<_>>()
    };
    let query = |query: &str| Recall { query: query.into(), limit: 10, max_bytes: 1 << 20, ..Recall::default() };
    assert_eq!(find(query("keys of the harbour")).first().unwrap(), "1");
    assert_eq!(find(query("CAFE")), ["0"]);
    assert_eq!(find(query("北京")), ["3"]);
    assert_eq!(find(query("京北")), [""; 0]);
    assert_eq!(find(query("hidden")), [""; 0]);
    assert_eq!(find(query("long")), ["2"]);
    for none in ["", "  \"'*()", "zebra"] {
        assert_eq!(find(query(none)), [""; 0], "{none}");
    }
    let mut all = find(query("harbour"));
    all.sort();
    assert_eq!(all, ["0", "1", "4"]);
    assert_eq!(find(Recall { limit: 1, ..query("harbour") }).len(), 1);
    assert_eq!(find(Recall { max_bytes: 60, ..query("harbour") }).len(), 2);
    assert_eq!(find(Recall { max_bytes: 0, ..query("harbour") }).len(), 1);
    // What a message's calls are given is text of it too.
    let calls = (0..5).map(|number| ConversationMessage {
        tool_calls: vec![ToolCall { arguments_json: "x".repeat(1_000), ..ToolCall::default() }],
        ..said(Role::Assistant, &format!("c{number}"), "lighthouse")
    });
    append(store, "calls", calls.collect());
    assert_eq!(find(Recall { max_bytes: 2_500, ..query("lighthouse") }).len(), 2);
    let in_s = || Recall { session: Some(id("s")), ..query("harbour") };
    assert_eq!(find(in_s()).len(), 2);
    assert_eq!(find(Recall { before: Some(1), ..in_s() }), ["0"]);
    let time = |seconds| Some(Moment::new(seconds, 0).unwrap());
    assert_eq!(find(Recall { since: time(200), until: time(500), ..query("harbour") }), ["1"]);
    assert_eq!(find(query("harbour\" OR \"x* NEAR( ^:")).len(), 3);
}
