//! From the bytes of `workspace.yaml` to a [`Manifest`], or to every fault in them.

use crate::{
    finding::{Code, Finding, Place},
    globs::{Case, NameGlobs, SkillFilter},
    id::Id,
    profile::ProfileSet,
    settings::RiskPolicy,
    workspace::{
        manifest::{
            AgentSettings, ContextSettings, Lock, MANIFEST, Manifest, Marks, budget, extends, inputs, keys, values,
        },
        tree::FileBytes,
    },
    yaml::{self, Fields, MAX_YAML_BYTES},
};

/// A `workspace.yaml` that has been read.
#[derive(Debug)]
pub(in crate::workspace) struct Parsed {
    pub(in crate::workspace) manifest: Manifest,
    /// Where it sets what.
    pub(in crate::workspace) marks: Marks,
    /// The risks of the texts in it.
    pub(in crate::workspace) risks: Vec<Finding>,
}

/// Parses `workspace.yaml`; `None`: it has no content.
pub(in crate::workspace) fn parse(
    file: &FileBytes,
    id: &Id,
    profiles: &ProfileSet,
    risks: RiskPolicy,
) -> Result<Option<Parsed>, Vec<Finding>> {
    let text = text_of(file).map_err(|fault| vec![fault])?;
    let parsed = yaml::read(text, |node, faults| {
        let mut reader = values::Reader { risks, findings: Vec::new() };
        let manifest = decode(Fields::root(node, faults).by(keys::ROOT), id, profiles, &mut reader);
        (!node.is_null()).then(|| Parsed { manifest, marks: Marks::of(node), risks: reader.findings })
    });
    parsed.map_err(into_findings)
}

fn into_findings(faults: Vec<yaml::Fault>) -> Vec<Finding> {
    faults.into_iter().map(|fault| fault.into_finding(MANIFEST)).collect()
}

fn text_of(file: &FileBytes) -> Result<&str, Finding> {
    if file.total > MAX_YAML_BYTES as u64 || file.bytes.len() as u64 != file.total {
        let message = format!("{MANIFEST} has {} bytes; at most {MAX_YAML_BYTES} are read", file.total);
        return Err(Finding::new(Code::FileTooLarge, Place::file(MANIFEST), message));
    }
    yaml::utf8(&file.bytes).map_err(|fault| fault.into_finding(MANIFEST))
}

fn decode(mut root: Fields<'_, '_>, id: &Id, profiles: &ProfileSet, reader: &mut values::Reader) -> Manifest {
    let defaults = Manifest::defaults(id);
    let agent = agent(root.fields("agent"), defaults.agent, reader);
    let is_named = root.node("profile").is_some();
    let extends = extends::extends(&mut root, id);
    let profile = if is_named {
        profile(&mut root, profiles)
    } else {
        // Inputs are not checked against the default profile where another may be meant, such as a layer's.
        (!root.faults().is_partial() && extends.is_empty()).then(|| defaults.profile.clone())
    };
    let manifest = Manifest {
        extends,
        extendable_by: extends::extendable_by(&mut root),
        agent,
        context: context(root.fields("context"), &defaults.context),
        heartbeat_protocol: heartbeat(root.fields("heartbeat"), reader),
        expose_paths: root.bool("expose_paths").unwrap_or(defaults.expose_paths),
        locked: locked(&mut root),
        inputs: inputs::read(
            &mut root,
            profile.as_ref().and_then(|id| profiles.get(id.as_str())).map(|profile| &**profile),
        ),
        budget: budget::read(root.fields("budget"), profiles),
        profile: profile.unwrap_or(defaults.profile),
        ..defaults
    };
    let (skills_enabled, skills) = skills(root.fields("skills"));
    root.finish();
    Manifest { skills_enabled, skills, ..manifest }
}

fn agent(mut fields: Fields<'_, '_>, defaults: AgentSettings, reader: &mut values::Reader) -> AgentSettings {
    let agent = AgentSettings {
        id: values::one_line(&mut fields, "id").unwrap_or(defaults.id),
        name: values::one_line(&mut fields, "name").unwrap_or(defaults.name),
        persona: reader.prose(&mut fields, "persona"),
        time_zone: values::time_zone(&mut fields, "time_zone").unwrap_or(defaults.time_zone),
        skip_context_files: fields.bool("skip_context_files").unwrap_or(defaults.skip_context_files),
        ephemeral_system_prompt: reader.prose(&mut fields, "ephemeral_system_prompt"),
    };
    fields.finish();
    agent
}

