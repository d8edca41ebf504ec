//! Findings for people: a title, the place, the line in question, and what to do.

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::{
    Counts, Place, Severity,
    excerpt::{escape, excerpt},
    report::Reported,
};

/// Writes findings with source excerpts, each followed by an empty line. `styled`: with colour.
#[must_use]
pub fn render(reported: &[Reported], styled: bool) -> String {
    let renderer = if styled { Renderer::styled() } else { Renderer::plain() };
    let mut out = String::new();
    for one in reported {
        out.push_str(&renderer.render(&[group(one)]));
        out.push_str("\n\n");
    }
    out
}

/// One line that counts: `2 errors, 1 warning`.
#[must_use]
pub fn summary(counts: Counts) -> String {
    let counted = |count: usize, name: &str| match count {
        0 => None,
        1 => Some(format!("1 {name}")),
        _ => Some(format!("{count} {name}s")),
    };
    let parts = [counted(counts.errors, "error"), counted(counts.warnings, "warning"), counted(counts.infos, "note")];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "nothing to report".to_owned() } else { parts.join(", ") }
}

fn group(one: &Reported) -> Group<'static> {
    let level = match one.finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    };
    let group = Group::with_title(level.primary_title(escape(&one.finding.message)).id(one.finding.code.as_str()));
    let group = match place(one) {
        Some(Where::Excerpt(snippet)) => group.element(snippet),
        Some(Where::Origin(origin)) => group.element(origin),
        None => group,
    };
    group.element(Level::HELP.message(one.finding.code.remedy()))
}

enum Where {
    Excerpt(Snippet<'static, annotate_snippets::Annotation<'static>>),
    Origin(Origin<'static>),
}

fn place(one: &Reported) -> Option<Where> {
    let Place::File { path, line, column } = &one.finding.place else {
        let place = one.finding.place.to_string();
        return Some(Where::Origin(Origin::path(escape(&place)))).filter(|_| !place.is_empty());
    };
    let path = escape(one.file.as_deref().unwrap_or(path));
    let found = one.source.as_deref().and_then(|source| excerpt(source, *line, *column));
    Some(match found {
        Some(found) => Where::Excerpt(
            Snippet::source(found.text)
                .path(path)
                .line_start(*line as usize)
                .annotation(AnnotationKind::Primary.span(found.span)),
        ),
        None if *line == 0 => Where::Origin(Origin::path(path)),
        None => Where::Origin(Origin::path(path).line(*line as usize)),
    })
}
