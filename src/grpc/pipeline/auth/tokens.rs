//! The tokens file: who may call, and what they may see.
//!
//! ```yaml
//! tokens:
//!   - name: harbour-frontend       # for the log; never the token itself
//!     sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
//!     workspaces: ["harbor", "harbor-*"]   # globs over ids, case-sensitive; absent: all, []: none
//!     skills: ["*"]                        # globs over skill names; absent: all, []: none
//!     publish: ["harbor"]                  # globs over ids that it may publish and pull; absent: none
//!     calls_per_second: 50                 # absent: no bound; bursts of one second's calls
//!     in_flight: 20                        # calls and streams open at once; absent: no bound
//!   - name: laptop
//!     token: keep-this-somewhere-safe      # instead of sha256, where the file itself is secret
//! ```

use std::{fmt, num::NonZeroUsize, sync::Arc};

use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};

use super::quota::Quota;
use crate::grpc::limits::Permit;
use crate::grpc::pipeline::error::Exceeded;

use promptd_core::{
    finding::{Code, Finding},
    globs::{Case, NameGlobs, SkillFilter},
    id::Id,
    text::hex,
    yaml::{self, Fault, Fields, Value},
};

/// The accepted tokens.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tokens(Vec<Arc<Token>>);

/// A token's hash, and what the token admits.
#[derive(PartialEq)]
pub struct Token {
    /// The name that logs show.
    pub name: String,
    sha256: [u8; 32],
    workspaces: Option<NameGlobs>,
    skills: Option<SkillFilter>,
    publish: Option<NameGlobs>,
    quota: Quota,
}

/// The fewest characters of a token in plain text: a shorter one can be guessed.
const MIN_TOKEN_CHARS: usize = 16;

impl Tokens {
    /// Parses a tokens file; `path` names it in the findings. The error has every fault of the file, and shows no token.
    pub fn parse(text: &str, path: &str) -> Result<Self, Vec<Finding>> {
        let findings =
            |faults: Vec<Fault>| faults.into_iter().map(|fault| fault.into_finding(path)).collect::<Vec<_>>();
        let tokens = yaml::read(text, |root, faults| {
            let mut fields = Fields::root(root, faults);
            let entries = fields.each("tokens");
            let tokens: Vec<_> = entries.into_iter().filter_map(token).map(Arc::new).collect();
            let at = fields.at();
            fields.finish();
            for (index, token) in tokens.iter().enumerate() {
                if tokens[..index].iter().any(|other| other.sha256 == token.sha256 || other.name == token.name) {
                    faults.add(Code::DuplicateKey, at, format!("duplicate name or token of `{}`", token.name));
                }
            }
            tokens
        });
        tokens.map(Self).map_err(findings)
    }

    /// The token that `presented` is, if any. It is compared with every token, each in constant time, so that timing
    /// reveals nothing.
    pub(super) fn find(&self, presented: &[u8]) -> Option<&Arc<Token>> {
        let hash: [u8; 32] = Sha256::digest(presented).into();
        let (mut index, mut found) = (0_u64, Choice::from(0));
        for (at, token) in (0_u64..).zip(&self.0) {
            let equal = token.sha256.ct_eq(&hash);
            index.conditional_assign(&at, equal);
            found |= equal;
        }
        bool::from(found).then(|| usize::try_from(index).ok().and_then(|index| self.0.get(index))).flatten()
    }

    /// These tokens; those that are as they were in `old` keep what they have used of their quotas.
    pub(super) fn following(mut self, old: Option<&Self>) -> Self {
        for token in &mut self.0 {
            if let Some(same) = old.and_then(|old| old.same(token)).filter(|same| *same == token) {
                *token = Arc::clone(same);
            }
        }
        self
    }

    /// The token with the same secret.
    pub(super) fn same(&self, token: &Token) -> Option<&Arc<Token>> {
        self.0.iter().find(|other| other.sha256 == token.sha256)
    }
}

impl Token {
    /// Whether it admits the workspace.
    pub(super) fn admits(&self, workspace: &Id) -> bool {
        self.workspaces.as_ref().is_none_or(|globs| globs.matches(workspace.as_str()))
    }

    /// Whether it may publish the workspace, as far as `publish` says.
    #[cfg(feature = "etcd")]
    pub(super) fn publishes(&self, workspace: &Id) -> bool {
        self.publish.as_ref().is_some_and(|globs| globs.matches(workspace.as_str()))
    }

    /// Counts a call against its quotas.
    pub(super) fn call(&self) -> Result<Option<Permit>, Exceeded> {
        self.quota.call()
    }

    /// Whether it admits what the other does.
    pub(super) fn admits_the_same(&self, other: &Self) -> bool {
        (&self.name, &self.workspaces, &self.skills) == (&other.name, &other.workspaces, &other.skills)
    }

    /// The workspaces that it admits; `None`: all.
    pub(super) fn workspaces(&self) -> Option<&NameGlobs> {
        self.workspaces.as_ref()
    }

    /// The skills that it admits; `None`: all.
    pub(super) fn skills(&self) -> Option<&SkillFilter> {
        self.skills.as_ref()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("name", &self.name).finish_non_exhaustive()
    }
}

