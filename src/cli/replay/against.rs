//! What an edit would do to the requests of the past.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    process::ExitCode,
    sync::Arc,
};

#[cfg(feature = "etcd")]
use std::path::Path;

use promptd_core::{
    diff::diff,
    digest::Digest,
    finding::{Code, Finding, Place},
    prompt::{self, Prepared, Prompt},
    render::{RenderFormat, cached_prefixes},
    text::thousands,
    tokens::Encoding,
    workspace::{Capturing, Load, Lock, MAX_CAPTURED_BYTES, Origin, Snapshot, Tree, load},
};
use promptd_record::{Damage, Folder, Recorded, RequestFile, without_ephemeral};
use serde_json::{Value, json};

#[cfg(feature = "etcd")]
use super::Gate;
use super::{
    Arguments, Faults, Format, Outcome, exit_code, name, print_json, tally,
    work::{self, Made},
};
#[cfg(feature = "etcd")]
use crate::cli::settings::ConfigFile;
use crate::cli::{
    Failure, counted,
    diff::{
        Compared, human,
        version::{self, Version},
        words::visible,
    },
    is_styled,
    load::Offline,
    print,
};

/// The most sections that the report for people lists; the JSON document has all.
const MAX_SECTIONS_SHOWN: usize = 20;

/// A recorded revision, and the same with the edited files.
struct Sides {
    before: Prepared,
    after: Prepared,
}

/// A request whose prompt changes.
struct Changed {
    /// Its place in the list of requests.
    file: RequestFile,
    /// Why it is refused after the edit.
    refused: Option<String>,
    /// The sections whose text or outcome changes.
    sections: BTreeSet<String>,
    /// The sections that are cut or left out, and were not before.
    lost: BTreeSet<String>,
    /// By provider format: the tokens that its cache had and that are read again.
    rebilled: Vec<(RenderFormat, u64)>,
    /// By how many characters the prompt's size changes.
    chars: u64,
}

pub(super) fn run(arguments: &Arguments, edited: &str) -> Result<ExitCode, Failure> {
    let (folder, requests) = arguments.open()?;
    let opened = version::open_one(&arguments.config, edited)?;
    let report = show(arguments, &folder, requests, &opened)?;
    Ok(exit_code(report.is_too_much(arguments), &report.faults))
}

/// Shows what a folder, given as `DIR` or `ID=DIR`, would do to the recorded requests of its workspace. False: they are more
/// than a gate allows, or with a gate some could not be replayed.
#[cfg(feature = "etcd")]
pub(in crate::cli) fn passes(
    dir: &Path,
    edited: &str,
    gates: [Option<Gate>; 2],
    config: &ConfigFile,
) -> Result<bool, Failure> {
    let [max_changed, max_lost] = gates;
    let (dir, config) = (dir.to_owned(), config.clone());
    let arguments =
        Arguments { dir, against: None, max_changed, max_lost, examples: 3, jobs: None, format: Format::Human, config };
    let (folder, requests) = arguments.open()?;
    let opened = version::open_one(&arguments.config, edited)?;
    let id = opened.1.id();
    let revisions: BTreeSet<_> = requests.iter().map(|request| request.revision).collect();
    if !revisions.into_iter().any(|sha256| folder.workspace_of(sha256).is_ok_and(|workspace| workspace == id)) {
        print(format_args!("{id}: none of its requests was recorded\n"))?;
        return Ok(true);
    }
    let report = show(&arguments, &folder, requests, &opened)?;
    let is_gated = gates.iter().any(Option::is_some);
    Ok(!is_gated || (!report.is_too_much(&arguments) && report.faults.requests == 0))
}

/// Replays requests, and prints what became of them.
fn show(
    arguments: &Arguments,
    folder: &Folder,
    requests: Vec<RequestFile>,
    (offline, version): &(Offline, Version),
) -> Result<Report, Failure> {
    let mut faults = Faults::default();
    let requests = of_workspace(folder, requests, version, &mut faults)?;
    let edited = Edited { folder, version, offline };
    if let Some(first) = requests.first() {
        edited.must_load(first)?;
    }
    let each = |sides: &Made<Sides>, file: &RequestFile| {
        Outcome::read(folder, file, sides)
            .map_or_else(|unread| unread, |(recorded, sides)| outcome(folder, file, sides, &recorded))
    };
    let outcomes = work::for_each(&requests, arguments.jobs(), |sha256| edited.sides(sha256), each);
    let (same, changed) = tally(outcomes, &mut faults);
    let mut report = Report { edited: version.name().to_owned(), same, changed, faults };
    report.changed.sort_by_key(|changed| Reverse(changed.badness()));
    report.faults.report(folder)?;
    let worst = report.changed.iter().take(arguments.examples);
    let examples = worst.map(|changed| edited.example(changed)).collect::<Result<Vec<_>, _>>()?;
    match arguments.format {
        Format::Human => print(report.human(&examples))?,
        Format::Json => print_json(&report.to_json(&examples)?)?,
    }
    Ok(report)
}

