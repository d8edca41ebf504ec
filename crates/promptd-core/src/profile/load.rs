//! Loading profiles: the built-in ones, and the operator's over them.

use std::sync::{Arc, LazyLock};

use super::{
    Profile, ProfileSet, compile,
    extend::extend,
    keys,
    raw::{ProfileFault, RawProfile, Spanned},
};
use crate::{
    finding::{Code, Finding, Severity, bounded},
    id::Id,
    yaml::{self, Fault, Fields, Mark, nearest},
};

/// A profile's file: its name without folder, such as `harbour.yaml`, and its bytes.
pub type ProfileFile = (String, Vec<u8>);

/// How many profiles may extend one another in a row.
const MAX_EXTENDS: usize = 8;

/// Loads the built-in profiles and the operator's, which extend or override them by name. An invalid file keeps its
/// version from `previous`; each finding's place is `profiles/{file name}`.
#[must_use]
pub fn load(files: &[ProfileFile], previous: Option<&ProfileSet>) -> (ProfileSet, Vec<Finding>) {
    let shipped = &**SHIPPED;
    let mut own: Vec<Source> = files
        .iter()
        .filter(|(name, bytes)| !shipped.iter().any(|s| *s.file == **name && s.text.as_bytes() == bytes))
        .map(|(name, bytes)| Source::read(name, bytes))
        .collect();
    own.sort_by(|a, b| a.file.cmp(&b.file));

    let mut findings = Vec::new();
    let mut profiles: Vec<Arc<Profile>> = Vec::new();
    let mut stale = Vec::new();
    let mut nameless = None;
    let mut kept = files.to_vec();
    for (index, source) in own.iter().enumerate() {
        let twin = own[..index].iter().find(|other| other.name() == source.name());
        let (profile, mut faults) = source.build(&own, shipped, false);
        if let Some(twin) = twin {
            let message = format!("`{}` also defines the profile `{}`", twin.file, source.name());
            faults.push(source.start().fault(Code::ProfileInvalid, message));
        }
        let mut errors = faults.iter().filter(|fault| fault.value.0.severity() == Severity::Error).peekable();
        match profile.filter(|_| errors.peek().is_none()) {
            Some(profile) => profiles.push(Arc::new(profile)),
            None => {
                keep_last_good(&mut kept, &source.file, previous);
                if let Some(last_good) = previous.and_then(|set| set.get(source.name())) {
                    profiles.push(Arc::clone(last_good));
                    stale.extend(errors.next().map(|fault| (source.name(), last_good_kept(fault.clone()))));
                } else if source.raw.is_none() {
                    nameless = nameless.or(errors.next().cloned());
                }
            }
        }
        findings.extend(bounded(faults.into_iter().map(finding).collect()));
    }
    let names_one = |source: &Source| shipped.iter().any(|other| other.name() == source.name());
    if files.is_empty() || own.iter().any(names_one) {
        for source in shipped.iter().filter(|source| own.iter().all(|other| other.name() != source.name())) {
            let (profile, faults) = source.build(&own, shipped, true);
            findings.extend(faults.into_iter().map(finding));
            profiles.extend(profile.map(Arc::new));
        }
    } else {
        profiles.extend(UNCHANGED.iter().cloned());
    }
    findings.sort_by(|a, b| a.place.cmp(&b.place));
    findings.dedup();
    profiles.dedup_by(|a, b| a.name == b.name);
    let set = ProfileSet::new(profiles).of_files(kept);
    let set = stale.into_iter().fold(set, |set, (name, error)| set.with_error(name, error));
    match (nameless, previous) {
        (Some(fault), Some(previous)) => (set.keeping_missing(previous, &last_good_kept(fault)), findings),
        _ => (set, findings),
    }
}

/// Puts the last good version of a file in its place.
fn keep_last_good(files: &mut [ProfileFile], name: &str, previous: Option<&ProfileSet>) {
    let good = previous.and_then(|set| set.files_of_operator().iter().find(|(known, _)| known == name));
    if let (Some((_, good)), Some((_, bytes))) = (good, files.iter_mut().find(|(file, _)| file == name)) {
        bytes.clone_from(good);
    }
}

/// The files of [`BUILT_IN`], decoded.
static SHIPPED: LazyLock<Vec<Source>> =
    LazyLock::new(|| BUILT_IN.iter().map(|(file, text)| Source::read(file, text.as_bytes())).collect());

/// The built-in profiles as they are where no operator's profile has the name of one.
static UNCHANGED: LazyLock<Vec<Arc<Profile>>> = LazyLock::new(|| ProfileSet::built_in().iter().cloned().collect());

impl ProfileSet {
    /// The built-in profiles alone.
    #[must_use]
    pub fn built_in() -> Self {
        load(&[], None).0
    }
}

fn finding(fault: ProfileFault) -> Finding {
    let (code, message) = fault.value;
    Fault { code, at: fault.at, message }.into_finding(&format!("profiles/{}", fault.file))
}

