//! Calls at random: ids that exist and ids that do not, users, texts, names and digests that never come twice.

use promptd::grpc::api::{
    prompt_service_client::PromptServiceClient, workspace_service_client::WorkspaceServiceClient,
};
use promptd_contract::proto;
use tonic::{Code, Status, transport::Channel};

use super::site::WORKSPACES;

/// SplitMix64: the same seed gives the same calls.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    /// A word that never came before.
    fn word(&mut self) -> String {
        format!("w{:x}", self.next())
    }

    fn text(&mut self) -> String {
        let words = self.below(60);
        (0..words).map(|_| self.word() + " ").collect()
    }

    fn digest(&mut self) -> String {
        let [a, b, c, d] = [0; 4].map(|_| self.next());
        format!("{a:016x}{b:016x}{c:016x}{d:016x}")
    }

    /// Half of them exist; of the others, some are malformed.
    fn workspace(&mut self) -> String {
        match self.below(10) {
            0..5 => WORKSPACES[self.below(WORKSPACES.len())].to_owned(),
            5..9 => self.word(),
            _ => format!("../{}", self.word()),
        }
    }

    fn one_in(&mut self, count: usize, text: impl FnOnce(&mut Self) -> String) -> String {
        if self.below(count) == 0 { text(self) } else { String::new() }
    }
}

/// Both clients of one connection.
#[derive(Clone)]
pub struct Clients {
    prompts: PromptServiceClient<Channel>,
    workspaces: WorkspaceServiceClient<Channel>,
}

impl Clients {
    pub async fn connect(address: &str) -> Self {
        let channel = Channel::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap();
        Self { prompts: PromptServiceClient::new(channel.clone()), workspaces: WorkspaceServiceClient::new(channel) }
    }

    /// Makes one call, and says how it ended.
    pub async fn call(&mut self, random: &mut Random) -> Code {
        let workspace_id = random.workspace();
        let ended = match random.below(20) {
            0 => {
                let request = proto::ParseReplyRequest {
                    workspace_id,
                    text: random.text(),
                    heartbeat: random.below(2) == 0,
                    ..Default::default()
                };
                self.prompts.parse_reply(request).await.map(drop)
            }
            1 => self
                .workspaces
                .get_workspace(proto::GetWorkspaceRequest { workspace_id, ..Default::default() })
                .await
                .map(drop),
            2 => {
                let name = if random.below(2) == 0 { "tides".into() } else { random.word() };
                let request = proto::ReadSkillRequest { workspace_id, name, ..Default::default() };
                self.workspaces.read_skill(request).await.map(drop)
            }
            3 => self.watch(workspace_id, random.digest()).await,
            _ => self.prompts.assemble_prompt(assemble(workspace_id, random)).await.map(drop),
        };
        ended.map_or_else(|status| status.code(), |()| Code::Ok)
    }

    /// Opens a watch and leaves it after the first message.
    async fn watch(&mut self, workspace_id: String, known_revision: String) -> Result<(), Status> {
        let request = proto::WatchWorkspaceRequest { workspace_id, known_revision };
        let mut states = self.workspaces.watch_workspace(request).await?.into_inner();
        states.message().await.map(drop)
    }
}

fn assemble(workspace_id: String, random: &mut Random) -> proto::AssemblePromptRequest {
    let user = proto::User { id: random.word(), name: random.word() };
    let channel = proto::Channel { name: random.word(), group_id: random.word(), ..Default::default() };
    let variable = prost_types::Value { kind: Some(prost_types::value::Kind::StringValue(random.word())) };
    let snippet = proto::KnowledgeSnippet { content: random.text(), source: random.word(), ..Default::default() };
    let filter =
        proto::SkillFilter { allowlist: Some(proto::NameGlobs { globs: vec![random.word()] }), blocklist: None };
    let turn = proto::Turn {
        agent: Some(proto::Agent { id: random.word(), name: random.word() }),
        user: Some(user),
        channel: Some(channel),
        time_zone: random.one_in(20, Random::word),
        heartbeat: random.below(10) == 0,
        variables: Some(prost_types::Struct { fields: [(random.word(), variable)].into() }),
        knowledge: vec![snippet],
        conversation_summary: random.text(),
        ephemeral_system_prompt: Some(random.text()),
        skill_filter: (random.below(4) == 0).then_some(filter),
        ..Default::default()
    };
    proto::AssemblePromptRequest {
        workspace_id,
        turn: Some(turn),
        profile: random.one_in(20, Random::word),
        revision: random.one_in(20, Random::digest),
        if_none_match: vec![random.digest()],
        token_encoding: random.one_in(20, |_| "o200k_base".into()),
        ..Default::default()
    }
}
