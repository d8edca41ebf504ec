//! What answers the calls that were let in: one generated server for each service.
//!
//! A router would look the path up a second time and box each answer once more, so the service is picked by the
//! [`Method`](super::method::Method) that the call is known by already.

use std::{convert::Infallible, future::ready, sync::Arc};

use http::Request;
use tonic::{body::Body, codec::CompressionEncoding};
use tower::Service as _;

use super::{
    Backend, Lifecycle, Live, Options,
    api::{
        health::health_server::HealthServer, profile_service_server::ProfileServiceServer,
        prompt_service_server::PromptServiceServer, workspace_service_server::WorkspaceServiceServer,
    },
    call::{Answer, respond},
    error::Error,
    health::Health,
    method::Service,
    profile_service::ProfileService,
    prompt_service::PromptService,
    reflection::{Reflection, ReflectionError},
    workspace_service::WorkspaceService,
};

/// The services. Each call has a copy of its server, which is little more than a shared pointer.
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
        live: Arc<Live>,
        lifecycle: Arc<Lifecycle>,
    ) -> Result<Self, ReflectionError> {
        /// The settings that every service has.
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
        let prompts = PromptService::new(backend.clone(), Arc::clone(&live));
        let workspaces = WorkspaceService { backend: backend.clone(), live };
        Ok(Self {
            prompts: set!(PromptServiceServer::new(prompts)),
            workspaces: set!(WorkspaceServiceServer::new(workspaces)),
            profiles: set!(ProfileServiceServer::new(ProfileService { backend })),
            health: set!(HealthServer::new(Health(lifecycle))),
            reflection: Reflection::new()?,
        })
    }

    /// Calls the service that the request is for; `None`: the server has no such method.
    pub(super) fn call(&self, service: Option<Service>, request: Request<Body>) -> Answer {
        match service {
            Some(Service::Prompts) => self.prompts.clone().call(request),
            Some(Service::Workspaces) => self.workspaces.clone().call(request),
            Some(Service::Profiles) => self.profiles.clone().call(request),
            Some(Service::Health) => self.health.clone().call(request),
            Some(Service::Reflection) => self.reflection.v1.clone().call(request),
            Some(Service::ReflectionAlpha) => self.reflection.v1alpha.clone().call(request),
            None => {
                let unknown = Error::Unimplemented("the server has no such method".into());
                Box::pin(ready(Ok::<_, Infallible>(respond(unknown.into()))))
            }
        }
    }
}
