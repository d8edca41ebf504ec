//! The health service: tonic-health ends the watch of an unknown service, blocks the drain, and has no `List`.

use std::sync::Arc;

use tokio::sync::watch;
use tonic::{Request, Response, Status};

use super::{
    Lifecycle, Phase,
    api::health::{
        HealthCheckRequest, HealthCheckResponse, HealthListRequest, HealthListResponse,
        health_check_response::ServingStatus, health_server,
    },
    error::Error,
    stream::Steps,
};

/// The services that health knows, and `""` for the whole server.
const SERVICES: [&str; 4] =
    ["", "promptd.v1.PromptService", "promptd.v1.WorkspaceService", "promptd.v1.ProfileService"];

/// Answers from the server's [`Phase`]; all services live and die together.
pub(super) struct Health(pub(super) Arc<Lifecycle>);

/// A watch: what it is about, and what was said last.
pub(super) struct Watch {
    known: bool,
    phases: watch::Receiver<Phase>,
    said: Option<ServingStatus>,
}

#[tonic::async_trait]
impl health_server::Health for Health {
    async fn check(&self, request: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        let service = request.into_inner().service;
        if !SERVICES.contains(&service.as_str()) {
            return Err(Error::Missing { kind: "service", name: service }.into());
        }
        Ok(Response::new(response(status(self.0.phase()))))
    }

    async fn list(&self, _: Request<HealthListRequest>) -> Result<Response<HealthListResponse>, Status> {
        let now = response(status(self.0.phase()));
        let statuses = SERVICES.iter().map(|name| ((*name).to_owned(), now)).collect();
        Ok(Response::new(HealthListResponse { statuses }))
    }

    type WatchStream = Steps<Watch, HealthCheckResponse>;

    async fn watch(&self, request: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let known = SERVICES.contains(&request.get_ref().service.as_str());
        let watch = Watch { known, phases: self.0.follow(), said: None };
        Ok(Response::new(Steps::new(watch, |watch| Box::pin(watch.next()))))
    }
}

impl Watch {
    async fn next(mut self) -> Option<(HealthCheckResponse, Self)> {
        loop {
            let phase = *self.phases.borrow_and_update();
            let now = if self.known { status(phase) } else { ServingStatus::ServiceUnknown };
            if self.said != Some(now) {
                self.said = Some(now);
                return Some((response(now), self));
            }
            self.phases.changed().await.ok()?;
        }
    }
}

fn status(phase: Phase) -> ServingStatus {
    if phase == Phase::Serving { ServingStatus::Serving } else { ServingStatus::NotServing }
}

fn response(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse { status: status.into() }
}
