//! The requests: 1,000 of them, each with its own user, texts and time.

use promptd::grpc::api::prompt_service_client::PromptServiceClient;
use promptd_contract::proto::{AssemblePromptRequest, AssemblePromptResponse, Channel, KnowledgeSnippet, Turn, User};
use prost_types::Timestamp;

/// What the callers ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The prompt.
    Plain,
    /// With token counts.
    Tokens,
    /// The static messages are held by the caller.
    Held,
    /// The prompt, from a server that does not coalesce its writes.
    Uncoalesced,
    /// The prompt, by another client and beside another bare server, which gives one text as long as the answer.
    Flat,
    /// The prompt by the Connect protocol, request and answer in JSON.
    Json,
}

impl Mode {
    pub const ALL: [Self; 6] = [Self::Plain, Self::Tokens, Self::Held, Self::Uncoalesced, Self::Flat, Self::Json];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Tokens => "tokens",
            Self::Held => "held",
            Self::Uncoalesced => "uncoalesced",
            Self::Flat => "flat",
            Self::Json => "json",
        }
    }
}

/// How many different requests rotate.
const VARIANTS: usize = 1_000;

pub async fn rotating(address: &str, mode: Mode) -> Vec<AssemblePromptRequest> {
    let mut requests: Vec<_> = (0..VARIANTS).map(request).collect();
    if mode == Mode::Held {
        let whole = answer(address, &requests[0]).await;
        let held = whole.messages.iter().filter(|message| message.name == "workspace_context");
        let held: Vec<String> = held.map(|message| message.digest.clone()).collect();
        assert_eq!(held.len(), 1);
        for request in &mut requests {
            request.if_none_match.clone_from(&held);
        }
    }
    if mode == Mode::Tokens {
        for request in &mut requests {
            request.token_encoding = "o200k_base".into();
        }
    }
    requests
}

/// One of them.
pub fn request(n: usize) -> AssemblePromptRequest {
    AssemblePromptRequest {
        workspace_id: "typical".into(),
        turn: Some(Turn {
            user: Some(User { id: format!("user-{n}"), name: format!("Dana {n} O'Neil") }),
            channel: Some(Channel {
                name: "telegram".into(),
                user_id: format!("{}", 7_000_000 + n),
                chat_type: "direct".into(),
                group_id: String::new(),
            }),
            now: Some(Timestamp { seconds: 1_770_000_000 + n as i64 * 61, nanos: 0 }),
            knowledge: vec![KnowledgeSnippet {
                content: format!("Berth {n} is closed until the crane has been inspected; pilots are told by radio."),
                source: format!("log-{n}"),
                title: "Berth plan".into(),
            }],
            ephemeral_system_prompt: Some(format!("Answer in one sentence; the ship is number {n}.")),
            ..Turn::default()
        }),
        ..AssemblePromptRequest::default()
    }
}

/// What the server answers to a request.
pub async fn answer(address: &str, request: &AssemblePromptRequest) -> AssemblePromptResponse {
    let mut client = PromptServiceClient::connect(format!("http://{address}")).await.unwrap();
    client.assemble_prompt(request.clone()).await.unwrap().into_inner()
}
