//! Quality: renders the report of `kgctl eval`.
//!
//! In: scores. Out: tables.

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
    /// Found in the text alone: recognition, and everything end to end.
    #[serde(flatten)]
    pub found: Extraction,
    /// Found given the annotated mentions: linking.
    pub mentions_given: Extraction,
    /// Found given the mentions and their entities: relations.
    pub links_given: Extraction,
    /// Ranked answers, by formula.
    pub retrieval: BTreeMap<String, RankScores>,
    /// The middle 95 % of nDCG@10 over questions drawn with replacement, by formula.
    pub retrieval_intervals: BTreeMap<String, Interval>,
    /// The same for each half of the corpus, where it is divided.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub halves: BTreeMap<String, Report>,
}

/// The results of one reading of the documents.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Extraction {
    /// Mentions in the annotated documents.
    pub mentions: MentionScores,
    /// What these mentions denote.
    pub links: LinkScores,
    /// Relations stated in the annotated documents.
    pub relations: RelationScores,
    /// The middle 95 % of F1 (for links, also of accuracy) over documents drawn with replacement, by row.
    pub intervals: BTreeMap<String, Interval>,
}

/// The row of links.
pub const PAIRS: &str = "links, pairs of mentions";

/// The row of the share of mentions with the right entity.
pub const ACCURACY: &str = "links, accuracy";

/// Renders the report as tables: one per half, where the corpus is divided. `shows_types`: also relations by predicate.
pub fn report(report: &Report, shows_types: bool, style: Style) -> String {
    if report.halves.is_empty() {
        return tables("", report, shows_types, style);
    }
    let halves: Vec<String> = report
        .halves
        .iter()
        .map(|(half, report)| tables(&format!("{half}: "), report, shows_types, style))
        .collect();
    halves.join("\n\n")
}

fn tables(half: &str, report: &Report, shows_types: bool, style: Style) -> String {
    let mut text = format!(
        "{half}{} annotated documents, {} questions\n\n",
        report.documents, report.questions
    );
    let header = ["", "PRECISION", "RECALL", "F1", "95 % OF F1", "RIGHT", "WRONG", "MISSED"];
    text.push_str(&table(style, &header, stages(report)));
    let Extraction { mentions, links, .. } = &report.links_given;
    let (taken, all) = (mentions.exact.right, mentions.exact.right + mentions.exact.missed);
    let _ = writeln!(
        text,
        "given: {taken} of {all} annotated mentions, linked as given with F1 {:.3}\n",
        links.pairwise.f1()
    );
    if shows_types {
        let header =
            ["PREDICATE", "GOLD", "FOUND, LINKS GIVEN", "RIGHT", "FOUND, END TO END", "RIGHT"];
        text.push_str(&table(style, &header, predicates(report)));
        text.push('\n');
    }
    let header = ["FORMULA", "RECALL@5", "SUCCESS@5", "MRR", "NDCG@10", "95 % OF NDCG"];
    text.push_str(&table(style, &header, formulas(report)));
    text
}

/// Returns the scores in the order in which a document is read: each stage alone, then all together.
fn stages(report: &Report) -> Vec<Vec<String>> {
    let Report { found, mentions_given, links_given, .. } = report;
    let head = |text: &str| vec![text.to_string()];
    let relations =
        |of: &Extraction| of.relations.rows().map(|(name, counts)| row(of, name, counts));
    let mut rows = vec![head("1 recognition")];
    rows.extend(found.mentions.rows().map(|(name, counts)| row(found, name, counts)));
    rows.push(head("2 linking, mentions given"));
    rows.push(row(mentions_given, PAIRS, mentions_given.links.pairwise));
    rows.push(accuracy(mentions_given));
    rows.push(head("3 relations, links given"));
    rows.extend(relations(links_given));
    rows.push(head("4 end to end"));
    rows.push(row(found, PAIRS, found.links.pairwise));
    rows.push(accuracy(found));
    rows.extend(relations(found));
    rows
}

fn row(of: &Extraction, name: &str, counts: Counts) -> Vec<String> {
    let scores =
        [counts.precision(), counts.recall(), counts.f1()].map(|score| format!("{score:.3}"));
    let numbers = [counts.right, counts.wrong, counts.missed].map(|number| number.to_string());
    std::iter::once(indented(name))
        .chain(scores)
        .chain([shown(of.intervals.get(name))])
        .chain(numbers)
        .collect()
}

/// Returns the share of mentions with the right entity, in the column of F1: each mention has one answer, so precision
/// and recall are the same number.
fn accuracy(of: &Extraction) -> Vec<String> {
    let LinkScores { accuracy, right, mentions, .. } = of.links;
    let cells = [String::new(), String::new(), format!("{accuracy:.3}")];
    std::iter::once(indented(ACCURACY))
        .chain(cells)
        .chain([
            shown(of.intervals.get(ACCURACY)),
            right.to_string(),
            (mentions - right).to_string(),
        ])
        .collect()
}

fn indented(name: &str) -> String {
    format!("  {name}")
}

fn shown(interval: Option<&Interval>) -> String {
    interval.map(|[low, high]| format!("{low:.3} to {high:.3}")).unwrap_or_default()
}

