//! Allowlists and blocklists over skill names.

use std::fmt::{self, Write as _};

use globset::GlobBuilder;
use regex::{RegexSet, RegexSetBuilder};

/// Globs over skill names: without regard to case, over the whole name, `*` matching `/` too.
///
/// `globset` says whether a glob is well formed, but matches bytes: `?` would be a third of a Chinese character, and É
/// would not be é. So the matching is done by a regular expression over characters.
#[derive(Debug, Clone)]
pub struct NameGlobs {
    globs: Vec<String>,
    set: RegexSet,
}

/// The most globs that one list may have, and the most bytes that one glob may have: matching stays cheap.
pub const MAX_GLOBS: usize = 1_000;
/// See [`MAX_GLOBS`].
pub const MAX_GLOB_BYTES: usize = 1_000;

impl NameGlobs {
    /// Compiles the globs. A bad one is an error, never a no-match.
    pub fn compile<S: AsRef<str>>(globs: impl IntoIterator<Item = S>) -> Result<Self, GlobError> {
        let mut list = Vec::new();
        let mut patterns = Vec::new();
        for (index, glob) in globs.into_iter().enumerate() {
            let glob = glob.as_ref();
            let error = |message| GlobError { one: Some((index, glob.chars().take(64).collect())), message };
            if index >= MAX_GLOBS {
                return Err(error(format!("more than {MAX_GLOBS} globs")));
            }
            if glob.is_empty() {
                return Err(error("a glob cannot be empty: an empty list means nothing, `*` means all".into()));
            }
            if glob.len() > MAX_GLOB_BYTES {
                return Err(error(format!("longer than {MAX_GLOB_BYTES} bytes")));
            }
            GlobBuilder::new(glob).build().map_err(|e| error(e.kind().to_string()))?;
            patterns.push(pattern(glob));
            list.push(glob.to_owned());
        }
        let set =
            RegexSetBuilder::new(patterns).case_insensitive(true).dot_matches_new_line(true).build().map_err(|_| {
                GlobError { one: None, message: "too much to match: use fewer or shorter globs".into() }
            })?;
        Ok(Self { globs: list, set })
    }

    /// Whether any of the globs matches the whole name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.set.is_match(name)
    }

    /// The globs as written.
    #[must_use]
    pub fn as_slice(&self) -> &[String] {
        &self.globs
    }
}

/// The regular expression of a well-formed glob: `*` and `**` (any text), `?`, `[…]`, `{a,b}` and `\`.
fn pattern(glob: &str) -> String {
    let mut pattern = String::from("^(?:");
    let mut rest = if glob.replace("**/", "").is_empty() { "*" } else { glob };
    let (mut before, mut depth) = ('/', 0_usize);
    while let Some(c) = rest.chars().next() {
        // `**/` where a path begins also matches no folder at all.
        if let (Some(after), '/') = (rest.strip_prefix("**/"), before) {
            pattern.push_str("(?:.*/)?");
            rest = after;
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match c {
            '*' => pattern.push_str(".*"),
            '?' => pattern.push('.'),
            '[' => rest = class(rest, &mut pattern),
            '{' => {
                depth += 1;
                pattern.push_str("(?:");
            }
            '}' => {
                depth = depth.saturating_sub(1);
                pattern.push(')');
            }
            ',' if depth > 0 => pattern.push('|'),
            '\\' => {
                let escaped = rest.chars().next().unwrap_or(c);
                rest = rest.strip_prefix(escaped).unwrap_or_default();
                literal(escaped, &mut pattern);
            }
            c => literal(c, &mut pattern),
        }
        before = if matches!(c, '{' | ',') && depth > 0 { '/' } else { c };
    }
    pattern.push_str(")$");
    pattern
}

fn literal(c: char, pattern: &mut String) {
    pattern.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
}

/// A class, whose `[` is read already; gives what stands behind it. A `]` that comes first stands for itself.
fn class<'g>(glob: &'g str, pattern: &mut String) -> &'g str {
    pattern.push('[');
    let inner = glob.strip_prefix(['!', '^']);
    if inner.is_some() {
        pattern.push('^');
    }
    let inner = inner.unwrap_or(glob);
    let end = inner.char_indices().skip(1).find(|(_, c)| *c == ']').map_or(inner.len(), |(at, _)| at);
    let members: Vec<char> = inner[..end].chars().collect();
    for (index, c) in members.iter().enumerate() {
        // A dash between two is a range; at an end it stands for itself.
        if *c == '-' && index > 0 && index + 1 < members.len() {
            pattern.push('-');
        } else {
            let _ = write!(pattern, "\\x{{{:x}}}", u32::from(*c));
        }
    }
    pattern.push(']');
    inner.get(end + 1..).unwrap_or_default()
}

impl Default for NameGlobs {
    fn default() -> Self {
        Self { globs: Vec::new(), set: RegexSet::empty() }
    }
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
            Some((_, glob)) => write!(f, "glob `{glob}`: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for GlobError {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filter(allow: Option<&[&str]>, block: &[&str]) -> SkillFilter {
        SkillFilter {
            allow: allow.map(|globs| NameGlobs::compile(globs).unwrap()),
            block: NameGlobs::compile(block).unwrap(),
        }
    }

    #[test]
    fn too_much_to_match_blames_no_single_glob() {
        let many: Vec<String> = (0..MAX_GLOBS).map(|n| format!("{}{n}", "{a*,?b}".repeat(100))).collect();
        let error = NameGlobs::compile(&many).unwrap_err();
        assert_eq!((error.one.as_ref(), error.to_string()), (None, error.message.clone()));
        assert!(error.message.contains("fewer or shorter"), "{error}");
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
