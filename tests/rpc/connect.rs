//! The Connect protocol, as clients of it and curl send it.

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use bytes::{Buf as _, Bytes, BytesMut};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use http_body_util::BodyExt as _;
use promptd::grpc::{Access, Options, Origin, Origins, Tokens};
use promptd_contract::{json, proto};
use prost::Message as _;
use prost_reflect::DynamicMessage;
use serde_json::{Value, json};
use tonic::codegen::http::Version;

use crate::{
    http::{Caller, detail},
    rig::{PATIENCE, Rig, Setup, ask, ask_with, harbor},
};

const ASSEMBLE: &str = "/promptd.v1.PromptService/AssemblePrompt";
const WATCH: &str = "/promptd.v1.WorkspaceService/WatchWorkspace";
const READ: &str = "/promptd.v1.WorkspaceService/ReadSkill";
const LIST: &str = "/promptd.v1.WorkspaceService/ListWorkspaces";
const GET: &str = "/promptd.v1.WorkspaceService/GetWorkspace";
const TOKEN: &str = "0123456789abcdef0123456789abcdef";

async fn with(change: impl FnOnce(&mut Options)) -> Rig {
    let mut setup = Setup::default();
    change(&mut setup.options);
    Rig::start_with(setup).await
}

fn http1(rig: &Rig) -> Caller {
    Caller::new(rig.addr, Version::HTTP_11)
}

#[tokio::test]
async fn a_prompt_is_what_grpc_gives_in_json_and_in_bytes_over_both_versions() {
    let rig = Rig::start().await;
    let request = proto::AssemblePromptRequest {
        turn: Some(proto::Turn {
            user: Some(proto::User { name: "Dana".into(), ..Default::default() }),
            ..Default::default()
        }),
        include_spans: true,
        ..ask()
    };
    let prompt = rig.prompts().await.assemble_prompt(request.clone()).await.unwrap().into_inner();
    let response = json::descriptors().get_message_by_name("promptd.v1.AssemblePromptResponse").unwrap();
    for caller in Caller::both(rig.addr) {
        for body in [
            r#"{"workspaceId": "harbor", "turn": {"user": {"name": "Dana"}}, "includeSpans": true}"#,
            r#"{"workspace_id": "harbor", "turn": {"user": {"name": "Dana"}}, "include_spans": true}"#,
        ] {
            let answer = caller.json(ASSEMBLE, body).await;
            assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, "application/json"));
            assert_eq!(answer.header("x-request-id").len(), 32);
            let mut document = serde_json::Deserializer::from_slice(&answer.body);
            let read = DynamicMessage::deserialize(response.clone(), &mut document).unwrap();
            assert_eq!(read.transcode_to::<proto::AssemblePromptResponse>().unwrap(), prompt);
        }
        let headers = ["content-type: application/proto", "connect-protocol-version: 1"];
        let answer = caller.send("POST", ASSEMBLE, &headers, request.encode_to_vec()).await;
        assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, "application/proto"));
        assert_eq!(proto::AssemblePromptResponse::decode(answer.body).unwrap(), prompt);
    }
    assert!(rig.seen.calls().iter().all(|call| *call == ("promptd.v1.PromptService/AssemblePrompt", "OK")));
}

#[tokio::test]
async fn large_messages_are_read_and_written_too() {
    let rig = Rig::start().await;
    let persona = "Calm. ".repeat(30_000);
    let turn = proto::Turn { persona: Some(persona.clone()), ..Default::default() };
    let prompt = rig.prompts().await.assemble_prompt(ask_with(turn)).await.unwrap().into_inner();
    let body = json!({ "workspaceId": "harbor", "turn": { "persona": persona } }).to_string();
    for caller in Caller::both(rig.addr) {
        let answer = caller.json(ASSEMBLE, &body).await;
        assert_eq!(answer.json()["digest"], prompt.digest, "{:?}", answer.status);
    }
}

