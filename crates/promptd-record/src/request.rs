//! One request: from a call to what is recorded, and from there to a prompt.

use jiff::Timestamp;
use promptd_contract::{decode, proto};
use promptd_core::{
    digest::Digest,
    finding::escape,
    globs::{NameGlobs, SkillFilter},
    prompt::{self, Outcome, Prepared, Prompt},
    turn::Turn,
};
use prost::Message as _;

use crate::{
    folder::{Damage, Folder, RequestFile, digest_of},
    format::{StoredGlobs, StoredRequest, StoredSection, StoredSkillFilter},
    origin::digest,
    redact::{EPHEMERAL, Redaction},
};

/// A copy of a request that is being answered, without its ephemeral prompt.
pub struct Copy {
    request: Vec<u8>,
    had_ephemeral: bool,
    now: Timestamp,
}

impl Copy {
    /// Copies a request; `now` is the clock of a turn without one.
    #[must_use]
    pub fn of(request: &mut proto::AssemblePromptRequest, now: Timestamp) -> Self {
        // What is not recorded is not copied either.
        let held = std::mem::take(&mut request.if_none_match);
        let ephemeral = request.turn.as_mut().and_then(|turn| turn.ephemeral_system_prompt.take());
        let copy = Self { request: request.encode_to_vec(), had_ephemeral: ephemeral.is_some(), now };
        if let Some(turn) = request.turn.as_mut() {
            turn.ephemeral_system_prompt = ephemeral;
        }
        request.if_none_match = held;
        copy
    }

    /// The bytes that it holds.
    pub(crate) fn bytes(&self) -> usize {
        self.request.len()
    }
}

/// How the request was answered.
pub struct Answered {
    /// The revision.
    pub revision: String,
    /// The profile.
    pub profile: String,
    /// Which skills the caller's token shows.
    pub token_skills: Option<SkillFilter>,
    /// The prompt's digest.
    pub digest: Digest,
    /// When.
    pub at: Timestamp,
}

/// What is recorded of a call. An error is why it is not.
pub(crate) fn to_stored(
    copy: &Copy,
    answered: &Answered,
    revision: &Prepared,
    without_ephemeral: bool,
    redaction: &Redaction,
    number: u64,
) -> Result<StoredRequest, String> {
    let mut request = proto::AssemblePromptRequest::decode(&*copy.request).map_err(|error| error.to_string())?;
    let turn = request.turn.get_or_insert_default();
    let mut removed = redaction.apply(turn).ok_or("its fields cannot be removed")?;
    if copy.had_ephemeral && !removed.iter().any(|name| name == EPHEMERAL) {
        removed.push(EPHEMERAL.to_owned());
    }
    if turn.now.is_none() {
        let seconds = copy.now.as_second();
        turn.now = Some(proto_timestamp(seconds, copy.now.subsec_nanosecond()));
    }
    let recorded = Recorded {
        turn: self::turn(turn.clone(), answered.token_skills.clone())?,
        profile: answered.profile.clone(),
        ..Recorded::default()
    };
    let prompt = recorded.assemble(revision)?;
    let is_whole = removed.is_empty() && !without_ephemeral;
    if is_whole && prompt.digest != answered.digest {
        return Err("assembled again it gives another prompt".to_owned());
    }
    Ok(StoredRequest {
        request: request.encode_to_vec(),
        revision: answered.revision.clone(),
        profile: answered.profile.clone(),
        digest: prompt.digest.0.to_vec(),
        at: answered.at.as_microsecond(),
        token_skills: answered.token_skills.as_ref().map(filter_to_stored),
        sections: outline(&prompt).into_iter().map(section_to_stored).collect(),
        removed,
        number,
    })
}

fn proto_timestamp(seconds: i64, nanos: i32) -> prost_types::Timestamp {
    prost_types::Timestamp { seconds, nanos }
}

/// A recorded request, to be assembled again.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The workspace's id.
    pub workspace: String,
    /// The turn.
    pub turn: Turn,
    /// The profile that it was answered with.
    pub profile: String,
    /// Whether the request names the profile; otherwise it is the workspace's own.
    pub names_profile: bool,
    /// The revision that it was answered from.
    pub revision: String,
    /// The digest that the prompt must have.
    pub digest: Digest,
    /// When it was answered.
    pub at: Timestamp,
    /// What the prompt had.
    pub sections: Vec<SectionOutline>,
    /// The fields of its turn that were removed.
    pub removed: Vec<String>,
}

impl Default for Recorded {
    fn default() -> Self {
        Self {
            workspace: String::new(),
            turn: Turn::at(Timestamp::UNIX_EPOCH.into()),
            profile: String::new(),
            names_profile: false,
            revision: String::new(),
            digest: Digest::default(),
            at: Timestamp::UNIX_EPOCH,
            sections: Vec::new(),
            removed: Vec::new(),
        }
    }
}

/// What a section, or a message of the conversation, was in a recorded prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionOutline {
    /// Its id; `conversation/N` for a message.
    pub id: String,
    /// What became of it.
    pub outcome: Outcome,
    /// The characters of its text.
    pub chars: u64,
    /// The SHA-256 of its text; `None`: it has none.
    pub sha256: Option<Digest>,
}

