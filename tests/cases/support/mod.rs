//! Laying out a case's workspace, reading its turn, and what holds for every prompt.

use std::{
    fmt::Write as _,
    fs,
    io::Write as _,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    sync::{Arc, LazyLock},
};

use promptd_contract::{decode, json, proto};
use promptd_core::{
    finding::{Code, Finding},
    id::Id,
    profile::{self, ProfileSet},
    prompt::{Holder, Outcome, Prepared, Prompt},
    settings::Settings,
    turn::Turn,
    workspace::{Layer, Load, Snapshot, Tree, compose, load},
};
use serde_json::Value;
use tempfile::TempDir;

pub mod expect;
pub mod reply;

/// A `*.turn.yaml`: the request's `turn`, and what else the case sets.
pub struct Case {
    /// The request's `profile`.
    pub profile: Option<String>,
    settings: Settings,
    turn: Value,
}

impl Case {
    pub fn read(path: &Path) -> Self {
        let all: Value = serde_yaml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let known = ["profile", "turn", "settings", "about"];
        assert!(all.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())), "{}", path.display());
        let mut settings = Settings::default();
        for (key, value) in all["settings"].as_object().into_iter().flatten() {
            let number = value.as_u64().unwrap_or_default() as usize;
            match key.as_str() {
                "expose_paths" => settings.expose_paths = value.as_bool().unwrap(),
                "max_file_bytes" => settings.max_file_bytes = number,
                "max_value_chars" => settings.max_value_chars = number,
                "max_variable_chars" => settings.max_variable_chars = number,
                "max_shown" => settings.skills.max_shown = number,
                "max_block_chars" => settings.skills.max_block_chars = number,
                "max_description_chars" => settings.skills.max_description_chars = number,
                "risks" => {
                    settings.risks = match value.as_str().unwrap() {
                        "strip" => promptd_core::settings::RiskPolicy::Strip,
                        "refuse" => promptd_core::settings::RiskPolicy::Refuse,
                        _ => promptd_core::settings::RiskPolicy::Report,
                    }
                }
                other => panic!("{}: unknown setting {other}", path.display()),
            }
        }
        Self { profile: all["profile"].as_str().map(ToOwned::to_owned), settings, turn: all["turn"].clone() }
    }

    /// A case of a turn alone.
    pub fn of(profile: Option<String>, turn: Value) -> Self {
        Self { profile, settings: Settings::default(), turn }
    }

    /// The turn as a client would send it, checked as the service checks it. The clock is fixed where it sets none.
    pub fn turn(&self) -> Result<Turn, String> {
        let descriptor = json::descriptors().get_message_by_name("promptd.v1.Turn").unwrap();
        let turn = if self.turn.is_null() { Value::Object(serde_json::Map::new()) } else { expand(&self.turn) };
        let message = prost_reflect::DynamicMessage::deserialize(descriptor, turn).map_err(|e| e.to_string())?;
        let turn: proto::Turn = message.transcode_to().unwrap();
        let now = "2026-03-01T02:30:00Z".parse().unwrap();
        decode::turn(turn, &decode::Limits::default(), now).map_err(|violations| {
            violations
                .iter()
                .map(|violation| format!("{}: {}", violation.field, violation.message))
                .collect::<Vec<_>>()
                .join("\n")
        })
    }
}

/// `{repeat: a, times: 5, then: b}` is the text `aaaaab`, so that long inputs stay short to read.
fn expand(value: &Value) -> Value {
    match value {
        Value::Object(fields) if fields.contains_key("repeat") => text_of(value).into(),
        Value::Object(fields) => {
            fields.iter().map(|(k, v)| (k.clone(), expand(v))).collect::<serde_json::Map<_, _>>().into()
        }
        Value::Array(items) => items.iter().map(expand).collect(),
        other => other.clone(),
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of).collect(),
        Value::Object(fields) => {
            let times = fields["times"].as_u64().unwrap() as usize;
            let first = fields.get("first").map(text_of).unwrap_or_default();
            let then = fields.get("then").map(text_of).unwrap_or_default();
            let repeated = fields["repeat"].as_str().unwrap();
            let body: String = (1..=times).map(|n| repeated.replace("{n}", &n.to_string())).collect();
            first + &body + &then
        }
        other => panic!("no text: {other}"),
    }
}

static BUILT_IN: LazyLock<Arc<ProfileSet>> = LazyLock::new(|| Arc::new(profile::load(&[], None).0));

/// A case's workspace on disk.
pub struct Workspace {
    folder: TempDir,
}

