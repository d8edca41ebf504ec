//! What is true of any workspaces and layers: an heir never lifts or widens what a layer forbids, and every layer counts once.

use std::collections::BTreeSet;

use proptest::{collection::vec, option, prelude::*, sample::subsequence};

use super::tests::Site;
use crate::{
    prompt::{self, Outcome, Prepared},
    time::Moment,
    turn::Turn,
    workspace::{CONTEXT_FILES, Manifest, Snapshot},
};

const SKILLS: [&str; 4] = ["quartz", "ribbon", "saddle", "thimble"];
const LOCKS: [&str; 8] =
    ["profile", "persona", "ephemeral", "agent", "time_zone", "inputs", "working_directory", "conversation_system"];

/// A workspace: which of those before it it extends, what it sets, and its files.
#[derive(Debug, Clone)]
struct Plan {
    extends: Vec<usize>,
    settings: Vec<String>,
    context: Vec<String>,
    skills: Vec<&'static str>,
    files: Vec<&'static str>,
}

/// The last is the workspace that is looked at.
fn plans() -> impl Strategy<Value = Vec<Plan>> {
    (1..6_usize).prop_flat_map(|count| (0..count).map(plan).collect::<Vec<_>>())
}

fn plan(place: usize) -> impl Strategy<Value = Plan> {
    let below = subsequence((0..place).collect::<Vec<_>>(), 0..=place.min(3)).prop_shuffle();
    let files = subsequence([&CONTEXT_FILES[..], &["docs/A.md"]].concat(), 0..=4);
    (below, settings(), context(), subsequence(SKILLS.to_vec(), 0..=4), files)
        .prop_map(|(extends, settings, context, skills, files)| Plan { extends, settings, context, skills, files })
}

fn some_of(all: &'static [&'static str]) -> impl Strategy<Value = String> {
    subsequence(all.to_vec(), 0..=all.len().min(3)).prop_map(|some| format!("[{}]", some.join(", ")))
}

fn settings() -> impl Strategy<Value = Vec<String>> {
    let skills = (option::of(some_of(&SKILLS)), some_of(&SKILLS), prop::bool::weighted(0.9)).prop_map(
        |(allow, block, enabled)| {
            let allow = allow.map(|allow| format!("allowlist: {allow}, ")).unwrap_or_default();
            format!("skills: {{{allow}blocklist: {block}, enabled: {enabled}}}")
        },
    );
    let agent = (option::of("[a-c]"), option::of(any::<bool>())).prop_map(|(persona, skips)| {
        let persona = persona.map(|persona| format!("persona: {persona}, ")).unwrap_or_default();
        format!("agent: {{{persona}skip_context_files: {}}}", skips.unwrap_or_default())
    });
    let rule = |(floor, ceiling, pinned)| format!("{{floor: {floor}, ceiling: {}, pinned: {pinned}}}", floor + ceiling);
    let budget = (1..5_000_u32, (0..50_u32, 0..50_u32, any::<bool>()).prop_map(rule))
        .prop_map(|(max, rule)| format!("budget: {{max: {max}, unit: chars, sections: {{skills: {rule}}}}}"));
    let inputs = "[a-c]".prop_map(|text| format!("profile: kai-remote\ninputs: {{model: {text}}}"));
    let each = [
        some_of(&LOCKS).prop_map(|locks| format!("locked: {locks}")).boxed(),
        any::<bool>().prop_map(|expose| format!("expose_paths: {expose}")).boxed(),
        skills.boxed(),
        agent.boxed(),
        budget.boxed(),
        inputs.boxed(),
    ];
    subsequence((0..each.len()).collect::<Vec<_>>(), 0..=each.len())
        .prop_flat_map(move |some| some.into_iter().map(|one| each[one].clone()).collect::<Vec<_>>())
}

