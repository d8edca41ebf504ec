//! A model that turns texts into vectors, by OpenAI's Embeddings.

use serde_json::{Value, json};

use super::{
    Embedder, Fault,
    server::{Server, ServerOptions},
};
use crate::Later;

/// The most texts of one request.
const BATCH: usize = 100;
/// The most bytes of an answer.
const MAX_ANSWER_BYTES: usize = 32 << 20;
/// The most dimensions of a vector.
const MAX_DIMENSIONS: usize = 8_192;

/// A model that is asked by HTTP.
pub struct Embeddings {
    server: Server,
    model: String,
}

impl Embeddings {
    /// Asks nothing yet. The error says why the server cannot be called.
    pub fn new(options: ServerOptions, model: String) -> Result<Self, String> {
        Ok(Self { server: Server::new(options)?, model })
    }
}

impl Embedder for Embeddings {
    fn embed(&self, texts: Vec<String>) -> Later<'_, Result<Vec<Vec<f32>>, Fault>> {
        Box::pin(async move {
            let mut vectors = Vec::with_capacity(texts.len());
            for batch in texts.chunks(BATCH) {
                let body = json!({"model": self.model, "input": batch, "encoding_format": "float"});
                let answer = self.server.post("/embeddings", &body, MAX_ANSWER_BYTES).await?;
                vectors.extend(read(&answer, batch.len()).map_err(|why| Fault::OfAnswer(why.into()))?);
            }
            let length = vectors.first().map_or(0, Vec::len);
            if vectors.iter().any(|vector| vector.len() != length) {
                return Err(Fault::OfAnswer("the model's vectors have different lengths".into()));
            }
            Ok(vectors)
        })
    }
}

/// The vectors of an answer, in the order of the texts.
fn read(body: &[u8], count: usize) -> Result<Vec<Vec<f32>>, &'static str> {
    let answer: Value = serde_json::from_slice(body).map_err(|_| "the model's answer is not JSON")?;
    let rows = answer.get("data").and_then(Value::as_array).ok_or("the model's answer has no list `data`")?;
    let mut vectors = vec![Vec::new(); count];
    for (place, row) in rows.iter().enumerate() {
        let index = row.get("index").and_then(Value::as_u64).and_then(|index| usize::try_from(index).ok());
        let vector = row.get("embedding").and_then(Value::as_array).and_then(|numbers| numbers_of(numbers));
        let place = vectors.get_mut(index.unwrap_or(place)).ok_or("the model's answer has too many vectors")?;
        *place = vector.ok_or("the model's answer has a vector that is none")?;
    }
    if vectors.iter().any(Vec::is_empty) { Err("the model's answer has too few vectors") } else { Ok(vectors) }
}

fn numbers_of(numbers: &[Value]) -> Option<Vec<f32>> {
    if !(1..=MAX_DIMENSIONS).contains(&numbers.len()) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "the numbers of vectors have few digits")]
    let number = |number: &Value| number.as_f64().map(|number| number as f32).filter(|number| number.is_finite());
    numbers.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_those_of_the_texts_or_none() {
        let body = r#"{"data": [{"index": 1, "embedding": [3, 4.5]}, {"index": 0, "embedding": [1, -2]}]}"#;
        assert_eq!(read(body.as_bytes(), 2), Ok(vec![vec![1.0, -2.0], vec![3.0, 4.5]]));
        for (body, count, fault) in [
            ("<html>", 1, "the model's answer is not JSON"),
            ("{}", 1, "the model's answer has no list `data`"),
            (r#"{"data": []}"#, 1, "the model's answer has too few vectors"),
            (body, 1, "the model's answer has too many vectors"),
            (r#"{"data": [{"embedding": []}]}"#, 1, "the model's answer has a vector that is none"),
            (r#"{"data": [{"embedding": [1e300]}]}"#, 1, "the model's answer has a vector that is none"),
            (r#"{"data": [{"embedding": ["1"]}]}"#, 1, "the model's answer has a vector that is none"),
        ] {
            assert_eq!(read(body.as_bytes(), count), Err(fault), "{body}");
        }
    }
}
