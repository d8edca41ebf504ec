//! `record`.

use promptd_core::yaml::Fields;
use promptd_record::{Bounds, Options, Redaction, Share};

use super::read::{path, share, size, span, values};
use crate::config::Base;

pub(super) fn options(mut fields: Fields<'_, '_>, base: &Base<'_>) -> Option<Options> {
    let dir = path(&mut fields, "dir", base);
    let sample = Share::new(share(&mut fields, "sample")).unwrap_or(Share::ALL);
    let bounds = Bounds { max_bytes: size(&mut fields, "max_bytes") as u64, max_age: span(&mut fields, "max_age") };
    let redact = values(&mut fields, "redact", Redaction::parse).into_iter().map(|(name, _)| name);
    let redaction = Redaction::new(redact.collect());
    fields.finish();
    Some(Options { dir: dir?, sample, bounds, redaction })
}
