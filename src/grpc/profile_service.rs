//! `ProfileService`: the recipes that prompts are assembled by.

use tonic::{Request, Response, Status};

use super::{api::profile_service_server, ask::id, backend::Backend, error::Error, page::Page};
use promptd_contract::{decode::Violations, proto};
use promptd_core::profile::Profile;

/// Answers from the backend. Profiles belong to the server, not to a workspace: whoever may call sees them all.
pub(super) struct ProfileService {
    pub(super) backend: Backend,
}

#[tonic::async_trait]
impl profile_service_server::ProfileService for ProfileService {
    async fn list_profiles(
        &self,
        request: Request<proto::ListProfilesRequest>,
    ) -> Result<Response<proto::ListProfilesResponse>, Status> {
        let page = Page::of(request.get_ref().page_size, &request.get_ref().page_token)?;
        let profiles = (self.backend.profiles)();
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
        let profile = Some(whole(found.ok_or_else(missing)?));
        Ok(Response::new(proto::GetProfileResponse { profile }))
    }
}

fn summary(profile: &Profile) -> proto::Profile {
    proto::Profile {
        name: profile.name.to_string(),
        description: profile.description.clone(),
        built_in: profile.built_in,
        ..Default::default()
    }
}

fn whole(profile: &Profile) -> proto::Profile {
    let input = |input: &promptd_core::profile::Input| proto::ProfileInput {
        name: input.field.name.clone(),
        r#type: input.field.ty.describe(),
        required: input.field.required,
        description: input.field.description.clone(),
    };
    let sections = profile.sections().map(|(message, section)| proto::ProfileSection {
        id: section.id.clone(),
        message: message.name.clone(),
        gate: section.gate.clone(),
        stability: proto::Stability::from(section.stability).into(),
    });
    proto::Profile {
        inputs: profile.inputs.iter().map(input).collect(),
        sections: sections.collect(),
        source: profile.source.to_string(),
        ..summary(profile)
    }
}
