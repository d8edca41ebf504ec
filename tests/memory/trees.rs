//! Trees of summaries under faults: the server is killed while it divides sessions and rolls summaries up, and a model fails
//! now and then. The trees must be those that are made without a fault.

use std::{env, fs, time::Duration};

use promptd::grpc::api::session_service_client::SessionServiceClient;
use promptd_contract::proto;
use tempfile::TempDir;
use tonic::transport::Channel;

use crate::{KILLS, check, client, model, next_random, served::Served};

const TOPICS: [&str; 3] = ["the harbour opens at six ", "bread needs flour ", "a train "];
/// How many sessions there are.
const SESSIONS: u64 = 3;
/// How many messages each gets before a kill.
const STEP: u64 = 12;
/// The longest that the trees take once nothing fails any more.
const PATIENCE: Duration = Duration::from_secs(120);

/// A folder for a server whose model is at an address, with small segments.
fn home(model: std::net::SocketAddr) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let config = format!(
        "memory:\n  models: {{ summarise: {{ url: 'http://{model}/v1', model: mock }} }}\n  segments: {{ min_new_messages: 4, \
         min_new_tokens: 100, min_segment_tokens: 60, min_segment_messages: 4, rollup_size: 3 }}\n"
    );
    fs::write(home.path().join("promptd.yaml"), config).unwrap();
    home
}

fn messages(session: u64, ids: std::ops::Range<u64>) -> proto::AppendMessagesRequest {
    let message = |id: u64| proto::ConversationMessage {
        id: format!("m{id}"),
        role: if id.is_multiple_of(2) { proto::Role::User } else { proto::Role::Assistant }.into(),
        content: format!("{id} {}", TOPICS[usize::try_from(id / 11 % 3).unwrap()].repeat(4)),
        ..Default::default()
    };
    proto::AppendMessagesRequest {
        workspace_id: "harbor".into(),
        session_id: format!("s{session}"),
        messages: ids.map(message).collect(),
        expected_position: None,
    }
}

/// Level, messages, summary and the parent's messages of every segment.
type Shape = Vec<(u32, u64, u64, String, Option<(u64, u64)>)>;

async fn tree(client: &mut SessionServiceClient<Channel>, session: u64) -> Vec<proto::StoredSegment> {
    let request = proto::ListSegmentsRequest {
        workspace_id: "harbor".into(),
        session_id: format!("s{session}"),
        page_size: 1_000,
        ..Default::default()
    };
    client.list_segments(request).await.unwrap().into_inner().segments
}

fn shape(tree: &[proto::StoredSegment]) -> Shape {
    let all = || tree.iter().map(|segment| segment.segment.as_ref().unwrap());
    let range = |id: &str| all().find(|segment| segment.id == id).map(|it| (it.message_start, it.message_end));
    let one = |it: &proto::SummarySegment| {
        (it.level, it.message_start, it.message_end, it.summary.clone(), range(&it.parent_id))
    };
    all().map(one).collect()
}

/// So many looks in a row that find no change.
const SAME: u32 = 16;

/// The trees, once they have not changed for longer than the planner rests and a failed request waits.
async fn settled(served: &Served) -> Vec<Shape> {
    let mut client = client(served).await;
    let waiting = async {
        let (mut before, mut same) = (Vec::new(), 0);
        loop {
            let (mut shapes, mut is_waiting) = (Vec::new(), false);
            for session in 0..SESSIONS {
                let tree = tree(&mut client, session).await;
                is_waiting |= tree.iter().any(|segment| segment.state() == proto::SegmentState::Waiting);
                shapes.push(shape(&tree));
            }
            same = if !is_waiting && shapes == before { same + 1 } else { 0 };
            if same == SAME {
                return shapes;
            }
            before = shapes;
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_trees_are_the_same_with_and_without_kills() {
    let kills = env::var("PROMPTD_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let model = model::start();
    let (killed, calm) = (home(model), home(model));
    let mut seed = 0x2545_f491_4f6c_dd1d;
    for kill in 0..kills {
        let served = Served::start(killed.path(), &[]);
        let mut client = client(&served).await;
        for session in 0..SESSIONS {
            client.append_messages(messages(session, kill * STEP..(kill + 1) * STEP)).await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(next_random(&mut seed, 1_500))).await;
        served.kill();
        let checked = check(killed.path());
        assert!(checked.0, "after kill {kill}: {}", checked.1);
    }
    let served = Served::start(killed.path(), &[]);
    let with_kills = settled(&served).await;
    let served = Served::start(calm.path(), &[]);
    let mut client = client(&served).await;
    for session in 0..SESSIONS {
        for step in 0..kills {
            client.append_messages(messages(session, step * STEP..(step + 1) * STEP)).await.unwrap();
        }
    }
    assert_eq!(with_kills, settled(&served).await);
    assert!(with_kills.iter().all(|tree| tree.iter().any(|segment| segment.0 >= 1)), "{with_kills:?}");
    let checked = check(calm.path());
    assert!(checked.0, "{}", checked.1);
}
