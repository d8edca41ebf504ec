//! `promptd serve` and `promptd inspect`, as processes: where the page is, and when it is not.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use tempfile::TempDir;

use crate::support::{Service, command, folder, run};

fn site() -> TempDir {
    folder(&[("all/one/AGENTS.md", "One."), ("all/two/AGENTS.md", "Two."), ("empty/notes.txt", "")])
}

/// An address of this machine that nobody has: other listeners of the tests are at `127.0.0.1`.
fn free() -> String {
    TcpListener::bind("127.0.0.3:0").unwrap().local_addr().unwrap().to_string()
}

/// The answer to a request, whole.
fn ask(url: &str, verb: &str, path: &str, body: &str) -> String {
    let address = url.strip_prefix("http://").unwrap().trim_end_matches('/');
    let mut stream = TcpStream::connect(address).unwrap();
    let (length, json) = (body.len(), "content-type: application/json\r\nconnection: close");
    write!(stream, "{verb} {path} HTTP/1.1\r\nhost: {address}\r\n{json}\r\ncontent-length: {length}\r\n\r\n{body}")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn list(url: &str) -> String {
    ask(url, "POST", "/promptd.v1.WorkspaceService/ListWorkspaces", "{}")
}

/// The address that the line of `serve` names, and that the log's line names too.
fn url(log: &str) -> String {
    let line = log.lines().find(|line| line.starts_with("inspector at ")).unwrap_or_else(|| panic!("{log}"));
    let url = line.strip_prefix("inspector at ").unwrap().to_owned();
    let serving = log.lines().find(|line| line.contains("serving")).unwrap();
    assert!(serving.contains(&format!("inspector={url}")), "{log}");
    url
}

#[test]
fn serve_says_where_the_page_is_and_it_is_there() {
    let home = site();
    let arguments = ["serve", "--workspaces", "all", "--listen", "127.0.0.1:0", "--inspector", "127.0.0.1:0"];
    let mut service = Service::start(home.path(), &arguments);
    assert!(service.line.starts_with("promptd listening on 127.0.0.1:"), "{}", service.line);
    let url = url(&service.wait_for_log("serving"));
    let page = ask(&url, "GET", "/", "");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("<!doctype html>"), "{page}");
    let workspaces = list(&url);
    assert!(workspaces.contains("\"one\"") && workspaces.contains("\"two\""), "{workspaces}");
    let schema = ask(&url, "GET", "/schema/turn.json", "");
    assert!(schema.ends_with(&run(home.path(), &["schema", "turn"]).out), "{schema}");
    service.stop();
}

#[test]
fn it_is_off_where_the_service_picks_its_port_and_where_that_is_said() {
    let home = site();
    let listen = free();
    for more in [["--listen", "127.0.0.1:0"].as_slice(), &["--listen", &listen, "--inspector", "off"]] {
        let service = Service::start(home.path(), &[&["serve", "--workspaces", "all"], more].concat());
        let log = service.stop();
        assert!(!log.contains("inspector"), "{more:?} {log}");
    }
}

/// Its default port is one, but this machine has many addresses, of which each run of the tests has its own.
#[test]
fn beside_a_service_of_this_machine_it_is_on_where_its_port_is_free() {
    let home = site();
    let [.., high, low] = std::process::id().to_be_bytes();
    let ip = format!("127.83.{high}.{}", low.clamp(1, 254));
    let (listen, page) = (format!("{ip}:50051"), format!("{ip}:50052"));
    let arguments = ["serve", "--workspaces", "all", "--listen", &listen];
    let mut service = Service::start(home.path(), &arguments);
    assert_eq!(url(&service.wait_for_log("serving")), format!("http://{page}/"));
    assert!(list(&format!("http://{page}/")).contains("\"one\""));
    service.stop();

    let _taken = TcpListener::bind(&page).unwrap();
    let mut service = Service::start(home.path(), &arguments);
    let log = service.wait_for_log("serving");
    let warning = log.lines().find(|line| line.contains("WARN") && line.contains("the inspector is off"));
    let warning = warning.unwrap_or_else(|| panic!("{log}"));
    assert!(warning.contains(&page) && warning.contains("--inspector"), "{log}");
    assert!(!log.contains("inspector at") && !log.contains("inspector="), "{log}");
    service.stop();
}