/// What every prompt made with the last good version carries, by the first fault of the file.
fn last_good_kept(fault: ProfileFault) -> Finding {
    let Finding { place, message, .. } = finding(fault);
    Finding::new(Code::ProfileInvalid, place, format!("{message}; the last good version of the profile stays in use"))
}

/// A profile's file, decoded.
struct Source {
    file: Arc<str>,
    text: Arc<str>,
    raw: Option<RawProfile>,
    faults: Vec<ProfileFault>,
}

impl Source {
    fn read(file: &str, bytes: &[u8]) -> Self {
        let file: Arc<str> = file.into();
        let text: Arc<str> = String::from_utf8_lossy(bytes).into();
        let mut raw = None;
        let decoded = yaml::utf8(bytes).map_err(|fault| vec![fault]).and_then(|text| {
            yaml::read(text, |node, faults| {
                let read = RawProfile::read(node, Fields::root(node, faults).by(keys::ROOT), &file);
                // Its name may be in what could not be read.
                raw = (!faults.is_partial()).then_some(read);
            })
        });
        let faults = decoded.err().unwrap_or_default();
        let faults = faults.into_iter().map(|fault| ProfileFault::of(fault, &file)).collect();
        Self { file, text, raw, faults }
    }

    /// The profile's name: its `name`, else the file's name without `.yaml`.
    fn name(&self) -> &str {
        let stem = self.file.strip_suffix(".yaml").or_else(|| self.file.strip_suffix(".yml")).unwrap_or(&self.file);
        self.raw.as_ref().and_then(|raw| raw.name.as_ref()).map_or(stem, |written| &written.value)
    }

    fn start(&self) -> Spanned<()> {
        Spanned { value: (), at: Mark { line: 1, column: 1 }, file: Arc::clone(&self.file), literal: false }
    }

    fn build(&self, own: &[Self], shipped: &[Self], built_in: bool) -> (Option<Profile>, Vec<ProfileFault>) {
        let mut faults = self.faults.clone();
        let Some(raw) = self.raw.clone() else { return (None, faults) };
        let name = match Id::parse(self.name()) {
            Ok(name) => name,
            Err(invalid) => {
                faults.push(self.start().fault(Code::ProfileInvalid, format!("the profile's name {invalid}")));
                return (None, faults);
            }
        };
        let mut text = self.text.to_string();
        let merged = resolve(raw, self, own, shipped, 0, &mut text, &mut faults);
        let profile = compile::compile(merged, name, built_in, text.into(), &mut faults);
        (Some(profile), faults)
    }
}

