//! What is tried out of a workspace, as etcd has it: a line that says which turns get it, then its manifest, as the history has it.

use promptd_core::{
    canary::{Canary, Key, Share},
    digest::Digest,
};
use serde::{Deserialize, Serialize};

use crate::manifest::{InvalidManifest, MAX_MANIFEST_BYTES, Manifest};

/// The newest format of canaries that is read, and the one that is written.
const FORMAT: u32 = 1;
/// The most bytes of the first line.
pub(crate) const MAX_LINE_BYTES: usize = 1_024;

/// A state of a workspace that some turns get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Which turns.
    pub canary: Canary,
    /// Its manifest; the parent is what the other turns get.
    pub manifest: Manifest,
    /// The SHA-256 of that.
    pub revision: Digest,
}

#[derive(Serialize, Deserialize)]
struct Written {
    format: u32,
    share: u32,
    by: String,
    salt: String,
}

#[derive(Deserialize)]
struct FormatOnly {
    format: u32,
}

impl Candidate {
    /// Reads what etcd has.
    pub(crate) fn read(value: &[u8]) -> Result<Self, InvalidManifest> {
        let invalid = |what: String| InvalidManifest(format!("the canary is not valid: {what}"));
        let end = value.iter().take(MAX_LINE_BYTES).position(|byte| *byte == b'\n');
        let end = end.ok_or_else(|| invalid("it has no first line that says which turns get it".to_owned()))?;
        let (line, manifest) = (&value[..end], &value[end + 1..]);
        let FormatOnly { format } = serde_json::from_slice(line).map_err(|error| invalid(error.to_string()))?;
        if format > FORMAT {
            let message =
                format!("the canary has format {format}, and this promptd reads up to {FORMAT}: update promptd");
            return Err(InvalidManifest(message));
        }
        let Written { share, by, salt, .. } =
            serde_json::from_slice(line).map_err(|error| invalid(error.to_string()))?;
        let share = Share::of_buckets(share).ok_or_else(|| invalid(format!("there is no share of {share} buckets")))?;
        let by = Key::parse(&by).ok_or_else(|| invalid(format!("there is no key `{by}`")))?;
        let canary = Canary::new(share, by, salt).map_err(invalid)?;
        Ok(Self { canary, manifest: Manifest::read(manifest)?, revision: Digest::of(manifest) })
    }

    /// What etcd gets, with the manifest as it is written into the history.
    pub(crate) fn write(canary: &Canary, manifest: &[u8]) -> Vec<u8> {
        let line = Written {
            format: FORMAT,
            share: canary.share().buckets(),
            by: canary.by().name().to_owned(),
            salt: canary.salt().to_owned(),
        };
        // Texts and numbers alone: writing them cannot fail.
        let line = serde_json::to_vec(&line).unwrap_or_default();
        [&line, &b"\n"[..], manifest].concat()
    }
}

/// The most bytes of what etcd has.
pub(crate) const MAX_BYTES: usize = MAX_LINE_BYTES + MAX_MANIFEST_BYTES;

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = r#"{"format":1,"sequence":2,"parent":null,"author":"dana","message":"Shorter.","time":"2026-11-29T13:00:00Z","files":{}}"#;
    const LINE: &str = r#"{"format":1,"share":250,"by":"user.id","salt":"s"}"#;

    #[test]
    fn what_is_written_is_read() {
        let canary = Canary::new(Share::parse("2.5%").unwrap(), Key::UserId, "s").unwrap();
        let written = Candidate::write(&canary, MANIFEST.as_bytes());
        assert_eq!(written, format!("{LINE}\n{MANIFEST}").into_bytes());
        let read = Candidate::read(&written).unwrap();
        assert_eq!((read.canary, read.revision), (canary, Digest::of(MANIFEST.as_bytes())));
        assert_eq!(read.manifest.author, "dana");
    }

    #[test]
    fn what_is_no_canary_says_what_is_wrong() {
        let whole = format!("{LINE}\n{MANIFEST}");
        for (from, to, why) in [
            (
                "{\"format\":1",
                "{\"format\":2",
                "the canary has format 2, and this promptd reads up to 1: update promptd",
            ),
            ("250", "0", "there is no share of 0 buckets"),
            ("250", "10001", "there is no share of 10001 buckets"),
            ("user.id", "user.name", "there is no key `user.name`"),
            ("\"salt\":\"s\"", "\"salt\":\"\"", "a salt has 1 to 64 printable ASCII characters"),
            ("\n", "", "it has no first line"),
            ("\"sequence\"", "\"number\"", "the manifest is not valid: missing field `sequence`"),
        ] {
            assert!(whole.contains(from), "{from}");
            let error = Candidate::read(whole.replacen(from, to, 1).as_bytes()).unwrap_err();
            assert!(error.to_string().contains(why), "{error} instead of {why}");
        }
        assert!(Candidate::read(&vec![b' '; MAX_BYTES]).is_err());
    }
}
