//! Plan: chooses how to answer a question to the entries (S2's query planner).
//!
//! In: a question and the contents of the graph; a model's text. Out: a prompt; a [`QueryPlan`].
//! Invariants: a closed set of strategies; a plan names only existing nodes, and a strategy only together with what it
//! needs: otherwise it is `auto`, with the model's own search words if it gave any.

use std::fmt::Write;

use proto::tool::kb::Strategy;

use super::json::{object, text_of};
use super::{Prompt, UNTRUSTED, fenced};

/// Longest vocabulary sent, in characters; the most connected nodes come first.
const MAX_VOCABULARY: usize = 12_000;

/// Longest search words, reason and node id, in characters.
const MAX_QUERY: usize = 300;
const MAX_REASON: usize = 300;
const MAX_ID: usize = 200;

/// A plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueryPlan {
    /// How to answer.
    pub strategy: Strategy,
    /// The start: a node such as `project:kgd` or `kb-00042`.
    pub scope: Option<String>,
    /// The end, for `connection`.
    pub target: Option<String>,
    /// The words to search for.
    pub search_query: Option<String>,
    /// The model's reason.
    pub reasoning: Option<String>,
}

/// The contents of the graph.
#[derive(Debug, Clone, Default)]
pub struct Vocabulary<'a> {
    /// Entries that are active.
    pub n_entries: u64,
    /// Nodes that are not entries, the most connected first: `tag:python`.
    pub nodes: &'a [String],
    /// Relations by type.
    pub n_relations: &'a [(String, u64)],
}

/// Asks for a plan.
pub fn prompt(question: &str, vocabulary: &Vocabulary<'_>) -> Prompt {
    let mut text = format!("{} entries\n", vocabulary.n_entries);
    for (relation, n) in vocabulary.n_relations.iter().take(50) {
        let _ = writeln!(text, "{n} × {relation}");
    }
    for node in vocabulary.nodes {
        if text.chars().count() + node.chars().count() > MAX_VOCABULARY {
            break;
        }
        let _ = writeln!(text, "{node}");
    }
    Prompt {
        system: format!(
            "You plan how a question to a knowledge base is answered. Its entries are called `kb-00042`; its graph has \
             the nodes that stand between <graph> tags, the most connected first. Choose one strategy: \
             `decision_trace` (how a decision came about and what replaced it), `timeline` (all of one node by time; \
             give it as `scope`), `related` (what is around one node; give it as `scope`), `connection` (how two nodes \
             are connected; give them as `scope` and `target`), or `auto` (search; for everything else). Nodes must be \
             named exactly as they stand there. `search_query` holds the few words to search for. Answer with one JSON \
             object alone, such as {{\"strategy\": \"timeline\", \"scope\": \"tag:sqlite\", \"target\": null, \
             \"search_query\": \"sqlite\", \"reasoning\": \"asks how it went over time\"}}. {UNTRUSTED}"
        ),
        text: format!("{}\n{}", fenced("graph", text.trim_end()), fenced("question", question)),
    }
}

/// Returns the plan in a reply; none if it holds no plan. `is_known` returns true for existing nodes.
pub fn parse(reply: &str, is_known: impl Fn(&str) -> bool) -> Option<QueryPlan> {
    let object = object(reply)?;
    let named = text_of(&object, &["strategy"], MAX_ID)?;
    let strategy = Strategy::parse(&named)?;
    // Unknown nodes are dropped here, so that the check below sees only usable ones.
    let node = |field| text_of(&object, &[field], MAX_ID).filter(|id| is_known(id));
    let mut plan = QueryPlan {
        strategy,
        scope: node("scope"),
        target: node("target"),
        search_query: text_of(&object, &["search_query", "query"], MAX_QUERY),
        reasoning: text_of(&object, &["reasoning", "reason"], MAX_REASON),
    };
    let is_whole = match strategy {
        Strategy::Auto | Strategy::DecisionTrace => true,
        Strategy::Timeline | Strategy::Related => plan.scope.is_some(),
        Strategy::Connection => {
            plan.scope.is_some() && plan.target.is_some() && plan.scope != plan.target
        }
    };
    if !is_whole {
        (plan.strategy, plan.scope, plan.target) = (Strategy::Auto, None, None);
    }
    Some(plan)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn known(id: &str) -> bool {
        ["tag:python", "project:kgd", "kb-00001"].contains(&id)
    }

    fn shown(reply: &str) -> String {
        let Some(plan) = parse(reply, known) else { return "none".to_string() };
        let or = |it: Option<String>| it.unwrap_or_else(|| "-".to_string());
        let QueryPlan { strategy, scope, target, search_query, reasoning: _ } = plan;
        format!("{} {} {} {}", strategy.as_str(), or(scope), or(target), or(search_query))
    }

    #[test]
    fn plans_by_eye() {
        let rows = [
            (
                r#"{"strategy": "timeline", "scope": "tag:python", "search_query": "python"}"#,
                "timeline tag:python - python",
            ),
            (r#"```json {"strategy": "RELATED", "scope": "kb-00001"} ```"#, "related kb-00001 - -"),
            (
                r#"{"strategy": "connection", "scope": "tag:python", "target": "project:kgd"}"#,
                "connection tag:python project:kgd -",
            ),
            (
                r#"{"strategy": "connection", "scope": "tag:python", "target": "tag:python"}"#,
                "auto - - -",
            ),
            (r#"{"strategy": "connection", "scope": "tag:python", "query": "q"}"#, "auto - - q"),
            (
                r#"{"strategy": "timeline", "scope": "tag:rust", "search_query": "rust"}"#,
                "auto - - rust",
            ),
            (r#"{"strategy": "timeline", "scope": 7}"#, "auto - - -"),
            (
                r#"{"strategy": "decision_trace", "search_query": "why  sqlite"}"#,
                "decision_trace - - why sqlite",
            ),
            (r#"{"strategy": "delete_everything"}"#, "none"),
            (r#"{"scope": "tag:python"}"#, "none"),
            ("I would search.", "none"),
            ("", "none"),
        ];
        for (reply, expected) in rows {
            assert_eq!(shown(reply), expected, "{reply}");
        }
    }

    #[test]
    fn the_vocabulary_is_bounded() {
        let nodes: Vec<String> = (0..5_000).map(|i| format!("concept:number-{i}")).collect();
        let vocabulary =
            Vocabulary { n_entries: 3, nodes: &nodes, n_relations: &[("uses".into(), 2)] };
        let text = prompt("how?", &vocabulary).text;
        assert!(text.starts_with("<graph>\n3 entries\n2 × uses\nconcept:number-0\n"), "{text}");
        assert!(text.ends_with("<question>\nhow?\n</question>"));
        assert!(text.chars().count() < MAX_VOCABULARY + 200);
    }

    proptest! {
        #[test]
        fn plans_name_only_what_is_there(
            reply in r#"(\{|\}|,|:|"strategy"|"scope"|"target"|"timeline"|"connection"|"tag:python"|"x"| ){0,40}"#
        ) {
            if let Some(plan) = parse(&reply, known) {
                prop_assert!(plan.scope.iter().chain(&plan.target).all(|id| known(id)));
            }
        }
    }
}
