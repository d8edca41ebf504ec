//! Skills, by the extension that MCP has for them (SEP-2640).

use std::collections::BTreeSet;

use promptd_contract::proto;
use promptd_core::{
    text::thousands,
    workspace::{MAX_BUNDLE_ENTRIES, SKILL_FILE},
    yaml::{self, Node},
};
use rmcp::{
    ErrorData,
    model::{
        DIRECTORY_MIME_TYPE, GetSkillResult, ListSkillsResult, MetaObject, ReadResourceDirectoryResult, Resource,
        Skill, SkillFrontmatter, SkillResource, SkillResources,
    },
};
use serde_json::{Map, Value};

use crate::{address::Address, client::Client, error::unknown_skill, resources::with_media_type};

/// The extension's limit: a client need not load a skill that has more. Its limit of 512 files is above promptd's own.
const MAX_CLIENT_BYTES: u64 = 16 << 20;

/// What promptd says of a skill, or of a list of them, beside what the extension has a place for: sentences.
const NOTES: &str = "promptd.v1/notes";

/// `skills/list`.
pub(crate) async fn list(client: &Client, cursor: Option<String>) -> Result<ListSkillsResult, ErrorData> {
    let workspace = client.workspace().await?;
    let page = client.skills(&workspace, cursor).await?;
    let (mut skills, mut notes) = (Vec::new(), Vec::new());
    for skill in &page.items {
        match entry(&workspace, skill) {
            Ok(entry) => skills.push(entry),
            Err(why) => notes.push(format!("the skill `{}` is left out: {why}", skill.name)),
        }
    }
    let mut result = ListSkillsResult::with_all_items(skills);
    result.next_cursor = page.next;
    result.meta = with_notes(notes);
    Ok(result)
}

/// `skills/get`.
pub(crate) async fn get(client: &Client, uri: &str) -> Result<GetSkillResult, ErrorData> {
    let (workspace, skill, path) = find(client, uri).await?.ok_or_else(|| unknown_skill(uri))?;
    let entry = if path == SKILL_FILE { entry(&workspace, &skill).ok() } else { None };
    entry.map(GetSkillResult::new).ok_or_else(|| unknown_skill(uri))
}

/// `resources/directory/read`: a skill's folder, or one below it.
pub(crate) async fn directory(client: &Client, uri: &str) -> Result<ReadResourceDirectoryResult, ErrorData> {
    let (workspace, skill, folder) = find(client, uri).await?.ok_or_else(|| unknown_skill(uri))?;
    let children = children(&workspace, &skill, &folder);
    if children.is_empty() {
        return Err(unknown_skill(uri));
    }
    Ok(ReadResourceDirectoryResult::with_all_items(children))
}

/// The skill that an address is of, with its workspace and the path below it.
async fn find(client: &Client, uri: &str) -> Result<Option<(String, proto::Skill, String)>, ErrorData> {
    let workspace = client.workspace().await?;
    let Some(address) = Address::parse(uri).filter(|address| *address.workspace() == *workspace) else {
        return Ok(None);
    };
    let Address::Skill { name, path, .. } = address else { return Ok(None) };
    let skill = client.skill(&workspace, &name).await?;
    Ok(skill.map(|skill| (workspace, skill, path)))
}

/// Why a skill is not one of the extension's.
const UNFIT: &str = "the `name` in its front matter must be text of lower-case letters, digits and single hyphens, 64 at most, and its \
    `description` text";

/// A skill as the extension has it, or why it is none.
fn entry(workspace: &str, skill: &proto::Skill) -> Result<Skill, &'static str> {
    if skill.files.first().is_none_or(|file| file.sha256.is_empty()) {
        return Err("its SKILL.md is larger than what is read of a file");
    }
    let resources = readable(skill).map(|file| {
        let digest = format!("sha256:{}", file.sha256);
        SkillResource::new(address(workspace, skill, &file.path), digest, file.bytes)
    });
    let uri = address(workspace, skill, SKILL_FILE);
    let entry = Skill::new(uri, front_matter(skill).ok_or(UNFIT)?, SkillResources::Files(resources.collect()));
    if !entry.name().is_ascii() || entry.validate().is_err() {
        return Err(UNFIT);
    }
    Ok(match with_notes(notes(skill)) {
        Some(meta) => entry.with_meta(meta),
        None => entry,
    })
}

