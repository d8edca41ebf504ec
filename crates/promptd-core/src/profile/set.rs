//! All profiles: the built-in ones, and the operator's over them.

use std::{collections::BTreeSet, sync::Arc};

use sha2::{Digest as _, Sha256};

use super::{
    FilePattern, Profile, builtin, compile,
    extend::{Placed, extend},
    raw::{RawProfile, Spot},
};
use crate::{
    digest::Digest,
    finding::{Code, Finding, Place},
    id::Id,
    yaml::{self, Faults, Fields, Mark, nearest},
};

/// All profiles that the service knows, in name order.
#[derive(Debug, Default, Clone)]
pub struct ProfileSet {
    profiles: Vec<Arc<Profile>>,
    files: BTreeSet<FilePattern>,
    hash: Arc<str>,
}

/// A profile's file: its name without folder, such as `harbour.yaml`, and its bytes.
pub type ProfileFile = (String, Vec<u8>);

/// How many profiles may extend one another in a row.
const MAX_EXTENDS: usize = 8;

impl ProfileSet {
    /// The built-in profiles alone.
    #[must_use]
    pub fn built_in() -> Self {
        load(&[], None).0
    }

    /// The profile of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Profile>> {
        self.position(name).map(|index| &self.profiles[index])
    }

    /// The profile's place in name order, counted from 0.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        self.profiles.binary_search_by(|profile| profile.name.as_str().cmp(name)).ok()
    }

    /// All of them, in name order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Profile>> {
        self.profiles.iter()
    }

    /// Every workspace file that any of them reads, beyond the context files.
    pub fn files(&self) -> impl Iterator<Item = &FilePattern> {
        self.files.iter()
    }

    /// SHA-256 over all of their sources, in hex: part of every revision.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The same set with this profile instead of the one of its name, if it has one.
    #[must_use]
    pub fn keeping(&self, profile: &Arc<Profile>) -> Self {
        let others = self.profiles.iter().filter(|other| other.name != profile.name);
        Self::new(others.chain([profile]).cloned().collect())
    }

    fn new(mut profiles: Vec<Arc<Profile>>) -> Self {
        profiles.sort_by(|a, b| a.name.cmp(&b.name));
        let mut hasher = Sha256::new();
        for profile in &profiles {
            hasher.update(profile.name.as_str());
            hasher.update([0]);
            hasher.update(profile.source.as_bytes());
            hasher.update([0]);
        }
        let files = profiles.iter().flat_map(|profile| profile.files().collect::<Vec<_>>()).collect();
        Self { hash: Digest(hasher.finalize().into()).to_hex().into(), profiles, files }
    }
}

/// Loads the built-in profiles and the operator's, which extend or override them by name. An invalid file keeps its
/// version from `previous`; each finding's place is `profiles/{file name}`.
#[must_use]
pub fn load(files: &[ProfileFile], previous: Option<&ProfileSet>) -> (ProfileSet, Vec<Finding>) {
    let shipped: Vec<_> = builtin::FILES.iter().map(|(file, text)| Source::read(file, text.as_bytes())).collect();
    let mut own: Vec<Source> = files
        .iter()
        .filter(|(name, bytes)| !shipped.iter().any(|s| *s.file == **name && s.text.as_bytes() == bytes))
        .map(|(name, bytes)| Source::read(name, bytes))
        .collect();
    own.sort_by(|a, b| a.file.cmp(&b.file));

    let mut findings = Vec::new();
    let mut profiles: Vec<Arc<Profile>> = Vec::new();
    for (index, source) in own.iter().enumerate() {
        let twin = own[..index].iter().find(|other| other.name() == source.name());
        let (profile, mut faults) = source.build(&own, &shipped, false);
        if let Some(twin) = twin {
            let message = format!("`{}` also defines the profile `{}`", twin.file, source.name());
            faults.push(source.start().fault(Code::ProfileInvalid, message));
        }
        match profile.filter(|_| faults.is_empty()) {
            Some(profile) => profiles.push(Arc::new(profile)),
            None => profiles.extend(previous.and_then(|set| set.get(source.name())).cloned()),
        }
        findings.extend(faults.into_iter().map(finding));
    }
    for source in &shipped {
        if !own.iter().any(|other| other.name() == source.name()) {
            let (profile, faults) = source.build(&own, &shipped, true);
            findings.extend(faults.into_iter().map(finding));
            profiles.extend(profile.map(Arc::new));
        }
    }
    profiles.dedup_by(|a, b| a.name == b.name);
    (ProfileSet::new(profiles), findings)
}

