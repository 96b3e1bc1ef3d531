//! Failure: the exit code of a command, and the message if it fails.
//!
//! In: the errors of everything a command uses. Out: `error: …` and `hint: …`, or both as JSON; a code.

use std::io::ErrorKind;
use std::process::ExitCode;

use ::config::command::ProjectFlags;
use ::config::load::LoadError;
use ::config::place::PlaceError;
use ::config::registry::{RegistryError, WhichError};
use client::call::CallError;
use client::connect::ConnectError;
use client::launch::LaunchError;
use client::render::for_shell;
use proto::error::Code;
use serde::Serialize;
use serde_json::Value;

/// Exit codes; scripts rely on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done = 0,
    Failed = 1,
    Refused = 2,
    NothingFound = 3,
    NoDaemon = 4,
    TimedOut = 5,
}

impl Exit {
    /// The protocol's error code for a failure of the client itself.
    fn code(self) -> &'static str {
        match self {
            Exit::Done | Exit::Failed => "failed",
            Exit::Refused => "invalid_params",
            Exit::NothingFound => "not_found",
            Exit::NoDaemon => "unavailable",
            Exit::TimedOut => "deadline_exceeded",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    /// The daemon's own code, if it gave one.
    code: Option<Code>,
    message: String,
    hint: Option<String>,
    /// Whether the reader of our output has closed it, which is not a failure.
    silent: bool,
}

impl Failure {
    /// Creates a failure; the message may end in a line `hint: …`.
    pub(crate) fn new(exit: Exit, message: impl ToString) -> Self {
        let message = message.to_string();
        let (message, hint) = match message.split_once("\nhint: ") {
            Some((message, hint)) => (message.to_string(), Some(hint.to_string())),
            None => (message, None),
        };
        Failure { exit, code: None, message, hint, silent: false }
    }

    /// Adds a hint, unless there is one.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint.get_or_insert(hint.into());
        self
    }

    /// Returns the same failure whose hint names the project in its commands; the message may quote what was typed.
    pub(crate) fn named(self, flags: &ProjectFlags) -> Self {
        let hint = self.hint.map(|hint| flags.in_text(&hint).into_owned());
        Failure { hint, ..self }
    }

    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// Returns the text to print, or `None` if nobody reads it.
    pub(crate) fn text(&self) -> Option<String> {
        let hint = self.hint.as_ref().map(|hint| format!("hint: {hint}\n")).unwrap_or_default();
        (!self.silent).then(|| format!("error: {}\n{hint}", self.message))
    }

    /// Like [`Failure::text`], as one line of JSON.
    pub(crate) fn json(&self) -> Option<String> {
        #[derive(Serialize)]
        struct Envelope<'a> {
            error: View<'a>,
        }
        #[derive(Serialize)]
        struct View<'a> {
            code: Value,
            message: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            hint: Option<&'a str>,
        }
        let given = self.code.and_then(|code| serde_json::to_value(code).ok());
        let code = given.unwrap_or_else(|| self.exit.code().into());
        let error = View { code, message: &self.message, hint: self.hint.as_deref() };
        let text = serde_json::to_string(&Envelope { error }).ok()?;
        (!self.silent).then(|| text + "\n")
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        let silent = error.kind() == ErrorKind::BrokenPipe;
        let exit = if silent { Exit::Done } else { Exit::Failed };
        Failure { exit, code: None, message: error.to_string(), hint: None, silent }
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        let code = error.code();
        let exit = match (&error, code) {
            (CallError::Broken { .. }, _) => Exit::NoDaemon,
            (_, Some(code)) => exit_of(code),
            (_, None) => Exit::Failed,
        };
        let failure = Failure::new(exit, error);
        // Only the hint is adapted to the shell: the message may quote what the user typed.
        let hint = failure.hint.as_deref().map(for_shell);
        Failure { code, hint, ..failure }
    }
}

