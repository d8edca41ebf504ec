//! A chat loop: each line that you type is a turn, of which only what changed comes from the service.
//!
//! `cargo run --example chat -- 127.0.0.1:50051 example`. Replace `ask` with your model. Ends with Ctrl-D.

use std::env;

use promptd_client::{Conversation, ConversationMessage, Error, Format, LastGood, Promptd, Role, User};
use serde_json::{Map, Value};
use tokio::io::{AsyncBufReadExt as _, BufReader, stdin};

/// Your model: a request of Chat Completions with these fields and `model`.
fn ask(fields: &Map<String, Value>) -> String {
    format!("(a model would now read {} messages)", fields["messages"].as_array().map_or(0, Vec::len))
}

fn said(role: Role, content: impl Into<String>) -> ConversationMessage {
    ConversationMessage { role: role.into(), content: content.into(), ..ConversationMessage::default() }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let mut arguments = env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:50051".into());
    let workspace = arguments.next().unwrap_or_else(|| "example".into());
    // While the service is away, the conversation goes on with the workspace as it was.
    let client = Promptd::builder(address).last_good(LastGood::memory()).build().await?;
    let user = User { name: "Dana".into(), ..User::default() };
    let mut session = client.session(&workspace, |call| call.user(user).format(Format::OpenaiChat));
    let mut history = Vec::new();
    let mut lines = BufReader::new(stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        history.push(said(Role::User, line));
        let conversation = Conversation { messages: history.clone(), ..Conversation::default() };
        let prompt = session.assemble(|turn| turn.conversation(conversation)).await?;
        let new: Vec<_> = prompt.messages.iter().filter(|one| !one.not_modified).map(|one| &*one.name).collect();
        println!("[{} messages, new: {}]", prompt.messages.len(), new.join(", "));
        let reply = ask(&prompt.for_openai()?);
        println!("{reply}");
        history.push(said(Role::Assistant, reply));
    }
    Ok(())
}
