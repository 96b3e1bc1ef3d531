//! The report of `kgctl eval`, as text.
//!
//! In: scores. Out: tables.
//! Not here: the metrics (`score.rs`).

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use super::{Style, table};
use crate::score::{Counts, LinkScores, MentionScores, RankScores, RelationScores};

/// Everything `kgctl eval` measures.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// Documents with annotations.
    pub documents: usize,
    /// Questions asked.
    pub questions: usize,
    /// Mentions in the annotated documents.
    pub mentions: MentionScores,
    /// What these mentions denote.
    pub links: LinkScores,
    /// Relations stated in the annotated documents.
    pub relations: RelationScores,
    /// Ranked answers, a formula.
    pub retrieval: BTreeMap<String, RankScores>,
}

/// The report as tables.
pub fn report(report: &Report, style: Style) -> String {
    let mut text =
        format!("{} annotated documents, {} questions\n\n", report.documents, report.questions);
    let MentionScores { exact, exact_typed, overlap, overlap_typed } = report.mentions;
    let rows = vec![
        row("mentions, exact span", exact),
        row("mentions, exact span and type", exact_typed),
        row("mentions, overlap", overlap),
        row("mentions, overlap and type", overlap_typed),
        row("links, pairs of mentions", report.links.pairwise),
        row("relations", report.relations.typed),
        row("relations, any predicate", report.relations.untyped),
    ];
    text.push_str(&table(
        style,
        &["", "PRECISION", "RECALL", "F1", "RIGHT", "WRONG", "MISSED"],
        rows,
    ));
    let LinkScores { accuracy, mentions, .. } = report.links;
    let _ = writeln!(text, "links, accuracy: {accuracy:.3} of {mentions} mentions\n");
    let rows =
        report.relations.by_predicate.iter().map(|(name, counts)| row(name, *counts)).collect();
    text.push_str(&table(
        style,
        &["PREDICATE", "PRECISION", "RECALL", "F1", "RIGHT", "WRONG", "MISSED"],
        rows,
    ));
    let rank_row = |(name, scores): (&String, &RankScores)| {
        let RankScores { recall_at_5, success_at_5, mrr, ndcg_at_10 } = *scores;
        let cells = [recall_at_5, success_at_5, mrr, ndcg_at_10].map(|score| format!("{score:.3}"));
        std::iter::once(name.clone()).chain(cells).collect()
    };
    let rows = report.retrieval.iter().map(rank_row).collect();
    let _ = write!(
        text,
        "\n{}",
        table(style, &["FORMULA", "RECALL@5", "SUCCESS@5", "MRR", "NDCG@10"], rows)
    );
    text
}

fn row(name: &str, counts: Counts) -> Vec<String> {
    let scores =
        [counts.precision(), counts.recall(), counts.f1()].map(|score| format!("{score:.3}"));
    let numbers = [counts.right, counts.wrong, counts.missed].map(|number| number.to_string());
    std::iter::once(name.to_string()).chain(scores).chain(numbers).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn the_report_is_one_screen() {
        let counts = Counts { right: 6, wrong: 2, missed: 4 };
        let scores =
            RankScores { recall_at_5: 0.5, success_at_5: 0.75, mrr: 0.6, ndcg_at_10: 0.55 };
        let shown = Report {
            documents: 12,
            questions: 40,
            mentions: MentionScores { exact: counts, ..MentionScores::default() },
            links: LinkScores { pairwise: counts, accuracy: 0.9, mentions: 20 },
            relations: RelationScores {
                by_predicate: [("uses".to_string(), counts)].into(),
                ..RelationScores::default()
            },
            retrieval: [("hybrid".to_string(), scores), ("text".to_string(), scores)].into(),
        };
        expect![[r#"
            12 annotated documents, 40 questions

                                           PRECISION  RECALL  F1     RIGHT  WRONG  MISSED
            mentions, exact span           0.750      0.600   0.667  6      2      4
            mentions, exact span and type  1.000      1.000   1.000  0      0      0
            mentions, overlap              1.000      1.000   1.000  0      0      0
            mentions, overlap and type     1.000      1.000   1.000  0      0      0
            links, pairs of mentions       0.750      0.600   0.667  6      2      4
            relations                      1.000      1.000   1.000  0      0      0
            relations, any predicate       1.000      1.000   1.000  0      0      0
            links, accuracy: 0.900 of 20 mentions

            PREDICATE  PRECISION  RECALL  F1     RIGHT  WRONG  MISSED
            uses       0.750      0.600   0.667  6      2      4

            FORMULA  RECALL@5  SUCCESS@5  MRR    NDCG@10
            hybrid   0.500     0.750      0.600  0.550
            text     0.500     0.750      0.600  0.550
        "#]]
        .assert_eq(&report(&shown, Style::plain()));
    }
}
