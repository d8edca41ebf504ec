//! The client of promptd, a service that assembles the prompt of an agent turn by turn.
//!
//! ```no_run
//! use promptd_client::{Format, Promptd, User};
//!
//! # async fn first() -> Result<(), promptd_client::Error> {
//! let client = Promptd::connect("127.0.0.1:50051").await?;
//! let user = User { name: "Dana".into(), ..User::default() };
//! let prompt = client.assemble("example").user(user).format(Format::OpenaiChat).send().await?;
//! for message in &prompt.messages {
//!     println!("--- {}\n{}", message.name, message.content);
//! }
//! # Ok(())
//! # }
//! ```

mod assemble;
mod calls;
mod channels;
mod client;
mod conversations;
mod error;
mod last_good;
mod prompt;
mod rendering;
mod retry;
mod session;
mod stores;
mod values;
mod watch;

/// The contract's messages, as prost makes them.
#[allow(missing_docs, clippy::all, clippy::pedantic, reason = "generated")]
pub mod proto {
    include!("generated/promptd.v1.rs");
}

pub use assemble::Assemble;
pub use client::{Builder, Promptd, Tls};
pub use conversations::{Conversations, Export};
pub use error::{Error, Violation};
pub use prompt::{Format, Prompt};
pub use proto::{
    Agent, Budget, BudgetUnit, Channel, Conversation, ConversationMessage, KnowledgeSnippet, NameGlobs, PromptMessage,
    ResponseFormat, Role, SkillFilter, Stage, ToolCall, User, WatchWorkspaceResponse,
};
pub use session::{Followed, Session};
pub use stores::LastGood;
pub use tonic::Code;
pub use watch::Watch;
