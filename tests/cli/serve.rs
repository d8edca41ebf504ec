use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    time::Duration,
};

use promptd::grpc::api::prompt_service_client::PromptServiceClient;
use promptd_contract::proto::{AssemblePromptRequest, AssemblePromptResponse, Turn};
use tonic::Code;

use super::support::{Service, folder, repository, run, write};

/// Makes one call.
pub(crate) fn assemble(address: &str, request: AssemblePromptRequest) -> Result<AssemblePromptResponse, tonic::Status> {
    call(address, tonic::Request::new(request))
}

fn assemble_as(
    token: &str,
    address: &str,
    request: AssemblePromptRequest,
) -> Result<AssemblePromptResponse, tonic::Status> {
    let mut request = tonic::Request::new(request);
    request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    call(address, request)
}

pub(crate) fn call(
    address: &str,
    request: tonic::Request<AssemblePromptRequest>,
) -> Result<AssemblePromptResponse, tonic::Status> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut client = PromptServiceClient::connect(format!("http://{address}")).await.unwrap();
        client.assemble_prompt(request).await.map(tonic::Response::into_inner)
    })
}

fn with_a_variable() -> AssemblePromptRequest {
    let value = prost_types::Value { kind: Some(prost_types::value::Kind::BoolValue(true)) };
    let variables = prost_types::Struct { fields: [("tide".to_owned(), value)].into() };
    let turn = Turn { variables: Some(variables), ..Default::default() };
    AssemblePromptRequest { workspace_id: "ws".into(), turn: Some(turn), ..Default::default() }
}

fn of(workspace: &str) -> AssemblePromptRequest {
    AssemblePromptRequest { workspace_id: workspace.into(), turn: Some(Turn::default()), ..Default::default() }
}

