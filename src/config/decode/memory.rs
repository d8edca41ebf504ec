//! `memory`.

use promptd_core::{finding::Code, history::Thresholds, id::Id, profile::FilePattern, yaml::Fields};
use promptd_memory::{Keep, Options};
use promptd_memory_pipeline::Address;

use super::read::{count, path, range, section, share, size, span, value};
use crate::config::{Base, Memory, Model, Notes, Overrides, SummariseModel};

pub(super) fn memory(mut fields: Fields<'_, '_>, base: &Base<'_>, overrides: &Overrides) -> Option<Memory> {
    let dir = path(&mut fields, "store", base);
    let mut kept = fields.fields("keep");
    let (age, bytes) = (span(&mut kept, "age"), size(&mut kept, "bytes"));
    kept.finish();
    let held_vectors = size(&mut fields, "held_vectors");
    let mut models = section(&mut fields, "models");
    let embed = embed(section(&mut models, "embed"), base);
    let summarise = summarise(section(&mut models, "summarise"), base);
    models.finish();
    let thresholds = thresholds(section(&mut fields, "segments"));
    let notes = notes(section(&mut fields, "notes"));
    fields.finish();
    // Unset: no bound.
    let keep = Keep { age: Some(age).filter(|age| !age.is_zero()), bytes: Some(bytes as u64).filter(|&most| most > 0) };
    let store = Options { dir: overrides.memory.clone().or(dir)?, keep, held_vectors };
    Some(Memory { store, thresholds, embed, summarise, notes: notes? })
}

/// A model, if its server is set; the rest of its settings stays to be read.
fn model(fields: &mut Fields<'_, '_>, base: &Base<'_>) -> Option<Model> {
    let address = value(fields, "url", Address::parse);
    let name = value(fields, "model", |text| match text {
        "" => Err("the name of a model".to_owned()),
        text => Ok(text.to_owned()),
    });
    let key_file = path(fields, "key_file", base);
    let timeout = span(fields, "timeout");
    let tokens_per_hour = Some(count(fields, "tokens_per_hour") as u64).filter(|&most| most > 0);
    if address.is_some() && name.is_none() {
        let message = format!("`{}` must be set where `{}` is", fields.name("model"), fields.name("url"));
        fields.faults().add(Code::InvalidValue, fields.at(), message);
    }
    Some(Model { address: address?, name: name?, key_file, timeout, tokens_per_hour })
}

fn embed(mut fields: Fields<'_, '_>, base: &Base<'_>) -> Option<Model> {
    let model = model(&mut fields, base);
    fields.finish();
    model
}

fn summarise(mut fields: Fields<'_, '_>, base: &Base<'_>) -> Option<SummariseModel> {
    let model = model(&mut fields, base);
    let concurrency = count(&mut fields, "concurrency");
    let mut profile = |key| value(&mut fields, key, |text| Id::parse(text).map_err(|_| "a profile's id".to_owned()));
    let [segment_profile, rollup_profile, notes_profile] =
        ["segment_profile", "rollup_profile", "notes_profile"].map(&mut profile);
    fields.finish();
    Some(SummariseModel {
        model: model?,
        concurrency,
        segment_profile: segment_profile?,
        rollup_profile: rollup_profile?,
        notes_profile: notes_profile?,
    })
}

fn notes(mut fields: Fields<'_, '_>) -> Option<Notes> {
    let files = value(&mut fields, "files", |text| match FilePattern::parse(text) {
        Ok(pattern @ FilePattern::Newest { .. }) => Ok(pattern),
        _ => Err("a path below the workspace, with `?` in the file's name".to_owned()),
    });
    let (most, target_tokens) = (count(&mut fields, "most"), count(&mut fields, "target_tokens"));
    fields.finish();
    Some(Notes { files: files?, most, target_tokens: u32::try_from(target_tokens).unwrap_or(u32::MAX) })
}

fn thresholds(mut fields: Fields<'_, '_>) -> Thresholds {
    let chunk_messages = range(&mut fields, "chunk_messages");
    let mut number = |key| count(&mut fields, key);
    let least = u32::try_from;
    let mut thresholds = Thresholds {
        min_messages: number("min_messages"),
        min_new_messages: number("min_new_messages"),
        min_new_tokens: number("min_new_tokens") as u64,
        chunk_messages,
        target_tokens: number("target_tokens") as u64,
        min_segment_tokens: number("min_segment_tokens") as u64,
        min_segment_messages: number("min_segment_messages"),
        summary_divisor: least(number("summary_divisor")).unwrap_or(u32::MAX),
        min_summary_tokens: least(number("min_summary_tokens")).unwrap_or(u32::MAX),
        max_summary_tokens: least(number("max_summary_tokens")).unwrap_or(u32::MAX),
        rollup_size: number("rollup_size"),
        rollup_tokens: least(number("rollup_tokens")).unwrap_or(u32::MAX),
        ..Thresholds::default()
    };
    #[expect(clippy::cast_possible_truncation, reason = "a distance needs few digits")]
    let mut distance = |key| share(&mut fields, key) as f32;
    thresholds.topic_distance = distance("topic_distance");
    thresholds.merge_distance = distance("merge_distance");
    fields.finish();
    thresholds
}
