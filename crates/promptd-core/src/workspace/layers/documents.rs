//! The documents of a workspace and its layers: which replace and which follow which.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::Layer;
use crate::{
    finding::{Finding, Place},
    id::Id,
    workspace::{Document, Nested, Snapshot},
};

/// A workspace among its layers: what it has by itself, and where the ones are that it extends.
struct Level<'a> {
    own: &'a Snapshot,
    documents: &'a BTreeMap<Arc<str>, Arc<Document>>,
    nested: &'a Arc<Nested>,
    /// The layer, unless it is the workspace itself.
    layer: Option<&'a Layer>,
    /// By their places among the levels.
    extends: Vec<usize>,
}

/// The levels of a workspace, from far to near; the last is the workspace itself.
pub(super) struct Levels<'a>(Vec<Level<'a>>);

/// What all levels together have.
pub(super) struct Composed {
    pub(super) documents: BTreeMap<Arc<str>, Arc<Document>>,
    pub(super) unusable: BTreeMap<Arc<str>, Finding>,
    pub(super) nested: Arc<Nested>,
}

impl<'a> Levels<'a> {
    /// `extends`: what the workspace itself extends.
    pub(super) fn new(own: &'a Snapshot, layers: &'a [Arc<Layer>], extends: &[Id]) -> Self {
        let places = |ids: &[Id]| {
            let place = |id| layers.iter().position(|layer| layer.id() == id);
            ids.iter().filter_map(place).collect()
        };
        let mut levels: Vec<Level<'_>> = (layers.iter())
            .map(|layer| Level {
                own: &layer.own,
                documents: &layer.documents,
                nested: &layer.nested,
                layer: Some(layer),
                extends: places(&layer.own.manifest.extends),
            })
            .collect();
        let extends = places(extends);
        levels.push(Level { own, documents: &own.documents, nested: &own.nested, layer: None, extends });
        Self(levels)
    }

    /// The documents of all levels. `shown`: the files that every prompt of the workspace shows, which no folder has besides.
    pub(super) fn compose(&self, shown: impl Fn(&str) -> bool) -> Composed {
        let (mut documents, mut unusable) = (BTreeMap::new(), BTreeMap::new());
        let paths = self.0.iter().flat_map(|level| level.documents.keys().chain(level.own.unusable.keys()));
        for path in paths.collect::<BTreeSet<_>>() {
            let has = |level: &Level<'_>| level.documents.contains_key(path) || level.own.unusable.contains_key(path);
            let from = self.parts(path, has);
            match self.joined(path, &from, |level| level.documents.get(path), |level| level.own.unusable.get(path)) {
                Some(Ok(document)) => drop(documents.insert(Arc::clone(path), document)),
                Some(Err(reason)) => drop(unusable.insert(Arc::clone(path), reason)),
                None => {}
            }
        }
        let nested = self.nested(shown);
        Composed { documents, unusable, nested }
    }

