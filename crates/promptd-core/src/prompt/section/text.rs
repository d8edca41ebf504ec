//! Sections that are one template, alone or over a file of the workspace.

use std::borrow::Cow;

use super::{RenderedSection, failed, gate, included, omitted};
use crate::{
    finding::{Code, Finding, Place},
    profile::Stability,
    profile::{Body, FilePattern, Scope, SectionSpec, Template},
    prompt::{
        Size, Source,
        answer::measure,
        block::TextBlock,
        locals::{Local, Locals},
        scope::TurnScope,
    },
    text::cut::{Cut, Extent, cut},
    workspace::{Document, Snapshot},
};

/// Renders a template.
pub fn render<'a>(
    spec: &'a SectionSpec,
    template: &Template,
    scope: &TurnScope<'a>,
    names: &dyn Scope,
) -> RenderedSection<'a> {
    match scope.profile.templates.render(template, names) {
        Ok(text) => included(spec, text),
        Err(error) => failed(spec, scope, &error),
    }
}

/// Renders a template over the section's file.
pub fn from_file<'a>(spec: &'a SectionSpec, scope: &TurnScope<'a>) -> RenderedSection<'a> {
    let (Some(pattern), Body::Text(template)) = (&spec.file, &spec.body) else { return omitted(spec) };
    let document = match find(scope.snapshot, pattern) {
        Ok(document) => document,
        Err(path) => return missing(spec, scope, &path),
    };
    let limit = if spec.cut { scope.snapshot.manifest.context.max_chars_per_file } else { usize::MAX };
    let held = cut(&document.text, limit, &document.path, extent(document));
    let text = match &held {
        Cut::Whole(text) => text,
        Cut::Head { text, .. } => text.as_str(),
        Cut::Dropped => "",
    };
    let tasks = if document.has_tasks() { "yes" } else { "" };
    let fields = [("path", &*document.path), ("text", text), ("tasks", tasks)];
    let own = [("file", Local::Texts(&fields))];
    let names = Locals { own: &own, outer: scope };
    if let Some(left_out) = gate(spec, scope, &names) {
        return left_out;
    }
    let source = source(document);
    if held == Cut::Dropped {
        let reason = format!("Not even the marker of a cut fits into {limit} characters.");
        let block = TextBlock::dropped(&*spec.id, spec.stability, reason, original(document)).made_from(source);
        return RenderedSection { blocks: vec![block], findings: vec![dropped(document)] };
    }
    let mut rendered = render(spec, template, scope, &names);
    if let (Some(block), false) = (rendered.blocks.pop(), document.is_blank() && !spec.keep_empty) {
        let mut block = block.made_from(source);
        if let Cut::Head { shown, .. } = &held {
            block = block.truncated(cut_reason(document, *shown), original(document), head_size(document, *shown));
            rendered.findings.push(truncated(document, *shown));
        }
        rendered.blocks.push(block);
        rendered.findings.extend(document.findings.iter().cloned());
    } else {
        rendered = omitted(spec);
    }
    rendered
}

/// The document of a pattern, or the path that gave none. A newest file that could not be read is not replaced by an
/// older one.
fn find<'s>(snapshot: &'s Snapshot, pattern: &FilePattern) -> Result<&'s Document, String> {
    if let FilePattern::Path(path) = pattern {
        return snapshot.documents.get(path.as_str()).ok_or_else(|| path.clone());
    }
    let document = snapshot.documents.values().rev().find(|document| pattern.matches(&document.path));
    let unusable = snapshot.unusable.keys().rev().find(|path| pattern.matches(path));
    match (document, unusable) {
        (Some(document), Some(path)) if **path > *document.path => Err(path.to_string()),
        (Some(document), _) => Ok(document),
        (None, path) => Err(path.map_or_else(|| pattern.to_string(), ToString::to_string)),
    }
}

/// A section whose file is not there: its fallback, else omitted; dropped where the file could not be read.
fn missing<'a>(spec: &'a SectionSpec, scope: &TurnScope<'a>, path: &str) -> RenderedSection<'a> {
    let Some(fallback) = spec.fallback.as_ref().filter(|_| !scope.snapshot.unusable.contains_key(path)) else {
        return absent(&*spec.id, spec.stability, scope.snapshot, path).into();
    };
    let own = [("file", Local::Texts(&[("path", ""), ("text", ""), ("tasks", "")]))];
    if let Some(left_out) = gate(spec, scope, &Locals { own: &own, outer: scope }) {
        return left_out;
    }
    let mut rendered = render(spec, fallback, scope, scope);
    for block in rendered.blocks.iter_mut().filter(|block| !block.text().is_empty()) {
        block.report.reason = format!("The workspace has no {path}; the profile's own text stands for it.").into();
    }
    rendered
}

/// The block for a file that gave no document.
pub fn absent<'a>(id: impl Into<Cow<'a, str>>, stability: Stability, snapshot: &Snapshot, path: &str) -> TextBlock<'a> {
    match snapshot.unusable.get(path) {
        Some(finding) => {
            let source = Source { path: path.into(), sha256: "".into() };
            let reason = format!("{path}: {}.", finding.message);
            TextBlock::dropped(id, stability, reason, Size::default()).made_from(source)
        }
        None => TextBlock::omitted(id, stability, format!("The workspace has no {path}.")),
    }
}

/// Where a document's text came from.
pub fn source(document: &Document) -> Source {
    Source { path: document.path.clone(), sha256: document.sha256.clone() }
}

/// How long a document is.
pub fn extent(document: &Document) -> Extent {
    if document.partial {
        Extent::Partial { bytes: document.total_bytes }
    } else {
        Extent::Whole { chars: document.chars }
    }
}

/// The size of a document's contents; of a partly read one, its bytes and the characters that were read.
pub fn original(document: &Document) -> Size {
    let bytes = if document.partial { document.total_bytes } else { document.text.len() as u64 };
    Size { bytes, chars: document.chars as u64, tokens: None }
}

/// The size of the part of a document that is shown.
pub fn head_size(document: &Document, shown: usize) -> Size {
    let head = &document.text[..crate::text::measure::offset(&document.text, shown)];
    measure(head)
}

/// Why a document was cut.
pub fn cut_reason(document: &Document, shown: usize) -> String {
    crate::text::cut::marker(&document.path, shown, extent(document)).trim_matches(['[', ']']).to_owned() + "."
}

/// The finding of a cut.
pub fn truncated(document: &Document, shown: usize) -> Finding {
    let place = Place::file(&*document.path);
    Finding::new(Code::ContextFileTruncated, place, cut_reason(document, shown).trim_end_matches('.').to_owned())
}

/// The finding of a document that was left out whole.
pub fn dropped(document: &Document) -> Finding {
    let message = format!("{} was left out: its limit leaves no room even for the marker of a cut", document.path);
    Finding::new(Code::ContextFileDropped, Place::file(&*document.path), message)
}
