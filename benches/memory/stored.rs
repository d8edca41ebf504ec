//! A server with a store, and what is said in it.

use std::{fs, path::PathBuf, time::Duration};

use promptd::grpc::api::session_service_client::SessionServiceClient;
use promptd_contract::proto::{
    AppendMessagesRequest, ConversationMessage, GetRecallStatsRequest, GetRecallStatsResponse, Role,
};
use tempfile::TempDir;
use tonic::transport::{Channel, Endpoint};

use crate::{process::Served, site, zipf::Zipf};

/// The workspace of all sessions, that of [`requests`](crate::requests).
pub const WORKSPACE: &str = "typical";
/// The most messages of one call.
pub const PAGE: usize = 1_000;
/// How many words people and models know.
const WORDS: usize = 30_000;
/// How many words a user's message has, and an assistant's: 60 and 470 bytes.
const LENGTHS: [usize; 2] = [12, 90];

pub struct Stored {
    pub server: Served,
    pub client: SessionServiceClient<Channel>,
    pub speaker: Speaker,
    /// How many messages were stored.
    pub messages: usize,
    /// The bytes of their texts.
    pub bytes: u64,
    folder: TempDir,
}

impl Stored {
    /// A server that has nothing stored yet.
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let workspaces = folder.path().join("workspaces");
        site::typical(&workspaces.join(WORKSPACE));
        let server = Served::with(&workspaces, &["--memory", folder.path().join("memory").to_str().unwrap()]);
        let client = connect(&server.address).await;
        Self { server, client, speaker: Speaker::new(), messages: 0, bytes: 0, folder }
    }

    /// Makes a session of so many messages.
    pub async fn fill(&mut self, session: &str, messages: usize) {
        for first in (0..messages).step_by(PAGE) {
            let page: Vec<_> = (first..messages.min(first + PAGE)).map(|n| self.speaker.message(n)).collect();
            self.messages += page.len();
            self.bytes += page.iter().map(|message| message.content.len() as u64).sum::<u64>();
            self.client.append_messages(append(session, page)).await.unwrap();
        }
    }

    /// How many messages have vectors.
    pub async fn vectors(&self) -> u64 {
        self.stats().await.vectors
    }

    /// Waits until all messages have vectors, so that what is measured then has the machine to itself.
    pub async fn settle(&self) {
        let mut interval = tokio::time::interval(Duration::from_millis(100));
        while self.stats().await.vectors_waiting > 0 {
            interval.tick().await;
        }
    }

    async fn stats(&self) -> GetRecallStatsResponse {
        let request = GetRecallStatsRequest { workspace_id: WORKSPACE.into() };
        self.client.clone().get_recall_stats(request).await.unwrap().into_inner()
    }

    /// What the store takes of the disk, in bytes.
    pub fn on_disk(&self) -> u64 {
        let folder: PathBuf = self.folder.path().join("memory");
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
    }
}

pub async fn connect(address: &str) -> SessionServiceClient<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap().tcp_nodelay(true);
    SessionServiceClient::new(endpoint.connect().await.unwrap())
}

pub fn append(session: &str, messages: Vec<ConversationMessage>) -> AppendMessagesRequest {
    let (workspace_id, session_id) = (WORKSPACE.into(), session.into());
    AppendMessagesRequest { workspace_id, session_id, messages, expected_position: None }
}

/// Says words as people do: few of them often, most of them seldom.
pub struct Speaker(Zipf);

impl Speaker {
    pub fn new() -> Self {
        Self(Zipf::new(WORDS))
    }

    /// The message of an index in its session: the user's and the assistant's by turns.
    pub fn message(&mut self, index: usize) -> ConversationMessage {
        let role = [Role::User, Role::Assistant][index % 2];
        ConversationMessage {
            role: role.into(),
            content: self.words(LENGTHS[index % 2]),
            id: format!("msg-{index:016x}"),
            time: Some(prost_types::Timestamp { seconds: 1_770_000_000 + index as i64 * 61, nanos: 0 }),
            ..ConversationMessage::default()
        }
    }

    pub fn words(&mut self, count: usize) -> String {
        let words: Vec<_> = (0..count).map(|_| word(self.0.draw())).collect();
        words.join(" ")
    }
}

/// The word of a rank; the first few hundred have three letters, all others six.
fn word(mut rank: usize) -> String {
    let mut word = String::new();
    loop {
        word.push(char::from(b"bcdfghklmnprstvz"[rank % 16]));
        word.push(char::from(b"aeiou"[rank / 16 % 5]));
        word.push(char::from(b"lnrs"[rank / 80 % 4]));
        rank /= 320;
        if rank == 0 {
            return word;
        }
    }
}
