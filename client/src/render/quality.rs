//! The report of `kgctl eval`, as text.
//!
//! In: scores. Out: tables.
//! Not here: the metrics (`score.rs`).

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use super::{Style, table};
use crate::score::interval::Interval;
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
    /// The middle 95 % of F1 over documents drawn with replacement, and of nDCG@10 over questions, by row.
    pub intervals: BTreeMap<String, Interval>,
    /// The same for each half of the corpus, where it is divided.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub halves: BTreeMap<String, Report>,
}

/// The report as tables: one a half, where the corpus is divided.
pub fn report(report: &Report, style: Style) -> String {
    if report.halves.is_empty() {
        return tables("", report, style);
    }
    let halves: Vec<String> = report
        .halves
        .iter()
        .map(|(half, report)| tables(&format!("{half}: "), report, style))
        .collect();
    halves.join("\n\n")
}

fn tables(half: &str, report: &Report, style: Style) -> String {
    let mut text = format!(
        "{half}{} annotated documents, {} questions\n\n",
        report.documents, report.questions
    );
    let with_interval = |name: &str, mut row: Vec<String>| {
        let [low, high] = report.intervals.get(name).copied().unwrap_or([f64::NAN; 2]);
        row.push(if low.is_nan() { String::new() } else { format!("{low:.3} to {high:.3}") });
        row
    };
    let row = |name: &str, counts| with_interval(name, row(name, counts));
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
        &["", "PRECISION", "RECALL", "F1", "RIGHT", "WRONG", "MISSED", "95 % OF F1"],
        rows,
    ));
    let LinkScores { accuracy, mentions, .. } = report.links;
    let _ = writeln!(text, "links, accuracy: {accuracy:.3} of {mentions} mentions\n");
    let rows = report
        .relations
        .by_predicate
        .iter()
        .map(|(name, counts)| self::row(name, *counts))
        .collect();
    text.push_str(&table(
        style,
        &["PREDICATE", "PRECISION", "RECALL", "F1", "RIGHT", "WRONG", "MISSED"],
        rows,
    ));
    let rank_row = |(name, scores): (&String, &RankScores)| {
        let RankScores { recall_at_5, success_at_5, mrr, ndcg_at_10 } = *scores;
        let cells = [recall_at_5, success_at_5, mrr, ndcg_at_10].map(|score| format!("{score:.3}"));
        with_interval(name, std::iter::once(name.clone()).chain(cells).collect())
    };
    let rows = report.retrieval.iter().map(rank_row).collect();
    let _ = write!(
        text,
        "\n{}",
        table(style, &["FORMULA", "RECALL@5", "SUCCESS@5", "MRR", "NDCG@10", "95 % OF NDCG"], rows)
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
            intervals: [("relations".to_string(), [0.5, 0.75]), ("text".to_string(), [0.5, 0.6])]
                .into(),
            halves: BTreeMap::new(),
        };
        expect![[r#"
            12 annotated documents, 40 questions

                                           PRECISION  RECALL  F1     RIGHT  WRONG  MISSED  95 % OF F1
            mentions, exact span           0.750      0.600   0.667  6      2      4
            mentions, exact span and type  1.000      1.000   1.000  0      0      0
            mentions, overlap              1.000      1.000   1.000  0      0      0
            mentions, overlap and type     1.000      1.000   1.000  0      0      0
            links, pairs of mentions       0.750      0.600   0.667  6      2      4
            relations                      1.000      1.000   1.000  0      0      0       0.500 to 0.750
            relations, any predicate       1.000      1.000   1.000  0      0      0
            links, accuracy: 0.900 of 20 mentions

            PREDICATE  PRECISION  RECALL  F1     RIGHT  WRONG  MISSED
            uses       0.750      0.600   0.667  6      2      4

            FORMULA  RECALL@5  SUCCESS@5  MRR    NDCG@10  95 % OF NDCG
            hybrid   0.500     0.750      0.600  0.550
            text     0.500     0.750      0.600  0.550    0.500 to 0.600
        "#]]
        .assert_eq(&report(&shown, Style::plain()));
        let halves = ["reporting", "tuning"].map(|half| (half.to_string(), shown.clone()));
        let divided =
            report(&Report { halves: halves.into(), ..Report::default() }, Style::plain());
        let heads: Vec<_> = divided.lines().filter(|line| line.contains("annotated")).collect();
        assert_eq!(
            heads,
            ["reporting", "tuning"].map(|it| format!("{it}: 12 annotated documents, 40 questions"))
        );
    }
}
