//! TLS to a hub: `stunnel4` from Debian in front of PostgreSQL, which has no TLS of its own here.

use std::path::Path;
use std::process::{Child, Stdio};

use super::*;

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn is_there(program: &str) -> bool {
    Command::new(program).arg("-version").stdin(Stdio::null()).output().is_ok()
}

fn openssl(folder: &Path, arguments: &str) {
    let words = arguments.split_whitespace();
    let output = Command::new("openssl").current_dir(folder).args(words).output().expect("it runs");
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_hub_is_trusted_by_the_given_authorities_alone() {
    if !is_there("stunnel4") || !is_there("openssl") {
        eprintln!("skipped: no TLS in front of PostgreSQL: `apt-get install stunnel4 openssl`");
        return;
    }
    let Some(db) = database() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let new = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2";
    for ca in ["ca", "other"] {
        openssl(
            folder.path(),
            &format!("req -x509 {new} -keyout {ca}.key -out {ca}.pem -subj /CN={ca}"),
        );
    }
    openssl(
        folder.path(),
        &format!("req {new} -keyout server.key -out server.csr -subj /CN=localhost"),
    );
    std::fs::write(at("names"), "subjectAltName=DNS:localhost\n").expect("written");
    let sign = "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names \
                -out server.pem";
    openssl(folder.path(), sign);
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    let settings = format!(
        "foreground = yes\npid =\n[pg]\naccept = 127.0.0.1:{port}\nconnect = 127.0.0.1:{}\nprotocol = pgsql\n\
         cert = {}\nkey = {}\n",
        db.port(),
        at("server.pem"),
        at("server.key")
    );
    std::fs::write(at("stunnel.conf"), settings).expect("written");
    let child = Command::new("stunnel4").arg(at("stunnel.conf")).stderr(Stdio::null()).spawn();
    let _running = Running(child.expect("it starts"));
    #[allow(clippy::disallowed_methods, reason = "a port of this machine")]
    until("it listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    let project = TestProject::of(&[("a.md", "# Apple Press\n")]);
    migrated(&project, &db);
    grant(&project, &db, "a", "pub", true);
    let root = project.root().display().to_string();
    let publish = |host: &str, query: &str| {
        let url = format!("postgres://pub@{host}:{port}/postgres{query}");
        let output =
            kgctl(&project, &["--project", &root, "publish", &url, "--name", "a"]).output();
        let output = output.expect("it runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let by = |ca: &str| format!("?sslrootcert={}", at(ca));
    for (host, query, words) in [
        ("localhost", by("other.pem"), "sslrootcert"),
        // The certificate is for another name.
        ("127.0.0.1", by("ca.pem"), "sslrootcert"),
        // The system's authorities do not know it, either.
        ("localhost", "?sslmode=require".to_string(), "sslrootcert"),
        ("localhost", by("none.pem"), "none.pem"),
    ] {
        let (code, error) = publish(host, &query);
        assert!(matches!(code, Some(2 | 4)) && error.contains(words), "{host} {query}: {error}");
    }
    assert_eq!(db.sql("SELECT count(*) FROM kg.documents"), "0");
    let (code, error) = publish("localhost", &by("ca.pem"));
    assert_eq!(code, Some(0), "{error}");
    assert_eq!(db.sql("SELECT count(*) FROM kg.documents"), "1");
}
