//! What an operator or a caller hides is in no answer: random revisions and turns, under every profile and format.

use std::{
    cell::Cell,
    sync::atomic::{AtomicUsize, Ordering},
};

use promptd::grpc::{
    Tokens,
    api::{prompt_service_client::PromptServiceClient, workspace_service_client::WorkspaceServiceClient},
};
use promptd_contract::proto;
use promptd_core::{profile::ProfileSet, workspace::MemoryTree};
use proptest::{collection::vec, option, prelude::*, sample::subsequence, test_runner::TestRunner};
use prost_types::{Struct, Value, value::Kind};
use tonic::{Code, Status, transport::Channel};

use crate::{auth::by, rig::Rig};

/// Skills by name, each of which is also in their descriptions and bodies, and in nothing else.
const SKILLS: [&str; 4] = ["quartz", "ribbon", "saddle", "thimble"];
/// The context files, each with a word that is in nothing else.
const FILES: [(&str, &str); 2] = [("AGENTS.md", "walnut"), ("SOUL.md", "yarrow")];
const LOCKS: [&str; 7] = ["persona", "ephemeral", "agent", "time_zone", "inputs", "conversation_system", "profile"];
const TOKEN: &str = "caller-token-0000001";

/// A list of skills, as globs.
type Names = Vec<&'static str>;

#[derive(Debug, Clone)]
struct Filter {
    allow: Option<Names>,
    block: Names,
}

#[derive(Debug, Clone)]
struct Revision {
    /// Those that there are, and whether each is hidden by its own front matter.
    skills: Vec<(&'static str, bool)>,
    filter: Filter,
    enabled: bool,
    locks: Names,
    /// What keeps the context files out.
    skips: Option<&'static str>,
}

#[derive(Debug, Clone)]
struct Turn {
    filter: Option<Filter>,
    /// What it sets of that which can be locked.
    sets: Names,
    skips: bool,
    files: Names,
    /// The skill that it activates, and whether it does so by a message.
    activates: Option<(&'static str, bool)>,
    format: i32,
}

#[derive(Debug, Clone)]
struct Case {
    /// Oldest first.
    revisions: Vec<Revision>,
    /// Which of them is asked for; `None`: the newest.
    pin: Option<prop::sample::Index>,
    token: Option<Names>,
    turn: Turn,
}

fn names() -> impl Strategy<Value = Names> {
    subsequence(SKILLS.to_vec(), 0..=SKILLS.len())
}

fn filter() -> impl Strategy<Value = Filter> {
    (option::of(names()), subsequence(SKILLS.to_vec(), 0..=2)).prop_map(|(allow, block)| Filter { allow, block })
}

fn revision() -> impl Strategy<Value = Revision> {
    let skills = names().prop_flat_map(|names| {
        let hidden = vec(prop::bool::weighted(0.3), names.len());
        hidden.prop_map(move |hidden| names.iter().copied().zip(hidden).collect())
    });
    let skips = prop::sample::select(vec![
        "agent: {skip_context_files: true}",
        "context: {max_chars_total: 0}",
        "context: {max_chars_per_file: 0}",
    ]);
    let locks = subsequence(LOCKS.to_vec(), 0..=2);
    (skills, filter(), prop::bool::weighted(0.8), locks, option::weighted(0.3, skips))
        .prop_map(|(skills, filter, enabled, locks, skips)| Revision { skills, filter, enabled, locks, skips })
}

fn turn() -> impl Strategy<Value = Turn> {
    let sets = subsequence(LOCKS.to_vec(), 0..=1);
    let files = subsequence(FILES.map(|(path, _)| path).to_vec(), 0..=1);
    let activates = option::of((prop::sample::select(SKILLS.to_vec()), any::<bool>()));
    (option::of(filter()), sets, prop::bool::weighted(0.2), files, activates, 0..6).prop_map(
        |(filter, sets, skips, files, activates, format)| Turn { filter, sets, skips, files, activates, format },
    )
}

fn case() -> impl Strategy<Value = Case> {
    (vec(revision(), 1..4), option::of(any::<prop::sample::Index>()), option::of(names()), turn())
        .prop_map(|(revisions, pin, token, turn)| Case { revisions, pin, token, turn })
}

impl Filter {
    fn hides(&self, skill: &str) -> bool {
        self.block.contains(&skill) || self.allow.as_ref().is_some_and(|allow| !allow.contains(&skill))
    }

