//! The health service. tonic-health ends the watch of an unknown service, blocks the drain, and has no `List`.

use std::sync::Arc;

use futures_util::stream::{self, BoxStream};
use tokio::sync::watch;
use tonic::{Request, Response, Status};

use super::api::health::{
    HealthCheckRequest, HealthCheckResponse, HealthListRequest, HealthListResponse,
    health_check_response::ServingStatus, health_server,
};
use crate::grpc::{Lifecycle, Phase, pipeline::Error};

/// The known services; `""` is the whole server.
const SERVICES: [&str; 4] =
    ["", "promptd.v1.PromptService", "promptd.v1.WorkspaceService", "promptd.v1.ProfileService"];

/// Answers from the server's [`Phase`]: all services have the same status.
pub(super) struct Health(pub(super) Arc<Lifecycle>);

struct Watch {
    known_service: bool,
    phases: watch::Receiver<Phase>,
    sent: Option<ServingStatus>,
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

    type WatchStream = BoxStream<'static, Result<HealthCheckResponse, Status>>;

    async fn watch(&self, request: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let known_service = SERVICES.contains(&request.get_ref().service.as_str());
        let watch = Watch { known_service, phases: self.0.follow(), sent: None };
        Ok(Response::new(Box::pin(stream::unfold(watch, Watch::next))))
    }
}

impl Watch {
    async fn next(mut self) -> Option<(Result<HealthCheckResponse, Status>, Self)> {
        loop {
            let phase = *self.phases.borrow_and_update();
            let now = if self.known_service { status(phase) } else { ServingStatus::ServiceUnknown };
            if self.sent != Some(now) {
                self.sent = Some(now);
                return Some((Ok(response(now)), self));
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
