//! The services that answer admitted calls.
//!
//! A router would match the path a second time and box each answer once more, so the service is picked by what the pipeline
//! has looked up already.

#[cfg(feature = "etcd")]
mod admin;
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
#[cfg(feature = "memory")]
mod sessions;
mod watch;
mod workspace;

#[cfg(feature = "etcd")]
pub use admin::{CheckPublications, Publisher};
pub use backend::{Answered, Backend, Clock, FinishRecord, Notice, Profiles, ReadWorkspaceFile, Record};
#[cfg(feature = "memory")]
pub use sessions::Memory;

use std::{convert::Infallible, future::ready, sync::Arc};

use http::Request;
use tonic::{body::Body, codec::CompressionEncoding};
use tower::Service as _;

#[cfg(feature = "etcd")]
use self::{admin::AdminService, api::admin_service_server::AdminServiceServer};
#[cfg(feature = "memory")]
use self::{api::session_service_server::SessionServiceServer, sessions::SessionService};
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
    pipeline::{Error, Method, ResponseFuture, Service, respond},
};
use crate::features::lacking;

/// Why no call of `SessionService` is answered, nor a turn that names a session.
const NOT_STORED: &str = if cfg!(feature = "memory") {
    "no conversations are stored here: `memory.store` names a folder for them"
} else {
    concat!("stored conversations are ", lacking!("memory"))
};

/// Why no call of `AdminService` is answered.
const NOT_PUBLISHED: &str = if cfg!(feature = "etcd") {
    "nothing can be published at this address: `workspaces.etcd` names no etcd that workspaces are read from, or it is the inspector's"
} else {
    concat!("publishing is ", lacking!("etcd"))
};

/// One generated server for each service. Each call clones its server, which is little more than a shared pointer.
pub(super) struct Services {
    prompts: PromptServiceServer<PromptService>,
    workspaces: WorkspaceServiceServer<WorkspaceService>,
    profiles: ProfileServiceServer<ProfileService>,
    /// `None`: no conversations are stored.
    #[cfg(feature = "memory")]
    sessions: Option<SessionServiceServer<SessionService>>,
    /// `None`: nothing is published through this server.
    #[cfg(feature = "etcd")]
    admin: Option<AdminServiceServer<AdminService>>,
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
        #[cfg(feature = "memory")]
        let sessions = backend.memory.clone().map(|memory| SessionService {
            backend: backend.clone(),
            memory,
            limits: Arc::clone(&limits),
        });
        #[cfg(feature = "etcd")]
        let admin = backend.publisher.clone().map(|publisher| AdminService { publisher, limits: Arc::clone(&limits) });
        let prompts = PromptService { backend: backend.clone(), limits: Arc::clone(&limits) };
        let workspaces = WorkspaceService { backend: backend.clone(), limits };
        Ok(Self {
            prompts: set!(PromptServiceServer::new(prompts)),
            workspaces: set!(WorkspaceServiceServer::new(workspaces)),
            #[cfg(feature = "memory")]
            sessions: sessions.map(|sessions| set!(SessionServiceServer::new(sessions))),
            #[cfg(feature = "etcd")]
            admin: admin.map(|admin| set!(AdminServiceServer::new(admin))),
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
            Some(Service::Sessions) => {
                #[cfg(feature = "memory")]
                if let Some(sessions) = &self.sessions {
                    return sessions.clone().call(request);
                }
                Box::pin(ready(Ok(respond(Error::Unimplemented(NOT_STORED.into()).into()))))
            }
            Some(Service::Admin) => {
                #[cfg(feature = "etcd")]
                if let Some(admin) = &self.admin {
                    return admin.clone().call(request);
                }
                Box::pin(ready(Ok(respond(Error::Unimplemented(NOT_PUBLISHED.into()).into()))))
            }
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