    fn message(&self) -> proto::SkillFilter {
        let globs = |names: &Names| proto::NameGlobs { globs: names.iter().map(ToString::to_string).collect() };
        proto::SkillFilter { allowlist: self.allow.as_ref().map(globs), blocklist: Some(globs(&self.block)) }
    }
}

impl Revision {
    fn hides(&self, skill: &str) -> bool {
        !self.enabled || self.filter.hides(skill) || self.skills.contains(&(skill, true))
    }

    fn locks(&self, what: &str) -> bool {
        self.locks.contains(&what) || (what == "conversation_system" && self.locks.contains(&"ephemeral"))
    }

    fn tree(&self) -> MemoryTree {
        let Filter { allow, block } = &self.filter;
        let allow = allow.as_ref().map(|allow| format!(", allowlist: [{}]", allow.join(", "))).unwrap_or_default();
        let manifest = format!(
            "skills: {{enabled: {}, blocklist: [{}]{allow}}}\nlocked: [{}]\n{}\n",
            self.enabled,
            block.join(", "),
            self.locks.join(", "),
            self.skips.unwrap_or_default()
        );
        let tree = FILES.iter().fold(MemoryTree::new(), |tree, (path, word)| tree.file(path, format!("A {word}.\n")));
        self.skills.iter().fold(tree.file("workspace.yaml", manifest), |tree, (name, hidden)| {
            // With a character that is reported as a risk, so that there are findings too.
            let text =
                format!("---\nname: {name}\ndescription: A {name}.\nhidden: {hidden}\n---\nThe {name}\u{200b}.\n");
            tree.file(&format!("skills/{name}/SKILL.md"), text)
        })
    }
}

impl Turn {
    fn message(&self, profile: &str) -> proto::Turn {
        let sets = |what: &str| self.sets.contains(&what);
        let text = |text: &str| Value { kind: Some(Kind::StringValue(text.to_owned())) };
        let say = |role: proto::Role, content: String| proto::ConversationMessage {
            role: role.into(),
            content,
            ..Default::default()
        };
        let system = sets("conversation_system").then(|| say(proto::Role::System, "Obey.".into()));
        let user = match self.activates {
            Some((skill, true)) => format!("/{skill} now"),
            _ => "Hello.".to_owned(),
        };
        let messages = system.into_iter().chain([say(proto::Role::User, user)]).collect();
        let inputs = match (self.activates, profile) {
            (Some((skill, false)), "kai-remote") if !sets("inputs") => Some(("active_skill", text(skill))),
            (_, "kai-remote") if sets("inputs") => Some(("model", text("m"))),
            (_, "kern") if sets("inputs") => Some(("notes_summary", text("Short."))),
            _ => None,
        };
        proto::Turn {
            agent: sets("agent").then(|| proto::Agent { id: "other".into(), ..Default::default() }),
            persona: sets("persona").then(|| "Rude.".into()),
            ephemeral_system_prompt: sets("ephemeral").then(|| "Once.".into()),
            time_zone: if sets("time_zone") { "Asia/Tokyo".into() } else { String::new() },
            skip_context_files: self.skips,
            context_files: self.files.iter().map(ToString::to_string).collect(),
            skill_filter: self.filter.as_ref().map(Filter::message),
            conversation: Some(proto::Conversation { messages, ..Default::default() }),
            inputs: inputs.map(|(name, value)| Struct { fields: [(name.to_owned(), value)].into() }),
            ..Default::default()
        }
    }
}

/// The clients, and how often there was something to see, and something to refuse.
struct Calls {
    rig: Rig,
    prompts: PromptServiceClient<Channel>,
    workspaces: WorkspaceServiceClient<Channel>,
    next: AtomicUsize,
    shown: [Cell<usize>; 2],
    locked: Cell<usize>,
    expired: Cell<usize>,
    changed: Cell<usize>,
    files: Cell<usize>,
}

fn request(workspace: &str, profile: &str, pin: &str, turn: &Turn) -> proto::AssemblePromptRequest {
    proto::AssemblePromptRequest {
        workspace_id: workspace.to_owned(),
        profile: profile.to_owned(),
        revision: pin.to_owned(),
        turn: Some(turn.message(profile)),
        render_format: turn.format,
        include_spans: true,
        ..Default::default()
    }
}

fn count(cell: &Cell<usize>, more: usize) {
    cell.set(cell.get() + more);
}

impl Calls {
    async fn check(&self, case: &Case, profiles: &[String]) -> Result<(), TestCaseError> {
        let workspace = format!("ws-{}", self.next.fetch_add(1, Ordering::SeqCst));
        let token = case.token.as_ref().map(|names| format!(", skills: [{}]", names.join(", "))).unwrap_or_default();
        let tokens = format!("tokens:\n  - {{name: caller, token: {TOKEN}{token}}}\n");
        self.rig.access.replace(Tokens::parse(&tokens, "tokens.yaml").unwrap());
        let mut seen = Vec::new();
        for revision in &case.revisions {
            self.rig.publish(&workspace, revision.tree());
            let get = proto::GetWorkspaceRequest { workspace_id: workspace.clone(), ..Default::default() };
            let now =
                self.workspaces.clone().get_workspace(by(TOKEN, get)).await.unwrap().into_inner().workspace.unwrap();
            hides_from_token(case, &now)?;
            let warnings = now.findings.iter().filter(|found| found.severity() == proto::Severity::Warning);
            prop_assert_eq!(warnings.count(), now.warnings as usize, "{:?}", now);
            let list = proto::ListWorkspacesRequest { query: workspace.clone(), ..Default::default() };
            let listed = self.workspaces.clone().list_workspaces(by(TOKEN, list)).await.unwrap().into_inner();
            let summary = proto::Workspace { context_files: Vec::new(), findings: Vec::new(), ..now.clone() };
            prop_assert_eq!(&listed.workspaces, &[summary]);
            seen.push(now.revision);
        }
        let newest = case.revisions.last().unwrap();
        let (served, pin) = match case.pin {
            Some(index) => (index.get(&case.revisions), index.get(&seen).clone()),
            None => (newest, String::new()),
        };
        self.check_skills(case, newest, &workspace).await?;
        self.check_revisions(case, &workspace, &seen).await?;
        self.check_files(case, newest, &workspace).await?;
        // A turn that sets what is locked, for each lock; and the random one.
        let locked = newest.locks.iter().map(|lock| Turn { sets: vec![lock], ..case.turn.clone() });
        for (turn, profile) in locked.zip(profiles.iter().cycle().skip(self.next.load(Ordering::SeqCst))) {
            let profile = if turn.sets == ["inputs"] { "kai-remote" } else { profile };
            self.check_answer(case, &turn, served, newest, request(&workspace, profile, &pin, &turn)).await?;
        }
        for profile in profiles {
            self.check_answer(case, &case.turn, served, newest, request(&workspace, profile, &pin, &case.turn)).await?;
        }
        self.rig.remove(&workspace);
        Ok(())
    }

