use super::{Code, Finding, Place, github, human, json, report::Reported, sarif};

fn reported() -> Vec<Reported> {
    let source = "agent:\n  naem: \u{202e}x\n";
    let unknown = Finding::new(Code::UnknownKey, Place::at("workspace.yaml", 2, 3), "unknown key `agent.naem`");
    let cut = Finding::new(Code::ContextFileTruncated, Place::file("docs/a, b: 100%.md"), "9,000 characters");
    let value = Finding::new(Code::ValueTruncated, Place::field("turn.user.name"), "cut\u{1b}[31m\n::error::forged");
    let one = |finding: Finding, file: Option<&str>, source: Option<&str>| Reported {
        finding,
        subject: "harbor".into(),
        file: file.map(Into::into),
        source: source.map(Into::into),
    };
    vec![
        one(unknown, Some("ws/workspace.yaml"), Some(source)),
        one(cut, Some("ws/docs/a, b: 100%.md"), None),
        one(value, None, None),
    ]
}

#[test]
fn people_see_the_line_and_what_to_do() {
    insta::assert_snapshot!(human::render(&reported(), false));
}

#[test]
fn json_has_every_part() {
    insta::assert_snapshot!(json::render(&reported()));
}

#[test]
fn github_annotations_cannot_be_forged() {
    insta::assert_snapshot!(github::render(&reported()));
}

#[test]
fn sarif_names_rules_and_places() {
    insta::assert_snapshot!(sarif::render(&reported()));
}
