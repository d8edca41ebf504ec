//! The settings of a workspace and its layers. docs/rules.md has the table.

use std::{collections::BTreeMap, sync::Arc};

use super::Layer;
use crate::{
    budget::{SectionRule, WorkspaceBudget},
    finding::{Code, Finding},
    workspace::{ExtraFile, FileRule, Lock, MANIFEST, Manifest, Marks, Snapshot},
};

/// The settings of all levels together.
pub(super) struct Settings {
    pub(super) manifest: Manifest,
    /// Those that a layer gives, by key, with the name of the layer's `workspace.yaml`.
    pub(super) inherited: BTreeMap<String, Arc<str>>,
    /// Settings that have no effect.
    pub(super) findings: Vec<Finding>,
}

/// Lays the workspace's own settings over those of its layers, which are given from far to near.
pub(super) fn compose(own: &Snapshot, layers: &[Arc<Layer>]) -> Settings {
    let manifest = Manifest { extends: Vec::new(), ..Manifest::defaults(&own.id) };
    let mut settings = Settings { manifest, inherited: BTreeMap::new(), findings: Vec::new() };
    for layer in layers {
        let file = super::file(layer.id(), MANIFEST);
        settings.manifest.skills_of_layers.push(Arc::clone(&layer.filter));
        Level { from: &layer.own.manifest, marks: &layer.own.marks, file: &file, is_layer: true }
            .lay_over(&mut settings);
    }
    let file = MANIFEST.into();
    Level { from: &own.manifest, marks: &own.marks, file: &file, is_layer: false }.lay_over(&mut settings);
    let Manifest { extends, extendable_by, skills, .. } = own.manifest.clone();
    settings.manifest = Manifest { extends, extendable_by, skills, ..settings.manifest };
    settings
}

/// One of the levels.
struct Level<'a> {
    from: &'a Manifest,
    marks: &'a Marks,
    /// The name of its `workspace.yaml` in findings and reports.
    file: &'a Arc<str>,
    is_layer: bool,
}

