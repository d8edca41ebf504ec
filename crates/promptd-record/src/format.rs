//! What the files of the folder hold: protobuf messages, whose fields are only added to. `docs/recording.md` lists them.

use prost::Message;

/// A request that was answered: a file below `requests/`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct StoredRequest {
    /// The request, an `AssemblePromptRequest` of the contract, without what was removed.
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) request: Vec<u8>,
    /// The revision that it was answered from.
    #[prost(string, tag = "2")]
    pub(crate) revision: String,
    /// The profile that it was answered with.
    #[prost(string, tag = "3")]
    pub(crate) profile: String,
    /// The prompt's digest, 32 bytes: that of the answer, or where something was removed, of the request as it is here.
    #[prost(bytes = "vec", tag = "4")]
    pub(crate) digest: Vec<u8>,
    /// When it was answered: microseconds since 1970.
    #[prost(int64, tag = "5")]
    pub(crate) at: i64,
    /// Which skills the caller's token shows.
    #[prost(message, optional, tag = "6")]
    pub(crate) token_skills: Option<StoredSkillFilter>,
    /// The prompt's sections.
    #[prost(message, repeated, tag = "7")]
    pub(crate) sections: Vec<StoredSection>,
    /// The fields of the turn that were set and were removed.
    #[prost(string, repeated, tag = "8")]
    pub(crate) removed: Vec<String>,
    /// Counts the requests of one process, so that two of them are two files.
    #[prost(uint64, tag = "9")]
    pub(crate) number: u64,
}

/// Globs over skills.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct StoredSkillFilter {
    /// The allowlist; absent: all.
    #[prost(message, optional, tag = "1")]
    pub(crate) allow: Option<StoredGlobs>,
    /// The blocklist.
    #[prost(string, repeated, tag = "2")]
    pub(crate) block: Vec<String>,
}

/// A list of globs.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct StoredGlobs {
    /// The globs.
    #[prost(string, repeated, tag = "1")]
    pub(crate) globs: Vec<String>,
}

/// A section of a prompt, or a message of its conversation.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct StoredSection {
    /// Its id; `conversation/N` for a message.
    #[prost(string, tag = "1")]
    pub(crate) id: String,
    /// What became of it: `included`, `truncated`, `omitted`, `dropped`.
    #[prost(string, tag = "2")]
    pub(crate) outcome: String,
    /// The characters of its text.
    #[prost(uint64, tag = "3")]
    pub(crate) chars: u64,
    /// SHA-256 of its text, 32 bytes; empty: it has none.
    #[prost(bytes = "vec", tag = "4")]
    pub sha256: Vec<u8>,
}

/// A revision's files and settings: a file below `revisions/`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct StoredRevision {
    /// The version of the prompts: with another one the same files may give other prompts.
    #[prost(string, tag = "1")]
    pub(crate) prompts: String,
    /// The workspace's id.
    #[prost(string, tag = "2")]
    pub(crate) workspace: String,
    /// Its path, as prompts may show it.
    #[prost(string, tag = "3")]
    pub(crate) root: String,
    /// The settings that it was loaded with.
    #[prost(message, optional, tag = "4")]
    pub(crate) settings: Option<StoredSettings>,
    /// The operator's profiles.
    #[prost(message, repeated, tag = "5")]
    pub(crate) profiles: Vec<StoredFile>,
    /// What was read of its folder.
    #[prost(message, optional, tag = "6")]
    pub(crate) tree: Option<StoredTree>,
    /// What was read of each shared skill folder.
    #[prost(message, repeated, tag = "7")]
    pub(crate) shared_skills: Vec<StoredShared>,
    /// The revision, 32 bytes, whose parts are in use where a file was invalid; empty: none.
    #[prost(bytes = "vec", tag = "8")]
    pub(crate) previous: Vec<u8>,
    /// The revisions, 32 bytes each, of the layers' own files.
    #[prost(bytes = "vec", repeated, tag = "9")]
    pub(crate) layers: Vec<Vec<u8>>,
}

/// The settings that a snapshot depends on.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct StoredSettings {
    /// `expose_paths`.
    #[prost(bool, tag = "1")]
    pub(crate) expose_paths: bool,
    /// `limits.max_file_bytes`.
    #[prost(uint64, tag = "2")]
    pub(crate) max_file_bytes: u64,
    /// `skills.max_description_chars`.
    #[prost(uint64, tag = "3")]
    pub(crate) max_description_chars: u64,
    /// `skills.max_shown`.
    #[prost(uint64, tag = "4")]
    pub(crate) max_shown: u64,
    /// `skills.max_block_chars`.
    #[prost(uint64, tag = "5")]
    pub(crate) max_block_chars: u64,
    /// `limits.max_value_chars`.
    #[prost(uint64, tag = "6")]
    pub(crate) max_value_chars: u64,
    /// `limits.max_variable_chars`.
    #[prost(uint64, tag = "7")]
    pub(crate) max_variable_chars: u64,
    /// `risks`: `report`, `strip`, `refuse`.
    #[prost(string, tag = "8")]
    pub(crate) risks: String,
}

/// A folder as far as it was read.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct StoredTree {
    /// Its files.
    #[prost(message, repeated, tag = "1")]
    pub(crate) files: Vec<StoredFile>,
    /// The folders in it that were listed, itself included.
    #[prost(message, repeated, tag = "2")]
    pub(crate) folders: Vec<StoredFolder>,
}

/// A file.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct StoredFile {
    /// Its path, or its name.
    #[prost(string, tag = "1")]
    pub(crate) path: String,
    /// SHA-256 of the bytes read, 32 bytes: a file below `blobs/`. Empty: it could not be read.
    #[prost(bytes = "vec", tag = "2")]
    pub sha256: Vec<u8>,
    /// Its real size in bytes.
    #[prost(uint64, tag = "3")]
    pub(crate) total: u64,
    /// Why it could not be read.
    #[prost(message, optional, tag = "4")]
    pub(crate) error: Option<StoredError>,
}

/// A folder that was listed.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct StoredFolder {
    /// Its path; empty: the tree itself.
    #[prost(string, tag = "1")]
    pub(crate) path: String,
    /// Its entries.
    #[prost(message, repeated, tag = "2")]
    pub(crate) entries: Vec<StoredEntry>,
    /// Why it could not be listed.
    #[prost(message, optional, tag = "3")]
    pub(crate) error: Option<StoredError>,
}

/// An entry of a folder.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct StoredEntry {
    /// Its name.
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    /// `file`, `folder`, `other`.
    #[prost(string, tag = "2")]
    pub(crate) kind: String,
}

/// Why something could not be read.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct StoredError {
    /// `missing`, `wrong_kind`, `link_outside`, `link_dangling`, `link_loop`, `denied`, `failed`.
    #[prost(string, tag = "1")]
    pub(crate) error: String,
    /// With `wrong_kind`: what it is.
    #[prost(string, tag = "2")]
    pub(crate) detail: String,
}

/// A shared skill folder.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct StoredShared {
    /// Its path, as prompts may show it.
    #[prost(string, tag = "1")]
    pub(crate) path: String,
    /// What was read of it.
    #[prost(message, optional, tag = "2")]
    pub(crate) tree: Option<StoredTree>,
}
