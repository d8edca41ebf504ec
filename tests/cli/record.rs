use std::{fs, path::Path, process::Command};

use promptd_contract::proto::{AssemblePromptRequest, Turn, User};
use tempfile::TempDir;

use super::{
    serve::{assemble, get},
    support::{Service, folder, run, write},
};

const CONFIG: &str = "listen: 127.0.0.1:0\nadmin: {listen: '127.0.0.1:0'}\nworkspaces: {root: all}\n";

/// A folder with a workspace and a config that records, with more settings of `record`.
pub(crate) fn site(settings: &str) -> TempDir {
    folder(&[
        ("promptd.yaml", &format!("{CONFIG}record: {{dir: data/records{settings}}}\n")),
        ("all/harbor/AGENTS.md", "Answer in one sentence.\n"),
        ("all/harbor/SOUL.md", "Calm.\n"),
        ("all/harbor/workspace.yaml", "agent: {name: Harbor, time_zone: Europe/Berlin}\n"),
    ])
}

pub(crate) fn serve(home: &Path) -> Service {
    Service::start(home, &["serve", "--config", "promptd.yaml"])
}

/// A turn of a user, with an ephemeral prompt.
pub(crate) fn of_user(id: &str) -> AssemblePromptRequest {
    let turn = Turn {
        user: Some(User { id: id.to_owned(), name: format!("Name of {id}") }),
        ephemeral_system_prompt: Some("sealed-orders".to_owned()),
        ..Default::default()
    };
    AssemblePromptRequest { workspace_id: "harbor".into(), turn: Some(turn), ..Default::default() }
}

/// The address of the admin pages.
fn admin(service: &mut Service) -> String {
    let log = service.wait_for_log("serving");
    log.split("admin=").nth(1).unwrap().split_whitespace().next().unwrap().to_owned()
}

/// Reads the metrics until they have the line; each call before has been handed over by then.
fn wait_for_metric(admin: &str, line: &str) {
    for _ in 0..10_000 {
        if get(admin, "/metrics").1.lines().any(|found| found == line) {
            return;
        }
        std::thread::yield_now();
    }
    panic!("no line {line} in\n{}", get(admin, "/metrics").1);
}

/// The files below a folder that have the text.
fn occurs(path: &Path, text: &str) -> usize {
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let has = |bytes: &[u8]| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    entries
        .map(|path| if path.is_dir() { occurs(&path, text) } else { usize::from(has(&fs::read(path).unwrap())) })
        .sum()
}

#[test]
fn calls_are_recorded_counted_and_removed_by_user() {
    let home = site("");
    let mut service = serve(home.path());
    let admin = admin(&mut service);
    for user in ["ada", "bob", "ada"] {
        assemble(&service.address(), of_user(user)).unwrap();
    }
    let unknown = AssemblePromptRequest { workspace_id: "no".into(), ..of_user("ada") };
    assert!(assemble(&service.address(), unknown).is_err(), "a call that fails is not recorded");
    wait_for_metric(&admin, "promptd_record_requests_total 3");
    wait_for_metric(&admin, "promptd_record_dropped_total{reason=\"queue_full\"} 0");
    wait_for_metric(&admin, "promptd_record_failing 0");
    service.stop();
    let records = home.path().join("data/records");
    assert_eq!((occurs(&records, "sealed-orders"), occurs(&records, "Name of ada")), (0, 2));
    let stat = run(home.path(), &["record", "stat", "--config", "promptd.yaml"]);
    assert!(stat.out.starts_with("harbor: 3 requests, 1 revision\nfrom 20"), "{stat:?}");
    let deleted = run(home.path(), &["record", "delete", "--user", "ada", "--config", "promptd.yaml"]);
    assert_eq!((deleted.code, deleted.out.as_str()), (0, "removed 2 requests\n"));
    assert_eq!((occurs(&records, "\"ada\""), occurs(&records, "Name of bob")), (0, 1));
    let deleted = run(home.path(), &["record", "delete", "--user", "bob", "--dir", "data/records"]);
    assert_eq!((deleted.code, deleted.out.as_str()), (0, "removed 1 request\n"));
    let stat = run(home.path(), &["record", "stat", "--dir", "data/records"]);
    assert_eq!((stat.code, stat.out.as_str()), (0, "no requests\n"));
}