/// The requests of the workspace that was edited: the one of its id, or the only one.
fn of_workspace(
    folder: &Folder,
    requests: Vec<RequestFile>,
    version: &Version,
    faults: &mut Faults,
) -> Result<Vec<RequestFile>, Failure> {
    let revisions: BTreeSet<_> = requests.iter().map(|request| request.revision).collect();
    let workspaces: BTreeMap<_, _> = revisions.iter().map(|sha256| (*sha256, folder.workspace_of(*sha256))).collect();
    let ids: BTreeSet<&str> = workspaces.values().flatten().map(String::as_str).collect();
    let own = version.id();
    let id = match ids.iter().copied().find(|id| *id == own) {
        Some(id) => id,
        None if ids.len() == 1 => ids.first().copied().unwrap_or_default(),
        None => {
            let ids: Vec<_> = ids.iter().map(|id| format!("`{}`", visible(id))).collect();
            return Err(Failure::run(format!(
                "no request of the workspace `{own}` was recorded, but of {}\n  give the folder as ID=DIR",
                ids.join(", ")
            )));
        }
    };
    let mut kept = Vec::new();
    for request in requests {
        match workspaces.get(&request.revision) {
            Some(Ok(workspace)) if workspace == id => kept.push(request),
            Some(Err(damage)) => faults.add([damage.to_string()]),
            _ => {}
        }
    }
    Ok(kept)
}

/// The edited files, as any recorded revision would be loaded with them.
struct Edited<'a> {
    folder: &'a Folder,
    version: &'a Version,
    offline: &'a Offline,
}

impl Edited<'_> {
    /// Fails where the edited files have no prompt, with a report of why.
    fn must_load(&self, first: &RequestFile) -> Result<(), Failure> {
        let Ok(revision) = self.folder.revision(first.revision) else { return Ok(()) };
        self.load(&revision.origin).map(drop).map_err(|findings| {
            let report = self.version.report(self.offline, &findings);
            Failure::run(format!("{} has no prompt\n{report}", self.version.name()))
        })
    }

    /// Loads the edited files as they are, then without their ephemeral prompt: the record has none to compare it with.
    fn load(&self, origin: &Origin) -> Result<Snapshot, Vec<Finding>> {
        let unreadable = |message: String| vec![Finding::new(Code::FileUnreadable, Place::Unplaced, message)];
        let allowed = &self.offline.config.source.allowed_link_targets;
        let tree = promptd_source::open_tree(self.version.folder(), allowed);
        let tree = tree.map_err(|error| unreadable(format!("the folder {error}")))?;
        let tree = Capturing::new(&tree, None);
        let shared_skills: Vec<(&str, &dyn Tree)> =
            origin.shared_skills.iter().map(|(path, tree)| (path.as_str(), tree as &dyn Tree)).collect();
        load(&Load {
            id: &origin.id,
            root: &origin.root,
            tree: &tree,
            shared_skills: &shared_skills,
            profiles: Arc::clone(&origin.profiles),
            settings: Arc::clone(&origin.settings),
            previous: None,
        })?;
        let tree = tree.finish().ok_or_else(|| {
            unreadable(format!(
                "the folder's files have more than {} bytes together",
                thousands(MAX_CAPTURED_BYTES as u64)
            ))
        })?;
        without_ephemeral(&Origin { tree, previous: None, ..origin.clone() }).0.load()
    }

    fn sides(&self, sha256: Digest) -> Made<Sides> {
        let damage = |found: Vec<Damage>| found.iter().map(ToString::to_string).collect::<Vec<_>>();
        let origin = self.folder.revision(sha256).map_err(damage)?.origin;
        let unloaded = |what: &str| vec![format!("{what} of the revision {} cannot be loaded", sha256.to_hex())];
        let before = origin.load().map_err(|_| unloaded("the recorded files"))?;
        let after = self.load(&origin).map_err(|_| unloaded("the edited files, with the settings"))?;
        Ok(Sides { before: before.into(), after: after.into() })
    }

    /// The difference of a request, in full.
    fn example(&self, changed: &Changed) -> Result<Example, Failure> {
        let sides = self.sides(changed.file.revision).map_err(|faults| Failure::run(faults.join("\n")))?;
        let recorded = self.folder.request(&changed.file).map_err(Failure::run)?;
        let name = name(&recorded.workspace, recorded.at, self.folder, &changed.file);
        if let Some(why) = &changed.refused {
            return Ok(Example { name, refused: Some(why.clone()), compared: None });
        }
        let after = after_edit(&recorded, &sides.after).map_err(Failure::run)?;
        let (mut one, mut other) = (
            recorded.assemble(&sides.before).map_err(Failure::run)?,
            after.assemble(&sides.after).map_err(Failure::run)?,
        );
        count(&mut one, &sides.before, &recorded.profile);
        count(&mut other, &sides.after, &after.profile);
        let side = |side: &Prepared, profile: &str| (side.revision.as_str().to_owned(), profile.to_owned());
        let sides = [side(&sides.before, &recorded.profile), side(&sides.after, &after.profile)];
        let compared = Compared { turn: Some(name.clone()), diff: diff(&one, &other), sides };
        Ok(Example { name, refused: None, compared: Some(compared) })
    }
}

