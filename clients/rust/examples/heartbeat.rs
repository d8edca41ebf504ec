//! A heartbeat: the prompt of a scheduled check, and whether the model's reply needs anybody.
//!
//! `cargo run --example heartbeat -- 127.0.0.1:50051 example`. Replace `ask` with your model.

use std::env;

use promptd_client::{Error, Format, Promptd, proto::ParseReplyRequest};
use serde_json::{Map, Value};

/// Your model: `generateContent` with these fields.
fn ask(fields: &Map<String, Value>) -> String {
    eprintln!("(a model would now read {:?})", fields.keys().collect::<Vec<_>>());
    "HEARTBEAT_OK".into()
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let mut arguments = env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:50051".into());
    let workspace_id = arguments.next().unwrap_or_else(|| "example".into());
    let client = Promptd::connect(address).await?;
    let prompt = client.assemble(&workspace_id).heartbeat(true).format(Format::Gemini).send().await?;
    let text = ask(&prompt.for_gemini()?);
    let request = ParseReplyRequest { workspace_id, text, heartbeat: true, ..ParseReplyRequest::default() };
    let reply = client.parse_reply(request).await?;
    println!("{}", if reply.heartbeat_ok { "all is well".into() } else { reply.text });
    Ok(())
}
