//! Prompts of a turn that names a long session, beside those of one that brings the same messages.

use std::fmt::Write as _;

use promptd_contract::proto::{AssemblePromptRequest, Conversation, ListMessagesRequest};

use crate::{
    Part,
    drive::{Client, Protocol, Run, Shape, quantile},
    requests::{self, answer},
    stored::{Stored, WORKSPACE},
};

/// One that carries the newest messages, and one that carries as many as it has tokens for.
const PROFILES: [&str; 2] = ["five-layer", "kern"];
/// How many times what a call takes that brings the messages.
const MAX_RATIO: f64 = 1.5;
/// How many different requests rotate.
const VARIANTS: usize = 100;
const SHAPE: Shape = Shape { connections: 1, streams: 1 };

struct Row {
    profile: &'static str,
    /// How many messages of the session the prompt has.
    carried: usize,
    /// Microseconds: of the turn that brings the messages, and of the one that names the session.
    p50: [f64; 2],
    p99: [f64; 2],
    cpu: [f64; 2],
    /// The median of the rounds' own, of the p50.
    ratio: f64,
}

pub async fn measure(stored: &Stored, rounds: usize, slack: f64) -> Part {
    let mut rows = Vec::new();
    for profile in PROFILES {
        rows.push(row(stored, profile, rounds).await);
    }
    Part { markdown: markdown(&rows), faults: faults(&rows, slack) }
}

async fn row(stored: &Stored, profile: &'static str, rounds: usize) -> Row {
    let address = &stored.server.address;
    let named: Vec<_> = (0..VARIANTS).map(|n| naming(profile, n)).collect();
    let conversation = carried(stored, &named[0]).await;
    let brought: Vec<_> = named.iter().map(|request| bringing(request, &conversation)).collect();
    let texts = |answer: promptd_contract::proto::AssemblePromptResponse| {
        answer.messages.into_iter().map(|message| message.content).collect::<Vec<_>>()
    };
    let [by_name, by_value] = [texts(answer(address, &named[0]).await), texts(answer(address, &brought[0]).await)];
    assert_eq!(by_name, by_value, "the prompts are the same");
    let calls = if profile == PROFILES[0] { 2_000 } else { 100 };
    let client = Client::connect(address, Protocol::Grpc, SHAPE).await;
    let mut runs: [Vec<Run>; 2] = [Vec::new(), Vec::new()];
    for round in 0..=rounds {
        for index in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
            let before = stored.server.cpu();
            let run = client.run([&brought, &named][index], calls).await;
            // The first warms up.
            if round > 0 {
                runs[index].push(run.with_cpu(stored.server.cpu().saturating_sub(before)));
            }
        }
    }
    let of = |figure: fn(&Run) -> f64| [0, 1].map(|index| quantile(0.5, runs[index].iter().map(figure).collect()));
    let ratios = runs[1].iter().zip(&runs[0]).map(|(named, brought)| named.quantile(0.5) / brought.quantile(0.5));
    Row {
        profile,
        carried: conversation.messages.len(),
        p50: of(|run| run.quantile(0.5)),
        p99: of(|run| run.quantile(0.99)),
        cpu: of(Run::cpu_per_call),
        ratio: quantile(0.5, ratios.collect()),
    }
}

fn naming(profile: &str, n: usize) -> AssemblePromptRequest {
    let mut request = AssemblePromptRequest { profile: profile.into(), ..requests::request(n) };
    request.turn.get_or_insert_default().session_id = "long".into();
    request
}

fn bringing(named: &AssemblePromptRequest, conversation: &Conversation) -> AssemblePromptRequest {
    let mut request = named.clone();
    let turn = request.turn.get_or_insert_default();
    turn.session_id.clear();
    turn.conversation = Some(conversation.clone());
    request
}

/// The messages of the session that the prompt carries.
async fn carried(stored: &Stored, named: &AssemblePromptRequest) -> Conversation {
    let prompt = answer(&stored.server.address, named).await;
    let cut = prompt.conversation_window.unwrap().cut;
    let (mut messages, mut next) = (Vec::new(), Some(cut));
    while let Some(from_position) = next {
        let request = ListMessagesRequest {
            workspace_id: WORKSPACE.into(),
            session_id: "long".into(),
            from_position,
            page_size: 1_000,
            ..ListMessagesRequest::default()
        };
        let page = stored.client.clone().list_messages(request).await.unwrap().into_inner();
        messages.extend(page.messages.into_iter().filter_map(|stored| stored.message));
        next = page.next_position;
    }
    Conversation { messages, first_index: cut, ..Conversation::default() }
}

fn faults(rows: &[Row], slack: f64) -> Vec<String> {
    let slow = rows.iter().filter(|row| row.ratio > MAX_RATIO * slack);
    slow.map(|row| format!("{}: a call by session takes {:.2} times as long, over {MAX_RATIO}", row.profile, row.ratio))
        .collect()
}

fn markdown(rows: &[Row]) -> String {
    let mut text = String::from(
        "### Prompts of a long session\n\n`AssemblePrompt` of a session of 100,000 messages, beside a caller that brings those which the \
         prompt carries, one call at a time.\n\n\
         | profile | messages | p50 µs, brought | p50 µs | ratio | p99 µs, brought | p99 µs | CPU µs, brought | CPU µs |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for Row { profile, carried, p50, p99, cpu, ratio } in rows {
        let _ = writeln!(
            text,
            "| `{profile}` | {carried} | {:.0} | {:.0} | **{ratio:.2}** | {:.0} | {:.0} | {:.0} | {:.0} |",
            p50[0], p50[1], p99[0], p99[1], cpu[0], cpu[1]
        );
    }
    text
}
