//! The requests: 1,000 of them, each with its own user, texts and time.

use std::time::Instant;

use promptd::{
    grpc::api::prompt_service_client::PromptServiceClient,
    proto::{AssemblePromptRequest, AssemblePromptResponse, Channel, KnowledgeSnippet, Stability, Turn, User},
    tokens::Encoding,
};
use prost_types::Timestamp;
use serde::{Deserialize, Serialize};

/// What the callers ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The prompt.
    Plain,
    /// With token counts.
    Tokens,
    /// The static messages are held by the caller.
    Held,
}

impl Mode {
    pub const ALL: [Self; 3] = [Self::Plain, Self::Tokens, Self::Held];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Tokens => "tokens",
            Self::Held => "held",
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

fn request(n: usize) -> AssemblePromptRequest {
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

/// What counting the tokens of the turns' own texts costs: those that the revision does not share.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct OwnTexts {
    /// A call.
    pub chars: f64,
    /// Microseconds a call, counted here and by one thread.
    pub micros: f64,
}

/// Counts them once as the server answers them, for every request.
pub async fn own_texts(address: &str, requests: &[AssemblePromptRequest]) -> OwnTexts {
    let mut texts = Vec::new();
    for request in requests {
        let answer = answer(address, request).await;
        for section in answer.sections.iter().filter(|section| section.stability() != Stability::Stable) {
            let Some(message) = section.message_index.and_then(|at| answer.messages.get(at as usize)) else { continue };
            texts.push(message.content[section.byte_start as usize..section.byte_end as usize].to_owned());
        }
    }
    let encoding = Encoding::O200kBase;
    let count = || texts.iter().map(|text| encoding.count(text)).sum::<u64>();
    let tokens = count();
    let began = Instant::now();
    assert_eq!(count(), tokens);
    let micros = began.elapsed().as_secs_f64() * 1e6;
    let chars: usize = texts.iter().map(|text| text.chars().count()).sum();
    let calls = requests.len() as f64;
    OwnTexts { chars: chars as f64 / calls, micros: micros / calls }
}

/// What the server answers to a request.
pub async fn answer(address: &str, request: &AssemblePromptRequest) -> AssemblePromptResponse {
    let mut client = PromptServiceClient::connect(format!("http://{address}")).await.unwrap();
    client.assemble_prompt(request.clone()).await.unwrap().into_inner()
}