/// One of the worst.
struct Example {
    name: String,
    refused: Option<String>,
    compared: Option<Compared>,
}

/// The request with the profile that it has after the edit. An error is why it is refused then.
fn after_edit(recorded: &Recorded, after: &Prepared) -> Result<Recorded, String> {
    if !recorded.names_profile {
        return Ok(Recorded { profile: after.manifest.profile.to_string(), ..recorded.clone() });
    }
    if after.manifest.locked.contains(&Lock::Profile) {
        return Err("the workspace locks `profile`, which the request names".to_owned());
    }
    Ok(recorded.clone())
}

fn count(prompt: &mut Prompt<'_>, revision: &Prepared, profile: &str) {
    if let Some(profile) = revision.profiles.get(profile) {
        prompt::count_tokens(prompt, revision, profile, Encoding::DEFAULT);
    }
}

fn outcome(folder: &Folder, file: &RequestFile, sides: &Sides, recorded: &Recorded) -> Outcome<Changed> {
    let mut before = match recorded.assemble(&sides.before) {
        Ok(before) => before,
        Err(why) => return Outcome::without_prompt(folder, file, &why),
    };
    let edited = after_edit(recorded, &sides.after);
    let after = edited.as_ref().map_err(Clone::clone).and_then(|edited| edited.assemble(&sides.after));
    let changed = match after {
        Err(why) => Changed::refused(file, why),
        Ok(after) if before.digest == after.digest => return Outcome::Same,
        Ok(after) => {
            count(&mut before, &sides.before, &recorded.profile);
            Changed::of(file, &before, &after)
        }
    };
    Outcome::Differs(Box::new(changed))
}

impl Changed {
    fn refused(file: &RequestFile, why: String) -> Self {
        Self {
            file: file.clone(),
            refused: Some(why),
            sections: BTreeSet::new(),
            lost: BTreeSet::new(),
            rebilled: Vec::new(),
            chars: 0,
        }
    }

    fn of(file: &RequestFile, before: &Prompt<'_>, after: &Prompt<'_>) -> Self {
        let (mut sections, mut lost) = (BTreeSet::new(), BTreeSet::new());
        let first: BTreeMap<&str, _> = before.sections.iter().map(|section| (&*section.id, section)).collect();
        let mut seen = BTreeSet::new();
        for section in &after.sections {
            seen.insert(&*section.id);
            let old = first.get(&*section.id);
            let text = old.and_then(|old| before.section_text(old));
            if text != after.section_text(section) || old.is_some_and(|old| old.outcome != section.outcome) {
                sections.insert(section.id.to_string());
            }
            // A section that was cut and is left out now has lost more.
            let was_lost = old.is_some_and(|old| old.outcome == section.outcome);
            if section.outcome.is_loss() && !was_lost {
                lost.insert(section.id.to_string());
            }
        }
        let gone = first.iter().filter(|(id, old)| !seen.contains(*id) && before.section_text(old).is_some());
        sections.extend(gone.map(|(id, _)| (*id).to_owned()));
        let (bytes, tokens) = (before.size.bytes.max(1), before.size.tokens.unwrap_or_default());
        let rebilled = cached_prefixes(before, after).into_iter().map(|prefix| {
            let again = if prefix.is_lost() { prefix.before - prefix.kept } else { 0 };
            (prefix.format, again * tokens / bytes)
        });
        Self {
            file: file.clone(),
            refused: None,
            sections,
            lost,
            rebilled: rebilled.collect(),
            chars: before.size.chars.abs_diff(after.size.chars),
        }
    }

    /// What makes one worse than another: refused, then what is lost, then what is paid again, then how much changes.
    fn badness(&self) -> (bool, usize, u64, u64) {
        let tokens = self.rebilled.iter().map(|(_, tokens)| *tokens).max();
        (self.refused.is_some(), self.lost.len(), tokens.unwrap_or_default(), self.chars)
    }
}

struct Report {
    edited: String,
    same: usize,
    /// The worst first.
    changed: Vec<Changed>,
    faults: Faults,
}

