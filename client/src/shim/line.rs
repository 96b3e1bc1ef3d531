//! Line: reads JSON-RPC messages as lines of bounded length, and classifies them.
//!
//! In: bytes from a client or a daemon. Out: complete lines; the kind and id of each.
//! Invariants: nothing longer than the bound is kept in memory; only the outermost fields of a message are read.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// Longest line accepted from a client, in bytes: the daemon's limit. The daemon could not name the request that it
/// refuses.
pub const MAX_LINE_BYTES: usize = config::limits::MAX_FRAME_BYTES;

/// What kind of message a line is. Ids are JSON text, so that `1` and `"1"` differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// The request that opens the handshake.
    Initialize(String),
    /// The notification that ends the handshake.
    Initialized,
    /// Any other request.
    Request(String),
    /// The notification that cancels a request.
    Cancelled(String),
    /// Any other notification.
    Notification,
    /// A result or an error.
    Answer(String),
    /// An error without an id, with a code of our own: the daemon refuses the client.
    Refusal(Refusal),
    /// Not a single JSON-RPC message. The daemon reports what is wrong.
    Unreadable,
}

/// Why the daemon refuses a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The stable code, verbatim: a newer daemon may have more of them.
    pub code: String,
    /// What is wrong.
    pub message: String,
    /// How to fix it.
    pub hint: Option<String>,
}

impl Refusal {
    fn of(line: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Message {
            error: Trouble,
        }
        #[derive(Deserialize)]
        struct Trouble {
            message: String,
            data: Data,
        }
        #[derive(Deserialize)]
        struct Data {
            code: String,
            hint: Option<String>,
        }
        let Trouble { message, data } = serde_json::from_slice::<Message>(line).ok()?.error;
        Some(Refusal { code: data.code, message, hint: data.hint })
    }
}

impl Kind {
    /// Reads the outermost fields of a message.
    pub fn of(line: &[u8]) -> Self {
        serde_json::from_slice::<Head<'_>>(line).map_or(Kind::Unreadable, |head| head.kind(line))
    }
}

/// The request that is answered when its subscription ends, which may be never.
const LISTEN: &str = "subscriptions/listen";

/// Returns whether a client's line subscribes to changes.
pub(super) fn listens(line: &[u8]) -> bool {
    // Few lines do; the others are not parsed twice.
    line.windows(LISTEN.len()).any(|it| it == LISTEN.as_bytes())
        && serde_json::from_slice::<Head<'_>>(line)
            .is_ok_and(|head| head.method.as_deref() == Some(LISTEN))
}

#[derive(Deserialize)]
struct Head<'a> {
    id: Option<Id>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

/// An id as JSON-RPC allows it; anything larger is skipped, not kept.
#[derive(Deserialize)]
#[serde(untagged)]
enum Id {
    Scalar(Scalar),
    Other(IgnoredAny),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Scalar {
    Number(serde_json::Number),
    Text(String),
}

impl Id {
    fn text(&self) -> Option<String> {
        match self {
            Id::Scalar(Scalar::Number(number)) => Some(number.to_string()),
            Id::Scalar(Scalar::Text(text)) => Some(Value::from(text.as_str()).to_string()),
            Id::Other(_) => None,
        }
    }
}

impl Head<'_> {
    fn kind(&self, line: &[u8]) -> Kind {
        let id = self.id.as_ref().and_then(Id::text);
        match (self.method.as_deref(), id) {
            (Some("initialize"), Some(id)) => Kind::Initialize(id),
            (Some(_), Some(id)) => Kind::Request(id),
            (Some("notifications/initialized"), None) => Kind::Initialized,
            (Some("notifications/cancelled"), None) => {
                cancelled_id(line).map_or(Kind::Notification, Kind::Cancelled)
            }
            (Some(_), None) => Kind::Notification,
            (None, Some(id)) if self.result.is_some() || self.error.is_some() => Kind::Answer(id),
            (None, None) if self.error.is_some() => {
                Refusal::of(line).map_or(Kind::Unreadable, Kind::Refusal)
            }
            (None, _) => Kind::Unreadable,
        }
    }
}

fn cancelled_id(line: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Message {
        params: Params,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        request_id: Id,
    }
    serde_json::from_slice::<Message>(line).ok()?.params.request_id.text()
}

/// The result of [`read`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line without its line break; never blank.
    Whole(Vec<u8>),
    /// A line that was too long, with the id of its message if it could be read.
    TooLong(Option<String>),
    /// The other side is gone.
    End,
}