impl Level<'_> {
    fn lay_over(&self, settings: &mut Settings) {
        self.choices(settings);
        self.inputs(settings);
        self.restrictions(&mut settings.manifest);
        self.context(settings);
        self.budget(settings);
    }

    /// What the nearest that sets it decides, unless a level below locks it.
    fn choices(&self, settings: &mut Settings) {
        let from = self.from;
        if self.takes("agent.name", Some(Lock::Agent), settings) {
            settings.manifest.agent.name.clone_from(&from.agent.name);
        }
        // Agents are told from one another by their ids.
        if !self.is_layer && self.takes("agent.id", Some(Lock::Agent), settings) {
            settings.manifest.agent.id.clone_from(&from.agent.id);
        }
        if self.takes("agent.persona", Some(Lock::Persona), settings) {
            settings.manifest.agent.persona.clone_from(&from.agent.persona);
        }
        if self.takes("agent.time_zone", Some(Lock::TimeZone), settings) {
            settings.manifest.agent.time_zone = from.agent.time_zone.clone();
        }
        if self.takes("agent.ephemeral_system_prompt", Some(Lock::Ephemeral), settings) {
            settings.manifest.agent.ephemeral_system_prompt.clone_from(&from.agent.ephemeral_system_prompt);
        }
        if self.takes("profile", Some(Lock::Profile), settings) {
            settings.manifest.profile = from.profile.clone();
        }
        if self.takes("heartbeat.protocol", None, settings) {
            settings.manifest.heartbeat_protocol.clone_from(&from.heartbeat_protocol);
        }
    }

    /// By key: the nearest that gives an input decides, unless a level below locks them.
    fn inputs(&self, settings: &mut Settings) {
        for (name, value) in &self.from.inputs {
            if self.takes(&format!("inputs.{name}"), Some(Lock::Inputs), settings) {
                settings.manifest.inputs.insert(name.clone(), value.clone());
            }
        }
    }

    /// Whether the level sets a value and may.
    fn takes(&self, key: &str, lock: Option<Lock>, settings: &mut Settings) -> bool {
        if !self.marks.has(key) {
            return false;
        }
        if let Some(lock) = lock.filter(|lock| settings.manifest.locked.contains(lock)) {
            self.overruled(key, &format!("a layer locks `{}`", lock.name()), settings);
            return false;
        }
        self.gives(key, settings);
        true
    }

    fn gives(&self, key: &str, settings: &mut Settings) {
        if self.is_layer {
            settings.inherited.insert(key.to_owned(), Arc::clone(self.file));
        } else {
            settings.inherited.remove(key);
        }
    }

    fn overruled(&self, key: &str, why: &str, settings: &mut Settings) {
        let message = format!("`{key}` has no effect: {why}");
        settings.findings.push(Finding::new(Code::LayerOverrules, self.marks.place(key, self.file), message));
    }

    /// What each level can only take away.
    fn restrictions(&self, manifest: &mut Manifest) {
        manifest.skills_enabled &= self.from.skills_enabled;
        manifest.expose_paths &= self.from.expose_paths;
        manifest.agent.skip_context_files |= self.from.agent.skip_context_files;
        manifest.locked.extend(&self.from.locked);
        manifest.locked.sort_unstable();
        manifest.locked.dedup();
    }

    fn context(&self, settings: &mut Settings) {
        let from = &self.from.context;
        for (path, rule) in &from.rules {
            let context = &settings.manifest.context;
            // What was the most for the file: a level above may allow less of it.
            let below = context.rule(path).max_chars;
            let below = below.or(Some(context.max_chars_per_file).filter(|_| context.sets_max_chars_per_file));
            if let (Some(own), Some(below)) = (rule.max_chars, below)
                && own > below
            {
                self.overruled("context.files", &format!("of {path} a layer allows {below} characters"), settings);
            }
            let known = settings.manifest.context.rules.entry(path.clone()).or_default();
            let max_chars = match (rule.max_chars, below) {
                (Some(own), Some(below)) => Some(own.min(below)),
                (Some(own), None) => Some(own),
                (None, _) => known.max_chars,
            };
            *known =
                FileRule { max_chars, is_pinned: known.is_pinned || rule.is_pinned, keep: rule.keep.or(known.keep) };
        }
        let context = &settings.manifest.context;
        let per_file = context.sets_max_chars_per_file.then_some(context.max_chars_per_file);
        let total = context.sets_max_chars_total.then_some(context.max_chars_total);
        if from.sets_max_chars_per_file {
            let held = self.tightened("context.max_chars_per_file", from.max_chars_per_file, per_file, settings);
            settings.manifest.context.max_chars_per_file = held;
            settings.manifest.context.sets_max_chars_per_file = true;
        }
        if from.sets_max_chars_total {
            let held = self.tightened("context.max_chars_total", from.max_chars_total, total, settings);
            settings.manifest.context.max_chars_total = held;
            settings.manifest.context.sets_max_chars_total = true;
        }
        for file in &from.files {
            self.context_file(file, settings);
        }
        let context = &mut settings.manifest.context;
        let new: Vec<_> = from.nested.iter().filter(|name| !context.nested.contains(name)).cloned().collect();
        context.nested.extend(new);
    }

    /// A file that a level below names too stays in its place.
    fn context_file(&self, file: &ExtraFile, settings: &mut Settings) {
        let files = &mut settings.manifest.context.files;
        let place = files.iter().position(|known| known.path == file.path);
        match place.and_then(|place| files.get_mut(place)) {
            Some(known) => *known = file.clone(),
            None => files.push(file.clone()),
        }
        self.gives(&format!("context.files.{}", file.path), settings);
    }

    fn budget(&self, settings: &mut Settings) {
        let WorkspaceBudget { limit, sections } = &self.from.budget;
        if let Some(limit) = limit {
            let below = settings.manifest.budget.limit;
            let counts_the_same = below.is_none_or(|below| below.unit == limit.unit);
            let held = match below {
                Some(below) if counts_the_same && below.max < limit.max => {
                    self.overruled("budget.max", &format!("a layer allows {below}"), settings);
                    below
                }
                Some(below) if !counts_the_same => {
                    self.overruled("budget", &format!("a layer's budget is {below}"), settings);
                    below
                }
                _ => *limit,
            };
            settings.manifest.budget.limit = Some(held);
        }
        for (id, rule) in sections {
            let known = settings.manifest.budget.sections.entry(id.clone()).or_default();
            *known = stricter(*known, *rule);
        }
    }

    /// The lesser of the level's own limit and that of the levels below.
    fn tightened(&self, key: &str, own: usize, below: Option<usize>, settings: &mut Settings) -> usize {
        match below {
            Some(below) if below < own => {
                self.overruled(key, &format!("a layer allows {below} characters"), settings);
                below
            }
            _ => own,
        }
    }
}

/// A rule over that of the levels below: the least ceiling and the greatest floor hold, and what is pinned stays so.
fn stricter(below: SectionRule, own: SectionRule) -> SectionRule {
    let ceiling = match (below.ceiling, own.ceiling) {
        (Some(below), Some(own)) => Some(below.min(own)),
        (below, own) => below.or(own),
    };
    SectionRule {
        floor: below.floor.max(own.floor).min(ceiling.unwrap_or(usize::MAX)),
        ceiling,
        priority: own.priority.or(below.priority),
        is_pinned: below.is_pinned || own.is_pinned,
    }
}