impl Report {
    /// How many were assembled on both sides.
    fn all(&self) -> usize {
        self.same + self.changed.len()
    }

    fn lost(&self) -> usize {
        self.changed.iter().filter(|changed| !changed.lost.is_empty()).count()
    }

    fn refused(&self) -> usize {
        self.changed.iter().filter(|changed| changed.refused.is_some()).count()
    }

    fn is_too_much(&self, arguments: &Arguments) -> bool {
        let gates = [(arguments.max_changed, self.changed.len()), (arguments.max_lost, self.lost())];
        let given: Vec<_> = gates.into_iter().filter_map(|(gate, count)| Some((gate?, count))).collect();
        if given.is_empty() {
            return !self.changed.is_empty();
        }
        given.into_iter().any(|(gate, count)| gate.is_exceeded(count, self.all()))
    }

    /// Each with the number of requests.
    fn by_section<'c>(&'c self, of: impl Fn(&'c Changed) -> &'c BTreeSet<String>) -> Vec<(&'c str, usize)> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for id in self.changed.iter().flat_map(of) {
            *counts.entry(id).or_default() += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by(|a, b| (b.1, a.0).cmp(&(a.1, b.0)));
        counts
    }

    fn rebilled(&self) -> Vec<(&'static str, u64)> {
        let mut sums: Vec<(RenderFormat, u64)> = Vec::new();
        for (format, tokens) in self.changed.iter().flat_map(|changed| &changed.rebilled) {
            match sums.iter_mut().find(|(known, _)| known == format) {
                Some((_, sum)) => *sum += tokens,
                None => sums.push((*format, *tokens)),
            }
        }
        sums.into_iter().map(|(format, tokens)| (format.as_str(), tokens)).collect()
    }

    fn human(&self, examples: &[Example]) -> String {
        let mut out = String::new();
        let styled = is_styled(&std::io::stdout());
        for Example { name, refused, compared } in examples {
            let shown = match (refused, compared) {
                (Some(why), _) => format!("turn {name}\nrefused: {}\n", visible(why)),
                (None, Some(compared)) => human::render(std::slice::from_ref(compared), styled),
                (None, None) => continue,
            };
            let _ = writeln!(out, "{shown}");
        }
        let count = |count: usize| thousands(count as u64);
        let (changed, all) = (self.changed.len(), self.all());
        let share = (changed * 100).checked_div(all).unwrap_or_default();
        let (verb, of) = (if changed == 1 { "changes" } else { "change" }, counted(all as u64, "request"));
        let _ = writeln!(out, "{} of {of} {verb} ({share} %) with {}", count(changed), self.edited);
        for (title, sections) in
            [("sections", self.by_section(|one| &one.sections)), ("lost to limits", self.by_section(|one| &one.lost))]
        {
            for (id, requests) in sections.iter().take(MAX_SECTIONS_SHOWN) {
                let _ = writeln!(out, "  {title}: {} in {}", visible(id), count(*requests));
            }
            if sections.len() > MAX_SECTIONS_SHOWN {
                let _ = writeln!(out, "  {title}: and {} more", count(sections.len() - MAX_SECTIONS_SHOWN));
            }
        }
        let _ = writeln!(out, "  requests that lose more than before: {}", count(self.lost()));
        let _ = writeln!(out, "  requests that are refused: {}", count(self.refused()));
        for (format, tokens) in self.rebilled() {
            let _ = writeln!(out, "  tokens read again, {format}: about {}", thousands(tokens));
        }
        if self.faults.requests > 0 {
            let _ = writeln!(out, "  could not be replayed: {}", count(self.faults.requests));
        }
        out
    }

    fn to_json(&self, examples: &[Example]) -> Result<Value, Failure> {
        let sections = |sections: Vec<(&str, usize)>| {
            sections.into_iter().map(|(id, requests)| json!({ "id": id, "requests": requests })).collect::<Vec<_>>()
        };
        let example = |one: &Example| {
            let compared = one.compared.as_ref().map(Compared::to_json).transpose()?;
            let diff = compared.map(|compared| compared["diff"].clone());
            Ok(json!({ "request": one.name, "refused": one.refused, "diff": diff }))
        };
        let rebilled: BTreeMap<_, _> = self.rebilled().into_iter().collect();
        Ok(json!({
            "against": self.edited,
            "requests": self.all(),
            "same": self.same,
            "changed": self.changed.len(),
            "lost": self.lost(),
            "refused": self.refused(),
            "sections": sections(self.by_section(|one| &one.sections)),
            "sections_lost": sections(self.by_section(|one| &one.lost)),
            "tokens_read_again": rebilled,
            "examples": examples.iter().map(example).collect::<Result<Vec<_>, Failure>>()?,
            "faults": self.faults.to_json(),
        }))
    }
}