#[test]
fn a_named_port_that_is_taken_is_an_error() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let config = format!("workspaces: {{root: ../all}}\nlisten: 127.0.0.1:0\ninspector: {{listen: '{address}'}}\n");
    let home = folder(&[("all/one/AGENTS.md", "One."), ("config/promptd.yaml", &config)]);
    let by_flag = ["serve", "--workspaces", "all", "--listen", "127.0.0.1:0", "--inspector", &address];
    for arguments in [&by_flag[..], &["serve"]] {
        let output = run(home.path(), arguments);
        assert_eq!((output.code, output.out.as_str()), (1, ""), "{arguments:?}");
        assert!(output.err.contains(&format!("cannot listen on {address} for `inspector.listen`")), "{}", output.err);
        assert!(output.err.contains("give another with --inspector"), "{}", output.err);
    }
    let output = run(home.path(), &["inspect", "all", "--listen", &address]);
    assert_eq!((output.code, output.out.as_str()), (1, ""));
    assert!(output.err.contains("give another with --listen"), "{}", output.err);
}

#[test]
fn an_address_that_others_reach_needs_tokens_and_tls() {
    let home = site();
    let arguments = ["serve", "--workspaces", "all", "--listen", "127.0.0.1:0", "--inspector", "0.0.0.0:0"];
    let output = run(home.path(), &arguments);
    assert_eq!((output.code, output.out.as_str()), (1, ""));
    assert!(output.err.contains("`--inspector 0.0.0.0:0` can be reached from other machines"), "{}", output.err);
    assert!(output.err.contains("insecure: true"), "{}", output.err);
    let output = run(home.path(), &["inspect", "all", "--listen", "0.0.0.0:0"]);
    assert_eq!((output.code, output.out.as_str()), (2, ""));
    assert!(output.err.contains("an address of this machine alone"), "{}", output.err);
}

#[test]
fn a_log_in_json_has_the_address_in_its_line_alone() {
    let config =
        "workspaces: {root: ../all}\nlisten: 127.0.0.1:0\ninspector: {listen: '127.0.0.1:0'}\nlog: {format: json}\n";
    let home = folder(&[("all/one/AGENTS.md", "One."), ("config/promptd.yaml", config)]);
    let log = Service::start(home.path(), &["serve"]).stop();
    assert!(log.lines().all(|line| line.starts_with('{')), "{log}");
    assert!(log.contains("\"inspector\":\"http://127.0.0.1:"), "{log}");
}