/// The rows between two marks of a document's table, each cell without its code marks.
fn rows(document: &str, mark: &str) -> Vec<Vec<String>> {
    let (_, rest) = document.split_once(&format!("<!-- {mark}:begin -->")).unwrap();
    let (table, _) = rest.split_once(&format!("<!-- {mark}:end -->")).unwrap();
    let cells = |row: &str| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    table.lines().filter(|line| line.starts_with('|')).skip(2).map(cells).collect()
}

#[tokio::test]
async fn mistakes_are_answered_as_the_manual_says() {
    let rig = Rig::start().await;
    let rows = rows(include_str!("../../docs/connect.md"), "mistakes");
    assert!(rows.len() >= 10);
    for row in rows {
        let code = |cell: &str| cell.trim_matches('`').to_owned();
        let [request, field, said] = row.try_into().unwrap();
        let error =
            http1(&rig).json(ASSEMBLE, &code(&request)).await.refused(400, "invalid_argument", "INVALID_REQUEST");
        let violations = &detail(&error, "BadRequest")["fieldViolations"];
        let told =
            (violations[0]["field"].as_str().unwrap_or_default(), violations[0]["description"].as_str().unwrap());
        assert_eq!(told, (code(&field).as_str(), said.as_str()), "{request}");
        assert_eq!(violations.as_array().unwrap().len(), 1, "{request}");
    }
}

