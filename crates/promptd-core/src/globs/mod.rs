//! Allowlists and blocklists over skill names.

mod automaton;

use std::fmt;

use globset::GlobBuilder;

use self::automaton::Automaton;
pub use self::automaton::Case;
use crate::{
    finding::Code,
    yaml::{Fields, Mark},
};

/// Globs over names: over the whole name, character by character, `*` matching `/` too.
///
/// `globset` says whether a glob is well formed, and a test holds what it means to globset's meaning; but that matches bytes:
/// `?` would be a third of a Chinese character, and É would not be é.
#[derive(Debug, Clone, Default)]
pub struct NameGlobs {
    globs: Vec<String>,
    /// Absent where nothing matches: most workspaces have no lists.
    automaton: Option<Box<Automaton>>,
}

/// The most globs that one list may have.
pub const MAX_GLOBS: usize = 1_000;
/// The most bytes that one glob may have.
pub const MAX_GLOB_BYTES: usize = 1_000;
/// The most bytes that the globs of one list may have together. Matching takes time in proportion to it.
pub const MAX_LIST_BYTES: usize = 64 << 10;
/// The most alternatives, as in `{a,b}`, that the globs of one list may have together: each costs as much as 64 characters.
pub const MAX_ALTERNATIVES: usize = 500;

impl NameGlobs {
    /// Compiles globs that match without regard to case, as skill names do. A bad one is an error, never a no-match.
    pub fn compile<S: AsRef<str>>(globs: impl IntoIterator<Item = S>) -> Result<Self, GlobError> {
        Self::with_case(globs, Case::Ignored)
    }

    /// Compiles globs that match with or without regard to case.
    pub fn with_case<S: AsRef<str>>(globs: impl IntoIterator<Item = S>, case: Case) -> Result<Self, GlobError> {
        let mut list: Vec<String> = Vec::new();
        let mut bytes = 0;
        for (index, glob) in globs.into_iter().enumerate() {
            let glob = glob.as_ref();
            check(glob, index)?;
            bytes += glob.len();
            if bytes > MAX_LIST_BYTES {
                let message =
                    format!("the globs have more than {MAX_LIST_BYTES} bytes together: use fewer or shorter ones");
                return Err(GlobError { one: None, message });
            }
            list.push(glob.to_owned());
        }
        let automaton = Automaton::compile(list.iter().map(String::as_str), case);
        if automaton.alternatives() > MAX_ALTERNATIVES {
            let message =
                format!("the globs have more than {MAX_ALTERNATIVES} alternatives together: use fewer or simpler ones");
            return Err(GlobError { one: None, message });
        }
        let automaton = (!list.is_empty()).then(|| Box::new(automaton));
        Ok(Self { globs: list, automaton })
    }

    /// The globs of the list under `key`, if it is there; each bad one is a fault at its own place, and left out.
    pub fn read(fields: &mut Fields<'_, '_>, key: &'static str, case: Case) -> Option<Self> {
        let texts = fields.texts(key)?;
        let fault = |at: Mark, error: &GlobError| fields.faults().add(Code::GlobInvalid, at, error.to_string());
        let good = texts.into_iter().filter(|(glob, at)| check(glob, 0).map_err(|error| fault(*at, &error)).is_ok());
        let globs = Self::with_case(good.map(|(glob, _)| glob), case);
        globs.map_err(|error| fault(fields.mark(key), &error)).ok()
    }

    /// Whether any of the globs matches the whole name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.automaton.as_ref().is_some_and(|automaton| automaton.matches(name))
    }

    /// The globs as written.
    #[must_use]
    pub fn as_slice(&self) -> &[String] {
        &self.globs
    }
}

