//! Consolidate: the proposals of memory's report, one at a time, and the meaning of answers.
//!
//! In: the report and the gaps; typed answers. Out: proposals as text; the calls that carry out accepted ones.
//! Invariants: pure; `a` does exactly what the proposal says; text of notes is printed without control characters.

use proto::tool::batch::Item;
use proto::tool::memory::{
    ClusterView, ConsolidationReply, CreateEntities, CreateRelations, DeleteEntities, GapsReply,
    NewMemoryEntity, RelationKey, SetSummary,
};

use crate::render::clean;

/// The relation if no other is given.
const RELATED: &str = "related_to";

/// The relation from members to their topic; below, the topic's type.
const MEMBER: &str = "part_of";
const TOPIC: &str = "topic";

/// Most names of a topic that are shown.
const MAX_NAMES: usize = 8;

/// A proposal.
#[derive(Debug, Clone, PartialEq)]
pub enum Candidate {
    /// An entity whose summary is missing or older than its observations.
    Summary {
        /// The entity, with its type.
        name: String,
        /// See `name`.
        entity_type: String,
        /// A summary to start from.
        draft: Option<String>,
    },
    /// Two entities that may be related.
    Relation {
        /// The entity that would state it.
        from: String,
        /// The other entity.
        to: String,
        /// The reason for it.
        why: String,
        /// The key of the decision against it.
        key: Option<String>,
    },
    /// Entities that belong together.
    Topic {
        /// The words that distinguish them.
        label: String,
        /// Their names.
        members: Vec<String>,
    },
    /// An entity without any relation.
    Orphan {
        /// Its name, and the path of its note.
        name: String,
        /// See `name`.
        path: String,
    },
}

/// The call that carries out an accepted proposal.
#[derive(Debug, Clone, PartialEq)]
pub enum Call {
    /// Sets a summary.
    Summary(SetSummary),
    /// Creates a relation.
    Relate(CreateRelations),
    /// Creates an entity for the topic, and relates its members to it.
    Topic(CreateEntities, CreateRelations),
    /// Deletes the entity.
    Delete(DeleteEntities),
}

/// The meaning of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Do this.
    Do(Call),
    /// Reject it; the key stores the decision, if there is one.
    Reject(Option<String>),
    /// Perhaps another time.
    Skip,
    /// End the review.
    Quit,
    /// Not a valid answer, with the answers that would be valid.
    Unclear(String),
}

/// Returns the proposals of the report and the gaps, in their order: summaries, relations, topics, orphans.
pub fn candidates(report: &ConsolidationReply, gaps: &GapsReply) -> Vec<Candidate> {
    let summaries = report.stale_summaries.iter().map(|it| Candidate::Summary {
        name: it.name.clone(),
        entity_type: it.entity_type.clone(),
        draft: it.draft_summary.clone(),
    });
    let spoken = gaps.gaps.iter().map(|it| Candidate::Relation {
        from: it.node.clone(),
        to: it.referenced_name.clone(),
        why: format!("{} of its observations mention it", it.reference_count),
        key: it.key.clone(),
    });
    let alike = report.relation_candidates.iter().map(|it| Candidate::Relation {
        from: it.node_a.clone(),
        to: it.node_b.clone(),
        why: format!("{} ({:.2})", it.rationale.as_deref().unwrap_or("alike"), it.similarity_score),
        key: it.key.clone(),
    });
    let label = |it: &ClusterView| it.centroid_label.clone().filter(|it| !it.trim().is_empty());
    let topics = report.cluster_summary.iter().filter_map(|it| {
        Some(Candidate::Topic { label: label(it)?, members: it.node_names.clone() })
    });
    let orphans = report
        .orphaned_nodes
        .iter()
        .map(|it| Candidate::Orphan { name: it.name.clone(), path: it.path.clone() });
    let mut all: Vec<Candidate> = summaries.collect();
    for it in spoken.chain(alike) {
        let is_known = |other: &Candidate| match (&it, other) {
            (Candidate::Relation { from: a, to: b, .. }, Candidate::Relation { from, to, .. }) => {
                (a, b) == (from, to) || (a, b) == (to, from)
            }
            _ => false,
        };
        if !all.iter().any(is_known) {
            all.push(it);
        }
    }
    all.extend(topics);
    all.extend(orphans);
    all
}

impl Candidate {
    /// Describes the proposal in a few lines, followed by the keys.
    pub fn described(&self) -> Vec<String> {
        let lines: Vec<String> = match self {
            Candidate::Summary { name, entity_type, draft } => vec![
                format!("summary of {name} ({entity_type})"),
                draft.as_ref().map_or("no draft".into(), |it| format!("“{it}”")),
                match draft {
                    Some(_) => "a set this summary   a WORDS set these words instead",
                    None => "a WORDS set these words",
                }
                .into(),
            ],
            Candidate::Relation { from, to, why, .. } => vec![
                format!("relation {from} → {to}"),
                why.clone(),
                format!("a relate them ({RELATED})   a TYPE relate them by this type"),
            ],
            Candidate::Topic { label, members } => {
                let names = members.iter().take(MAX_NAMES).cloned().collect::<Vec<_>>().join(", ");
                let rest = members.len().saturating_sub(MAX_NAMES);
                let rest = if rest > 0 { format!(", {rest} more") } else { String::new() };
                vec![
                    format!("topic {label}: {}", members.len()),
                    format!("{names}{rest}"),
                    format!(
                        "a create an entity of the topic, with {MEMBER} from each   a NAME give it this name"
                    ),
                ]
            }
            Candidate::Orphan { name, path } => vec![
                format!("orphan {name} ({path}): no relations"),
                "d delete it (`kgctl restore` brings it back)".into(),
            ],
        };
        let keys = "r reject   s skip   q quit";
        lines.iter().map(|it| clean(it).into_owned()).chain([keys.to_string()]).collect()
    }

