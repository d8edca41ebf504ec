//! A sub-agent: its own name, a task for this turn only, and fewer skills than its parent.
//!
//! `cargo run --example subagent -- 127.0.0.1:50051 example "Find a berth for an 82 m vessel." "berth-*"`

use std::env;

use promptd_client::{Agent, Error, Format, NameGlobs, Promptd, SkillFilter};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let mut arguments = env::args().skip(1);
    let mut next = |default: &str| arguments.next().unwrap_or_else(|| default.to_owned());
    let (address, workspace) = (next("127.0.0.1:50051"), next("example"));
    let (task, skills) = (next("Find a berth for an 82 m vessel, draught 4.6 m."), next("berth-*"));
    let client = Promptd::connect(address).await?;
    let prompt = client
        .assemble(&workspace)
        .agent(Agent { name: "Berth clerk".into(), ..Agent::default() })
        .ephemeral_system_prompt(task)
        .skill_filter(SkillFilter { allowlist: Some(NameGlobs { globs: vec![skills] }), blocklist: None })
        .format(Format::AnthropicMessages)
        .send()
        .await?;
    for message in &prompt.messages {
        println!(
            "--- {}{}\n{}",
            message.name,
            if message.ephemeral { " (for this turn)" } else { "" },
            message.content
        );
    }
    println!("--- fields of the request: {:?}", prompt.for_anthropic()?.keys().collect::<Vec<_>>());
    Ok(())
}
