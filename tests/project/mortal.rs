//! Mortal: a daemon that may die at any moment because a test asked for it.
//!
//! In: an environment such as `KG_FAIL`, calls. Out: how it ended, where [`TestProject`]'s own
//! calls would fail the test.

use std::collections::BTreeSet;
use std::fs::File;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use super::{Ended, PATIENCE, TestProject, files_below};

impl TestProject {
    /// Adds a variable to the environment of daemons started from now on; an empty value removes
    /// it.
    pub fn set_environment(&mut self, name: &str, value: &str) {
        self.environment.retain(|(known, _)| known != name);
        if !value.is_empty() {
            self.environment.push((name.to_string(), value.to_string()));
        }
    }

    /// Undoes the last [`TestProject::set`].
    pub fn unset(&mut self) {
        self.settings.pop();
    }

    /// Starts daemons from now on through another program, such as `nsenter`, which runs the rest
    /// of its command line. Cannot be undone.
    pub fn launch_through(&mut self, launcher: &[&str]) {
        self.launcher = launcher.iter().map(ToString::to_string).collect();
    }

    pub(super) fn launch_command(&self) -> Command {
        match self.launcher.split_first() {
            None => Command::new(crate::kgd()),
            Some((program, arguments)) => {
                let mut command = Command::new(program);
                command.args(arguments).arg(crate::kgd());
                command
            }
        }
    }

    /// Starts the daemon without waiting for it.
    pub fn launch(&mut self) {
        assert!(self.daemon.is_none(), "it runs already");
        let log = File::options().create(true).append(true).open(self.log_path()).expect("a log");
        let child = self.command().stderr(log).spawn();
        self.daemon = Some(child.expect("the daemon can be started"));
    }

    /// Returns how the daemon ended, if it did.
    ///
    /// # Panics
    /// If none was started; the methods below panic likewise.
    pub fn end(&mut self) -> Option<Ended> {
        let status = self.daemon.as_mut().expect("a daemon").try_wait().expect("our own child");
        status.map(|_| self.wait_for_end())
    }

    /// Calls a tool of a daemon that may die during the call; `None` then.
    pub fn attempt(&mut self, tool: &str, arguments: Value) -> Option<Result<Value, Value>> {
        if self.client.is_none() {
            self.client = crate::Client::try_admin(&self.paths.socket);
        }
        let answer = self.client.as_mut()?.attempt(tool, arguments);
        if answer.is_none() {
            self.client = None;
        }
        answer
    }

    /// Waits until the index shows the folder as it is now and nothing is left to do, or until the
    /// daemon has ended.
    ///
    /// # Errors
    /// How it ended.
    pub fn settle_or_end(&mut self) -> Result<(), Ended> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let waited = self.attempt("wait", json!({"timeout_ms": 60_000}));
            let has_settled = waited.is_some_and(|it| it.is_ok_and(|it| it["reached"] == true));
            if let Some(ended) = self.end() {
                return Err(ended);
            }
            if has_settled && self.lists_the_folder() {
                return Ok(());
            }
            assert!(Instant::now() < deadline, "neither settled nor dead\n{}", self.log());
        }
    }

    fn lists_the_folder(&mut self) -> bool {
        let mut wanted = BTreeSet::new();
        files_below(&self.root, "", &mut wanted);
        let Some(Ok(page)) = self.attempt("dump", json!({"limit": 5000})) else { return false };
        let rows = page["rows"].as_array().into_iter().flatten();
        let field = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_string();
        let shown: BTreeSet<(String, String)> = rows
            .filter(|row| row["kind"] == "document")
            .map(|row| (field(row, "path"), field(row, "hash")))
            .collect();
        let is_settled = self
            .attempt("status", json!({}))
            .is_some_and(|it| it.is_ok_and(|it| it["settled"] == true));
        is_settled && shown == wanted
    }
}
