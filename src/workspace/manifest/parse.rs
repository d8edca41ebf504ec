//! From the bytes of `workspace.yaml` to a [`Manifest`], or to every fault in them.

use crate::{
    finding::{Code, Finding, Place},
    globs::{NameGlobs, SkillFilter},
    id::Id,
    profile::ProfileSet,
    settings::RiskPolicy,
    workspace::{
        manifest::{AgentSettings, ContextSettings, Lock, MANIFEST, Manifest, values},
        tree::FileBytes,
    },
    yaml::{self, Fields, MAX_YAML_BYTES, Mark},
};

/// Parses `workspace.yaml`. The findings of the good case are the risks of the texts in it.
pub(in crate::workspace) fn parse(
    file: &FileBytes,
    id: &Id,
    profiles: &ProfileSet,
    risks: RiskPolicy,
) -> Result<(Manifest, Vec<Finding>), Vec<Finding>> {
    let text = text_of(file).map_err(|fault| vec![fault])?;
    let into_findings =
        |faults: Vec<yaml::Fault>| faults.into_iter().map(|fault| fault.into_finding(MANIFEST)).collect::<Vec<_>>();
    let node = yaml::parse(text).map_err(into_findings)?;
    let faults = yaml::Faults::default();
    let mut reader = values::Reader { risks, findings: Vec::new() };
    let manifest = decode(Fields::root(&node, &faults), id, profiles, &mut reader);
    let faults = into_findings(faults.into_vec());
    if faults.is_empty() { Ok((manifest, reader.findings)) } else { Err(faults) }
}

fn text_of(file: &FileBytes) -> Result<&str, Finding> {
    if file.total > MAX_YAML_BYTES as u64 || file.bytes.len() as u64 != file.total {
        let message = format!("{MANIFEST} has {} bytes; at most {MAX_YAML_BYTES} are read", file.total);
        return Err(Finding::new(Code::FileTooLarge, Place::file(MANIFEST), message));
    }
    std::str::from_utf8(&file.bytes).map_err(|error| {
        let good = String::from_utf8_lossy(&file.bytes[..error.valid_up_to()]);
        let line = good.matches('\n').count() + 1;
        let column = good.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let clamp = |n| u32::try_from(n).unwrap_or(u32::MAX);
        let place = Place::at(MANIFEST, clamp(line), clamp(column));
        Finding::new(Code::YamlSyntax, place, "not valid UTF-8: save the file as UTF-8")
    })
}

fn decode(mut root: Fields<'_, '_>, id: &Id, profiles: &ProfileSet, reader: &mut values::Reader) -> Manifest {
    let defaults = Manifest::defaults(id);
    let manifest = Manifest {
        agent: agent(root.fields("agent"), defaults.agent, reader),
        profile: profile(&mut root, profiles).unwrap_or(defaults.profile),
        context: context(root.fields("context"), defaults.context),
        heartbeat_protocol: heartbeat(root.fields("heartbeat"), reader),
        expose_paths: root.bool("expose_paths").unwrap_or(defaults.expose_paths),
        locked: locked(&mut root),
        inputs: root.pairs("inputs").iter().map(|pair| (pair.key.clone(), pair.value.to_json())).collect(),
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
        Ok(_) => wrong(format!("`profile`: there is no profile `{name}`")),
    }
}

fn context(mut fields: Fields<'_, '_>, defaults: ContextSettings) -> ContextSettings {
    let context = ContextSettings {
        max_chars_per_file: fields.count("max_chars_per_file").unwrap_or(defaults.max_chars_per_file),
        max_chars_total: fields.count("max_chars_total").unwrap_or(defaults.max_chars_total),
        files: values::extra_files(&mut fields),
    };
    fields.finish();
    context
}

fn skills(mut fields: Fields<'_, '_>) -> (bool, SkillFilter) {
    let enabled = fields.bool("enabled").unwrap_or(true);
    let allow = globs(&mut fields, "allowlist");
    let block = globs(&mut fields, "blocklist").unwrap_or_default();
    fields.finish();
    (enabled, SkillFilter { allow, block })
}

/// Each bad glob is a fault at its own line.
fn globs(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<NameGlobs> {
    let texts = fields.texts(key)?;
    let name = fields.name(key);
    let fault = |at: Mark, error: String| fields.faults().add(Code::GlobInvalid, at, format!("`{name}`: {error}"));
    let mut good = Vec::with_capacity(texts.len());
    for (glob, at) in texts {
        match NameGlobs::compile([glob]) {
            Ok(_) => good.push(glob),
            Err(error) => fault(at, error.to_string()),
        }
    }
    NameGlobs::compile(good).map_err(|error| fault(fields.mark(key), error.to_string())).ok()
}

fn heartbeat(mut fields: Fields<'_, '_>, reader: &mut values::Reader) -> Option<String> {
    let protocol = reader.prose(&mut fields, "protocol");
    fields.finish();
    protocol
}

fn locked(root: &mut Fields<'_, '_>) -> Vec<Lock> {
    let mut locks = Vec::new();
    for (name, at) in root.texts("locked").unwrap_or_default() {
        match Lock::NAMES.iter().find(|(known, _)| *known == name) {
            Some((_, lock)) => locks.push(*lock),
            None => {
                let known: Vec<_> = Lock::NAMES.iter().map(|(known, _)| *known).collect();
                let message = format!("`locked`: `{name}` is none of {}", known.join(", "));
                root.faults().add(Code::InvalidValue, at, message);
            }
        }
    }
    locks.sort_unstable();
    locks.dedup();
    locks
}
