//! Loads all skills of a workspace: finds, reads, filters and sorts them.

use std::{cmp::Reverse, fmt::Write as _, sync::Arc};

use super::{
    SHARED_FOLDER, SKILLS_FOLDER, Skill, SkillFile, bundle,
    draft::{self, Draft},
    find::{self, Root},
    select,
};
use crate::{
    digest::sha256_hex,
    finding::{Code, Finding, Place, Severity, bounded},
    id::Id,
    workspace::{
        Load, Manifest, SKILL_FILE,
        collector::{Audience, Collector},
        files::join,
        tree::{ReadAs, ReadError},
    },
};

/// How many bytes of SKILL.md files are held of one workspace.
pub const MAX_SKILL_BYTES: usize = 64 << 20;

/// Loads them. What cannot be used leaves a finding and costs no other skill.
pub(in crate::workspace) fn load(input: &Load<'_>, manifest: &Manifest, collector: &mut Collector) -> Vec<Skill> {
    load_within(MAX_SKILL_BYTES, input, manifest, collector)
}

/// Loads skills of at most `room` bytes together.
pub(super) fn load_within(room: usize, input: &Load<'_>, manifest: &Manifest, collector: &mut Collector) -> Vec<Skill> {
    let mut loader = Loader { input, manifest, collector, skills: Vec::new(), room };
    let path = format!("{}/{SKILLS_FOLDER}", input.root.trim_end_matches('/'));
    loader.take(&Root { tree: input.tree, folder: SKILLS_FOLDER, shown: SKILLS_FOLDER, path });
    for (path, tree) in input.shared_skills {
        let path = path.trim_end_matches('/').to_owned();
        loader.take(&Root { tree: *tree, folder: "", shown: SHARED_FOLDER, path });
    }
    let mut skills = select::one_of_each_name(loader.skills, manifest, collector);
    skills.sort_by_cached_key(|skill| (skill.name.to_lowercase(), Arc::clone(&skill.name)));
    select::report_dead_allowlist(&skills, manifest, collector);
    for skill in &mut skills {
        skill.findings = bounded(std::mem::take(&mut skill.findings));
    }
    for finding in skills.iter().flat_map(|skill| &skill.findings) {
        collector.report(finding.clone(), Audience::Operators);
    }
    for skill in &mut skills {
        skill.findings.retain(|finding| finding.severity > Severity::Info);
        skill.findings.sort_by(|a, b| (Reverse(a.severity), a).cmp(&(Reverse(b.severity), b)));
    }
    skills
}

struct Loader<'l, 'a> {
    input: &'l Load<'a>,
    manifest: &'l Manifest,
    collector: &'l mut Collector,
    /// In order of precedence.
    skills: Vec<Skill>,
    /// How many bytes more may be held.
    room: usize,
}

/// A skill's folder.
struct Folder<'a> {
    root: &'a Root<'a>,
    /// Relative to the root.
    path: &'a str,
    /// The folder's own name.
    name: &'a str,
    /// The folder as findings and reports call it.
    shown: String,
    /// SKILL.md as findings and reports call it.
    file: String,
    /// Who reads of what is lost: what a filter hides is named in no prompt.
    audience: Audience,
}

/// A SKILL.md that can be used.
struct Read {
    bytes: Vec<u8>,
    sha256: Arc<str>,
    draft: Draft,
}

impl Loader<'_, '_> {
    fn take(&mut self, root: &Root<'_>) {
        let everyone = Audience::callers_if(self.manifest.skills_enabled);
        let search = match find::find(root) {
            Ok(search) => search,
            Err(ReadError::Missing) if root.folder.is_empty() => {
                let message = "a shared skill folder of the server's settings does not exist";
                let finding = Finding::new(Code::SkillFolderMissing, Place::file(root.shown), message);
                return self.collector.report(finding, everyone);
            }
            Err(ReadError::Missing) => return,
            Err(error) => return self.collector.report(error.into_finding(root.shown, ReadAs::Folder), everyone),
        };
        for (folder_name, finding) in search.findings {
            let audience = if folder_name.is_empty() { everyone } else { self.audience(&folder_name) };
            self.collector.report(finding, audience);
        }
        let mut folders = search.folders;
        folders.extend(self.known_below(root, &search.unlisted));
        folders.sort_unstable();
        folders.dedup();
        for folder in folders {
            self.take_skill(root, &folder);
        }
    }