fn context() -> impl Strategy<Value = Vec<String>> {
    let rule = (0..400_usize, any::<bool>()).prop_map(|(max, pinned)| {
        let pinned = if pinned { ", priority: pinned" } else { "" };
        format!("files: [{{path: docs/A.md, max_chars: {max}{pinned}}}]")
    });
    let each = [
        (0..400_usize).prop_map(|max| format!("max_chars_per_file: {max}")).boxed(),
        (0..900_usize).prop_map(|max| format!("max_chars_total: {max}")).boxed(),
        some_of(&CONTEXT_FILES).prop_map(|files| format!("append: {files}")).boxed(),
        rule.boxed(),
    ];
    subsequence((0..each.len()).collect::<Vec<_>>(), 0..=each.len())
        .prop_flat_map(move |some| some.into_iter().map(|one| each[one].clone()).collect::<Vec<_>>())
}

/// Loads them; gives the last over its layers.
fn composed(plans: &[Plan]) -> Snapshot {
    let mut site = Site::default();
    for (place, plan) in plans.iter().enumerate() {
        let below: Vec<_> = plan.extends.iter().map(|below| format!("w{below}")).collect();
        let manifest = format!(
            "extendable_by: ['*']\nextends: [{}]\n{}\ncontext: {{{}}}\n",
            below.join(", "),
            plan.settings.join("\n"),
            plan.context.join(", ")
        );
        let mut files = vec![("workspace.yaml".to_owned(), manifest)];
        files.extend(plan.files.iter().map(|path| ((*path).to_owned(), format!("{path} of w{place}. ").repeat(20))));
        files.extend(plan.skills.iter().map(|name| {
            (format!("skills/{name}/SKILL.md"), format!("---\nname: {name}\ndescription: Of w{place}.\n---\nDo it.\n"))
        }));
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        site.save(&format!("w{place}"), &files);
    }
    site.composed(&format!("w{}", plans.len() - 1))
}

