//! A prompt for callers who may not see all layers of its workspace.

use std::{borrow::Cow, sync::Arc};

use super::{Origin, Prompt, Source, Span, prompt::sort_findings};
use crate::{finding::Finding, workspace::HiddenLayers};

impl Prompt<'_> {
    /// Removes what names a hidden layer: of a source only the layer's number is left, and its findings become one that says no
    /// more than that there are some.
    pub fn hide_layers(&mut self, hidden: &HiddenLayers) {
        if hidden.is_empty() {
            return;
        }
        for section in &mut self.sections {
            if let Some(source) = section.source.as_deref().and_then(|source| hidden_source(source, hidden)) {
                section.source = Some(Cow::Owned(source));
            }
            for span in &mut section.spans {
                hide_origin(span, hidden);
            }
        }
        let findings = std::mem::take(&mut self.findings);
        let (shown, hidden): (Vec<_>, Vec<_>) = findings.into_iter().partition(|finding| !hidden.has(&finding.place));
        self.findings = shown;
        let instead = HiddenLayers::instead_of(hidden.iter().map(|finding: &Cow<'_, Finding>| &**finding));
        self.findings.extend(instead.map(Cow::Owned));
        sort_findings(&mut self.findings);
    }
}

fn hidden_source(source: &Source, hidden: &HiddenLayers) -> Option<Source> {
    let number = hidden.number(&source.path)?;
    Some(Source { path: "".into(), sha256: "".into(), layer: Some(number.into()) })
}

fn hide_origin(span: &mut Span, hidden: &HiddenLayers) {
    let Some(file) = span.origin.file.as_ref().and_then(|file| hidden_source(file, hidden)) else { return };
    let is_its_name = span.origin.file.as_ref().is_some_and(|file| *file.path == *span.origin.name);
    let name = if is_its_name { String::new() } else { span.origin.name.clone() };
    span.origin = Arc::new(Origin { name, file: Some(file), ..Origin::clone(&span.origin) });
}
