use super::*;

#[test]
fn this_process_is_alive_and_absurd_ones_are_not() {
    assert!(is_alive(std::process::id()));
    assert!(!is_alive(u32::MAX));
}

#[test]
fn a_chosen_program_wins_and_a_missing_one_is_named() {
    let chosen = find_kgd(|name| (name == "KGD_BIN").then(|| "/x/kgd".into()));
    assert_eq!(chosen.ok(), Some(PathBuf::from("/x/kgd")));
    assert!(matches!(find_kgd(|_| None), Err(LaunchError::NoBinary)));
    let scratch = tempfile::tempdir().expect("a scratch folder");
    std::fs::write(scratch.path().join("kgd"), "").expect("written");
    let path = scratch.path().as_os_str().to_os_string();
    let found = find_kgd(|name| (name == "PATH").then(|| path.clone()));
    assert_eq!(found.ok(), Some(scratch.path().join("kgd")));
}

#[test]
fn the_last_words_are_the_whole_error_of_this_start() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let at = |name: &str| scratch.path().join(name);
    let places = Places { state: at("state"), runtime: at("run"), config: at("config") };
    let project = Project::at(scratch.path()).expect("a folder");
    let target = Target::new(&places, project).expect("made");
    let before = "kgd: an old error\n";
    let table = [
        ("", ""),
        ("INFO opening\nkgd: it is broken\nhint: mend it\n", "kgd: it is broken\nhint: mend it"),
        ("thread main panicked\nat x\n", "thread main panicked\nat x"),
    ];
    for (fresh, expected) in table {
        std::fs::write(&target.paths.log, format!("{before}{fresh}")).expect("written");
        assert_eq!(target.last_words(before.len() as u64), expected);
    }
    std::fs::write(&target.paths.log, "kgd: new\n").expect("written");
    assert_eq!(target.last_words(5_000_000), "kgd: new", "the old log was moved aside");
}

#[test]
fn hints_end_in_where_to_look() {
    let silent = |why: &str| {
        let (name, log) = ("notes".to_string(), PathBuf::from("/l"));
        LaunchError::Silent { name, why: why.to_string(), log }.to_string()
    };
    assert_eq!(silent("is ill"), "the daemon for `notes` is ill\nhint: see `/l`");
    assert_eq!(silent("is ill\nhint: rest"), "the daemon for `notes` is ill\nhint: rest; see `/l`");
}

#[test]
fn a_stale_socket_means_that_nothing_runs() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let at = |name: &str| scratch.path().join(name);
    let places = Places { state: at("state"), runtime: at("run"), config: at("config") };
    let project = Project::at(scratch.path()).expect("a folder");
    let target = Target::new(&places, project).expect("made");
    assert!(matches!(target.connect(), Err(LaunchError::NotRunning(_))));
    drop(std::os::unix::net::UnixListener::bind(&target.paths.socket).expect("bound"));
    assert!(matches!(target.connect(), Err(LaunchError::NotRunning(_))));
    std::fs::write(&target.paths.lock, "4294967295\n").expect("written");
    assert_eq!(target.pid(), None);
    std::fs::write(&target.paths.lock, format!("{} kgd\n", std::process::id())).expect("written");
    assert_eq!(target.pid(), Some(std::process::id()));
}
