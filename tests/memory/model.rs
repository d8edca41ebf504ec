//! An OpenAI-compatible server of models, which misbehaves now and then.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Serves in the background until the test ends. Of twenty answers one is a status 500, one empty and one garbage.
pub fn start() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let count = Arc::new(AtomicU64::new(0));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let count = Arc::clone(&count);
            thread::spawn(move || answer(stream, count.fetch_add(1, Ordering::SeqCst)));
        }
    });
    addr
}

/// The summary is made of what is asked, so that the same messages have the same one.
fn answer(mut stream: TcpStream, number: u64) -> Option<()> {
    stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let asked: Value = serde_json::from_slice(&body).ok()?;
    let digest = Sha256::digest(asked["messages"].to_string());
    let digits = promptd_core::text::hex::digits(digest.into());
    let said = format!("summary {}", std::str::from_utf8(digits.as_flattened()).ok()?);
    let (status, body) = match number % 20 {
        3 => (500, "{}".to_owned()),
        9 => (200, json!({"choices": [{"message": {"content": " \n"}}]}).to_string()),
        15 => (200, "<html>".to_owned()),
        _ => (200, json!({"choices": [{"message": {"content": said}}]}).to_string()),
    };
    let head =
        format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all((head + &body).as_bytes()).ok()
}
