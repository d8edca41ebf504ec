//! Skills as callers see them.

use sha2::{Digest as _, Sha256};

use super::error::Error;
use promptd_contract::proto;
use promptd_core::{
    digest::Digest,
    finding::{Finding, Place},
    globs::SkillFilter,
    workspace::{FileBytes, ReadError, SKILL_FILE, Skill, Snapshot, Visibility},
};

/// The most bytes of a file that an answer carries.
const MAX_FILE_BYTES: usize = 1 << 20;

/// What a caller can see of the skills. What is beyond the token's wall is not there at all; what only the request's
/// filter hides is listed as hidden.
#[derive(Clone, Copy)]
pub(super) struct Sight<'a> {
    pub(super) wall: Option<&'a SkillFilter>,
    pub(super) filter: Option<&'a SkillFilter>,
}

impl Sight<'_> {
    /// Whether the skill is there for this caller.
    pub(super) fn sees(&self, skill: &Skill) -> bool {
        self.wall.is_none_or(|wall| wall.admits(&skill.name, &skill.folder_name))
    }

    /// Why the skill is hidden from this caller; `None`: it is shown.
    fn hidden(&self, skill: &Skill) -> Option<String> {
        match &skill.visibility {
            Visibility::Hidden(reason) => Some(reason.clone()),
            Visibility::Shown => {
                let admitted = self.filter.is_none_or(|filter| filter.admits(&skill.name, &skill.folder_name));
                (!admitted).then(|| "the request's filter hides it".into())
            }
        }
    }

    /// Whether a path is for this caller: with a wall, what stands in a skills folder must belong to a skill that
    /// they see.
    pub(super) fn sees_path(&self, snapshot: &Snapshot, path: &str) -> bool {
        let in_skills = path.starts_with("skills/") || path.starts_with("@shared/");
        let below = |skill: &Skill| path.strip_prefix(&*skill.folder).is_some_and(|rest| rest.starts_with('/'));
        self.wall.is_none() || !in_skills || snapshot.skills.iter().any(|skill| self.sees(skill) && below(skill))
    }

    /// Whether a finding is for this caller.
    pub(super) fn sees_finding(&self, snapshot: &Snapshot, finding: &Finding) -> bool {
        match &finding.place {
            Place::File { path, .. } => self.sees_path(snapshot, path),
            Place::Field(_) | Place::Unplaced => true,
        }
    }
}

/// Every skill that the caller sees, in name order, each with its key for paging.
pub(super) fn list<'s>(
    snapshot: &'s Snapshot,
    sight: &'s Sight<'s>,
) -> impl Iterator<Item = (String, proto::Skill)> + 's {
    let mut seen: Vec<_> = (snapshot.skills.iter())
        .filter(|skill| sight.sees(skill))
        .map(|skill| (format!("{}\0{}\0{}", skill.name.to_lowercase(), skill.name, skill.folder), skill))
        .collect();
    seen.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    seen.into_iter().map(|(key, skill)| (key, view(skill, sight)))
}

fn view(skill: &Skill, sight: &Sight<'_>) -> proto::Skill {
    let hidden = sight.hidden(skill);
    proto::Skill {
        name: skill.name.to_string(),
        description: skill.description.to_string(),
        location: skill.location.to_string(),
        shown: hidden.is_none(),
        hidden_reason: hidden.unwrap_or_default(),
        sha256: skill.sha256.to_string(),
    }
}

/// A file of a shown skill; `file` is below the skill's folder, empty for SKILL.md. May block.
pub(super) fn read(
    snapshot: &Snapshot,
    name: &str,
    file: &str,
    sight: &Sight<'_>,
    read: &(dyn Fn(&str, &Skill, &str) -> Result<FileBytes, ReadError> + Send + Sync),
) -> Result<proto::ReadSkillResponse, Error> {
    let shown = |skill: &&Skill| *skill.name == *name && sight.sees(skill) && sight.hidden(skill).is_none();
    let missing = |kind, name: &str| Error::Missing { kind, name: name.to_owned() };
    let skill = snapshot.skills.iter().find(shown).ok_or_else(|| missing("skill", name))?;
    let file = if file.is_empty() { SKILL_FILE } else { file };
    if file != SKILL_FILE && !skill.files.iter().any(|bundled| *bundled.path == *file) {
        return Err(missing("skill file", file));
    }
    let path = format!("{}/{file}", skill.folder);
    let read = match read(&snapshot.root, skill, file) {
        Ok(read) if read.total > MAX_FILE_BYTES as u64 => {
            return Err(Error::FileTooLarge { path, bytes: read.total, limit: MAX_FILE_BYTES });
        }
        Ok(read) => read,
        Err(ReadError::Missing) => return Err(missing("skill file", file)),
        Err(error) => return Err(Error::FileUnreadable { path, why: error.to_string() }),
    };
    Ok(proto::ReadSkillResponse {
        sha256: Digest(Sha256::digest(&read.bytes).into()).to_hex(),
        content: read.bytes,
        path,
        files: skill.files.iter().map(|bundled| bundled.path.to_string()).collect(),
    })
}
