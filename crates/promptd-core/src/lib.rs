//! Assembles what an agent's model is told, turn by turn, from layers.
//!
//! A prompt is a pure function of three values: a [`workspace::Snapshot`] of the operator's files, a
//! [`profile::Profile`] (the recipe), and a [`turn::Turn`] (what the caller knows of this turn). Nothing here reads a
//! file, a clock, or the environment, or speaks a protocol: the `clippy.toml` of this crate forbids it.
//!
//! ```
//! use std::sync::Arc;
//! use promptd_core::{
//!     id::Id,
//!     profile::ProfileSet,
//!     prompt::{Prepared, assemble},
//!     settings::Settings,
//!     turn::Turn,
//!     workspace::{Load, MemoryTree, load},
//! };
//!
//! let files = [("AGENTS.md", "Answer in one sentence."), ("SOUL.md", "Calm and exact.")];
//! let snapshot = load(&Load {
//!     id: &Id::parse("harbor").unwrap(),
//!     root: "/srv/agents/harbor",
//!     tree: &MemoryTree::from_iter(files),
//!     shared_skills: &[],
//!     profiles: Arc::new(ProfileSet::built_in()),
//!     settings: Arc::new(Settings::default()),
//!     previous: None,
//! });
//! let workspace = Prepared::from(snapshot.unwrap());
//!
//! let turn = Turn { persona: Some("A harbour office.".into()), ..Turn::at("2026-02-28T17:30:00Z".parse().unwrap()) };
//! let profile = workspace.profiles.get("five-layer").unwrap();
//! let prompt = assemble(&workspace, profile, &turn).unwrap();
//!
//! let names: Vec<&str> = prompt.messages.iter().map(|message| message.name).collect();
//! assert_eq!(names, ["skeleton", "runtime_facts", "workspace_context"]);
//! let persona = prompt.sections.iter().find(|section| section.id == "persona").unwrap();
//! assert_eq!(prompt.section_text(persona), Some("## Persona\n\nA harbour office."));
//! ```
//!
//! `examples/in_process.rs` does the same with the example workspace, conversation, token counts and a provider's
//! format.
//!
//! # Shapes
//!
//! - [`workspace::load`] turns a [`workspace::Tree`] (files by relative path; [`workspace::MemoryTree`] is one in memory)
//!   into a snapshot and findings. A snapshot is immutable; its [`revision`](workspace::Snapshot::revision) is the hash of
//!   all that assembly reads besides the turn.
//! - [`prompt::Prepared`] is a snapshot whose shared parts are rendered once. Keep one for each revision and assemble any
//!   number of turns from it, from any number of threads: it takes no lock after first use.
//! - [`prompt::assemble`](fn@prompt::assemble) gives a [`prompt::Prompt`]: messages in context-window order, a report for
//!   each section, findings, digests. It borrows from snapshot and turn.
//! - [`diff::diff`] compares two prompts of the same turn.
//! - [`render::render`] writes a prompt in the form of a provider's request; [`reply::parse`] reads the model's reply.
//! - [`history::plan`] says where a long history is cut into segments for summaries, and which summaries are joined.
//!
//! # Units
//!
//! Sizes are UTF-8 bytes and Unicode scalar values ("characters"); limits of files, skills and values count characters.
//! Token counts are exact for the encoding given to [`prompt::count_tokens`], and absent until it is called. Times are
//! [`time::Moment`]s of the years 1 to 9999; prompts show them as RFC 3339 in whole seconds.
//!
//! # Errors
//!
//! Loading never fails as a whole but for an invalid `workspace.yaml` that was never valid: everything else is a
//! [`finding::Finding`] with a code, a severity and a place, and the last good version of the part stays in use. What a
//! caller must change is a [`prompt::TurnError`] with the field's path. A loss that a limit or a fault causes is not an
//! error: the section's [`prompt::Outcome`] says so, and a finding with it.
//!
//! # Modules, from the bottom up
//!
//! `text`, `tokens`, `finding`, `id`, `digest`, `yaml`, `globs`, `time`, `zone`, `settings`, `kai_ui`; `turn`; `canary`; `profile`; `workspace`;
//! `prompt`; `render`; `diff`; beside them `reply` and `history`. No module uses one that comes after it.

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]
#![warn(unreachable_pub)]

pub mod budget;
pub mod canary;
pub mod diff;
pub mod digest;
pub mod finding;
pub mod globs;
pub mod history;
pub mod id;
pub mod kai_ui;
pub mod profile;
pub mod prompt;
pub mod render;
pub mod reply;
pub mod settings;
mod team;
pub mod text;
pub mod time;
pub mod tokens;
pub mod turn;
pub mod workspace;
pub mod yaml;
pub mod zone;
