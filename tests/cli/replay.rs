use std::{fs, path::Path, process::Command};

use promptd_contract::proto::{AssemblePromptRequest, Conversation, ConversationMessage, Role, Turn};
use serde_json::Value;
use tempfile::TempDir;

use super::{
    record::{of_user, serve, site},
    serve::assemble,
    support::{Ran, command, folder, ran, run, write},
};

/// A service that has recorded a few calls and two revisions of its workspace, and is gone.
fn recorded() -> TempDir {
    let home = site("");
    let mut service = serve(home.path());
    for user in ["ada", "bob"] {
        assemble(&service.address(), of_user(user)).unwrap();
    }
    write(&home.path().join("all/harbor/AGENTS.md"), "Answer in two sentences.\n");
    service.wait_for_log("AGENTS.md");
    let message =
        ConversationMessage { role: Role::User.into(), content: "When is high tide?".into(), ..Default::default() };
    let conversation = Some(Conversation { messages: vec![message], ..Default::default() });
    let turn = Turn { conversation, time_zone: "Asia/Tokyo".into(), ..Default::default() };
    let kern = AssemblePromptRequest { profile: "kern".into(), turn: Some(turn), ..of_user("") };
    assemble(&service.address(), kern).unwrap();
    service.stop();
    home
}

fn replay(home: &Path, arguments: &[&str]) -> Ran {
    run(home, &[&["replay", "data/records"], arguments].concat())
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

/// The files of a part of the folder.
fn files(home: &Path, part: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![home.join("data/records").join(part)];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

#[test]
fn recorded_requests_give_the_same_prompts_elsewhere() {
    let home = recorded();
    // Nothing but the folder is needed.
    fs::remove_dir_all(home.path().join("all")).unwrap();
    fs::remove_file(home.path().join("promptd.yaml")).unwrap();
    for (zone, locale, jobs) in
        [("UTC", "C", "1"), ("Pacific/Kiritimati", "tr_TR.UTF-8", "3"), ("Asia/Tokyo", "ja_JP", "2")]
    {
        let mut command = command(home.path(), &["replay", "data/records", "--jobs", jobs]);
        let ran = ran(command.env("TZ", zone).env("LANG", locale).env("LC_ALL", locale).env("TZDIR", "/nothing"));
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{zone}");
        assert_eq!(ran.out, "3 requests: 3 the same, 0 differ, 0 could not be replayed\n", "{zone}");
    }
    let ran = replay(home.path(), &["--format", "json"]);
    assert_eq!((&json(&ran)["same"], &json(&ran)["requests"]), (&Value::from(3), &Value::from(3)));
}

#[test]
fn what_is_damaged_is_named_and_the_rest_is_replayed() {
    let home = recorded();
    let blob =
        files(home.path(), "blobs").into_iter().find(|path| fs::read(path).unwrap().starts_with(b"Answer in two"));
    fs::write(blob.as_ref().unwrap(), "Answer in three").unwrap();
    fs::write(home.path().join("data/records/unfinished/0123"), "half").unwrap();
    let ran = replay(home.path(), &[]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.out.ends_with("3 requests: 2 the same, 0 differ, 1 could not be replayed\n"), "{}", ran.out);
    let blob = blob.unwrap().strip_prefix(home.path()).unwrap().display().to_string();
    assert!(ran.err.contains(&format!("error: {blob} is damaged: the SHA-256 of its 15 bytes")), "{}", ran.err);
    assert!(
        ran.err.contains("(it is AGENTS.md)") && ran.err.contains("1 request could not be replayed"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("note: 1 file incomplete and ignored"), "{}", ran.err);
    for request in files(home.path(), "requests") {
        fs::write(request, "x").unwrap();
    }
    let ran = replay(home.path(), &["--format", "json"]);
    assert_eq!((ran.code, json(&ran)["faults"].as_array().unwrap().len()), (2, 4), "three requests, and the file");
}

#[test]
fn every_damaged_file_of_a_revision_is_named_with_what_it_costs() {
    let home = recorded();
    for path in files(home.path(), "blobs") {
        let bytes = fs::read(&path).unwrap();
        if bytes.starts_with(b"Answer in one") || bytes == b"Calm.\n" {
            fs::write(path, "x").unwrap();
        }
    }
    for arguments in [&[][..], &["--against", "all/harbor"]] {
        let ran = replay(home.path(), arguments);
        for (path, requests) in [("AGENTS.md", "2 requests"), ("SOUL.md", "3 requests")] {
            let named = format!("(it is {path})\n  {requests} could not be replayed");
            assert!(ran.err.contains(&named), "{named} in {}", ran.err);
        }
    }
    let ran = replay(home.path(), &["--format", "json"]);
    assert_eq!((&json(&ran)["requests"], json(&ran)["faults"].as_array().unwrap().len()), (&Value::from(3), 2));
}

#[test]
fn a_folder_that_cannot_be_replayed_is_named_with_what_to_do() {
    let home =
        folder(&[("other/FORMAT", "promptd-record 7\n"), ("empty/FORMAT", "promptd-record 1\n"), ("ws/AGENTS.md", "")]);
    for (dir, message) in [
        ("missing", "folder not found: missing"),
        ("ws", "ws has other files and no records"),
        ("empty", "empty has no requests: nothing was recorded yet"),
        (
            "other",
            "records of the format `promptd-record 7`; this promptd reads `promptd-record 1`: use the promptd that",
        ),
    ] {
        let ran = run(home.path(), &["replay", dir]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{dir}");
        assert!(ran.err.contains(message), "{dir}: {}", ran.err);
    }
}

/// The digest is in the record, so that a record with another one is a prompt that differs.
#[test]
fn a_prompt_that_differs_is_shown_by_section() {
    let home = recorded();
    let has_soul = |path: &std::path::PathBuf| fs::read(path).unwrap().windows(SOUL.len()).any(|part| part == SOUL);
    let request = files(home.path(), "requests").into_iter().find(has_soul).unwrap();
    let other = tamper(&request);
    let ran = replay(home.path(), &[]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("differs: harbor 20") && ran.out.contains(&other), "{}", ran.out);
    assert!(ran.out.contains("  changed workspace_context/SOUL.md: ±0 chars\n"), "{}", ran.out);
    assert!(ran.out.ends_with("3 requests: 2 the same, 1 differ, 0 could not be replayed\n"), "{}", ran.out);
    let ran = replay(home.path(), &["--format", "json"]);
    let sections = json(&ran)["differences"][0]["sections"].clone();
    assert_eq!(
        (sections[0]["id"].as_str(), sections[0]["change"].as_str()),
        (Some("workspace_context/SOUL.md"), Some("changed"))
    );
}

const SOUL: &[u8] = b"workspace_context/SOUL.md";

/// Puts another hash of SOUL.md's section, and another digest, into a record; its new name.
fn tamper(request: &Path) -> String {
    let mut bytes = fs::read(request).unwrap();
    let at = bytes.windows(SOUL.len()).position(|part| part == SOUL).unwrap() + SOUL.len();
    // Behind the id come the outcome, the characters, and the hash, whose tag is 0x22 and whose length is 32.
    let hash = at + bytes[at..].windows(2).position(|part| part == [0x22, 32]).unwrap() + 2;
    bytes[hash] ^= 1;
    // The digest is the field 4 of the record, before its sections.
    let digest = bytes.windows(2).position(|part| part == [0x22, 32]).unwrap() + 2;
    assert!(digest < at);
    bytes[digest] ^= 1;
    let sha256 = promptd_core::digest::sha256_hex(&bytes);
    let name = request.file_name().unwrap().to_str().unwrap();
    let name = format!("{}-{sha256}", name.split_once('-').unwrap().0);
    fs::write(request.with_file_name(&name), bytes).unwrap();
    fs::remove_file(request).unwrap();
    name
}

/// The edited workspace: a section more, one less, and one that no longer fits.
fn edited(home: &Path) {
    write(&home.join("new/harbor/AGENTS.md"), "Answer in two sentences.\n");
    write(&home.join("new/harbor/IDENTITY.md"), &"A harbour office. ".repeat(400));
    write(&home.join("new/harbor/workspace.yaml"), "agent: {name: Harbor, time_zone: Europe/Berlin}\n");
}

#[test]
fn an_edit_is_measured_by_the_requests_of_the_past() {
    let home = recorded();
    let ran = replay(home.path(), &["--against", "all/harbor"]);
    assert_eq!(ran.code, 1, "the first two were answered from another revision");
    assert!(ran.out.contains("2 of 3 requests change (66 %) with all/harbor\n"), "{}", ran.out);
    assert!(
        ran.out.contains("  sections: workspace_context/AGENTS.md in 2\n") && ran.out.contains("{+two+}"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("  requests that lose more than before: 0\n"), "{}", ran.out);
    edited(home.path());
    let ran = replay(home.path(), &["--against", "new/harbor", "--format", "json"]);
    let report = json(&ran);
    assert_eq!((ran.code, &report["changed"], &report["lost"]), (1, &Value::from(3), &Value::from(2)), "{report:#}");
    let lost: Vec<_> =
        report["sections_lost"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(lost, ["workspace_context/IDENTITY.md"]);
    assert!(report["tokens_read_again"]["openai-chat"].as_u64().unwrap() > 0, "{report:#}");
    assert_eq!(report["examples"].as_array().unwrap().len(), 3);
    assert!(report["examples"][0]["diff"]["sections"].as_array().unwrap().len() > 1, "the worst has lost a section");
    for (gates, code) in [
        (&["--max-changed", "100%", "--max-lost", "2"][..], 0),
        (&["--max-changed", "3"], 0),
        (&["--max-changed", "2"], 1),
        (&["--max-lost", "50%"], 1),
        (&["--max-lost", "1", "--max-changed", "3"], 1),
    ] {
        let ran = replay(home.path(), &[&["--against", "harbor=new/harbor"], gates].concat());
        assert_eq!(ran.code, code, "{gates:?}");
    }
}

#[test]
fn the_ephemeral_prompt_of_the_workspace_is_on_neither_side() {
    let home = site("");
    let manifest = home.path().join("all/harbor/workspace.yaml");
    write(&manifest, "agent: {name: Harbor, ephemeral_system_prompt: battle-plan}\n");
    let service = serve(home.path());
    assemble(&service.address(), of_user("ada")).unwrap();
    service.stop();
    let ran = replay(home.path(), &["--against", "all/harbor", "--max-changed", "0"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    assert_eq!(replay(home.path(), &[]).out, "1 request: 1 the same, 0 differ, 0 could not be replayed\n");
    assert!(ran.out.starts_with("0 of 1 request change (0 %) with all/harbor\n"), "{}", ran.out);
    write(&manifest, "agent: {name: Harbor, ephemeral_system_prompt: another-plan}\n");
    write(&home.path().join("all/harbor/AGENTS.md"), "Answer in two sentences.\n");
    let ran = replay(home.path(), &["--against", "all/harbor"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("\n1 of 1 request changes (100 %) with all/harbor\n"), "{}", ran.out);
    assert!(ran.out.contains("sections: workspace_context/AGENTS.md in 1\n"), "{}", ran.out);
    for absent in ["ephemeral", "battle-plan", "another-plan"] {
        assert!(!ran.out.contains(absent), "{absent} in {}", ran.out);
    }
}

#[test]
fn an_edit_that_cannot_be_measured_is_named() {
    let home = recorded();
    write(&home.path().join("bad/harbor/workspace.yaml"), "agent: {naem: x}\n");
    write(&home.path().join("locked/harbor/workspace.yaml"), "locked: [profile]\n");
    for (against, message) in [
        ("missing", "folder not found: missing"),
        ("bad/harbor", "bad/harbor/workspace.yaml:1:9"),
        ("all/harbor@v1", "all/harbor is not in a git repository"),
    ] {
        let ran = replay(home.path(), &["--against", against]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{against}");
        assert!(ran.err.contains(message), "{against}: {}", ran.err);
    }
    let ran = replay(home.path(), &["--against", "locked/harbor", "--examples", "1"]);
    assert!(ran.out.contains("refused: the workspace locks `profile`, which the request names"), "{}", ran.out);
    assert!(ran.out.contains("  requests that are refused: 1\n"), "{}", ran.out);
    let ran = replay(home.path(), &["--max-changed", "1"]);
    assert!(ran.code == 2 && ran.err.contains("--against"), "{ran:?}");
}

#[test]
fn an_edit_may_be_a_git_revision() {
    let home = recorded();
    let git = |arguments: &[&str]| {
        let done = Command::new("git").args(arguments).current_dir(home.path()).output().unwrap();
        assert!(done.status.success(), "{arguments:?}");
    };
    git(&["init", "--quiet", "--initial-branch", "main"]);
    git(&["add", "all"]);
    git(&["-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "--quiet", "-m", "one"]);
    fs::remove_dir_all(home.path().join("all/harbor")).unwrap();
    fs::create_dir(home.path().join("all/harbor")).unwrap();
    let ran = replay(home.path(), &["--against", "all/harbor@main"]);
    assert!(ran.out.contains("2 of 3 requests change (66 %) with all/harbor@main\n"), "{ran:?}");
}

/// Killed at any moment, the service leaves a folder that can be replayed.
#[test]
fn a_process_killed_while_it_records_leaves_whole_records() {
    let home = site("");
    let mut replayed = 0;
    for _ in 0..3 {
        let service = serve(home.path());
        let calls = std::thread::scope(|scope| {
            let address = service.address();
            let calling = scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(async {
                    let client = promptd::grpc::api::prompt_service_client::PromptServiceClient::connect(format!(
                        "http://{address}"
                    ));
                    let mut client = client.await.unwrap();
                    let mut calls = 0;
                    while client.assemble_prompt(of_user("ada")).await.is_ok() {
                        calls += 1;
                    }
                    calls
                })
            });
            // Until some requests are there, so that it is killed between two or in the middle of one.
            while !home.path().join("data/records/requests").exists()
                || files(home.path(), "requests").len() < replayed + 50
            {
                std::thread::yield_now();
            }
            service.signal("-KILL");
            calling.join().unwrap()
        });
        // The last one may have been recorded and not answered.
        assert!(calls >= 49, "{calls}");
        drop(service);
        let ran = replay(home.path(), &[]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let count = files(home.path(), "requests").len();
        assert!(
            count >= replayed + 50 && ran.out.contains(&format!(" {count} the same, 0 differ, 0 could")),
            "{ran:?}"
        );
        replayed = count;
    }
}

#[test]
fn last_good_versions_and_what_is_beside_the_workspace_are_recorded_too() {
    const PROFILE: &str = "extends: five-layer\nname: harbour\ndescription: The office.\n";
    const SKILL: &str = "---\nname: tides\ndescription: Tells the tides.\n---\nLook it up.\n";
    let home = site("");
    let path = |name: &str| home.path().join(name);
    let config = fs::read_to_string(path("promptd.yaml")).unwrap();
    write(&path("promptd.yaml"), &format!("{config}profiles: own\nskills: {{shared: [shared]}}\n"));
    write(&path("own/harbour.yaml"), PROFILE);
    write(&path("shared/tides/SKILL.md"), SKILL);
    let mut service = serve(home.path());
    let call = |service: &super::support::Service| {
        let request = AssemblePromptRequest { profile: "harbour".into(), ..of_user("ada") };
        assemble(&service.address(), request).unwrap().revision
    };
    let mut revisions = vec![call(&service)];
    for (file, text, line) in [
        ("all/harbor/workspace.yaml", "agent: [\n", "the last good workspace.yaml stays in use"),
        ("all/harbor/AGENTS.md", "Answer in two sentences.\n", "AGENTS.md"),
        ("own/harbour.yaml", "extends: [\n", "changed=[]"),
        ("shared/tides/SKILL.md", "---\nname: [\n", "SKILL.md"),
    ] {
        write(&path(file), text);
        service.wait_for_log(line);
        revisions.push(call(&service));
    }
    revisions.dedup();
    assert_eq!(revisions.len(), 5);
    service.stop();
    for folder in ["all", "own", "shared"] {
        fs::remove_dir_all(path(folder)).unwrap();
    }
    let ran = replay(home.path(), &[]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "5 requests: 5 the same, 0 differ, 0 could not be replayed\n"),
        "{ran:?}"
    );
}