impl Workspace {
    /// From the case's `workspace/` folder and its `files.yaml`, which says what git cannot hold.
    pub fn lay_out(case: &Path) -> Self {
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join("ws")).unwrap();
        let plain = case.join("workspace");
        if plain.is_dir() {
            copy(&plain, &folder.path().join("ws"));
        }
        let special = case.join("files.yaml");
        if special.is_file() {
            let files: Value = serde_yaml::from_str(&fs::read_to_string(special).unwrap()).unwrap();
            for (path, what) in files.as_object().unwrap() {
                make(&folder.path().join("ws").join(path), what);
            }
        }
        Self { folder }
    }

    pub fn load(&self, case: &Case) -> Result<Prepared, Vec<Finding>> {
        let files = profile_files(&self.folder.path().join("ws/.profiles"));
        let profiles = if files.is_empty() {
            Arc::clone(&BUILT_IN)
        } else {
            let (profiles, findings) = profile::load(&files, None);
            if findings.iter().any(Finding::is_error) {
                return Err(findings);
            }
            Arc::new(profiles)
        };
        let own = Arc::new(self.load_one("harbour", "ws", &profiles, case)?);
        if own.manifest.extends.is_empty() {
            return Ok(own.into());
        }
        let find = |id: &Id| {
            let folder = format!("layers/{id}");
            let is_there = self.folder.path().join(&folder).is_dir();
            let loaded = is_there.then(|| self.load_one(id.as_str(), &folder, &profiles, case).ok()).flatten();
            loaded.map(|snapshot| Arc::new(Layer::new(Arc::new(snapshot))))
        };
        compose(&own, None, &find).map(Prepared::from)
    }

    fn load_one(
        &self,
        id: &str,
        folder: &str,
        profiles: &Arc<ProfileSet>,
        case: &Case,
    ) -> Result<Snapshot, Vec<Finding>> {
        let tree = promptd_source::open_tree(&self.folder.path().join(folder), &[]).unwrap();
        let shared = self.folder.path().join("shared");
        let shared = shared.is_dir().then(|| promptd_source::open_tree(&shared, &[]).unwrap());
        let shared: Vec<(&str, &dyn Tree)> = shared.iter().map(|tree| ("/srv/shared", tree as &dyn Tree)).collect();
        load(&Load {
            id: &Id::parse(id).unwrap(),
            root: &format!("/srv/{id}"),
            tree: &tree,
            shared_skills: &shared,
            profiles: Arc::clone(profiles),
            settings: Arc::new(case.settings.clone()),
            previous: None,
        })
    }
}

/// Profiles of the case's own, in its workspace's `.profiles` folder.
fn profile_files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).unwrap())
        })
        .collect()
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A text, `{repeat, times, first, then}`, a list of them, or `{hex: …}`, `{link: target}`, `{fifo: true}`, `{folder: true}`,
/// `{sparse: bytes}`; `mode` sets permissions besides.
fn make(path: &Path, what: &Value) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    if let Some(target) = what["link"].as_str() {
        return symlink(target, path).unwrap();
    }
    if what["folder"].as_bool() == Some(true) {
        return fs::create_dir(path).unwrap();
    }
    if what["fifo"].as_bool() == Some(true) {
        let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
        assert!(made.success());
        return;
    }
    if let Some(size) = what["sparse"].as_u64() {
        let file = fs::File::create(path).unwrap();
        (&file).write_all(text_of(&what["begin"]).as_bytes()).unwrap();
        return file.set_len(size).unwrap();
    }
    match what["hex"].as_str() {
        Some(hex) => {
            let digits: Vec<u8> = hex.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
            let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
            fs::write(path, digits.chunks(2).map(byte).collect::<Vec<_>>()).unwrap();
        }
        None => fs::write(path, text_of(what)).unwrap(),
    }
    if let Some(mode) = what.get("mode").and_then(Value::as_u64) {
        fs::set_permissions(path, fs::Permissions::from_mode(u32::try_from(mode).unwrap())).unwrap();
    }
}

