//! Two live revisions of a workspace: which turns get which, and what the other calls show of them.

use promptd_contract::proto::{self, CanarySide};
use promptd_core::{
    canary::{Canary, Key, Share, bucket},
    workspace::MemoryTree,
};

use crate::rig::{Rig, ask_with, harbor};

const SALT: &str = "5b4235468db4a0c1";

/// Three tenths of the users get the candidate.
fn canary() -> Canary {
    Canary::new(Share::parse("30%").unwrap(), Key::UserId, SALT).unwrap()
}

fn candidate() -> MemoryTree {
    harbor().file("SOUL.md", "Brisk and dry.\n")
}

/// A turn of a user; of nobody where that is empty.
fn turn(user: &str) -> proto::Turn {
    let user = (!user.is_empty()).then(|| proto::User { id: user.into(), ..Default::default() });
    proto::Turn { user, ..Default::default() }
}

/// A user of each side: first of the stable one.
fn users() -> [String; 2] {
    let name = |number: u32| format!("user-{number}");
    let first = |wanted: bool| (0..1_000).map(name).find(|user| (bucket(SALT, user) < 3_000) == wanted).unwrap();
    [first(false), first(true)]
}

fn shows_candidate(answer: &proto::AssemblePromptResponse) -> bool {
    answer.messages.iter().any(|message| message.content.contains("Brisk and dry."))
}

fn revisions_of_harbor() -> proto::ListRevisionsRequest {
    proto::ListRevisionsRequest { workspace_id: "harbor".into() }
}

#[tokio::test]
async fn a_turn_gets_the_side_of_its_key_and_the_answer_says_which() {
    let rig = Rig::start().await;
    let mut client = rig.prompts().await;
    let before = client.assemble_prompt(ask_with(turn("user-1"))).await.unwrap().into_inner();
    assert_eq!(before.canary_side(), CanarySide::Unspecified);
    rig.publish_canary("harbor", harbor(), canary(), &candidate());
    let mut sides = [0, 0];
    for user in (0..50).map(|number| format!("user-{number}")).chain([String::new()]) {
        let answer = client.assemble_prompt(ask_with(turn(&user))).await.unwrap().into_inner();
        let is_candidate = !user.is_empty() && bucket(SALT, &user) < 3_000;
        let side = if is_candidate { CanarySide::Candidate } else { CanarySide::Stable };
        assert_eq!((answer.canary_side(), shows_candidate(&answer)), (side, is_candidate), "{user}");
        assert_eq!(answer.revision == before.revision, !is_candidate, "{user}");
        sides[usize::from(is_candidate)] += 1;
    }
    assert!(sides[0] > 20 && sides[1] > 5, "{sides:?}");
}

#[tokio::test]
async fn a_revision_that_is_named_is_given_whatever_the_key_says() {
    let rig = Rig::start().await;
    rig.publish("harbor", harbor().file("SOUL.md", "Older.\n"));
    rig.publish_canary("harbor", harbor(), canary(), &candidate());
    let listed = rig.workspaces().await.list_revisions(revisions_of_harbor()).await.unwrap().into_inner().revisions;
    let mut client = rig.prompts().await;
    for user in users() {
        for one in &listed {
            let request = proto::AssemblePromptRequest { revision: one.revision.clone(), ..ask_with(turn(&user)) };
            let answer = client.assemble_prompt(request).await.unwrap().into_inner();
            assert_eq!((&answer.revision, answer.canary_side), (&one.revision, one.canary_side));
        }
    }
}