fn token(mut fields: Fields<'_, '_>) -> Option<Token> {
    let (at, faults) = (fields.at(), fields.faults());
    let name = fields.text("name");
    let secret = secret(&mut fields);
    // Case-sensitive, unlike skill names: a token must not admit more than its globs show.
    let workspaces = globs(&mut fields, "workspaces", Case::Exact);
    let publish = globs(&mut fields, "publish", Case::Exact);
    let skills = globs(&mut fields, "skills", Case::Ignored);
    // Who publishes a workspace has all of its files.
    if publish.is_some() && skills.as_ref().is_some_and(|globs| !globs.as_slice().iter().any(|glob| glob == "*")) {
        let message = "a token that may publish sees every skill: leave `skills` out, or `publish`";
        faults.add(Code::InvalidValue, fields.mark("publish"), message);
    }
    let skills = skills.map(|allow| SkillFilter { allow: Some(allow), block: NameGlobs::default() });
    let quota = Quota::new(at_least_one(&mut fields, "calls_per_second"), at_least_one(&mut fields, "in_flight"));
    fields.finish();
    if name.is_none() {
        faults.add(Code::InvalidValue, at, "a token needs a `name`, for the log");
    }
    Some(Token { name: name?.to_owned(), sha256: secret?, workspaces, skills, publish, quota })
}

/// What a token admits. A key without a value would admit all, though it looks like none.
fn globs(fields: &mut Fields<'_, '_>, key: &'static str, case: Case) -> Option<NameGlobs> {
    if fields.has(key) && fields.node(key).is_none() {
        let message = format!(
            "`{}` has no value: write a list of globs, `[\"*\"]` for all, or leave the key out",
            fields.name(key)
        );
        fields.faults().add(Code::InvalidValue, fields.mark(key), message);
    }
    NameGlobs::read(fields, key, case)
}