#[test]
fn what_is_refused_is_counted_and_the_admin_pages_show_no_prompt() {
    let home = folder(&[("all/one/AGENTS.md", "Rules of the house.")]);
    let listen = ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--inspector", "127.0.0.1:0"];
    let mut service = Service::start(home.path(), &[&["serve", "--workspaces", "all"][..], &listen].concat());
    let log = service.wait_for_log("serving");
    let admin = log.split("admin=").nth(1).unwrap().split_whitespace().next().unwrap();
    let (url, admin) = (url(&log), format!("http://{admin}/"));
    let assemble = "/promptd.v1.PromptService/AssemblePrompt";
    assert!(ask(&url, "POST", assemble, r#"{"workspaceId": "one"}"#).contains("Rules of the house."));
    for (verb, path) in [("GET", "/nothing"), ("GET", "/nothing"), ("PUT", "/"), ("GET", "http://evil.example/")] {
        ask(&url, verb, path, "");
    }
    let metrics = ask(&admin, "GET", "/metrics", "");
    for line in [
        "promptd_http_refusals_total{reason=\"path\"} 2",
        "promptd_http_refusals_total{reason=\"verb\"} 1",
        "promptd_http_refusals_total{reason=\"host\"} 1",
        "promptd_calls_total{method=\"promptd.v1.PromptService/AssemblePrompt\",code=\"OK\"} 1",
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
    for path in ["/metrics", "/debug/config", "/", "/info.json", assemble] {
        assert!(!ask(&admin, "GET", path, "").contains("Rules of the house."), "{path}");
    }
    assert!(ask(&admin, "POST", assemble, r#"{"workspaceId": "one"}"#).starts_with("HTTP/1.1 404"));
    service.stop();
}

#[cfg(feature = "record")]
#[test]
fn what_is_asked_for_in_the_inspector_is_not_recorded() {
    let config = "workspaces: {root: ../all}\nlisten: 127.0.0.1:0\ninspector: {listen: '127.0.0.1:0'}\nrecord: {dir: ../records}\n";
    let home = folder(&[("all/one/AGENTS.md", "One."), ("config/promptd.yaml", config)]);
    let mut service = Service::start(home.path(), &["serve"]);
    let (url, main) = (url(&service.wait_for_log("serving")), format!("http://{}/", service.address()));
    for address in [&url, &main, &url] {
        let body = r#"{"workspaceId": "one"}"#;
        let answer = ask(address, "POST", "/promptd.v1.PromptService/AssemblePrompt", body);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    service.stop();
    let stat = run(home.path(), &["record", "stat", "--dir", "records"]);
    assert!(stat.out.contains("1 request"), "{stat:?}");
}

#[test]
fn inspect_shows_a_workspace_or_a_folder_of_them_and_nothing_else() {
    let home = folder(&[
        ("all/one/AGENTS.md", "One."),
        ("all/two/AGENTS.md", "Two."),
        ("other/AGENTS.md", "Other."),
        // Its settings count here; its workspaces, its tokens and its addresses do not.
        (
            "config/promptd.yaml",
            "workspaces: {single: [../other]}\nlisten: 0.0.0.0:1\nauth: {tokens_file: t.yaml}\nexpose_paths: false\n",
        ),
    ]);
    for (folder, ids) in [("all", &["one", "two"][..]), ("all/one", &["one"]), ("mine=all/one", &["mine"])] {
        let service = Service::start(home.path(), &["inspect", folder, "--listen", "127.0.0.1:0"]);
        let url = service.line.trim().strip_prefix("inspector at ").unwrap().to_owned();
        assert!(ask(&url, "GET", "/", "").starts_with("HTTP/1.1 200"));
        let workspaces = list(&url);
        for id in ["one", "two", "mine", "other"] {
            assert_eq!(workspaces.contains(&format!("\"id\":\"{id}\"")), ids.contains(&id), "{id} {workspaces}");
        }
        assert!(!workspaces.contains(home.path().to_str().unwrap()), "{workspaces}");
        service.signal("-INT");
        let (status, log) = service.ended();
        assert_eq!(status.code(), Some(0), "{log}");
    }
}

#[test]
fn inspect_takes_a_free_port_where_its_own_is_taken_and_says_so() {
    let home = site();
    let _taken = TcpListener::bind("127.0.0.1:50052");
    let service = Service::start(home.path(), &["inspect", "empty"]);
    assert!(service.line.starts_with("inspector at http://127.0.0.1:"), "{}", service.line);
    assert!(!service.line.contains(":50052/"), "{}", service.line);
    let log = service.stop();
    assert!(log.contains("note: cannot listen on 127.0.0.1:50052"), "{log}");
    assert!(log.contains("note: empty has no files of a workspace"), "{log}");
    let output = run(home.path(), &["inspect", "missing"]);
    assert_eq!((output.code, output.err.as_str()), (2, "error: folder not found: missing\n"));
}

/// A program that browsers are opened by, which only writes down what it was given.
fn opener(home: &Path, script: &str) {
    let path = home.join("bin").join(if cfg!(target_os = "macos") { "open" } else { "xdg-open" });
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn inspect_opens_the_browser_and_goes_on_without_one() {
    let home = site();
    let start = || {
        let mut command = command(home.path(), &["inspect", "all/one", "--listen", "127.0.0.1:0", "--open"]);
        command.env("PATH", home.path().join("bin"));
        Service::spawn(command)
    };
    let mut service = start();
    service.wait_for_log("did not open http://127.0.0.1:");
    assert!(list(service.line.trim().strip_prefix("inspector at ").unwrap()).contains("\"one\""));
    service.stop();
    // It fails once it has written, so that there is a line to wait for.
    opener(home.path(), "echo \"$@\" >opened; exit 3");
    let mut service = start();
    service.wait_for_log("did not open");
    let opened = fs::read_to_string(home.path().join("opened")).unwrap();
    assert_eq!(opened.trim(), service.line.trim().strip_prefix("inspector at ").unwrap());
    service.stop();
}
