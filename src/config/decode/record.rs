//! `record`.

use promptd_core::{finding::Code, yaml::Fields};
use promptd_record::{Bounds, Options, Redaction, Share};

use super::read::{path, size, span, values};
use crate::config::Base;

pub(super) fn options(mut fields: Fields<'_, '_>, base: &Base<'_>) -> Option<Options> {
    let dir = path(&mut fields, "dir", base);
    let sample = share(&mut fields, "sample");
    let bounds = Bounds { max_bytes: size(&mut fields, "max_bytes") as u64, max_age: span(&mut fields, "max_age") };
    let redact = values(&mut fields, "redact", Redaction::parse).into_iter().map(|(name, _)| name);
    let redaction = Redaction::new(redact.collect());
    fields.finish();
    Some(Options { dir: dir?, sample, bounds, redaction })
}

fn share(fields: &mut Fields<'_, '_>, key: &'static str) -> Share {
    let share = fields.number(key).map(Share::new);
    if share == Some(None) {
        let message = format!("`{}` must be from 0 to 1", fields.name(key));
        fields.faults().add(Code::InvalidValue, fields.mark(key), message);
    }
    share.flatten().unwrap_or(Share::ALL)
}