fn finding(placed: Placed) -> Finding {
    let (code, message) = placed.value;
    Finding::new(code, Place::at(format!("profiles/{}", placed.file), placed.at.line, placed.at.column), message)
}

/// A profile's file, decoded.
struct Source {
    file: Arc<str>,
    text: Arc<str>,
    raw: Option<RawProfile>,
    faults: Vec<Placed>,
}

impl Source {
    fn read(file: &str, bytes: &[u8]) -> Self {
        let file: Arc<str> = file.into();
        let text: Arc<str> = String::from_utf8_lossy(bytes).into();
        let decoded = if std::str::from_utf8(bytes).is_err() {
            let at = Mark { line: 1, column: 1 };
            Err(vec![yaml::Fault { code: Code::YamlSyntax, at, message: "the file is not UTF-8".into() }])
        } else {
            yaml::parse(&text)
        };
        let (raw, faults) = match decoded {
            Ok(node) => {
                let faults = Faults::default();
                let raw = RawProfile::read(&node, Fields::root(&node, &faults), &file);
                (Some(raw), faults.into_vec())
            }
            Err(faults) => (None, faults),
        };
        let faults = faults.into_iter().map(|fault| Placed::of(fault, &file)).collect();
        Self { file, text, raw, faults }
    }

    /// The profile's name: its `name`, else the file's name without `.yaml`.
    fn name(&self) -> &str {
        let stem = self.file.strip_suffix(".yaml").or_else(|| self.file.strip_suffix(".yml")).unwrap_or(&self.file);
        self.raw.as_ref().and_then(|raw| raw.name.as_ref()).map_or(stem, |spot| &spot.value)
    }

    fn start(&self) -> Spot<()> {
        Spot { value: (), at: Mark { line: 1, column: 1 }, file: Arc::clone(&self.file), literal: false }
    }

    fn build(&self, own: &[Self], shipped: &[Self], built_in: bool) -> (Option<Profile>, Vec<Placed>) {
        let mut faults = self.faults.clone();
        let Some(raw) = self.raw.clone() else { return (None, faults) };
        let Ok(name) = Id::parse(self.name()) else {
            faults
                .push(self.start().fault(Code::ProfileInvalid, format!("the profile's name {}", crate::id::InvalidId)));
            return (None, faults);
        };
        let mut text = self.text.to_string();
        let merged = resolve(raw, self, own, shipped, 0, &mut text, &mut faults);
        let profile = compile::compile(merged, name, built_in, text.into(), &mut faults);
        (Some(profile), faults)
    }
}

/// Lays a profile over the one it extends, and that over its own. `text` gathers all sources that went in.
fn resolve(
    raw: RawProfile,
    source: &Source,
    own: &[Source],
    shipped: &[Source],
    depth: usize,
    text: &mut String,
    faults: &mut Vec<Placed>,
) -> RawProfile {
    let Some(extends) = raw.extends.clone() else { return raw };
    if depth >= MAX_EXTENDS {
        faults.push(extends.fault(Code::ProfileInvalid, "profiles extend one another in a circle, or too deeply"));
        return raw;
    }
    // A profile that extends its own name extends the shipped one that it overrides.
    let candidates = own.iter().filter(|other| other.name() != source.name()).chain(shipped);
    let known: Vec<&Source> = candidates.filter(|other| !std::ptr::eq(*other, source)).collect();
    let Some(base) = known.iter().find(|other| other.name() == extends.value) else {
        let near = nearest(&extends.value, known.iter().map(|other| other.name()));
        let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        faults.push(extends.fault(Code::ProfileInvalid, format!("there is no profile `{}`{hint}", extends.value)));
        return raw;
    };
    let Some(base_raw) = base.raw.clone().filter(|_| base.faults.is_empty()) else {
        faults.push(extends.fault(Code::ProfileInvalid, format!("the profile `{}` is itself invalid", extends.value)));
        return raw;
    };
    text.push_str("\n---\n");
    text.push_str(&base.text);
    let base_raw = resolve(base_raw, base, own, shipped, depth + 1, text, faults);
    extend(raw, base_raw, faults)
}
