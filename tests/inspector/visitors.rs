//! Who may ask: the page itself, a reader who opens it, and programs; no other page, by whichever name it calls.

use promptd::grpc::Host;

use crate::{ALL, ASSEMBLE, HARBOR, JSON, browser, http::Caller, rig::Rig, start_with};

async fn start(tokens: bool) -> Rig {
    start_with(tokens, |setup| setup.options.hosts = vec![Host::parse("promptd.internal").unwrap()]).await
}

/// What comes of a request for each kind of thing: a call, a file, and data.
async fn ask(rig: &Rig, caller: &Caller, headers: &[&str]) -> [u16; 3] {
    let calls = rig.seen.calls().len();
    let answers = [
        caller.send("POST", ASSEMBLE, &[&[JSON, ALL][..], headers].concat(), HARBOR).await,
        caller.send("GET", "/", headers, "").await,
        caller.send("GET", "/info.json", headers, "").await,
    ];
    let statuses = answers.each_ref().map(|answer| answer.status.as_u16());
    // A refused one is not a call, and its answer says nothing of a prompt.
    assert_eq!(rig.seen.calls().len() - calls, usize::from(statuses[0] == 200), "{headers:?}");
    assert!(statuses[0] == 200 || !String::from_utf8_lossy(&answers[0].body).contains("Calm."), "{headers:?}");
    statuses
}

const ALLOWED: [u16; 3] = [200; 3];
const REFUSED: [u16; 3] = [403; 3];

#[tokio::test]
async fn a_name_that_is_not_the_servers_is_refused() {
    for tokens in [false, true] {
        let rig = start(tokens).await;
        for mut caller in Caller::both(crate::address(&rig)) {
            let port = crate::address(&rig).port();
            for (host, expected) in [
                ("localhost", ALLOWED),
                ("LOCALHOST", ALLOWED),
                ("127.0.0.1", ALLOWED),
                ("127.9.9.9", ALLOWED),
                ("[::1]", ALLOWED),
                ("promptd.internal", ALLOWED),
                ("Promptd.Internal", ALLOWED),
                ("evil.example", REFUSED),
                ("localhost.evil.example", REFUSED),
                ("127.0.0.1.evil.example", REFUSED),
                ("promptd.internal.evil.example", REFUSED),
                ("10.0.0.6", REFUSED),
                ("0.0.0.0", REFUSED),
            ] {
                for host in [format!("{host}:{port}"), format!("{host}:1"), host.to_owned()] {
                    caller.host = host;
                    assert_eq!(ask(&rig, &caller, &[]).await, expected, "{} {tokens}", caller.host);
                }
            }
        }
    }
}

#[tokio::test]
async fn the_name_is_that_of_the_address_or_else_of_the_header_and_there_must_be_one() {
    let rig = start(false).await;
    for (head, status) in [
        ("GET / HTTP/1.1\r\nhost: localhost", 200),
        ("GET / HTTP/1.0", 403),
        ("GET / HTTP/1.1\r\nhost: ", 403),
        ("GET / HTTP/1.1\r\nhost: evil.example/@localhost", 403),
        ("GET http://evil.example/ HTTP/1.1\r\nhost: localhost", 403),
        ("GET http://localhost/ HTTP/1.1\r\nhost: localhost", 200),
    ] {
        let answer = crate::paths::raw(&rig, head).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")) || answer.starts_with(&format!("HTTP/1.0 {status}")),
            "{head} {answer}"
        );
    }
}

#[tokio::test]
async fn a_page_of_another_origin_is_refused() {
    for tokens in [false, true] {
        let rig = start(tokens).await;
        let mut caller = browser(&rig);
        let port = crate::address(&rig).port();
        for host in ["127.0.0.1", "localhost", "promptd.internal"] {
            caller.host = format!("{host}:{port}");
            let own = format!("origin: http://{host}:{port}");
            assert_eq!(ask(&rig, &caller, &[&own]).await, ALLOWED, "{own}");
            for other in [
                "http://evil.example".to_owned(),
                "null".to_owned(),
                String::new(),
                format!("https://{host}:{port}"),
                format!("http://{host}"),
                format!("http://{host}:{}", port - 1),
                format!("http://{host}:{port}/"),
                format!("http://{host}:{port}.evil.example"),
                format!("http://[::1]:{port}"),
            ] {
                let other = format!("origin: {other}");
                assert_eq!(ask(&rig, &caller, &[&other]).await, REFUSED, "{other} {tokens}");
                assert_eq!(ask(&rig, &caller, &[&own, &other]).await, REFUSED, "{own} {other}");
            }
        }
    }
}

#[tokio::test]
async fn the_origin_of_a_grpc_web_page_is_not_the_inspectors() {
    use promptd::grpc::{Origin, Origins};
    let listed = Origins::Listed(vec![Origin::parse("https://app.example").unwrap()]);
    for web in [listed, Origins::Any] {
        let rig = start_with(false, |setup| setup.options.web = Some(web.clone())).await;
        assert_eq!(ask(&rig, &browser(&rig), &["origin: https://app.example"]).await, REFUSED, "{web:?}");
        let preflight = ["origin: https://app.example", "access-control-request-method: POST"];
        assert_eq!(browser(&rig).send("OPTIONS", ASSEMBLE, &preflight, "").await.status, 403, "{web:?}");
    }
}

#[tokio::test]
async fn what_a_browser_says_of_the_page_that_asks_is_believed() {
    const LINK: [&str; 2] = ["sec-fetch-mode: navigate", "sec-fetch-dest: document"];
    for tokens in [false, true] {
        let rig = start(tokens).await;
        let caller = browser(&rig);
        for (headers, expected) in [
            (vec!["sec-fetch-site: same-origin"], ALLOWED),
            (vec!["sec-fetch-site: none"], ALLOWED),
            (vec!["sec-fetch-site: same-site"], REFUSED),
            (vec!["sec-fetch-site: cross-site"], REFUSED),
            (vec!["sec-fetch-site: "], REFUSED),
            (vec!["sec-fetch-site: none", "sec-fetch-site: cross-site"], REFUSED),
            // A link that is followed, which shows the page to its reader alone.
            ([&["sec-fetch-site: cross-site"][..], &LINK].concat(), [403, 200, 403]),
            ([&["sec-fetch-site: same-site"][..], &LINK].concat(), [403, 200, 403]),
            (vec!["sec-fetch-site: cross-site", "sec-fetch-mode: navigate"], REFUSED),
            (vec!["sec-fetch-site: cross-site", "sec-fetch-mode: navigate", "sec-fetch-dest: iframe"], REFUSED),
            (vec!["sec-fetch-site: cross-site", "sec-fetch-mode: no-cors", "sec-fetch-dest: document"], REFUSED),
            ([&["sec-fetch-site: cross-site", "origin: http://evil.example"][..], &LINK].concat(), REFUSED),
        ] {
            assert_eq!(ask(&rig, &caller, &headers).await, expected, "{headers:?} {tokens}");
        }
        let from_elsewhere = [&["sec-fetch-site: cross-site"][..], &LINK].concat();
        for (verb, path) in [("POST", "/"), ("GET", "/js/main.js"), ("GET", "/nothing"), ("HEAD", "/")] {
            assert_eq!(caller.send(verb, path, &from_elsewhere, "").await.status, 403, "{verb} {path}");
        }
    }
}
