//! What a model is asked for summaries: prompts of profiles, of the workspace that a session belongs to.

use std::sync::Arc;

use jiff::Timestamp;
use promptd_core::{id::Id, prompt, time::Moment, turn::Turn};
use promptd_memory::Source;
use promptd_memory_pipeline::{Later, Prompts, Request};
use promptd_source::store::{Loaded, State, Store};
use serde_json::{Map, Value, json};

/// Requests by profiles of the workspaces.
pub(super) struct ProfilePrompts {
    pub(super) workspaces: Arc<Store>,
    /// For the summary of messages.
    pub(super) segment: Id,
    /// For the summary of summaries.
    pub(super) rollup: Id,
}

impl Prompts for ProfilePrompts {
    fn request<'a>(
        &'a self,
        workspace: &'a Id,
        source: Source,
        target_tokens: u32,
    ) -> Later<'a, Result<Request, String>> {
        let profile = match source {
            Source::Messages(_) => self.segment.clone(),
            Source::Segments(_) => self.rollup.clone(),
        };
        let make = move |loaded: &Loaded| assemble(loaded, &profile, input(source), target_tokens);
        Box::pin(of_workspace(&self.workspaces, workspace, make))
    }
}

/// Makes a request of a workspace, on a thread where that may take long.
pub(super) async fn of_workspace<T: Send + 'static>(
    workspaces: &Store,
    workspace: &Id,
    make: impl FnOnce(&Loaded) -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let Some(State::Ready(loaded)) = workspaces.loaded(workspace.as_str()).await.as_deref().cloned() else {
        return Err(format!("the workspace `{workspace}` is not there, or cannot be used"));
    };
    let making = tokio::task::spawn_blocking(move || make(&loaded));
    making.await.unwrap_or_else(|_| Err("the request cannot be assembled".into()))
}

/// The prompt of a profile, with what is summed up as its input.
pub(super) fn assemble(
    loaded: &Loaded,
    profile: &Id,
    (name, values): (&str, Vec<Value>),
    target_tokens: u32,
) -> Result<Request, String> {
    let snapshot = &loaded.snapshot;
    let found = snapshot.profiles.get(profile.as_str());
    let found = found.ok_or_else(|| format!("there is no profile `{profile}`"))?;
    let inputs = Map::from_iter([(name.to_owned(), values.into()), ("target_tokens".to_owned(), target_tokens.into())]);
    let now = Moment::from_milliseconds(Timestamp::now().as_millisecond()).unwrap_or(Moment::EPOCH);
    let turn = Turn { inputs, ..Turn::at(now) };
    let refused = |error| format!("the profile `{profile}` makes no request: {error}");
    let prompt = prompt::assemble(snapshot, found, &turn).map_err(refused)?;
    let messages = prompt.messages.into_iter().map(|message| (message.role, message.content.into_owned()));
    Ok(Request { messages: messages.collect(), max_tokens: target_tokens })
}

/// What is summed up, as the profiles take it.
fn input(source: Source) -> (&'static str, Vec<Value>) {
    match source {
        Source::Messages(messages) => {
            let messages = messages.into_iter().map(|stored| stored.message);
            ("segment", messages.map(|said| json!({"role": said.role.as_str(), "content": said.content})).collect())
        }
        Source::Segments(children) => {
            let child = |child: promptd_memory::StoredSegment| json!({"start": child.messages.start, "end": child.messages.end, "summary": child.summary});
            ("summaries", children.into_iter().map(child).collect())
        }
    }
}
