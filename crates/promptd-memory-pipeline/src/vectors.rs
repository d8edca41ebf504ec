//! Vectors of messages, which searches compare: made as messages are stored.

use std::{sync::Arc, time::Duration};

use promptd_memory::{Store, StoreError, Unvectorised};
use tokio::time::{Instant, sleep, sleep_until};

use crate::{AFTER_FAILURE, Embedding, LOG_TARGET, embedding::Missing};

/// The most messages whose vectors are made together: as many as a model is asked about at once.
const BATCH: usize = 100;
/// About how many bytes of text they have at most.
const BATCH_BYTES: usize = 1 << 20;
/// How long after a message vectors are made at the earliest: those of many are made together.
const PAUSE: Duration = Duration::from_millis(500);

/// Makes vectors as messages come.
pub(crate) struct Vectorising {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) embedding: Arc<Embedding>,
}

impl Vectorising {
    /// Works until it is dropped.
    pub(crate) async fn run(self) {
        let mut changes = self.store.watch_all();
        while let Err(error) = self.store.use_model(self.embedding.name()).await {
            tracing::warn!(target: LOG_TARGET, "no vectors of messages are made now: {error}");
            sleep(AFTER_FAILURE).await;
        }
        loop {
            changes.mark_unchanged();
            let next = match self.make_all().await {
                Ok(next) => next,
                Err(error) => {
                    tracing::warn!(target: LOG_TARGET, "no vectors of messages are made now: {error}");
                    Some(Instant::now() + AFTER_FAILURE)
                }
            };
            sleep(PAUSE).await;
            match next {
                Some(next) => sleep_until(next).await,
                None if changes.changed().await.is_err() => return,
                None => {}
            }
        }
    }

    /// Makes all that can be made now; says when to ask the model again.
    async fn make_all(&self) -> Result<Option<Instant>, StoreError> {
        loop {
            let waiting = self.store.waiting(BATCH, BATCH_BYTES).await?;
            if waiting.is_nothing() {
                return Ok(None);
            }
            match self.vectors(&waiting).await {
                Ok(vectors) => self.store.add_vectors(waiting.vectorised(vectors)).await?,
                Err(next) => return Ok(Some(next)),
            }
        }
    }

    /// A vector for each message, an empty one for those that say nothing; or when to ask again.
    async fn vectors(&self, waiting: &Unvectorised) -> Result<Vec<Vec<f32>>, Instant> {
        let texts = waiting.messages.iter().enumerate().filter(|(_, message)| !message.text.trim().is_empty());
        let (places, texts): (Vec<usize>, Vec<String>) =
            texts.map(|(place, message)| (place, message.text.clone())).unzip();
        let mut vectors = vec![Vec::new(); waiting.messages.len()];
        if texts.is_empty() {
            return Ok(vectors);
        }
        let made = match self.embedding.vectors(texts.clone()).await {
            Ok(made) => made,
            Err(Missing::Until(next, _)) => return Err(next),
            // It may be one of them alone that the model does not take.
            Err(Missing::Refused(_)) => {
                let mut made = Vec::with_capacity(texts.len());
                for text in texts {
                    // Without one the message is found by its words alone.
                    let vector = self.embedding.vectors_or_none(vec![text]).await?.and_then(|mut made| made.pop());
                    made.push(vector.unwrap_or_default());
                }
                made
            }
        };
        for (place, vector) in places.into_iter().zip(made) {
            vectors[place] = vector;
        }
        Ok(vectors)
    }
}