fn profile(root: &mut Fields<'_, '_>, profiles: &ProfileSet) -> Option<Id> {
    let name = root.text("profile")?;
    let wrong = |message| {
        root.faults().add(Code::InvalidValue, root.mark("profile"), message);
        None
    };
    match Id::parse(name) {
        Err(invalid) => wrong(format!("`profile` {invalid}")),
        Ok(id) if profiles.get(name).is_some() || id == crate::profile::default_id() => Some(id),
        Ok(_) => {
            let hint = match yaml::nearest(name, profiles.iter().map(|profile| profile.name.as_str())) {
                Some(near) => format!("; did you mean `{near}`?"),
                None => String::new(),
            };
            wrong(format!("unknown profile `{name}`{hint}"))
        }
    }
}

fn context(mut fields: Fields<'_, '_>, defaults: &ContextSettings) -> ContextSettings {
    let per_file = fields.count("max_chars_per_file");
    let total = fields.count("max_chars_total");
    let (files, rules) = values::context_files(&mut fields);
    let nested = values::nested(&mut fields);
    let append = values::append(&mut fields);
    let context = ContextSettings {
        max_chars_per_file: per_file.unwrap_or(defaults.max_chars_per_file),
        sets_max_chars_per_file: per_file.is_some(),
        max_chars_total: total.unwrap_or(defaults.max_chars_total),
        sets_max_chars_total: total.is_some(),
        files,
        nested,
        append,
        rules,
    };
    fields.finish();
    context
}

fn skills(mut fields: Fields<'_, '_>) -> (bool, SkillFilter) {
    let enabled = fields.bool("enabled").unwrap_or(true);
    let allow = NameGlobs::read(&mut fields, "allowlist", Case::Ignored);
    let block = NameGlobs::read(&mut fields, "blocklist", Case::Ignored).unwrap_or_default();
    fields.finish();
    (enabled, SkillFilter { allow, block })
}

fn heartbeat(mut fields: Fields<'_, '_>, reader: &mut values::Reader) -> Option<String> {
    let protocol = reader.prose(&mut fields, "protocol");
    fields.finish();
    protocol
}

