//! A chat loop whose conversation the service keeps: each message is sent once, and a turn names the session.
//!
//! `promptd serve --memory memory`, then `cargo run --example stored -- 127.0.0.1:50051 example dana-1`. Started again with the same
//! session, it goes on where it was. Replace `ask` with your model. Ends with Ctrl-D.

use std::{env, time::SystemTime};

use promptd_client::{ConversationMessage, Error, Format, Promptd, Role};
use serde_json::{Map, Value};
use tokio::io::{AsyncBufReadExt as _, BufReader, stdin};

/// Your model: a request of Chat Completions with these fields and `model`.
fn ask(fields: &Map<String, Value>) -> String {
    format!("(a model would now read {} messages)", fields["messages"].as_array().map_or(0, Vec::len))
}

/// A message. Its id is made once, so that the client can send it again without doubling it; yours may be UUIDs.
fn said(role: Role, content: impl Into<String>) -> ConversationMessage {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let id = format!("{}-{}", role.as_str_name(), now.as_nanos());
    ConversationMessage { id, role: role.into(), content: content.into(), ..ConversationMessage::default() }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let mut arguments = env::args().skip(1);
    let mut argument = |otherwise: &str| arguments.next().unwrap_or_else(|| otherwise.into());
    let (address, workspace, id) = (argument("127.0.0.1:50051"), argument("example"), argument("chat"));
    let client = Promptd::connect(address).await?;
    let stored = client.conversations();
    let mut session = client.session(&workspace, |call| call.session_id(&*id).format(Format::OpenaiChat));
    let mut lines = BufReader::new(stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        stored.append(&workspace, &id, vec![said(Role::User, line)], None).await?;
        let prompt = session.assemble(|turn| turn).await?;
        println!("[position {}]", prompt.session_position.unwrap_or_default());
        let reply = ask(&prompt.for_openai()?);
        println!("{reply}");
        stored.append(&workspace, &id, vec![said(Role::Assistant, reply)], None).await?;
    }
    Ok(())
}
