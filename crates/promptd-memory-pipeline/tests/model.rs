//! A model that is asked by HTTP, and everything that its server can do wrong.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use std::time::Duration;

use common::{ModelServer, http, said};
use promptd_core::turn::Role;
use promptd_memory_pipeline::{
    Address, Chat, Embedder as _, Embeddings, Fault, Request, Said, ServerOptions, Summariser as _,
};
use serde_json::{Value, json};

fn options(url: &str, timeout: Duration) -> ServerOptions {
    ServerOptions { address: Address::parse(url).unwrap(), key: Some("Bearer secret".parse().unwrap()), timeout }
}

fn chat(url: &str, timeout: Duration) -> Chat {
    Chat::new(options(url, timeout), "small".into()).unwrap()
}

fn request() -> Request {
    Request { messages: vec![(Role::System, "Sum it up.".into()), (Role::User, "a \"text\"".into())], max_tokens: 77 }
}

#[tokio::test]
async fn a_model_is_asked_as_by_openai() {
    let server = ModelServer::start(|_| Some(said("a summary"))).await;
    let chat = chat(&format!("http://{}/v1/", server.addr), Duration::from_secs(30));
    assert_eq!(chat.say(request()).await, Ok(Said { text: "a summary".into(), tokens: 3 }));
    let (head, body) = server.asked.lock().unwrap()[0].clone();
    let head = head.to_lowercase();
    assert!(head.starts_with("post /v1/chat/completions http/1.1\r\n"), "{head}");
    assert!(head.contains("authorization: bearer secret"), "{head}");
    assert!(head.contains(&format!("host: {}", server.addr)), "{head}");
    let messages = json!([{"role": "system", "content": "Sum it up."}, {"role": "user", "content": "a \"text\""}]);
    let expected = json!({"model": "small", "messages": messages, "max_tokens": 77});
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), expected);
}

#[tokio::test]
async fn what_is_no_answer_is_a_fault() {
    let large = format!("{{\"choices\": \"{}\"}}", "x".repeat(2 << 20));
    let of_server = |message: &str, pause| Fault::OfServer { message: message.into(), pause };
    let of_answer = |message: &str| Fault::OfAnswer(message.into());
    for (answer, fault) in [
        (http(500, "", "{}"), of_server("the model's server answers 500", None)),
        (http(401, "", "{}"), of_server("the model's server answers 401", None)),
        (
            http(429, "retry-after: 7\r\n", ""),
            of_server("the model's server answers 429", Some(Duration::from_secs(7))),
        ),
        (http(400, "", "SECRET"), of_answer("the model's server answers 400")),
        (http(200, "", ""), of_answer("the model's answer is not JSON")),
        (http(200, "", "<html>SECRET</html>"), of_answer("the model's answer is not JSON")),
        (http(200, "", "{}"), of_answer("the model's answer has no `choices[0].message.content`")),
        (http(200, "", &large), of_answer("the model's answer breaks off, or is longer than 1 MiB")),
        (
            "HTTP/1.1 200 X\r\ncontent-length: 9\r\n\r\n{".into(),
            of_answer("the model's answer breaks off, or is longer than 1 MiB"),
        ),
        ("no HTTP at all\r\n\r\n".into(), of_server("the connection to the model's server broke", None)),
        (String::new(), of_server("the connection to the model's server broke", None)),
    ] {
        let shown = answer.chars().take(80).collect::<String>();
        let server = ModelServer::start(move |_| Some(answer.clone())).await;
        let chat = chat(&format!("http://{}", server.addr), Duration::from_secs(30));
        assert_eq!(chat.say(request()).await, Err(fault), "{shown}");
    }
}

#[tokio::test]
async fn a_server_that_hangs_or_is_not_there_is_a_fault() {
    let server = ModelServer::start(|_| None).await;
    let hanging = chat(&format!("http://{}", server.addr), Duration::from_millis(50)).say(request()).await;
    assert_eq!(hanging.unwrap_err().message(), "the model did not answer within 0 s");
    let nobody = format!("http://{}", server.addr);
    drop(server);
    let refused = chat(&nobody, Duration::from_secs(30)).say(request()).await.unwrap_err();
    assert!(
        matches!(&refused, Fault::OfServer { message, .. } if message.contains("cannot be reached")),
        "{refused:?}"
    );
}

#[tokio::test]
async fn vectors_are_asked_for_a_hundred_at_once() {
    let server = ModelServer::start(|body| {
        let asked: Value = serde_json::from_str(body).unwrap();
        let texts = asked["input"].as_array().unwrap().iter();
        let data: Vec<_> = texts.map(|text| json!({"embedding": [text.as_str().unwrap().len(), 1]})).collect();
        Some(http(200, "", &json!({"data": data}).to_string()))
    })
    .await;
    let options = options(&format!("http://{}/v1", server.addr), Duration::from_secs(30));
    let embeddings = Embeddings::new(options, "vectors".into()).unwrap();
    let texts: Vec<String> = (0..150).map(|length| "x".repeat(length)).collect();
    let vectors = embeddings.embed(texts).await.unwrap();
    assert_eq!((vectors.len(), &vectors[149][..]), (150, &[149.0, 1.0][..]));
    let asked = server.asked.lock().unwrap();
    assert!(asked.len() == 2 && asked[0].0.starts_with("POST /v1/embeddings "), "{}", asked[0].0);
}