fn locked(root: &mut Fields<'_, '_>) -> Vec<Lock> {
    let words = root.choices("locked").unwrap_or_default();
    let lock = |word: &str| Lock::NAMES.iter().find(|(known, _)| *known == word).map(|(_, lock)| *lock);
    let mut locks: Vec<_> = words.into_iter().filter_map(|(word, _)| lock(word)).collect();
    if locks.contains(&Lock::Ephemeral) {
        locks.push(Lock::ConversationSystem);
    }
    locks.sort_unstable();
    locks.dedup();
    locks
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        text::cut::Keep,
        workspace::manifest::{ExtraFile, FileRule},
    };

    fn read(yaml: impl Into<Vec<u8>>) -> Result<Manifest, Vec<Finding>> {
        let bytes = yaml.into();
        let file = FileBytes { total: bytes.len() as u64, bytes };
        let id = Id::parse("ws").unwrap();
        let parsed = parse(&file, &id, &ProfileSet::default(), RiskPolicy::Report)?;
        Ok(parsed.map_or_else(|| Manifest::defaults(&id), |parsed| parsed.manifest))
    }

    fn faults(yaml: impl Into<Vec<u8>>) -> Vec<String> {
        let faults = read(yaml).unwrap_err();
        faults.iter().map(|f| format!("{} {} {}", f.place, f.code.as_str(), f.message)).collect()
    }

    #[test]
    fn every_setting_is_read() {
        let manifest = read(
            "agent:\n  id: harbor\n  name: Harbor\n  persona: |\n    Warm,\n    exact.\n  time_zone: US/Pacific\n  \
             skip_context_files: true\n  ephemeral_system_prompt: ' once '\nprofile: five-layer\ncontext:\n  \
             max_chars_per_file: 0\n  max_chars_total: 7\n  files:\n    - path: docs/RUNBOOK.md\n      purpose: how\n    \
             - path: x.md\n      max_chars: 9\n    - {path: SOUL.md, priority: pinned, keep: head_tail}\n  nested: [AGENTS.md, CLAUDE.md]\nskills: {enabled: false, allowlist: [a], blocklist: [b]}\nheartbeat: {protocol: beat}\n\
             expose_paths: false\nlocked: [time_zone, profile, persona, ephemeral, agent, agent]\ninputs: {a: [1, no]}\n",
        )
        .unwrap();
        let AgentSettings { id, name, persona, time_zone, skip_context_files, ephemeral_system_prompt } =
            manifest.agent;
        assert_eq!(
            (&*id, &*name, persona.as_deref(), time_zone.iana_name()),
            ("harbor", "Harbor", Some("Warm,\nexact."), Some("US/Pacific"))
        );
        assert_eq!((skip_context_files, ephemeral_system_prompt.as_deref()), (true, Some("once")));
        let extra = |index, path: &str, purpose: &str| ExtraFile { path: path.into(), purpose: purpose.into(), index };
        assert_eq!(manifest.context.files, [extra(0, "docs/RUNBOOK.md", "how"), extra(1, "x.md", "")]);
        assert_eq!((manifest.context.max_chars_per_file, manifest.context.max_chars_total), (0, 7));
        let rule = |path| manifest.context.rule(path);
        assert_eq!(rule("x.md"), FileRule { max_chars: Some(9), ..FileRule::default() });
        assert_eq!(rule("SOUL.md"), FileRule { max_chars: None, is_pinned: true, keep: Some(Keep::HeadTail) });
        assert_eq!(rule("docs/RUNBOOK.md"), FileRule::default());
        assert!(
            !manifest.skills_enabled
                && manifest.skills.allow.unwrap().matches("A")
                && manifest.skills.block.matches("b")
        );
        assert_eq!((manifest.heartbeat_protocol.as_deref(), manifest.expose_paths), (Some("beat"), false));
        assert_eq!(
            manifest.locked,
            [Lock::Profile, Lock::Persona, Lock::Ephemeral, Lock::Agent, Lock::TimeZone, Lock::ConversationSystem]
        );
        assert_eq!(manifest.context.nested, ["AGENTS.md", "CLAUDE.md"]);
        assert_eq!(serde_json::Value::from(manifest.inputs), json!({"a": [1, "no"]}));
    }

    #[test]
    fn nothing_and_blank_are_the_defaults() {
        let defaults = Manifest::defaults(&Id::parse("ws").unwrap());
        for yaml in [
            "",
            "\u{feff}",
            "# only a comment\n",
            "agent:\nskills:\ncontext:\nheartbeat:\nlocked:\ninputs:\nprofile:\n",
            "agent: {persona: ' ', ephemeral_system_prompt: ''}\r\nskills: {allowlist: null}\r\n",
            "\u{feff}expose_paths: true\r",
            "context: {files: []}\nheartbeat: {protocol: null}\n",
        ] {
            assert_eq!(read(yaml).unwrap(), defaults, "{yaml:?}");
        }
    }

    #[test]
    fn every_fault_is_reported_at_its_place() {
        let yaml = "agent:\n  skip_context_file: true\n  id: ''\n  name: \"a\\nb\"\n  time_zone: ' Europe/Paris '\nskills:\n  \
                    blocklists: [x]\n  allowlist:\n    - git\n    - 'a[b'\n    - ''\ncontext:\n  max_chars_per_file: lots\n  \
                    files:\n    - path: ../x\n    - path: AGENTS.md\n    - purpose: y\n    - path: a\n    - path: a\nlocked: \
                    [persna]\nexpose_paths: \"false\"\nprofile: nope\n";
        assert_eq!(
            faults(yaml),
            [
                "workspace.yaml:2:3 UNKNOWN_KEY unknown key `agent.skip_context_file`; did you mean `skip_context_files`?",
                "workspace.yaml:3:7 INVALID_VALUE `agent.id` must not be blank; leave it out for the default",
                "workspace.yaml:4:9 INVALID_VALUE `agent.name` must be one line without control characters",
                "workspace.yaml:5:14 INVALID_VALUE unknown time zone ` Europe/Paris `; did you mean `Europe/Paris`?",
                "workspace.yaml:7:3 UNKNOWN_KEY unknown key `skills.blocklists`; did you mean `blocklist`?",
                "workspace.yaml:10:7 GLOB_INVALID invalid glob `a[b`: unclosed character class; missing ']'",
                "workspace.yaml:11:7 GLOB_INVALID invalid glob ``: a glob cannot be empty: an empty list means nothing, `*` means all",
                "workspace.yaml:13:23 WRONG_TYPE `context.max_chars_per_file` must be a whole number, 0 or more, not text",
                "workspace.yaml:15:13 INVALID_VALUE `context.files[0].path` must be a path below the workspace such as `docs/RUNBOOK.md`, without `.`, `..`, `\\`, `:` or a `/` at an end",
                "workspace.yaml:16:13 INVALID_VALUE `context.files[1].path` names a file that is always looked for; give it `max_chars`, `priority` or `keep`, or remove the entry",
                "workspace.yaml:17:7 INVALID_VALUE `context.files[2].path` is required: a path below the workspace",
                "workspace.yaml:19:13 INVALID_VALUE `context.files[4].path` names a file that an entry above already names",
                "workspace.yaml:20:10 INVALID_VALUE `locked`: unknown value `persna`; known: profile, persona, ephemeral, agent, time_zone, inputs, working_directory, conversation_system",
                "workspace.yaml:21:15 WRONG_TYPE `expose_paths` must be `true` or `false`, not text",
                "workspace.yaml:22:10 INVALID_VALUE unknown profile `nope`",
            ]
        );
    }

    #[test]
    fn nested_files_have_names_without_a_folder_each_once() {
        assert_eq!(
            faults("context: {nested: [AGENTS.md, docs/AGENTS.md, .., '', AGENTS.md]}"),
            [
                "workspace.yaml:1:31 INVALID_VALUE `context.nested[1]` must be the name of a file such as `AGENTS.md`, without a folder",
                "workspace.yaml:1:47 INVALID_VALUE `context.nested[2]` must be the name of a file such as `AGENTS.md`, without a folder",
                "workspace.yaml:1:51 INVALID_VALUE `context.nested[3]` must be the name of a file such as `AGENTS.md`, without a folder",
                "workspace.yaml:1:55 INVALID_VALUE `context.nested[4]` names a file that an entry above already names",
            ]
        );
        let names = |count| (0..count).map(|n| format!("{n}.md")).collect::<Vec<_>>().join(", ");
        assert!(read(format!("context: {{nested: [{}]}}", names(8))).is_ok());
        assert_eq!(
            faults(format!("context: {{nested: [{}]}}", names(9))),
            ["workspace.yaml:1:19 INVALID_VALUE `context.nested` has more than 8 names"]
        );
    }

    #[test]
    fn a_budgets_sections_are_those_of_profiles_and_not_their_parts() {
        for (id, expected) in [
            ("workspace_context/AGENTS.md", "; parts of a section have no rule of their own, `workspace_context` has"),
            ("workspace_contxt", "; did you mean `workspace_context`?"),
        ] {
            let bytes = format!("budget: {{sections: {{{id}: {{pinned: true}}}}}}").into_bytes();
            let file = FileBytes { total: bytes.len() as u64, bytes };
            let parsed = parse(&file, &Id::parse("ws").unwrap(), &ProfileSet::built_in(), RiskPolicy::Report);
            let found = parsed.unwrap_err();
            assert_eq!(found[0].message, format!("no profile has a section `{id}`{expected}"));
        }
    }

    #[test]
    fn zones_that_do_not_exist_are_named() {
        for zone in ["Etc/Unknown", "America/New York", "UTC+5", "''", "' UTC'", "Mars/Base"] {
            let found = faults(format!("agent: {{time_zone: {zone}}}"));
            assert!(found[0].contains("unknown time zone"), "{zone}: {found:?}");
            assert!(found[0].contains(zone.trim_matches('\'')));
        }
        for zone in ["EST5EDT", "US/Pacific", "UTC", "Asia/Kolkata", "Europe/Kyiv"] {
            assert!(read(format!("agent: {{time_zone: {zone}}}")).is_ok(), "{zone}");
        }
    }

    #[test]
    fn what_is_no_yaml_text_is_an_error_with_its_place() {
        assert_eq!(
            faults(b"a: 1\nb: \xff".to_vec())[0],
            "workspace.yaml:2:4 YAML_SYNTAX not valid UTF-8 at byte 9: save the file as UTF-8"
        );
        assert!(faults("skills:\n  allowlist: [git\n")[0].contains("YAML_SYNTAX"));
        assert!(faults("- a")[0].contains("WRONG_TYPE"));
        assert!(faults("agent: {id: a}\nagent: {id: b}")[0].starts_with("workspace.yaml:2:1 DUPLICATE_KEY"));
        assert!(faults("#".repeat(MAX_YAML_BYTES + 1))[0].contains("FILE_TOO_LARGE"));
        let many: Vec<_> = (0..1000).map(|i| format!("key{i}: x")).collect();
        assert_eq!(faults(many.join("\n")).len(), yaml::MAX_FAULTS + 1);
        assert!(faults("a: 1\n---\nb: 2\n")[0].contains("second document"));
    }
}