/// All that the author wrote; `None`: name or description are not text. YAML that promptd could only read with a repair has no
/// value that both sides agree on: then name and description alone.
fn front_matter(skill: &proto::Skill) -> Option<SkillFrontmatter> {
    let parsed = yaml::parse(&skill.front_matter).ok().map(|node| in_json(&node));
    let Some(Value::Object(mut fields)) = parsed else {
        return Some(SkillFrontmatter::new(&skill.name, &skill.description));
    };
    let mut text = |key: &str| match fields.shift_remove(key) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let front_matter = SkillFrontmatter::new(text("name")?, text("description")?);
    Some(fields.into_iter().fold(front_matter, |front_matter, (key, value)| front_matter.with_field(key, value)))
}

/// A value as every reader of YAML 1.2 has it. For promptd's own files a number in octal or hexadecimal is text.
fn in_json(node: &Node) -> Value {
    match &node.value {
        yaml::Value::Scalar(scalar) if scalar.plain => {
            let unsigned = |prefix| scalar.text.strip_prefix(prefix).filter(|digits| !digits.starts_with('+'));
            let digits = |prefix, radix| u64::from_str_radix(unsigned(prefix)?, radix).ok();
            digits("0o", 8).or_else(|| digits("0x", 16)).map_or_else(|| node.to_json(), Value::from)
        }
        yaml::Value::Scalar(_) => node.to_json(),
        yaml::Value::List(items) => items.iter().map(in_json).collect(),
        yaml::Value::Map(pairs) => {
            pairs.iter().map(|pair| (pair.key.clone(), in_json(&pair.value))).collect::<Map<_, _>>().into()
        }
    }
}

fn notes(skill: &proto::Skill) -> Vec<String> {
    let too_large = skill.files.iter().filter(|file| file.sha256.is_empty());
    let mut notes: Vec<_> = too_large
        .map(|file| {
            format!(
                "{} is left out: it has {} bytes, and files over 1 MiB are not read",
                file.path,
                thousands(file.bytes)
            )
        })
        .collect();
    if entries(skill) >= MAX_BUNDLE_ENTRIES {
        notes.push(format!(
            "it may have more files: of each skill at most {MAX_BUNDLE_ENTRIES} files and folders are looked at"
        ));
    }
    let bytes = readable(skill).map(|file| file.bytes).sum::<u64>();
    if bytes > MAX_CLIENT_BYTES {
        let bytes = thousands(bytes);
        notes.push(format!("it has {bytes} bytes; clients need not load more than {}", thousands(MAX_CLIENT_BYTES)));
    }
    notes
}

/// How many files and folders a skill has beside its SKILL.md.
fn entries(skill: &proto::Skill) -> usize {
    let bundled = || skill.files.iter().filter(|file| file.path != SKILL_FILE);
    let parents = |path: &str| path.match_indices('/').map(|(end, _)| path[..end].to_owned()).collect::<Vec<_>>();
    let folders: BTreeSet<_> = bundled().flat_map(|file| parents(&file.path)).collect();
    bundled().count() + folders.len()
}

fn with_notes(notes: Vec<String>) -> Option<MetaObject> {
    (!notes.is_empty()).then(|| MetaObject([(NOTES.to_owned(), Value::from(notes))].into_iter().collect()))
}

fn readable(skill: &proto::Skill) -> impl Iterator<Item = &proto::SkillFile> {
    skill.files.iter().filter(|file| !file.sha256.is_empty())
}

/// What lies right in a skill's folder, or in one below it.
fn children(workspace: &str, skill: &proto::Skill, folder: &str) -> Vec<Resource> {
    let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let below = readable(skill).filter_map(|file| Some((file, file.path.strip_prefix(&prefix)?)));
    let mut folders = BTreeSet::new();
    let mut children = Vec::new();
    for (file, rest) in below {
        match rest.split_once('/') {
            None => {
                let resource = Resource::new(address(workspace, skill, &file.path), rest).with_size(file.bytes);
                children.push(with_media_type(resource, rest));
            }
            Some((name, _)) if folders.insert(name) => {
                let uri = address(workspace, skill, &format!("{prefix}{name}"));
                children.push(Resource::new(uri, name).with_mime_type(DIRECTORY_MIME_TYPE));
            }
            Some(_) => {}
        }
    }
    children
}