    async fn check_answer(
        &self,
        case: &Case,
        turn: &Turn,
        served: &Revision,
        newest: &Revision,
        request: proto::AssemblePromptRequest,
    ) -> Result<(), TestCaseError> {
        let has_inputs = request.turn.as_ref().is_some_and(|turn| turn.inputs.is_some());
        let locked = LOCKS.iter().filter(|lock| newest.locks(lock)).any(|lock| match *lock {
            "inputs" => has_inputs,
            // Every request names one.
            "profile" => true,
            lock => turn.sets.contains(&lock),
        });
        let profile = request.profile.clone();
        match self.prompts.clone().assemble_prompt(by(TOKEN, request)).await {
            Ok(_) if locked => Err(TestCaseError::fail(format!("{:?} is open under {profile}", newest.locks))),
            Ok(answer) => self.check_prompt(case, served, newest, &format!("{:?}", answer.into_inner())),
            Err(status) => self.check_refused(case, newest, &status),
        }
    }

    fn check_prompt(
        &self,
        case: &Case,
        served: &Revision,
        newest: &Revision,
        answer: &str,
    ) -> Result<(), TestCaseError> {
        let turn = &case.turn;
        // The caller's own message.
        let own = turn.activates.map(|(skill, _)| format!("/{skill} now")).unwrap_or_default();
        let answer = if own.is_empty() { answer.to_owned() } else { answer.replace(&own, "") };
        for skill in SKILLS {
            let by_turn = turn.filter.as_ref().is_some_and(|filter| filter.hides(skill));
            let by_token = case.token.as_ref().is_some_and(|token| !token.contains(&skill));
            let hidden = served.hides(skill) || newest.hides(skill) || by_turn || by_token;
            let shown = answer.contains(skill);
            prop_assert!(!(hidden && shown), "`{}` in {}", skill, answer);
            count(&self.shown[0], usize::from(shown));
        }
        for (path, word) in FILES {
            let others = !turn.files.is_empty() && !turn.files.contains(&path);
            let hidden = served.skips.is_some() || newest.skips.is_some() || turn.skips || others;
            let shown = answer.contains(word);
            prop_assert!(!(hidden && shown), "`{}` in {}", word, answer);
            count(&self.shown[1], usize::from(shown));
        }
        Ok(())
    }