    /// Parses an answer: a key, and words after it.
    pub fn answer(&self, typed: &str) -> Answer {
        let typed = typed.trim();
        let (key, words) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
        let words = Some(words.trim()).filter(|it| !it.is_empty()).map(str::to_string);
        let key = key.to_lowercase();
        let unclear =
            || Answer::Unclear(self.described().split_off(self.described().len() - 2).join("   "));
        match (key.as_str(), self) {
            ("q", _) => Answer::Quit,
            ("s" | "", _) => Answer::Skip,
            ("r", Candidate::Relation { key, .. }) => Answer::Reject(key.clone()),
            ("r", _) => Answer::Reject(None),
            ("a", Candidate::Summary { name, draft, .. }) => match words.or(draft.clone()) {
                Some(summary) => {
                    Answer::Do(Call::Summary(SetSummary { name: name.clone(), summary }))
                }
                None => unclear(),
            },
            ("a", Candidate::Relation { from, to, .. }) => {
                let kind = words.unwrap_or(RELATED.into());
                Answer::Do(Call::Relate(CreateRelations {
                    relations: vec![relation(from, to, &kind)],
                }))
            }
            ("a", Candidate::Topic { label, members }) => {
                let name = words.unwrap_or(label.clone());
                let relations = members.iter().map(|it| relation(it, &name, MEMBER)).collect();
                let entity = NewMemoryEntity {
                    name,
                    entity_type: TOPIC.into(),
                    ..NewMemoryEntity::default()
                };
                let entities = CreateEntities { entities: vec![entity.into()] };
                Answer::Do(Call::Topic(entities, CreateRelations { relations }))
            }
            ("d", Candidate::Orphan { name, .. }) => {
                Answer::Do(Call::Delete(DeleteEntities { entity_names: vec![name.clone()] }))
            }
            _ => unclear(),
        }
    }
}

fn relation(from: &str, to: &str, relation_type: &str) -> Item<RelationKey> {
    Item::Whole(RelationKey {
        from_entity: from.into(),
        to_entity: to.into(),
        relation_type: relation_type.into(),
    })
}

#[cfg(test)]
mod tests {
    use proto::tool::memory::{RelationCandidate, RelationGap, StaleSummary};

    use super::*;

    fn summary(draft: Option<&str>) -> Candidate {
        let draft = draft.map(String::from);
        Candidate::Summary { name: "Ada".into(), entity_type: "person".into(), draft }
    }

    #[test]
    fn an_answer_does_what_the_candidate_says() {
        let set = |summary: &str| {
            Answer::Do(Call::Summary(SetSummary { name: "Ada".into(), summary: summary.into() }))
        };
        assert_eq!(summary(Some("Wrote.")).answer("a"), set("Wrote."));
        assert_eq!(
            summary(Some("Wrote.")).answer(" A  Wrote the first program. "),
            set("Wrote the first program.")
        );
        assert!(matches!(summary(None).answer("a"), Answer::Unclear(_)));
        let related = Candidate::Relation {
            from: "Ada".into(),
            to: "Charles".into(),
            why: "alike".into(),
            key: Some("relation:ada>related_to>charles".into()),
        };
        let relate = |kind: &str| {
            let relations = vec![relation("Ada", "Charles", kind)];
            Answer::Do(Call::Relate(CreateRelations { relations }))
        };
        assert_eq!(related.answer("a"), relate("related_to"));
        assert_eq!(related.answer("a works_with"), relate("works_with"));
        assert_eq!(
            related.answer("r"),
            Answer::Reject(Some("relation:ada>related_to>charles".into()))
        );
        let orphan = Candidate::Orphan { name: "Lost".into(), path: "memory/lost.md".into() };
        assert!(matches!(orphan.answer("a"), Answer::Unclear(why) if why.starts_with("d delete")));
        assert!(matches!(orphan.answer("d"), Answer::Do(Call::Delete(_))));
        for (typed, answer) in [("q", Answer::Quit), ("s", Answer::Skip), ("", Answer::Skip)] {
            assert_eq!(orphan.answer(typed), answer, "{typed}");
        }
        assert_eq!(orphan.answer("r"), Answer::Reject(None));
    }

    #[test]
    fn a_pair_is_proposed_once_and_told_without_control_characters() {
        let report = ConsolidationReply {
            stale_summaries: vec![StaleSummary { name: "A\u{1b}da".into(), ..Default::default() }],
            relation_candidates: vec![RelationCandidate {
                node_a: "B".into(),
                node_b: "A".into(),
                ..Default::default()
            }],
            ..Default::default()
        };
        let gap =
            RelationGap { node: "A".into(), referenced_name: "B".into(), ..Default::default() };
        let gaps = GapsReply { gaps: vec![gap], ..Default::default() };
        let all = candidates(&report, &gaps);
        assert_eq!(all.len(), 2, "{all:?}");
        assert!(!all[0].described().concat().contains('\u{1b}'));
    }
}