#[tokio::test]
async fn details_are_there_for_programs_and_to_read() {
    let rig = Rig::start().await;
    let answer = http1(&rig).json(ASSEMBLE, r#"{"workspaceId": "harbour"}"#).await;
    let error = answer.refused(404, "not_found", "WORKSPACE_NOT_FOUND");
    assert_eq!(detail(&error, "ResourceInfo")["resourceName"], "harbour");
    for detail in error["details"].as_array().unwrap() {
        let message = json::descriptors().get_message_by_name(detail["type"].as_str().unwrap()).unwrap();
        let bytes = STANDARD_NO_PAD.decode(detail["value"].as_str().unwrap()).unwrap();
        let debug: Value = serde_json::from_slice(&json::write(&message, &bytes).unwrap()).unwrap();
        assert_eq!(debug, detail["debug"]);
    }
    rig.publish("harbor", harbor().file("workspace.yaml", "skills: 5\n"));
    rig.publish("broken", harbor().file("workspace.yaml", "skills: 5\n"));
    let broken = http1(&rig).json(ASSEMBLE, r#"{"workspaceId": "broken"}"#).await;
    broken.refused(400, "failed_precondition", "WORKSPACE_INVALID");
}

#[tokio::test]
async fn what_only_shows_is_read_by_get_and_a_turn_is_not() {
    let rig = Rig::start().await;
    for caller in Caller::both(rig.addr) {
        let listed = caller.send("GET", LIST, &[], "").await;
        assert_eq!(listed.json()["workspaces"][0]["id"], "harbor");
        assert_eq!(listed.header("cache-control"), "no-store");
        let query = "?connect=v1&encoding=json&message=%7B%22workspaceId%22%3A%22harbor%22%7D";
        assert_eq!(caller.send("GET", &format!("{GET}{query}"), &[], "").await.json()["workspace"]["id"], "harbor");
        let request =
            proto::GetWorkspaceRequest { workspace_id: "harbor".into(), ..Default::default() }.encode_to_vec();
        let query = format!("?encoding=proto&base64=1&message={}", STANDARD_NO_PAD.encode(request));
        let answer = caller.send("GET", &format!("{GET}{query}"), &[], "").await;
        assert_eq!(answer.header("content-type"), "application/proto");
        assert_eq!(proto::GetWorkspaceResponse::decode(answer.body).unwrap().workspace.unwrap().id, "harbor");

        let misspelt = format!("{LIST}?message=%7B%22pagesize%22%3A1%2C%22page%22%3A2%7D");
        let error = caller.send("GET", &misspelt, &[], "").await.refused(400, "invalid_argument", "INVALID_REQUEST");
        let fields = detail(&error, "BadRequest")["fieldViolations"].as_array().unwrap().iter();
        assert_eq!(fields.map(|violation| &violation["field"]).collect::<Vec<_>>(), ["pagesize", "page"]);
        for bad in ["?connect=v2", "?encoding=xml", "?base64=1&message=*"] {
            caller.send("GET", &format!("{LIST}{bad}"), &[], "").await.refused(
                400,
                "invalid_argument",
                "INVALID_REQUEST",
            );
        }
        for path in [ASSEMBLE, READ, WATCH] {
            let answer = caller.send("GET", &format!("{path}?message=%7B%7D"), &[], "").await;
            answer.refused(405, "unimplemented", "UNIMPLEMENTED");
            assert_eq!(answer.header("allow"), "POST");
        }
    }
}

#[tokio::test]
async fn an_id_that_is_missing_is_said_to_be() {
    let rig = Rig::start().await;
    let caller = Caller::new(rig.addr, Version::HTTP_11);
    let grammar = "must be 1 to 64 of A-Z a-z 0-9 . _ -, and begin with a letter or digit";
    for (path, body, field) in [
        (ASSEMBLE, "{}", "workspace_id"),
        (ASSEMBLE, r#"{"workspaceId": ""}"#, "workspace_id"),
        ("/promptd.v1.WorkspaceService/GetWorkspace", "{}", "workspace_id"),
        ("/promptd.v1.ProfileService/GetProfile", "{}", "name"),
    ] {
        let error = caller.json(path, body).await.refused(400, "invalid_argument", "INVALID_REQUEST");
        let message = format!("invalid request: {field}: is missing or empty: it {grammar}");
        assert_eq!(error["message"], message, "{path} {body}");
    }
    let error = caller.json(ASSEMBLE, r#"{"workspaceId": "../x"}"#).await;
    let error = error.refused(400, "invalid_argument", "INVALID_REQUEST");
    assert_eq!(error["message"], format!("invalid request: workspace_id: {grammar}"));
    for (method, kind) in [("ReadSkill", "skill"), ("ReadFile", "file")] {
        let path = format!("/promptd.v1.WorkspaceService/{method}");
        let answer = caller.json(&path, r#"{"workspaceId": "harbor"}"#).await;
        let error = answer.refused(404, "not_found", &format!("{}_NOT_FOUND", kind.to_uppercase()));
        assert_eq!(error["message"], format!("the request names no {kind}"));
    }
}

#[tokio::test]
async fn what_is_no_call_is_answered_in_terms_of_http() {
    const REFLECTION: &str = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
    let rig = Rig::start().await;
    for caller in Caller::both(rig.addr) {
        let about = caller.send("GET", "/", &[], "").await;
        assert_eq!((about.status.as_u16(), about.header("content-type")), (200, "text/plain; charset=utf-8"));
        assert_eq!(String::from_utf8_lossy(&about.body).lines().count(), 1);
        assert!(caller.send("HEAD", "/", &[], "").await.status.is_success());

        for (verb, path) in [("GET", "/favicon.ico"), ("POST", "/"), ("PUT", "/no.such.Service/Call"), ("POST", "/x")] {
            caller.send(verb, path, &[], "").await.refused(404, "unimplemented", "UNIMPLEMENTED");
        }
        let misspelt = caller.json("/promptd.v1.PromptService/AssembleProm", "{}").await;
        let error = misspelt.refused(404, "unimplemented", "UNIMPLEMENTED");
        assert!(
            error["message"].as_str().unwrap().ends_with("did you mean `promptd.v1.PromptService/AssemblePrompt`?")
        );

        for (path, verb, allowed) in [
            (ASSEMBLE, "PUT", "POST"),
            (LIST, "DELETE", "GET, POST"),
            (WATCH, "OPTIONS", "POST"),
            (REFLECTION, "GET", "POST"),
        ] {
            let answer = caller.send(verb, path, &[], "").await;
            let error = answer.refused(405, "unimplemented", "UNIMPLEMENTED");
            assert_eq!(answer.header("allow"), allowed);
            assert_eq!(error["message"], format!("this is called by {}", allowed.replace(", ", " or ")));
        }

        for (path, given, accepted) in [
            (ASSEMBLE, "application/x-www-form-urlencoded", "application/json, application/proto"),
            (ASSEMBLE, "application/connect+json", "application/json, application/proto"),
            (WATCH, "application/json", "application/connect+json, application/connect+proto"),
            (REFLECTION, "application/json", "application/grpc"),
        ] {
            let answer = caller.send("POST", path, &[&format!("content-type: {given}")], "{}").await;
            let error = answer.refused(415, "unimplemented", "UNIMPLEMENTED");
            assert!(answer.header("accept-post").starts_with(accepted), "{answer:?}");
            assert!(error["message"].as_str().unwrap().contains(given), "{error}");
        }
    }
    let grpc = http1(&rig).send("POST", ASSEMBLE, &["content-type: application/grpc"], "").await;
    grpc.refused(505, "unimplemented", "UNIMPLEMENTED");
    // Only the misspelt calls were calls.
    assert_eq!(rig.seen.calls(), [("other", "UNIMPLEMENTED"); 2]);
}

#[tokio::test]
async fn a_token_is_asked_for_before_the_message_is_read() {
    let file = format!("tokens: [{{name: desk, token: {TOKEN}, workspaces: [harbor]}}]");
    let access = Access::with(Tokens::parse(&file, "tokens.yaml").unwrap());
    let rig = Rig::start_with(Setup { access, ..Setup::default() }).await;
    let caller = http1(&rig);
    for path in [ASSEMBLE, "/no.such.Service/Call"] {
        caller.json(path, "not JSON").await.refused(401, "unauthenticated", "TOKEN_MISSING");
    }
    caller.send("GET", LIST, &[], "").await.refused(401, "unauthenticated", "TOKEN_MISSING");
    let bearer = format!("authorization: Bearer {TOKEN}");
    let headers = ["content-type: application/json", &bearer];
    let call = |body: &'static str| caller.send("POST", ASSEMBLE, &headers, body);
    call("not JSON").await.refused(400, "invalid_argument", "INVALID_REQUEST");
    call(r#"{"workspaceId": "other"}"#).await.refused(403, "permission_denied", "WORKSPACE_FORBIDDEN");
    assert_eq!(call(r#"{"workspaceId": "harbor"}"#).await.status, 200);
    assert_eq!(caller.json("/grpc.health.v1.Health/Check", "{}").await.json()["status"], "SERVING");
}

#[tokio::test]
async fn a_deadline_ends_the_call() {
    let rig = Rig::start().await;
    let slow = rig.disk.slow.lock().await;
    for caller in Caller::both(rig.addr) {
        let headers = ["content-type: application/json", "connect-timeout-ms: 50"];
        let answer = caller.send("POST", READ, &headers, r#"{"workspaceId": "harbor", "name": "git"}"#).await;
        answer.refused(504, "deadline_exceeded", "DEADLINE_EXCEEDED");
    }
    drop(slow);
    for bad in ["1s", "-1", "12345678901"] {
        let headers = ["content-type: application/json", &format!("connect-timeout-ms: {bad}")];
        let error = http1(&rig).send("POST", ASSEMBLE, &headers, "{}").await.refused(
            400,
            "invalid_argument",
            "INVALID_REQUEST",
        );
        assert_eq!(detail(&error, "BadRequest")["fieldViolations"][0]["field"], "connect-timeout-ms");
    }
    let headers = ["content-type: application/json", "connect-protocol-version: 2"];
    http1(&rig).send("POST", ASSEMBLE, &headers, "{}").await.refused(400, "invalid_argument", "INVALID_REQUEST");
}

#[tokio::test]
async fn a_message_over_the_limit_is_told_the_limit() {
    let rig = with(|options| options.max_message_bytes = 10_000).await;
    let body = |chars: usize| {
        let (head, tail) = (r#"{"workspaceId": "harbor", "turn": {"persona": ""#, r#""}}"#);
        format!("{head}{}{tail}", "p".repeat(chars - head.len() - tail.len()))
    };
    assert_eq!(http1(&rig).json(ASSEMBLE, &body(10_000)).await.status, 200);
    for caller in Caller::both(rig.addr) {
        let error = caller.json(ASSEMBLE, &body(10_001)).await.refused(429, "resource_exhausted", "MESSAGE_TOO_LARGE");
        assert!(error["message"].as_str().unwrap().contains("10000 bytes"), "{error}");
    }
    // Numbers are larger in protobuf than in JSON.
    let numbers =
        format!(r#"{{"workspaceId": "harbor", "turn": {{"inputs": {{"n": [{}]}}}}}}"#, vec!["1"; 1_000].join(","));
    http1(&rig).json(ASSEMBLE, &numbers).await.refused(429, "resource_exhausted", "MESSAGE_TOO_LARGE");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    std::io::Write::write_all(&mut encoder, bytes).unwrap();
    encoder.finish().unwrap()
}

fn gunzip(bytes: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    std::io::Read::read_to_end(&mut GzDecoder::new(bytes), &mut message).unwrap();
    message
}

#[tokio::test]
async fn compression_is_taken_and_given_where_it_is_configured() {
    let body = br#"{"workspaceId": "harbor"}"#;
    let headers = ["content-type: application/json", "content-encoding: gzip", "accept-encoding: br, gzip"];
    let plain = Rig::start().await;
    let error = http1(&plain).send("POST", ASSEMBLE, &headers, gzip(body)).await;
    let error = error.refused(501, "unimplemented", "UNIMPLEMENTED");
    assert!(error["message"].as_str().unwrap().contains("`grpc.gzip`"), "{error}");
    let answer = http1(&plain).send("POST", ASSEMBLE, &[headers[0], headers[2]], &body[..]).await;
    assert_eq!((answer.status.as_u16(), answer.header("content-encoding")), (200, ""));

    let rig = with(|options| {
        options.gzip = true;
        options.max_message_bytes = 10_000;
    })
    .await;
    for caller in Caller::both(rig.addr) {
        let answer = caller.send("POST", ASSEMBLE, &headers, gzip(body)).await;
        assert_eq!((answer.status.as_u16(), answer.header("content-encoding")), (200, "gzip"));
        let prompt: Value = serde_json::from_slice(&gunzip(&answer.body)).unwrap();
        assert_eq!(prompt["messages"][0]["name"], "skeleton");
        let bomb = gzip(&b" ".repeat(1 << 20));
        caller.send("POST", ASSEMBLE, &headers, bomb).await.refused(429, "resource_exhausted", "MESSAGE_TOO_LARGE");
        let other = ["content-type: application/json", "content-encoding: br"];
        let error = caller.send("POST", ASSEMBLE, &other, "x").await.refused(501, "unimplemented", "UNIMPLEMENTED");
        assert!(error["message"].as_str().unwrap().ends_with("supported encodings: gzip, identity"), "{error}");
    }
    let headers =
        ["content-type: application/connect+json", "connect-content-encoding: gzip", "connect-accept-encoding: gzip"];
    let mut watch = Watch::begin(&rig, Version::HTTP_2, &headers, envelope(1, &gzip(body))).await;
    let (flags, message) = watch.next().await.unwrap();
    let state: Value = serde_json::from_slice(&gunzip(&message)).unwrap();
    assert_eq!((flags, state["workspace"]["id"].as_str()), (1, Some("harbor")));
}

fn envelope(flags: u8, message: &[u8]) -> Vec<u8> {
    [&[flags][..], &u32::try_from(message.len()).unwrap().to_be_bytes(), message].concat()
}

/// An open stream.
struct Watch {
    body: hyper::body::Incoming,
    waiting: BytesMut,
}

impl Watch {
    async fn begin(rig: &Rig, version: Version, headers: &[&str], body: Vec<u8>) -> Self {
        let response = Caller::new(rig.addr, version).begin("POST", WATCH, headers, body).await.unwrap();
        assert_eq!(
            (response.status().as_u16(), &response.headers()["content-type"]),
            (200, &headers[0][14..].parse().unwrap())
        );
        Self { body: response.into_body(), waiting: BytesMut::new() }
    }

    async fn json(rig: &Rig, version: Version, headers: &[&str]) -> Self {
        let headers = [&["content-type: application/connect+json"], headers].concat();
        Self::begin(rig, version, &headers, envelope(0, br#"{"workspaceId": "harbor"}"#)).await
    }

    /// The next message and its flags; `None`: nothing comes any more.
    async fn next(&mut self) -> Option<(u8, Bytes)> {
        loop {
            if let Some((&flags, rest)) = self.waiting.split_first()
                && let Some((length, rest)) = rest.split_first_chunk()
                && let length = u32::from_be_bytes(*length) as usize
                && rest.len() >= length
            {
                self.waiting.advance(5);
                return Some((flags, self.waiting.split_to(length).freeze()));
            }
            let frame = tokio::time::timeout(PATIENCE, self.body.frame()).await.unwrap()?.unwrap();
            self.waiting.extend_from_slice(&frame.into_data().unwrap());
        }
    }

    async fn message(&mut self) -> Value {
        let (flags, message) = self.next().await.unwrap();
        assert_eq!(flags, 0);
        serde_json::from_slice(&message).unwrap()
    }

    /// How it ended, with nothing after it.
    async fn end(&mut self) -> Value {
        let (flags, message) = self.next().await.unwrap();
        assert_eq!((flags, self.next().await), (2, None));
        serde_json::from_slice(&message).unwrap()
    }
}

#[tokio::test]
async fn a_watch_follows_a_workspace_to_its_end() {
    for version in [Version::HTTP_11, Version::HTTP_2] {
        let rig = Rig::start().await;
        let mut watch = Watch::json(&rig, version, &[]).await;
        let first = watch.message().await;
        assert_eq!(first["workspace"]["id"], "harbor");
        rig.publish("harbor", harbor().file("SOUL.md", "Lively.\n"));
        let second = watch.message().await;
        assert_eq!(second["changedPaths"], json!(["SOUL.md"]));
        assert_ne!(second["workspace"]["revision"], first["workspace"]["revision"]);
        rig.remove("harbor");
        assert_eq!(watch.message().await["deleted"], true);
        assert_eq!(watch.end().await, json!({}));
        assert_eq!(rig.seen.has_ended("WatchWorkspace").await, "OK");
    }
}

#[tokio::test]
async fn a_stream_says_why_it_ends() {
    let rig = Rig::start().await;
    for (body, code, reason) in [
        (envelope(0, br#"{"workspaceId": "nowhere"}"#), "not_found", "WORKSPACE_NOT_FOUND"),
        (envelope(0, br#"{"workspace": "harbor"}"#), "invalid_argument", "INVALID_REQUEST"),
        (envelope(1, &gzip(b"{}")), "invalid_argument", "REQUEST_UNREADABLE"),
        (envelope(8, b"{}"), "invalid_argument", "REQUEST_UNREADABLE"),
        ([envelope(0, b"{}"), envelope(0, b"{}")].concat(), "unimplemented", "UNIMPLEMENTED"),
        (Vec::new(), "canceled", "REQUEST_INCOMPLETE"),
        (envelope(0, b"{}")[..6].to_vec(), "canceled", "REQUEST_INCOMPLETE"),
    ] {
        let mut watch = Watch::begin(&rig, Version::HTTP_11, &["content-type: application/connect+json"], body).await;
        let error = watch.end().await["error"].take();
        assert_eq!((error["code"].as_str(), &detail(&error, "ErrorInfo")["reason"]), (Some(code), &json!(reason)));
    }
    let mut late = Watch::json(&rig, Version::HTTP_2, &["connect-timeout-ms: 2000"]).await;
    late.message().await;
    assert_eq!(late.end().await["error"]["code"], "deadline_exceeded");

    let mut watch = Watch::json(&rig, Version::HTTP_11, &[]).await;
    watch.message().await;
    rig.lifecycle.drain();
    let error = watch.end().await["error"].take();
    assert_eq!(error["code"], "unavailable");
    assert_eq!(detail(&error, "ErrorInfo")["reason"], "DRAINING");
    assert_eq!(detail(&error, "RetryInfo")["retryDelay"], "1s");
}

#[tokio::test]
async fn a_stream_in_bytes_carries_messages_of_the_contract() {
    let rig = Rig::start().await;
    let request = proto::WatchWorkspaceRequest { workspace_id: "harbor".into(), ..Default::default() };
    let headers = ["content-type: application/connect+proto"];
    let mut watch = Watch::begin(&rig, Version::HTTP_11, &headers, envelope(0, &request.encode_to_vec())).await;
    let (_, message) = watch.next().await.unwrap();
    assert_eq!(proto::WatchWorkspaceResponse::decode(message).unwrap().workspace.unwrap().id, "harbor");
}

#[tokio::test]
async fn a_caller_that_leaves_a_watch_gives_its_place_back() {
    let rig = with(|options| options.max_streams = 1).await;
    let mut watch = Watch::json(&rig, Version::HTTP_11, &[]).await;
    watch.message().await;
    let mut more = Watch::json(&rig, Version::HTTP_11, &[]).await;
    assert_eq!(more.end().await["error"]["code"], "unavailable");
    drop(watch);
    assert_eq!(rig.seen.has_ended("WatchWorkspace").await, "UNAVAILABLE");
    let again = async { while Watch::json(&rig, Version::HTTP_11, &[]).await.next().await.unwrap().0 != 0 {} };
    tokio::time::timeout(PATIENCE, again).await.expect("the place is given back");
}

#[tokio::test]
async fn a_panic_is_an_error_of_the_server() {
    let rig = Rig::start().await;
    rig.broken_clock.store(true, std::sync::atomic::Ordering::SeqCst);
    http1(&rig).json(ASSEMBLE, r#"{"workspaceId": "harbor"}"#).await.refused(500, "internal", "INTERNAL");
}

#[tokio::test]
async fn pages_of_listed_origins_may_call_and_read_the_answer() {
    let origins = Origins::Listed(vec![Origin::parse("https://app.example").unwrap()]);
    let rig = with(|options| options.web = Some(origins)).await;
    let caller = http1(&rig);
    let preflight = [
        "origin: https://app.example",
        "access-control-request-method: POST",
        "access-control-request-headers: content-type,connect-protocol-version,connect-timeout-ms",
    ];
    let answer = caller.send("OPTIONS", ASSEMBLE, &preflight, "").await;
    assert_eq!((answer.status.as_u16(), answer.header("access-control-allow-origin")), (200, "https://app.example"));
    assert!(answer.header("access-control-allow-headers").contains("connect-timeout-ms"));
    let headers = ["content-type: application/json", "origin: https://app.example"];
    let answer = caller.send("POST", ASSEMBLE, &headers, r#"{"workspaceId": "harbor"}"#).await;
    assert_eq!((answer.status.as_u16(), answer.header("access-control-allow-origin")), (200, "https://app.example"));
}