/// Returns the exit code for an error code of the daemon.
fn exit_of(code: Code) -> Exit {
    match code {
        Code::NotFound => Exit::NothingFound,
        Code::InvalidParams | Code::Ambiguous | Code::OutsideProject | Code::VersionMismatch => {
            Exit::Refused
        }
        Code::ReadOnly | Code::Exists | Code::Conflict | Code::Refused => Exit::Refused,
        Code::DeadlineExceeded => Exit::TimedOut,
        Code::Unavailable => Exit::NoDaemon,
        Code::Cancelled | Code::Internal => Exit::Failed,
    }
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Refused(view) => {
                Failure { code: Some(view.code), ..Failure::new(exit_of(view.code), view) }
            }
            ConnectError::Io(_) | ConnectError::Handshake(_) | ConnectError::Silent => {
                Failure::new(Exit::NoDaemon, error)
            }
        }
    }
}

/// Errors with a fixed exit code.
macro_rules! failure_from {
    ($($error:ty => $exit:expr),* $(,)?) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure::new($exit, error)
            }
        })*
    };
}

impl From<LaunchError> for Failure {
    fn from(error: LaunchError) -> Self {
        let exit = match &error {
            LaunchError::Settings(_) => Exit::Refused,
            _ => Exit::NoDaemon,
        };
        Failure::new(exit, error)
    }
}

impl From<RegistryError> for Failure {
    fn from(error: RegistryError) -> Self {
        let exit = match &error {
            RegistryError::Name { .. } => Exit::Refused,
            _ => Exit::Failed,
        };
        Failure::new(exit, error)
    }
}

failure_from! {
    WhichError => Exit::Refused,
    LoadError => Exit::Refused,
    PlaceError => Exit::Failed,
    serde_json::Error => Exit::Failed,
}

#[cfg(test)]
mod tests {
    use proto::error::ErrorView;

    use super::*;

    #[test]
    fn hints_stand_on_a_line_of_their_own() {
        let text = |failure: Failure| failure.text().unwrap_or_default();
        assert_eq!(text(Failure::new(Exit::Failed, "a\nhint: b")), "error: a\nhint: b\n");
        assert_eq!(text(Failure::new(Exit::Failed, "a\nhint: b").hint("c")), "error: a\nhint: b\n");
        assert_eq!(text(Failure::new(Exit::Failed, "a").hint("c")), "error: a\nhint: c\n");
        let gone = Failure::from(std::io::Error::from(ErrorKind::BrokenPipe));
        assert_eq!((gone.exit(), gone.text()), (Exit::Done, None));
    }

    #[test]
    fn json_has_code_message_and_hint() {
        let own = Failure::new(Exit::NoDaemon, "a\nhint: b").json();
        let expected = r#"{"error":{"code":"unavailable","message":"a","hint":"b"}}"#;
        assert_eq!(own.as_deref(), Some(&*format!("{expected}\n")));
        let view = ErrorView {
            code: Code::Ambiguous,
            message: "two `x`".into(),
            hint: None,
            conflict: None,
        };
        let given = Failure::from(CallError::Refused(view)).json();
        let expected = r#"{"error":{"code":"ambiguous","message":"two `x`"}}"#;
        assert_eq!(given.as_deref(), Some(&*format!("{expected}\n")));
        assert_eq!(Failure::from(std::io::Error::from(ErrorKind::BrokenPipe)).json(), None);
    }

    #[test]
    fn codes_become_exit_codes() {
        let exit = |code| {
            Failure::from(CallError::Refused(ErrorView {
                code,
                message: String::new(),
                hint: None,
                conflict: None,
            }))
            .exit()
        };
        let table = [
            (Code::NotFound, Exit::NothingFound),
            (Code::InvalidParams, Exit::Refused),
            (Code::Ambiguous, Exit::Refused),
            (Code::DeadlineExceeded, Exit::TimedOut),
            (Code::Unavailable, Exit::NoDaemon),
            (Code::Internal, Exit::Failed),
        ];
        for (code, expected) in table {
            assert_eq!(exit(code), expected, "{code:?}");
        }
    }
}
