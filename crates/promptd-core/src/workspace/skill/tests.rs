//! Skills as a whole workspace shows them.

use std::{fmt::Write as _, sync::Arc};

use super::load::load_within;
use crate::{
    finding::Code,
    id::Id,
    settings::{RiskPolicy, Settings},
    workspace::{
        Load, Manifest, MemoryTree, ReadError, Skill, Snapshot, Tree, Visibility,
        collector::Collector,
        testing::{codes, load_tree, load_with, reload},
    },
};

fn skill_md(name: &str) -> String {
    format!("---\nname: {name}\ndescription: does {name}\n---\n# {name}\n")
}

fn workspace(folders: &[&str]) -> MemoryTree {
    folders.iter().map(|f| (format!("skills/{f}/SKILL.md"), skill_md(f.rsplit('/').next().unwrap()))).collect()
}

fn names(snapshot: &Snapshot) -> Vec<&str> {
    snapshot.skills.iter().filter(|skill| skill.is_shown()).map(|skill| &*skill.name).collect()
}

/// The one skill of a workspace with this SKILL.md in the folder `demo`.
fn only(skill_md: impl Into<Vec<u8>>) -> Skill {
    let snapshot = load_tree(&MemoryTree::new().file("skills/demo/SKILL.md", skill_md)).unwrap();
    let [skill] = snapshot.skills.as_slice() else { panic!("{:?}", snapshot.findings) };
    skill.clone()
}

/// The findings of a SKILL.md that is left out.
fn left_out(skill_md: impl Into<Vec<u8>>) -> Vec<String> {
    let snapshot = load_tree(&MemoryTree::new().file("skills/demo/SKILL.md", skill_md)).unwrap();
    assert!(snapshot.skills.is_empty());
    snapshot.active.iter().map(|f| format!("{} {}", f.place, f.message)).collect()
}

#[test]
fn a_skill_is_a_folder_and_its_inner_files_are_its_own() {
    let tree = workspace(&["design", "design/references/x", ".git/a", "node_modules/p", "group/real", "a/b/c/d"])
        .file("skills/SKILL.md", skill_md("bare"))
        .file("skills/a/b/c/e/f/SKILL.md", skill_md("deep"))
        .file("skills/low/skill.md", skill_md("low"));
    let snapshot = load_tree(&tree).unwrap();
    assert_eq!(names(&snapshot), ["d", "design", "real"]);
    let found: Vec<_> = snapshot.active.iter().map(|f| format!("{} {}", f.code.as_str(), f.place)).collect();
    assert_eq!(
        found,
        [
            "SKILL_NONCONFORMING skills/SKILL.md",
            "SKILL_SEARCH_LIMITED skills/a/b/c/e/f",
            "FILE_NAME_CASE skills/low/skill.md"
        ]
    );
    let design = snapshot.skills.iter().find(|skill| &*skill.name == "design").unwrap();
    assert_eq!(&*design.files[0].path, "references/x/SKILL.md");
}

#[test]
fn one_bad_skill_costs_no_other() {
    let tree = workspace(&["a", "d", "e"])
        .file("skills/b/SKILL.md", "---\nname: b\ndescription: [unclosed\n---\n")
        .file("skills/c/SKILL.md", b"\xff\xfe\x00\x41".to_vec())
        .failing("skills/d/SKILL.md", ReadError::Denied)
        .failing("skills/x", ReadError::LinkDangling)
        .failing("skills/y", ReadError::LinkOutside)
        .failing("skills/fifo", ReadError::WrongKind("a FIFO"));
    let snapshot = load_tree(&tree).unwrap();
    assert_eq!(names(&snapshot), ["a", "e"]);
    let mut found: Vec<_> = snapshot.active.iter().map(|f| (f.place.to_string(), f.code.as_str())).collect();
    found.sort();
    let found: Vec<_> = found.iter().map(|(place, code)| format!("{place} {code}")).collect();
    assert_eq!(
        found,
        [
            "skills/b/SKILL.md:3:14 SKILL_INVALID",
            "skills/c/SKILL.md UTF16_DECODED",
            "skills/c/SKILL.md:1 SKILL_INVALID",
            "skills/d/SKILL.md FILE_UNREADABLE",
            "skills/x LINK_BROKEN",
            "skills/y LINK_OUTSIDE",
        ]
    );
}

