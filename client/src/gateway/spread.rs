//! Spread: splits a search without a project into one search per project.
//!
//! In: a tool and its arguments. Out: the request to each project, and how much of it to return.
//! Invariants: `k`, `limit`, `page` and `max_chars` hold for the whole answer; each project is
//! asked for as much as the whole could take from it.

use config::Settings;
use proto::error::{Code, ErrorView};
use proto::form::wants_json;
use proto::tool::core::budget;
use serde_json::{Map, Value, json};

use super::cursor::{self, Onward};
use super::fitting::{MOST, fitting};
use super::served::Served;

/// Smallest budget that a tool accepts, in characters.
const MIN_CHARS: u32 = 200;

/// The order of hits of several projects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// By relevance, then by rank: scores of different projects are hardly comparable.
    Relevance,
    /// The last modified or changed first.
    Latest,
    /// By path.
    Path,
    /// Not merged: each answer is below the name of its project.
    Each,
    /// As statements of one answer: by relevance, those of a timeline by day. Projects that know
    /// nothing are left out.
    Answer,
}

/// How a tool continues after the end of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paging {
    /// By `cursor`, with at most `k` hits.
    Cursor,
    /// Not at all; at most `limit` hits.
    Limit,
    /// By `page` and `page_size` (or `limit`), or `offset`.
    Pages {
        /// Most hits per request.
        most: usize,
    },
}

/// How to merge the answers of one tool.
#[derive(Debug)]
pub(super) struct Spec {
    pub(super) tool: &'static str,
    /// The list of hits.
    pub(super) hits: &'static str,
    /// The list parallel to the hits.
    pub(super) beside: Option<&'static str>,
    /// Additional lists of objects, also merged by rank.
    pub(super) also: &'static [&'static str],
    /// Lists of texts.
    pub(super) texts: &'static [&'static str],
    pub(super) order: Order,
    pub(super) paging: Paging,
    /// Number of hits when the call gives none.
    pub(super) n_usual: usize,
    /// Whether hits that do not fit are left to another call; a page is only cut.
    pub(super) is_bounded: bool,
}

/// The tools that ask all projects when none is named.
pub(super) const SPECS: &[Spec] = &[
    Spec {
        tool: "hybrid_query",
        hits: "chunks",
        beside: Some("explanations"),
        also: &["entities", "edges"],
        texts: &[],
        order: Order::Relevance,
        paging: Paging::Cursor,
        n_usual: 10,
        is_bounded: true,
    },
    Spec {
        tool: "ask",
        hits: "statements",
        beside: None,
        also: &["passages", "about"],
        texts: &[],
        order: Order::Answer,
        paging: Paging::Limit,
        n_usual: 8,
        is_bounded: true,
    },
    Spec {
        tool: "changes",
        hits: "changes",
        beside: None,
        also: &[],
        texts: &[],
        order: Order::Latest,
        paging: Paging::Limit,
        n_usual: 50,
        is_bounded: true,
    },
    Spec {
        tool: "explain_entity",
        hits: "entities",
        beside: None,
        also: &[],
        texts: &[],
        order: Order::Each,
        paging: Paging::Limit,
        n_usual: 1,
        is_bounded: true,
    },
    Spec {
        tool: "entity_lookup",
        hits: "entities",
        beside: None,
        also: &[],
        texts: &[],
        order: Order::Relevance,
        paging: Paging::Limit,
        n_usual: 10,
        is_bounded: false,
    },
    Spec {
        tool: "search",
        hits: "notes",
        beside: None,
        also: &[],
        texts: &[],
        order: Order::Relevance,
        paging: Paging::Limit,
        n_usual: 10,
        is_bounded: true,
    },
    Spec {
        tool: "search_notes",
        hits: "results",
        beside: None,
        also: &[],
        texts: &[],
        order: Order::Relevance,
        paging: Paging::Pages { most: 100 },
        n_usual: 10,
        is_bounded: false,
    },
    Spec {
        tool: "list_notes",
        hits: "notes",
        beside: None,
        also: &[],
        texts: &[],
        order: Order::Path,
        paging: Paging::Pages { most: 1_000 },
        n_usual: 100,
        is_bounded: false,
    },
    Spec {
        tool: "recent_activity",
        hits: "notes",
        beside: None,
        also: &[],
        texts: &["deleted"],
        order: Order::Latest,
        paging: Paging::Pages { most: 500 },
        n_usual: 20,
        is_bounded: false,
    },
    Spec {
        tool: "kb_search",
        hits: "results",
        beside: None,
        also: &[],
        texts: &["hints"],
        order: Order::Relevance,
        paging: Paging::Limit,
        n_usual: 10,
        is_bounded: false,
    },
    Spec {
        tool: "search_nodes",
        hits: "results",
        beside: None,
        also: &["entities", "relations"],
        texts: &[],
        order: Order::Relevance,
        paging: Paging::Limit,
        n_usual: 10,
        is_bounded: false,
    },
];