fn check(glob: &str, index: usize) -> Result<(), GlobError> {
    let error = |message| Err(GlobError { one: Some((index, glob.chars().take(64).collect())), message });
    if index >= MAX_GLOBS {
        return error(format!("more than {MAX_GLOBS} globs"));
    }
    if glob.is_empty() {
        return error("a glob cannot be empty: an empty list means nothing, `*` means all".into());
    }
    if glob.len() > MAX_GLOB_BYTES {
        return error(format!("longer than {MAX_GLOB_BYTES} bytes"));
    }
    GlobBuilder::new(glob).build().map_or_else(|e| error(e.kind().to_string()), |_| Ok(()))
}

impl PartialEq for NameGlobs {
    fn eq(&self, other: &Self) -> bool {
        self.globs == other.globs
    }
}

/// What shows of the skills: the allowlist's, less the blocklist's.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SkillFilter {
    /// Absent: all; empty: none.
    pub allow: Option<NameGlobs>,
    /// Wins over the allowlist; also matches the folder's name.
    pub block: NameGlobs,
}

impl SkillFilter {
    /// Whether a skill passes.
    #[must_use]
    pub fn admits(&self, name: &str, folder_name: &str) -> bool {
        !self.blocks(name, folder_name) && self.allow.as_ref().is_none_or(|allow| allow.matches(name))
    }

    /// Whether the blocklist matches.
    #[must_use]
    pub fn blocks(&self, name: &str, folder_name: &str) -> bool {
        self.block.matches(name) || self.block.matches(folder_name)
    }
}

