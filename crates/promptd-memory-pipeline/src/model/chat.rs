//! A model that makes summaries, by Chat Completions as OpenAI and many others have them.

use serde_json::{Value, json};

use super::{
    Fault, Said, Summariser,
    server::{Server, ServerOptions},
};
use crate::{Later, Request};

/// The most bytes of an answer.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// A model that is asked by HTTP.
pub struct Chat {
    server: Server,
    model: String,
}

impl Chat {
    /// Asks nothing yet. The error says why the server cannot be called.
    pub fn new(options: ServerOptions, model: String) -> Result<Self, String> {
        Ok(Self { server: Server::new(options)?, model })
    }
}

impl Summariser for Chat {
    fn say(&self, request: Request) -> Later<'_, Result<Said, Fault>> {
        Box::pin(async move {
            let messages = request.messages.iter();
            let messages: Vec<_> =
                messages.map(|(role, text)| json!({"role": role.as_str(), "content": text})).collect();
            let body = json!({"model": self.model, "messages": messages, "max_tokens": request.max_tokens});
            said(&self.server.post("/chat/completions", &body, MAX_ANSWER_BYTES).await?)
        })
    }
}

/// What the model said.
fn said(body: &[u8]) -> Result<Said, Fault> {
    let answer: Value =
        serde_json::from_slice(body).map_err(|_| Fault::OfAnswer("the model's answer is not JSON".into()))?;
    let text = answer.pointer("/choices/0/message/content").and_then(Value::as_str);
    let text = text.ok_or_else(|| Fault::OfAnswer("the model's answer has no `choices[0].message.content`".into()))?;
    // Models count differently; what cannot be right is estimated, as sizes without a count are.
    let most = u64::try_from(text.len()).unwrap_or(u64::MAX);
    let given = answer.pointer("/usage/completion_tokens").and_then(Value::as_u64);
    let tokens = given.filter(|tokens| (1..=most).contains(tokens));
    let tokens = tokens.unwrap_or_else(|| (text.encode_utf16().count() as u64).div_ceil(4));
    Ok(Said { text: text.to_owned(), tokens: u32::try_from(tokens).unwrap_or(u32::MAX) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_or_is_a_fault() {
        let body =
            r#"{"choices": [{"message": {"content": "four word summary it is"}}], "usage": {"completion_tokens": 7}}"#;
        assert_eq!(said(body.as_bytes()).unwrap(), Said { text: "four word summary it is".into(), tokens: 7 });
        let uncounted = r#"{"choices": [{"message": {"content": "12345"}}], "usage": {"completion_tokens": 0}}"#;
        assert_eq!(said(uncounted.as_bytes()).unwrap().tokens, 2);
        let without = "the model's answer has no `choices[0].message.content`";
        for (body, fault) in [
            ("", "the model's answer is not JSON"),
            ("<html>", "the model's answer is not JSON"),
            ("{}", without),
            (r#"{"choices": [{"message": {"content": null}}]}"#, without),
        ] {
            assert_eq!(said(body.as_bytes()), Err(Fault::OfAnswer(fault.into())), "{body}");
        }
    }
}
