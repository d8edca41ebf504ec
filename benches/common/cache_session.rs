//! A session of 200 turns, and what share of its prompts a provider finds in its cache.

use std::{cell::OnceCell, fmt::Write as _};

use promptd_core::{
    prompt::{Prepared, Prompt, assemble},
    render::{ProviderTable, RenderFormat, cached_prefixes},
    turn::{Channel, Conversation, ConversationMessage, Role, Snippet, Turn, User},
    yaml::parse,
};
use serde_json::Value;

/// How many turns the session has.
pub const TURNS: usize = 200;
/// The profiles that are compared.
pub const PROFILES: [&str; 2] = ["five-layer", "cache-first"];
/// How many seconds pass from turn to turn.
const PAUSE: i64 = 37;
/// Every so many turns a timer starts one, without a message of the user.
const HEARTBEAT: usize = 10;
/// Every so many turns the summary of earlier conversations is another one.
const SUMMARY: usize = 8;
/// A token has about so many bytes of English; to compare a prefix with the fewest tokens that a provider keeps.
const BYTES_A_TOKEN: u64 = 4;

const SESSION: &str = include_str!("cache_session.yaml");

/// The models that are asked, one a row.
const MODELS: [(RenderFormat, &str); 8] = [
    (RenderFormat::AnthropicMessages, "claude-opus-5"),
    (RenderFormat::AnthropicMessages, "claude-haiku-4-5"),
    (RenderFormat::BedrockConverse, "anthropic.claude-opus-5"),
    (RenderFormat::OpenrouterChat, "anthropic/claude-opus-5"),
    (RenderFormat::OpenaiChat, "gpt-5.6"),
    (RenderFormat::OpenaiResponses, "gpt-5.6"),
    (RenderFormat::Gemini, "gemini-3-flash"),
    (RenderFormat::Gemini, "gemini-3-pro"),
];

/// What a model's provider found in its cache, of the prompts of one session.
pub struct Share {
    pub profile: &'static str,
    pub format: RenderFormat,
    pub model: &'static str,
    /// The fewest tokens of a prefix that is kept.
    pub minimum: usize,
    /// Bytes of message contents, of all turns.
    pub sent: u64,
    pub kept: u64,
}

impl Share {
    pub fn percent(&self) -> f64 {
        100.0 * self.kept as f64 / self.sent as f64
    }
}

/// Drives the session by each profile, against every model.
pub fn shares(workspace: &Prepared) -> Vec<Share> {
    let session = parse(SESSION).unwrap().to_json();
    PROFILES.into_iter().flat_map(|profile| session_shares(workspace, profile, &session)).collect()
}

fn session_shares(workspace: &Prepared, profile: &'static str, session: &Value) -> Vec<Share> {
    let row = |(format, model): (RenderFormat, &'static str)| {
        let minimum = ProviderTable::built_in().of(format).minimum_tokens(model);
        Share { profile, format, model, minimum, sent: 0, kept: 0 }
    };
    let mut shares: Vec<Share> = MODELS.into_iter().map(row).collect();
    let spec = workspace.profiles.get(profile).unwrap();
    let turns: Vec<OnceCell<Turn>> = (0..TURNS).map(|_| OnceCell::new()).collect();
    let mut before: Option<Prompt<'_>> = None;
    for (n, cell) in turns.iter().enumerate() {
        let held_cut =
            before.as_ref().map_or(0, |prompt| prompt.conversation.as_ref().map_or(0, |carried| carried.cut));
        let after = assemble(workspace, spec, cell.get_or_init(|| turn(session, n, held_cut))).unwrap();
        // The first turn finds nothing.
        let prefixes = before.as_ref().map_or_else(Vec::new, |before| cached_prefixes(before, &after));
        for share in &mut shares {
            let kept = prefixes.iter().find(|prefix| prefix.format == share.format).map_or(0, |prefix| prefix.kept);
            share.sent += after.size.bytes;
            share.kept += if kept >= share.minimum as u64 * BYTES_A_TOKEN { kept } else { 0 };
        }
        before = Some(after);
    }
    shares
}

/// Turn `n`: everything that was said before, and another clock, other knowledge, now and then another summary or a heartbeat.
fn turn(session: &Value, n: usize, held_cut: u64) -> Turn {
    let text = |list: &str, n: usize| {
        let items = session[list].as_array().unwrap();
        items[n % items.len()].as_str().unwrap().to_owned()
    };
    let is_heartbeat = |n: usize| n % HEARTBEAT == HEARTBEAT - 1;
    let mut messages = Vec::new();
    for past in 0..=n {
        if !is_heartbeat(past) {
            messages.push(said(Role::User, past, &text("user", past)));
        }
        if past < n {
            messages.push(said(Role::Assistant, past, &text("assistant", past)));
        }
    }
    let snippets = session["snippets"].as_array().unwrap();
    let snippet = |at: usize| {
        let field = |name: &str| snippets[at % snippets.len()][name].as_str().unwrap().to_owned();
        Snippet { content: field("content"), source: field("source"), title: field("title") }
    };
    Turn {
        user: Some(User { id: "user-7".into(), name: "Dana O'Neil".into() }),
        channel: Some(Channel { name: "telegram".into(), chat_type: "direct".into(), ..Channel::default() }),
        heartbeat: is_heartbeat(n),
        knowledge: vec![snippet(n), snippet(n + 2)],
        conversation_summary: text("summaries", n / SUMMARY),
        conversation: Conversation { messages, held_cut: Some(held_cut), ..Conversation::default() },
        ..Turn::at(promptd_core::time::Moment::new(1_775_116_800 + PAUSE * i64::try_from(n).unwrap(), 0).unwrap())
    }
}

fn said(role: Role, turn: usize, text: &str) -> ConversationMessage {
    let id = format!("{}-{turn}", role.as_str());
    ConversationMessage { id, ..ConversationMessage::new(role, &format!("({turn}) {text}")) }
}

/// The shares as a table of docs/performance.md.
pub fn table(shares: &[Share]) -> String {
    let mut out = String::from("| Format | Model | Smallest prefix, tokens |");
    for profile in PROFILES {
        let _ = write!(out, " `{profile}` |");
    }
    out.push_str("\n| --- | --- | --: | --: | --: |\n");
    for share in shares.iter().filter(|share| share.profile == PROFILES[0]) {
        let _ = write!(out, "| `{}` | {} | {} |", share.format.as_str(), share.model, share.minimum);
        for one in shares.iter().filter(|one| one.format == share.format && one.model == share.model) {
            let _ = write!(out, " {:.1} % |", one.percent());
        }
        out.push('\n');
    }
    out
}

const BEGIN: &str = "<!-- cache:begin -->\n\n";
const END: &str = "\n<!-- cache:end -->";

/// The document with another table; `None`: it has no place for one.
pub fn with_table(document: &str, table: &str) -> Option<String> {
    let begin = document.find(BEGIN)? + BEGIN.len();
    let end = begin + document[begin..].find(END)?;
    Some([&document[..begin], table, &document[end..]].concat())
}