#[test]
fn front_matter_is_read_whatever_its_line_ends() {
    for text in [
        "---\nname: demo\ndescription: ok\n---\nbody\n",
        "\u{feff}---\nname: demo\ndescription: ok\n---\nbody\n",
        "---\r\nname: demo\r\ndescription: ok\r\n---\r\nbody\r\n",
        "---\rname: demo\rdescription: ok\r---\rbody\r",
        "---  \nname: demo\ndescription: ok\n--- \t\nbody",
        "\n\n---\nname: demo\ndescription: ok\n---\n\n\nbody\n\n",
    ] {
        let skill = only(text);
        assert_eq!((&*skill.name, &*skill.description, skill.file.body()), ("demo", "ok", "body"), "{text:?}");
        assert!(skill.findings.is_empty(), "{text:?}: {:?}", skill.findings);
    }
    assert_eq!(only("---\nname: demo\ndescription: ok\n---").file.body(), "");
}

#[test]
fn descriptions_stand_on_one_line_whole() {
    for (yaml, line) in [
        (">-\n  two\n  lines", "two lines"),
        ("|\n  two\n  lines", "two lines"),
        (">+\n  two\n\n  lines\n\n", "two lines"),
        ("wrapped\n  plain", "wrapped plain"),
        ("\"quoted\\nbreak\"", "quoted break"),
        ("\"a\\u2028b\\u0085c\\td\\0e\"", "a b c de"),
        ("3000", "3000"),
        ("\"Fix <host> & \\\"x\\\" </skill>\"", "Fix <host> & \"x\" </skill>"),
    ] {
        assert_eq!(&*only(format!("---\nname: demo\ndescription: {yaml}\n---\n")).description, line, "{yaml}");
    }
}

#[test]
fn an_unquoted_colon_is_repaired_with_a_warning() {
    for (yaml, line) in [
        ("Reviews a plan. Triggers: 'grill me', 'poke holes'", "Reviews a plan. Triggers: 'grill me', 'poke holes'"),
        ("Use when: x\n  and also: y", "Use when: x and also: y"),
        ("Ends with a colon: x:", "Ends with a colon: x:"),
    ] {
        let skill = only(format!("---\nname: demo\ndescription: {yaml}\nlicense: MIT\n---\nbody"));
        assert_eq!((&*skill.description, skill.file.body()), (line, "body"));
        assert_eq!(codes(&skill.findings), ["SKILL_FRONT_MATTER_REPAIRED"]);
        assert_eq!(skill.findings[0].place.to_string(), "skills/demo/SKILL.md:3");
    }
    let block = "---\nname: demo\ndescription: |\n  Steps: a: b\ncompatibility: needs: git\n---\n";
    assert_eq!(&*only(block).description, "Steps: a: b");
}

#[test]
fn a_description_that_yaml_cuts_is_reported() {
    for (yaml, line, place) in [
        ("Converts C # sources, see issue #12", "Converts C", ":3:25"),
        ("&fast path for uploads", "path for uploads", ":3:14"),
    ] {
        let skill = only(format!("---\nname: demo\ndescription: {yaml}\n---\n"));
        assert_eq!((&*skill.description, codes(&skill.findings)), (line, vec!["YAML_VALUE_CUT"]));
        assert_eq!(skill.findings[0].place.to_string(), format!("skills/demo/SKILL.md{place}"));
    }
    assert!(only("---\nname: demo # why\ndescription: 'C # sources'\n---\n").findings.is_empty());
}

