//! `kgctl ask` and `kgctl remember`: answers a question from the whole folder, and keeps a fact.

use clap::ValueEnum;
use proto::tool::core::{Ask, AskPlan, Remember, Remembered};

use super::context::Context;
use super::failure::{Exit, Failure};

/// Answer a question from documents, notes, memory and entries, with the places.
#[derive(Debug, clap::Args)]
pub(crate) struct Question {
    /// The question.
    #[arg(required = true, value_name = "QUESTION")]
    text: Vec<String>,
    /// How to answer; by the words of the question when left out.
    #[arg(long, value_name = "PLAN")]
    plan: Option<Plan>,
    /// Whom or what the question means, where it does not say so.
    #[arg(long, value_name = "NAME")]
    about: Option<String>,
    /// Only documents whose path begins with this or matches it: `docs/*.md`.
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Only documents dated on or after this day.
    #[arg(long, value_name = "YYYY-MM-DD")]
    after: Option<String>,
    /// Only documents dated before this day.
    #[arg(long, value_name = "YYYY-MM-DD")]
    before: Option<String>,
    /// Most statements, 1 to 50.
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
}

/// How a question is answered.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Plan {
    Search,
    Path,
    Timeline,
    Decisions,
    Summary,
}

/// Keep a fact, decision or preference: in the note of what it is about, else as an entry.
#[derive(Debug, clap::Args)]
pub(crate) struct Fact {
    /// What to keep.
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    /// Who or what it is about.
    #[arg(long, value_name = "NAME")]
    about: Option<String>,
    /// What it is; by its words when left out.
    #[arg(long, value_name = "KIND")]
    kind: Option<Kind>,
    /// A tag; may be repeated.
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
}

/// What is kept.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    Fact,
    Decision,
    Preference,
}

pub(crate) async fn ask(question: Question, ctx: &Context) -> Result<Exit, Failure> {
    let plan = question.plan.map(|plan| match plan {
        Plan::Search => AskPlan::Search,
        Plan::Path => AskPlan::Path,
        Plan::Timeline => AskPlan::Timeline,
        Plan::Decisions => AskPlan::Decisions,
        Plan::Summary => AskPlan::Summary,
    });
    let Question { text, about, path, after, before, limit, .. } = question;
    let request = Ask { query: text.join(" "), plan, about, path, after, before, limit };
    ctx.answer(&request, &["statements"]).await
}

pub(crate) async fn remember(fact: Fact, ctx: &Context) -> Result<Exit, Failure> {
    let kind = fact.kind.map(|kind| match kind {
        Kind::Fact => Remembered::Fact,
        Kind::Decision => Remembered::Decision,
        Kind::Preference => Remembered::Preference,
    });
    let tags = Some(fact.tag).filter(|tags| !tags.is_empty());
    let request = Remember { text: fact.text.join(" "), about: fact.about, kind, tags };
    let reply = ctx.call(&request).await?;
    ctx.show(&reply)?;
    Ok(Exit::Done)
}
