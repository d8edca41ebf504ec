#![no_main]
//! Any two versions of a workspace, the second as it comes over the wire, and any turn: their prompts are compared.

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use promptd_contract::{
    decode::{self, After, Limits, Violation},
    encode, proto,
};
use promptd_core::{
    diff::{LineKind, PromptDiff, TextDiff, diff},
    prompt::{self, Prompt},
    settings::Settings,
    workspace::MemoryTree,
};
use prost::Message as _;

mod common;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    before: Vec<(common::Name, &'a [u8])>,
    /// Laid over those before.
    after: Vec<(common::Name, &'a [u8])>,
    ephemeral: &'a str,
    said: Vec<(u8, &'a str)>,
    /// A `DiffPromptRequest` as bytes, laid over the fields above.
    wire: &'a [u8],
}

fuzz_target!(|input: Input<'_>| {
    let mut raw = request(&input);
    // What is merged before a fault stays.
    let _ = raw.merge(input.wire);
    let now = "2026-03-01T02:30:00Z".parse().expect("a time");
    let checked = decode::diff_request::<Vec<Violation>>(raw, &Limits::default(), now, |_| Ok(()));
    let Ok(request) = checked else { return };
    let After::Proposed(after, _) = &request.after else { return };
    let before = input.before.iter().fold(MemoryTree::new(), |tree, (name, bytes)| tree.file(name.path(), *bytes));
    let snapshots = (common::snapshot(&before, Settings::default()), common::snapshot(after, Settings::default()));
    let (Ok(before), Ok(after)) = snapshots else { return };
    for (profile, other) in before.profiles.iter().zip(after.profiles.iter()) {
        let prompts =
            (prompt::assemble(&before, profile, &request.turn), prompt::assemble(&after, other, &request.turn));
        let (Ok(first), Ok(second)) = prompts else { continue };
        assert!(diff(&first, &first).is_same());
        let found = diff(&first, &second);
        check(&found, &first, &second);
        let side = |revision| encode::Side { revision, profile: profile.name.as_str() };
        let (one, other) = (side(before.revision.as_str()), side(after.revision.as_str()));
        assert!(encode::diff_prompt_response(found, one, other).encoded_len() > 0);
    }
});

fn request(input: &Input<'_>) -> proto::DiffPromptRequest {
    let mut files: Vec<proto::ProposedFile> = Vec::new();
    for (name, content) in input.before.iter().chain(&input.after) {
        files.retain(|file| file.path != name.path());
        files.push(proto::ProposedFile { path: name.path().to_owned(), content: content.to_vec() });
    }
    let message = |(role, content): &(u8, &str)| proto::ConversationMessage {
        role: i32::from(2 + role % 2),
        content: (*content).to_owned(),
        ..Default::default()
    };
    let conversation = proto::Conversation { messages: input.said.iter().map(message).collect(), ..Default::default() };
    proto::DiffPromptRequest {
        workspace_id: "ws".into(),
        turn: Some(proto::Turn {
            ephemeral_system_prompt: Some(input.ephemeral.to_owned()),
            conversation: Some(conversation),
            ..Default::default()
        }),
        after: Some(proto::diff_prompt_request::After::Proposed(proto::ProposedWorkspace { files })),
        ..Default::default()
    }
}

fn check(found: &PromptDiff, first: &Prompt<'_>, second: &Prompt<'_>) {
    assert!(first.digest == second.digest || !found.is_same());
    for cache in &found.cache {
        let prefix = &cache.prefix;
        assert!(prefix.kept <= prefix.common && prefix.common <= prefix.before, "{prefix:?}");
        if let Some((message, byte)) = prefix.difference {
            assert!(first.messages[message].content.is_char_boundary(byte), "{prefix:?}");
        }
    }
    for (one, other) in first.messages.iter().zip(&second.messages) {
        check_text(&one.content, &other.content);
    }
}

/// The lines that are shown are those of both texts.
fn check_text(before: &str, after: &str) {
    let found = TextDiff::of(before, after);
    assert_eq!(found.is_empty(), before == after);
    for (text, absent, is_first) in [(before, LineKind::Added, true), (after, LineKind::Removed, false)] {
        let lines: Vec<&str> = text.split('\n').collect();
        for hunk in &found.hunks {
            let first = if is_first { hunk.before_line } else { hunk.after_line } as usize - 1;
            for (at, line) in hunk.lines.iter().filter(|line| line.kind != absent).enumerate() {
                let shown: String = line.pieces.iter().map(|piece| piece.text.as_str()).collect();
                assert_eq!(lines.get(first + at), Some(&shown.as_str()), "line {}", first + at + 1);
            }
        }
    }
}