#[test]
fn a_name_is_text_as_written_or_the_folders() {
    for (yaml, name, codes_reported) in [
        ("name: 3000", "3000", vec!["SKILL_NONCONFORMING"]),
        ("name: yes", "yes", vec!["SKILL_NONCONFORMING"]),
        ("name: 2026-01-01", "2026-01-01", vec!["SKILL_NONCONFORMING"]),
        ("name: null", "demo", vec!["SKILL_NONCONFORMING"]),
        ("name: ' '", "demo", vec!["SKILL_NONCONFORMING"]),
        ("x: y", "demo", vec!["SKILL_NONCONFORMING"]),
        ("name: \" demo \"", "demo", vec![]),
        ("name: Demo", "Demo", vec!["SKILL_NONCONFORMING"]),
        ("name: ../../etc/passwd", "../../etc/passwd", vec!["SKILL_NONCONFORMING"]),
        ("name: 'a\" b=''c'''", "a\" b='c'", vec!["SKILL_NONCONFORMING"]),
        ("name: \"de\\u200bmo\"", "demo", vec!["HIDDEN_CHARACTERS"]),
        ("name: \"demo\\U000E0049\"", "demo", vec!["HIDDEN_CHARACTERS"]),
    ] {
        let skill = only(format!("---\n{yaml}\ndescription: ok\n---\n"));
        assert_eq!((&*skill.name, codes(&skill.findings)), (name, codes_reported), "{yaml}");
        assert_eq!(&*skill.location, "/srv/ws/skills/demo/SKILL.md");
    }
}

#[test]
fn what_cannot_be_used_is_left_out_with_its_line() {
    for (text, place) in [
        ("# no front matter", "skills/demo/SKILL.md:1 the front matter is missing"),
        ("", "skills/demo/SKILL.md:1 the front matter is missing"),
        ("---\nname: demo\ndescription: x\n", "skills/demo/SKILL.md:1 the front matter has no end"),
        ("---\nname: demo\n---\n", "skills/demo/SKILL.md:1 the front matter has no `description`"),
        ("---\nname: demo\ndescription: ' '\n---\n", "skills/demo/SKILL.md:1 the front matter has no `description`"),
        ("---\nname: demo\ndescription: [a, b]\n---\n", "skills/demo/SKILL.md:3:14 the front matter cannot be used"),
        ("---\nname: [a]\ndescription: b\n---\n", "skills/demo/SKILL.md:2:7 the front matter cannot be used"),
        ("---\ndescription: a\ndescription: b\n---\n", "skills/demo/SKILL.md:3:1 the front matter cannot be used"),
        ("---\n- a\n---\n", "skills/demo/SKILL.md:2:1 the front matter cannot be used"),
        ("---\nmetadata: [[[[[\n---\n", "skills/demo/SKILL.md:"),
    ] {
        let found = left_out(text);
        assert!(
            found.iter().any(|found| found.starts_with(place) && found.ends_with("the skill is left out")),
            "{found:?}"
        );
    }
    let mut bomb = String::from("---\nname: demo\ndescription: x\nmetadata:\n  a: &a [x,x,x,x,x,x,x,x,x,x]\n");
    for (from, to) in ('a'..'i').zip('b'..='i') {
        let aliases = vec![format!("*{from}"); 10].join(",");
        writeln!(bomb, "  {to}: &{to} [{aliases}]").unwrap();
    }
    assert!(left_out(bomb + "---\n")[0].contains("more than"));
    assert!(
        left_out(format!("---\nname: demo\ndescription: x\nmetadata: {}\n---\n", "[".repeat(200)))[0]
            .contains("deeper")
    );
}

#[test]
fn front_matter_can_hide_a_skill() {
    for (key, shown) in [
        ("disable-model-invocation: true", false),
        ("disable_model_invocation: 'true'", false),
        ("enabled: false", false),
        ("disabled: true", false),
        ("enabled: true", true),
        ("disable-model-invocation: false", true),
        ("user-invocable: false", true),
    ] {
        let skill = only(format!("---\nname: demo\ndescription: x\n{key}\n---\n"));
        assert_eq!(skill.is_shown(), shown, "{key}");
    }
}

