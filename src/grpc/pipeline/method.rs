//! The methods that the server has.

use super::error::Error;
use crate::{features::lacking, grpc::transport::RECEIVE_WINDOW_BYTES};
use promptd_core::{text::inline::inline, yaml::nearest};

/// One of the server's methods, or an unknown one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Method {
    /// Its name for logs and metrics; `other` where the server has no such method.
    pub(super) name: &'static str,
    /// Its service; `None` where the server has no such method.
    pub(crate) service: Option<Service>,
    pub(super) kind: Kind,
}

/// The server's services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    Prompts,
    Workspaces,
    Profiles,
    Sessions,
    Admin,
    Health,
    Reflection,
    /// The same by its older name.
    ReflectionAlpha,
}

/// How a method answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// One answer.
    Unary,
    /// A stream that can stay open for days.
    Stream,
    /// The same, also of requests.
    Duplex,
}

use Kind::{Duplex, Stream, Unary};

const METHODS: &[(Service, &str, Kind)] = &[
    (Service::Prompts, "promptd.v1.PromptService/AssemblePrompt", Unary),
    (Service::Prompts, "promptd.v1.PromptService/DiffPrompt", Unary),
    (Service::Prompts, "promptd.v1.PromptService/ParseReply", Unary),
    (Service::Prompts, "promptd.v1.PromptService/PlanHistory", Unary),
    (Service::Workspaces, "promptd.v1.WorkspaceService/ListWorkspaces", Unary),
    (Service::Workspaces, "promptd.v1.WorkspaceService/GetWorkspace", Unary),
    (Service::Workspaces, "promptd.v1.WorkspaceService/WatchWorkspace", Stream),
    (Service::Workspaces, "promptd.v1.WorkspaceService/ListRevisions", Unary),
    (Service::Workspaces, "promptd.v1.WorkspaceService/ListSkills", Unary),
    (Service::Workspaces, "promptd.v1.WorkspaceService/ReadSkill", Unary),
    (Service::Workspaces, "promptd.v1.WorkspaceService/ReadFile", Unary),
    (Service::Profiles, "promptd.v1.ProfileService/ListProfiles", Unary),
    (Service::Profiles, "promptd.v1.ProfileService/GetProfile", Unary),
    (Service::Sessions, "promptd.v1.SessionService/AppendMessages", Unary),
    (Service::Sessions, "promptd.v1.SessionService/ListSessions", Unary),
    (Service::Sessions, "promptd.v1.SessionService/GetSession", Unary),
    (Service::Sessions, "promptd.v1.SessionService/ListMessages", Unary),
    (Service::Sessions, "promptd.v1.SessionService/ExportSession", Stream),
    (Service::Sessions, "promptd.v1.SessionService/DeleteSession", Unary),
    (Service::Sessions, "promptd.v1.SessionService/WatchSession", Stream),
    (Service::Sessions, "promptd.v1.SessionService/ForkSession", Unary),
    (Service::Sessions, "promptd.v1.SessionService/TruncateSession", Unary),
    (Service::Sessions, "promptd.v1.SessionService/ListSegments", Unary),
    (Service::Sessions, "promptd.v1.SessionService/ListNotesSummaries", Unary),
    (Service::Sessions, "promptd.v1.SessionService/Recall", Unary),
    (Service::Sessions, "promptd.v1.SessionService/GetRecallStats", Unary),
    (Service::Admin, "promptd.v1.AdminService/ListPublished", Unary),
    (Service::Admin, "promptd.v1.AdminService/GetPublished", Unary),
    (Service::Admin, "promptd.v1.AdminService/ReadPublishedFiles", Unary),
    (Service::Admin, "promptd.v1.AdminService/FindMissingFiles", Unary),
    (Service::Admin, "promptd.v1.AdminService/UploadFiles", Unary),
    (Service::Admin, "promptd.v1.AdminService/Publish", Unary),
    (Service::Admin, "promptd.v1.AdminService/Rollback", Unary),
    (Service::Admin, "promptd.v1.AdminService/PromoteCanary", Unary),
    (Service::Admin, "promptd.v1.AdminService/AbortCanary", Unary),
    (Service::Admin, "promptd.v1.AdminService/ListProposals", Unary),
    (Service::Admin, "promptd.v1.AdminService/ApproveProposal", Unary),
    (Service::Admin, "promptd.v1.AdminService/RejectProposal", Unary),
    (Service::Health, "grpc.health.v1.Health/Check", Unary),
    (Service::Health, "grpc.health.v1.Health/List", Unary),
    (Service::Health, "grpc.health.v1.Health/Watch", Stream),
    (Service::Reflection, "grpc.reflection.v1.ServerReflection/ServerReflectionInfo", Duplex),
    (Service::ReflectionAlpha, "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", Duplex),
];