/// Returns how to merge a tool's answers; `None` for a tool about one project.
pub(super) fn spec(tool: &str) -> Option<&'static Spec> {
    SPECS.iter().find(|it| it.tool == tool)
}

/// One call, spread over projects.
#[derive(Debug)]
pub(super) struct Spread {
    pub(super) spec: &'static Spec,
    /// The projects to ask, and where to continue in each.
    pub(super) targets: Vec<Onward>,
    /// The number of projects from which the targets were chosen, if they were chosen.
    pub(super) chosen_of: Option<usize>,
    /// Hits to skip, hits to return, and the page number.
    pub(super) n_skipped: usize,
    pub(super) n_returned: usize,
    pub(super) page: usize,
    /// Characters of the answer, of each of its forms.
    pub(super) max_chars: usize,
    pub(super) is_bounded: bool,
    /// Whether its structured form is sent.
    pub(super) is_structured: bool,
    /// Whether the text is the structured answer as JSON.
    pub(super) is_json: bool,
    arguments: Map<String, Value>,
}

impl Spread {
    /// Prepares the call of `spec`'s tool with these arguments. If `only` is not empty, it limits
    /// the projects.
    ///
    /// # Errors
    /// A cursor that is not from several projects, or a page too far behind.
    pub(super) fn new(
        spec: &'static Spec,
        mut arguments: Map<String, Value>,
        only: &[usize],
        served: &Served,
    ) -> Result<Self, ErrorView> {
        let number = |name: &str| arguments.get(name).and_then(Value::as_u64).map(|it| it as usize);
        let (mut n_skipped, mut page) = (0, 1);
        let n_wanted = match spec.paging {
            Paging::Cursor => number("k"),
            Paging::Limit => number("limit"),
            Paging::Pages { .. } => number("page_size").or_else(|| number("limit")),
        };
        let n_returned = n_wanted.unwrap_or(spec.n_usual).max(1);
        if let Paging::Pages { most } = spec.paging {
            page = number("page").unwrap_or(1).max(1);
            n_skipped = number("offset").unwrap_or((page - 1).saturating_mul(n_returned));
            if n_skipped.saturating_add(n_returned) > most {
                return Err(ErrorView::hinted(
                    Code::InvalidParams,
                    format!("over several projects, `{}` returns at most {most} hits", spec.tool),
                    format!("use `project`, one of {}", served.listing()),
                ));
            }
        }
        let chars = |name: &str| number(name).map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        let usual = Settings::default().retrieval.max_chars;
        let max_chars = budget(chars("max_chars"), chars("max_tokens"), usual).max(MIN_CHARS);
        let (mut chosen_of, mut chosen) = (None, served.all());
        let cursor = arguments.shift_remove("cursor");
        let cursor = cursor.as_ref().and_then(Value::as_str).filter(|it| !it.is_empty());
        if cursor.is_none() && only.is_empty() && chosen.len() > MOST {
            let fitting = fitting(spec.tool, &arguments, MOST, served)?;
            chosen_of = fitting.is_some().then_some(chosen.len());
            chosen = fitting.unwrap_or(chosen);
        }
        let targets = match cursor {
            Some(text) => onward(text, served)?,
            None => {
                chosen.into_iter().map(|project| Onward { project, ..Onward::default() }).collect()
            }
        };
        let targets =
            targets.into_iter().filter(|it| only.is_empty() || only.contains(&it.project));
        let is_json = wants_json(&arguments);
        // What is merged must be whole, so only the merged answer is cut; `search` has a form of
        // its own.
        arguments.shift_remove("format");
        if spec.tool != "search" {
            arguments.shift_remove("output_format");
        }
        Ok(Spread {
            spec,
            targets: targets.collect(),
            chosen_of,
            n_skipped,
            n_returned,
            page,
            max_chars: max_chars as usize,
            is_bounded: spec.is_bounded,
            is_structured: true,
            is_json,
            arguments,
        })
    }

