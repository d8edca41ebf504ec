//! `ParseReply` and `ProfileService`.

use promptd_contract::proto;
use tonic::Code;

use crate::rig::{Rig, refused};

#[tokio::test]
async fn a_reply_is_parsed_by_the_contract_of_its_profile() {
    let rig = Rig::start().await;
    let mut client = rig.prompts().await;
    let text =
        "Done. [CALENDAR_ACTION:{\"action\":\"list\",\"title\":\"Tide {x}\",\"n\":9007199254740993}] and [REMINDER:{]";
    let request = proto::ParseReplyRequest { text: text.into(), profile: "lucidpal".into(), ..Default::default() };
    let reply = client.parse_reply(request.clone()).await.unwrap().into_inner();
    assert_eq!((reply.actions.len(), reply.actions[0].tag.as_str()), (1, "CALENDAR_ACTION"));
    let action = &reply.actions[0];
    assert_eq!(&text[action.byte_start as usize..=action.byte_start as usize], "[");
    assert_eq!(&text[action.byte_end as usize - 1..action.byte_end as usize], "]");
    let title = &action.payload.as_ref().unwrap().fields["title"];
    assert_eq!(title.kind, Some(prost_types::value::Kind::StringValue("Tide {x}".into())));
    let codes: Vec<_> = reply.findings.iter().map(|finding| finding.code.as_str()).collect();
    assert!(reply.text.contains("[REMINDER:{]") && codes == ["ACTION_INEXACT", "ACTION_MALFORMED"], "{codes:?}");
    assert!(action.payload_text.ends_with("\"n\":9007199254740993}"), "{}", action.payload_text);

    let no_actions = proto::ParseReplyRequest { workspace_id: "harbor".into(), profile: String::new(), ..request };
    let reply = client.parse_reply(no_actions).await.unwrap().into_inner();
    assert_eq!((reply.text.as_str(), reply.actions.len(), reply.findings.len()), (text, 0, 0));

    let ok = proto::ParseReplyRequest { text: "**HEARTBEAT_OK**".into(), heartbeat: true, ..Default::default() };
    assert!(client.parse_reply(ok).await.unwrap().into_inner().heartbeat_ok);

    let missing = proto::ParseReplyRequest { workspace_id: "nowhere".into(), ..Default::default() };
    refused(client.parse_reply(missing).await, Code::NotFound, "WORKSPACE_NOT_FOUND");
    let profile = proto::ParseReplyRequest { profile: "none".into(), ..Default::default() };
    refused(client.parse_reply(profile).await, Code::InvalidArgument, "INVALID_REQUEST");
}

#[tokio::test]
async fn a_team_is_looked_up_in_the_inputs_of_its_request() {
    let rig = Rig::start().await;
    let mut client = rig.prompts().await;
    let list = |name: &str, card: prost_types::Struct| {
        let card = prost_types::Value { kind: Some(prost_types::value::Kind::StructValue(card)) };
        let cards = prost_types::value::Kind::ListValue(prost_types::ListValue { values: vec![card] });
        (name.to_owned(), prost_types::Value { kind: Some(cards) })
    };
    let card = |uid: &str, color: &str| {
        let text =
            |text: &str| prost_types::Value { kind: Some(prost_types::value::Kind::StringValue(text.to_owned())) };
        prost_types::Struct { fields: [("uid".into(), text(uid)), ("color".into(), text(color))].into() }
    };
    let inputs = [list("summoners", card("s", "Red")), list("monsters", card("m", "Gray"))];
    let request = proto::ParseReplyRequest {
        text: r#"{"summoner": "S1", "monsters": [1, 2]}"#.into(),
        profile: "kai-splinterlands".into(),
        inputs: Some(prost_types::Struct { fields: inputs.into() }),
        ..Default::default()
    };
    for workspace in ["", "harbor"] {
        let request = proto::ParseReplyRequest { workspace_id: workspace.into(), ..request.clone() };
        let reply = client.parse_reply(request).await.unwrap().into_inner();
        let uid = &reply.actions[0].payload.as_ref().unwrap().fields["summoner_uid"];
        assert_eq!(uid.kind, Some(prost_types::value::Kind::StringValue("s".into())));
        let codes: Vec<_> = reply.findings.iter().map(|finding| finding.code.as_str()).collect();
        assert_eq!((reply.text.as_str(), codes), ("", vec!["ACTION_REPAIRED"]));
    }
    let unknown = prost_types::Struct { fields: [list("summonerz", card("s", "Red"))].into() };
    let bad = proto::ParseReplyRequest { inputs: Some(unknown), ..request };
    let error = refused(client.parse_reply(bad).await, Code::InvalidArgument, "INVALID_REQUEST");
    assert!(format!("{error:?}").contains("inputs.summonerz"), "{error:?}");
}

#[tokio::test]
async fn profiles_are_listed_and_shown_with_their_source() {
    let rig = Rig::start().await;
    let mut client = rig.profiles().await;
    let list = client.list_profiles(proto::ListProfilesRequest::default()).await.unwrap().into_inner();
    let five = list.profiles.iter().find(|profile| profile.name == "five-layer").unwrap();
    assert!(five.built_in && five.inputs.is_empty() && five.sections.is_empty() && five.source.is_empty());
    let with_inputs = proto::ListProfilesRequest { include_inputs: true, ..Default::default() };
    let with_inputs = client.list_profiles(with_inputs).await.unwrap().into_inner().profiles;
    assert!(with_inputs.iter().all(|profile| profile.sections.is_empty()));
    let get = |name: &str| proto::GetProfileRequest { name: name.into() };
    let whole = client.get_profile(get("five-layer")).await.unwrap().into_inner().profile.unwrap();
    assert_eq!((whole.sections[0].id.as_str(), whole.sections[0].message.as_str()), ("identity", "skeleton"));
    assert!(whole.source.contains("five-layer"));
    for listed in with_inputs {
        let whole = client.get_profile(get(&listed.name)).await.unwrap().into_inner().profile.unwrap();
        assert_eq!(listed.inputs, whole.inputs, "{}", listed.name);
    }
    refused(client.get_profile(get("none")).await, Code::NotFound, "PROFILE_NOT_FOUND");
    refused(client.get_profile(get("")).await, Code::InvalidArgument, "INVALID_REQUEST");
}
