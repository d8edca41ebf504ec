//! What every answer carries.

use tonic::codegen::http::Version;

use crate::{
    ALL, ASSEMBLE, HARBOR, JSON, LIST, WATCH, address, browser,
    http::{Answer, Caller},
    start, start_with,
};

const PROTECTION: [(&str, &str); 6] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("x-frame-options", "DENY"),
];

#[track_caller]
fn is_protected(answer: &Answer, cache: &str) {
    for (name, value) in PROTECTION {
        assert_eq!(answer.headers.get_all(name).iter().collect::<Vec<_>>(), [value], "{name} {answer:?}");
    }
    assert_eq!(answer.headers.get_all("cache-control").iter().collect::<Vec<_>>(), [cache], "{answer:?}");
    assert!(answer.headers.keys().all(|name| !name.as_str().starts_with("access-control-")), "{answer:?}");
}

#[tokio::test]
async fn every_answer_is_protected_and_data_is_not_kept() {
    let rig = start(false).await;
    for caller in Caller::both(address(&rig)) {
        for (verb, path, headers, body, status) in [
            ("GET", "/", &[][..], "", 200),
            ("HEAD", "/", &[], "", 200),
            ("GET", "/js/main.js", &[], "", 200),
            ("GET", "/", &["if-none-match: *"], "", 304),
            ("GET", "/info.json", &[], "", 200),
            ("HEAD", "/info.json", &[], "", 200),
            ("GET", "/schema/turn.json", &[], "", 200),
            ("GET", "/nothing", &[], "", 404),
            ("POST", "/", &[], "", 405),
            ("OPTIONS", ASSEMBLE, &[], "", 405),
            ("GET", LIST, &[], "", 405),
            ("POST", ASSEMBLE, &[JSON], HARBOR, 200),
            ("POST", ASSEMBLE, &[JSON], "{", 400),
            ("POST", ASSEMBLE, &[JSON], r#"{"workspaceId": "no-such"}"#, 404),
            ("POST", "/promptd.v1.PromptService/Nothing", &[JSON], "{}", 404),
            ("POST", ASSEMBLE, &["content-type: text/plain"], HARBOR, 415),
            ("POST", ASSEMBLE, &["content-type: application/grpc"], "", 415),
            ("GET", "/", &["origin: http://evil.example"], "", 403),
            ("GET", "/info.json", &["sec-fetch-site: cross-site"], "", 403),
            // A stream, which ends with an error in itself.
            ("POST", WATCH, &["content-type: application/connect+json"], "\0\0\0\0\x01{", 200),
        ] {
            let answer = caller.send(verb, path, headers, body).await;
            assert_eq!(answer.status, status, "{verb} {path} {headers:?} {answer:?}");
            let is_file =
                !path.contains("json") && (status == 304 || path != WATCH && path != ASSEMBLE && status == 200);
            is_protected(&answer, if is_file { "no-cache" } else { "no-store" });
        }
    }
    let mut caller = browser(&rig);
    caller.host = "evil.example".to_owned();
    let answer = caller.send("GET", "/", &[], "").await;
    assert_eq!(answer.status, 403);
    is_protected(&answer, "no-store");

    let rig = start(true).await;
    let answer = browser(&rig).json(ASSEMBLE, HARBOR).await;
    answer.refused(401, "unauthenticated", "TOKEN_MISSING");
    is_protected(&answer, "no-store");
    is_protected(&browser(&rig).send("POST", ASSEMBLE, &[JSON, ALL], HARBOR).await, "no-store");
}

#[tokio::test]
async fn an_answer_that_a_connection_has_no_room_for_is_protected_too() {
    let whole = browser(&start(false).await).json(ASSEMBLE, HARBOR).await.body.len();
    // An eighth of it is a connection's, and an answer counts 2 KiB more.
    let rig = start_with(false, |setup| setup.options.max_unsent_bytes = 8 * (whole + 2_047)).await;
    let answer = browser(&rig).json(ASSEMBLE, HARBOR).await;
    answer.refused(429, "resource_exhausted", "CONNECTION_FULL");
    is_protected(&answer, "no-store");
}

#[tokio::test]
async fn the_page_answers_while_workspaces_are_loaded_and_calls_do_not() {
    let rig = start_with(false, |setup| setup.ready = false).await;
    let caller = browser(&rig);
    assert_eq!(caller.send("GET", "/", &[], "").await.status, 200);
    let answer = caller.json(ASSEMBLE, HARBOR).await;
    answer.refused(503, "unavailable", "STARTING");
    is_protected(&answer, "no-store");
    rig.lifecycle.ready();
    assert_eq!(caller.json(ASSEMBLE, HARBOR).await.status, 200);
}

#[tokio::test]
async fn a_file_that_has_not_changed_is_not_sent_again() {
    let rig = start(false).await;
    let caller = browser(&rig);
    for path in ["/", "/js/main.js"] {
        let first = caller.send("GET", path, &[], "").await;
        let etag = first.header("etag").to_owned();
        assert!(etag.starts_with('"') && etag.ends_with('"') && etag.len() > 30, "{etag}");
        let again = caller.send("GET", path, &[&format!("if-none-match: {etag}")], "").await;
        assert_eq!((again.status.as_u16(), again.header("etag"), again.body.len()), (304, &*etag, 0));
        let other = caller.send("GET", path, &["if-none-match: \"0\""], "").await;
        assert_eq!((other.status.as_u16(), other.body), (200, first.body));
    }
}

#[tokio::test]
async fn a_head_is_that_of_the_file() {
    let rig = start(false).await;
    for version in [Version::HTTP_11, Version::HTTP_2] {
        let caller = Caller::new(address(&rig), version);
        for path in ["/", "/js/main.js", "/info.json"] {
            let (whole, head) = (caller.send("GET", path, &[], "").await, caller.send("HEAD", path, &[], "").await);
            assert_eq!(head.header("content-length"), whole.body.len().to_string(), "{path}");
            assert_eq!((head.body.len(), head.header("etag")), (0, whole.header("etag")));
        }
    }
}
