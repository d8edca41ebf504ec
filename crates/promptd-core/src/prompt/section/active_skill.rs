//! The skill that a turn activates: named by the input `active_skill`, or by `/<skill-id>` before the user's message.

use minijinja::Value;

use super::rendered::RenderedSection;
use crate::{
    profile::{Body, SectionSpec, Step, Template},
    prompt::{
        output::{Origin, OriginKind},
        scope::{Found, Local, Locals, TurnScope, path},
        trace::files,
        validate::TurnError,
    },
    turn::Role,
    workspace::Skill,
    yaml::nearest,
};

/// The input that names the skill.
const INPUT: &str = "active_skill";

/// Refuses a turn whose input names a skill that it may not see.
pub(crate) fn check(scope: &TurnScope<'_>) -> Result<(), TurnError> {
    let asks = |(_, spec): (&_, &SectionSpec)| matches!(spec.body, Body::ActiveSkill(_));
    if scope.input(INPUT).is_some() && scope.profile.sections().any(asks) { find(scope).map(drop) } else { Ok(()) }
}

/// Renders the template over the active skill; without one there is nothing.
pub(super) fn render<'a>(spec: &'a SectionSpec, template: &Template, scope: &TurnScope<'a>) -> RenderedSection<'a> {
    let Ok(Some(skill)) = find(scope) else { return RenderedSection::omitted(spec) };
    // A reader of UTF-16, such as the JVM, sorts characters beyond U+FFFF before those at the end of the first plane.
    let mut files: Vec<&str> = skill.files.iter().map(|file| &*file.path).collect();
    files.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
    let value = Value::from_pairs([
        ("id", Value::from(&*skill.folder_name)),
        ("name", Value::from(&*skill.name)),
        ("body", Value::from(skill.file.body())),
        ("files", files.into_iter().collect()),
    ]);
    let own = [("skill", Local::Value(value))];
    let origins = |_: &str, steps: &[Step]| match steps {
        [Step::Field(field)] => files::skill(skill, field),
        _ => Found::worked_out(Origin::new(OriginKind::Fact, path("skill", steps))),
    };
    let mut rendered = match scope.render(spec, template, &Locals { own: &own, outer: scope, origins: &origins }) {
        Ok(text) => RenderedSection::included(spec, text),
        Err(error) => return RenderedSection::failed(spec, scope, &error),
    };
    let source = files::skill_source(skill);
    rendered.blocks = rendered.blocks.into_iter().map(|block| block.made_from(source.clone())).collect();
    rendered.findings.extend(skill.findings.iter().cloned());
    rendered
}

/// The active skill. An id is a skill's name or its folder's; the error: the turn names one that it may not see.
fn find<'a>(scope: &TurnScope<'a>) -> Result<Option<&'a Skill>, TurnError> {
    let given = scope.input(INPUT).filter(|value| !value.is_none()).map(|value| value.as_str().unwrap_or_default());
    match given {
        Some("") => Ok(None),
        Some(id) => shown(scope, id).map(Some).ok_or_else(|| unknown(scope, id)),
        None => Ok(prefix(scope).and_then(|id| shown(scope, id))),
    }
}

fn shown<'a>(scope: &TurnScope<'a>, id: &str) -> Option<&'a Skill> {
    scope.skills().find(|skill| *skill.name == *id).or_else(|| scope.skills().find(|skill| *skill.folder_name == *id))
}

/// The word after the slash that the newest user message begins with.
fn prefix<'t>(scope: &TurnScope<'t>) -> Option<&'t str> {
    let messages = &scope.turn.conversation.messages;
    let newest = messages.iter().rev().find(|message| message.role == Role::User)?;
    newest.content.strip_prefix('/')?.split(char::is_whitespace).next().filter(|id| !id.is_empty())
}

fn unknown(scope: &TurnScope<'_>, id: &str) -> TurnError {
    let near = nearest(id, scope.skills().map(|skill| &*skill.name));
    let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    TurnError::invalid(format!("turn.inputs.{INPUT}"), format!("no skill that is shown to this turn has this id{hint}"))
}
