//! A conversation with one workspace: only what changed is sent.

use std::collections::HashMap;

use tokio::task::JoinHandle;

use crate::{Assemble, Error, Prompt, Promptd, WatchWorkspaceResponse};

/// What the service takes in one request.
const MAX_DIGESTS: usize = 16_384;

/// Turns of one workspace. It holds the texts of its last prompt, and the service sends only others.
#[derive(Debug)]
pub struct Session {
    client: Promptd,
    workspace: String,
    defaults: Assemble,
    /// By digest.
    texts: HashMap<String, String>,
}

/// A workspace that is followed; dropped, it no longer is.
#[derive(Debug)]
pub struct Followed(JoinHandle<()>);

impl Drop for Followed {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Promptd {
    /// A session. `defaults` sets what every turn has.
    pub fn session(&self, workspace: &str, defaults: impl FnOnce(Assemble) -> Assemble) -> Session {
        let defaults = defaults(self.assemble(workspace));
        Session { client: self.clone(), workspace: workspace.into(), defaults, texts: HashMap::new() }
    }
}

impl Session {
    /// The prompt for one turn; `turn` sets what it has besides the defaults. A message's `not_modified` says that its text was here already.
    pub async fn assemble(&mut self, turn: impl FnOnce(Assemble) -> Assemble) -> Result<Prompt, Error> {
        let mut call = turn(self.defaults.clone());
        call.request.if_none_match = self.texts.keys().take(MAX_DIGESTS).cloned().collect();
        let mut prompt = call.send().await?;
        let answer = &mut prompt.answer;
        for message in answer.messages.iter_mut().filter(|message| message.not_modified) {
            message.content = self.texts.get(&message.digest).cloned().unwrap_or_default();
        }
        for card in answer.cards.iter_mut().filter(|card| card.not_modified) {
            card.content = self.texts.get(&card.digest).cloned().unwrap_or_default();
        }
        if prompt.stale.is_none() {
            // Those and no more, so that what is held does not grow.
            let messages = prompt.answer.messages.iter().map(|one| (one.digest.clone(), one.content.clone()));
            let cards = prompt.answer.cards.iter().map(|one| (one.digest.clone(), one.content.clone()));
            self.texts = messages.chain(cards).collect();
        }
        Ok(prompt)
    }

    /// Calls `tell` after each change of the workspace, until what is returned is dropped. An error is one that lasts, and the last thing
    /// that is told.
    #[must_use = "the workspace is followed until this is dropped"]
    pub fn on_change(&self, mut tell: impl FnMut(Result<WatchWorkspaceResponse, Error>) + Send + 'static) -> Followed {
        let mut watch = self.client.watch(&self.workspace);
        Followed(tokio::spawn(async move {
            // The first state is not a change.
            match watch.next().await {
                Some(Ok(_)) => {}
                Some(Err(error)) => return tell(Err(error)),
                None => return,
            }
            while let Some(state) = watch.next().await {
                tell(state);
            }
        }))
    }
}