    /// Returns the arguments for one of the targets.
    pub(super) fn arguments(&self, target: &Onward) -> Map<String, Value> {
        let mut arguments = self.arguments.clone();
        match self.spec.paging {
            Paging::Cursor => {
                if let Some(cursor) = &target.cursor {
                    arguments.insert("cursor".into(), cursor.as_str().into());
                }
                // The project returns these hits again, and they are skipped.
                if !target.returned.is_empty() {
                    let n = (self.n_returned + target.returned.len()).min(100);
                    arguments.insert("k".into(), json!(n));
                }
            }
            Paging::Limit => {
                // Whole notes of one project would leave no room for those of the others.
                if self.is_bounded && self.spec.order != Order::Each {
                    let share = self.max_chars / self.targets.len().max(1);
                    arguments.shift_remove("max_tokens");
                    arguments.insert("max_chars".into(), json!(share.max(MIN_CHARS as usize)));
                }
            }
            Paging::Pages { .. } => {
                for name in ["offset", "limit", "page"] {
                    arguments.shift_remove(name);
                }
                arguments.insert("page_size".into(), json!(self.n_skipped + self.n_returned));
            }
        }
        arguments
    }
}

fn onward(text: &str, served: &Served) -> Result<Vec<Onward>, ErrorView> {
    cursor::read(text, served).filter(|it| !it.is_empty()).ok_or_else(|| {
        ErrorView::hinted(
            Code::InvalidParams,
            "`cursor` is not from an answer of several projects",
            "use the `next_cursor` of an answer to the same question, or give its `project`"
                .to_string(),
        )
    })
}

#[cfg(test)]
mod tests {
    use config::Project;

    use super::*;

    fn served() -> Served {
        let project = |name: &str| Project { root: format!("/{name}").into(), name: name.into() };
        Served::new(&[project("a"), project("b")]).expect("distinct")
    }

    /// Returns the request to each project.
    fn asked(tool: &str, arguments: Value) -> String {
        let Value::Object(arguments) = arguments else { panic!("an object") };
        let spec = spec(tool).expect("a search");
        match Spread::new(spec, arguments, &[], &served()) {
            Ok(spread) => {
                let ask = |it: &Onward| Value::Object(spread.arguments(it)).to_string();
                let asked: Vec<_> = spread.targets.iter().map(ask).collect();
                let (from, n) = (spread.n_skipped, spread.n_returned);
                format!("{} | {n} from {from}, {} chars", asked.join(" "), spread.max_chars)
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn each_project_is_asked_for_what_the_whole_could_take() {
        let table = [
            ("hybrid_query", json!({"q": "x"}), r#"{"q":"x"} {"q":"x"} | 10 from 0, 3000 chars"#),
            (
                "hybrid_query",
                json!({"q": "x", "k": 3, "max_tokens": 100, "cursor": "all.b:C:00000007"}),
                r#"{"q":"x","k":4,"max_tokens":100,"cursor":"C"} | 3 from 0, 300 chars"#,
            ),
            (
                "entity_lookup",
                json!({"q": "x", "limit": 2}),
                r#"{"q":"x","limit":2} {"q":"x","limit":2} | 2 from 0, 3000 chars"#,
            ),
            (
                "search",
                json!({"query": "x", "max_chars": 900}),
                r#"{"query":"x","max_chars":450} {"query":"x","max_chars":450} | 10 from 0, 900 chars"#,
            ),
            (
                "search_notes",
                json!({"query": "x", "page": 3, "limit": 5}),
                r#"{"query":"x","page_size":15} {"query":"x","page_size":15} | 5 from 10, 3000 chars"#,
            ),
            (
                "kb_search",
                json!({"query": "x", "limit": 2}),
                r#"{"query":"x","limit":2} {"query":"x","limit":2} | 2 from 0, 3000 chars"#,
            ),
            (
                "search_nodes",
                json!({"query": "x"}),
                r#"{"query":"x"} {"query":"x"} | 10 from 0, 3000 chars"#,
            ),
            (
                "recent_activity",
                json!({}),
                r#"{"page_size":20} {"page_size":20} | 20 from 0, 3000 chars"#,
            ),
        ];
        for (tool, arguments, expected) in table {
            assert_eq!(asked(tool, arguments.clone()), expected, "{tool} {arguments}");
        }
    }

    #[test]
    fn what_cannot_be_asked_of_several_says_so() {
        let error = asked("search_notes", json!({"query": "x", "page": 11}));
        assert!(
            error.contains("returns at most 100 hits\nhint: use `project`, one of `a`, `b`"),
            "{error}"
        );
        let error = asked("hybrid_query", json!({"q": "x", "cursor": "AAAA"}));
        assert!(error.contains("`cursor` is not from"), "{error}");
    }
}
