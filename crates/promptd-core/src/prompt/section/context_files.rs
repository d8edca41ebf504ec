//! The workspace's context files under fair limits: five-layer's third layer.

use std::iter;

use super::{block::TextBlock, rendered::RenderedSection};
use crate::{
    finding::Finding,
    profile::{Body, SectionSpec, Step, Template},
    prompt::{
        document::{self, SKIPPED, cut, cut_reason, dropped, original, shown_size, source, truncated},
        output::{Origin, OriginKind},
        scope::{Found, Local, Locals, TurnScope, favour, want},
        trace::files,
    },
    text::{
        cut::Cut,
        inline::inline,
        shares::{Want, shares},
    },
    workspace::Document,
};

/// Renders the heading and every file that has text. Shares are fair, not first come first served: what small files
/// leave of the total goes to the large ones, once the pinned ones have what they need.
pub(super) fn render<'a>(
    spec: &'a SectionSpec,
    heading: &Template,
    entry: &Template,
    files: &[(String, String)],
    scope: &TurnScope<'a>,
    room: Option<usize>,
) -> RenderedSection<'a> {
    if scope.files.skips_context_files() {
        return TextBlock::omitted(&*spec.id, spec.stability, SKIPPED).into();
    }
    let snapshot = scope.snapshot;
    let all = listed(files, scope);
    let kept = |path: &str| scope.turn.context_files.is_empty() || scope.turn.context_files.iter().any(|k| k == path);
    let documents: Vec<Option<&Document>> =
        all.iter().map(|(path, _)| snapshot.file(path).filter(|d| kept(path) && !d.is_blank())).collect();
    let context = &snapshot.manifest.context;
    let want = |document: Option<&Document>| document.map_or(Want::default(), |document| want(document, context));
    let mut wants: Vec<Want> = documents.iter().copied().map(want).collect();
    let total = scope.files.total_of_context_files().min(room.unwrap_or(usize::MAX));
    if let Some(nearest) = nearest(&documents, scope) {
        favour(&mut wants, nearest, total);
    }
    let shares = shares(&wants, total);

    let mut rendered = RenderedSection::default();
    for (((path, purpose), document), share) in all.iter().zip(&documents).zip(shares) {
        let block = match document {
            Some(document) => match file(spec, document, purpose, share, entry, scope, &mut rendered.findings) {
                Ok(block) => block,
                Err(error) => return RenderedSection::failed(spec, scope, &error),
            },
            None if !kept(path) => {
                TextBlock::omitted(id(spec, path), spec.stability, "The turn keeps other context files only.")
            }
            None if snapshot.file(path).is_some() => {
                TextBlock::omitted(id(spec, path), spec.stability, format!("{path} has only white space."))
            }
            None => TextBlock::absent(id(spec, path), spec.stability, snapshot, path),
        };
        rendered.blocks.push(block);
    }
    let head = if rendered.blocks.iter().all(|block| block.text().is_empty()) {
        TextBlock::omitted(&*spec.id, spec.stability, "No context file has text to show.")
    } else {
        match scope.render(spec, heading, scope) {
            Ok(text) => TextBlock::included(&*spec.id, spec.stability, text),
            Err(error) => return RenderedSection::failed(spec, scope, &error),
        }
    };
    rendered.blocks = iter::once(head).chain(rendered.blocks).collect();
    rendered
}

/// The files to show, each with its purpose: the profile's, the workspace's own, and those nested where the turn works, of
/// which one that is among the others comes with them.
fn listed<'a>(files: &'a [(String, String)], scope: &TurnScope<'a>) -> Vec<(&'a str, &'a str)> {
    let own = &scope.snapshot.manifest.context.files;
    let extra = own.iter().map(|file| (&*file.path, &*file.purpose));
    let mut all: Vec<(&str, &str)> = files.iter().map(|(path, purpose)| (&**path, &**purpose)).chain(extra).collect();
    let fixed = all.len();
    for path in scope.files.nested() {
        if all[..fixed].iter().all(|(shown, _)| *shown != path) {
            all.push((path, ""));
        }
    }
    all
}

