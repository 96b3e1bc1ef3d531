//! Questions: renders the report of `kgctl eval FILE` on the user's own questions.
//!
//! In: for each formula, the scores of each question; the same under another configuration, if there is one. Out:
//! tables.
//! Invariants: intervals are the middle 95 % of questions drawn with replacement; two configurations are compared
//! question by question.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Style, table};
use crate::score::interval::{Interval, of_mean};
use crate::score::rounded;

/// The scores of one question. Documents count, each at the rank of its best hit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Scored {
    /// 1 when the first document answers the question.
    pub hit_at_1: f64,
    /// 1 when one of the first five does.
    pub hit_at_5: f64,
    /// 1 when one of the first ten does.
    pub hit_at_10: f64,
    /// The reciprocal rank of the first that does; 0 when none does.
    pub reciprocal_rank: f64,
    /// Discounted gain of the first ten, relative to the best possible.
    pub ndcg_at_10: f64,
}

/// The scores of all questions under one configuration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// The questions, in order.
    pub questions: Vec<String>,
    /// The kind of each question; empty if unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
    /// By formula: the scores of each question, in the same order.
    pub formulas: BTreeMap<String, Vec<Scored>>,
    /// Remarks about the table and the figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "told")]
    pub remarks: Vec<Remark>,
    /// The same under the settings of `against`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Box<Against>>,
}

/// A remark about a line of the table, or about all figures.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    /// The line, from 1, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The remark.
    pub why: String,
    /// True when the question of that line was left out.
    #[serde(default)]
    pub left_out: bool,
}

impl Remark {
    /// Returns the remark with its line.
    pub fn text(&self) -> String {
        match self.line {
            Some(line) => format!("line {line}: {}", self.why),
            None => self.why.clone(),
        }
    }
}

/// Another configuration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Against {
    /// Its settings, as `key=value`.
    pub settings: Vec<String>,
    /// Its results.
    pub answered: Answered,
}

/// The formula whose scores are shown by kind.
const BY_KIND: &str = "hybrid";

