//! The addresses of resources: `skill://WORKSPACE/SKILL/FILE`, and `workspace://WORKSPACE/FILE`.

use std::fmt;

use percent_encoding::percent_decode_str;
use promptd_core::workspace::percent_encode;

/// What an address names. It has one spelling: [`Address::parse`] takes no other than the one that it is displayed with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    /// A file or folder of a skill; an empty path is the skill's own folder.
    Skill { workspace: String, name: String, path: String },
    /// A file of a workspace.
    Document { workspace: String, path: String },
}

impl Address {
    /// Reads an address; `None`: it is of another kind, or spelled in another way.
    pub(crate) fn parse(uri: &str) -> Option<Self> {
        let (scheme, rest) = uri.split_once("://")?;
        let mut segments = rest.split('/').map(decoded);
        let workspace = segments.next()??;
        let address = match scheme {
            "skill" => Self::Skill { workspace, name: segments.next()??, path: path(segments)? },
            "workspace" => Self::Document { workspace, path: path(segments)? },
            _ => return None,
        };
        (address.to_string() == uri).then_some(address)
    }

    /// The workspace that it is in.
    pub(crate) fn workspace(&self) -> &str {
        match self {
            Self::Skill { workspace, .. } | Self::Document { workspace, .. } => workspace,
        }
    }
}

fn decoded(segment: &str) -> Option<String> {
    let text = percent_decode_str(segment).decode_utf8().ok()?;
    (!text.is_empty()).then(|| text.into_owned())
}

/// The path of the segments. A name with a `/` in it would be another path.
fn path(segments: impl Iterator<Item = Option<String>>) -> Option<String> {
    let segments = segments.collect::<Option<Vec<_>>>()?;
    let is_name = |segment: &String| !segment.contains('/') && segment != "." && segment != "..";
    segments.iter().all(is_name).then(|| segments.join("/"))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = match self {
            Self::Skill { workspace, name, path } => {
                write!(f, "skill://{}/{}", percent_encode(workspace), percent_encode(name))?;
                path
            }
            Self::Document { workspace, path } => {
                write!(f, "workspace://{}", percent_encode(workspace))?;
                path
            }
        };
        for segment in path.split('/').filter(|segment| !segment.is_empty()) {
            write!(f, "/{}", percent_encode(segment))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_spelling() {
        let skill =
            |name: &str, path: &str| Address::Skill { workspace: "home".into(), name: name.into(), path: path.into() };
        for (uri, address) in [
            ("skill://home/pdf/SKILL.md", skill("pdf", "SKILL.md")),
            ("skill://home/pdf", skill("pdf", "")),
            ("skill://home/pdf/scripts/a%20b.py", skill("pdf", "scripts/a b.py")),
            ("skill://home/a%2Fb%20%C3%A9/SKILL.md", skill("a/b é", "SKILL.md")),
            (
                "workspace://home/docs/AGENTS.md",
                Address::Document { workspace: "home".into(), path: "docs/AGENTS.md".into() },
            ),
        ] {
            assert_eq!(Address::parse(uri), Some(address.clone()), "{uri}");
            assert_eq!(address.to_string(), uri);
        }
        for uri in [
            "skill://home/pdf/",
            "skill://home/pdf//SKILL.md",
            "skill://home/pdf/./SKILL.md",
            "skill://home/pdf/../other/SKILL.md",
            "skill://home/pdf/%2e%2e/SKILL.md",
            "skill://home/pdf/scripts%2Fa.py",
            "skill://home/%70df/SKILL.md",
            "skill://home/pdf/%C3%A9%ff",
            "skill://home/a%2fb/SKILL.md",
            "skill://home/pdf/SKILL.md?x",
            "skill://home/pdf/SKILL.md#x",
            "skill:///pdf/SKILL.md",
            "SKILL://home/pdf/SKILL.md",
            "skill://home",
            "file:///etc/passwd",
            "",
        ] {
            assert_eq!(Address::parse(uri), None, "{uri}");
        }
    }
}
