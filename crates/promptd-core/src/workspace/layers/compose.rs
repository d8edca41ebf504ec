//! One snapshot of a workspace and its layers.

use std::sync::Arc;

use super::{
    Layer,
    documents::{Composed, Levels},
    find::{self, Find},
    settings, skills,
};
use crate::{
    finding::{Code, Finding, Place, Severity},
    id::Id,
    profile::{ProfileSet, check_inputs},
    workspace::{
        CONTEXT_FILES, HEARTBEAT_FILE, MANIFEST, Manifest, Snapshot,
        collector::{Audience, Collector},
        is_in_skills,
        load::context_file_missing,
        revision,
        skill::report_dead_allowlist,
    },
};

/// The snapshot of a workspace that extends others: of `own`, which is what its own files gave, over the layers that `find` gives.
/// `previous` is its last good snapshot.
///
/// Where the layers cannot be had as `extends` names them, those of `previous` stay, each as it is now if it may still be
/// extended, and every response says so.
///
/// # Errors
///
/// There is no `previous`: a workspace that misses a layer's blocklist must not be served as if there were none.
pub fn compose(
    own: &Arc<Snapshot>,
    previous: Option<&Snapshot>,
    find: &dyn Fn(&Id) -> Option<Arc<Layer>>,
) -> Result<Snapshot, Vec<Finding>> {
    match find::layers(own, find) {
        Ok(layers) => Ok(composed(own, layers, &own.manifest.extends, Vec::new())),
        Err(faults) => {
            let Some(previous) = previous else { return Err(faults) };
            let kept = |fault: Finding| Finding {
                message: format!("{}; the last good layers stay in use", fault.message),
                ..fault
            };
            let faults = faults.into_iter().map(kept).collect();
            Ok(composed(own, find::newest(previous, find as Find<'_>), &previous.manifest.extends, faults))
        }
    }
}

/// `faults`: why these are not the layers that the workspace names.
fn composed(own: &Arc<Snapshot>, layers: Vec<Arc<Layer>>, extends: &[Id], faults: Vec<Finding>) -> Snapshot {
    let settings::Settings { mut manifest, inherited, findings: overruled } = settings::compose(own, &layers);
    manifest.extends = extends.to_vec();
    let profiles = profiles(own, &layers, &manifest);
    let mut collector = Collector::default();
    for finding in faults.into_iter().chain(overruled).chain(check_profile(own, &mut manifest, &profiles)) {
        collector.report(finding, Audience::Callers);
    }
    let shown = |path: &str| {
        let extra = || manifest.context.files.iter().any(|file| file.path == path);
        CONTEXT_FILES.contains(&path) || path == HEARTBEAT_FILE || extra()
    };
    let files = Levels::new(own, &layers, extends).compose(shown);
    let skills = skills::compose(own, &layers, &manifest);
    report_own(own, &files, &manifest, &mut collector);
    for layer in &layers {
        report_layer(layer, &files, &manifest, &mut collector);
    }
    report_dead_allowlist(&skills, &manifest, &mut collector);
    let (findings, active) = collector.into_findings();
    let Composed { documents, unusable, nested } = files;
    let mut snapshot = Snapshot {
        id: own.id.clone(),
        root: Arc::clone(&own.root),
        manifest,
        marks: Arc::clone(&own.marks),
        inherited,
        manifest_sha256: Arc::clone(&own.manifest_sha256),
        documents,
        unusable,
        nested,
        skills,
        layers,
        own: Some(Arc::clone(own)),
        profiles,
        settings: Arc::clone(&own.settings),
        findings,
        active,
        inputs: own.inputs.clone(),
        revision: revision::none(),
    };
    snapshot.revision = revision::of(&snapshot);
    snapshot
}

/// The profiles, with the last good one of a layer that gives the workspace its profile, where that has gone.
fn profiles(own: &Snapshot, layers: &[Arc<Layer>], manifest: &Manifest) -> Arc<ProfileSet> {
    let name = manifest.profile.as_str();
    let gone = own.profiles.get(name).is_none();
    let last_good = layers.iter().rev().filter(|_| gone).find_map(|layer| layer.own.profiles.get(name));
    last_good.map_or_else(|| Arc::clone(&own.profiles), |profile| Arc::new(own.profiles.keeping(profile)))
}

/// The workspace's inputs are checked here, since the profile may be a layer's. One that the profile does not take is left out;
/// so is a layer's, without a word: the layer may be made for several profiles.
fn check_profile(own: &Snapshot, manifest: &mut Manifest, profiles: &ProfileSet) -> Vec<Finding> {
    let mut findings: Vec<Finding> = profiles.error(manifest.profile.as_str()).into_iter().cloned().collect();
    let Some(profile) = profiles.get(manifest.profile.as_str()) else { return findings };
    manifest.inputs.retain(|name, value| {
        let one = [(name.clone(), value.clone())].into_iter().collect();
        let Err(mismatch) = check_inputs(profile, &one) else { return true };
        if own.manifest.inputs.get(name) == Some(value) {
            let place = own.marks.own_place(&format!("inputs.{name}"));
            let message = format!("`inputs{}` {}; it is left out", mismatch.path, mismatch.message);
            findings.push(Finding { severity: Severity::Error, ..Finding::new(Code::InvalidValue, place, message) });
        }
        false
    });
    findings
}

/// The workspace's own findings, except for those that its layers answer.
fn report_own(own: &Snapshot, files: &Composed, manifest: &Manifest, collector: &mut Collector) {
    let is_of_profile = |finding: &Finding| {
        manifest.profile != own.manifest.profile && own.profiles.error(own.manifest.profile.as_str()) == Some(finding)
    };
    for finding in &own.findings {
        let answered = match finding.code {
            Code::ContextFileMissing | Code::SkillAllowlistEmpty => true,
            _ => is_of_profile(finding),
        };
        if !answered {
            collector.report(finding.clone(), Audience::callers_if(own.active.contains(finding)));
        }
    }
    let is_there = |path: &str| files.documents.contains_key(path) || files.unusable.contains_key(path);
    for file in own.manifest.context.files.iter().filter(|file| !is_there(&file.path)) {
        collector.report(context_file_missing(&file.path), Audience::Callers);
    }
}

/// What is wrong with a layer, of what the workspace has from it. What concerns operators alone is said of the layer itself.
fn report_layer(layer: &Layer, files: &Composed, manifest: &Manifest, collector: &mut Collector) {
    for finding in layer.active.iter().filter(|finding| files.uses(layer, finding)) {
        let path = match &finding.place {
            Place::File { path, .. } => path.as_str(),
            Place::Unplaced | Place::Field(_) => MANIFEST,
        };
        let name = skills::folder_name(path);
        let is_hidden = is_in_skills(path) && !manifest.admits_skill(name, name);
        collector.report(finding.clone(), Audience::callers_if(!is_hidden));
    }
}
