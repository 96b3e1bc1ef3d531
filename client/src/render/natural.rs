//! Natural: renders what `kgctl eval` measures on pages at their natural density.
//!
//! In: shares. Out: one table per half.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Style, table};
use crate::score::interval::Interval;

/// A share of a total, with its interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Share {
    /// What is counted.
    pub name: String,
    /// Number with the property.
    pub right: u64,
    /// Total number.
    pub all: u64,
    /// `right` of `all`, 0 to 1; 0 when there are none.
    pub share: f64,
    /// The middle 95 % over samples drawn with replacement.
    pub interval: Interval,
}

/// The measurements on some pages.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Natural {
    /// Pages.
    pub n_pages: usize,
    /// Their words.
    pub n_words: u64,
    /// Pairs that kgd relates, each once per page.
    pub n_relations: u64,
    /// Pairs that the annotator related.
    pub n_annotated: u64,
    /// The shares, in order.
    pub rows: Vec<Share>,
    /// The same for each half.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub halves: BTreeMap<String, Natural>,
}

/// Renders one table per half, if the corpus is divided.
pub fn report(natural: &Natural, style: Style) -> String {
    if natural.halves.is_empty() {
        return one("", natural, style);
    }
    let halves: Vec<String> =
        natural.halves.iter().map(|(half, it)| one(&format!("{half}: "), it, style)).collect();
    halves.join("\n\n")
}

fn one(half: &str, it: &Natural, style: Style) -> String {
    let a_thousand = |n: u64| 1e3 * n as f64 / (it.n_words.max(1)) as f64;
    let rows = it.rows.iter().map(|row| {
        let [low, high] = row.interval;
        vec![
            row.name.clone(),
            format!("{:.3}", row.share),
            format!("{low:.3} to {high:.3}"),
            format!("{} of {}", row.right, row.all),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    format!(
        "{half}{} pages, {} words; relations a 1,000 words: {:.1} found, {:.1} annotated\n\n{}",
        it.n_pages,
        it.n_words,
        a_thousand(it.n_relations),
        a_thousand(it.n_annotated),
        table(style, &["", "SHARE", "95 %", "COUNT"], rows)
    )
}
