//! How long others wait for their appends while a long session is copied.

use std::time::{Duration, Instant};

use promptd_contract::proto::ForkSessionRequest;

use crate::{
    LONG, Part, milliseconds,
    stored::{Stored, WORKSPACE, append},
};

/// The most that one of them waits, in milliseconds.
const MAX_MS: f64 = 50.0;

/// Copies the long session, while somebody else appends message by message.
pub async fn measure(stored: &mut Stored, slack: f64) -> Part {
    let mut client = stored.client.clone();
    let request = ForkSessionRequest {
        workspace_id: WORKSPACE.into(),
        session_id: "long".into(),
        new_session_id: "copy".into(),
        at_position: None,
    };
    let began = Instant::now();
    let copying = tokio::spawn(async move {
        client.fork_session(request).await.unwrap();
        began.elapsed()
    });
    let mut times: Vec<Duration> = Vec::new();
    while !copying.is_finished() {
        let request = append("beside", vec![stored.speaker.message(times.len())]);
        let began = Instant::now();
        stored.client.append_messages(request).await.unwrap();
        times.push(began.elapsed());
    }
    let seconds = copying.await.unwrap().as_secs_f64();
    let [p50, p99, most] = [0.5, 0.99, 1.0].map(|q| milliseconds(q, &times));
    let markdown = format!(
        "### Copies\n\nA session of {LONG} messages is copied in {seconds:.1} s, while another writer appends message by message.\n\n\
         | appends meanwhile | p50 ms | p99 ms | longest ms |\n|--:|--:|--:|--:|\n| {} | {p50:.1} | {p99:.1} | {most:.1} |\n",
        times.len()
    );
    let fault = format!("an append waits {most:.0} ms for a copy, over {MAX_MS}");
    Part { markdown, faults: (most > MAX_MS * slack).then_some(fault).into_iter().collect() }
}
