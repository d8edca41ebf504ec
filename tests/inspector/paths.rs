//! What is there: the page's files, two of data, and the contract's RPCs in JSON.

use prost::Message as _;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{ASSEMBLE, HARBOR, JSON, LIST, WATCH, address, browser, http::Caller, rig::Rig, start};

/// The answer to a request that no client would send.
pub(crate) async fn raw(rig: &Rig, head: &str) -> String {
    let mut stream = TcpStream::connect(address(rig)).await.unwrap();
    stream.write_all(format!("{head}\r\nconnection: close\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

async fn get(rig: &Rig, path: &str) -> String {
    raw(rig, &format!("GET {path} HTTP/1.1\r\nhost: localhost")).await
}

#[tokio::test]
async fn each_kind_of_thing_is_asked_for_in_one_way() {
    let rig = start(false).await;
    let caller = browser(&rig);
    for (path, allowed) in [
        ("/", "GET, HEAD"),
        ("/js/main.js", "GET, HEAD"),
        ("/info.json", "GET, HEAD"),
        ("/schema/turn.json", "GET, HEAD"),
        (ASSEMBLE, "POST"),
        (LIST, "POST"),
        (WATCH, "POST"),
    ] {
        for verb in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
            let answer = caller.send(verb, path, &[], "").await;
            let is_allowed = allowed.split(", ").any(|allowed| allowed == verb);
            assert_eq!(answer.status == 405, !is_allowed, "{verb} {path} {answer:?}");
            assert_eq!(answer.header("allow"), if is_allowed { "" } else { allowed }, "{verb} {path}");
            if !is_allowed && verb != "HEAD" {
                let text = String::from_utf8_lossy(&answer.body);
                assert!(text.contains(&allowed.replace(", ", " or ")), "{verb} {path}: {text}");
            }
        }
    }
}

#[tokio::test]
async fn a_path_is_what_it_says_and_nothing_else_is_there() {
    let rig = start(false).await;
    let long = format!("/{}", "x".repeat(63 << 10));
    for path in [
        "/index.html",
        "/js",
        "/js/",
        "/js/main.js/",
        "/JS/main.js",
        "//",
        "//js/main.js",
        "/./js/main.js",
        "/js/../js/main.js",
        "/../../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/js%2fmain.js",
        "/js\\main.js",
        "/js/main.js%00",
        "/metrics",
        "/debug/config",
        "/promptd.v1.PromptService",
        "/promptd.v1.",
        "/PROMPTD.V1.PromptService/AssemblePrompt",
        &long,
    ] {
        let answer = get(&rig, path).await;
        assert!(answer.starts_with("HTTP/1.1 404"), "{path} {answer}");
        assert!(answer.len() < 2_000, "it must not say the path again: {}", answer.len());
    }
    assert!(get(&rig, "/?w=example").await.starts_with("HTTP/1.1 200"));
    // HTTP itself refuses it.
    let too_long = get(&rig, &format!("/{}", "x".repeat(64 << 10))).await;
    assert!(too_long.starts_with("HTTP/1.1 414"), "{too_long}");
}

#[tokio::test]
async fn a_file_has_the_type_of_its_name() {
    let rig = start(false).await;
    for (path, content_type) in [
        ("/", "text/html; charset=utf-8"),
        ("/js/main.js", "text/javascript; charset=utf-8"),
        ("/css/layout.css", "text/css; charset=utf-8"),
        ("/icon.svg", "image/svg+xml"),
        ("/info.json", "application/json"),
        ("/schema/turn.json", "application/json"),
    ] {
        assert_eq!(browser(&rig).send("GET", path, &[], "").await.header("content-type"), content_type, "{path}");
    }
}

#[tokio::test]
async fn calls_come_in_json_alone() {
    let rig = start(false).await;
    for caller in Caller::both(address(&rig)) {
        for content_type in [
            "application/proto",
            "application/connect+proto",
            "application/connect+json",
            "application/grpc",
            "application/grpc+proto",
            "application/grpc-web",
            "application/grpc-web+proto",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            "text/plain",
        ] {
            let answer = caller.send("POST", ASSEMBLE, &[&format!("content-type: {content_type}")], HARBOR).await;
            answer.refused(415, "unimplemented", "UNIMPLEMENTED");
        }
        assert_eq!(
            caller.send("POST", ASSEMBLE, &["content-type: application/json; charset=utf-8"], HARBOR).await.status,
            200
        );
        assert_eq!(caller.send("POST", WATCH, &[JSON], HARBOR).await.status, 415);
    }
}

#[tokio::test]
async fn it_has_the_rpcs_of_the_contract_and_no_others() {
    let rig = start(false).await;
    let set = prost_types::FileDescriptorSet::decode(promptd_contract::proto::DESCRIPTORS).unwrap();
    let mut methods = 0;
    for file in set.file.iter().filter(|file| file.package() == "promptd.v1") {
        for service in &file.service {
            for method in &service.method {
                let path = format!("/promptd.v1.{}/{}", service.name(), method.name());
                let answer = browser(&rig).send("POST", &path, &["content-type: text/plain"], "").await;
                assert_eq!(answer.status, 415, "{path}");
                methods += 1;
            }
        }
    }
    assert!(methods > 10, "{methods}");
    for path in [
        "/grpc.health.v1.Health/Check",
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "/promptd.v2.PromptService/AssemblePrompt",
    ] {
        assert_eq!(browser(&rig).json(path, "{}").await.status, 404, "{path}");
    }
    browser(&rig).json("/promptd.v1.PromptService/Assemble", "{}").await.refused(404, "unimplemented", "UNIMPLEMENTED");
}

#[tokio::test]
async fn the_page_is_at_its_own_address_alone() {
    let rig = start(false).await;
    for caller in Caller::both(rig.addr) {
        for path in ["/js/main.js", "/info.json", "/schema/turn.json"] {
            assert_eq!(caller.send("GET", path, &[], "").await.status, 404, "{path}");
        }
        let about = caller.send("GET", "/", &[], "").await;
        assert_eq!(about.header("content-type"), "text/plain; charset=utf-8");
    }
}
