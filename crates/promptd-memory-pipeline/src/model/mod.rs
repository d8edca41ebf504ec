//! Models: what makes summaries, and how it fails.

mod chat;
mod connect;
mod embeddings;
mod server;

pub use self::{chat::Chat, connect::Address, embeddings::Embeddings, server::ServerOptions};

use std::time::Duration;

use tokio::task::JoinSet;

use crate::{Later, Request};

/// Says summaries.
pub trait Summariser: Send + Sync {
    /// Asks for one.
    fn say(&self, request: Request) -> Later<'_, Result<Said, Fault>>;
}

/// Turns texts into vectors.
pub trait Embedder: Send + Sync {
    /// A vector for each text, all of one length.
    fn embed(&self, texts: Vec<String>) -> Later<'_, Result<Vec<Vec<f32>>, Fault>>;
}

/// What a model said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The text.
    pub text: String,
    /// Its tokens.
    pub tokens: u32,
}

/// Why there is no summary. No text here has anything of a message in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The server failed, and will fail others too.
    OfServer {
        /// What it did.
        message: String,
        /// How long it asks to be left alone.
        pause: Option<Duration>,
    },
    /// The server answered, but with no summary of this.
    OfAnswer(String),
}

impl Fault {
    pub(crate) fn of_server(message: impl Into<String>) -> Self {
        Self::OfServer { message: message.into(), pause: None }
    }

    /// What happened.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Self::OfServer { message, .. } | Self::OfAnswer(message) => message,
        }
    }
}

impl Said {
    /// The text without white space around it, if it is a summary of so many characters.
    pub(crate) fn checked(self, chars: usize) -> Result<Self, Fault> {
        let text = self.text.trim();
        if text.is_empty() {
            return Err(Fault::OfAnswer("the model's answer is empty".into()));
        }
        let said = text.chars().count();
        if said > chars {
            let message = format!("the model's summary has {said} characters, its source {chars}");
            return Err(Fault::OfAnswer(message));
        }
        Ok(Self { text: text.to_owned(), tokens: self.tokens })
    }
}

/// Asks a model in a task of its own, which ends with this call, so that what panics there ends nothing else.
pub(crate) async fn apart<T: Send + 'static>(
    asking: impl Future<Output = Result<T, Fault>> + Send + 'static,
) -> Result<T, Fault> {
    let mut tasks = JoinSet::new();
    tasks.spawn(asking);
    let panicked = || Err(Fault::OfAnswer("asking the model failed".into()));
    tasks.join_next().await.and_then(Result::ok).unwrap_or_else(panicked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_says_something_and_is_no_longer_than_its_source() {
        let said = |text: &str| Said { text: text.into(), tokens: 1 }.checked(5);
        assert_eq!(said(" \näöüäö ").unwrap().text, "äöüäö");
        for (text, fault) in
            [(" \n", "the model's answer is empty"), ("longer", "the model's summary has 6 characters, its source 5")]
        {
            assert_eq!(said(text), Err(Fault::OfAnswer(fault.into())));
        }
    }
}