    /// The skills that the last good version has below folders that cannot be listed now.
    fn known_below(&self, root: &Root<'_>, unlisted: &[String]) -> Vec<String> {
        let is_below = |path: &str, folder: &str| {
            folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let known = self.input.previous.into_iter().flat_map(|previous| &previous.skills);
        let known = known.filter_map(|skill| skill.folder.strip_prefix(root.shown)?.strip_prefix('/'));
        known.filter(|path| unlisted.iter().any(|folder| is_below(path, folder))).map(str::to_owned).collect()
    }

    /// Callers read of a folder whose skill would be shown.
    fn audience(&self, folder_name: &str) -> Audience {
        Audience::callers_if(self.manifest.skills_enabled && self.manifest.skills.admits(folder_name, folder_name))
    }

    fn take_skill(&mut self, root: &Root<'_>, folder: &str) {
        let shown = root.shown_path(folder);
        if self.skills.iter().any(|skill| *skill.folder == *shown) {
            let message = "an earlier shared folder has a skill at the same path; this one is left out";
            let finding = Finding::new(Code::SkillDuplicate, Place::file(shown), message);
            return self.collector.report(finding, Audience::Operators);
        }
        let name = folder.rsplit('/').next().unwrap_or_default();
        let audience = self.audience(name);
        let folder = Folder { root, path: folder, name, file: join(&shown, SKILL_FILE), shown, audience };
        let Some(read) = self.read(&folder) else { return };
        if read.bytes.len() > self.room {
            let message = format!("the skills have more than {MAX_SKILL_BYTES} bytes together; this one is left out");
            let finding = Finding::new(Code::SkillSearchLimited, Place::file(folder.file), message);
            return self.collector.report(finding, audience);
        }
        self.room -= read.bytes.len();
        let skill = self.skill(folder, read);
        self.skills.push(skill);
    }

    /// SKILL.md as it is now, or where that cannot be used, its last good version.
    fn read(&mut self, folder: &Folder<'_>) -> Option<Read> {
        let path = join(&folder.root.in_tree(folder.path), SKILL_FILE);
        let (faults, keeps_last_good) = match folder.root.tree.read(&path, self.input.settings.max_file_bytes) {
            Ok(file) => {
                let sha256 = sha256_hex(&file.bytes);
                self.collector.inputs.insert(folder.file.as_str().into(), Arc::clone(&sha256));
                match self.draft(&file.bytes, file.is_partial(), folder) {
                    Ok(draft) => return Some(Read { bytes: file.bytes, sha256, draft }),
                    Err(faults) => (faults, true),
                }
            }
            Err(error) => (vec![error.into_finding(&folder.file, ReadAs::File)], error.keeps_last_good()),
        };
        let good = if keeps_last_good { self.last_good(folder) } else { None };
        match &good {
            Some(_) => self.report_stale(faults, folder.audience),
            None => self.report_lost(faults, folder.audience),
        }
        good
    }

    fn draft(&self, bytes: &[u8], partial: bool, folder: &Folder<'_>) -> Result<Draft, Vec<Finding>> {
        draft::read(bytes, partial, &folder.file, folder.name, self.input.settings.risks)
    }

    fn last_good(&self, folder: &Folder<'_>) -> Option<Read> {
        let skill = self.previous(&folder.shown).filter(|skill| !skill.file.bytes().is_empty())?;
        let bytes = skill.file.bytes().to_vec();
        let draft = self.draft(&bytes, false, folder).ok()?;
        Some(Read { bytes, sha256: Arc::clone(&skill.sha256), draft })
    }

    fn previous(&self, folder: &str) -> Option<&Skill> {
        self.input.previous?.skills.iter().find(|skill| *skill.folder == *folder)
    }

    fn report_stale(&mut self, faults: Vec<Finding>, audience: Audience) {
        for fault in faults.into_iter().filter(Finding::is_error) {
            let message = format!("{}; its last good version stays in use", fault.message);
            self.collector.report(Finding { message, ..fault }, audience);
        }
    }

    fn report_lost(&mut self, faults: Vec<Finding>, audience: Audience) {
        for fault in faults {
            let audience = if fault.severity > Severity::Info { audience } else { Audience::Operators };
            let message =
                if fault.is_error() { format!("{}; the skill is left out", fault.message) } else { fault.message };
            self.collector.report(Finding { message, ..fault }, audience);
        }
    }

    fn skill(&mut self, folder: Folder<'_>, read: Read) -> Skill {
        let Read { bytes, sha256, draft } = read;
        let Draft { name, description, body, hidden_by, mut findings } = draft;
        let Folder { root, shown, name: folder_name, .. } = folder;
        let limit = self.input.settings.max_file_bytes;
        let previous = self.previous(&shown);
        let file = SkillFile::new(bytes, &body, previous.map(|skill| &skill.file));
        let known = previous.map_or(&[][..], |skill| &skill.files);
        let (files, bundle_findings) = bundle::list(root.tree, &root.in_tree(folder.path), &shown, limit, known);
        findings.extend(bundle_findings);
        for file in &files {
            self.collector.inputs.insert(join(&shown, &file.path).into(), Arc::clone(&file.sha256));
        }
        let exposed = self.input.settings.expose_paths && self.manifest.expose_paths;
        let location =
            if exposed { format!("{}/{}/{SKILL_FILE}", root.path, folder.path) } else { address(self.input.id, &name) };
        Skill {
            visibility: select::visibility(&name, folder_name, hidden_by, self.manifest),
            name: name.into(),
            description: description.into(),
            location: location.into(),
            folder: shown.into(),
            folder_name: folder_name.into(),
            file,
            sha256,
            files: files.into(),
            findings,
        }
    }
}

/// The address of a skill that `ReadSkill` serves.
pub(in crate::workspace) fn address(workspace: &Id, name: &str) -> String {
    format!("skill://{workspace}/{}/{SKILL_FILE}", percent_encode(name))
}

/// A name as a part of an address: as RFC 3986 has it, everything but unreserved characters.
#[must_use]
pub fn percent_encode(name: &str) -> String {
    let mut encoded = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}
