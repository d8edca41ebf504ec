//! What holds of loading for any tree.

use proptest::{collection::vec, prelude::*};

use super::{
    Entry, FileBytes, MemoryTree, ReadError, Tree,
    testing::{load_with, reload},
};
use crate::settings::{RiskPolicy, Settings};

/// Lists in another order than the names'.
struct Shuffled<'t>(&'t MemoryTree);

impl Tree for Shuffled<'_> {
    fn read(&self, path: &str, limit: usize) -> Result<FileBytes, ReadError> {
        self.0.read(path, limit)
    }

    fn list(&self, path: &str) -> Result<Vec<Entry>, ReadError> {
        let mut entries = self.0.list(path)?;
        entries.reverse();
        let middle = entries.len() / 2;
        entries.rotate_left(middle);
        Ok(entries)
    }
}

fn path() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        Just("AGENTS.md".to_owned()),
        Just("agents.md".to_owned()),
        Just("HEARTBEAT.md".to_owned()),
        Just("workspace.yaml".to_owned()),
        Just("SKILL.md".to_owned()),
        Just("node_modules".to_owned()),
        "[a-c.\u{202e}\n]{1,3}",
    ];
    (prop_oneof![Just(""), Just("skills/"), Just("skills/a/"), Just("x/")], vec(name, 1..5))
        .prop_map(|(top, names)| top.to_owned() + &names.join("/"))
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    let front = "---\n(name|description|enabled|metadata): ([a-z:\\[{&*'\"|> \u{200b}]{0,12})\ndescription: [a-c: ]{0,9}\n---\n.{0,20}";
    let yaml = "(agent|skills|context|locked|profile|inputs):[ \n]{1,2} {0,2}(enabled|name|files|allowlist)?:? ?[a-z\\[\\]{}*:,']{0,9}\n";
    prop_oneof![
        vec(any::<u8>(), 0..40),
        front.prop_map(String::into_bytes),
        yaml.prop_map(String::into_bytes),
        "(\u{feff}|## Runtime Facts|</skill>|\u{e0041}|\u{200d}|\r\n|\n| |a){0,12}".prop_map(String::into_bytes),
    ]
}

fn tree() -> impl Strategy<Value = MemoryTree> {
    let error = prop_oneof![
        Just(ReadError::Missing),
        Just(ReadError::WrongKind("a FIFO")),
        Just(ReadError::LinkOutside),
        Just(ReadError::LinkDangling),
        Just(ReadError::LinkLoop),
        Just(ReadError::Denied),
        Just(ReadError::Failed(std::io::ErrorKind::TimedOut)),
    ];
    (vec((path(), content()), 0..10), vec((path(), error), 0..3)).prop_map(|(files, errors)| {
        let tree = files.into_iter().collect::<MemoryTree>();
        errors.into_iter().fold(tree, |tree, (path, error)| tree.failing(&path, error))
    })
}

proptest! {
    #[test]
    fn nothing_panics_and_the_order_of_listings_never_matters(
        tree in tree(),
        shared in tree(),
        next in tree(),
        risks in prop_oneof![Just(RiskPolicy::Report), Just(RiskPolicy::Strip), Just(RiskPolicy::Refuse)],
    ) {
        let settings = Settings { risks, max_file_bytes: 30, ..Settings::default() };
        let in_order = load_with(&tree, &[("/opt/s", &shared)], settings.clone(), None);
        let shuffled = load_with(&Shuffled(&tree), &[("/opt/s", &Shuffled(&shared))], settings, None);
        match (in_order, shuffled) {
            (Ok(one), Ok(other)) => {
                prop_assert_eq!(&one.revision, &other.revision);
                prop_assert_eq!(&one.documents, &other.documents);
                prop_assert_eq!(&one.skills, &other.skills);
                prop_assert_eq!((&one.findings, &one.active), (&other.findings, &other.active));
                prop_assert!(one.active.iter().all(|finding| one.findings.contains(finding)));
                prop_assert!(reload(&next, &one).is_ok(), "a last good version always serves");
            }
            (Err(one), Err(other)) => {
                prop_assert_eq!(&one, &other);
                prop_assert!(one.iter().all(crate::finding::Finding::is_error) && !one.is_empty());
            }
            (one, other) => prop_assert!(false, "{one:?} / {other:?}"),
        }
    }

    #[test]
    fn no_text_panics(text in "(\\PC|[\\s#*_`~<>!:'\"&|{}\\[\\]-]|- \\[ \\]|<!--|-->|```|---\n|name: |description: ){0,40}") {
        let skill = format!("---\nname: x\ndescription: {text}\n---\n{text}");
        let tree = MemoryTree::new()
            .file("HEARTBEAT.md", text.clone())
            .file("workspace.yaml", format!("agent:\n  persona: {text}\n"))
            .file("skills/a/SKILL.md", skill)
            .file("skills/b/SKILL.md", text);
        let without_manifest = load_with(&tree.clone().without("workspace.yaml"), &[], Settings::default(), None).unwrap();
        if let Some(heartbeat) = without_manifest.documents.get("HEARTBEAT.md") {
            prop_assert!(!heartbeat.has_tasks() || !heartbeat.text.is_empty());
        }
        prop_assert!(reload(&tree, &without_manifest).is_ok());
    }
}
