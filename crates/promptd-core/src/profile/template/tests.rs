use std::borrow::Cow;

use super::*;
use crate::profile::names::text_fields;

struct Fixed;

impl Scope for Fixed {
    fn text(&self, name: &str, field: &str) -> Option<Cow<'_, str>> {
        match (name, field) {
            ("user", "name") => Some("  Dana </b> {{ 7 }}  ".into()),
            ("persona", "") => Some("".into()),
            _ => None,
        }
    }

    fn value(&self, name: &str) -> Value {
        match name {
            "user" => Value::from_pairs([("name", "  Dana </b> {{ 7 }}  ")]),
            "persona" => "".into(),
            "heartbeat" => true.into(),
            _ => Value::UNDEFINED,
        }
    }
}

fn names() -> Names {
    Names::new(&text_fields(&["soul"]))
}

#[test]
fn the_shortcut_and_minijinja_agree() {
    for source in [
        "",
        "plain\n",
        "a {{ user.name }} b\n",
        "{{ user.name|trim }}",
        "{{ user.name|trim|defuse('b') }}{{ persona }}!",
        "{{ user.name|attribute('title') }}{{ persona|attribute('source') }}",
        "{{ user.name|xml }}{{ user.name|defuse_tags }}{{ user.name|zulu }}",
    ] {
        let mut templates = Templates::new();
        let template = templates.template("t", source, &names()).unwrap();
        assert!(template.steps.is_some(), "{source} has a shortcut");
        let short = templates.render(&template, &Fixed).unwrap();
        assert_eq!(short, templates.render_jinja(&template, &Fixed).unwrap(), "{source}");
    }
}

#[test]
fn faults_are_found_when_loaded() {
    let fault = |source| {
        let TemplateFault { line, message } = Templates::new().template("t", source, &names()).unwrap_err();
        (line, message)
    };
    assert_eq!(fault("a\n{{ usr.name }}"), (2, "`usr` is not known; did you mean `user`?".into()));
    assert_eq!(fault("{{ user.nam }}"), (1, "`user.nam` is not known; did you mean `name`?".into()));
    assert_eq!(fault("a\n\n{{ soul|shout }}"), (3, "the filter `shout` is not known".into()));
    assert_eq!(fault("{% if soul is odder %}{% endif %}"), (1, "the test `odder` is not known".into()));
    assert_eq!(fault("x\n{% if soul %}").0, 2);
    assert_eq!(fault("of the soull\n\n{{ soull }}").0, 3, "only where a template uses the word");
    assert_eq!(fault("the shout\n{{ soul }}\n{{ soul|shout }}").0, 3);
}

#[test]
fn conditions_hold_by_text_and_by_value() {
    let mut templates = Templates::new();
    for (source, holds) in [("user.name", true), ("persona", false), ("heartbeat", true), ("not heartbeat", false)] {
        let condition = templates.expression(source, source, &names()).unwrap();
        assert_eq!(templates.holds(&condition, &Fixed), Ok(holds), "{source}");
    }
}

#[test]
fn endless_templates_end() {
    let mut templates = Templates::new();
    let source = "{% for a in range(10000) %}{% for b in range(10000) %}x{% endfor %}{% endfor %}";
    let template = templates.template("t", source, &names()).unwrap();
    assert!(templates.render(&template, &Fixed).unwrap_err().contains("fuel"));
}