#[test]
fn filters_hide_with_a_reason_and_name_nothing_hidden() {
    let tree = workspace(&["git", "lark-doc", "xurl"])
        .file("skills/lark-mail/SKILL.md", skill_md("renamed"))
        .file("skills/lark-bad/SKILL.md", "---\n[\n---\n");
    for (filter, shown) in [
        ("{}", vec!["git", "lark-doc", "renamed", "xurl"]),
        ("{allowlist: }", vec!["git", "lark-doc", "renamed", "xurl"]),
        ("{allowlist: []}", vec![]),
        ("{allowlist: ['*'], blocklist: ['LARK-*', xurl]}", vec!["git"]),
        ("{allowlist: [GIT]}", vec!["git"]),
        ("{enabled: false}", vec![]),
    ] {
        let snapshot = load_tree(&tree.clone().file("workspace.yaml", format!("skills: {filter}"))).unwrap();
        assert_eq!(names(&snapshot), shown, "{filter}");
        let hidden = |skill: &Skill| matches!(&skill.visibility, Visibility::Hidden(why) if !why.is_empty());
        assert!(snapshot.skills.iter().all(|skill| skill.is_shown() || hidden(skill)));
        let bad_is_admitted = shown.len() == 4;
        assert_eq!(snapshot.active.iter().any(|f| f.place.to_string().contains("lark-bad")), bad_is_admitted);
        assert!(snapshot.findings.iter().any(|f| f.place.to_string().contains("lark-bad")));
    }
}

#[test]
fn an_allowlist_of_dead_names_is_reported() {
    for (allowlist, found) in [("[gone]", true), ("[gone, git]", false), ("[]", false), ("['*']", false)] {
        let tree = workspace(&["git"]).file("workspace.yaml", format!("skills: {{allowlist: {allowlist}}}"));
        let snapshot = load_tree(&tree).unwrap();
        assert_eq!(codes(&snapshot.active) == ["SKILL_ALLOWLIST_EMPTY"], found, "{allowlist}");
    }
}

#[test]
fn one_name_is_one_skill() {
    let tree = MemoryTree::new()
        .file("skills/b/SKILL.md", skill_md("git"))
        .file("skills/a/SKILL.md", skill_md("git"))
        .file("skills/c/SKILL.md", skill_md("Git"));
    let first: MemoryTree =
        [("git/SKILL.md", skill_md("git")), ("tool/SKILL.md", skill_md("tool"))].into_iter().collect();
    let second: MemoryTree = [("tool/SKILL.md", skill_md("tool")), ("x/SKILL.md", skill_md("x"))].into_iter().collect();
    let shared: [(&str, &dyn Tree); 2] = [("/opt/one/", &first), ("/opt/two", &second)];
    let snapshot = load_with(&tree, &shared, Settings::default(), None).unwrap();
    let found: Vec<_> = snapshot.skills.iter().map(|skill| (&*skill.name, &*skill.folder, &*skill.location)).collect();
    assert_eq!(
        found,
        [
            ("Git", "skills/c", "/srv/ws/skills/c/SKILL.md"),
            ("git", "skills/a", "/srv/ws/skills/a/SKILL.md"),
            ("tool", "@shared/tool", "/opt/one/tool/SKILL.md"),
            ("x", "@shared/x", "/opt/two/x/SKILL.md"),
        ]
    );
    let duplicates: Vec<_> =
        snapshot.skills[1].findings.iter().filter(|f| f.code.as_str() == "SKILL_DUPLICATE").collect();
    assert_eq!(duplicates.len(), 2);
    assert_eq!(duplicates[0].place.to_string(), "@shared/git/SKILL.md");
    assert!(duplicates[0].message.contains("skills/a/SKILL.md"));
}

#[test]
fn a_missing_shared_folder_is_reported() {
    let gone = MemoryTree::new().failing("", ReadError::Missing);
    let snapshot = load_with(&MemoryTree::new(), &[("/opt/gone", &gone)], Settings::default(), None).unwrap();
    assert_eq!(codes(&snapshot.active), ["SKILL_FOLDER_MISSING"]);
    assert!(!format!("{:?}", snapshot.active).contains("/opt"));
}

