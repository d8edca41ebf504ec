//! Fitting a prompt into its budget.
//!
//! The prompt is assembled without a limit first. If it exceeds its budget, what can be cut shares what the rest leaves: first every
//! section gets its floor, then those of a higher priority what they need, and those of one priority equal shares. What a
//! section takes in its share is measured exactly, and so is the whole prompt in the end; where joining sections took more than
//! their sum, they share a little less. What is left because a section's parts are large is offered to the others.

use super::{
    assemble::{Traced, assemble_in},
    prepared::Prepared,
    sizes::{self, Sizes},
};
use crate::{
    budget::{PromptBudget, SectionRule},
    finding::{Code, Finding, Place, Severity},
    profile::{Body, Profile, SectionSpec},
    prompt::{
        budget::{Room, Rooms},
        output::Prompt,
        scope::Files,
        section,
        validate::{BudgetTooSmall, TurnError},
    },
    text::{
        shares::{Want, shares},
        thousands,
    },
    turn::Turn,
    workspace::Snapshot,
};

/// How often the conversation's share is computed again, since what is trimmed of it can bring other sections in.
const CONVERSATION_ROUNDS: usize = 4;
/// How often sections share less, since the prompt still exceeds a limit; the reduction doubles each time.
const ROUNDS: usize = 40;
/// How many sections are offered what the others leave.
const REFILLS: usize = 6;
/// Less than such a part of the budget is not offered again.
const NEAR: usize = 100;
/// From so many hundredths of the budget on there is a finding, and a warning from so many on.
const NEARLY_FULL: [usize; 2] = [85, 95];

/// Assembles the prompt within its limits, of which there is at least one.
pub(super) fn assemble<'a>(
    prepared: &'a Prepared,
    profile: &'a Profile,
    turn: &'a Turn,
    traced: Option<&Traced<'_>>,
    limits: &[PromptBudget],
) -> Result<Prompt<'a>, TurnError> {
    let whole = assemble_in(prepared, profile, turn, traced, &Rooms::default())?;
    let has_ceiling = prepared.manifest.budget.sections.values().any(|rule| rule.ceiling.is_some());
    // No unit of a text is less than a byte.
    let is_small = |limit: &PromptBudget| whole.size.bytes * 100 < u64::from(limit.max) * NEARLY_FULL[0] as u64;
    if !has_ceiling && limits.iter().all(is_small) {
        return Ok(whole);
    }
    let fit = Fit { prepared, profile, turn, traced, limits };
    let sizes = fit.measure(&whole);
    let is_over_ceiling = |part: Part<'_>| part.ceiling.is_some_and(|ceiling| part.need > ceiling);
    if fit.holds(&sizes) && !fit.parts(&sizes).into_iter().any(is_over_ceiling) {
        return Ok(fit.reported(whole, &sizes, false));
    }
    fit.cut(sizes)
}

struct Fit<'a, 'l> {
    prepared: &'a Prepared,
    profile: &'a Profile,
    turn: &'a Turn,
    /// What a revision shares, rendered with spans, where they are asked for.
    traced: Option<&'l Traced<'l>>,
    /// The first one is what shares are computed in.
    limits: &'l [PromptBudget],
}

/// A section that can be cut.
#[derive(Clone, Copy)]
struct Part<'a> {
    id: &'a str,
    need: usize,
    /// What its pinned files take, with the heading above them.
    pinned: usize,
    /// What it gets before any other gets more, `pinned` included.
    floor: usize,
    ceiling: Option<usize>,
    priority: u32,
}

impl Part<'_> {
    fn want(&self) -> Want {
        let need = self.need.min(self.ceiling.unwrap_or(usize::MAX));
        Want { need, floor: self.floor, priority: self.priority }
    }
}

