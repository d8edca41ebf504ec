//! What all requests together say of an edit, for people and for programs.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use promptd_core::{render::RenderFormat, text::thousands};
use serde_json::{Value, json};

use super::{Arguments, Faults, changed::Changed};
use crate::cli::{
    Failure, counted,
    diff::{Compared, human, words::visible},
    is_styled,
};

/// The most sections that the report for people lists; the JSON document has all.
const MAX_SECTIONS_SHOWN: usize = 20;

/// What became of the requests.
pub(super) struct Report {
    pub(super) edited: String,
    pub(super) same: usize,
    /// The worst first.
    pub(super) changed: Vec<Changed>,
    pub(super) faults: Faults,
}

/// One of the worst.
pub(super) struct Example {
    pub(super) name: String,
    pub(super) refused: Option<String>,
    pub(super) compared: Option<Compared>,
}

impl Report {
    /// How many were assembled on both sides.
    fn all(&self) -> usize {
        self.same + self.changed.len()
    }

    fn lost(&self) -> usize {
        self.changed.iter().filter(|changed| !changed.lost.is_empty()).count()
    }

    fn refused(&self) -> usize {
        self.changed.iter().filter(|changed| changed.refused.is_some()).count()
    }

    pub(super) fn is_too_much(&self, arguments: &Arguments) -> bool {
        let gates = [(arguments.max_changed, self.changed.len()), (arguments.max_lost, self.lost())];
        let given: Vec<_> = gates.into_iter().filter_map(|(gate, count)| Some((gate?, count))).collect();
        if given.is_empty() {
            return !self.changed.is_empty();
        }
        given.into_iter().any(|(gate, count)| gate.is_exceeded(count, self.all()))
    }

    /// Each with the number of requests.
    fn by_section<'c>(&'c self, of: impl Fn(&'c Changed) -> &'c BTreeSet<String>) -> Vec<(&'c str, usize)> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for id in self.changed.iter().flat_map(of) {
            *counts.entry(id).or_default() += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by(|a, b| (b.1, a.0).cmp(&(a.1, b.0)));
        counts
    }

    fn rebilled(&self) -> Vec<(&'static str, u64)> {
        let mut sums: Vec<(RenderFormat, u64)> = Vec::new();
        for (format, tokens) in self.changed.iter().flat_map(|changed| &changed.rebilled) {
            match sums.iter_mut().find(|(known, _)| known == format) {
                Some((_, sum)) => *sum += tokens,
                None => sums.push((*format, *tokens)),
            }
        }
        sums.into_iter().map(|(format, tokens)| (format.as_str(), tokens)).collect()
    }

    pub(super) fn human(&self, examples: &[Example]) -> String {
        let mut out = String::new();
        let styled = is_styled(&std::io::stdout());
        for Example { name, refused, compared } in examples {
            let shown = match (refused, compared) {
                (Some(why), _) => format!("turn {name}\nrefused: {}\n", visible(why)),
                (None, Some(compared)) => human::render(std::slice::from_ref(compared), styled),
                (None, None) => continue,
            };
            let _ = writeln!(out, "{shown}");
        }
        let count = |count: usize| thousands(count as u64);
        let (changed, all) = (self.changed.len(), self.all());
        let share = (changed * 100).checked_div(all).unwrap_or_default();
        let (verb, of) = (if changed == 1 { "changes" } else { "change" }, counted(all as u64, "request"));
        let _ = writeln!(out, "{} of {of} {verb} ({share} %) with {}", count(changed), self.edited);
        for (title, sections) in
            [("sections", self.by_section(|one| &one.sections)), ("lost to limits", self.by_section(|one| &one.lost))]
        {
            for (id, requests) in sections.iter().take(MAX_SECTIONS_SHOWN) {
                let _ = writeln!(out, "  {title}: {} in {}", visible(id), count(*requests));
            }
            if sections.len() > MAX_SECTIONS_SHOWN {
                let _ = writeln!(out, "  {title}: and {} more", count(sections.len() - MAX_SECTIONS_SHOWN));
            }
        }
        let _ = writeln!(out, "  requests that lose more than before: {}", count(self.lost()));
        let _ = writeln!(out, "  requests that are refused: {}", count(self.refused()));
        for (format, tokens) in self.rebilled() {
            let _ = writeln!(out, "  tokens read again, {format}: about {}", thousands(tokens));
        }
        if self.faults.requests > 0 {
            let _ = writeln!(out, "  could not be replayed: {}", count(self.faults.requests));
        }
        out
    }

    pub(super) fn to_json(&self, examples: &[Example]) -> Result<Value, Failure> {
        let sections = |sections: Vec<(&str, usize)>| {
            sections.into_iter().map(|(id, requests)| json!({ "id": id, "requests": requests })).collect::<Vec<_>>()
        };
        let example = |one: &Example| {
            let compared = one.compared.as_ref().map(Compared::to_json).transpose()?;
            let diff = compared.map(|compared| compared["diff"].clone());
            Ok(json!({ "request": one.name, "refused": one.refused, "diff": diff }))
        };
        let rebilled: BTreeMap<_, _> = self.rebilled().into_iter().collect();
        Ok(json!({
            "against": self.edited,
            "requests": self.all(),
            "same": self.same,
            "changed": self.changed.len(),
            "lost": self.lost(),
            "refused": self.refused(),
            "sections": sections(self.by_section(|one| &one.sections)),
            "sections_lost": sections(self.by_section(|one| &one.lost)),
            "tokens_read_again": rebilled,
            "examples": examples.iter().map(example).collect::<Result<Vec<_>, Failure>>()?,
            "faults": self.faults.to_json(),
        }))
    }
}