    /// A refusal has a reason of its own, and names nothing that is hidden.
    fn check_refused(&self, case: &Case, newest: &Revision, status: &Status) -> Result<(), TestCaseError> {
        let of_code = match status.code() {
            Code::PermissionDenied => &self.locked,
            Code::FailedPrecondition | Code::NotFound => &self.expired,
            // An input that is not the name of a skill that this caller may see, or a file that the profile does not have.
            Code::InvalidArgument => return hides_from_token_but(case, newest, status),
            _ => return Err(TestCaseError::fail(format!("{status:?}"))),
        };
        count(of_code, 1);
        hides_from_token_but(case, newest, status)
    }

    /// Those that are listed, and no others, can be pinned, and say what the token admits.
    async fn check_revisions(&self, case: &Case, workspace: &str, seen: &[String]) -> Result<(), TestCaseError> {
        let list = proto::ListRevisionsRequest { workspace_id: workspace.to_owned() };
        let listed = self.workspaces.clone().list_revisions(by(TOKEN, list)).await.unwrap().into_inner();
        hides_from_token(case, &listed)?;
        prop_assert_eq!(Some(&listed.revisions[0].revision), seen.last());
        for revision in seen {
            let pinned = request(workspace, "", revision, &Turn { sets: Vec::new(), ..case.turn.clone() });
            let pinned = self.prompts.clone().assemble_prompt(by(TOKEN, pinned)).await;
            let is_held = pinned.err().is_none_or(|status| !status.message().contains("no longer held"));
            prop_assert_eq!(is_held, listed.revisions.iter().any(|listed| listed.revision == *revision));
        }
        let paths = listed.revisions.iter().flat_map(|revision| &revision.changed_paths);
        count(&self.changed, paths.filter(|path| path.starts_with("skills/")).count());
        Ok(())
    }

    /// A file is as hidden as what prompts show of it.
    async fn check_files(&self, case: &Case, newest: &Revision, workspace: &str) -> Result<(), TestCaseError> {
        let skills = newest.skills.iter().map(|(name, _)| format!("skills/{name}/SKILL.md"));
        let paths = ["workspace.yaml", "AGENTS.md", "SOUL.md"].map(str::to_owned).into_iter().chain(skills);
        for path in paths {
            let read = proto::ReadFileRequest { workspace_id: workspace.to_owned(), path: path.clone() };
            let read = self.workspaces.clone().read_file(by(TOKEN, read)).await;
            let expected = match path.as_str() {
                "workspace.yaml" if case.token.is_some() => Code::PermissionDenied,
                "AGENTS.md" | "SOUL.md" if newest.skips.is_some() => Code::PermissionDenied,
                "workspace.yaml" | "AGENTS.md" | "SOUL.md" => Code::Ok,
                _ => Code::NotFound,
            };
            prop_assert_eq!(read.as_ref().err().map_or(Code::Ok, Status::code), expected, "{}: {:?}", path, read);
            match read {
                Ok(read) => {
                    hides_from_token(case, &String::from_utf8(read.into_inner().content))?;
                    count(&self.files, 1);
                }
                // The path is the caller's own.
                Err(status) => hides_from_token(case, &format!("{status:?}").replace(&path, ""))?,
            }
        }
        Ok(())
    }

