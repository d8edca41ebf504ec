//! A call of `AssemblePrompt`, put together step by step.

use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::{
    Agent, Budget, Channel, Conversation, Error, Format, KnowledgeSnippet, Prompt, Promptd, ResponseFormat,
    SkillFilter, Stage, User, Violation, calls::method, proto, values,
};

pub(crate) const PATH: &str = method!("PromptService", "AssemblePrompt");

/// A prompt to be assembled. What is not set is as the contract says; a clone can be changed for another turn.
#[derive(Debug, Clone)]
#[must_use = "nothing is called before `send`"]
pub struct Assemble {
    client: Promptd,
    pub(crate) request: proto::AssemblePromptRequest,
    pub(crate) format: Option<Format>,
    pub(crate) timeout: Option<Duration>,
    violations: Vec<Violation>,
}

/// Setters of the turn's plain fields.
macro_rules! turn {
    ($($(#[$about:meta])* $field:ident: $type:ty => $set:expr;)+) => {
        impl Assemble {
            $($(#[$about])*
            pub fn $field(mut self, $field: $type) -> Self {
                self.turn().$field = $set;
                self
            })+
        }
    };
}

turn! {
    /// The agent, where it is another than the workspace's.
    agent: Agent => Some(agent);
    /// Who the agent speaks with.
    user: User => Some(user);
    /// Where they speak.
    channel: Channel => Some(channel);
    /// The turn's time; the server's clock where it is not set.
    now: SystemTime => Some(values::timestamp(now));
    /// Whether this is a heartbeat.
    heartbeat: bool => heartbeat;
    /// What was found for this turn.
    knowledge: Vec<KnowledgeSnippet> => knowledge;
    /// The conversation.
    conversation: Conversation => Some(conversation);
    /// The session as it was at this position, such as the `session_position` of an earlier answer.
    session_position: u64 => Some(session_position);
    /// Where the window of an earlier prompt of the session began, for profiles that hold it.
    session_held_cut: u64 => Some(session_held_cut);
    /// The form of the reply.
    response_format: ResponseFormat => response_format.into();
    /// Leaves the workspace's files out.
    skip_context_files: bool => skip_context_files;
    /// Fewer skills than the workspace shows.
    skill_filter: SkillFilter => Some(skill_filter);
    /// Which of the workspace's files to show; all where it is empty.
    context_files: Vec<String> => context_files;
    /// The folder that the turn works in, relative to the workspace, such as `services/api`: the workspace's nested context files
    /// on the way to it are shown.
    working_directory: String => working_directory;
    /// Which call of a turn this is.
    stage: Stage => stage.into();
    /// The most that the prompt may take.
    budget: Budget => Some(budget);
}

impl Assemble {
    pub(crate) fn new(client: &Promptd, workspace: &str) -> Self {
        let request = proto::AssemblePromptRequest { workspace_id: workspace.into(), ..Default::default() };
        Self { client: client.clone(), request, format: None, timeout: None, violations: Vec::new() }
    }

    fn turn(&mut self) -> &mut proto::Turn {
        self.request.turn.get_or_insert_default()
    }

    /// The stored session that has the conversation, instead of it.
    pub fn session_id(mut self, session: impl Into<String>) -> Self {
        self.turn().session_id = session.into();
        self
    }

    /// The IANA zone of the turn's time.
    pub fn time_zone(mut self, zone: impl Into<String>) -> Self {
        self.turn().time_zone = zone.into();
        self
    }

    /// Facts of the turn, a JSON object.
    pub fn variables(mut self, variables: &Value) -> Self {
        self.turn().variables = values::object("turn.variables", variables, &mut self.violations);
        self
    }

    /// What the profile asks for, a JSON object.
    pub fn inputs(mut self, inputs: &Value) -> Self {
        self.turn().inputs = values::object("turn.inputs", inputs, &mut self.violations);
        self
    }

    /// Another persona than the workspace's.
    pub fn persona(mut self, persona: impl Into<String>) -> Self {
        self.turn().persona = Some(persona.into());
        self
    }

    /// What was said before the conversation.
    pub fn conversation_summary(mut self, summary: impl Into<String>) -> Self {
        self.turn().conversation_summary = summary.into();
        self
    }

    /// For this turn only.
    pub fn ephemeral_system_prompt(mut self, prompt: impl Into<String>) -> Self {
        self.turn().ephemeral_system_prompt = Some(prompt.into());
        self
    }

    /// Another profile than the workspace's.
    pub fn profile(mut self, profile: impl Into<String>) -> Self {
        self.request.profile = profile.into();
        self
    }

    /// An earlier revision that the server still holds.
    pub fn revision(mut self, revision: impl Into<String>) -> Self {
        self.request.revision = revision.into();
        self
    }

    /// A prompt that lost something is an error.
    pub fn strict(mut self, strict: bool) -> Self {
        self.request.strict = strict;
        self
    }

    /// Renders the prompt for a provider.
    pub fn format(mut self, format: Format) -> Self {
        self.format = Some(format);
        self.request.render_format = format.number().into();
        self
    }

    /// Counts tokens: `o200k_base` or `cl100k_base`.
    pub fn token_encoding(mut self, encoding: impl Into<String>) -> Self {
        self.request.token_encoding = encoding.into();
        self
    }

    /// Leaves out the texts of the conversation, which the request has: they are put back here.
    pub fn reference_conversation(mut self, reference: bool) -> Self {
        self.request.reference_conversation = reference;
        self
    }

    /// Leaves out the reports of sections.
    pub fn omit_sections(mut self, omit: bool) -> Self {
        self.request.omit_sections = omit;
        self
    }

    /// Says where each byte came from.
    pub fn include_spans(mut self, include: bool) -> Self {
        self.request.include_spans = include;
        self
    }

    /// How long this call may take, with its retries.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Calls the service.
    pub async fn send(self) -> Result<Prompt, Error> {
        if !self.violations.is_empty() {
            return Err(Error::refused(self.violations));
        }
        match &self.client.0.last_good {
            Some(last_good) => last_good.assemble(&self.client, &self).await,
            None => self.ask(&self.client, self.timeout.unwrap_or(self.client.0.timeout)).await,
        }
    }

    pub(crate) async fn ask(&self, client: &Promptd, timeout: Duration) -> Result<Prompt, Error> {
        let (answer, id) = client.call(PATH, &self.request, timeout).await?;
        Prompt::read(self, answer, id)
    }
}

impl Promptd {
    /// A prompt of a workspace, to be completed and sent.
    pub fn assemble(&self, workspace: &str) -> Assemble {
        Assemble::new(self, workspace)
    }
}