impl Recorded {
    /// Assembles it from a revision. An error is why there is no prompt.
    pub fn assemble<'a>(&'a self, revision: &'a Prepared) -> Result<Prompt<'a>, String> {
        let profile = revision.profiles.named(&self.profile)?;
        prompt::assemble(revision, profile, &self.turn).map_err(|error| error.to_string())
    }
}

impl Folder {
    /// Reads a request.
    pub fn request(&self, file: &RequestFile) -> Result<Recorded, Damage> {
        let bytes = self.read_request(file)?;
        let damage = |what: String| Damage { path: self.path_of_request(file), what, is_gone: false };
        let stored = StoredRequest::decode(&*bytes).map_err(|error| damage(format!("is damaged: {error}")))?;
        let request = proto::AssemblePromptRequest::decode(&*stored.request);
        let request = request.map_err(|error| damage(format!("is damaged: {error}")))?;
        let skills = stored.token_skills.map(filter_from).transpose();
        let skills = skills.map_err(|error| damage(format!("is damaged: {error}")))?;
        Ok(Recorded {
            turn: turn(request.turn.unwrap_or_default(), skills).map_err(damage)?,
            workspace: request.workspace_id,
            profile: stored.profile,
            names_profile: !request.profile.is_empty(),
            revision: stored.revision,
            digest: digest(&stored.digest).unwrap_or_default(),
            at: Timestamp::from_microsecond(stored.at).unwrap_or_default(),
            sections: stored.sections.into_iter().map(section_from).collect(),
            removed: stored.removed,
        })
    }

    /// The ids by which the user of a request is known: of those of the user and of the channel, the ones that it has.
    pub(crate) fn users(&self, file: &RequestFile) -> Result<Vec<String>, Damage> {
        let bytes = self.read_request(file)?;
        let turn = StoredRequest::decode(&*bytes)
            .and_then(|stored| proto::AssemblePromptRequest::decode(&*stored.request))
            .map(|request| request.turn.unwrap_or_default());
        let turn = turn.map_err(|error| Damage {
            path: self.path_of_request(file),
            what: format!("is damaged: {error}"),
            is_gone: false,
        })?;
        let ids = [turn.user.unwrap_or_default().id, turn.channel.unwrap_or_default().user_id];
        Ok(ids.into_iter().filter(|id| !id.is_empty()).collect())
    }
}

/// The checked turn. It was within the server's limits when it was answered, whatever they are now.
fn turn(raw: proto::Turn, skills: Option<SkillFilter>) -> Result<Turn, String> {
    let unlimited = decode::Limits {
        max_knowledge: usize::MAX,
        max_variables: usize::MAX,
        max_inputs: usize::MAX,
        max_messages: usize::MAX,
        max_segments: usize::MAX,
        max_tool_calls: usize::MAX,
        max_context_files: usize::MAX,
        max_digests: usize::MAX,
        max_values: usize::MAX,
    };
    let turn = decode::turn(raw, &unlimited, Timestamp::UNIX_EPOCH).map_err(|violations| {
        let first = violations.first().map(ToString::to_string).unwrap_or_default();
        format!("has a turn that this promptd does not take: {}", escape(&first))
    })?;
    Ok(Turn { skill_access: skills, ..turn })
}

/// What a prompt has.
#[must_use]
pub fn outline(prompt: &Prompt<'_>) -> Vec<SectionOutline> {
    let sections = prompt.sections.iter().map(|section| {
        let text = prompt.section_text(section);
        SectionOutline {
            id: section.id.to_string(),
            outcome: section.outcome,
            chars: section.included.chars,
            sha256: text.map(|text| digest_of(text.as_bytes())),
        }
    });
    let messages = prompt.messages.iter().filter_map(|message| Some((message.origin?.index, message)));
    let messages = messages.map(|(index, message)| SectionOutline {
        id: format!("conversation/{index}"),
        outcome: Outcome::Included,
        chars: message.size.chars,
        sha256: Some(digest_of(message.content.as_bytes())),
    });
    sections.chain(messages).collect()
}

fn section_to_stored(section: SectionOutline) -> StoredSection {
    StoredSection {
        id: section.id,
        outcome: section.outcome.as_str().to_owned(),
        chars: section.chars,
        sha256: section.sha256.map(|sha256| sha256.0.to_vec()).unwrap_or_default(),
    }
}

fn section_from(stored: StoredSection) -> SectionOutline {
    let outcomes = [Outcome::Included, Outcome::Truncated, Outcome::Omitted, Outcome::Dropped];
    let outcome = outcomes.into_iter().find(|outcome| outcome.as_str() == stored.outcome);
    SectionOutline {
        id: stored.id,
        outcome: outcome.unwrap_or(Outcome::Included),
        chars: stored.chars,
        sha256: digest(&stored.sha256),
    }
}

fn filter_to_stored(filter: &SkillFilter) -> StoredSkillFilter {
    StoredSkillFilter {
        allow: filter.allow.as_ref().map(|allow| StoredGlobs { globs: allow.as_slice().to_vec() }),
        block: filter.block.as_slice().to_vec(),
    }
}

fn filter_from(stored: StoredSkillFilter) -> Result<SkillFilter, promptd_core::globs::GlobError> {
    Ok(SkillFilter {
        allow: stored.allow.map(|allow| NameGlobs::compile(allow.globs)).transpose()?,
        block: NameGlobs::compile(stored.block)?,
    })
}