fn predicates(report: &Report) -> Vec<Vec<String>> {
    let [given, found] = [&report.links_given, &report.found].map(|it| &it.relations.by_predicate);
    let mut names: Vec<&String> = given.keys().chain(found.keys()).collect();
    names.sort();
    names.dedup();
    let of = |counts: &BTreeMap<String, Counts>, name: &String| {
        counts.get(name).copied().unwrap_or_default()
    };
    let row = |name: &String| {
        let (given, found) = (of(given, name), of(found, name));
        // Both readings have the same annotations; one of them may lack the predicate.
        let gold = (given.right + given.missed).max(found.right + found.missed);
        let numbers =
            [gold, given.right + given.wrong, given.right, found.right + found.wrong, found.right];
        std::iter::once(name.clone()).chain(numbers.map(|it| it.to_string())).collect()
    };
    names.into_iter().map(row).collect()
}

fn formulas(report: &Report) -> Vec<Vec<String>> {
    let row = |(name, scores): (&String, &RankScores)| {
        let RankScores { recall_at_5, success_at_5, mrr, ndcg_at_10 } = *scores;
        let cells = [recall_at_5, success_at_5, mrr, ndcg_at_10].map(|score| format!("{score:.3}"));
        std::iter::once(name.clone())
            .chain(cells)
            .chain([shown(report.retrieval_intervals.get(name))])
            .collect()
    };
    report.retrieval.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn extraction(right: u64) -> Extraction {
        let counts = Counts { right, wrong: 2, missed: 10 - right };
        Extraction {
            mentions: MentionScores { exact: counts, ..MentionScores::default() },
            links: LinkScores { pairwise: counts, accuracy: 0.9, right: 18, mentions: 20 },
            relations: RelationScores {
                typed: counts,
                by_predicate: [("uses".to_string(), counts)].into(),
                ..RelationScores::default()
            },
            intervals: [
                ("exact span".to_string(), [0.5, 0.75]),
                (PAIRS.to_string(), [0.6, 0.7]),
                (ACCURACY.to_string(), [0.8, 0.95]),
            ]
            .into(),
        }
    }

    #[test]
    fn the_report_shows_where_it_is_lost() {
        let scores =
            RankScores { recall_at_5: 0.5, success_at_5: 0.75, mrr: 0.6, ndcg_at_10: 0.55 };
        let shown = Report {
            documents: 12,
            questions: 40,
            found: extraction(6),
            mentions_given: extraction(8),
            links_given: extraction(9),
            retrieval: [("hybrid".to_string(), scores), ("text".to_string(), scores)].into(),
            retrieval_intervals: [("text".to_string(), [0.5, 0.6])].into(),
            halves: BTreeMap::new(),
        };
        expect![[r#"
            12 annotated documents, 40 questions

                                               PRECISION  RECALL  F1     95 % OF F1      RIGHT  WRONG  MISSED
            1 recognition
              exact span                       0.750      0.600   0.667  0.500 to 0.750  6      2      4
              exact span and type              1.000      1.000   1.000                  0      0      0
              overlap                          1.000      1.000   1.000                  0      0      0
              overlap and type                 1.000      1.000   1.000                  0      0      0
            2 linking, mentions given
              links, pairs of mentions         0.800      0.800   0.800  0.600 to 0.700  8      2      2
              links, accuracy                                     0.900  0.800 to 0.950  18     2
            3 relations, links given
              relations                        0.818      0.900   0.857                  9      2      1
              relations without related_to     1.000      1.000   1.000                  0      0      0
              relations, either direction      1.000      1.000   1.000                  0      0      0
              relations, any predicate         1.000      1.000   1.000                  0      0      0
              any predicate, either direction  1.000      1.000   1.000                  0      0      0
            4 end to end
              links, pairs of mentions         0.750      0.600   0.667  0.600 to 0.700  6      2      4
              links, accuracy                                     0.900  0.800 to 0.950  18     2
              relations                        0.750      0.600   0.667                  6      2      4
              relations without related_to     1.000      1.000   1.000                  0      0      0
              relations, either direction      1.000      1.000   1.000                  0      0      0
              relations, any predicate         1.000      1.000   1.000                  0      0      0
              any predicate, either direction  1.000      1.000   1.000                  0      0      0
            given: 9 of 10 annotated mentions, linked as given with F1 0.857

            PREDICATE  GOLD  FOUND, LINKS GIVEN  RIGHT  FOUND, END TO END  RIGHT
            uses       10    11                  9      8                  6

            FORMULA  RECALL@5  SUCCESS@5  MRR    NDCG@10  95 % OF NDCG
            hybrid   0.500     0.750      0.600  0.550
            text     0.500     0.750      0.600  0.550    0.500 to 0.600
        "#]].assert_eq(&report(&shown, true, Style::terminal(false)));
        let halves = ["reporting", "tuning"].map(|half| (half.to_string(), shown.clone()));
        let divided = Report { halves: halves.into(), ..Report::default() };
        let divided = report(&divided, false, Style::terminal(false));
        assert!(!divided.contains("PREDICATE"));
        let heads: Vec<_> = divided.lines().filter(|line| line.contains(" questions")).collect();
        assert_eq!(
            heads,
            ["reporting", "tuning"].map(|it| format!("{it}: 12 annotated documents, 40 questions"))
        );
    }
}
