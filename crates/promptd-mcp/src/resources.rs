//! Files as resources: the context files, and those of skills.

use std::{
    collections::{HashMap, hash_map::Entry},
    string::FromUtf8Error,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use promptd_contract::proto;
use promptd_core::workspace::SKILL_FILE;
use rmcp::{
    ErrorData,
    model::{
        ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource, ResourceContents,
        ResourceTemplate,
    },
};

use crate::{
    Failure,
    address::Address,
    client::Client,
    error::{of_resource, unknown_resource},
    skills,
};

/// `resources/list`: on the first page the context files, then the SKILL.md of each skill.
pub(crate) async fn list(client: &Client, cursor: Option<String>) -> Result<ListResourcesResult, ErrorData> {
    let workspace = client.workspace().await?;
    let mut resources = Vec::new();
    if cursor.is_none() {
        let files = client.get_workspace(&workspace).await?.context_files;
        resources.extend(files.iter().map(|file| document(&workspace, &file.path)));
    }
    let page = client.skills(&workspace, cursor).await?;
    resources.extend(page.items.iter().map(|skill| skill_md(&workspace, skill)));
    let mut result = ListResourcesResult::with_all_items(resources);
    result.next_cursor = page.next;
    Ok(result)
}

/// `resources/templates/list`.
pub(crate) fn templates() -> ListResourceTemplatesResult {
    let template =
        |uri: &str, name: &str, description: &str| ResourceTemplate::new(uri, name).with_description(description);
    ListResourceTemplatesResult::with_all_items(vec![
        template(
            "skill://{workspace}/{skill}/{+path}",
            "skill-file",
            "A file of a skill; `SKILL.md` has its instructions.",
        ),
        template("workspace://{workspace}/{+path}", "workspace-file", "A file that prompts are made of, as it is now."),
    ])
}

/// `resources/read`.
pub(crate) async fn read(client: &Client, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let workspace = client.workspace().await?;
    let address = Address::parse(uri).filter(|address| *address.workspace() == *workspace);
    let (path, content) = match address {
        Some(Address::Skill { name, path, .. }) if !path.is_empty() => {
            let answer = client.read_skill(&workspace, &name, &path).await;
            (path, answer.map_err(|failure| of_resource(failure, uri))?.content)
        }
        Some(Address::Document { path, .. }) => {
            let answer = client.read_file(&workspace, &path).await;
            (path, answer.map_err(|failure| of_resource(failure, uri))?.content)
        }
        _ => return Err(unknown_resource(uri)),
    };
    Ok(ReadResourceResult::new(vec![contents(uri, &path, content)]))
}

/// The hashes of what a client can read at addresses, each skill asked for once.
pub(crate) struct Digests<'a> {
    client: &'a Client,
    workspace: &'a str,
    /// By the skill's name.
    skills: HashMap<String, Vec<proto::SkillFile>>,
}

impl<'a> Digests<'a> {
    pub(crate) fn new(client: &'a Client, workspace: &'a str) -> Self {
        Self { client, workspace, skills: HashMap::new() }
    }

    /// The hash at an address; `None`: nothing can be read there.
    pub(crate) async fn of(&mut self, uri: &str) -> Result<Option<String>, Failure> {
        let address = Address::parse(uri).filter(|address| *address.workspace() == *self.workspace);
        let digest = match address {
            Some(Address::Skill { name, path, .. }) => self.of_skill(name, &path).await,
            Some(Address::Document { path, .. }) => {
                self.client.read_file(self.workspace, &path).await.map(|answer| Some(answer.sha256))
            }
            None => Ok(None),
        };
        match digest {
            Err(failure) if !failure.is_overload() => Ok(None),
            digest => digest,
        }
    }

    async fn of_skill(&mut self, name: String, path: &str) -> Result<Option<String>, Failure> {
        let files = match self.skills.entry(name) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let skill = self.client.skill(self.workspace, new.key()).await?;
                new.insert(skill.map(|skill| skill.files).unwrap_or_default())
            }
        };
        let file = files.iter().find(|file| file.path == path && !file.sha256.is_empty());
        Ok(file.map(|file| file.sha256.clone()))
    }
}

/// A file's bytes: as text where they are one, as a text editor would take it.
fn contents(uri: &str, path: &str, bytes: Vec<u8>) -> ResourceContents {
    let text =
        if bytes.contains(&0) { Err(bytes) } else { String::from_utf8(bytes).map_err(FromUtf8Error::into_bytes) };
    let contents = match text {
        Ok(text) => ResourceContents::text(text, uri),
        Err(bytes) => ResourceContents::blob(BASE64_STANDARD.encode(bytes), uri),
    };
    let is_text = matches!(contents, ResourceContents::TextResourceContents { .. });
    contents.with_mime_type(media_type(path).unwrap_or(if is_text { "text/plain" } else { "application/octet-stream" }))
}

fn document(workspace: &str, path: &str) -> Resource {
    let uri = Address::Document { workspace: workspace.into(), path: path.into() }.to_string();
    with_media_type(Resource::new(uri, path).with_description("A context file of the workspace."), path)
}

fn skill_md(workspace: &str, skill: &proto::Skill) -> Resource {
    let resource = Resource::new(skills::address(workspace, skill, SKILL_FILE), &skill.name);
    let resource = with_media_type(resource.with_description(&skill.description), SKILL_FILE);
    match skill.files.first() {
        Some(file) => resource.with_size(file.bytes),
        None => resource,
    }
}

/// A resource with the media type that its file's name suggests.
pub(crate) fn with_media_type(resource: Resource, path: &str) -> Resource {
    match media_type(path) {
        Some(kind) => resource.with_mime_type(kind),
        None => resource,
    }
}

fn media_type(path: &str) -> Option<&'static str> {
    // In a workspace these are TypeScript, not MPEG.
    let typescript = |kind| if kind == "video/vnd.dlna.mpeg-tts" { "text/typescript" } else { kind };
    mime_guess::from_path(path).first_raw().map(typescript)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_a_blob() {
        let made = |bytes: &[u8]| serde_json::to_value(contents("skill://w/s/f", "f.md", bytes.to_vec())).unwrap();
        assert_eq!((&made("é\n".as_bytes())["text"], &made(b"")["text"]), (&"é\n".into(), &"".into()));
        assert_eq!((&made(b"a\0b")["blob"], &made(b"\xff")["blob"]), (&"YQBi".into(), &"/w==".into()));
    }

    #[test]
    fn media_types_are_those_of_names() {
        for (path, bytes, kind) in [
            ("SKILL.md", &b"a"[..], "text/markdown"),
            ("a.json", b"{}", "application/json"),
            ("a.ts", b"a", "text/typescript"),
            ("a/b.png", b"\0", "image/png"),
            ("Makefile", b"a", "text/plain"),
            ("LICENSE", b"\0", "application/octet-stream"),
        ] {
            let made = serde_json::to_value(contents("skill://w/s/f", path, bytes.to_vec())).unwrap();
            assert_eq!(made["mimeType"], kind, "{path}");
        }
    }
}
