//! Vectors of texts: by a model, asked within its quota and while it is there, or by the words of the texts.

use std::{sync::Arc, time::Duration};

use promptd_core::history::text_vector;
use promptd_memory::QueryVector;
use tokio::time::{Instant, sleep, timeout};

use crate::{
    Embedder, Fault, LOG_TARGET,
    breaker::{Breaker, wait},
    model::apart,
    quota::Quota,
};

/// What vectors of words are stored as. Another number is another way to make them, by which all are made anew.
const OF_WORDS: &str = "words-1";
/// How near vectors of words must be for a message to be found by them, unless a search says …
const MIN_SIMILARITY_OF_WORDS: f32 = 0.35;
/// … and how near those of a model: kern's distance of 0.95 between vectors of length 1.
const MIN_SIMILARITY_OF_MODEL: f32 = 0.549;
/// The longest that a search waits for the vector of its query.
const QUERY_PATIENCE: Duration = Duration::from_secs(2);
/// The most characters of a text that a model is asked about.
const MAX_CHARS: usize = 8_000;

/// How often vectors are asked for that come wrong, before it is done without them.
const TRIES: u32 = 3;

/// Makes vectors.
pub struct Embedding {
    model: Option<Model>,
}

struct Model {
    name: String,
    embedder: Arc<dyn Embedder>,
    quota: Quota,
    breaker: Breaker,
}

/// Why there are no vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The model is to be asked again at this time.
    Until(Instant, String),
    /// The model's answer cannot be used.
    Refused(String),
}

impl Embedding {
    /// By words.
    #[must_use]
    pub fn of_words() -> Self {
        Self { model: None }
    }

    /// By a model, whose vectors are stored under this name; of at most so many tokens an hour, `None`: no bound.
    #[must_use]
    pub fn of_model(name: String, embedder: Arc<dyn Embedder>, tokens_per_hour: Option<u64>) -> Self {
        let (quota, breaker) = (Quota::new(tokens_per_hour), Breaker::default());
        Self { model: Some(Model { name, embedder, quota, breaker }) }
    }

    /// The name that vectors are stored under.
    #[must_use]
    pub fn name(&self) -> &str {
        self.model.as_ref().map_or(OF_WORDS, |model| &model.name)
    }

    /// The vector of a query; a message must be at least so near, `None`: as near as is usual. An error says why there is none.
    pub async fn query(&self, text: &str, min_similarity: Option<f32>) -> Result<QueryVector, String> {
        let usual = if self.model.is_some() { MIN_SIMILARITY_OF_MODEL } else { MIN_SIMILARITY_OF_WORDS };
        let asked = timeout(QUERY_PATIENCE, self.vectors(vec![text.to_owned()])).await;
        let mut vectors = match asked {
            Ok(Ok(vectors)) => vectors,
            Ok(Err(Missing::Until(_, fault) | Missing::Refused(fault))) => return Err(fault),
            Err(_) => {
                let fault = format!("the model did not answer within {} s", QUERY_PATIENCE.as_secs());
                self.model.iter().for_each(|model| model.failed(&Fault::of_server(fault.clone())));
                return Err(fault);
            }
        };
        let numbers = vectors.pop().unwrap_or_default();
        Ok(QueryVector { model: self.name().to_owned(), numbers, min_similarity: min_similarity.unwrap_or(usual) })
    }

    /// Whether a model makes them.
    pub(crate) fn is_of_model(&self) -> bool {
        self.model.is_some()
    }

    /// The same as [`vectors`](Self::vectors), asked for again where they come wrong; `None`: so often that nobody asks any more.
    /// The error is when to ask again.
    pub(crate) async fn vectors_or_none(&self, texts: Vec<String>) -> Result<Option<Vec<Vec<f32>>>, Instant> {
        for tries in 0..TRIES {
            match self.vectors(texts.clone()).await {
                Ok(vectors) => return Ok(Some(vectors)),
                Err(Missing::Until(next, _)) => return Err(next),
                Err(Missing::Refused(_)) if tries + 1 < TRIES => sleep(wait(tries)).await,
                Err(Missing::Refused(_)) => {}
            }
        }
        Ok(None)
    }