/// The name of every method, `promptd.v1.PromptService/AssemblePrompt` and so on.
pub fn method_names() -> impl Iterator<Item = &'static str> {
    METHODS.iter().map(|(_, name, _)| *name)
}

/// The most bytes of a health check, which names one service.
const MAX_HEALTH_BYTES: usize = 1 << 10;
/// The most bytes of one request of reflection.
pub(crate) const MAX_REFLECTION_BYTES: usize = 64 << 10;

/// What a stream of requests of reflection counts for: what HTTP/2 receives ahead, and the request that is being answered.
pub(super) const REFLECTION_BYTES: usize = RECEIVE_WINDOW_BYTES as usize + MAX_REFLECTION_BYTES;

/// Why clients of the Model Context Protocol find nothing at an address that they look at.
const WITHOUT_MCP: &str = if cfg!(feature = "mcp") {
    "MCP is at `/mcp` and `/mcp/ID`, called by POST; `mcp.enabled: false` turns it off"
} else {
    concat!("MCP is ", lacking!("mcp"))
};

/// The most characters shown of a name that no method has.
const MAX_SHOWN_CHARS: usize = 100;

impl Method {
    /// The method of a request's path.
    pub(crate) fn of(path: &str) -> Self {
        let known = path.strip_prefix('/').and_then(|name| METHODS.iter().find(|(_, known, _)| *known == name));
        known.map_or(Self { name: "other", service: None, kind: Unary }, |&(service, name, kind)| Self {
            name,
            service: Some(service),
            kind,
        })
    }

    /// That the server has no method of this path, and which may be meant.
    pub(crate) fn unknown(path: &str) -> Error {
        let name = path.trim_start_matches('/');
        if name.split('/').next() == Some("mcp") {
            return Error::Unimplemented(WITHOUT_MCP.into());
        }
        let near = nearest(name, METHODS.iter().map(|(_, known, _)| *known));
        let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        Error::Unimplemented(format!("the server has no method `{}`{hint}", inline(name, MAX_SHOWN_CHARS).text))
    }

    /// The most bytes of one request, where the server takes so many.
    pub(crate) fn max_request_bytes(self, max_message_bytes: usize) -> usize {
        let max = match self.service {
            Some(Service::Health) => MAX_HEALTH_BYTES,
            Some(Service::Reflection | Service::ReflectionAlpha) => MAX_REFLECTION_BYTES,
            _ => max_message_bytes,
        };
        max.min(max_message_bytes)
    }

    /// Whether its answer is a stream.
    pub(crate) fn streams(self) -> bool {
        self.kind != Kind::Unary
    }

    /// Whether anyone may call it at any time: probes need no token and start before the server is ready.
    pub(crate) fn is_health(self) -> bool {
        self.service == Some(Service::Health)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grpc::services::api;

    #[test]
    fn every_method_of_the_contract_is_known_with_its_kind() {
        use prost::Message as _;
        for encoded in [promptd_contract::proto::DESCRIPTORS, api::health::DESCRIPTORS] {
            let set = prost_types::FileDescriptorSet::decode(encoded).unwrap();
            for file in &set.file {
                for service in &file.service {
                    for method in &service.method {
                        let path = format!("/{}.{}/{}", file.package(), service.name(), method.name());
                        let known = Method::of(&path);
                        assert_eq!(format!("/{}", known.name), path);
                        assert_eq!(known.kind == Stream, method.server_streaming(), "{path}");
                        let others = METHODS.iter().filter(|(other, ..)| Some(*other) == known.service);
                        let prefix = format!("{}.{}/", file.package(), service.name());
                        assert!(others.clone().all(|(_, name, _)| name.starts_with(&prefix)), "{path}");
                    }
                }
            }
        }
        assert_eq!(Method::of("/a.caller/invented").name, "other");
        for (path, is_mcp) in [("/mcp", true), ("/mcp/home", true), ("/mcp/", true), ("/mcps", false)] {
            let Error::Unimplemented(why) = Method::unknown(path) else { panic!("{path}") };
            assert_eq!(why.starts_with("MCP is "), is_mcp, "{path}: {why}");
        }
    }
}