#[tokio::test]
async fn revisions_are_listed_with_the_candidate_behind_what_it_was_made_from() {
    let rig = Rig::start().await;
    rig.publish("harbor", harbor().file("AGENTS.md", "Older.\n"));
    rig.publish_canary("harbor", harbor(), canary(), &candidate());
    let listed = rig.workspaces().await.list_revisions(revisions_of_harbor()).await.unwrap().into_inner().revisions;
    let sides: Vec<_> = listed.iter().map(proto::Revision::canary_side).collect();
    assert_eq!(sides, [CanarySide::Stable, CanarySide::Candidate, CanarySide::Unspecified]);
    let changed: Vec<_> = listed.iter().map(|one| one.changed_paths.join(" ")).collect();
    assert_eq!(changed, ["AGENTS.md", "SOUL.md", ""]);
    // Once it is over the candidate is a revision like others.
    rig.publish("harbor", harbor());
    let listed = rig.workspaces().await.list_revisions(revisions_of_harbor()).await.unwrap().into_inner().revisions;
    assert!(listed.iter().all(|one| one.canary_side() == CanarySide::Unspecified));
}

#[tokio::test]
async fn digests_are_of_texts_whatever_the_side() {
    let rig = Rig::start().await;
    rig.publish_canary("harbor", harbor(), canary(), &candidate());
    let mut client = rig.prompts().await;
    let mut held = Vec::new();
    for user in users() {
        let now = Some(prost_types::Timestamp::default());
        let turn = proto::Turn { now, ..turn(&user) };
        let whole = client.assemble_prompt(ask_with(turn.clone())).await.unwrap().into_inner();
        assert!(!whole.not_modified && !held.contains(&whole.digest));
        held.push(whole.digest);
        let request = proto::AssemblePromptRequest { if_none_match: held.clone(), ..ask_with(turn) };
        let again = client.assemble_prompt(request).await.unwrap().into_inner();
        assert!(again.not_modified && again.canary_side == whole.canary_side);
    }
}

#[tokio::test]
async fn a_watch_follows_the_stable_side() {
    let rig = Rig::start().await;
    let watch = proto::WatchWorkspaceRequest { workspace_id: "harbor".into(), ..Default::default() };
    let mut stream = rig.workspaces().await.watch_workspace(watch).await.unwrap().into_inner();
    let first = stream.message().await.unwrap().unwrap().workspace.unwrap().revision;
    rig.publish_canary("harbor", harbor(), canary(), &candidate());
    rig.publish("harbor", candidate());
    let next = stream.message().await.unwrap().unwrap();
    assert_eq!(next.changed_paths, ["SOUL.md"], "what all turns get");
    assert_ne!(next.workspace.unwrap().revision, first);
}

#[tokio::test]
async fn a_skill_is_read_of_the_side_that_showed_it() {
    let skill = |body: &str| format!("---\nname: tides\ndescription: Tells the tides.\n---\n{body}\n");
    let rig = Rig::start().await;
    let stable = harbor().file("skills/tides/SKILL.md", skill("Look it up."));
    let tried =
        stable.clone().file("skills/tides/SKILL.md", skill("Ask the pilot.")).file("skills/tides/table.csv", "1");
    rig.publish_canary("harbor", stable, canary(), &tried);
    let (mut prompts, mut workspaces) = (rig.prompts().await, rig.workspaces().await);
    let mut read = async |revision: &str, file: &str| {
        let request = proto::ReadSkillRequest {
            workspace_id: "harbor".into(),
            name: "tides".into(),
            file: file.into(),
            revision: revision.into(),
            ..Default::default()
        };
        let answer = workspaces.read_skill(request).await.map(tonic::Response::into_inner);
        answer.map(|answer| String::from_utf8(answer.content).unwrap()).map_err(|status| status.code())
    };
    for (user, body, table) in
        [(&users()[0], "Look it up.", Err(tonic::Code::NotFound)), (&users()[1], "Ask the pilot.", Ok("1".to_owned()))]
    {
        let revision = prompts.assemble_prompt(ask_with(turn(user))).await.unwrap().into_inner().revision;
        assert_eq!(read(&revision, "").await, Ok(skill(body)));
        assert_eq!(read(&revision, "table.csv").await, table);
    }
    assert_eq!(read("", "").await, Ok(skill("Look it up.")), "the stable side");
}