    /// A vector for each text, of which the model reads the beginning.
    pub(crate) async fn vectors(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, Missing> {
        let Some(model) = &self.model else {
            let made = tokio::task::spawn_blocking(move || texts.iter().map(|text| text_vector(text)).collect());
            return made.await.map_err(|_| Missing::Refused("making vectors of words failed".into()));
        };
        let texts = texts.into_iter().map(|text| shortened(text, MAX_CHARS)).collect();
        model.vectors(texts).await
    }
}

impl Model {
    async fn vectors(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, Missing> {
        if let Err(until) = self.breaker.admits(1) {
            return Err(Missing::Until(until, "the model does not answer".into()));
        }
        let chars: usize = texts.iter().map(|text| text.chars().count()).sum();
        if let Err(wait) = self.quota.take((chars as u64).div_ceil(4)) {
            return Err(Missing::Until(Instant::now() + wait, "the model's tokens of the hour are used up".into()));
        }
        let count = texts.len();
        let embedder = Arc::clone(&self.embedder);
        match apart(async move { embedder.embed(texts).await }).await {
            Ok(vectors) if vectors.len() == count => {
                self.breaker.succeeded();
                Ok(vectors)
            }
            Ok(_) => Err(Missing::Refused("the model's answer has other vectors than it was asked for".into())),
            Err(fault) => {
                self.failed(&fault);
                Err(match fault {
                    Fault::OfServer { message, .. } => {
                        let until = self.breaker.admits(1).err().unwrap_or_else(|| Instant::now() + wait(0));
                        Missing::Until(until, message)
                    }
                    Fault::OfAnswer(message) => Missing::Refused(message),
                })
            }
        }
    }

    fn failed(&self, fault: &Fault) {
        tracing::warn!(target: LOG_TARGET, "no vectors of messages: {}", fault.message());
        self.breaker.heard(fault);
    }
}

/// The first characters.
fn shortened(mut text: String, most: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Later;

    /// A model that hangs where it is asked about `hang`, and else says how many characters a text has.
    struct Counting;

    impl Embedder for Counting {
        fn embed(&self, texts: Vec<String>) -> Later<'_, Result<Vec<Vec<f32>>, Fault>> {
            Box::pin(async move {
                if texts.contains(&"hang".to_owned()) {
                    std::future::pending::<()>().await;
                }
                let count = |text: &String| f32::from(u16::try_from(text.chars().count()).unwrap());
                Ok(texts.iter().map(|text| vec![count(text)]).collect())
            })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_query_that_has_no_vector_in_time_says_so_and_so_do_those_after_it_at_once() {
        let embedding = Embedding::of_model("counting".into(), Arc::new(Counting), None);
        assert_eq!(embedding.query(&"ä".repeat(9_000), None).await.unwrap().numbers, [8_000.0]);
        for _ in 0..5 {
            assert_eq!(embedding.query("hang", None).await.unwrap_err(), "the model did not answer within 2 s");
        }
        let before = Instant::now();
        assert_eq!(embedding.query("x", None).await.unwrap_err(), "the model does not answer");
        assert_eq!(Instant::now(), before);
        tokio::time::advance(Duration::from_secs(16)).await;
        let back = embedding.query("x", Some(0.1)).await.unwrap();
        assert_eq!((back.model.as_str(), back.numbers, back.min_similarity), ("counting", vec![1.0], 0.1));
    }

    #[tokio::test]
    async fn what_an_hour_has_is_for_all_who_ask() {
        let embedding = Embedding::of_model("counting".into(), Arc::new(Counting), Some(1_000));
        assert!(embedding.vectors(vec!["x".repeat(3_000)]).await.is_ok());
        let fault = embedding.query(&"x".repeat(3_000), None).await.unwrap_err();
        assert_eq!(fault, "the model's tokens of the hour are used up");
    }
}
