//! The limit on open files.

use std::{fs, io::Write as _, net::TcpStream};

use super::support::{Service, folder, write};

/// Connections cannot take the descriptors that reloading needs: an edit is served and a token taken away meanwhile.
#[test]
fn a_flood_of_connections_leaves_descriptors_for_reloading() {
    let tokens = "tokens: [{name: one, token: 0123456789abcdef}, {name: two, token: fedcba9876543210}]\n";
    let home = folder(&[
        ("ws/AGENTS.md", "One.\n"),
        ("tokens.yaml", tokens),
        ("promptd.yaml", "listen: 127.0.0.1:0\nworkspaces: {single: [ws]}\nauth: {tokens_file: tokens.yaml}\n"),
    ]);
    let arguments = ["serve", "--config", "promptd.yaml"];
    let mut service = Service::start_with_files(home.path(), &arguments, (200, 300));
    let limits = fs::read_to_string(format!("/proc/{}/limits", service.id())).unwrap();
    let files: Vec<_> = limits.lines().find(|line| line.starts_with("Max open files")).unwrap().split(' ').collect();
    let files: Vec<_> = files.into_iter().filter(|word| !word.is_empty()).collect();
    assert_eq!(files[3..5], ["300", "300"], "the soft limit is raised to the hard one");
    let before = service.wait_for_log("serving");
    assert!(before.contains("limits.max_connections"), "{before}");

    let connections: Vec<_> = (0..400)
        .filter_map(|_| {
            let mut connection = TcpStream::connect(service.address()).ok()?;
            let _ = connection.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
            Some(connection)
        })
        .collect();
    assert!(connections.len() > 300);
    write(&home.path().join("tokens.yaml"), "tokens: [{name: one, token: 0123456789abcdef}]\n");
    let seen = service.wait_for_log("file=\"tokens\"");
    assert!(seen.contains("INFO"), "{seen}");
    write(&home.path().join("ws/AGENTS.md"), "Two.\n");
    service.wait_for_log("changed=[\"AGENTS.md\"]");
    drop(connections);
    service.stop();
}
