//! The methods of the protocol, each handed to what it is about.

use std::{borrow::Cow, sync::Arc};

use http::request::Parts;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, GetPromptRequestParams,
        GetPromptResponse, GetSkillRequestParams, GetSkillResult, Implementation, InitializeRequestParams,
        InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult,
        ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceDirectoryRequestParams,
        ReadResourceDirectoryResult, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
        SubscribeRequestMethod, SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestMethod,
        UnsubscribeRequestParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};

use crate::{
    Failure, Promptd,
    client::Client,
    http::workspace_of,
    prompts, resources, skills,
    subscriptions::{self, AtRevision, Subscribed},
    tools,
};

/// What a client is told of this server, for the model.
const INSTRUCTIONS: &str = "Skills, context files and prompts of a workspace of promptd. Skills are at skill://WORKSPACE/NAME/SKILL.md; \
    the tool `read_skill` reads them too. The prompts are what the workspace's agent is told; the tool `findings` says what is wrong with its files.";

/// The revisions of the protocol that are served, the oldest first.
const VERSIONS: &[ProtocolVersion] = &[ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28];

/// The methods that have parameters, except for those of one revision alone.
const WITH_PARAMS: &[&str] = &[
    "prompts/get",
    "prompts/list",
    "resources/directory/read",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "skills/get",
    "skills/list",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
];

/// A server for one request by HTTP, or for one client on standard input and output.
#[derive(Clone)]
pub(crate) struct Server {
    promptd: Arc<dyn Promptd>,
    transport: Transport,
}

/// Where requests come from.
#[derive(Clone)]
enum Transport {
    /// Each by itself: nothing is kept between two of them, so that any replica can answer the next.
    Http,
    /// One client, which is told of changes without asking.
    Stdio { workspace: Option<String>, subscribed: Arc<Subscribed> },
}

impl Server {
    pub(crate) fn by_http(promptd: Arc<dyn Promptd>) -> Self {
        Self { promptd, transport: Transport::Http }
    }

    pub(crate) fn by_stdio(promptd: Arc<dyn Promptd>, workspace: Option<String>) -> Self {
        Self { promptd, transport: Transport::Stdio { workspace, subscribed: Arc::default() } }
    }

    /// promptd's calls for a request.
    fn client(&self, context: &RequestContext<RoleServer>) -> Client {
        match &self.transport {
            Transport::Http => {
                let from = context.extensions.get::<Parts>();
                let named = from.and_then(|parts| workspace_of(&parts.uri)).map(str::to_owned);
                Client::new(Arc::clone(&self.promptd), from.cloned(), named)
            }
            Transport::Stdio { workspace, .. } => Client::new(Arc::clone(&self.promptd), None, workspace.clone()),
        }
    }
}

fn cursor(request: Option<PaginatedRequestParams>) -> Option<String> {
    request.and_then(|request| request.cursor)
}

/// That the first page of a list is asked for, which has no other.
fn on_one_page(cursor: Option<&str>) -> Result<(), Failure> {
    match cursor {
        None => Ok(()),
        Some(_) => Err(Failure::invalid("the cursor is not one of this list; start again without one")),
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_prompts()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_skills_with_directory_read()
            .enable_tools();
        let name = Implementation::new("promptd", env!("CARGO_PKG_VERSION")).with_title("promptd");
        ServerConfig::new(capabilities.build()).with_server_info(name).with_instructions(INSTRUCTIONS)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(VERSIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let mut result = self.negotiate_initialize(&request)?;
        context.peer.set_peer_info(request);
        if let (Transport::Http, Some(resources)) = (&self.transport, &mut result.capabilities.resources) {
            // By this revision changes are told in a session, which by HTTP there is none of.
            (resources.subscribe, resources.list_changed) = (None, None);
        }
        Ok(result)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let Transport::Stdio { workspace, subscribed } = &self.transport else { return };
        if !subscribed.begins() {
            return;
        }
        let client = Client::new(Arc::clone(&self.promptd), None, workspace.clone());
        let (subscribed, peer) = (Arc::clone(subscribed), context.peer);
        tokio::spawn(async move { subscribed.tell(&client, &peer).await });
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        resources::list(&self.client(&context), cursor(request)).await
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        on_one_page(cursor(request).as_deref())?;
        Ok(resources::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Ok(resources::read(&self.client(&context), &request.uri).await?.into())
    }

    async fn list_skills(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        skills::list(&self.client(&context), cursor(request)).await
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        skills::get(&self.client(&context), &request.uri).await
    }

    async fn read_resource_directory(
        &self,
        request: ReadResourceDirectoryRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceDirectoryResult, ErrorData> {
        on_one_page(request.cursor.as_deref())?;
        skills::directory(&self.client(&context), &request.uri).await
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        prompts::list(&self.client(&context), cursor(request)).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        Ok(prompts::get(&self.client(&context), request).await?.into())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        on_one_page(cursor(request).as_deref())?;
        Ok(tools::list())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::list().tools.into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(tools::call(&self.client(&context), request).await?.into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // The library takes a method for another one where its parameters are not as they must be.
        if WITH_PARAMS.contains(&request.method.as_str()) {
            let message = format!("the parameters of `{}` are not those that the protocol has for it", request.method);
            return Err(Failure::invalid(message).into());
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None))
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(subscriptions::accepted(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let request = context.request_context();
        let of_http = || request.extensions.get::<Parts>()?.extensions.get::<AtRevision>();
        let since = request.extensions.get().or_else(of_http).map_or("", |AtRevision(revision)| revision.as_str());
        subscriptions::listen(&self.client(request), &context, since).await.map_err(Failure::into)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        match &self.transport {
            Transport::Http => Err(ErrorData::method_not_found::<SubscribeRequestMethod>()),
            Transport::Stdio { subscribed, .. } => Ok(subscribed.add(&self.client(&context), request.uri).await?),
        }
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        match &self.transport {
            Transport::Http => Err(ErrorData::method_not_found::<UnsubscribeRequestMethod>()),
            Transport::Stdio { subscribed, .. } => {
                subscribed.remove(&request.uri).await;
                Ok(())
            }
        }
    }
}
