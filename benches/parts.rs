//! The parts of an answer, each over small, typical and large workspaces: `cargo bench --bench parts`.

#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark")]

#[path = "common/site.rs"]
mod site;

use std::{hint::black_box, path::Path, sync::Arc};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use promptd_contract::encode::{Answer, Shape};
use promptd_core::{
    id::Id,
    profile::{Profile, ProfileSet},
    prompt::{self, Prepared, Prompt},
    render::{RenderFormat, render},
    text::cut::{Extent, Keep, cut},
    tokens::Encoding,
    turn::{Channel, Snippet, Turn, User},
    workspace::Snapshot,
};
use promptd_source::Options;
use sha2::{Digest as _, Sha256};

type Make = fn(&Path);

const SITES: [(&str, Make); 3] = [("small", site::small), ("typical", site::typical), ("large", site::large)];

fn turn() -> Turn {
    let channel = Channel {
        name: "telegram".into(),
        user_id: "7000001".into(),
        chat_type: "direct".into(),
        ..Channel::default()
    };
    let snippet = Snippet {
        content: "Berth 4 is closed until the crane has been inspected; pilots are told by radio.".into(),
        source: "log-4".into(),
        title: "Berth plan".into(),
    };
    Turn {
        user: Some(User { id: "user-1".into(), name: "Dana O'Neil".into() }),
        channel: Some(channel),
        knowledge: vec![snippet],
        ephemeral_system_prompt: Some("Answer in one sentence.".into()),
        ..Turn::at("2026-04-02T09:15:00Z".parse().unwrap())
    }
}

fn load(folder: &Path, profiles: &Arc<ProfileSet>) -> Prepared {
    promptd_source::load_once(&Id::parse("w").unwrap(), folder, &Options::default(), profiles).unwrap()
}

fn encode(prompt: &Prompt<'_>, snapshot: &Snapshot, profile: &Profile) -> Vec<u8> {
    let (revision, profile) = (snapshot.revision.as_str(), profile.name.as_str());
    Answer { prompt, revision, profile, rendered: "", shape: &Shape::default() }.encode().to_vec()
}

fn workspaces(c: &mut Criterion) {
    let profiles = Arc::new(ProfileSet::built_in());
    let turn = turn();
    for (name, make) in SITES {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path());
        let mut group = c.benchmark_group("load");
        group.sample_size(20);
        group.bench_function(name, |b| b.iter(|| black_box(load(folder.path(), &profiles))));
        group.finish();

        let snapshot = load(folder.path(), &profiles);
        let profile = Arc::clone(snapshot.profiles.get("five-layer").unwrap());
        let prompt = prompt::assemble(&snapshot, &profile, &turn).unwrap();
        let mut group = c.benchmark_group("answer");
        group.throughput(Throughput::Bytes(prompt.size.bytes));
        group.bench_function(BenchmarkId::new("assemble", name), |b| {
            b.iter(|| black_box(prompt::assemble(&snapshot, &profile, &turn).unwrap()));
        });
        group.bench_function(BenchmarkId::new("encode", name), |b| {
            b.iter(|| black_box(encode(&prompt, &snapshot, &profile)));
        });
        group.bench_function(BenchmarkId::new("render_text", name), |b| {
            b.iter(|| black_box(render(&prompt, RenderFormat::Text)));
        });
        group.bench_function(BenchmarkId::new("render_anthropic", name), |b| {
            b.iter(|| black_box(render(&prompt, RenderFormat::AnthropicMessages)));
        });
        group.bench_function(BenchmarkId::new("tokens", name), |b| {
            b.iter(|| {
                let mut prompt = prompt.clone();
                prompt::count_tokens(&mut prompt, &snapshot, &profile, Encoding::O200kBase);
                black_box(prompt.size.tokens)
            });
        });
        group.finish();
    }
}

fn texts(c: &mut Criterion) {
    let text = "Say what you know, name the berth, and never guess a tide.\n".repeat(1_000);
    for chars in [4_000, 40_000] {
        let text = &text[..chars];
        let mut group = c.benchmark_group("text");
        group.throughput(Throughput::Bytes(chars as u64));
        let extent = Extent::Whole { chars };
        group.bench_function(BenchmarkId::new("cut", chars), |b| {
            b.iter(|| black_box(cut(text, chars / 2, Keep::Head, "AGENTS.md", extent)));
        });
        group.bench_function(BenchmarkId::new("digest", chars), |b| b.iter(|| black_box(Sha256::digest(text))));
        group.bench_function(BenchmarkId::new("tokens", chars), |b| {
            b.iter(|| black_box(Encoding::O200kBase.count(text)));
        });
        group.finish();
    }
}

criterion_group!(benches, workspaces, texts);
criterion_main!(benches);
