//! All skills of a workspace: found, read, told apart, filtered, put in order.

use std::{cmp::Reverse, fmt::Write as _, sync::Arc};

use super::{
    SHARED_FOLDER, SKILLS_FOLDER, Skill, bundle,
    draft::{self, Draft},
    find::{self, Root},
    select,
};
use crate::{
    finding::{Code, Finding, Place, Severity},
    workspace::{
        Load, Manifest, SKILL_FILE, gathered::Gathered, hash::sha256, tree::ReadError, unreadable, wanted::join,
    },
};

/// How many bytes of SKILL.md files are held of one workspace.
pub const MAX_SKILL_BYTES: usize = 64 << 20;

/// Loads them. What cannot be used leaves a finding and costs no other skill.
pub(in crate::workspace) fn load(input: &Load<'_>, manifest: &Manifest, gathered: &mut Gathered) -> Vec<Skill> {
    let mut loader = Loader { input, manifest, gathered, skills: Vec::new(), held: 0 };
    let path = format!("{}/{SKILLS_FOLDER}", input.root.trim_end_matches('/'));
    loader.take(&Root { tree: input.tree, folder: SKILLS_FOLDER, shown: SKILLS_FOLDER, path });
    for (path, tree) in input.shared_skills {
        let path = path.trim_end_matches('/').to_owned();
        loader.take(&Root { tree: *tree, folder: "", shown: SHARED_FOLDER, path });
    }
    let mut skills = select::one_of_each_name(loader.skills, manifest, gathered);
    skills.sort_by_cached_key(|skill| (skill.name.to_lowercase(), Arc::clone(&skill.name)));
    select::tell_of_dead_allowlist(&skills, manifest, gathered);
    for finding in skills.iter().flat_map(|skill| &skill.findings) {
        gathered.tell(finding.clone(), false);
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
    gathered: &'l mut Gathered,
    /// In order of precedence.
    skills: Vec<Skill>,
    held: usize,
}

impl Loader<'_, '_> {
    fn take(&mut self, root: &Root<'_>) {
        let search = match find::find(root) {
            Ok(search) => search,
            Err(ReadError::Missing) if root.folder.is_empty() => {
                let message = "a shared skill folder of the server's settings is not there";
                let finding = Finding::new(Code::SkillFolderMissing, Place::file(root.shown), message);
                return self.gathered.tell(finding, self.manifest.skills_enabled);
            }
            Err(ReadError::Missing) => return,
            Err(error) => {
                let finding = unreadable::finding(root.shown, error, unreadable::FOLDER);
                return self.gathered.tell(finding, self.manifest.skills_enabled);
            }
        };
        for (folder_name, finding) in search.findings {
            let stands = self.bears_on_prompts(&folder_name);
            self.gathered.tell(finding, stands);
        }
        for folder in search.folders {
            self.take_skill(root, &folder);
        }
    }

    /// Whether the folder's skill would be shown, so that its loss is one: what a filter hides is named in no prompt.
    fn bears_on_prompts(&self, folder_name: &str) -> bool {
        self.manifest.skills_enabled && self.manifest.skills.admits(folder_name, folder_name)
    }

    fn take_skill(&mut self, root: &Root<'_>, folder: &str) {
        let shown = root.shown_path(folder);
        if self.skills.iter().any(|skill| *skill.folder == *shown) {
            let message = "an earlier shared folder has a skill at the same path; this one is left out";
            return self.gathered.tell(Finding::new(Code::SkillDuplicate, Place::file(shown), message), false);
        }
        let path = join(&shown, SKILL_FILE);
        let folder_name = folder.rsplit('/').next().unwrap_or_default();
        let stands = self.bears_on_prompts(folder_name);
        let read = root.tree.read(&join(&root.in_tree(folder), SKILL_FILE), self.input.settings.max_file_bytes);
        let (bytes, draft) = match read {
            Ok(file) => {
                let hash = sha256(&file.bytes);
                self.gathered.inputs.insert(path.as_str().into(), hash);
                let partial = (file.bytes.len() as u64) < file.total;
                match self.draft(&file.bytes, partial, &path, folder_name) {
                    Ok(draft) => (Arc::from(file.bytes), draft),
                    Err(findings) => match self.last_good(&shown, &path, folder_name) {
                        Some(good) => {
                            self.tell_stale(findings, stands);
                            good
                        }
                        None => return self.tell_lost(findings, stands),
                    },
                }
            }
            Err(error) => {
                let finding = unreadable::finding(&path, error, unreadable::FILE);
                let good =
                    unreadable::keeps_last_good(error).then(|| self.last_good(&shown, &path, folder_name)).flatten();
                match good {
                    Some(good) => {
                        self.tell_stale(vec![finding], stands);
                        good
                    }
                    None => return self.tell_lost(vec![finding], stands),
                }
            }
        };
        self.held += bytes.len();
        if self.held > MAX_SKILL_BYTES {
            self.held -= bytes.len();
            let message = format!("the skills have more than {MAX_SKILL_BYTES} bytes together; this one is left out");
            return self.gathered.tell(Finding::new(Code::SkillSearchLimited, Place::file(path), message), stands);
        }
        let skill = self.skill(root, folder, bytes, draft);
        self.skills.push(skill);
    }

    fn draft(&self, bytes: &[u8], partial: bool, path: &str, folder_name: &str) -> Result<Draft, Vec<Finding>> {
        draft::read(bytes, partial, path, folder_name, self.input.settings.risks)
    }

    fn last_good(&self, shown: &str, path: &str, folder_name: &str) -> Option<(Arc<[u8]>, Draft)> {
        let skill = self.input.previous?.skills.iter().find(|skill| *skill.folder == *shown)?;
        let draft = self.draft(&skill.bytes, false, path, folder_name).ok()?;
        Some((Arc::clone(&skill.bytes), draft))
    }

    fn tell_stale(&mut self, findings: Vec<Finding>, stands: bool) {
        for finding in findings.into_iter().filter(Finding::is_error) {
            let message = format!("{}; its last good version stays in use", finding.message);
            self.gathered.tell(Finding { message, ..finding }, stands);
        }
    }

    fn tell_lost(&mut self, findings: Vec<Finding>, stands: bool) {
        for finding in findings {
            let stands = stands && finding.severity > Severity::Info;
            let message = if finding.is_error() {
                format!("{}; the skill is left out", finding.message)
            } else {
                finding.message
            };
            self.gathered.tell(Finding { message, ..finding }, stands);
        }
    }

    fn skill(&mut self, root: &Root<'_>, folder: &str, bytes: Arc<[u8]>, draft: Draft) -> Skill {
        let Draft { name, description, body, hidden_by, mut findings } = draft;
        let shown = root.shown_path(folder);
        let limit = self.input.settings.max_file_bytes;
        let (files, bundle_findings) = bundle::list(root.tree, &root.in_tree(folder), &shown, limit);
        findings.extend(bundle_findings);
        for file in &files {
            self.gathered.inputs.insert(join(&shown, &file.path).into(), Arc::clone(&file.sha256));
        }
        let folder_name = folder.rsplit('/').next().unwrap_or_default();
        let exposed = self.input.settings.expose_paths && self.manifest.expose_paths;
        let location = if exposed {
            format!("{}/{folder}/{SKILL_FILE}", root.path)
        } else {
            format!("skill://{}/{}/{SKILL_FILE}", self.input.id, percent_encode(&name))
        };
        Skill {
            visibility: select::visibility(&name, folder_name, hidden_by, self.manifest),
            name: name.into(),
            description: description.into(),
            location: location.into(),
            folder: shown.into(),
            folder_name: folder_name.into(),
            sha256: sha256(&bytes),
            bytes,
            body: body.into(),
            files,
            findings,
        }
    }
}

/// As RFC 3986 has it: everything but unreserved characters.
fn percent_encode(name: &str) -> String {
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