#[test]
fn hidden_paths_give_addresses() {
    let tree = MemoryTree::new().file("skills/x/SKILL.md", skill_md("a/b é"));
    let settings = Settings { expose_paths: false, ..Settings::default() };
    let snapshot = load_with(&tree, &[], settings, None).unwrap();
    assert_eq!(&*snapshot.skills[0].location, "skill://ws/a%2Fb%20%C3%A9/SKILL.md");
}

#[test]
fn a_broken_skill_keeps_its_last_good_version() {
    let good = workspace(&["git"]).file("skills/git/a.sh", "1");
    let first = load_tree(&good).unwrap();
    for broken in [
        good.clone().file("skills/git/SKILL.md", "---\n[\n---\n"),
        good.clone().failing("skills/git/SKILL.md", ReadError::Denied),
    ] {
        let second = reload(&broken, &first).unwrap();
        assert_eq!((names(&second), second.skills[0].sha256.clone()), (vec!["git"], first.skills[0].sha256.clone()));
        assert!(second.active.iter().all(|f| f.message.ends_with("its last good version stays in use")));
        assert!(second.active[0].is_error() && second.revision != first.revision);
        let blocked = broken.file("workspace.yaml", "skills: {blocklist: [git]}");
        let third = reload(&blocked, &second).unwrap();
        assert!(names(&third).is_empty() && third.active.is_empty(), "{:?}", third.active);
    }
    // What is gone is not a passing fault.
    let gone = good.clone().without("skills/git/SKILL.md");
    for gone in [gone.clone(), gone.failing("skills/git/SKILL.md", ReadError::LinkDangling)] {
        assert!(reload(&gone, &first).unwrap().skills.is_empty());
        assert!(load_tree(&gone).unwrap().skills.is_empty());
    }
}

#[test]
fn a_skill_that_is_too_large_takes_no_room_from_the_next_one() {
    let tree = workspace(&["a", "c", "d"]).file("skills/b/SKILL.md", format!("{}{}", skill_md("b"), "x".repeat(500)));
    let size = skill_md("a").len();
    let id = Id::parse("ws").unwrap();
    let input = Load {
        id: &id,
        root: "/srv/ws",
        tree: &tree,
        shared_skills: &[],
        profiles: Arc::default(),
        settings: Arc::default(),
        previous: None,
    };
    for (room, wanted) in [(3 * size, &["a", "c", "d"][..]), (3 * size - 1, &["a", "c"]), (size - 1, &[])] {
        let mut collector = Collector::default();
        let skills = load_within(room, &input, &Manifest::defaults(&id), &mut collector);
        assert_eq!(skills.iter().map(|skill| &*skill.name).collect::<Vec<_>>(), wanted, "{room}");
        let findings = collector.into_findings().1;
        assert_eq!(findings.iter().filter(|f| f.code == Code::SkillSearchLimited).count(), 4 - wanted.len());
    }
}

#[test]
fn names_are_in_case_folded_order() {
    let snapshot = load_tree(&workspace(&["zeta", "alpha", "Mid", "10-x", "9-y", "mid"])).unwrap();
    assert_eq!(names(&snapshot), ["10-x", "9-y", "alpha", "Mid", "mid", "zeta"]);
}

#[test]
fn bundled_files_are_listed_sorted_and_bounded() {
    let mut tree = workspace(&["git"]);
    for path in ["b.sh", "a/z", "a.txt", ".hidden", "node_modules/x", "1/2/3/4/5/deep"] {
        tree = tree.file(&format!("skills/git/{path}"), path);
    }
    let skill = load_tree(&tree).unwrap().skills[0].clone();
    assert_eq!(skill.files.iter().map(|file| &*file.path).collect::<Vec<_>>(), ["a.txt", "a/z", "b.sh"]);
    assert_eq!(codes(&skill.findings), ["SKILL_SEARCH_LIMITED"]);
}