/// What holds for every prompt: every byte but the separators belongs to exactly one section, sizes are true, no
/// message is blank, every loss has a finding.
pub fn check_invariants(snapshot: &Snapshot, prompt: &Prompt<'_>) {
    let messages = (0..).map(Holder::Message).zip(&prompt.messages);
    for (index, message) in messages.chain((0..).map(Holder::Card).zip(&prompt.cards)) {
        if message.origin.is_some() {
            continue;
        }
        assert!(!message.content.trim().is_empty(), "{index:?} is blank");
        assert_eq!(message.size.bytes, message.content.len() as u64);
        assert_eq!(message.size.chars, message.content.chars().count() as u64);
        let mut end = 0;
        for position in prompt.sections.iter().filter_map(|section| section.position.as_ref()) {
            if position.holder == index {
                let range = position.range();
                assert!(range.start >= end && range.start < range.end, "sections overlap or are empty");
                let between = &message.content[end..range.start];
                assert!(between.trim().is_empty(), "bytes that belong to no section: {between:?}");
                end = range.end;
            }
        }
        assert_eq!(end, message.content.len(), "the message's last bytes belong to no section");
    }
    let carried: u64 = prompt.messages.iter().filter(|m| m.origin.is_some()).map(|m| m.size.bytes).sum();
    for section in &prompt.sections {
        if section.id == "conversation" {
            let is_cut = prompt.sections.iter().any(|s| s.id.starts_with("conversation/") && s.position.is_some());
            assert!(is_cut || section.included.bytes == carried, "{section:?}");
            continue;
        }
        // Of a section that was cut, and of a message of the conversation, at least the marker remains.
        let is_carried = section.id.starts_with("conversation/") && section.outcome == Outcome::Included;
        let is_shown = section.included.bytes > 0 || section.outcome == Outcome::Truncated || is_carried;
        assert_eq!(section.position.is_some(), is_shown, "{}", section.id);
        let is_within = section.max_chars.is_none_or(|most| section.included.chars <= most);
        assert!(is_within, "{} is over its own limit: {section:?}", section.id);
        if section.outcome.is_loss() {
            assert!(!section.reason.is_empty(), "{} says no reason", section.id);
            assert!(!prompt.findings.is_empty(), "{} was lost without a finding", section.id);
        }
        if section.outcome == Outcome::Included && section.included != section.original {
            let is_design = |finding: &&Finding| finding.code == Code::LimitedByDesign;
            assert!(prompt.findings.iter().any(|finding| is_design(&&**finding)), "{} is limited silently", section.id);
            assert!(!section.reason.is_empty(), "{} says no reason", section.id);
        }
    }
    let limits = &snapshot.manifest.context;
    let mut files = 0;
    for section in &prompt.sections {
        let Some(path) = section.id.strip_prefix("workspace_context/") else { continue };
        let Some(text) = prompt.section_text(section) else { continue };
        let chars = text.split_once("\n\n").unwrap().1.chars().count();
        assert!(chars <= limits.max_chars_of(path), "{path} is over its limit");
        files += chars;
    }
    assert!(files <= limits.max_chars_total);
    for text in texts(prompt, |id| id == "skills") {
        check_skills(snapshot, text);
    }
}

/// The texts of the sections whose id is so.
fn texts<'p>(prompt: &'p Prompt<'_>, is: impl Fn(&str) -> bool + 'p) -> impl Iterator<Item = &'p str> {
    prompt.sections.iter().filter(move |section| is(&section.id)).filter_map(|section| prompt.section_text(section))
}

/// The block is within its limit, is XML, and gives back the strings of skills that the workspace shows.
fn check_skills(snapshot: &Snapshot, section: &str) {
    let limits = &snapshot.settings.skills;
    let Some(start) = section.find("\n<available_skills>\n") else { return };
    let block = &section[start + 1..];
    assert!(block.chars().count() <= limits.max_block_chars, "the block is longer than its limit");
    assert_eq!(block.matches("</available_skills>").count(), 1);
    let (xml, _) = block.split_once("</available_skills>").unwrap();
    let xml = format!("{xml}</available_skills>");
    let document = roxmltree::Document::parse(&xml).unwrap();
    let listed = document.root_element().children().filter(roxmltree::Node::is_element);
    let mut names = Vec::new();
    for skill in listed {
        let text = |name: &str| skill.children().find(|n| n.has_tag_name(name)).unwrap().text().unwrap_or_default();
        let known = snapshot.skills.iter().find(|skill| *skill.name == *text("name")).unwrap();
        assert!(known.is_shown(), "{} is hidden", known.name);
        assert_eq!(text("location"), &*known.location);
        let description = text("description");
        assert!(description.chars().count() <= limits.max_description_chars && !description.contains('\n'));
        match description.strip_suffix('…').filter(|_| description != &*known.description) {
            Some(head) => assert!(known.description.starts_with(head)),
            None if limits.max_description_chars == 0 => assert_eq!(description, ""),
            None => assert_eq!(description, &*known.description),
        }
        names.push(known.name.to_string());
    }
    assert!(!names.is_empty() && names.len() <= limits.max_shown);
    assert!(names.is_sorted_by_key(|name| (name.to_lowercase(), name.clone())));
}

/// Long runs of one character, and characters that cannot be seen, in a form that can be read.
pub fn visible(text: &str) -> String {
    const LONGEST_RUN: usize = 40;
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let mut run = 1;
        while chars.peek() == Some(&c) && c != '\n' {
            chars.next();
            run += 1;
        }
        let shown = if (c.is_control() && c != '\n' && c != '\t') || promptd_core::text::hidden::is_hidden(c) {
            format!("<U+{:04X}>", c as u32)
        } else {
            c.to_string()
        };
        if run > LONGEST_RUN {
            let _ = write!(out, "<{run} times {shown}>");
        } else {
            out.push_str(&shown.repeat(run));
        }
    }
    out
}