#[test]
fn an_empty_id_is_refused_and_removes_nothing() {
    let home = site("");
    let service = serve(home.path());
    assemble(&service.address(), of_user("ada")).unwrap();
    service.stop();
    let ran = run(home.path(), &["record", "delete", "--dir", "data/records", "--user", ""]);
    assert!(ran.code == 2 && ran.out.is_empty() && ran.err.contains("--user <ID>"), "{ran:?}");
    let stat = run(home.path(), &["record", "stat", "--dir", "data/records"]);
    assert!(stat.out.starts_with("harbor: 1 request, 1 revision\n"), "{stat:?}");
}

#[test]
fn without_a_folder_nothing_is_recorded() {
    let home = folder(&[("promptd.yaml", CONFIG), ("all/harbor/AGENTS.md", "A.")]);
    let mut service = serve(home.path());
    let admin = admin(&mut service);
    assemble(&service.address(), of_user("ada")).unwrap();
    assert!(!get(&admin, "/metrics").1.contains("promptd_record"));
    service.stop();
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2);
    let stat = run(home.path(), &["record", "stat", "--config", "promptd.yaml"]);
    assert!(stat.code == 2 && stat.err.contains("set `record.dir` in the config, or give --dir"), "{stat:?}");
    for (arguments, message) in [
        (&["record", "stat", "--dir", "all"][..], "all has other files and no records"),
        (&["record", "delete", "--user", "x", "--dir", "missing"], "folder not found: missing"),
    ] {
        let ran = run(home.path(), arguments);
        assert!(ran.code == 2 && ran.err.contains(message), "{ran:?}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_to_harms_no_call_and_is_reported_once() {
    let home = site("");
    write(&home.path().join("data"), "a file where the folder must be");
    let mut service = serve(home.path());
    let admin = admin(&mut service);
    for _ in 0..3 {
        assemble(&service.address(), of_user("ada")).unwrap();
    }
    wait_for_metric(&admin, "promptd_record_dropped_total{reason=\"write_failed\"} 3");
    wait_for_metric(&admin, "promptd_record_failing 1");
    fs::remove_file(home.path().join("data")).unwrap();
    assemble(&service.address(), of_user("ada")).unwrap();
    wait_for_metric(&admin, "promptd_record_requests_total 1");
    wait_for_metric(&admin, "promptd_record_failing 0");
    let log = service.stop();
    // The start of the log was read before.
    assert_eq!(log.matches("requests are recorded again").count(), 1, "{log}");
    assert!(log.matches("requests are not recorded until this is fixed").count() <= 1, "{log}");
}

/// `ulimit -f` lets files be no longer than so many blocks, as a full disk does.
#[test]
fn a_disk_that_takes_no_more_harms_no_call() {
    let home = site("");
    write(&home.path().join("all/harbor/AGENTS.md"), &"Answer in one sentence.\n".repeat(2_000));
    let promptd = super::support::command(home.path(), &["serve", "--config", "promptd.yaml"]);
    let mut limited = Command::new("sh");
    // Without the trap, writing beyond the limit ends the process.
    limited.args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\""]);
    limited.arg(promptd.get_program()).args(promptd.get_args()).current_dir(home.path());
    let mut service = Service::spawn(limited);
    let admin = admin(&mut service);
    for _ in 0..3 {
        assemble(&service.address(), of_user("ada")).unwrap();
    }
    wait_for_metric(&admin, "promptd_record_dropped_total{reason=\"write_failed\"} 3");
    write(&home.path().join("all/harbor/AGENTS.md"), "Answer in one sentence.\n");
    service.wait_for_log("AGENTS.md");
    assemble(&service.address(), of_user("ada")).unwrap();
    wait_for_metric(&admin, "promptd_record_requests_total 1");
    service.stop();
    assert_eq!(fs::read_dir(home.path().join("data/records/unfinished")).unwrap().count(), 0);
}

#[test]
fn a_share_of_the_calls_is_recorded() {
    for (sample, least, most) in [("0", 0, 0), ("0.5", 5, 35)] {
        let home = site(&format!(", sample: {sample}"));
        let service = serve(home.path());
        for _ in 0..40 {
            assemble(&service.address(), of_user("ada")).unwrap();
        }
        service.stop();
        let recorded = occurs(&home.path().join("data/records"), "Name of ada");
        assert!((least..=most).contains(&recorded), "{sample}: {recorded}");
    }
}

#[test]
fn mistakes_in_the_settings_are_reported_with_their_line() {
    let home = site(", redact: [usr], sample: 2, max_age: 7 weeks");
    let ran = run(home.path(), &["serve", "--config", "promptd.yaml"]);
    assert_eq!(ran.code, 1);
    for message in
        ["did you mean `user`?", "`record.sample` must be from 0 to 1", "`record.max_age` must be a duration"]
    {
        assert!(ran.err.contains(message), "{message}: {}", ran.err);
    }
}
