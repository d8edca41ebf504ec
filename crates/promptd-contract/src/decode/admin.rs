//! Requests of `AdminService`.

use std::collections::{BTreeMap, BTreeSet};

use super::{Violation, Violations, request::workspace};
use crate::proto;
use promptd_core::{
    canary::{BUCKETS, Key, Share},
    digest::Digest,
    id::Id,
    text::hex,
};

/// The most bytes of what a revision is named by: the digits of a SHA-256.
const MAX_REVISION_BYTES: usize = 64;
/// The most bytes of why something is published.
const MAX_REASON_BYTES: usize = 4_096;

/// What can be published.
#[derive(Debug, Clone, Copy)]
pub struct PublishBounds {
    /// The most workspaces together.
    pub workspaces: usize,
    /// The most files of a workspace.
    pub files: usize,
    /// The most bytes of a file.
    pub file_bytes: u64,
    /// The most bytes of all files together.
    pub bytes: u64,
    /// Whether a text can be the path of a file that is published.
    pub is_path: fn(&str) -> bool,
}

/// What a caller of `Publish` asks for, checked.
#[derive(Debug)]
pub struct PublishRequest {
    /// At least one, each id once.
    pub workspaces: Vec<WorkspaceToPublish>,
    /// Why; not empty.
    pub message: String,
    /// Which turns get it; `None`: all.
    pub canary: Option<(Share, Key)>,
}

/// A workspace to publish.
#[derive(Debug)]
pub struct WorkspaceToPublish {
    /// Its id.
    pub id: Id,
    /// The SHA-256 and the size of each file, by path; at least one.
    pub files: BTreeMap<String, (Digest, u64)>,
    /// The revision that must be the newest; `None`: whichever is.
    pub base: Option<Digest>,
}

/// Checks a request. `may_publish` refuses a workspace that is out of the caller's reach, before any other field is checked.
pub fn publish_request<E: From<Vec<Violation>>>(
    raw: proto::PublishRequest,
    bounds: &PublishBounds,
    mut may_publish: impl FnMut(&Id) -> Result<(), E>,
) -> Result<PublishRequest, E> {
    let mut violations = Violations::default();
    violations.within("workspaces", raw.workspaces.len(), bounds.workspaces);
    // Of too many nothing else is looked at.
    violations.into_result(())?;
    let mut violations = Violations::default();
    let mut ids = Vec::new();
    for (index, one) in raw.workspaces.iter().enumerate() {
        let mut faults = Violations::default();
        ids.push(workspace(&one.workspace_id, &mut may_publish, &mut faults)?);
        for fault in faults.into_result(()).err().into_iter().flatten() {
            violations.add(format!("workspaces[{index}].{}", fault.field), fault.message);
        }
    }
    if raw.workspaces.is_empty() {
        violations.add("workspaces", "must have at least one workspace");
    }
    let (mut workspaces, mut seen, mut bytes) = (Vec::new(), BTreeSet::new(), 0);
    for (index, (one, id)) in raw.workspaces.into_iter().zip(ids).enumerate() {
        let field = format!("workspaces[{index}]");
        let base = base(&one.base_revision, &field, &mut violations);
        let files = files(one.files, &field, bounds, &mut violations);
        bytes += files.values().map(|(_, bytes)| bytes).sum::<u64>();
        let Some(id) = id else { continue };
        if !seen.insert(id.clone()) {
            violations.add(format!("{field}.workspace_id"), "another workspace of the request has this id");
        }
        workspaces.push(WorkspaceToPublish { id, files, base });
    }
    if bytes > bounds.bytes {
        let most = bounds.bytes;
        violations.add("workspaces", format!("the files have {bytes} bytes together; at most {most} are allowed"));
    }
    let canary = raw.canary.and_then(|raw| canary(&raw, &mut violations));
    let message = publish_reason(raw.message, &mut violations);
    if message.is_empty() {
        violations.add("message", "must say why");
    }
    Ok(violations.into_result(PublishRequest { workspaces, message, canary })?)
}

fn canary(raw: &proto::CanaryRule, violations: &mut Violations) -> Option<(Share, Key)> {
    let (share, by) = (Share::of_buckets(raw.share), Key::parse(&raw.by));
    if share.is_none() {
        violations.add("canary.share", format!("must be 1 to {BUCKETS} hundredths of a per cent"));
    }
    if by.is_none() {
        violations.add("canary.by", format!("must be one of {}", Key::ALL.map(Key::name).join(", ")));
    }
    share.zip(by)
}

fn base(raw: &str, field: &str, violations: &mut Violations) -> Option<Digest> {
    let base = hex::bytes(raw).map(Digest);
    if base.is_none() && !raw.is_empty() {
        violations.add(format!("{field}.base_revision"), "must be 64 lower-case hex digits, or empty");
    }
    base
}