/// Lays a profile over the one it extends, and that over its own. `text` collects all sources that went in.
fn resolve(
    raw: RawProfile,
    source: &Source,
    own: &[Source],
    shipped: &[Source],
    depth: usize,
    text: &mut String,
    faults: &mut Vec<ProfileFault>,
) -> RawProfile {
    let Some(extends) = raw.extends.clone() else { return raw };
    if depth >= MAX_EXTENDS {
        faults
            .push(extends.fault(Code::ProfileInvalid, "profiles extend one another in a circle, or more than 8 deep"));
        return raw;
    }
    // A profile that extends its own name extends the shipped one that it overrides.
    let candidates = own.iter().filter(|other| other.name() != source.name()).chain(shipped);
    let known: Vec<&Source> = candidates.filter(|other| !std::ptr::eq(*other, source)).collect();
    let Some(base) = known.iter().find(|other| other.name() == extends.value) else {
        let near = nearest(&extends.value, known.iter().map(|other| other.name()));
        let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        faults.push(extends.fault(Code::ProfileInvalid, format!("unknown profile `{}`{hint}", extends.value)));
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

macro_rules! shipped {
    ($($file:literal),+ $(,)?) => {
        /// File name and YAML of each profile that the service ships, as in `config/profiles/`.
        const BUILT_IN: &[(&str, &str)] = &[$(($file, include_str!(concat!("../../../../config/profiles/", $file)))),+];
    };
}

shipped!(
    "airi.yaml",
    "cache-first.yaml",
    "five-layer.yaml",
    "kai-heartbeat.yaml",
    "kai-local.yaml",
    "kai-remote.yaml",
    "kai-splinterlands.yaml",
    "kern-notes-summary.yaml",
    "kern-rollup.yaml",
    "kern-segment-summary.yaml",
    "kern.yaml",
    "lucidpal-briefing.yaml",
    "lucidpal.yaml",
);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::{
        finding::{Finding, MAX_FINDINGS_A_FILE},
        profile::{self, Body, ProfileSet},
        turn::RUNTIME_LABELS,
    };

    #[test]
    fn every_file_of_config_profiles_is_built_in() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/profiles");
        let mut files: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        files.sort();
        assert_eq!(files, super::BUILT_IN.iter().map(|(file, _)| *file).collect::<Vec<_>>());
    }

    #[test]
    fn every_one_of_them_is_without_a_finding() {
        let (profiles, findings) = profile::load(&[], None);
        assert_eq!(findings, Vec::<Finding>::new());
        assert_eq!(profiles.iter().len(), super::BUILT_IN.len());
        for (file, _) in super::BUILT_IN {
            let profile = profiles.get(file.trim_end_matches(".yaml")).unwrap();
            assert!(profile.built_in && !profile.description.is_empty(), "{file}");
        }
    }

    /// Without one, a negative number could switch a limit off.
    #[test]
    fn every_number_that_they_take_has_a_range() {
        fn unbounded(path: &str, ty: &profile::Type) -> Vec<String> {
            match ty {
                profile::Type::List(of) => unbounded(&format!("{path}[]"), of),
                profile::Type::Object(fields) => {
                    fields.iter().flat_map(|field| unbounded(&format!("{path}.{}", field.name), &field.ty)).collect()
                }
                other if other.range().is_some_and(|range| range.min.is_none()) => vec![path.to_owned()],
                _ => Vec::new(),
            }
        }
        for profile in profile::load(&[], None).0.iter() {
            let of_inputs = profile.inputs.iter().flat_map(|input| unbounded(&input.field.name, &input.field.ty));
            assert_eq!(of_inputs.collect::<Vec<_>>(), Vec::<String>::new(), "{}", profile.name);
        }
    }

    /// A variable with the label of a fact would read as the fact.
    #[test]
    fn every_fact_has_a_label_that_no_variable_can_take() {
        let rules = include_str!("../../../../docs/rules.md").replace("\n  ", " ");
        for label in RUNTIME_LABELS {
            assert!(rules.contains(&format!("`{label}`")), "docs/rules.md does not list `{label}`");
        }
        let profiles = ProfileSet::built_in();
        let sections = profiles.iter().flat_map(|profile| profile.sections());
        let facts = sections.filter_map(|(_, section)| match &section.body {
            Body::Facts { facts, .. } => Some(facts),
            _ => None,
        });
        let labels: BTreeSet<&str> = facts.flatten().map(|fact| fact.lead[2..].trim_end_matches(": ")).collect();
        assert!(labels.len() >= RUNTIME_LABELS.len(), "{labels:?}");
        for label in labels {
            assert!(RUNTIME_LABELS.contains(&label), "`{label}` is not among the labels that variables may not take");
        }
    }

    #[test]
    fn the_files_that_it_keeps_make_the_same_profiles() {
        let text = |word: &str| format!("messages: [{{name: m, sections: [{{id: s, template: \"{word}\"}}]}}]\n");
        let file = |name: &str, text: &str| (name.to_owned(), text.as_bytes().to_vec());
        let base = file("base.yaml", &text("one"));
        let child = file("child.yaml", "extends: base\n");
        let good = profile::load(&[base.clone(), child.clone()], None).0;
        let broken = file("base.yaml", "messages: [\n");
        let sources =
            |set: &ProfileSet| set.iter().map(|one| (one.name.clone(), one.source.clone())).collect::<Vec<_>>();
        for (files, previous) in [
            (vec![base.clone(), child.clone()], None),
            (vec![broken.clone(), child.clone()], Some(&good)),
            (vec![broken.clone(), child.clone()], None),
            (vec![file("base.yaml", &text("two")), child.clone()], Some(&good)),
        ] {
            let set = profile::load(&files, previous).0;
            assert_eq!(sources(&profile::load(set.files_of_operator(), None).0), sources(&set));
        }
        let error = Finding::new(crate::finding::Code::ProfileInvalid, crate::finding::Place::Unplaced, "unreadable");
        let missing = profile::load(&[child], Some(&good)).0.keeping_missing(&good, &error);
        assert_eq!(sources(&profile::load(missing.files_of_operator(), None).0), sources(&missing));
    }

    #[test]
    fn findings_of_one_file_are_bounded_and_the_rest_is_counted() {
        let sections = (0..5_000)
            .fold(String::new(), |text, n| text + &format!("      - {{ id: s{n}, template: \"{{{{ x }}}}\" }}\n"));
        let text = format!("messages:\n  - name: \"a\\e[2J\"\n    sections:\n{sections}");
        let (_, findings) = profile::load(&[("a.yaml".to_owned(), text.into_bytes())], None);
        assert_eq!(findings.len(), MAX_FINDINGS_A_FILE + 1);
        assert!(findings.iter().any(|finding| finding.message == "4900 more findings of this file"), "{findings:?}");
    }

    /// They quote the file, and are printed.
    #[test]
    fn findings_have_no_control_characters() {
        let text = "messages:\n  - name: \"a\\e[2J\"\n    sections: []\n".to_owned();
        let (_, findings) = profile::load(&[("a.yaml".to_owned(), text.into_bytes())], None);
        assert_eq!(findings[0].message, "the message `a\\u{1b}[2J` has no sections");
    }

    #[test]
    fn what_is_not_utf8_has_its_place() {
        let (_, findings) = profile::load(&[("a.yaml".to_owned(), b"name: a\ndescription: \xff".to_vec())], None);
        let place = findings[0].place.to_string();
        assert!(place == "profiles/a.yaml:2:14" && findings[0].message.contains("at byte 22"), "{findings:?}");
    }
}