/// The address of a skill's file or folder.
pub(crate) fn address(workspace: &str, skill: &proto::Skill, path: &str) -> String {
    Address::Skill { workspace: workspace.into(), name: skill.name.clone(), path: path.into() }.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(name: &str, front_matter: &str, files: &[(&str, u64)]) -> proto::Skill {
        let file = |&(path, bytes): &(&str, u64)| proto::SkillFile {
            path: path.into(),
            sha256: if bytes > 1 << 20 { String::new() } else { "ab".repeat(32) },
            bytes,
        };
        proto::Skill {
            name: name.into(),
            description: "Reads PDFs.".into(),
            shown: true,
            front_matter: front_matter.into(),
            files: files.iter().map(file).collect(),
            ..Default::default()
        }
    }

    #[test]
    fn front_matter_is_verbatim() {
        let yaml = "name: pdf\ndescription: |\n  Reads\n  PDFs.\nversion: 1.10\nsince: 2026-01-01\nmetadata: {tags: [a, 2, null, 0o14, 0x1F, '0x1F', 0x+1F]}\n";
        let entry = entry("home", &skill("pdf", yaml, &[("SKILL.md", 9)])).unwrap();
        let expected = serde_json::json!({
            "name": "pdf", "description": "Reads\nPDFs.\n", "version": 1.1, "since": "2026-01-01",
            "metadata": {"tags": ["a", 2, null, 12, 31, "0x1F", "0x+1F"]},
        });
        assert_eq!(serde_json::to_value(&entry.frontmatter).unwrap(), expected);
    }

    #[test]
    fn names_that_the_extension_does_not_have_are_left_out() {
        for (name, yaml, fits) in [
            ("pdf", "name: pdf\ndescription: x", true),
            ("PDF", "name: PDF\ndescription: x", false),
            ("é", "name: é\ndescription: x", false),
            ("a--b", "name: a--b\ndescription: x", false),
            ("folder", "description: x", false),
            ("7", "name: 7\ndescription: x", false),
            ("7", "name: '7'\ndescription: x", true),
        ] {
            assert_eq!(entry("home", &skill(name, yaml, &[("SKILL.md", 9)])).is_ok(), fits, "{name}");
        }
    }

    #[test]
    fn what_is_too_large_is_said() {
        let files = [("SKILL.md", 9), ("big.bin", 2 << 20)];
        let large = entry("home", &skill("pdf", "name: pdf\ndescription: x", &files)).unwrap();
        let SkillResources::Files(listed) = &large.resources else { panic!("{large:?}") };
        assert_eq!(listed.len(), 1);
        let notes = &large.meta.unwrap().0[NOTES];
        assert_eq!(notes[0], "big.bin is left out: it has 2,097,152 bytes, and files over 1 MiB are not read");
        let huge = skill("pdf", "name: pdf\ndescription: x", &[("SKILL.md", 2 << 20)]);
        assert!(entry("home", &huge).unwrap_err().contains("SKILL.md is larger"));
        let paths: Vec<_> = (0..499).map(|n| format!("parts/{n}.txt")).collect();
        let many: Vec<_> = paths.iter().map(|path| (path.as_str(), 100_000)).collect();
        let notes = super::notes(&skill("pdf", "", &many));
        assert!(notes[0].contains("at most 500") && notes[1].contains("49,900,000 bytes"), "{notes:?}");
        assert_eq!(super::notes(&skill("pdf", "", &many[..100])).len(), 0);
    }

    #[test]
    fn a_folder_shows_what_lies_right_in_it() {
        let files = [("SKILL.md", 9), ("a.txt", 1), ("scripts/b.py", 2), ("scripts/lib/c.py", 3)];
        let skill = skill("pdf", "", &files);
        let names = |folder| children("home", &skill, folder).into_iter().map(|child| child.uri).collect::<Vec<_>>();
        assert_eq!(names(""), ["skill://home/pdf/SKILL.md", "skill://home/pdf/a.txt", "skill://home/pdf/scripts"]);
        assert_eq!(names("scripts"), ["skill://home/pdf/scripts/b.py", "skill://home/pdf/scripts/lib"]);
        assert!(names("SKILL.md").is_empty() && names("script").is_empty());
    }
}