fn files(
    raw: Vec<proto::PublishedFile>,
    field: &str,
    bounds: &PublishBounds,
    violations: &mut Violations,
) -> BTreeMap<String, (Digest, u64)> {
    let mut files = BTreeMap::new();
    if raw.is_empty() {
        violations.add(format!("{field}.files"), "must have at least one file");
    }
    if !violations.within(&format!("{field}.files"), raw.len(), bounds.files) {
        return files;
    }
    for (index, file) in raw.into_iter().enumerate() {
        let mut fault = |name: &str, message: String| violations.add(format!("{field}.files[{index}].{name}"), message);
        let Some(sha256) = hex::bytes(&file.sha256).map(Digest) else {
            fault("sha256", NOT_A_DIGEST.to_owned());
            continue;
        };
        if !(bounds.is_path)(&file.path) {
            fault("path", "must be relative, of names with `/` between them that do not begin with a dot".to_owned());
        } else if file.bytes > bounds.file_bytes {
            fault("bytes", format!("at most {} are allowed", bounds.file_bytes));
        } else if files.insert(file.path, (sha256, file.bytes)).is_some() {
            fault("path", "another file of the workspace has this path".to_owned());
        }
    }
    let is_file = |path: &str| path.match_indices('/').any(|(at, _)| files.contains_key(&path[..at]));
    if files.keys().any(|path| is_file(path)) {
        violations.add(format!("{field}.files"), "a path is below one that is a file");
    }
    files
}

const NOT_A_DIGEST: &str = "must be 64 lower-case hex digits: the SHA-256 of the file";

/// Why something is published; it may be empty.
pub fn publish_reason(raw: String, violations: &mut Violations) -> String {
    if raw.len() > MAX_REASON_BYTES {
        violations.add("message", format!("has {} bytes; at most {MAX_REASON_BYTES} are allowed", raw.len()));
    }
    raw
}

/// What a revision is named by; `None`: it is empty.
pub fn revision_name(raw: String, violations: &mut Violations) -> Option<String> {
    if raw.len() > MAX_REVISION_BYTES {
        let bytes = raw.len();
        violations.add("revision", format!("has {bytes} bytes; at most {MAX_REVISION_BYTES} are allowed"));
    }
    Some(raw).filter(|name| !name.is_empty())
}

/// The first digits of a proposal's id: eight at least.
pub fn proposal_name(raw: String, violations: &mut Violations) -> String {
    const MIN_DIGITS: usize = 8;
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if !(MIN_DIGITS..=MAX_REVISION_BYTES).contains(&raw.len()) || !raw.bytes().all(is_digit) {
        let start = if raw.is_empty() { "is missing or empty: it " } else { "" };
        let message = format!("{start}must be {MIN_DIGITS} to {MAX_REVISION_BYTES} lower-case hex digits");
        violations.add("proposal_id", message);
    }
    raw
}

/// The digests of files: at least one, and so many at most.
pub fn file_digests(raw: &[String], most: usize, violations: &mut Violations) -> Vec<Digest> {
    if !is_some_of("sha256", raw.len(), most, violations) {
        return Vec::new();
    }
    let mut digests = Vec::new();
    for (index, digits) in raw.iter().enumerate() {
        match hex::bytes(digits) {
            Some(bytes) => digests.push(Digest(bytes)),
            None => violations.add(format!("sha256[{index}]"), NOT_A_DIGEST),
        }
    }
    digests
}

