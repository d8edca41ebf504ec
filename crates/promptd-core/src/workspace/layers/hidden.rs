//! The layers of a workspace that a caller may not see.

use super::in_layer;
use crate::{
    finding::{Code, Finding, Place, Severity},
    id::Id,
    workspace::Snapshot,
};

/// The layers that are hidden from a caller: their ids, paths and findings are not told.
#[derive(Debug, Clone, Default)]
pub struct HiddenLayers(Vec<(Id, String)>);

impl HiddenLayers {
    /// Those of a workspace that the caller does not see.
    #[must_use]
    pub fn of(snapshot: &Snapshot, sees: impl Fn(&Id) -> bool) -> Self {
        let layers = snapshot.layers.iter().enumerate().map(|(index, layer)| (layer.id(), index + 1));
        Self(layers.filter(|(id, _)| !sees(id)).map(|(id, number)| (id.clone(), format!("@{number}"))).collect())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is written instead of the layer that a file is of, by its name in findings and reports: its number, counted from the
    /// farthest; `None`: it is not hidden.
    #[must_use]
    pub fn number(&self, file: &str) -> Option<&str> {
        let (id, _) = in_layer(file)?;
        self.0.iter().find(|(hidden, _)| hidden.as_str() == id).map(|(_, number)| number.as_str())
    }

    /// Whether a place is in a hidden layer.
    #[must_use]
    pub fn has(&self, place: &Place) -> bool {
        matches!(place, Place::File { path, .. } if self.number(path).is_some())
    }

    /// What is told in place of hidden findings; `None`: there are none.
    pub fn instead_of<'f>(hidden: impl IntoIterator<Item = &'f Finding>) -> Option<Finding> {
        let severity: Severity = hidden.into_iter().map(|finding| finding.severity).max()?;
        let message = "a workspace that this one extends has findings, which this caller may not see";
        Some(Finding { severity, ..Finding::new(Code::LayerFaulty, Place::Unplaced, message) })
    }
}