impl<'a> Fit<'a, '_> {
    fn cut(&self, sizes: Sizes) -> Result<Prompt<'a>, TurnError> {
        let mut rooms = Rooms::default();
        let sizes = self.trim_conversation(sizes, &mut rooms)?;
        let parts = self.parts(&sizes);
        let (needs, floors) = totals(&parts);
        let (max, pinned) = (self.max(), sizes.used[0].saturating_sub(needs));
        let mut less = 0;
        for _ in 0..ROUNDS {
            let Some(free) = max.checked_sub(pinned + less).filter(|free| *free >= floors) else { break };
            self.share(&parts, free, pinned, &mut rooms);
            let total = (free, pinned);
            let prompt = self.assemble(&rooms)?;
            let sizes = self.measure(&prompt);
            if self.holds(&sizes) {
                let (prompt, sizes) = self.refill(prompt, sizes, &parts, total, &mut rooms)?;
                return Ok(self.reported(prompt, &sizes, true));
            }
            less = (less * 2).max(less + self.excess(&sizes, free)).max(1);
        }
        self.least(rooms)
    }

    /// The least that the prompt can be: floors alone, first with the conversation as it was trimmed, then with its own floor.
    fn least(&self, mut rooms: Rooms) -> Result<Prompt<'a>, TurnError> {
        loop {
            rooms.sections.clear();
            let whole = self.measure(&self.assemble(&rooms)?);
            let parts = self.parts(&whole);
            let (needs, floors) = totals(&parts);
            let pinned = whole.used[0].saturating_sub(needs);
            self.share(&parts, floors, pinned, &mut rooms);
            let prompt = self.assemble(&rooms)?;
            let sizes = self.measure(&prompt);
            if self.holds(&sizes) {
                return Ok(self.reported(prompt, &sizes, true));
            }
            let floor = self.rule("conversation").floor;
            if !self.trims() || rooms.conversation.as_ref().is_some_and(|room| room.max <= floor) {
                return Err(self.too_small(&parts, &sizes));
            }
            rooms.conversation = Some(self.room(floor, whole.conversation, floors, pinned, false));
            rooms.trim.set(None);
        }
    }

    /// The first limit that the least prompt exceeds, with what this takes.
    fn too_small(&self, parts: &[Part<'_>], least: &Sizes) -> TurnError {
        let over =
            self.limits.iter().zip(&least.used).position(|(limit, used)| *used > limit.max as usize).unwrap_or(0);
        let used = least.used[over];
        // In the unit of another limit, what is pinned and floors are not known apart.
        let of_floors =
            if over > 0 { 0 } else { parts.iter().map(|part| least.of(part.id).saturating_sub(part.pinned)).sum() };
        let pinned = used.saturating_sub(of_floors);
        TurnError::BudgetTooSmall(BudgetTooSmall { budget: self.limits[over], pinned, floors: used - pinned })
    }

    /// Whether the conversation is trimmed at all.
    fn trims(&self) -> bool {
        let trims = self.profile.conversation().is_some_and(|spec| spec.trim.is_some());
        trims && !self.rule("conversation").is_pinned
    }

    /// Trims the conversation to its share, where the profile trims it at all. Its share depends on what other sections need, and
    /// these on what it leaves out.
    fn trim_conversation(&self, mut sizes: Sizes, rooms: &mut Rooms) -> Result<Sizes, TurnError> {
        if !self.trims() {
            return Ok(sizes);
        }
        let rule = self.rule("conversation");
        for _ in 0..CONVERSATION_ROUNDS {
            let need = sizes.conversation;
            let mut wants: Vec<Want> = self.parts(&sizes).iter().map(Part::want).collect();
            let others: usize = self.parts(&sizes).iter().map(|part| part.need).sum();
            let most = rule.ceiling.unwrap_or(usize::MAX);
            let priority = rule.priority.unwrap_or(SectionRule::PRIORITY);
            wants.push(Want { need: need.min(most), floor: rule.floor, priority });
            let pinned = sizes.used[0].saturating_sub(others + need);
            let free = self.max().saturating_sub(pinned);
            let share = shares(&wants, free).pop().unwrap_or(need);
            if share >= need {
                break;
            }
            rooms.conversation = Some(self.room(share, need, free, pinned, share >= most));
            rooms.trim.set(None);
            sizes = self.measure(&self.assemble(rooms)?);
            if sizes.conversation >= need {
                break;
            }
        }
        Ok(sizes)
    }

    /// Gives the sections rooms: what they need, less where `free` does not suffice.
    fn share(&self, parts: &[Part<'_>], free: usize, pinned: usize, rooms: &mut Rooms) {
        let wants: Vec<Want> = parts.iter().map(Part::want).collect();
        rooms.sections.clear();
        for (part, share) in parts.iter().zip(shares(&wants, free)) {
            if share < part.need {
                let is_ceiling = part.ceiling == Some(share);
                rooms.sections.insert(part.id.to_owned(), self.room(share, part.need, free, pinned, is_ceiling));
            }
        }
    }

    fn room(&self, share: usize, need: usize, free: usize, pinned: usize, is_ceiling: bool) -> Room {
        let [shown, need, free, pinned] = [share, need, free, pinned].map(|size| thousands(size as u64));
        let reason = if is_ceiling {
            format!("Its ceiling is {shown} of the {need} {} that it needs.", self.limits[0].unit)
        } else {
            format!(
                "The prompt's budget of {} leaves {free} after the {pinned} of what is not cut; its share is {shown} of the \
                 {need} that it needs.",
                self.limits[0]
            )
        };
        Room { max: share, unit: self.limits[0].unit, reason, is_ceiling }
    }

    /// Offers what is left to the sections that were cut, those of a high priority first.
    fn refill(
        &self,
        mut prompt: Prompt<'a>,
        mut sizes: Sizes,
        parts: &[Part<'_>],
        (free, pinned): (usize, usize),
        rooms: &mut Rooms,
    ) -> Result<(Prompt<'a>, Sizes), TurnError> {
        let mut cut: Vec<&Part<'_>> = parts.iter().filter(|part| rooms.sections.contains_key(part.id)).collect();
        cut.sort_by_key(|part| std::cmp::Reverse(part.priority));
        for part in cut.into_iter().take(REFILLS) {
            let left = self.max().saturating_sub(sizes.used[0]);
            if left <= self.max() / NEAR {
                break;
            }
            let Some(room) = rooms.sections.get_mut(part.id).filter(|room| !room.is_ceiling) else { continue };
            let most = part.ceiling.unwrap_or(usize::MAX).min(part.need);
            let max = sizes.of(part.id).saturating_add(left).min(most);
            let before = std::mem::replace(room, self.room(max, part.need, free, pinned, false));
            let more = self.assemble(rooms)?;
            let measured = self.measure(&more);
            if self.holds(&measured) && measured.used[0] > sizes.used[0] {
                (prompt, sizes) = (more, measured);
            } else if let Some(room) = rooms.sections.get_mut(part.id) {
                *room = before;
            }
        }
        Ok((prompt, sizes))
    }

    fn assemble(&self, rooms: &Rooms) -> Result<Prompt<'a>, TurnError> {
        assemble_in(self.prepared, self.profile, self.turn, self.traced, rooms)
    }

    /// The sections that can be cut, in order.
    fn parts(&self, sizes: &Sizes) -> Vec<Part<'a>> {
        let sections = self.profile.sections().filter(|(message, _)| !message.is_card);
        sections.filter_map(|(_, spec)| self.part(spec, sizes)).collect()
    }

    fn part(&self, spec: &'a SectionSpec, sizes: &Sizes) -> Option<Part<'a>> {
        let SectionRule { floor, ceiling, priority, is_pinned } = self.rule(&spec.id);
        let files = Files::new(self.prepared, self.profile, self.turn);
        let can_be_cut = section::is_elastic(spec, files, self.turn) || priority.is_some() || ceiling.is_some();
        let need = sizes.of(&spec.id);
        if is_pinned || !can_be_cut || need == 0 {
            return None;
        }
        let pinned = pinned_size(spec, self.prepared, sizes).min(need);
        let floor = floor.clamp(pinned, need);
        let ceiling = ceiling.map(|ceiling| ceiling.max(floor));
        Some(Part { id: &spec.id, need, pinned, floor, ceiling, priority: priority.unwrap_or(SectionRule::PRIORITY) })
    }

    fn rule(&self, id: &str) -> SectionRule {
        self.prepared.manifest.budget.sections.get(id).copied().unwrap_or_default()
    }

    fn measure(&self, prompt: &Prompt<'_>) -> Sizes {
        sizes::measure(prompt, self.prepared, self.profile, self.limits)
    }

    fn max(&self) -> usize {
        self.limits[0].max as usize
    }

    fn holds(&self, sizes: &Sizes) -> bool {
        self.limits.iter().zip(&sizes.used).all(|(limit, used)| *used <= limit.max as usize)
    }

    /// How much less of `free` the sections must share, in the unit of the first limit.
    fn excess(&self, sizes: &Sizes, free: usize) -> usize {
        let over = |(limit, used): (&PromptBudget, &usize)| {
            let over = used.saturating_sub(limit.max as usize);
            if limit.unit == self.limits[0].unit { over } else { free.saturating_mul(over).div_ceil((*used).max(1)) }
        };
        self.limits.iter().zip(&sizes.used).map(over).max().unwrap_or(0)
    }

    /// The prompt with a finding for each limit that is nearly full.
    fn reported(&self, mut prompt: Prompt<'a>, sizes: &Sizes, is_cut: bool) -> Prompt<'a> {
        let finding = |(limit, used): (&PromptBudget, &usize)| {
            let part = used * 100 / limit.max as usize;
            let message = format!("the prompt takes {} of its budget of {limit}, {part} %", thousands(*used as u64));
            let severity = if is_cut || part >= NEARLY_FULL[1] { Severity::Warning } else { Severity::Info };
            let finding = Finding::new(Code::BudgetNearlyFull, Place::Unplaced, message);
            (part >= NEARLY_FULL[0]).then_some(Finding { severity, ..finding })
        };
        prompt.add_findings(self.limits.iter().zip(&sizes.used).filter_map(finding));
        prompt
    }
}

/// What the sections need, and their floors.
fn totals(parts: &[Part<'_>]) -> (usize, usize) {
    parts.iter().fold((0, 0), |(needs, floors), part| (needs + part.need, floors + part.floor))
}

/// What a section of context files takes at least: its heading and its pinned files.
fn pinned_size(spec: &SectionSpec, snapshot: &Snapshot, sizes: &Sizes) -> usize {
    let Body::ContextFiles { files, .. } = &spec.body else { return 0 };
    let context = &snapshot.manifest.context;
    let own = context.files.iter().map(|file| &*file.path);
    let paths = files.iter().map(|(path, _)| path.as_str()).chain(own);
    let pinned = paths.filter(|path| context.rule(path).is_pinned);
    let pinned: usize = pinned.map(|path| sizes.of(&format!("{}/{path}", spec.id))).sum();
    if pinned > 0 { pinned + sizes.head(&spec.id) } else { 0 }
}
