//! From the contract's messages to checked types: raw input becomes a [`Turn`](promptd_core::turn::Turn) once, here.
//!
//! `grpc` and the command line's `--turn` share it, so that both say the same about the same mistake. Every mistake
//! is told at once, with the path of its field.

mod conversation;
mod limits;
mod turn;
mod values;
mod violations;

pub use limits::Limits;
pub use turn::turn;
pub use violations::{MAX_VIOLATIONS, Violation, Violations};

use crate::proto;
use promptd_core::globs::{NameGlobs, SkillFilter};

/// Checks a skill filter; `path` is its field, such as `turn.skill_filter`.
pub fn skill_filter(raw: Option<proto::SkillFilter>, path: &str, violations: &mut Violations) -> Option<SkillFilter> {
    let raw = raw?;
    let mut globs = |list: Option<proto::NameGlobs>, name: &str| {
        let list = list?;
        NameGlobs::compile(&list.globs)
            .map_err(|e| {
                let place = e.one.as_ref().map(|(index, _)| format!("[{index}]")).unwrap_or_default();
                violations.add(format!("{path}.{name}.globs{place}"), e.to_string());
            })
            .ok()
    };
    let (allow, block) = (globs(raw.allowlist, "allowlist"), globs(raw.blocklist, "blocklist"));
    Some(SkillFilter { allow, block: block.unwrap_or_default() })
}

/// The enum value of `number`; an unknown one is a violation, never a default.
pub fn choice<E: TryFrom<i32>>(number: i32, path: impl FnOnce() -> String, violations: &mut Violations) -> Option<E> {
    let known = E::try_from(number).ok();
    if known.is_none() {
        violations.add(path(), format!("{number} is no value that this server knows"));
    }
    known
}
