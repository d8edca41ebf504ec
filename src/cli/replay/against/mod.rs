//! What an edit would do to the requests of the past.

mod changed;
mod report;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
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
    text::thousands,
    tokens::Encoding,
    workspace::{Capturing, Load, Lock, MAX_CAPTURED_BYTES, Origin, Snapshot, Tree, load},
};
use promptd_record::{Damage, Folder, Recorded, RequestFile, without_ephemeral};

use self::{
    changed::Changed,
    report::{Example, Report},
};
#[cfg(feature = "etcd")]
use super::Gate;
use super::{
    Arguments, Faults, Format, Outcome, exit_code, name, print_json, tally,
    work::{self, Made},
};
#[cfg(feature = "etcd")]
use crate::cli::settings::ConfigFile;
use crate::cli::{
    Failure,
    diff::{
        Compared,
        version::{self, Version},
        words::visible,
    },
    load::Offline,
    print,
};

/// A recorded revision, and the same with the edited files.
struct Sides {
    before: Prepared,
    after: Prepared,
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
