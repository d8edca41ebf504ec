//! The parts of an answer, each over small, typical and large workspaces: `cargo bench --bench parts`.

#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark")]

#[path = "common/answer.rs"]
mod answer;
#[path = "common/site.rs"]
mod site;

use std::{hint::black_box, path::Path, sync::Arc};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use promptd_core::{
    profile::ProfileSet,
    prompt,
    render::{RenderFormat, render},
    text::cut::{Extent, Keep, cut},
    tokens::Encoding,
};
use sha2::{Digest as _, Sha256};

use answer::{encode, load, turn};

type Make = fn(&Path);

const SITES: [(&str, Make); 3] = [("small", site::small), ("typical", site::typical), ("large", site::large)];

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