type Metric = (&'static str, fn(&Scored) -> f64);

const METRICS: [Metric; 5] = [
    ("HIT@1", |it| it.hit_at_1),
    ("HIT@5", |it| it.hit_at_5),
    ("HIT@10", |it| it.hit_at_10),
    ("MRR", |it| it.reciprocal_rank),
    ("NDCG@10", |it| it.ndcg_at_10),
];

/// Renders the report as tables: the scores; for two configurations, the scores of the other, and the difference.
/// `shows_each`: also the rank of each question.
pub fn questions(answered: &Answered, shows_each: bool, style: Style) -> String {
    let left_out = answered.remarks.iter().filter(|it| it.left_out).filter_map(|it| it.line);
    let lines: Vec<String> = left_out.map(|line| line.to_string()).collect();
    let left_out = match lines.as_slice() {
        [] => String::new(),
        [line] => format!(", 1 left out (line {line})"),
        lines => format!(", {} left out (lines {})", lines.len(), lines.join(", ")),
    };
    let mut text =
        format!("{} questions{left_out}\n\n{}", answered.questions.len(), scores(answered, style));
    text.push_str(&by_kind(answered, style));
    if let Some(against) = &answered.against {
        text.push_str(&format!(
            "\nwith {}\n\n{}{}\ndifference to the first, question by question\n\n{}",
            against.settings.join(", "),
            scores(&against.answered, style),
            by_kind(&against.answered, style),
            differences(answered, &against.answered, style),
        ));
    }
    if shows_each {
        text.push('\n');
        text.push_str(&each(answered, style));
    }
    text
}

fn mean(values: &[f64]) -> f64 {
    rounded(values.iter().sum::<f64>() / values.len().max(1) as f64)
}

fn shown([low, high]: Interval) -> String {
    format!("{low:.3} to {high:.3}")
}

fn scores(answered: &Answered, style: Style) -> String {
    let header = ["FORMULA", "HIT@1", "HIT@5", "HIT@10", "MRR", "95 %", "NDCG@10", "95 %"];
    let row = |(formula, scored): (&String, &Vec<Scored>)| {
        let mut cells = vec![formula.clone()];
        for (name, metric) in METRICS {
            let values: Vec<f64> = scored.iter().map(metric).collect();
            cells.push(format!("{:.3}", mean(&values)));
            if matches!(name, "MRR" | "NDCG@10") {
                cells.push(shown(of_mean(&values)));
            }
        }
        cells
    };
    table(style, &header, answered.formulas.iter().map(row).collect())
}

/// Renders the scores of each kind of question by the default formula; empty if there are no kinds.
fn by_kind(answered: &Answered, style: Style) -> String {
    let Some(scored) = answered.formulas.get(BY_KIND).filter(|_| !answered.kinds.is_empty()) else {
        return String::new();
    };
    let mut kinds: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (kind, it) in answered.kinds.iter().zip(scored) {
        kinds.entry(kind).or_default().push(it.reciprocal_rank);
    }
    let row = |(kind, ranks): (&str, Vec<f64>)| {
        // Ranks are stored as reciprocals: 1/rank × k is at least 1 within the first k, up to rounding.
        let within = |k: f64| ranks.iter().filter(|it| **it * k > 0.999).count() as f64;
        let share = |k: f64| format!("{:.3}", within(k) / ranks.len() as f64);
        let (mrr, interval) = (format!("{:.3}", mean(&ranks)), shown(of_mean(&ranks)));
        let n = ranks.len().to_string();
        vec![kind.to_string(), n, share(1.0), share(3.0), share(5.0), mrr, interval]
    };
    let header = ["KIND", "QUESTIONS", "HIT@1", "HIT@3", "HIT@5", "MRR", "95 %"];
    format!("\n{}", table(style, &header, kinds.into_iter().map(row).collect()))
}

fn differences(one: &Answered, other: &Answered, style: Style) -> String {
    let header = ["FORMULA", "NDCG@10", "95 %", "BETTER", "WORSE", ""];
    let row = |(formula, before): (&String, &Vec<Scored>)| {
        let after = other.formulas.get(formula)?;
        let pairs = before.iter().zip(after);
        let by: Vec<f64> = pairs.map(|(a, b)| b.ndcg_at_10 - a.ndcg_at_10).collect();
        let [low, high] = of_mean(&by);
        // An interval without 0 means that the difference is significant at 5 %.
        let verdict = match () {
            () if by.is_empty() || by.iter().all(|it| it.abs() < f64::EPSILON) => "no difference",
            () if low > 0.0 => "better",
            () if high < 0.0 => "worse",
            () => "may be chance",
        };
        let n = |wanted: fn(&f64) -> bool| by.iter().filter(|it| wanted(it)).count().to_string();
        Some(vec![
            formula.clone(),
            format!("{:+.3}", mean(&by)),
            format!("{low:+.3} to {high:+.3}"),
            n(|it| *it > 0.0),
            n(|it| *it < 0.0),
            verdict.to_string(),
        ])
    };
    table(style, &header, one.formulas.iter().filter_map(row).collect())
}

fn each(answered: &Answered, style: Style) -> String {
    let mut header = vec!["RANK OF THE FIRST ANSWER"];
    header.extend(answered.formulas.keys().map(String::as_str));
    let row = |(idx, question): (usize, &String)| {
        let rank = |scored: &Vec<Scored>| match scored.get(idx).map(|it| it.reciprocal_rank) {
            Some(rank) if rank > 0.0 => format!("{:.0}", 1.0 / rank),
            _ => "-".to_string(),
        };
        std::iter::once(question.clone()).chain(answered.formulas.values().map(rank)).collect()
    };
    table(style, &header, answered.questions.iter().enumerate().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn scored(rank: usize) -> Scored {
        let within = |k: usize| f64::from(u8::from((1..=k).contains(&rank)));
        Scored {
            hit_at_1: within(1),
            hit_at_5: within(5),
            hit_at_10: within(10),
            reciprocal_rank: if rank == 0 { 0.0 } else { 1.0 / rank as f64 },
            ndcg_at_10: if rank == 0 { 0.0 } else { 1.0 / ((rank + 1) as f64).log2() },
        }
    }

    fn answered(ranks: &[usize]) -> Answered {
        Answered {
            questions: (1..=ranks.len()).map(|i| format!("question {i}")).collect(),
            formulas: [("hybrid".to_string(), ranks.iter().map(|it| scored(*it)).collect())].into(),
            ..Answered::default()
        }
    }

    #[test]
    fn questions_that_were_left_out_are_counted() {
        let remark = |line| Remark { line: Some(line), why: "empty".into(), left_out: line > 2 };
        let answered =
            Answered { remarks: vec![remark(2), remark(3), remark(9)], ..answered(&[1]) };
        let text = questions(&answered, false, Style::terminal(false));
        assert!(text.starts_with("1 questions, 2 left out (lines 3, 9)\n"), "{text}");
    }

    #[test]
    fn two_configurations_side_by_side() {
        let mut first = answered(&[1, 2, 0, 7]);
        let settings = vec!["retrieval.hops=0".to_string()];
        first.against = Some(Box::new(Against { settings, answered: answered(&[1, 1, 3, 1]) }));
        expect![[r#"
            4 questions

            FORMULA  HIT@1  HIT@5  HIT@10  MRR    95 %            NDCG@10  95 %
            hybrid   0.250  0.500  0.750   0.411  0.071 to 0.786  0.491    0.158 to 0.833

            with retrieval.hops=0

            FORMULA  HIT@1  HIT@5  HIT@10  MRR    95 %            NDCG@10  95 %
            hybrid   0.750  1.000  1.000   0.833  0.500 to 1.000  0.875    0.625 to 1.000

            difference to the first, question by question

            FORMULA  NDCG@10  95 %              BETTER  WORSE
            hybrid   +0.384   +0.125 to +0.592  3       0      better

            RANK OF THE FIRST ANSWER  hybrid
            question 1                1
            question 2                2
            question 3                -
            question 4                7
        "#]]
        .assert_eq(&questions(&first, true, Style::terminal(false)));
    }

    #[test]
    fn the_same_answers_differ_in_nothing() {
        let mut first = answered(&[1, 2]);
        first.against = Some(Box::new(Against { settings: vec![], answered: answered(&[1, 2]) }));
        assert!(questions(&first, false, Style::terminal(false)).contains("no difference"));
    }
}
