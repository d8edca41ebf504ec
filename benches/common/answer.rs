//! An answer made in-process: a workspace loaded, assembled for a turn, encoded.

#![allow(dead_code, reason = "each bench uses a part")]

use std::{path::Path, sync::Arc};

use promptd_contract::encode::{Answer, Shape};
use promptd_core::{
    id::Id,
    profile::{Profile, ProfileSet},
    prompt::{Prepared, Prompt},
    turn::{Channel, Snippet, Turn, User},
    workspace::Snapshot,
};
use promptd_source::Options;

/// What a front end sends: who, where, one snippet, an instruction.
pub fn turn() -> Turn {
    let channel = Channel {
        name: "telegram".into(),
        user_id: "7000001".into(),
        chat_type: "direct".into(),
        ..Channel::default()
    };
    let snippet = Snippet {
        content: "Berth 4 is closed until the crane has been inspected; pilots are told by radio.".into(),
        source: "log-4".into(),
        title: "Berth plan".into(),
    };
    Turn {
        user: Some(User { id: "user-1".into(), name: "Dana O'Neil".into() }),
        channel: Some(channel),
        knowledge: vec![snippet],
        ephemeral_system_prompt: Some("Answer in one sentence.".into()),
        ..Turn::at("2026-04-02T09:15:00Z".parse().unwrap())
    }
}

pub fn load(folder: &Path, profiles: &Arc<ProfileSet>) -> Prepared {
    promptd_source::load_once(&Id::parse("w").unwrap(), folder, &Options::default(), profiles).unwrap()
}

pub fn encode(prompt: &Prompt<'_>, snapshot: &Snapshot, profile: &Profile) -> Vec<u8> {
    let (revision, profile) = (snapshot.revision.as_str(), profile.name.as_str());
    Answer {
        prompt,
        revision,
        profile,
        rendered: "",
        session_position: None,
        recalled: &[],
        side: None,
        shape: &Shape::default(),
    }
    .encode()
    .to_vec()
}
