//! Skills as `ListSkills` shows them, and which of them a caller may see.

use std::borrow::Cow;

use crate::proto;
use promptd_core::{
    finding::{Code, Finding, Place},
    globs::{NameGlobs, SkillFilter},
    id::Id,
    workspace::{HiddenLayers, SKILL_FILE, Skill, Snapshot, Visibility, is_in_skills},
};

/// Which skills a caller may see. One that the token does not admit does not exist for the caller; one that only the
/// request's filter excludes is listed as hidden.
#[derive(Debug, Clone, Copy, Default)]
pub struct SkillAccess<'a> {
    /// The token's globs; `None`: all skills.
    pub token: Option<&'a SkillFilter>,
    /// The request's filter; `None`: all skills.
    pub request: Option<&'a SkillFilter>,
    /// The request wants nothing of skills that the workspace hides.
    pub only_shown: bool,
    /// The token's globs over workspaces; `None`: all workspaces.
    pub workspaces: Option<&'a NameGlobs>,
}

impl SkillAccess<'_> {
    /// Whether the skill exists for this caller.
    #[must_use]
    pub fn sees(&self, skill: &Skill) -> bool {
        let wanted = !self.only_shown || skill.is_shown();
        wanted && self.token.is_none_or(|token| token.admits(&skill.name, &skill.folder_name))
    }

    /// Whether the caller may read the skill.
    #[must_use]
    pub fn shows(&self, skill: &Skill) -> bool {
        self.sees(skill) && self.hidden_reason(skill).is_none()
    }

    /// Why the skill is hidden from this caller; `None`: it is shown.
    fn hidden_reason(&self, skill: &Skill) -> Option<String> {
        match &skill.visibility {
            Visibility::Hidden(reason) => Some(reason.clone()),
            Visibility::Shown => {
                let admitted = self.request.is_none_or(|filter| filter.admits(&skill.name, &skill.folder_name));
                (!admitted).then(|| "the request's filter hides it".into())
            }
        }
    }

    /// Whether the caller may see a workspace, such as a layer of another.
    #[must_use]
    pub fn sees_workspace(&self, id: &Id) -> bool {
        self.workspaces.is_none_or(|globs| globs.matches(id.as_str()))
    }

    /// The layers of a workspace that the caller may not see.
    #[must_use]
    pub fn hidden_layers(&self, snapshot: &Snapshot) -> HiddenLayers {
        HiddenLayers::of(snapshot, |id| self.sees_workspace(id))
    }

    /// Whether the caller may see a path. Where the token has skill globs, a path below a skills folder must belong to a
    /// skill that they admit.
    #[must_use]
    pub fn sees_path(&self, snapshot: &Snapshot, path: &str) -> bool {
        self.token.is_none() || !is_in_skills(path) || self.sees_skill_at(snapshot, path)
    }

    fn sees_skill_at(&self, snapshot: &Snapshot, path: &str) -> bool {
        let below = |skill: &Skill| path.strip_prefix(&*skill.folder).is_some_and(|rest| rest.starts_with('/'));
        snapshot.skills.iter().any(|skill| below(skill) && self.sees(skill))
    }

    /// Whether the caller may see a finding.
    #[must_use]
    pub fn sees_finding(&self, snapshot: &Snapshot, finding: &Finding) -> bool {
        match &finding.place {
            // What is active is of a skill that would be shown if it could be read.
            Place::File { path, .. } if self.only_shown && is_in_skills(path) => {
                self.sees_skill_at(snapshot, path) || (self.token.is_none() && snapshot.active.contains(finding))
            }
            Place::File { path, .. } => self.sees_path(snapshot, path),
            Place::Field(_) | Place::Unplaced => true,
        }
    }

    /// The workspace's findings that the caller may see, with the `forecast` of its prompts; those of hidden layers are told as
    /// one.
    pub(super) fn findings<'f>(
        self,
        snapshot: &'f Snapshot,
        forecast: &'f [Finding],
    ) -> impl Iterator<Item = Cow<'f, Finding>> {
        let hidden = self.hidden_layers(snapshot);
        // What is lost of all skills says nothing of those that the token admits, and may name others.
        let is_of_all_skills = |finding: &&Finding| self.token.is_some() && finding.code == Code::SkillsTruncated;
        let forecast = forecast.iter().filter(|finding| !is_of_all_skills(finding));
        let all: Vec<_> = snapshot.findings.iter().chain(forecast).collect();
        let of_hidden = all.iter().copied().filter(|finding| hidden.has(&finding.place));
        let instead = HiddenLayers::instead_of(of_hidden).map(Cow::Owned);
        let seen = move |finding: &&Finding| !hidden.has(&finding.place) && self.sees_finding(snapshot, finding);
        all.into_iter().filter(seen).map(Cow::Borrowed).chain(instead)
    }
}

/// Every skill that is `wanted` and that the caller may see, in name order, each with its key for paging.
pub fn skills<'s>(
    snapshot: &'s Snapshot,
    access: SkillAccess<'s>,
    wanted: impl Fn(&Skill) -> bool,
) -> impl Iterator<Item = (String, &'s Skill)> + 's {
    let admits = |skill: &Skill| if access.only_shown { access.shows(skill) } else { access.sees(skill) };
    let visible = |skill: &&Skill| wanted(skill) && admits(skill);
    let mut visible: Vec<_> = (snapshot.skills.iter())
        .filter(visible)
        .map(|skill| (format!("{}\0{}\0{}", skill.name.to_lowercase(), skill.name, skill.folder), skill))
        .collect();
    visible.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    visible.into_iter()
}

/// A skill as the caller sees it; with the files of one that is shown where `files` is set.
#[must_use]
pub fn skill(skill: &Skill, access: SkillAccess<'_>, files: bool) -> proto::Skill {
    let hidden_reason = access.hidden_reason(skill);
    let shown = hidden_reason.is_none();
    let (files, front_matter) =
        if files && shown { (skill_files(skill), skill.front_matter()) } else { Default::default() };
    proto::Skill {
        name: skill.name.to_string(),
        description: skill.description.to_string(),
        location: skill.location.to_string(),
        shown,
        hidden_reason: hidden_reason.unwrap_or_default(),
        sha256: skill.sha256.to_string(),
        files,
        front_matter,
    }
}

fn skill_files(skill: &Skill) -> Vec<proto::SkillFile> {
    let file = |path: &str, sha256: &str, bytes, whole| proto::SkillFile {
        path: path.to_owned(),
        sha256: if whole { sha256.to_owned() } else { String::new() },
        bytes,
    };
    let main = file(SKILL_FILE, &skill.sha256, skill.file.bytes().len() as u64, skill.is_whole());
    let bundled = skill.files.iter().map(|bundled| file(&bundled.path, &bundled.sha256, bundled.size, bundled.whole));
    std::iter::once(main).chain(bundled).collect()
}
