//! With tokens: the page itself is anyone's, and shows what the reader's token may see.

use promptd_core::workspace::MemoryTree;
use serde_json::json;

use crate::{ALL, ASSEMBLE, HARBOR, JSON, LIST, ONE, WATCH, browser, start};

#[tokio::test]
async fn the_page_says_whether_it_needs_a_token_and_needs_none_itself() {
    for tokens in [false, true] {
        let rig = start(tokens).await;
        let caller = browser(&rig);
        let info = caller.send("GET", "/info.json", &[], "").await.json();
        assert_eq!(info, json!({"version": env!("CARGO_PKG_VERSION"), "needsToken": tokens, "hasMemory": false}));
        for path in ["/", "/js/main.js", "/schema/turn.json"] {
            assert_eq!(caller.send("GET", path, &[], "").await.status, 200, "{path}");
        }
        assert_eq!(caller.json(ASSEMBLE, HARBOR).await.status == 200, !tokens);
    }
}

#[tokio::test]
async fn calls_show_what_the_token_may_see() {
    let rig = start(true).await;
    rig.publish("secret", MemoryTree::new().file("SOUL.md", "Hidden.\n"));
    let caller = browser(&rig);
    let ids = async |token| {
        let list = caller.send("POST", LIST, &[JSON, token], "{}").await.json();
        list["workspaces"].as_array().unwrap().iter().map(|one| one["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(ALL).await, ["harbor", "secret"]);
    assert_eq!(ids(ONE).await, ["harbor"]);
    let secret = r#"{"workspaceId": "secret"}"#;
    assert_eq!(caller.send("POST", ASSEMBLE, &[JSON, ALL], secret).await.status, 200);
    let refused = caller.send("POST", ASSEMBLE, &[JSON, ONE], secret).await;
    refused.refused(403, "permission_denied", "WORKSPACE_FORBIDDEN");
    assert!(!String::from_utf8_lossy(&refused.body).contains("Hidden"));
    for token in [
        "authorization: Bearer operator-token-0002",
        "authorization: operator-token-0001",
        "cookie: token=operator-token-0001",
    ] {
        assert_eq!(caller.send("POST", LIST, &[JSON, token], "{}").await.status, 401, "{token}");
    }
    let watch = caller.send("POST", WATCH, &["content-type: application/connect+json"], "\0\0\0\0\x02{}").await;
    assert!(String::from_utf8_lossy(&watch.body).contains("unauthenticated"), "{watch:?}");
}