/// A glob, or a list of them, that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobError {
    /// Its index in its list, and its first 64 characters; `None`: each is good, but all together are too much.
    pub one: Option<(usize, String)>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for GlobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.one {
            Some((_, glob)) => write!(f, "invalid glob `{glob}`: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for GlobError {}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;

    fn filter(allow: Option<&[&str]>, block: &[&str]) -> SkillFilter {
        SkillFilter {
            allow: allow.map(|globs| NameGlobs::compile(globs).unwrap()),
            block: NameGlobs::compile(block).unwrap(),
        }
    }

    #[test]
    fn a_list_is_bounded_as_a_whole() {
        let error = |glob: &str| NameGlobs::compile(vec![glob; MAX_GLOBS]).map(|globs| globs.as_slice().len());
        assert_eq!(error(&"a".repeat(65)), Ok(MAX_GLOBS));
        for (glob, message) in [("a".repeat(66), "bytes together"), ("{a,b}".into(), "alternatives together")] {
            let error = error(&glob).unwrap_err();
            assert_eq!(error.one, None);
            assert!(error.to_string().contains(message), "{error}");
        }
    }

    #[test]
    fn the_worst_list_takes_milliseconds() {
        let letters = |n: usize, step: usize| {
            (0..8).fold(String::new(), |text, i| text + ["*a", "*b", "*c"][(n * step + i * n) % 3])
        };
        let lists: [Vec<String>; 4] = [
            (0..MAX_GLOBS).map(|n| format!("{}z{n}", "*a".repeat(8))).collect(),
            (0..MAX_GLOBS).map(|n| format!("{}z{n}", letters(n, 7))).collect(),
            (0..MAX_GLOBS).map(|_| format!("*{}b*", "a".repeat(28))).collect(),
            vec!["*{a,a?}*a?a*?z".to_owned(); MAX_ALTERNATIVES / 2],
        ];
        let names: Vec<String> = (0..1_000).map(|n| letters(n, 1).replace('*', "aab") + &"a".repeat(28)).collect();
        for list in lists {
            let start = Instant::now();
            let globs = NameGlobs::compile(&list).unwrap();
            assert!(!names.iter().any(|name| globs.matches(name)));
            // Milliseconds where optimized, a second or two where not; backtracking takes minutes. A busy machine may take
            // ten times as long.
            assert!(start.elapsed() < Duration::from_secs(30), "{:?} {}", start.elapsed(), list[1]);
        }
    }

    #[test]
    fn case_matters_where_it_is_asked_for() {
        let exact = NameGlobs::with_case(["harbor-*", "[A-C]x", "É"], Case::Exact).unwrap();
        for (name, matched) in
            [("harbor-2", true), ("Harbor-2", false), ("Bx", true), ("bx", false), ("É", true), ("é", false)]
        {
            assert_eq!(exact.matches(name), matched, "{name}");
        }
    }

    #[test]
    fn absent_allows_all_and_empty_allows_none() {
        assert!(filter(None, &[]).admits("git", "git"));
        assert!(!filter(Some(&[]), &[]).admits("git", "git"));
    }

    #[test]
    fn blocklist_wins_and_sees_the_folder() {
        let f = filter(Some(&["*"]), &["lark-*"]);
        assert!(!f.admits("LARK-doc", "x"));
        assert!(!f.admits("renamed", "lark-mail"));
        assert!(f.admits("a/b", "b"));
    }

    #[test]
    fn globs_match_characters_in_every_script() {
        let matches = |glob: &str, name: &str| NameGlobs::compile([glob]).unwrap().matches(name);
        for (glob, name) in [
            ("É*", "école"),
            ("интерн-*", "ИНТЕРН-x"),
            ("?", "界"),
            ("[а-я]x", "Бx"),
            ("[!a-c]", "界"),
            ("[]a]", "]"),
            ("[a-]", "-"),
            ("[\\]", "\\"),
            ("[&--^]", "*"),
            ("[a-c-e]", "d"),
            ("[a-c-]", "-"),
            ("[&&b]", "&"),
            ("ſ", "S"),
            ("k", "\u{212a}"),
            ("{,a}b", "b"),
            ("{a,}{b,}", ""),
            ("{**/,y}x", "a/x"),
            ("{git,lark-*}", "Lark-doc"),
            ("{a{b,c},d}", "ac"),
            ("a,b", "A,B"),
            ("a.b", "a.b"),
            ("\\*", "*"),
            ("**/x", "x"),
            ("**/x", "a/b/x"),
            ("a/**/x", "a/x"),
            ("a**", "abc"),
            ("**", "a/b"),
            ("*", ""),
        ] {
            assert!(matches(glob, name), "{glob} {name}");
        }
        for (glob, name) in
            [("a.b", "axb"), ("?", "ab"), ("[!界]", "界"), ("\\*", "x"), ("a|b", "a"), ("git", "gitx"), ("[^a]", "A")]
        {
            assert!(!matches(glob, name), "{glob} {name}");
        }
    }

    proptest! {
        #[test]
        fn what_globset_takes_matches_as_globset_does(
            glob in "([ab*?,.|^$()+-]|\\*\\*/|/|\\[[!^]?[]ab^&~-]{1,4}\\]|\\{[ab,*]{1,4}\\}|\\\\[*?a-c]){1,6}",
            names in prop::collection::vec("[abAB/,.*?^|&~-]{0,5}", 8),
        ) {
            let Ok(ours) = NameGlobs::compile([&glob]) else { return Ok(()) };
            let theirs = GlobBuilder::new(&glob).case_insensitive(true).empty_alternates(true).build().unwrap();
            let theirs = theirs.compile_matcher();
            for name in names.iter().filter(|name| !name.is_empty()) {
                prop_assert_eq!(ours.matches(name), theirs.is_match(name), "{} {}", glob, name);
            }
        }

        #[test]
        fn no_glob_panics(glob in "\\PC{0,12}|([a-c*?{}\\[\\],!^\\\\-]){0,12}", name in "\\PC{0,8}") {
            if let Ok(globs) = NameGlobs::compile([glob]) {
                let _ = globs.matches(&name);
            }
        }
    }

    #[test]
    fn a_bad_glob_is_an_error() {
        assert_eq!(NameGlobs::compile(["ok", "a[b"]).unwrap_err().one, Some((1, "a[b".into())));
        assert!(NameGlobs::compile([""]).is_err());
    }
}
