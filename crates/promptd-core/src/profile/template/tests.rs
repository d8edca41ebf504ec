use std::borrow::Cow;

use super::*;
use crate::profile::{
    names::text_fields,
    spec::{Input, ReplyContract, Stability},
};

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
    let soul = text_fields(&["soul"]).remove(0);
    let soul = Input { field: soul, default_from: None, stability: Stability::Session };
    Names::new(&[soul], &ReplyContract::default())
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

/// A fault when it is compiled, or an error when it runs.
fn refused(source: &str) -> String {
    let mut templates = Templates::new();
    match templates.template("t", source, &names()) {
        Err(fault) => fault.message,
        Ok(template) => templates.render(&template, &Fixed).unwrap_err(),
    }
}

/// Each of these once ended the process, or took gigabytes or hours.
#[test]
fn hostile_templates_are_refused() {
    let many = |open: &str, text: &str, count: usize, close: &str| format!("{open}{}{close}", text.repeat(count));
    let depth = "names, operators and constants";
    for (source, message) in [
        (many("{{ ", "-", 5_000, "1 }}"), depth),
        (many("{{ ", "not ", 5_000, "1 }}"), depth),
        (many("{{ soul", "|trim", 20_000, " }}"), depth),
        (many("{{ 1", "+1", 50_000, " }}"), depth),
        (many("{{ 1", " ** 1", 5_000, " }}"), depth),
        (many("{{ 1", " and 1", 5_000, " }}"), depth),
        (many("{{ 1", " is odd", 5_000, " }}"), depth),
        (many("{{ soul", ".a", 5_000, " }}"), depth),
        (many("{{ soul", "[0]", 5_000, " }}"), depth),
        (many("{{ ", "1 if 1 else ", 5_000, "1 }}"), depth),
        (many("{{ ", "(", 200, "1 }}"), "recursion"),
        (many("", "{% if soul %}", 200, ""), "recursion"),
        (many("{% if soul %}", "{% elif soul %}", 5_000, "{% endif %}"), "`elif`"),
        (many("", "{{ soul }}", 10_000, ""), depth),
        (many("{% set a = 1 %}", "{% set a = [a] %}", 500, "{{ a }}"), "lists and maps"),
        (many("{% set a = [1] %}", "{% set a = a|batch(1) %}", 500, "{{ a }}"), "lists and maps"),
        (many("{% set a = [1] %}", "{% set a = a + a %}", 34, "{{ a }}"), "`+`"),
        (many("{% set a = [1] %}", "{% set a = a|chain(a) %}", 34, "{{ a }}"), "`chain` is not known"),
        (many("{% set a = [1] %}", "{% set a = [a, a]|sum(start=[]) %}", 34, "{{ a }}"), "start"),
        ("{% set ns = namespace() %}{% set ns.me = ns %}{{ ns }}".to_owned(), "`namespace` is not known"),
        ("{% macro f(x) %}{{ f([x]) }}{% endmacro %}{{ f(1) }}".to_owned(), "unknown statement macro"),
        ("{% for a in [[1]] recursive %}{{ loop(a) }}{% endfor %}".to_owned(), "recursive"),
        (many("{% set a = 'x' %}", "{% set a = a ~ a %}", 34, "{{ a }}"), "fuel"),
        (many("{% set a = 'x' %}", "{% set a = a + persona|upper + a %}", 34, "{{ a }}"), "fuel"),
        (many("{% set a = 'x' %}", "{% set a %}{{ a }}{{ a }}{% endset %}", 34, ""), "fuel"),
        ("{{ 'x' * 100000000 }}".to_owned(), "fuel"),
        ("{{ 'x'|indent(100000000) }}".to_owned(), "fuel"),
        (
            "{% set l = range(1000) %}{% for a in l %}{% for b in l %}{{ l|sum_of('x') }}{% endfor %}{% endfor %}"
                .to_owned(),
            "fuel",
        ),
    ] {
        let start = std::time::Instant::now();
        let refused = refused(&source);
        assert!(refused.contains(message), "{}: {refused}", &source[..source.len().min(80)]);
        assert!(start.elapsed().as_secs() < 10, "{}", &source[..source.len().min(80)]);
    }
}

#[test]
fn what_was_removed_says_what_to_write_instead() {
    for (source, instead) in [
        ("{% set ns = namespace(n=0) %}{{ ns.n }}", "`length`"),
        ("{% macro f() %}x{% endmacro %}{{ f() }}", "`each`"),
        ("{% call f() %}x{% endcall %}", "`each`"),
        ("{{ [1]|chain([2]) }}", "one loop after the other"),
        ("{% for a in [[1]] recursive %}{{ loop(a) }}{% endfor %}", "one loop inside the other"),
    ] {
        assert!(refused(source).contains(instead), "{source}: {}", refused(source));
    }
}

#[test]
fn bounds_leave_room_for_honest_templates() {
    let mut templates = Templates::new();
    for (source, text) in [
        (format!("{{{{ 1{} }}}}", " + 1".repeat(100)), "101"),
        (format!("{{{{ 'a'{} }}}}", " ~ 'b'".repeat(3)), "abbb"),
        ("{% for a in [1, 2] %}{{ loop.index + a|int }}{% endfor %}".to_owned(), "24"),
        ("{% set on = (['a'] if heartbeat else []) + ['b'] %}{{ on|join }}".to_owned(), "ab"),
        ("{% set n = 1 %}{{ n + 1 }}{{ [1, 2]|sum }}".to_owned(), "23"),
        ("{% if persona %}a{% elif heartbeat %}b{% endif %}".to_owned(), "b"),
    ] {
        let template = templates.template("t", &source, &names()).unwrap();
        assert_eq!(templates.render(&template, &Fixed).unwrap(), text, "{source}");
    }
}

#[test]
fn endless_templates_end() {
    let mut templates = Templates::new();
    let source = "{% for a in range(10000) %}{% for b in range(10000) %}x{% endfor %}{% endfor %}";
    let template = templates.template("t", source, &names()).unwrap();
    assert!(templates.render(&template, &Fixed).unwrap_err().contains("fuel"));
}
