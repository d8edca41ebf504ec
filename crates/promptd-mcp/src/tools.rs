//! Tools, for models of clients that show them nothing else.

use std::{fmt::Write as _, sync::Arc};

use promptd_contract::proto;
use promptd_core::workspace::SKILL_FILE;
use rmcp::{
    ErrorData,
    model::{CallToolRequestParams, CallToolResult, ContentBlock, JsonObject, ListToolsResult, Tool, ToolAnnotations},
};
use serde_json::{Value, json};

use crate::{Failure, client::Client, findings};

const FINDINGS: &str = "findings";
const READ_SKILL: &str = "read_skill";

/// `tools/list`.
pub(crate) fn list() -> ListToolsResult {
    let read_only = || ToolAnnotations::new().read_only(true).idempotent(true).open_world(false);
    let findings = Tool::new(
        FINDINGS,
        "What is wrong with the workspace's files, or worth knowing: faults with file, line and column, texts that limits cut, risks.",
        object(json!({"type": "object", "properties": {}, "additionalProperties": false})),
    )
    .with_title("Findings of the workspace")
    .with_raw_output_schema(object(findings::schema()))
    .with_annotations(read_only());
    let read_skill = Tool::new(
        READ_SKILL,
        "Reads the instructions of a skill that a prompt lists in <available_skills>, or one of the files that they name.",
        object(json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "The skill's name."},
                "file": {"type": "string", "description": "A file of the skill, relative to its folder. Left out: SKILL.md."},
            },
            "required": ["name"],
            "additionalProperties": false,
        })),
    )
    .with_title("Read a skill")
    .with_annotations(read_only());
    ListToolsResult::with_all_items(vec![findings, read_skill])
}

fn object(value: Value) -> Arc<JsonObject> {
    match value {
        Value::Object(object) => Arc::new(object),
        _ => Arc::default(),
    }
}

/// `tools/call`. Whatever fails is the tool's own error, so that the model reads why.
pub(crate) async fn call(client: &Client, request: CallToolRequestParams) -> Result<CallToolResult, ErrorData> {
    let arguments = request.arguments.unwrap_or_default();
    let result = match &*request.name {
        FINDINGS => show_findings(client, &arguments).await,
        READ_SKILL => read_skill(client, &arguments).await,
        name => {
            return Err(
                Failure::invalid(format!("there is no tool `{name}`; there are {FINDINGS}, {READ_SKILL}")).into()
            );
        }
    };
    Ok(result.unwrap_or_else(|failure| CallToolResult::error(vec![ContentBlock::text(failure.to_string())])))
}

async fn show_findings(client: &Client, arguments: &JsonObject) -> Result<CallToolResult, Failure> {
    only(arguments, &[])?;
    let id = client.workspace().await?;
    let mut workspace = client.get_workspace(&id).await?;
    let losses = client.losses(&id).await?;
    findings::add(&mut workspace, losses);
    let mut result = CallToolResult::success(vec![ContentBlock::text(in_words(&workspace))]);
    result.structured_content = Some(findings::of(&workspace));
    Ok(result)
}

fn in_words(workspace: &proto::Workspace) -> String {
    let proto::Workspace { id, errors, warnings, findings, .. } = workspace;
    let mut text = format!("{id}: errors: {errors}, warnings: {warnings}");
    for finding in findings {
        let _ = write!(text, "\n{}", findings::line(finding));
    }
    text
}

async fn read_skill(client: &Client, arguments: &JsonObject) -> Result<CallToolResult, Failure> {
    only(arguments, &["name", "file"])?;
    let name = text(arguments, "name")?.ok_or_else(|| Failure::invalid("`name` is missing: the skill's name"))?;
    let file = text(arguments, "file")?.unwrap_or(SKILL_FILE);
    let workspace = client.workspace().await?;
    let content = client.read_skill(&workspace, name, file).await?.content;
    let text = String::from_utf8(content)
        .map_err(|_| Failure::invalid(format!("{file} is not text; read it as a resource")))?;
    Ok(CallToolResult::success(vec![ContentBlock::text(text)]))
}

/// An argument that is text, if it is given.
fn text<'a>(arguments: &'a JsonObject, name: &str) -> Result<Option<&'a str>, Failure> {
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Failure::invalid(format!("`{name}` must be text"))),
    }
}

fn only(arguments: &JsonObject, known: &[&str]) -> Result<(), Failure> {
    match arguments.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) if known.is_empty() => {
            Err(Failure::invalid(format!("there is no argument `{name}`; the tool takes none")))
        }
        Some(name) => Err(Failure::invalid(format!("there is no argument `{name}`; there are {}", known.join(", ")))),
    }
}
