//! Passwords: to whom a role's password goes, and who can see it on the way.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use super::*;

/// Plays a server that asks for the password in clear, once; returns its port, and what it is given.
fn asking() -> (u16, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let played = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a client");
        let mut bytes = [0; 1_024];
        // It asks for TLS first, and there is none.
        let n = client.read(&mut bytes).expect("read");
        if bytes[..n].ends_with(&80_877_103_u32.to_be_bytes()) {
            client.write_all(b"N").expect("written");
            let _ = client.read(&mut bytes).expect("read");
        }
        client.write_all(b"R\0\0\0\x08\0\0\0\x03").expect("written");
        let n = client.read(&mut bytes).unwrap_or(0);
        String::from_utf8_lossy(bytes.get(5..n).unwrap_or_default()).trim_matches('\0').to_string()
    });
    (port, played)
}

#[test]
fn a_hub_that_is_named_once_gets_no_password_of_another() {
    let project = TestProject::of(&[("a.md", "# Apple Press\n")]);
    let token = project.scratch().join("token");
    std::fs::write(&token, "secret of the hub\n").expect("written");
    let root = project.root().display().to_string();
    for (role, variable, expected) in [
        ("pub", Some("mine"), "mine"),
        ("pub:of-the-address", None, "of-the-address"),
        // Only the port is another one.
        ("press", Some("mine"), "mine"),
    ] {
        let (port, given) = asking();
        let url = format!("postgres://{role}@127.0.0.1:{port}/kg");
        let mut command = kgctl(&project, &["--project", &root, "publish", &url]);
        command.env("KG_PUBLISH__URL", "postgres://press@127.0.0.1:1/kg");
        command.env("KG_PUBLISH__TOKEN_FILE", &token).env_remove("PGPASSWORD");
        command.envs(variable.map(|it| ("PGPASSWORD", it)));
        let output = command.output().expect("it runs");
        assert!(!output.status.success());
        assert_eq!(given.join().expect("asked"), expected, "{role}");
    }
}

#[test]
fn another_machine_is_not_even_tried_without_tls() {
    let project = TestProject::of(&[("a.md", "# Apple Press\n")]);
    let root = project.root().display().to_string();
    for (mode, words) in [("prefer", "leave `sslmode` out"), ("disable", "publish.plaintext_hosts")]
    {
        let url = format!("postgres://pub@192.0.2.2/kg?sslmode={mode}");
        for arguments in
            [&["publish", &url][..], &["hub", "migrate", &url], &["--hub", &url, "query", "press"]]
        {
            let output = kgctl(&project, &[&["--project", &root], arguments].concat()).output();
            let output = output.expect("it runs");
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!output.status.success() && error.contains(words), "{arguments:?}: {error}");
        }
    }
}

#[test]
fn no_argument_of_a_program_that_stays_has_the_password() {
    let Some(db) = database() else { return };
    let project = TestProject::of(&[("a.md", "# Apple Press\n")]);
    migrated(&project, &db);
    grant(&project, &db, "a", "pub", true);
    grant(&project, &db, "a", "ann", false);
    publish(&project, &db, "a");
    let mut front = Front::of(&db, "ann");
    front.url = front.url.replace("ann@", "ann:hunter2%21@");
    assert!(front.kgctl(&["--project", "a", "status"]).status.success());
    let mut agent = front.agent();
    agent.call("status", json!({"project": "a"})).expect("answered");
    let of = |pid: &str, what: &str| {
        let bytes = std::fs::read(format!("/proc/{pid}/{what}")).expect("it runs");
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let pid = front.pid().expect("it runs");
    for pid in [&pid, &agent.pid().to_string()] {
        let arguments = of(pid, "cmdline");
        assert!(arguments.contains("ann@") && !arguments.contains("hunter2"), "{arguments}");
        assert!(of(pid, "environ").contains("PGPASSWORD=hunter2!"));
    }
    let file = front.places().state.join("hub.url");
    let mode = std::fs::metadata(&file).expect("kept").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "{}", file.display());
}
