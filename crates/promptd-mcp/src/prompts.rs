//! Assembled prompts, as MCP's prompts: one a profile.

use promptd_contract::proto;
use rmcp::{
    ErrorData,
    model::{GetPromptRequestParams, GetPromptResult, ListPromptsResult, MetaObject, Prompt, PromptMessage, Role},
};
use serde_json::json;

use crate::{Failure, arguments, client::Client, findings};

/// `prompts/list`: the profiles that the workspace's prompts can be made by.
pub(crate) async fn list(client: &Client, cursor: Option<String>) -> Result<ListPromptsResult, ErrorData> {
    let id = client.workspace().await?;
    let workspace = client.get_workspace(&id).await?;
    let page = client.profiles(cursor).await?;
    let is_open = !workspace.locked.iter().any(|lock| lock == "profile");
    let usable = page.items.iter().filter(|profile| is_open || profile.name == workspace.profile);
    let mut result = ListPromptsResult::with_all_items(usable.map(|profile| prompt(profile, &workspace)).collect());
    result.next_cursor = page.next;
    Ok(result)
}

fn prompt(profile: &proto::Profile, workspace: &proto::Workspace) -> Prompt {
    let own = if profile.name == workspace.profile { " The workspace's own profile." } else { "" };
    let description = format!("{}{own}", profile.description);
    Prompt::new(&profile.name, Some(description), Some(arguments::of(profile, &workspace.locked)))
}

/// `prompts/get`. MCP has no system messages: what is for the system comes as the user's.
pub(crate) async fn get(client: &Client, request: GetPromptRequestParams) -> Result<GetPromptResult, ErrorData> {
    let id = client.workspace().await?;
    let profile = client.profile(&request.name).await.map_err(|failure| match failure.status.as_str() {
        "NOT_FOUND" | "INVALID_ARGUMENT" => Failure::invalid(format!("there is no prompt `{}`", request.name)),
        _ => failure,
    })?;
    // Naming it is denied where it is locked, also by its own name.
    let is_own = client.get_workspace(&id).await?.profile == profile.name;
    let answer = client.assemble(arguments::request(&id, &profile, is_own, request.arguments)?).await?;
    if answer.profile != profile.name {
        return Err(Failure::changed("the workspace has another profile since; ask again").into());
    }
    let mut result = GetPromptResult::new(answer.messages.iter().map(message).collect());
    result.description = Some(format!("The prompt of `{id}`, by the profile `{}`.", answer.profile));
    let findings: Vec<_> = answer.findings.iter().map(findings::finding).collect();
    let meta = [
        ("promptd.v1/workspace", json!(id)),
        ("promptd.v1/revision", json!(answer.revision)),
        ("promptd.v1/digest", json!(answer.digest)),
        ("promptd.v1/findings", json!(findings)),
    ];
    result.meta = Some(MetaObject(meta.map(|(key, value)| (key.to_owned(), value)).into_iter().collect()));
    Ok(result)
}

fn message(message: &proto::PromptMessage) -> PromptMessage {
    let role = if message.role() == proto::Role::Assistant { Role::Assistant } else { Role::User };
    PromptMessage::new_text(role, &*message.content)
}