/// What no level of a composed workspace may widen.
fn is_within(all: &Manifest, level: &Manifest) -> Result<(), TestCaseError> {
    prop_assert!(level.locked.iter().all(|lock| all.locked.contains(lock)));
    prop_assert!(level.expose_paths || !all.expose_paths);
    prop_assert!(!level.agent.skip_context_files || all.agent.skip_context_files);
    for name in SKILLS {
        prop_assert!(level.admits_skill(name, name) || !all.admits_skill(name, name), "{}", name);
    }
    let (one, other) = (&all.context, &level.context);
    prop_assert!(!other.sets_max_chars_total || one.max_chars_total <= other.max_chars_total);
    prop_assert!(!other.sets_max_chars_per_file || one.max_chars_per_file <= other.max_chars_per_file);
    for (path, rule) in &other.rules {
        prop_assert!(rule.max_chars.is_none_or(|max| one.max_chars_of(path) <= max));
        prop_assert!(!rule.is_pinned || one.rule(path).is_pinned);
    }
    if let Some(limit) = level.budget.limit {
        prop_assert!(all.budget.limit.is_some_and(|all| all.max <= limit.max));
    }
    for (id, rule) in &level.budget.sections {
        let all = all.budget.sections[id];
        prop_assert!(rule.ceiling.is_none_or(|ceiling| all.ceiling.is_some_and(|all| all <= ceiling)));
        prop_assert!(!rule.is_pinned || all.is_pinned);
        prop_assert!(all.floor >= rule.floor || Some(all.floor) == all.ceiling);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn an_heir_lifts_and_widens_nothing_of_a_layer(plans in plans()) {
        let snapshot = composed(&plans);
        let own = snapshot.own.as_deref().unwrap_or(&snapshot);
        for level in snapshot.layers.iter().map(|layer| &**layer.own()).chain([own]) {
            is_within(&snapshot.manifest, &level.manifest)?;
        }
        for skill in snapshot.skills.iter().filter(|skill| skill.is_shown()) {
            prop_assert!(snapshot.manifest.admits_skill(&skill.name, &skill.folder_name));
        }
        let names: BTreeSet<_> = snapshot.skills.iter().map(|skill| &skill.name).collect();
        prop_assert_eq!(names.len(), snapshot.skills.len());
    }

    #[test]
    fn what_a_layer_locks_and_sets_stays(plans in plans()) {
        let snapshot = composed(&plans);
        let mut locked = BTreeSet::new();
        let (mut persona, mut model) = (None, None);
        let own = snapshot.own.as_deref().unwrap_or(&snapshot);
        for level in snapshot.layers.iter().map(|layer| &**layer.own()).chain([own]) {
            let sets = |key: &str| level.marks.has(key);
            if sets("agent.persona") && !locked.contains("persona") {
                persona.clone_from(&level.manifest.agent.persona);
            }
            if sets("inputs.model") && !locked.contains("inputs") {
                model = level.manifest.inputs.get("model").cloned();
            }
            locked.extend(level.manifest.locked.iter().map(|lock| lock.name()));
        }
        prop_assert_eq!(&snapshot.manifest.agent.persona, &persona);
        if snapshot.manifest.profile.as_str() == "kai-remote" {
            prop_assert_eq!(snapshot.manifest.inputs.get("model"), model.as_ref());
        }
    }

    #[test]
    fn each_layer_counts_once_and_is_farther_than_those_that_extend_it(plans in plans()) {
        let snapshot = composed(&plans);
        let ids: Vec<_> = snapshot.layers.iter().map(|layer| layer.id().clone()).collect();
        let once: BTreeSet<_> = ids.iter().collect();
        prop_assert_eq!(once.len(), ids.len());
        for (place, layer) in snapshot.layers.iter().enumerate() {
            prop_assert!(layer.own().manifest.extends.iter().all(|below| ids[..place].contains(below)));
        }
        for document in snapshot.documents.values() {
            let files: BTreeSet<_> = document.parts().iter().map(|part| &part.file).collect();
            prop_assert_eq!(files.len(), document.parts().len());
        }
    }

    #[test]
    fn the_prompt_keeps_the_limits_and_its_spans_are_of_the_files_that_are_named(plans in plans()) {
        let prepared = Prepared::from(composed(&plans));
        let profile = prepared.profiles.get("five-layer").unwrap();
        let turn = Turn::at(Moment::EPOCH);
        let Ok(prompt) = prompt::assemble_with_spans(&prepared, profile, &turn) else { return Ok(()) };
        for section in &prompt.sections {
            let text = prompt.section_text(section).unwrap_or_default();
            prop_assert_eq!(text.len(), section.spans.iter().map(|span| span.bytes.len()).sum::<usize>());
            for span in section.spans.iter().filter(|span| span.how.is_same()) {
                let Some(file) = &span.origin.file else { continue };
                let Some((home, path)) = prepared.home(&file.path) else { panic!("{}", file.path) };
                let Some(document) = home.document(path) else { continue };
                let position = section.position.as_ref().unwrap().bytes.start;
                let shown = &text[(span.bytes.start - position) as usize..(span.bytes.end - position) as usize];
                let [start, end] = [span.source.start, span.source.end].map(|at| usize::try_from(at).unwrap());
                prop_assert_eq!(shown, &document.text[start..end]);
            }
            if let Some(path) = section.id.strip_prefix("workspace_context/") {
                let limit = prepared.manifest.context.max_chars_of(path) as u64;
                prop_assert!(section.included.chars <= limit, "{}: {:?}", path, section);
                prop_assert!(section.outcome != Outcome::Included || section.included == section.original);
            }
        }
    }

    #[test]
    fn the_same_layers_give_the_same_snapshot(plans in vec(plans(), 1)) {
        let (one, other) = (composed(&plans[0]), composed(&plans[0]));
        prop_assert_eq!(&one.revision, &other.revision);
        prop_assert_eq!(format!("{:?}", one.findings), format!("{:?}", other.findings));
    }
}
