//! Preamble: a line that our own programs may send before MCP begins.
//!
//! In: the first line of a connection, such as
//! `{"kgd":1,"tools":["core","admin"],"client":"kgctl"}`. Out: the tools of the session. A first
//! line that is not a preamble is left for MCP.
//! Invariants: an invalid preamble ends the connection with an error that says why.

use proto::PREAMBLE_VERSION;
use proto::error::{Code, ErrorView};
use proto::form::Form;
use proto::tool::ToolSet;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::io;
use tokio::io::AsyncRead;

use super::lines::{Line, Lines};

/// Longest client name that is logged, in characters.
const MAX_CLIENT_CHARS: usize = 60;

/// The options of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Preamble {
    /// Sets of tools that are listed and may be called.
    pub sets: Vec<ToolSet>,
    /// What results carry; `None` leaves it to the setting `serve.structured`.
    pub form: Option<Form>,
    /// Who calls, for the log.
    pub client: String,
}

impl Default for Preamble {
    fn default() -> Self {
        Preamble { sets: vec![ToolSet::Default], form: None, client: "an MCP client".to_string() }
    }
}

/// Why a preamble is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PreambleError {
    #[error(
        "the preamble is not understood: {0}\nhint: `{{\"kgd\":1,\"tools\":[\"core\"],\"client\":\"…\"}}`"
    )]
    Malformed(serde_json::Error),
    #[error("{}", of_version(*.0))]
    Version(u64),
    #[error("no set of tools is called `{0}`\nhint: sets are {sets}", sets = ToolSet::listing())]
    UnknownSet(String),
    #[error("no form of results is called `{0}`\nhint: forms are `text`, `structured` and `whole`")]
    UnknownForm(String),
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
}

/// Describes the version mismatch with a client, and what it can do.
fn of_version(theirs: u64) -> String {
    let ours = proto::version();
    let hint = match theirs > PREAMBLE_VERSION {
        true => "the daemon is older: `kgctl restart` runs the installed one".to_string(),
        false => format!("the client is older: install version {ours} of it, too"),
    };
    format!(
        "the client speaks preamble {theirs}, this daemon ({ours}) speaks {PREAMBLE_VERSION}\nhint: {hint}"
    )
}

impl PreambleError {
    /// Returns the error that the client receives.
    pub(super) fn view(&self) -> ErrorView {
        let code = match self {
            PreambleError::Version(_) => Code::VersionMismatch,
            PreambleError::Malformed(_)
            | PreambleError::UnknownSet(_)
            | PreambleError::UnknownForm(_) => Code::InvalidParams,
            PreambleError::Io(_) => Code::Unavailable,
        };
        let text = self.to_string();
        let (message, hint) = match text.split_once("\nhint: ") {
            Some((message, hint)) => (message.to_string(), Some(hint.to_string())),
            None => (text, None),
        };
        ErrorView { code, message, hint, conflict: None }
    }
}

/// Just enough to distinguish a preamble from a message.
#[derive(Deserialize)]
struct Probe {
    kgd: Option<IgnoredAny>,
    jsonrpc: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Version {
    kgd: u64,
}

/// Unknown fields are ignored: a newer client may send more.
#[derive(Deserialize)]
struct Wording {
    tools: Option<Vec<String>>,
    form: Option<String>,
    client: Option<String>,
}

/// Reads the preamble, if the first line is one; any other line is put back.
///
/// # Errors
/// [`PreambleError`], which is sent to the client before the connection is closed.
pub(crate) async fn read<R>(lines: &mut Lines<R>) -> Result<Preamble, PreambleError>
where
    R: AsyncRead + Unpin,
{
    let first = lines.next().await?;
    if let Line::Whole(line) = &first
        && let Ok(Probe { kgd: Some(_), jsonrpc: None }) = serde_json::from_slice(line)
    {
        return parse(line);
    }
    lines.put_back(first);
    Ok(Preamble::default())
}

fn parse(line: &[u8]) -> Result<Preamble, PreambleError> {
    // The version first, because in another version the other fields may have other types.
    let Version { kgd } = serde_json::from_slice(line).map_err(PreambleError::Malformed)?;
    if kgd != PREAMBLE_VERSION {
        return Err(PreambleError::Version(kgd));
    }
    let wording: Wording = serde_json::from_slice(line).map_err(PreambleError::Malformed)?;
    let mut preamble = Preamble::default();
    if let Some(tools) = wording.tools {
        let set = |name: String| ToolSet::parse(&name).ok_or(PreambleError::UnknownSet(name));
        preamble.sets = tools.into_iter().map(set).collect::<Result<_, _>>()?;
    }
    if let Some(form) = wording.form {
        preamble.form = Some(Form::parse(&form).ok_or(PreambleError::UnknownForm(form))?);
    }
    if let Some(client) = wording.client {
        let printable = client.chars().filter(|c| !c.is_control());
        preamble.client = printable.take(MAX_CLIENT_CHARS).collect();
    }
    Ok(preamble)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    async fn check(input: &str, expected: Expect) {
        let mut lines = Lines::new(input.as_bytes(), 1000);
        let mut out = match read(&mut lines).await {
            Ok(preamble) => format!("{:?} {}\n", preamble.sets, preamble.client),
            Err(error) => format!("{error}\n"),
        };
        if let Ok(Line::Whole(next)) = lines.next().await {
            out += &format!("then {}\n", String::from_utf8_lossy(&next));
        }
        expected.assert_eq(&out);
    }

    #[tokio::test]
    async fn a_preamble_is_consumed() {
        check(
            "{\"kgd\":1,\"tools\":[\"core\",\"admin\"],\"client\":\"kg\\u001bctl\",\"new\":[]}\n{}\n",
            expect![[r#"
                [Core, Admin] kgctl
                then {}
            "#]],
        )
        .await;
        check(
            "{\"kgd\":1}\n",
            expect![[r#"
                [Default] an MCP client
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn anything_else_belongs_to_mcp() {
        for line in [r#"{"jsonrpc":"2.0","id":1,"method":"ping","kgd":1}"#, "garbage", "[1]"] {
            let mut lines = Lines::new(line.as_bytes(), 1000);
            lines.put_back(Line::Whole(line.as_bytes().to_vec()));
            assert_eq!(read(&mut lines).await.expect("fine"), Preamble::default());
            assert_eq!(lines.next().await.expect("fine"), Line::Whole(line.as_bytes().to_vec()));
        }
    }

    #[tokio::test]
    async fn what_is_not_understood_is_said() {
        check(
            "{\"kgd\":2,\"tools\":\"of another kind\"}\n",
            expect![[r#"
                the client speaks preamble 2, this daemon (0.1.0) speaks 1
                hint: the daemon is older: `kgctl restart` runs the installed one
            "#]],
        )
        .await;
        check(
            "{\"kgd\":0}\n",
            expect![[r#"
                the client speaks preamble 0, this daemon (0.1.0) speaks 1
                hint: the client is older: install version 0.1.0 of it, too
            "#]],
        )
        .await;
        check(
            "{\"kgd\":1,\"tools\":[\"everything\"]}\n",
            expect![[r#"
                no set of tools is called `everything`
                hint: sets are `default`, `core`, `notes`, `memory`, `kb`
            "#]],
        )
        .await;
        check(
            "{\"kgd\":\"1\"}\n",
            expect![[r#"
                the preamble is not understood: invalid type: string "1", expected u64 at line 1 column 10
                hint: `{"kgd":1,"tools":["core"],"client":"…"}`
            "#]],
        )
        .await;
    }
}