    /// The nested context files; those of the one level that has any are shared with it.
    fn nested(&self, shown: impl Fn(&str) -> bool) -> Arc<Nested> {
        let mut with = self.0.iter().filter(|level| !level.nested.names.is_empty());
        let Some(first) = with.next() else { return Arc::default() };
        let Some(second) = with.next() else {
            let mut nested = Arc::clone(first.nested);
            if nested.documents.keys().chain(nested.unusable.keys()).any(|path| shown(path)) {
                let own = Arc::make_mut(&mut nested);
                own.documents.retain(|path, _| !shown(path));
                own.unusable.retain(|path, _| !shown(path));
            }
            return nested;
        };
        let mut nested = Nested { names: first.nested.names.clone(), ..Nested::default() };
        for level in [first, second].into_iter().chain(with) {
            let new = level.nested.names.iter().filter(|name| !nested.names.contains(name)).cloned();
            let new: Vec<_> = new.collect();
            nested.names.extend(new);
            nested.is_partial |= level.nested.is_partial;
            for (folder, unsearched) in &level.nested.folders {
                let known = nested.folders.entry(folder.clone()).or_insert(*unsearched);
                *known = known.and(*unsearched);
            }
        }
        let paths = self.0.iter().flat_map(|level| level.nested.documents.keys().chain(level.nested.unusable.keys()));
        for path in paths.filter(|path| !shown(path)).collect::<BTreeSet<_>>() {
            let nested_at = |level: &Level<'_>| {
                level.nested.documents.contains_key(path) || level.nested.unusable.contains_key(path)
            };
            let from = self.parts(path, nested_at);
            let usable = |level: &'_ Level<'a>| level.nested.documents.get(path);
            match self.joined(path, &from, usable, |level| level.nested.unusable.get(path)) {
                Some(Ok(document)) => drop(nested.documents.insert(Arc::clone(path), document)),
                Some(Err(reason)) => drop(nested.unusable.insert(Arc::clone(path), reason)),
                None => {}
            }
        }
        Arc::new(nested)
    }

    /// The levels whose file of a path is shown, from far to near.
    ///
    /// A level's own file replaces those of the levels that it extends, or follows them where its `context.append` says so. A level
    /// without the file has what the nearest of those has.
    fn parts(&self, path: &str, has: impl Fn(&Level<'_>) -> bool) -> Vec<usize> {
        let mut parts: Vec<Vec<usize>> = Vec::with_capacity(self.0.len());
        for (place, level) in self.0.iter().enumerate() {
            let (has, appends) = (has(level), level.own.manifest.context.append.iter().any(|append| append == path));
            let below = level.extends.iter().filter_map(|below| parts.get(*below));
            let mut from: Vec<usize> = if appends {
                below.flatten().copied().collect::<BTreeSet<_>>().into_iter().collect()
            } else if has {
                Vec::new()
            } else {
                below.max_by_key(|parts| parts.last()).cloned().unwrap_or_default()
            };
            if has {
                from.push(place);
            }
            parts.push(from);
        }
        parts.pop().unwrap_or_default()
    }

    /// The documents of some levels as one; the error is why the nearest of them cannot be used, where none can.
    fn joined<'l>(
        &'l self,
        path: &Arc<str>,
        from: &[usize],
        document: impl Fn(&'l Level<'a>) -> Option<&'l Arc<Document>>,
        unusable: impl Fn(&'l Level<'a>) -> Option<&'l Finding>,
    ) -> Option<Result<Arc<Document>, Finding>> {
        let levels = || from.iter().filter_map(|place| self.0.get(*place));
        let usable: Vec<_> = levels().filter_map(&document).collect();
        let with_text: Vec<_> = usable.iter().filter(|document| !document.is_blank()).collect();
        match with_text[..] {
            [] => {}
            [one] => return Some(Ok(Arc::clone(one))),
            _ => {
                let parts = with_text.into_iter().map(|part| Arc::clone(part)).collect();
                return Some(Ok(Arc::new(Document::joined(path, parts))));
            }
        }
        if let Some(blank) = usable.last() {
            return Some(Ok(Arc::clone(blank)));
        }
        let (level, reason) = levels().rev().find_map(|level| Some((level, unusable(level)?)))?;
        Some(Err(level.layer.map_or_else(|| reason.clone(), |layer| reason_of(layer, reason))))
    }
}

/// What is wrong with the file is a finding of the layer, which not every caller may see.
fn reason_of(layer: &Layer, reason: &Finding) -> Finding {
    let message = "a layer's file of this path cannot be used".to_owned();
    Finding { message, ..super::finding(layer.id(), reason) }
}

impl Composed {
    /// Whether a finding of a layer is about a file that the workspace shows, or would show if it could.
    pub(super) fn uses(&self, layer: &Layer, finding: &Finding) -> bool {
        let Place::File { path: file, .. } = &finding.place else { return true };
        let Some((_, path)) = super::in_layer(file) else { return true };
        let document = self.documents.get(path).map(|document| &**document).or_else(|| self.nested.document(path));
        let Some(document) = document else { return true };
        let is_of = |one: &Document| super::in_layer(&one.file).is_some_and(|(id, _)| id == layer.id().as_str());
        is_of(document) || document.parts().iter().any(|part| is_of(part))
    }
}