/// Reads the next line that is not blank, keeping at most `max_bytes` of it.
pub(crate) fn read(from: &mut impl BufRead, max_bytes: usize) -> io::Result<Line> {
    loop {
        let mut line = Vec::new();
        let bound = u64::try_from(max_bytes).unwrap_or(u64::MAX).saturating_add(1);
        from.by_ref().take(bound).read_until(b'\n', &mut line)?;
        let ended = line.last() == Some(&b'\n');
        if line.is_empty() {
            return Ok(Line::End);
        }
        if !ended && line.len() > max_bytes {
            return Ok(Line::TooLong(skip(line, from)?));
        }
        line.truncate(line.trim_ascii_end().len());
        if !line.is_empty() {
            return Ok(Line::Whole(line));
        }
        if !ended {
            return Ok(Line::End);
        }
    }
}

/// Reads the rest of a long line only for its id.
fn skip(start: Vec<u8>, from: &mut impl BufRead) -> io::Result<Option<String>> {
    #[derive(Deserialize)]
    struct OnlyId {
        id: Option<Id>,
    }
    let mut rest = RestOfLine { from, ended: false };
    let head = serde_json::from_reader::<_, OnlyId>(io::Cursor::new(start).chain(&mut rest));
    io::copy(&mut rest, &mut io::sink())?;
    Ok(head.ok().and_then(|head| head.id?.text()))
}

/// The bytes up to the end of the line, the line break included.
struct RestOfLine<'a, R> {
    from: &'a mut R,
    ended: bool,
}

impl<R: BufRead> Read for RestOfLine<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.ended || into.is_empty() {
            return Ok(0);
        }
        let found = self.from.fill_buf()?;
        let found = &found[..found.len().min(into.len())];
        let end = found.iter().position(|byte| *byte == b'\n');
        let count = end.unwrap_or(found.len());
        into[..count].copy_from_slice(&found[..count]);
        self.ended = end.is_some() || found.is_empty();
        self.from.consume(count + usize::from(end.is_some()));
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use expect_test::expect;

    use super::*;

    #[test]
    fn kinds_by_their_outermost_fields() {
        let table = [
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"id":9}}"#,
            r#"{"method":"notifications/initialized","jsonrpc":"2.0"}"#,
            r#"{"method":"tools/call","params":{"_meta":{"progressToken":7}},"jsonrpc":"2.0","id":"a\"b"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12,"reason":"x"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}"#,
            r#"{"jsonrpc":"2.0","id":3,"result":{"id":4}}"#,
            r#"{"jsonrpc":"2.0","id":18446744073709551615,"error":{"code":1}}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":1}}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"no","data":{"code":"x","hint":"y"}}}"#,
            r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":3}"#,
            r#"[{"jsonrpc":"2.0","id":3,"method":"ping"}]"#,
            "not json",
            "",
        ];
        let shown: String =
            table.iter().map(|line| format!("{:?}\n", Kind::of(line.as_bytes()))).collect();
        expect![[r#"
            Initialize("0")
            Initialized
            Request("\"a\\\"b\"")
            Cancelled("12")
            Notification
            Notification
            Answer("3")
            Answer("18446744073709551615")
            Unreadable
            Refusal(Refusal { code: "x", message: "no", hint: Some("y") })
            Notification
            Unreadable
            Unreadable
            Unreadable
            Unreadable
        "#]]
        .assert_eq(&shown);
    }

    #[test]
    fn lines_are_bounded_and_long_ones_give_up_their_id() {
        let long = "x".repeat(50);
        let text = [
            r#"{"id":1}"#.to_string(),
            String::new(),
            format!(r#"{{"method":"{long}","params":{{"id":5,"text":"}}{{{long}"}},"id":"last"}}"#),
            format!(r#"{{"id":2,"method":"{long}"}}"#),
            format!("{long}{long}"),
            "  \r".to_string(),
            "short\r".to_string(),
            "no end".to_string(),
        ]
        .join("\n");
        // A tiny buffer, so that every boundary falls inside a line.
        let mut from = BufReader::with_capacity(3, text.as_bytes());
        let mut shown = String::new();
        loop {
            let line = read(&mut from, 40).expect("memory does not fail");
            match &line {
                Line::Whole(bytes) => {
                    shown.push_str(&format!("whole {}\n", String::from_utf8_lossy(bytes)))
                }
                Line::TooLong(id) => shown.push_str(&format!("too long {id:?}\n")),
                Line::End => break,
            }
        }
        expect![[r#"
            whole {"id":1}
            too long Some("\"last\"")
            too long Some("2")
            too long None
            whole short
            whole no end
        "#]]
        .assert_eq(&shown);
    }
}
