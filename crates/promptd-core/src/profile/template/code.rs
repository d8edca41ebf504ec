//! What a template does, read from minijinja's instructions.

use minijinja::{
    Template,
    machinery::{Instruction, Instructions, get_compiled_template},
};

use crate::text::clamped;

/// A template's instructions, in order.
pub(super) struct Code<'c> {
    compiled: &'c Instructions<'c>,
    list: Vec<&'c Instruction<'c>>,
}

impl<'c> Code<'c> {
    /// The compiled template's.
    pub(super) fn of(template: &'c Template<'_, 'c>) -> Self {
        let compiled = &get_compiled_template(template).instructions;
        Self { compiled, list: (0..).map_while(|index| compiled.get(index)).collect() }
    }

    /// All of them.
    pub(super) fn instructions(&self) -> &[&'c Instruction<'c>] {
        &self.list
    }

    /// The line of one, 1-based.
    pub(super) fn line(&self, index: usize) -> u32 {
        self.compiled.get_line(clamped(index)).map_or(1, clamped)
    }

    /// The line that first looks up a dotted path.
    pub(super) fn line_of(&self, path: &str) -> u32 {
        let steps: Vec<_> = path.split('.').collect();
        let looks_up = |window: &[&Instruction<'_>]| {
            window.iter().zip(&steps).all(|(instruction, step)| match instruction {
                Instruction::Lookup(name) | Instruction::GetAttr(name) => name == step,
                _ => false,
            })
        };
        self.line(self.list.windows(steps.len()).position(looks_up).unwrap_or(0))
    }

    /// The paths that are compared with constant texts, and the texts.
    pub(super) fn comparisons(&self) -> Vec<(String, String)> {
        let compared = |end: usize| match (self.list[end - 1], self.list[end]) {
            (Instruction::LoadConst(word), Instruction::Eq | Instruction::Ne) => {
                Some((self.path_before(end - 1)?, word.as_str()?.to_owned()))
            }
            _ => None,
        };
        (1..self.list.len()).filter_map(compared).collect()
    }

    /// The dotted path that the instructions before `end` put on the stack, if they do that and nothing else.
    fn path_before(&self, end: usize) -> Option<String> {
        let mut steps = Vec::new();
        for instruction in self.list[..end].iter().rev() {
            match instruction {
                Instruction::GetAttr(field) => steps.push(*field),
                Instruction::Lookup(name) => {
                    steps.push(name);
                    steps.reverse();
                    return Some(steps.join("."));
                }
                _ => return None,
            }
        }
        None
    }
}