    async fn check_skills(&self, case: &Case, newest: &Revision, workspace: &str) -> Result<(), TestCaseError> {
        let filter = case.turn.filter.as_ref();
        let list = proto::ListSkillsRequest {
            workspace_id: workspace.to_owned(),
            skill_filter: filter.map(Filter::message),
            ..Default::default()
        };
        let listed = self.workspaces.clone().list_skills(by(TOKEN, list)).await.unwrap().into_inner();
        hides_from_token(case, &listed)?;
        for skill in SKILLS {
            let by_token = case.token.as_ref().is_some_and(|token| !token.contains(&skill));
            let hidden = newest.hides(skill) || by_token || filter.is_some_and(|filter| filter.hides(skill));
            let is_there = newest.skills.iter().any(|(name, _)| *name == skill);
            let read = proto::ReadSkillRequest {
                workspace_id: workspace.to_owned(),
                name: skill.to_owned(),
                skill_filter: filter.map(Filter::message),
                ..Default::default()
            };
            let read = self.workspaces.clone().read_skill(by(TOKEN, read)).await;
            prop_assert_eq!(read.is_ok(), is_there && !hidden, "{} {:?}", skill, read);
            let shown = listed.skills.iter().any(|listed| listed.name == skill && listed.shown);
            prop_assert_eq!(shown, is_there && !hidden, "{}", skill);
        }
        Ok(())
    }
}

#[test]
fn what_a_token_a_lock_a_filter_or_skip_hides_is_in_no_answer() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let calls = runtime.block_on(async {
        let rig = Rig::start().await;
        let (prompts, workspaces) = (rig.prompts().await, rig.workspaces().await);
        let next = AtomicUsize::new(0);
        let [locked, expired, changed, files] = [const { Cell::new(0) }; 4];
        Calls { rig, prompts, workspaces, next, shown: Default::default(), locked, expired, changed, files }
    });
    let profiles: Vec<_> = ProfileSet::built_in().iter().map(|profile| profile.name.to_string()).collect();
    assert!(profiles.len() >= 8, "{profiles:?}");
    let mut runner = TestRunner::new(ProptestConfig { cases: 96, failure_persistence: None, ..Default::default() });
    let checked = runner.run(&case(), |case| runtime.block_on(calls.check(&case, &profiles)));
    checked.unwrap_or_else(|error| panic!("{error}"));
    // Each of them must have been there to be hidden.
    for (what, seen) in [
        ("skills", &calls.shown[0]),
        ("files", &calls.shown[1]),
        ("locks", &calls.locked),
        ("old revisions", &calls.expired),
        ("changed skills", &calls.changed),
        ("read files", &calls.files),
    ] {
        assert!(seen.get() > 10, "{what}: {}", seen.get());
    }
}

fn hides_from_token_but(case: &Case, newest: &Revision, status: &Status) -> Result<(), TestCaseError> {
    let own = case.turn.activates.map(|(skill, _)| skill);
    let text = format!("{status:?}");
    for skill in SKILLS.into_iter().filter(|skill| Some(*skill) != own) {
        let by_token = case.token.as_ref().is_some_and(|token| !token.contains(&skill));
        prop_assert!(!((by_token || newest.hides(skill)) && text.contains(skill)), "`{}` in {}", skill, text);
    }
    Ok(())
}

/// What the token does not admit does not exist for its caller.
fn hides_from_token(case: &Case, answer: &impl std::fmt::Debug) -> Result<(), TestCaseError> {
    let text = format!("{answer:?}");
    for skill in SKILLS.iter().filter(|skill| case.token.as_ref().is_some_and(|token| !token.contains(skill))) {
        prop_assert!(!text.contains(skill), "`{}` in {}", skill, text);
    }
    Ok(())
}
