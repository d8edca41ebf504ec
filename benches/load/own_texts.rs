//! What counting tokens costs by itself.

use std::time::Instant;

use promptd_contract::proto::{AssemblePromptRequest, Stability};
use promptd_core::tokens::Encoding;
use serde::{Deserialize, Serialize};

use crate::{drive::quantile, requests};

/// What counting the tokens of the turns' own texts costs: those that the revision does not share.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct OwnTexts {
    /// A call.
    pub chars: f64,
    /// Microseconds a call, counted here and by one thread.
    pub micros: f64,
}

/// Counts them once as the server answers them, for every request.
pub async fn measure(address: &str, requests: &[AssemblePromptRequest]) -> OwnTexts {
    let mut texts = Vec::new();
    for request in requests {
        let answer = requests::answer(address, request).await;
        for section in answer.sections.iter().filter(|section| section.stability() != Stability::Stable) {
            let Some(message) = section.message_index.and_then(|at| answer.messages.get(at as usize)) else { continue };
            texts.push(message.content[section.byte_start as usize..section.byte_end as usize].to_owned());
        }
    }
    let encoding = Encoding::O200kBase;
    let count = |_| {
        let began = Instant::now();
        let tokens: u64 = texts.iter().map(|text| encoding.count(text)).sum();
        assert!(tokens > 0);
        began.elapsed().as_secs_f64() * 1e6
    };
    // The first of these loads the encoding.
    let micros = quantile(0.5, (0..9).map(count).collect());
    let chars: usize = texts.iter().map(|text| text.chars().count()).sum();
    let calls = requests.len() as f64;
    OwnTexts { chars: chars as f64 / calls, micros: micros / calls }
}