fn at_least_one(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<NonZeroUsize> {
    let count = fields.count(key)?;
    let checked = NonZeroUsize::new(count);
    if checked.is_none() {
        let message = format!("`{}` must be at least 1", fields.name(key));
        fields.faults().add(Code::InvalidValue, fields.mark(key), message);
    }
    checked
}

/// The hash: given as `sha256`, or computed from `token`.
fn secret(fields: &mut Fields<'_, '_>) -> Option<[u8; 32]> {
    let (at, faults) = (fields.at(), fields.faults());
    // Not `Fields::text`: its faults could show the value.
    let mut scalar = |key| match fields.node(key).map(|node| (&node.value, node.at)) {
        Some((Value::Scalar(scalar), at)) => Some((scalar.text.as_str(), at)),
        Some((_, at)) => {
            faults.add(Code::WrongType, at, format!("`{key}` must be text"));
            None
        }
        None => None,
    };
    match (scalar("token"), scalar("sha256")) {
        (Some((token, at)), None) => {
            if token.chars().count() < MIN_TOKEN_CHARS {
                let message = format!("a token shorter than {MIN_TOKEN_CHARS} characters can be guessed");
                faults.add(Code::InvalidValue, at, message);
            }
            Some(Sha256::digest(token.as_bytes()).into())
        }
        (None, Some((digits, at))) => {
            let hash = hex::bytes(&digits.to_ascii_lowercase());
            if hash.is_none() {
                faults.add(Code::InvalidValue, at, "`sha256` must be 64 hex digits: the SHA-256 of the token");
            }
            hash
        }
        _ => {
            faults.add(Code::InvalidValue, at, "a token needs either `token` or `sha256`");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "tokens:
  - name: a
    token: aaaaaaaaaaaaaaaa
    workspaces: [\"harbor*\"]
    skills: [\"git\"]
  - name: b
    # of `bbbbbbbbbbbbbbbb`
    sha256: \"HASH\"
";

    fn file() -> String {
        let hash: [u8; 32] = Sha256::digest(b"bbbbbbbbbbbbbbbb").into();
        FILE.replace("HASH", &promptd_core::digest::Digest(hash).to_hex())
    }

    #[test]
    fn tokens_are_found_by_text_and_by_hash() {
        let tokens = Tokens::parse(&file(), "tokens.yaml").unwrap();
        let id = |text| Id::parse(text).unwrap();
        let a = tokens.find(b"aaaaaaaaaaaaaaaa").unwrap();
        assert_eq!(a.name, "a");
        assert!(a.admits(&id("harbor-2")) && !a.admits(&id("Harbor")) && !a.admits(&id("other")));
        assert!(a.skills().unwrap().admits("git", "git") && !a.skills().unwrap().admits("db", "db"));
        let b = tokens.find(b"bbbbbbbbbbbbbbbb").unwrap();
        assert!(b.name == "b" && b.admits(&id("other")) && b.skills().is_none());
        assert!(tokens.find(b"").is_none() && tokens.find(b"aaaaaaaaaaaaaaab").is_none());
    }

    #[test]
    fn all_faults_are_reported_and_none_shows_a_token() {
        let text = "tokens:\n  - name: a\n    token: 1234567\n  - token: [x, secret-secret-1]\n  - name: c\n    sha256: secret\n\
                    \x20   token: both-both-both-both\n  - name: d\n    sha256: secret-hash\n    workspaces: [\"[\"]\n    skils: []\n";
        let found = Tokens::parse(text, "tokens.yaml").unwrap_err();
        let lines: Vec<_> = found.iter().map(|f| format!("{} {}", f.place, f.message)).collect();
        assert_eq!(found.len(), 8, "{lines:#?}");
        for secret in ["1234567", "secret", "both-both"] {
            assert!(!lines.iter().any(|line| line.contains(secret)), "{lines:#?}");
        }
    }

    /// The faults of a file of these tokens.
    fn faults(tokens: &[&str]) -> Vec<String> {
        let file = tokens.iter().fold("tokens:\n".to_owned(), |file, token| format!("{file}  - {{{token}}}\n"));
        let findings = Tokens::parse(&file, "t").err().unwrap_or_default();
        findings.iter().map(|finding| finding.message.clone()).collect()
    }

    #[test]
    fn names_and_secrets_are_unique() {
        let a = "name: a, token: aaaaaaaaaaaaaaaa";
        assert_eq!(faults(&[a, "name: b, token: bbbbbbbbbbbbbbbb"]), [""; 0]);
        for twice in ["name: b, token: aaaaaaaaaaaaaaaa", "name: a, token: bbbbbbbbbbbbbbbb", a] {
            assert_eq!(faults(&[a, twice]).len(), 1, "{twice}");
        }
    }

    #[test]
    fn an_absent_list_admits_all_an_empty_one_nothing_and_none_is_a_fault() {
        let token = |rest: &str| {
            let file = format!("tokens: [{{name: a, token: aaaaaaaaaaaaaaaa{rest}}}]");
            let tokens = Tokens::parse(&file, "t").map_err(|findings| findings[0].message.clone())?;
            let (token, id) = (tokens.find(b"aaaaaaaaaaaaaaaa").unwrap(), Id::parse("harbor").unwrap());
            let skill = token.skills().is_none_or(|skills| skills.admits("git", "git"));
            Ok::<_, String>((token.admits(&id), skill))
        };
        for (rest, admits) in [
            ("", (true, true)),
            (", workspaces: []", (false, true)),
            (", skills: []", (true, false)),
            (", workspaces: ['*'], skills: ['*']", (true, true)),
            (", workspaces: [harbor], skills: [git]", (true, true)),
            (", workspaces: [Harbor], skills: [GIT]", (false, true)),
            (", workspaces: [yard], skills: [db]", (false, false)),
        ] {
            assert_eq!(token(rest), Ok(admits), "{rest}");
        }
        for (rest, fault) in [
            (", workspaces:", "`tokens[0].workspaces` has no value"),
            (", workspaces: null", "`tokens[0].workspaces` has no value"),
            (", skills: ~", "`tokens[0].skills` has no value"),
            (", calls_per_second: 0", "`tokens[0].calls_per_second` must be at least 1"),
            (", in_flight: 0", "`tokens[0].in_flight` must be at least 1"),
        ] {
            let found = token(rest).unwrap_err();
            assert!(found.starts_with(fault), "{rest}: {found}");
        }
    }

    #[cfg(feature = "etcd")]
    #[test]
    fn a_token_publishes_what_it_lists_and_nothing_else() {
        let publishes = |rest: &str| {
            let file = format!("tokens: [{{name: a, token: aaaaaaaaaaaaaaaa{rest}}}]");
            let tokens = Tokens::parse(&file, "t").map_err(|findings| findings[0].message.clone())?;
            let ids = ["harbor", "Harbor", "yard"].map(|id| Id::parse(id).unwrap());
            Ok::<_, String>(ids.map(|id| tokens.0[0].publishes(&id)))
        };
        for (rest, expected) in [
            ("", [false; 3]),
            (", publish: []", [false; 3]),
            (", publish: [harbor]", [true, false, false]),
            (", publish: ['*'], skills: ['*']", [true; 3]),
        ] {
            assert_eq!(publishes(rest), Ok(expected), "{rest}");
        }
        for (rest, fault) in [
            (", publish:", "`tokens[0].publish` has no value"),
            (", publish: [harbor], skills: [git]", "a token that may publish sees every skill"),
        ] {
            let found = publishes(rest).unwrap_err();
            assert!(found.starts_with(fault), "{rest}: {found}");
        }
    }

    #[test]
    fn a_token_that_stays_keeps_what_it_has_used() {
        let file = |in_flight| {
            let text = format!("tokens: [{{name: a, token: aaaaaaaaaaaaaaaa, in_flight: {in_flight}}}]");
            Tokens::parse(&text, "t").unwrap()
        };
        let old = file(1);
        let _open = old.0[0].call().unwrap();
        assert!(file(1).following(Some(&old)).0[0].call().is_err());
        assert!(file(2).following(Some(&old)).0[0].call().is_ok());
        assert!(file(1).following(None).0[0].call().is_ok());
    }
}
