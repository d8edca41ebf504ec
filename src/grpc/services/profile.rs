//! `ProfileService`: the profiles that prompts are assembled by.

use tonic::{Request, Response, Status};

use super::{api::profile_service_server, backend::Backend, page::Page};
use crate::grpc::pipeline::Error;
use promptd_contract::{
    decode::{Violations, id},
    encode, proto,
};

/// Profiles belong to the server, not to a workspace: every caller sees them all.
pub(super) struct ProfileService {
    pub(super) backend: Backend,
}

#[tonic::async_trait]
impl profile_service_server::ProfileService for ProfileService {
    async fn list_profiles(
        &self,
        request: Request<proto::ListProfilesRequest>,
    ) -> Result<Response<proto::ListProfilesResponse>, Status> {
        let request = request.into_inner();
        let page = Page::of(request.page_size, &request.page_token)?;
        let profiles = (self.backend.profiles)();
        let summary = |profile| encode::profile_summary(profile, request.include_inputs);
        let all = profiles.iter().map(|profile| (profile.name.to_string(), summary(profile)));
        let (profiles, next_page_token) = page.take(all);
        Ok(Response::new(proto::ListProfilesResponse { profiles, next_page_token }))
    }

    async fn get_profile(
        &self,
        request: Request<proto::GetProfileRequest>,
    ) -> Result<Response<proto::GetProfileResponse>, Status> {
        let mut violations = Violations::default();
        let name = id(&request.get_ref().name, "name", &mut violations);
        violations.into_result(()).map_err(Error::Invalid)?;
        let profiles = (self.backend.profiles)();
        let found = name.and_then(|name| profiles.get(name.as_str()));
        let missing = || Error::Missing { kind: "profile", name: request.get_ref().name.clone() };
        let profile = Some(encode::profile(found.ok_or_else(missing)?));
        Ok(Response::new(proto::GetProfileResponse { profile }))
    }
}