/// That a list has at least one item, and so many at most; if not, adds a violation.
pub fn is_some_of(field: &str, count: usize, most: usize, violations: &mut Violations) -> bool {
    if count == 0 {
        violations.add(field, "must have at least one item");
    }
    violations.within(field, count, most) && count > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: PublishBounds =
        PublishBounds { workspaces: 2, files: 3, file_bytes: 10, bytes: 25, is_path: |path| !path.contains("..") };

    fn file(path: &str, bytes: u64) -> proto::PublishedFile {
        proto::PublishedFile { path: path.into(), sha256: Digest([7; 32]).to_hex(), bytes }
    }

    fn one(id: &str, files: Vec<proto::PublishedFile>) -> proto::WorkspaceToPublish {
        proto::WorkspaceToPublish { workspace_id: id.into(), files, base_revision: String::new() }
    }

    fn check(workspaces: Vec<proto::WorkspaceToPublish>, message: &str) -> Result<PublishRequest, Vec<Violation>> {
        let may = |id: &Id| {
            let fault = Violation { field: "refused".into(), message: id.to_string() };
            if id.as_str() == "secret" { Err(vec![fault]) } else { Ok(()) }
        };
        publish_request(proto::PublishRequest { workspaces, message: message.into(), canary: None }, &BOUNDS, may)
    }

    #[test]
    fn every_fault_of_a_publish_is_reported_with_its_field() {
        let good = || one("w", vec![file("a", 10)]);
        let base = |base: &str| proto::WorkspaceToPublish { base_revision: base.into(), ..good() };
        let bad_hash = proto::PublishedFile { sha256: "AA".into(), ..file("a", 1) };
        let many = (0..4).map(|number| file(&number.to_string(), 1)).collect();
        let full = |id: &str| one(id, vec![file("a", 10), file("b", 10)]);
        for (workspaces, message, fields) in [
            (vec![], "m", vec!["workspaces"]),
            (vec![one("a", vec![]), one("b", vec![]), one("c", vec![])], "m", vec!["workspaces"]),
            (vec![one("../w", vec![file("a", 1)])], "m", vec!["workspaces[0].workspace_id"]),
            (vec![good(), good()], "m", vec!["workspaces[1].workspace_id"]),
            (vec![one("w", vec![])], "", vec!["workspaces[0].files", "message"]),
            (vec![one("w", many)], "m", vec!["workspaces[0].files"]),
            (vec![one("w", vec![bad_hash])], "m", vec!["workspaces[0].files[0].sha256"]),
            (vec![one("w", vec![file("../a", 1)])], "m", vec!["workspaces[0].files[0].path"]),
            (vec![one("w", vec![file("a", 1), file("a", 2)])], "m", vec!["workspaces[0].files[1].path"]),
            (vec![one("w", vec![file("a", 1), file("a/b", 1)])], "m", vec!["workspaces[0].files"]),
            (vec![one("w", vec![file("a", 11)])], "m", vec!["workspaces[0].files[0].bytes"]),
            (vec![full("v"), full("w")], "m", vec!["workspaces"]),
            (vec![base("abc")], "m", vec!["workspaces[0].base_revision"]),
            (vec![good()], &"x".repeat(4_097), vec!["message"]),
            (vec![one("", vec![]), one("secret", vec![])], "", vec!["refused"]),
        ] {
            let found = check(workspaces, message).unwrap_err();
            assert_eq!(found.iter().map(|one| one.field.as_str()).collect::<Vec<_>>(), fields);
        }
        let checked = check(vec![base(&Digest([9; 32]).to_hex())], "m").unwrap();
        assert_eq!(checked.workspaces[0].base, Some(Digest([9; 32])));
        assert_eq!(checked.workspaces[0].files["a"], (Digest([7; 32]), 10));
    }

    #[test]
    fn a_canary_names_a_share_and_a_field() {
        let with = |share: u32, by: &str| {
            let canary = Some(proto::CanaryRule { share, by: by.into() });
            let raw =
                proto::PublishRequest { workspaces: vec![one("w", vec![file("a", 1)])], message: "m".into(), canary };
            publish_request::<Vec<Violation>>(raw, &BOUNDS, |_| Ok(()))
        };
        assert_eq!(with(250, "user.id").unwrap().canary, Some((Share::parse("2.5%").unwrap(), Key::UserId)));
        for (share, by, fields) in [
            (0, "user.id", vec!["canary.share"]),
            (10_001, "session_id", vec!["canary.share"]),
            (1, "user.name", vec!["canary.by"]),
            (0, "", vec!["canary.share", "canary.by"]),
        ] {
            let found = with(share, by).unwrap_err();
            assert_eq!(found.iter().map(|one| one.field.as_str()).collect::<Vec<_>>(), fields);
        }
    }

    #[test]
    fn lists_and_names_have_bounds() {
        let digests = |raw: &[&str]| {
            let mut violations = Violations::default();
            let raw: Vec<_> = raw.iter().map(|&text| text.to_owned()).collect();
            let digests = file_digests(&raw, 2, &mut violations);
            violations.into_result(digests.len()).map_err(|found| found[0].field.clone())
        };
        let hash = Digest([1; 32]).to_hex();
        for (name, good) in
            [(&hash[..], true), (&hash[..8], true), (&hash[..7], false), ("", false), ("ABCDEF01", false)]
        {
            let mut violations = Violations::default();
            proposal_name(name.to_owned(), &mut violations);
            assert_eq!(violations.into_result(()).is_ok(), good, "{name}");
        }
        assert_eq!(digests(&[&hash, &hash]), Ok(2));
        assert_eq!(digests(&[]), Err("sha256".to_owned()));
        assert_eq!(digests(&[&hash, &hash, &hash]), Err("sha256".to_owned()));
        assert_eq!(digests(&[&hash, "x"]), Err("sha256[1]".to_owned()));
        for (name, read, good) in [
            ("", None, true),
            ("3", Some("3"), true),
            (&*"a".repeat(64), Some(&*"a".repeat(64)), true),
            (&*"a".repeat(65), None, false),
        ] {
            let mut violations = Violations::default();
            let named = revision_name(name.to_owned(), &mut violations);
            assert_eq!(violations.into_result(()).is_ok(), good, "{name}");
            assert!(!good || named.as_deref() == read, "{name}");
        }
    }
}