#[test]
fn unprintable_folder_names_are_not_searched() {
    let tree =
        MemoryTree::new().file("skills/a\nb/SKILL.md", skill_md("x")).file("skills/c\u{202e}/SKILL.md", skill_md("y"));
    let snapshot = load_tree(&tree).unwrap();
    assert!(snapshot.skills.is_empty());
    assert_eq!(codes(&snapshot.active), ["SKILL_INVALID", "SKILL_INVALID"]);
}

#[test]
fn hidden_text_in_a_description_is_reported_stripped_or_refused() {
    let text = "---\nname: demo\ndescription: \"Formats JSON.\\U000E0049\\U000E0067\\u202E \u{1f469}\u{200d}\u{1f469}\"\n---\n";
    let tree = MemoryTree::new().file("skills/demo/SKILL.md", text);
    let with = |risks| load_with(&tree, &[], Settings { risks, ..Settings::default() }, None).unwrap();
    let found = with(RiskPolicy::Report);
    assert_eq!(&*found.skills[0].description, "Formats JSON.\u{202e} \u{1f469}\u{200d}\u{1f469}");
    assert_eq!(codes(&found.skills[0].findings), ["HIDDEN_CHARACTERS"]);
    assert_eq!(&*with(RiskPolicy::Strip).skills[0].description, "Formats JSON. \u{1f469}\u{200d}\u{1f469}");
    let refused = with(RiskPolicy::Refuse);
    assert!(refused.skills.is_empty() && refused.active.iter().any(crate::finding::Finding::is_error));
}

#[test]
fn what_is_hidden_in_a_body_is_reported_on_its_line_of_the_file() {
    for (blank, line) in [("", 6), ("\n\n", 8)] {
        let text = format!("---\nname: demo\ndescription: d\n---\n{blank}fine\nhid\u{202e}den\n");
        let skill = only(text);
        let places: Vec<_> = skill.findings.iter().map(|finding| finding.place.to_string()).collect();
        assert_eq!(places, [format!("skills/demo/SKILL.md:{line}:4")]);
    }
}

#[test]
fn what_cannot_be_listed_keeps_its_last_good_version_and_says_so() {
    let good = workspace(&["a", "group/b", "group/c"]).file("skills/group/b/notes/x.txt", "x");
    let first = load_tree(&good).unwrap();
    let files: Vec<String> = first.inputs.keys().map(ToString::to_string).collect();
    for error in [ReadError::Denied, ReadError::Failed(std::io::ErrorKind::Other)] {
        for place in ["skills", "skills/a", "skills/group", "skills/group/b", "skills/group/b/notes"] {
            let below = files.iter().filter(|file| file.starts_with(&format!("{place}/")));
            let below = below.fold(good.clone(), |tree, file| tree.failing(file, error));
            for failing in [good.clone().failing(place, error), below.failing(place, error)] {
                let second = reload(&failing, &first).unwrap();
                assert_eq!(names(&second), ["a", "b", "c"], "{place}");
                let files = |of: &Snapshot| of.skills.iter().map(|skill| skill.files.clone()).collect::<Vec<_>>();
                assert_eq!(files(&second), files(&first), "{place}");
                let reported = |codes: Vec<&str>| codes.contains(&"FILE_UNREADABLE");
                let skill_findings: Vec<_> = second.skills.iter().flat_map(|s| s.findings.clone()).collect();
                assert!(reported(codes(&second.active)) || reported(codes(&skill_findings)), "{place}");
                // Still so after another load, and as at a fresh start once it can be listed.
                assert_eq!(names(&reload(&failing, &second).unwrap()), ["a", "b", "c"], "{place}");
                assert_eq!(reload(&good, &second).unwrap().revision, first.revision, "{place}");
            }
        }
    }
    let gone = reload(&good.failing("skills/a", ReadError::LinkDangling), &first).unwrap();
    assert_eq!(names(&gone), ["b", "c"], "a link that leads nowhere is not a passing fault");
}
