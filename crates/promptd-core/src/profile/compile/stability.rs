//! Proves that sections are as stable as they say: none depends on what changes more often.

use super::{
    super::{
        rates::{Rate, fastest},
        raw::{RawMessage, RawSection},
        spec::{Part, SectionSpec, Stability},
        words::STABILITIES,
    },
    Compiler,
};

impl Compiler<'_> {
    /// Refuses each section that depends on a field of the turn, or an input, which changes more often than the section says.
    pub(super) fn prove_stability(&mut self, raw: &[RawMessage], parts: &[Part]) {
        for (raw, part) in raw.iter().zip(parts) {
            let Part::Message(message) = part else { continue };
            for (raw, section) in raw.sections.iter().zip(&message.sections) {
                if let Some(rate) = fastest(section.deps).filter(|rate| rate.stability > section.stability) {
                    self.refuse_stability(raw, section, rate);
                }
            }
        }
    }

    fn refuse_stability(&mut self, raw: &RawSection, section: &SectionSpec, rate: &Rate) {
        // The file that is to be changed is the one that the section was last written in.
        let place = raw.stability.as_ref().filter(|written| written.file == raw.id.file).unwrap_or(&raw.id);
        let (declared, proven) = (word(section.stability), word(rate.stability));
        let changes = match rate.stability {
            Stability::Stable => "is the workspace's",
            Stability::Session => "differs between sessions",
            Stability::Volatile => "can change every turn",
        };
        let input = self.inputs.iter().find(|input| input.deps() == rate.field && section.uses(&input.field.name));
        let (on, or) = match input {
            Some(input) => (
                format!("the input `{}`", input.field.name),
                format!(", or declare the input with `stability: {declared}` if that is what callers give"),
            ),
            None => (format!("`{}`", rate.name), String::new()),
        };
        let message = format!(
            "the section `{}` is not {declared}: it depends on {on}, which {changes}; write `stability: {proven}`{or}",
            section.id
        );
        self.fault(place, message);
    }
}

fn word(stability: Stability) -> &'static str {
    STABILITIES.iter().find(|(_, known)| *known == stability).map_or("volatile", |(word, _)| word)
}
