//! `remember`: stores a fact, a decision or a preference where it belongs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::shape::{Freshness, SourceView, place};
use crate::tool::{Effect, Tool, ToolSet};
use crate::view::{Sheet, View, fresh, stored};

/// What is remembered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Remembered {
    /// Something that is so.
    #[default]
    Fact,
    /// What was chosen, and why.
    Decision,
    /// How somebody wants things to be.
    Preference,
}

impl Remembered {
    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Remembered::Fact => "fact",
            Remembered::Decision => "decision",
            Remembered::Preference => "preference",
        }
    }
}

/// Parameters of `remember`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Remember {
    /// What to keep, in a sentence or a few; up to 20,000 characters.
    #[serde(alias = "content", alias = "fact", alias = "memory")]
    pub text: String,
    /// Who or what it is about: a name. Its note gets the text, several lines become an entry that links to it; a new
    /// name gets a note. Without it the text becomes an entry of its own, unless it begins with a name that memory has.
    #[serde(default, alias = "entity", skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// `fact`, `decision` or `preference`; by its words when left out.
    pub kind: Option<Remembered>,
    /// Tags, single words without `#`.
    pub tags: Option<Vec<String>>,
}

/// Reply of `remember`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RememberReply {
    /// What it was taken for.
    pub kind: Remembered,
    /// Whose note holds it; absent for an entry of its own.
    pub about: Option<String>,
    /// The entry's id, if it is one.
    pub id: Option<String>,
    /// Path of the note.
    pub path: String,
    /// The line on which it stands, from 1.
    #[serde(default, skip_serializing_if = "crate::shape::is_zero")]
    pub line: u32,
    /// The words that stand there; of several lines the first.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// True if the note was made by this call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_new: bool,
    /// True if it was there already, but for case, signs and words that say nothing, so that nothing was written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub was_known: bool,
    /// What is there that says nearly the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub similar: Vec<SourceView>,
    /// What is there that it contradicts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradicts: Vec<ContradictedView>,
    /// What a person might not expect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// A statement that another contradicts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContradictedView {
    /// Its words and place.
    #[serde(flatten)]
    pub source: SourceView,
    /// Why: `the numbers differ: 30 and 45`.
    pub why: String,
}

impl Tool for Remember {
    const NAME: &'static str = "remember";
    const SUMMARY: &'static str = "Keep a fact, decision or preference where it belongs: as an observation of who or \
        what it is about, else as an entry. Returns where, what is similar, and what it contradicts.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Core;
    const IS_IDEMPOTENT: bool = true;
    type Reply = RememberReply;
}

impl View for RememberReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        let path = place(&self.path, [self.line; 2], [None; 2]);
        let path = style.place(&path);
        let home = match (&self.about, &self.id) {
            (Some(about), Some(id)) => {
                format!("of {} as entry {} ({path})", stored(about), style.safe(id))
            }
            (Some(about), None) => format!("of {} ({path})", stored(about)),
            (None, Some(id)) => format!("as entry {} ({path})", style.safe(id)),
            (None, None) => format!("in {path}"),
        };
        let kind = self.kind.as_str();
        sheet.line(&match (self.was_known, self.is_new) {
            (true, _) => format!("known already, nothing written: {kind} {home}"),
            (false, true) => format!("remembered: {kind} {home}, a new note"),
            (false, false) => format!("remembered: {kind} {home}"),
        });
        if !self.text.is_empty() {
            sheet.line(&format!("  “{}”", stored(&self.text)));
        }
        self.warnings.iter().for_each(|it| _ = sheet.line(&format!("warning: {}", style.safe(it))));
        sheet.items(self.contradicts.iter().map(|it| {
            let (words, place) = (stored(&it.source.text), style.place(&it.source.place()));
            let text = format!("contradicts: “{words}” ({place}; {})", style.safe(&it.why));
            style.yellow(&text)
        }));
        sheet.items(
            self.similar.iter().map(|it| {
                format!("similar: “{}” ({})", stored(&it.text), style.place(&it.place()))
            }),
        );
    }
}