/// A GET of an admin page: the status line and the body.
pub(crate) fn get(address: &str, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

/// A call in JSON: the whole answer.
fn post(address: &str, method: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = "host: localhost\r\nconnection: close\r\ncontent-type: application/json";
    let length = body.len();
    write!(stream, "POST /promptd.v1.{method} HTTP/1.1\r\n{head}\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn without_flags_it_serves_the_example_and_stops_cleanly() {
    let service = Service::start(&repository(), &["serve", "--listen", "127.0.0.1:0"]);
    assert!(service.line.starts_with("promptd listening on 127.0.0.1:"), "{}", service.line);
    assert!(!assemble(&service.address(), of("example")).unwrap().messages.is_empty());
    service.signal("-INT");
    let (status, log) = service.ended();
    assert_eq!(status.code(), Some(0), "{log}");
    // The last line is written before the process ends.
    assert!(log.lines().last().unwrap().contains("stopped"), "{log}");
}

#[test]
fn two_stop_signals_at_once_are_one_and_a_later_one_means_now() {
    let home = folder(&[
        ("promptd.yaml", "workspaces: {single: [ws]}\nlisten: 127.0.0.1:0\ndrain: {delay: 1h}\n"),
        ("ws/AGENTS.md", "A."),
    ]);
    let mut service = Service::start(home.path(), &["serve", "--config", "promptd.yaml"]);
    service.signal_twice("-TERM", "-INT");
    service.wait_for_log("stopping: waiting for calls to end");
    assert!(assemble(&service.address(), of("ws")).is_ok());
    // The time that tells two requests apart is measured by the clock.
    std::thread::sleep(Duration::from_millis(500));
    service.signal("-TERM");
    let (status, log) = service.ended();
    assert_eq!((status.code(), log.matches("stopping").count()), (Some(0), 1), "{log}");
}

#[test]
fn workspaces_come_from_flags() {
    let home = folder(&[("all/one/AGENTS.md", "One."), ("all/two/AGENTS.md", "Two."), ("single/AGENTS.md", "Three.")]);
    let arguments = [
        "serve",
        "--workspaces",
        "all",
        "--workspace",
        "three=single",
        "--workspace",
        "single",
        "--listen",
        "127.0.0.1:0",
    ];
    let service = Service::start(home.path(), &arguments);
    for (id, text) in [("one", "One."), ("two", "Two."), ("three", "Three."), ("single", "Three.")] {
        let answer = assemble(&service.address(), of(id)).unwrap();
        assert!(answer.messages.last().unwrap().content.ends_with(text), "{id}");
    }
    assert_eq!(assemble(&service.address(), of("four")).unwrap_err().code(), Code::NotFound);
    service.stop();
}

#[test]
fn an_invalid_workspace_does_not_affect_others() {
    let home = folder(&[("all/bad/workspace.yaml", "agent: [\n"), ("all/good/AGENTS.md", "Good.")]);
    let service = Service::start(home.path(), &["serve", "--workspaces", "all", "--listen", "127.0.0.1:0"]);
    assert_eq!(assemble(&service.address(), of("bad")).unwrap_err().code(), Code::FailedPrecondition);
    assert!(assemble(&service.address(), of("good")).is_ok());
    service.stop();
}

#[test]
fn a_port_in_use_is_reported() {
    let home = folder(&[("ws/AGENTS.md", "A.")]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = run(home.path(), &["serve", "--workspace", "ws", "--listen", &address]);
    assert_eq!((output.code, output.out.as_str()), (1, ""));
    assert!(output.err.contains(&format!("cannot listen on {address}")), "{}", output.err);
    assert!(output.err.contains("give another with --listen"), "{}", output.err);
    let output = run(home.path(), &["serve", "--workspace", "ws", "--listen", "127.0.0.1:0", "--admin", &address]);
    assert_eq!(output.code, 1);
    assert!(output.err.contains("`admin.listen`") && output.err.contains("with --admin"), "{}", output.err);
}

#[test]
fn an_address_beyond_loopback_needs_authentication() {
    let home = folder(&[("ws/AGENTS.md", "A.")]);
    let output = run(home.path(), &["serve", "--workspace", "ws", "--listen", "0.0.0.0:0"]);
    assert_eq!((output.code, output.out.as_str()), (1, ""));
    assert!(output.err.contains("auth.tokens_file") && output.err.contains("insecure: true"), "{}", output.err);
    assert!(output.err.contains("`--listen 0.0.0.0:0`") && !output.err.contains("-->"), "{}", output.err);
}

#[test]
fn a_folder_given_by_the_wrong_flag_is_an_error_that_names_the_right_one() {
    let home = folder(&[
        ("all/one/AGENTS.md", "One."),
        ("all/two/skills/a/SKILL.md", "---\nname: a\ndescription: A.\n---\n"),
        ("all/other/notes.txt", ""),
    ]);
    for (arguments, message) in [
        (["--workspaces", "all/one"], "did you mean --workspace all/one?"),
        (["--workspaces", "all/two"], "did you mean --workspace all/two?"),
        (["--workspace", "all"], "but its folders `one`, `two` have; did you mean --workspaces all?"),
        (["--workspace", "x=all"], "did you mean --workspaces all?"),
        (["--workspaces", "missing"], "folder not found: missing"),
        (["--workspace", "x=missing"], "folder not found: missing"),
        (["--workspace", "all/one/AGENTS.md"], "not a folder: all/one/AGENTS.md"),
    ] {
        let output = run(home.path(), &[&["serve", "--listen", "127.0.0.1:0"][..], &arguments].concat());
        assert_eq!((output.code, output.out.as_str()), (2, ""), "{arguments:?}");
        assert!(output.err.contains(message), "{arguments:?}: {}", output.err);
    }
}

#[test]
fn a_folder_under_the_wrong_setting_is_a_warning() {
    let home = folder(&[
        ("promptd.yaml", "listen: 127.0.0.1:0\nworkspaces: {root: all/one, single: [all]}\n"),
        ("all/one/AGENTS.md", "One."),
    ]);
    let log = Service::start(home.path(), &["serve", "--config", "promptd.yaml"]).stop();
    for message in ["did you mean `workspaces.single`?", "did you mean `workspaces.root`?"] {
        assert!(log.lines().any(|line| line.contains("WARN") && line.contains(message)), "{log}");
    }
    // A folder of workspaces may have files of its own, and a workspace may be empty at first.
    let home = folder(&[("all/AGENTS.md", "For those who edit it."), ("all/one/AGENTS.md", "One."), ("empty/x", "")]);
    let arguments = ["serve", "--workspaces", "all", "--workspace", "empty", "--listen", "127.0.0.1:0"];
    let log = Service::start(home.path(), &arguments).stop();
    assert!(!log.contains("WARN"), "{log}");
}

#[test]
fn the_admin_pages_show_the_service_and_no_text() {
    let home = folder(&[
        (
            "config/promptd.yaml",
            "workspaces: {single: [../ws]}\nlisten: 127.0.0.1:0\nauth: {tokens_file: tokens.yaml}\nadmin: {listen: '127.0.0.1:0'}\n",
        ),
        ("config/tokens.yaml", "tokens: [{name: a, token: s3cret-s3cret-s3cret}]\n"),
        ("ws/AGENTS.md", "Rules of the house."),
    ]);
    let mut service = Service::start(home.path(), &["serve"]);
    let log = service.wait_for_log("serving");
    let admin = log.split("admin=").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    assert_eq!(assemble(&service.address(), of("ws")).unwrap_err().code(), Code::Unauthenticated);
    assert_eq!(get(&admin, "/livez").0, "HTTP/1.1 200 OK");
    assert_eq!(get(&admin, "/readyz"), ("HTTP/1.1 200 OK".to_owned(), "ready; workspaces: 1, polled: 0\n".to_owned()));
    let (_, metrics) = get(&admin, "/metrics");
    for line in [
        "promptd_calls_total{method=\"promptd.v1.PromptService/AssemblePrompt\",code=\"UNAUTHENTICATED\"} 1",
        "promptd_workspaces{state=\"ready\"} 1",
        "promptd_watch_folders",
        "promptd_reload_failures_total 0",
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
    let (_, config) = get(&admin, "/debug/config");
    assert!(config.contains("tokens.yaml") && !config.contains("s3cret"), "{config}");
    assert!(!metrics.contains("Rules of the house") && !metrics.contains("\"ws\""), "{metrics}");
    service.stop();
}

#[test]
fn settings_and_tokens_are_reloaded_while_running() {
    let config = |more: &str| format!("workspaces: {{single: [../ws]}}\nauth: {{tokens_file: tokens.yaml}}\n{more}");
    let home = folder(&[
        ("config/promptd.yaml", &config("")),
        ("config/tokens.yaml", "tokens: [{name: a, token: first-first-first}]\n"),
        ("ws/AGENTS.md", "A."),
    ]);
    let path = home.path().join("config/promptd.yaml");
    let mut service = Service::start(home.path(), &["serve", "--listen", "127.0.0.1:0"]);
    write(&path, &config("risks: ignore\n"));
    let log = service.wait_for_log("the last good version stays in use");
    assert!(log.contains("promptd.yaml:3:8"), "{log}");
    write(&path, &config("log: {level: debug}\ndrain: {delay: 1ms}\nlimits: {max_variables: 0}\n"));
    let log = service.wait_for_log("reloaded");
    assert!(log.contains("takes effect at the next start") && log.contains("setting=\"drain.delay\""), "{log}");
    assert!(log.contains("setting=\"log.level\""), "{log}");
    write(&home.path().join("config/tokens.yaml"), "tokens: [{name: a, token: second-second-second}]\n");
    service.wait_for_log("file=\"tokens\"");
    let output = assemble_as("second-second-second", &service.address(), with_a_variable()).unwrap_err();
    assert_eq!(output.code(), Code::InvalidArgument, "{output}");
    assert!(output.message().contains("turn.variables"), "{output}");
    write(&home.path().join("config/tokens.yaml"), "\n");
    let log = service.wait_for_log("tokens.yaml is empty");
    assert!(log.contains("file=\"tokens\"") && log.contains("the last good version stays in use"), "{log}");
    write(&path, "");
    service.wait_for_log("promptd.yaml is empty");
    write(&path, "# workspaces: {single: [../ws]}\n---\n# limits: {}\n");
    service.wait_for_log("promptd.yaml has no settings");
    let output = assemble_as("second-second-second", &service.address(), with_a_variable()).unwrap_err();
    assert!(output.message().contains("turn.variables"), "{output}");
    service.signal("-HUP");
    service.wait_for_log("looking at every file again");
    service.stop();
}

#[test]
fn a_setting_that_waits_for_a_restart_is_compared_with_what_runs() {
    let config = |more: &str| {
        format!("listen: 127.0.0.1:0\nadmin: {{listen: '127.0.0.1:0'}}\nworkspaces: {{single: [ws]}}\n{more}")
    };
    let home = folder(&[("promptd.yaml", &config("")), ("ws/AGENTS.md", "A.")]);
    let path = home.path().join("promptd.yaml");
    let mut service = Service::start(home.path(), &["serve", "--config", "promptd.yaml"]);
    let log = service.wait_for_log("serving");
    let admin = log.split("admin=").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    let in_use = |key: &str| -> String {
        let (_, all) = get(&admin, "/debug/config");
        all.lines().find(|line| line.contains(key)).unwrap().trim().trim_end_matches(',').to_owned()
    };
    let delay = in_use("drain.delay");
    write(&path, &config("drain: {delay: 77ms}\nlog: {level: debug}\n"));
    let log = service.wait_for_log("reloaded");
    assert!(log.contains("setting=\"drain.delay\"") && log.contains("takes effect at the next start"), "{log}");
    assert_eq!((in_use("drain.delay"), in_use("log.level")), (delay, "\"log.level\": \"debug\"".to_owned()));
    write(&path, &config(""));
    let log = service.wait_for_log("reloaded");
    assert!(log.contains("setting=\"log.level\"") && !log.contains("drain.delay"), "{log}");
    service.stop();
}

#[test]
fn requests_that_are_no_calls_are_counted_by_what_is_wrong_with_them() {
    const METHOD: &str = "/promptd.v1.PromptService/AssemblePrompt";
    let home = folder(&[
        ("config/promptd.yaml", "workspaces: {single: [../ws]}\nlisten: 127.0.0.1:0\nadmin: {listen: '127.0.0.1:0'}\n"),
        ("ws/AGENTS.md", "Rules of the house."),
    ]);
    let mut service = Service::start(home.path(), &["serve"]);
    let log = service.wait_for_log("serving");
    let admin = log.split("admin=").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    for (head, status, reason) in [
        ("GET /nothing HTTP/1.1\r\nhost: localhost\r\n", "404", "path"),
        (&format!("PUT {METHOD} HTTP/1.1\r\nhost: localhost\r\n"), "405", "verb"),
        (&format!("POST {METHOD} HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/plain\r\n"), "415", "content_type"),
        ("GET / HTTP/1.1\r\nhost: evil.example\r\n", "403", "host"),
        ("GET / HTTP/1.1\r\nhost: localhost\r\norigin: https://evil.example\r\n", "403", "origin"),
        (
            &format!("POST {METHOD} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/grpc\r\n"),
            "505",
            "http_version",
        ),
        (
            &format!("POST {METHOD} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/grpc-web\r\n"),
            "200",
            "grpc_web",
        ),
    ] {
        let mut stream = TcpStream::connect(service.address()).unwrap();
        write!(stream, "{head}connection: close\r\ncontent-length: 0\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{reason}: {answer}");
        let (_, metrics) = get(&admin, "/metrics");
        let line = format!("promptd_http_refusals_total{{reason=\"{reason}\"}} 1");
        assert!(metrics.contains(&line), "{line} is not in\n{metrics}");
    }
    service.stop();
}

#[test]
fn what_limits_cut_is_in_the_log_in_the_metrics_and_in_answers() {
    let home = folder(&[
        ("ws/one/AGENTS.md", &"Rules of one. ".repeat(20)),
        ("ws/one/workspace.yaml", "context: {max_chars_per_file: 100}\n"),
    ]);
    // Loaded, and not.
    for resident in ["1MiB", "0"] {
        let arguments = ["serve", "--workspaces", "ws", "--resident", resident];
        let addresses = ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
        let mut service = Service::start(home.path(), &[&arguments[..], &addresses].concat());
        let log = service.wait_for_log("serving");
        let admin = log.split("admin=").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
        let line = log.lines().find(|line| line.contains("CONTEXT_FILE_TRUNCATED"));
        assert!(line.is_some_and(|line| line.contains("WARN") && line.contains("AGENTS.md")), "{log}");
        let (_, metrics) = get(&admin, "/metrics");
        let line = "promptd_workspace_findings{code=\"CONTEXT_FILE_TRUNCATED\",severity=\"warning\"} 1";
        assert!(metrics.contains(line), "{metrics}");
        let listed = post(&service.address(), "WorkspaceService/ListWorkspaces", "{}");
        assert!(listed.contains("\"warnings\":1"), "{listed}");
        let answer = post(&service.address(), "WorkspaceService/GetWorkspace", r#"{"workspaceId": "one"}"#);
        assert!(answer.contains("CONTEXT_FILE_TRUNCATED") && answer.contains("\"warnings\":1"), "{answer}");
        let answer = post(&service.address(), "WorkspaceService/ListRevisions", r#"{"workspaceId": "one"}"#);
        assert!(answer.contains("\"warnings\":1"), "{answer}");
        service.stop();
    }
}

#[test]
fn workspaces_that_are_not_loaded_are_called_and_listed_like_others() {
    let home = folder(&[
        ("ws/one/AGENTS.md", "Rules of one."),
        ("ws/two/AGENTS.md", "Rules of two."),
        ("ws/two/workspace.yaml", "agent: {name: Harbor}\n"),
    ]);
    let flags = ["serve", "--workspaces", "ws", "--resident", "0", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
    let mut service = Service::start(home.path(), &flags);
    let log = service.wait_for_log("serving");
    let admin = log.split("admin=").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    let post = |method: &str, body: &str| post(&service.address(), method, body);
    let listed = |query: &str| post("WorkspaceService/ListWorkspaces", &format!("{{\"query\": \"{query}\"}}"));
    let all = listed("");
    assert!(all.contains("\"one\"") && all.contains("\"Harbor\"") && all.contains("\"contextSize\""), "{all}");
    assert!(listed("harb").contains("\"two\"") && !listed("harb").contains("\"one\""));
    assert!(get(&admin, "/metrics").1.contains("promptd_resident_misses_total 0"), "a list loads none");
    for (method, body, expected) in [
        ("PromptService/AssemblePrompt", r#"{"workspaceId": "two"}"#, "Rules of two."),
        ("WorkspaceService/GetWorkspace", r#"{"workspaceId": "one"}"#, "AGENTS.md"),
        ("WorkspaceService/ListRevisions", r#"{"workspaceId": "two"}"#, "\"revision\""),
        ("WorkspaceService/ReadFile", r#"{"workspaceId": "one", "path": "AGENTS.md"}"#, "sha256"),
        ("PromptService/DiffPrompt", r#"{"workspaceId": "two"}"#, "revision"),
        ("PromptService/ParseReply", r#"{"workspaceId": "one", "text": "Yes."}"#, "Yes."),
        ("PromptService/AssemblePrompt", r#"{"workspaceId": "three"}"#, "not_found"),
    ] {
        let answer = post(method, body);
        assert!(answer.contains(expected), "{method} {body}: {answer}");
    }
    let (_, metrics) = get(&admin, "/metrics");
    assert!(metrics.contains("promptd_workspaces{state=\"ready\"} 2"), "{metrics}");
    assert!(!metrics.contains("promptd_resident_misses_total 0"), "{metrics}");
    service.stop();
}
