use std::os::unix::fs::PermissionsExt;

use expect_test::{Expect, expect};
use tokio::io::AsyncReadExt;

use super::*;

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("is there").mode() & 0o777
}

async fn check_refused(path: &Path, expected: Expect) {
    let error = Door::bind(path).await.expect_err("refused");
    let place = path.parent().expect("a directory").parent().expect("another");
    expected.assert_eq(&format!("{error}\n").replace(&place.display().to_string(), "…"));
}

#[tokio::test]
async fn the_socket_is_private_and_goes_with_its_door() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("made/here/kg.sock");
    let door = Door::bind(&path).await.expect("bound");
    assert_eq!((mode(&path), mode(&dir.path().join("made"))), (0o600, 0o700));
    drop(door);
    assert!(!path.exists());
}

#[tokio::test]
async fn a_stale_socket_is_replaced_and_a_living_one_is_not() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("kg.sock");
    // A socket whose daemon was killed: bound, never unlinked.
    drop(std::os::unix::net::UnixListener::bind(&path).expect("bound"));
    let door = Door::bind(&path).await.expect("a stale socket does not matter");
    let error = Door::bind(&path).await.expect_err("somebody is there");
    assert!(matches!(error, ListenError::Served(_)), "{error}");
    assert!(path.exists(), "the living socket stays");
    drop(door);
}

#[tokio::test]
async fn unsafe_places_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let open = dir.path().join("open");
    fs::create_dir(&open).expect("made");
    fs::set_permissions(&open, Permissions::from_mode(0o775)).expect("changed");
    check_refused(
        &open.join("kg.sock"),
        expect![[r#"
            `…/open` cannot hold the socket: others may write to it
            hint: `chmod 700` it, or choose another with `--socket`
        "#]],
    )
    .await;
    fs::set_permissions(&open, Permissions::from_mode(0o700)).expect("changed");
    fs::write(open.join("kg.sock"), "notes").expect("written");
    check_refused(
        &open.join("kg.sock"),
        expect![[r#"
            `…/open/kg.sock` cannot hold the socket: something else lies there
            hint: move it away, or choose another path
        "#]],
    )
    .await;
    let long = dir.path().join("x".repeat(120));
    assert!(matches!(Door::bind(&long).await, Err(ListenError::TooLong(_))));
}

#[tokio::test]
async fn only_its_own_socket_is_removed() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("kg.sock");
    let old = Door::bind(&path).await.expect("bound");
    fs::remove_file(&path).expect("somebody cleaned up");
    let new = Door::bind(&path).await.expect("bound");
    drop(old);
    assert!(path.exists(), "the new daemon's socket stays");
    drop(new);
}

#[tokio::test]
async fn a_socket_that_was_cleaned_away_is_made_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("kg.sock");
    let mut door = Door::bind(&path).await.expect("bound");
    door.touch().expect("touched");
    assert!(!door.tend().await.expect("it is there"));
    fs::remove_file(&path).expect("somebody cleaned up");
    assert!(door.tend().await.expect("made again"));
    let other = dir.path().join("other.sock");
    drop(std::os::unix::net::UnixListener::bind(&other).expect("bound"));
    fs::rename(&other, &path).expect("somebody replaced it");
    assert!(door.tend().await.expect("made again"));
    let client = UnixStream::connect(&path);
    let (accepted, connected) = tokio::join!(door.accept(), client);
    drop(accepted.expect("accepted"));
    let mut rest = Vec::new();
    connected.expect("connected").read_to_end(&mut rest).await.expect("hung up");
}

#[tokio::test]
async fn the_usual_path_can_lead_elsewhere() {
    let dir = tempfile::tempdir().expect("a directory");
    let (socket, link) = (dir.path().join("unit.sock"), dir.path().join("usual.sock"));
    let door = Door::bind(&socket).await.expect("bound");
    drop(std::os::unix::net::UnixListener::bind(&link).expect("a stale one"));
    link_to(&link, &socket).await.expect("linked");
    link_to(&link, &socket).await.expect("again");
    UnixStream::connect(&link).await.expect("leads to the door");
    let other = dir.path().join("other.sock");
    let error = link_to(&link, &other).await.expect_err("in use");
    assert!(matches!(error, ListenError::Served(_)), "{error}");
    drop(door);
}
