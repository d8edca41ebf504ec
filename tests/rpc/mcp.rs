//! `/mcp` from outside: which requests are let in, and that what answers them is what answers every call. `tests/mcp` has the
//! protocol, by its own clients.

use promptd::grpc::{Access, Ended, Tokens};
use serde_json::{Value, json};
use tonic::codegen::http::Version;

use crate::{
    http::Caller,
    rig::{Rig, Setup, harbor},
};

const ALL: &str = "0123456789abcdef0123456789abcdef";
const ONE: &str = "fedcba9876543210fedcba9876543210";

const HEADERS: [&str; 3] = [
    "content-type: application/json",
    "accept: application/json, text/event-stream",
    "mcp-protocol-version: 2026-07-28",
];

fn request(method: &str, params: Value) -> String {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

/// The headers of a request for a method, and for what it names.
fn headers(method: &str, named: &str, token: Option<&str>) -> Vec<String> {
    let mut headers: Vec<_> = HEADERS.iter().map(|header| (*header).to_owned()).collect();
    headers.push(format!("mcp-method: {method}"));
    headers.extend((!named.is_empty()).then(|| format!("mcp-name: {named}")));
    headers.extend(token.map(|token| format!("authorization: Bearer {token}")));
    headers
}

struct Client {
    caller: Caller,
    path: &'static str,
    token: Option<&'static str>,
}

impl Client {
    fn of(rig: &Rig, path: &'static str, token: Option<&'static str>) -> Self {
        Self { caller: Caller::new(rig.addr, Version::HTTP_11), path, token }
    }

    /// The answer to a request, `result` or `error`.
    async fn ask(&self, method: &str, params: Value) -> Value {
        let named = params["name"].as_str().or_else(|| params["uri"].as_str()).unwrap_or_default().to_owned();
        let headers = headers(method, &named, self.token);
        let headers: Vec<_> = headers.iter().map(String::as_str).collect();
        let answer = self.caller.send("POST", self.path, &headers, request(method, params)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }
}

async fn with_tokens() -> Rig {
    let tokens = format!("tokens: [{{name: all, token: {ALL}}}, {{name: one, token: {ONE}, workspaces: [pier]}}]");
    let access = Access::with(Tokens::parse(&tokens, "tokens.yaml").unwrap());
    let rig = Rig::start_with(Setup { access, ..Setup::default() }).await;
    rig.publish("pier", harbor());
    rig
}

#[tokio::test]
async fn only_requests_that_can_be_answered_are_let_in() {
    let rig = Rig::start().await;
    for caller in Caller::both(rig.addr) {
        let send = async |verb: &str, path: &str, body: String| {
            let headers = headers("tools/list", "", None);
            let headers: Vec<_> = headers.iter().map(String::as_str).collect();
            caller.send(verb, path, &headers, body).await
        };
        let list = || request("tools/list", json!({}));
        for path in ["/mcp", "/mcp/harbor"] {
            assert_eq!(send("POST", path, list()).await.status, 200, "{path}");
            for verb in ["GET", "DELETE"] {
                let answer = send(verb, path, String::new()).await;
                let error = answer.refused(405, "unimplemented", "UNIMPLEMENTED");
                assert_eq!((answer.header("allow"), &error["message"]), ("POST", &json!("this is called by POST")));
            }
        }
        for path in ["/mcp/", "/mcp/harbor/x", "/mcpx"] {
            assert_eq!(send("POST", path, list()).await.status, 404, "{path}");
        }
        let large = request("tools/list", json!({ "x": "y".repeat(256 << 10) }));
        send("POST", "/mcp", large).await.refused(413, "resource_exhausted", "MESSAGE_TOO_LARGE");
        assert_eq!(send("POST", "/mcp", "{".into()).await.status, 415);
    }
    let mut stranger = Caller::new(rig.addr, Version::HTTP_11);
    stranger.host = "evil.example".into();
    stranger.json("/mcp", "{}").await.refused(403, "permission_denied", "HOST_NOT_ALLOWED");
}

#[tokio::test]
async fn it_can_be_turned_off() {
    let mut setup = Setup::default();
    setup.options.mcp = false;
    let rig = Rig::start_with(setup).await;
    let answer = Caller::new(rig.addr, Version::HTTP_11).json("/mcp", "{}").await;
    answer.refused(404, "unimplemented", "UNIMPLEMENTED");
}

#[tokio::test]
async fn a_token_is_asked_for_before_anything_else() {
    let rig = with_tokens().await;
    let caller = Caller::new(rig.addr, Version::HTTP_11);
    for (token, reason) in [(None, "TOKEN_MISSING"), (Some("wrong"), "TOKEN_UNKNOWN")] {
        let headers = headers("tools/list", "", token);
        let headers: Vec<_> = headers.iter().map(String::as_str).collect();
        let answer = caller.send("POST", "/mcp", &headers, request("tools/list", json!({}))).await;
        answer.refused(401, "unauthenticated", reason);
        assert_eq!(answer.header("www-authenticate"), "Bearer");
        let last = rig.seen.calls().pop().unwrap();
        assert_eq!(last, ("promptd.v1.WorkspaceService/ListWorkspaces", "UNAUTHENTICATED"));
    }
}

#[tokio::test]
async fn the_workspace_is_the_one_that_the_address_names_or_the_only_one_that_the_token_admits() {
    let rig = with_tokens().await;
    let soul = async |path, token, uri: &str| {
        Client::of(&rig, path, Some(token)).ask("resources/read", json!({ "uri": uri })).await
    };
    let text = |answer: Value| answer["result"]["contents"][0]["text"].as_str().map(str::to_owned);
    for (path, token, uri, shown) in [
        ("/mcp", ONE, "workspace://pier/SOUL.md", true),
        ("/mcp", ONE, "workspace://harbor/SOUL.md", false),
        ("/mcp/pier", ONE, "workspace://pier/SOUL.md", true),
        ("/mcp/harbor", ONE, "workspace://harbor/SOUL.md", false),
        ("/mcp/none", ONE, "workspace://none/SOUL.md", false),
        ("/mcp", ALL, "workspace://pier/SOUL.md", false),
        ("/mcp/harbor", ALL, "workspace://harbor/SOUL.md", true),
        ("/mcp/harbor", ALL, "workspace://pier/SOUL.md", false),
    ] {
        let answer = soul(path, token, uri).await;
        assert_eq!(text(answer.clone()).is_some(), shown, "{path} {uri} {answer}");
    }
    let several = Client::of(&rig, "/mcp", Some(ALL)).ask("resources/list", json!({})).await;
    let message = several["error"]["message"].as_str().unwrap();
    assert!(message.contains("`/mcp/ID`") && message.ends_with("there are harbor, pier"), "{message}");
    let forbidden = soul("/mcp/harbor", ONE, "workspace://harbor/SOUL.md").await;
    let data = json!({
        "status": "PERMISSION_DENIED", "reason": "WORKSPACE_FORBIDDEN", "uri": "workspace://harbor/SOUL.md",
    });
    assert_eq!((&forbidden["error"]["code"], &forbidden["error"]["data"]), (&json!(-32_000), &data));
}

#[tokio::test]
async fn a_prompt_is_what_the_same_call_by_grpc_gives() {
    let rig = Rig::start().await;
    let arguments = json!({ "turn.user.name": "Ada", "turn.now": "2026-11-29T09:30:00Z" });
    let client = Client::of(&rig, "/mcp", None);
    let got = client.ask("prompts/get", json!({ "name": "five-layer", "arguments": arguments })).await;
    let turn = json!({ "user": { "name": "Ada" }, "now": "2026-11-29T09:30:00Z" });
    let body = json!({ "workspaceId": "harbor", "turn": turn }).to_string();
    let assembled = client.caller.json("/promptd.v1.PromptService/AssemblePrompt", &body).await.json();
    let texts = |messages: &Value, text: &str| {
        let messages = messages.as_array().unwrap().iter();
        messages.map(|message| message.pointer(text).unwrap().clone()).collect::<Vec<_>>()
    };
    let result = &got["result"];
    assert_eq!(texts(&result["messages"], "/content/text"), texts(&assembled["messages"], "/content"));
    assert_eq!(result["_meta"]["promptd.v1/digest"], assembled["digest"]);
    let methods: Vec<_> = rig.seen.calls().into_iter().map(|(method, _)| method).collect();
    assert!(methods.contains(&"promptd.v1.PromptService/AssemblePrompt"), "{methods:?}");

    let wrong = json!({ "name": "five-layer", "arguments": { "turn.now": "noon" } });
    let error = client.ask("prompts/get", wrong).await["error"].clone();
    assert_eq!((&error["code"], error["data"]["fields"].get("turn.now").is_some()), (&json!(-32_602), true), "{error}");
}

#[tokio::test]
async fn a_listener_is_told_of_a_save_and_ends_with_the_server() {
    let rig = Rig::start().await;
    let caller = Caller::new(rig.addr, Version::HTTP_11);
    let filter = json!({ "resourcesListChanged": true, "resourceSubscriptions": ["workspace://harbor/SOUL.md"] });
    let headers = headers("subscriptions/listen", "", None);
    let headers: Vec<_> = headers.iter().map(String::as_str).collect();
    let body = request("subscriptions/listen", json!({ "notifications": filter }));
    let answer = caller.begin("POST", "/mcp", &headers, body).await.unwrap();
    let mut events = Events { body: answer.into_body(), waiting: String::new() };
    assert_eq!(events.next().await.unwrap()["method"], "notifications/subscriptions/acknowledged");
    rig.seen.has_begun(2).await;
    rig.publish("harbor", harbor().file("SOUL.md", "Changed."));
    let updated = events.next().await.unwrap();
    assert_eq!(updated["params"]["uri"], "workspace://harbor/SOUL.md", "{updated}");
    assert_eq!(events.next().await.unwrap()["method"], "notifications/resources/list_changed");
    rig.lifecycle.drain();
    while events.next().await.is_some() {}
    assert_eq!(rig.ended().await, Ended::Drained);
}

/// The messages of an event stream.
struct Events<B> {
    body: B,
    waiting: String,
}

impl<B: http_body::Body<Data = bytes::Bytes, Error: std::fmt::Debug> + Unpin> Events<B> {
    /// The next one; `None`: the stream has ended.
    async fn next(&mut self) -> Option<Value> {
        use http_body_util::BodyExt as _;
        loop {
            while let Some(end) = self.waiting.find('\n') {
                let line: String = self.waiting.drain(..=end).collect();
                let message = line.strip_prefix("data:").and_then(|data| serde_json::from_str(data).ok());
                if message.is_some() {
                    return message;
                }
            }
            let frame = tokio::time::timeout(crate::rig::PATIENCE, self.body.frame()).await.unwrap()?;
            self.waiting += std::str::from_utf8(&frame.unwrap().into_data().unwrap_or_default()).unwrap();
        }
    }
}
