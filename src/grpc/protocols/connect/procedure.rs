//! The methods that can be called by Connect, by their paths, and the content types that they take.

use std::collections::HashMap;

use http::HeaderValue;
use prost_reflect::{DescriptorPool, MessageDescriptor, MethodDescriptor};
use prost_types::method_options::IdempotencyLevel;

use crate::grpc::api;
use promptd_contract::json;

/// A method. Those whose callers stream are gRPC's alone.
pub(in crate::grpc::protocols) struct Procedure {
    pub(super) input: MessageDescriptor,
    pub(super) output: MessageDescriptor,
    /// Its answer is a stream.
    streams: bool,
    /// Also called by GET: what it does not change it shows, and its request may be logged. A turn may not.
    pub(in crate::grpc::protocols) by_get: bool,
}

/// How the messages of a call are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::grpc::protocols) struct ContentType {
    pub(super) codec: Codec,
    /// Messages have envelopes, since there can be more than one.
    pub(super) enveloped: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codec {
    Json,
    Proto,
}

pub(super) struct Procedures(HashMap<String, Procedure>);

impl Procedures {
    pub(super) fn of_the_server() -> Self {
        let mut pool = json::descriptors().clone();
        #[expect(clippy::expect_used, reason = "compiled in")]
        pool.decode_file_descriptor_set(api::health::DESCRIPTORS).expect("the descriptors of the health service");
        Self::of(&pool)
    }

    fn of(pool: &DescriptorPool) -> Self {
        let methods = pool.services().flat_map(|service| service.methods().collect::<Vec<_>>());
        let methods = methods.filter(|method| !method.is_client_streaming());
        Self(methods.map(|method| (path(&method), Procedure::of(&method))).collect())
    }

    pub(super) fn get(&self, path: &str) -> Option<&Procedure> {
        self.0.get(path)
    }
}

fn path(method: &MethodDescriptor) -> String {
    format!("/{}/{}", method.parent_service().full_name(), method.name())
}

impl Procedure {
    fn of(method: &MethodDescriptor) -> Self {
        let options = method.method_descriptor_proto().options.as_ref();
        let reads = options.is_some_and(|options| options.idempotency_level() == IdempotencyLevel::NoSideEffects);
        let shows = method.name().starts_with("List") || method.name().starts_with("Get");
        Self {
            input: method.input(),
            output: method.output(),
            streams: method.is_server_streaming(),
            by_get: reads && shows && !method.is_server_streaming(),
        }
    }

    /// The content types that it takes, as `accept-post` lists them.
    pub(in crate::grpc::protocols) fn accepts(&self) -> &'static str {
        if self.streams {
            "application/connect+json, application/connect+proto, application/grpc, application/grpc-web"
        } else {
            "application/json, application/proto, application/grpc, application/grpc-web"
        }
    }
}

impl ContentType {
    const ALL: [(&str, Self); 4] = [
        ("application/json", Self { codec: Codec::Json, enveloped: false }),
        ("application/proto", Self { codec: Codec::Proto, enveloped: false }),
        ("application/connect+json", Self { codec: Codec::Json, enveloped: true }),
        ("application/connect+proto", Self { codec: Codec::Proto, enveloped: true }),
    ];

    /// That of a header; `None`: no type of the Connect protocol.
    pub(in crate::grpc::protocols) fn of(header: &HeaderValue) -> Option<Self> {
        let name = header.to_str().ok()?.split(';').next()?.trim();
        Self::ALL.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, kind)| *kind)
    }

    pub(super) fn header(self) -> HeaderValue {
        let known = Self::ALL.iter().find(|(_, kind)| *kind == self);
        HeaderValue::from_static(known.map_or("application/json", |(name, _)| *name))
    }

    #[cfg(feature = "inspector")]
    pub(in crate::grpc::protocols) fn is_json(self) -> bool {
        self.codec == Codec::Json
    }

    pub(in crate::grpc::protocols) fn fits(self, procedure: &Procedure) -> bool {
        self.enveloped == procedure.streams
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_that_takes_one_message_can_be_called_and_lists_by_get() {
        let procedures = Procedures::of_the_server();
        let mut by_get: Vec<_> =
            procedures.0.iter().filter(|(_, it)| it.by_get).map(|(path, _)| path.as_str()).collect();
        by_get.sort_unstable();
        assert_eq!(
            by_get,
            [
                "/promptd.v1.AdminService/GetPublished",
                "/promptd.v1.AdminService/ListProposals",
                "/promptd.v1.AdminService/ListPublished",
                "/promptd.v1.ProfileService/GetProfile",
                "/promptd.v1.ProfileService/ListProfiles",
                "/promptd.v1.SessionService/GetRecallStats",
                "/promptd.v1.SessionService/GetSession",
                "/promptd.v1.SessionService/ListMessages",
                "/promptd.v1.SessionService/ListNotesSummaries",
                "/promptd.v1.SessionService/ListSegments",
                "/promptd.v1.SessionService/ListSessions",
                "/promptd.v1.WorkspaceService/GetWorkspace",
                "/promptd.v1.WorkspaceService/ListRevisions",
                "/promptd.v1.WorkspaceService/ListSkills",
                "/promptd.v1.WorkspaceService/ListWorkspaces",
            ]
        );
        for (path, streams) in [
            ("/promptd.v1.PromptService/AssemblePrompt", false),
            ("/promptd.v1.WorkspaceService/WatchWorkspace", true),
            ("/grpc.health.v1.Health/Check", false),
        ] {
            assert_eq!(procedures.get(path).unwrap().streams, streams, "{path}");
        }
    }

    #[test]
    fn content_types_are_known_in_any_case_and_with_parameters() {
        let of = |text: &'static str| ContentType::of(&HeaderValue::from_static(text));
        for (name, kind) in ContentType::ALL {
            assert_eq!((of(name), kind.header().to_str().unwrap()), (Some(kind), name));
        }
        assert_eq!(of("Application/JSON; charset=utf-8"), of("application/json"));
        for other in ["application/jsonp", "text/plain", "application/x-www-form-urlencoded", "application/grpc", ""] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
