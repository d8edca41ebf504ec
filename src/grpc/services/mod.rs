//! The services that answer admitted calls.
//!
//! A router would match the path a second time and box each answer once more, so the service is picked by what the pipeline
//! has looked up already.

pub mod api;
mod backend;
mod codec;
mod diff;
mod files;
mod health;
mod page;
mod profile;
mod prompt;
mod query;
mod reflection;
mod revisions;
mod watch;
mod workspace;

pub use backend::{Answered, Backend, Clock, FinishRecord, Notice, Profiles, ReadWorkspaceFile, Record};

use std::{convert::Infallible, future::ready, sync::Arc};

use http::Request;
use tonic::{body::Body, codec::CompressionEncoding};
use tower::Service as _;

use self::{
    api::{
        health::health_server::HealthServer, profile_service_server::ProfileServiceServer,
        prompt_service_server::PromptServiceServer, workspace_service_server::WorkspaceServiceServer,
    },
    health::Health,
    profile::ProfileService,
    prompt::PromptService,
    reflection::{Reflection, ReflectionError},
    workspace::WorkspaceService,
};
use super::{
    Lifecycle, Limits, Options,
    pipeline::{Method, ResponseFuture, Service, respond},
};

/// One generated server for each service. Each call clones its server, which is little more than a shared pointer.
pub(super) struct Services {
    prompts: PromptServiceServer<PromptService>,
    workspaces: WorkspaceServiceServer<WorkspaceService>,
    profiles: ProfileServiceServer<ProfileService>,
    health: HealthServer<Health>,
    reflection: Reflection,
}

impl Services {
    pub(super) fn new(
        options: &Options,
        backend: Backend,
        limits: Arc<Limits>,
        lifecycle: Arc<Lifecycle>,
    ) -> Result<Self, ReflectionError> {
        /// The settings that all services share.
        macro_rules! set {
            ($service:expr) => {{
                let service = $service.max_decoding_message_size(options.max_message_bytes);
                if options.gzip {
                    service.accept_compressed(CompressionEncoding::Gzip).send_compressed(CompressionEncoding::Gzip)
                } else {
                    service
                }
            }};
        }
        let prompts = PromptService { backend: backend.clone(), limits: Arc::clone(&limits) };
        let workspaces = WorkspaceService { backend: backend.clone(), limits };
        Ok(Self {
            prompts: set!(PromptServiceServer::new(prompts)),
            workspaces: set!(WorkspaceServiceServer::new(workspaces)),
            profiles: set!(ProfileServiceServer::new(ProfileService { backend })),
            health: set!(HealthServer::new(Health(lifecycle))),
            reflection: Reflection::new()?,
        })
    }

    /// Calls a service; `None`: the server has no such method.
    pub(super) fn call(&self, service: Option<Service>, request: Request<Body>) -> ResponseFuture {
        match service {
            Some(Service::Prompts) => self.prompts.clone().call(request),
            Some(Service::Workspaces) => self.workspaces.clone().call(request),
            Some(Service::Profiles) => self.profiles.clone().call(request),
            Some(Service::Health) => self.health.clone().call(request),
            Some(Service::Reflection) => self.reflection.v1.clone().call(request),
            Some(Service::ReflectionAlpha) => self.reflection.v1alpha.clone().call(request),
            None => {
                let unknown = Method::unknown(request.uri().path());
                Box::pin(ready(Ok::<_, Infallible>(respond(unknown.into()))))
            }
        }
    }
}
