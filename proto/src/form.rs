//! Form: the content of a tool's result.
//!
//! A client hands its model either the text or the structured content of a result, and popular ones both or only the
//! latter. A result has one form, so that no answer is paid for twice.

pub mod fit;

use serde_json::{Map, Value};

/// The form of a session's results. A call may ask for JSON instead, with `format: "json"`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Form {
    /// Text only.
    #[default]
    Text,
    /// Structured content and text, each within the budget of the call, and schemas of the replies in `tools/list`.
    Structured,
    /// As [`Form::Structured`], but the structured content is never cut: for programs, not for models.
    Whole,
}

/// Parameters by which a call asks for JSON. Every tool accepts them, whether or not its schema lists them.
pub const FORMATS: [&str; 2] = ["format", "output_format"];

/// Returns true if a call asks for JSON.
pub fn wants_json(arguments: &Map<String, Value>) -> bool {
    let given = FORMATS.iter().filter_map(|name| arguments.get(*name)?.as_str());
    given.into_iter().any(|it| it.eq_ignore_ascii_case("json"))
}

/// What a call may ask for as a format; all but JSON are the text.
const KNOWN: [&str; 6] = ["json", "text", "markdown", "md", "plain", "compact"];

/// The parameter and the value of a format that there is not.
pub fn unknown_format(arguments: &Map<String, Value>) -> Option<(&'static str, String)> {
    FORMATS.iter().find_map(|name| {
        let given = arguments.get(*name).filter(|it| !it.is_null())?;
        let text = given.as_str().map_or_else(|| given.to_string(), str::to_string);
        let is_known = KNOWN.iter().any(|it| it.eq_ignore_ascii_case(text.trim()));
        (!is_known && !text.trim().is_empty()).then_some((*name, text))
    })
}

/// The key of a request's `_meta` by which one call asks for another form than its session's.
pub const META_KEY: &str = "kgd/form";

impl Form {
    /// Returns the name used in the preamble.
    pub fn as_str(self) -> &'static str {
        match self {
            Form::Text => "text",
            Form::Structured => "structured",
            Form::Whole => "whole",
        }
    }

    /// Parses the result of [`Form::as_str`].
    pub fn parse(text: &str) -> Option<Self> {
        [Form::Text, Form::Structured, Form::Whole].into_iter().find(|it| it.as_str() == text)
    }
}
