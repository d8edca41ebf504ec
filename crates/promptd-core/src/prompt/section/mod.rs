//! Rendering one section: a file a kind.

mod active_skill;
mod block;
mod blocks;
mod context_files;
mod each;
mod facts;
mod rendered;
mod skills;
mod summary_tree;
mod text;
mod within;

pub(super) use active_skill::check as check_active_skill;
pub(super) use block::TextBlock;
pub(super) use blocks::Blocks;
pub(super) use rendered::RenderedSection;
pub(super) use within::{is_elastic, render_within};

use super::{budget::Budgets, scope::TurnScope};
use crate::profile::{Body, SectionSpec};

/// Renders a section of the profile for a turn.
pub(crate) fn render<'a>(spec: &'a SectionSpec, scope: &TurnScope<'a>, budgets: &mut Budgets) -> RenderedSection<'a> {
    if !spec.stages.is_empty() && !spec.stages.contains(&scope.turn.stage) {
        return TextBlock::omitted(&*spec.id, spec.stability, "It is left out of this stage of the turn.").into();
    }
    let rendered = if spec.file.is_some() {
        text::from_file(spec, scope, budgets.room())
    } else if let Some(left_out) = RenderedSection::unless(spec, scope, scope) {
        left_out
    } else {
        body(spec, scope, budgets)
    };
    match scope.inputs.loss_in(spec) {
        Some(loss) => rendered.with_loss(spec, loss),
        None => rendered,
    }
}

fn body<'a>(spec: &'a SectionSpec, scope: &TurnScope<'a>, budgets: &mut Budgets) -> RenderedSection<'a> {
    match &spec.body {
        Body::Text(template) => text::render_in(spec, template, scope, budgets.room()),
        Body::ActiveSkill(template) => active_skill::render(spec, template, scope),
        Body::SummaryTree(tree) => summary_tree::render(spec, tree, scope, budgets.room()),
        Body::Each(each) => each::render(spec, each, scope, budgets),
        Body::ContextFiles { heading, entry, files } => {
            context_files::render(spec, heading, entry, files, scope, budgets.room())
        }
        Body::Skills(template) => skills::render(spec, template, scope, budgets.room()),
        Body::Facts { header, facts } => facts::render(spec, header, facts, scope),
    }
}