/// Where the files begin that are nearest to where the turn works: those of the last folder below the root that has any.
fn nearest(documents: &[Option<&Document>], scope: &TurnScope<'_>) -> Option<usize> {
    let last = documents.iter().rev().flatten().next()?;
    let folder = folder_of(&last.path, scope)?;
    documents.iter().position(|one| one.is_some_and(|document| folder_of(&document.path, scope) == Some(folder)))
}

/// The folder below the root that a nested file is in.
fn folder_of<'p>(path: &'p str, scope: &TurnScope<'_>) -> Option<&'p str> {
    scope.snapshot.nested.document(path).and_then(|_| path.rsplit_once('/')).map(|(folder, _)| folder)
}

fn id(spec: &SectionSpec, path: &str) -> String {
    format!("{}/{path}", spec.id)
}

/// The block of one file. The error is its template's.
fn file<'a>(
    spec: &'a SectionSpec,
    document: &Document,
    purpose: &str,
    share: usize,
    entry: &Template,
    scope: &TurnScope<'a>,
    findings: &mut Vec<Finding>,
) -> Result<TextBlock<'a>, String> {
    let id = id(spec, &document.path);
    let context = &scope.snapshot.manifest.context;
    let own_limit = context.max_chars_of(&document.path);
    let held = cut(document, share, context);
    let contents = match &held {
        Cut::Whole(text) => text,
        Cut::Part(excerpt) => excerpt.text.as_str(),
        Cut::Dropped => {
            findings.push(dropped(document));
            let reason = format!("Not even the marker of a cut fits into its {share} characters.");
            let block = TextBlock::dropped(id, spec.stability, reason, original(document));
            return Ok(block.made_from(source(document)).of_at_most(own_limit));
        }
    };
    let path = inline(&document.path, usize::MAX).text;
    let folder = inline(folder_of(&document.path, scope).unwrap_or_default(), usize::MAX).text;
    let own = [("path", &*path), ("folder", &folder), ("purpose", purpose), ("text", contents)];
    let own = own.map(|(name, text)| (name, Local::Text(text)));
    let origins = |name: &str, _: &[Step]| match name {
        "text" => Found::traced(&files::origin(source(document)), document::traced(document, &held)),
        "purpose" => purpose_of(spec, document, purpose, scope),
        "folder" => Found::worked_out(Origin::new(OriginKind::Fact, "file.folder")),
        _ => Found::worked_out(Origin::new(OriginKind::Fact, "file.path")),
    };
    let text = scope.render(spec, entry, &Locals { own: &own, outer: scope, origins: &origins })?;
    let mut block = TextBlock::included(id, spec.stability, text).made_from(source(document)).of_at_most(own_limit);
    block.report.original = original(document);
    block.report.included = block.report.original;
    if let Cut::Part(excerpt) = &held {
        block = block.truncated(cut_reason(document, excerpt.shown), original(document), shown_size(excerpt));
        findings.push(truncated(document, excerpt.shown));
    }
    findings.extend(document.findings.iter().cloned());
    Ok(block)
}

/// Where a file's purpose came from: the profile, or the workspace that names the file.
fn purpose_of(spec: &SectionSpec, document: &Document, purpose: &str, scope: &TurnScope<'_>) -> Found {
    let is_own = matches!(&spec.body, Body::ContextFiles { files, .. } if files.iter().any(|(path, _)| **path == *document.path));
    let extra = &scope.snapshot.manifest.context.files;
    let origin = match extra.iter().find(|file| *file.path == *document.path).filter(|_| !is_own) {
        Some(file) => {
            let of = scope.snapshot.file_of_setting(&format!("context.files.{}", file.path));
            Origin::setting(format!("context.files[{}].purpose", file.index), of)
        }
        None => Origin::profile(scope.profile.name.as_str(), &*spec.id),
    };
    if is_own { Found::worked_out(origin) } else { Found::cleaned(origin, purpose, purpose) }
}
